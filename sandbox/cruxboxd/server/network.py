"""The network: the gRPC server with health, reflection and the service, and its bounds on connections."""

from __future__ import annotations

import asyncio
import logging

from cruxbox_proto.v1 import sandbox_pb2 as pb
from grpc_reflection.v1alpha import reflection

from cruxboxd.rpc import health
from cruxboxd.rpc.headers import MOST_HEADER_BYTES
from cruxboxd.rpc.health import Health
from cruxboxd.rpc.interceptor import Interceptor
from cruxboxd.rpc.listeners import Claim, is_unix, listen
from cruxboxd.rpc.methods import server_of_known_methods
from cruxboxd.rpc.response_stream import Answers
from cruxboxd.rpc.service import SandboxService
from cruxboxd.rpc.tracing import Tracer
from cruxboxd.rpc.unread import Unread
from cruxboxd.server.engine import Engine
from cruxboxd.server.process import most_connections
from cruxboxd.settings.config import Config
from cruxboxd.tenancy.admission import Admission

log = logging.getLogger(__name__)

SERVICE = pb.DESCRIPTOR.services_by_name["Sandbox"].full_name
# What is left for the transport once every RPC has been answered.
_STOP_S = 1.0
_HANDSHAKE_MS = 20_000


class Server:
    """The engine behind gRPC: health, reflection, the service."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        config = engine.config
        identity, scheduler = engine.identity, engine.scheduler
        admission = Admission(config, identity.is_required, lambda: scheduler.queue_age_s, scheduler.cpu_wait_s)
        engine.metrics.watch_accepted(lambda: admission.checks)
        self._interceptor = Interceptor(identity, admission, engine.metrics, Tracer())
        answers = Answers(scheduler.resume, config.unread_s)
        self._unread = Unread(answers, scheduler.is_held_up, admission.refused)
        self._health = Health(self._interceptor.connections.nobodys)
        self._watching: list[asyncio.Task[None]] = []
        self._claims: list[Claim] = []
        self._server = server_of_known_methods(
            self._interceptor.refuse_unknown, (self._interceptor,), _channel_options(config)
        )
        service = SandboxService(
            judge=engine.judge, offer=engine.offer(), stamp=engine.stamp(), info=engine.info(), identity=identity,
            admission=admission, interceptor=self._interceptor, turns=engine.turns,
            answers=answers, observer=engine.metrics,
        )  # fmt: skip
        service.add_to(self._server)
        self._health.add_to(self._server)
        reflection.enable_server_reflection((SERVICE, health.SERVICE, reflection.SERVICE_NAME), self._server)

    async def start(self) -> None:
        """Listen and serve. Raises ConfigError for an address that cannot or must not be listened on."""
        self._claims = listen(self._server, self._engine.config)
        await self._server.start()
        self._watching.append(asyncio.create_task(self._unread.watch()))
        if not all(map(is_unix, self._engine.config.listen)):
            looking = self._interceptor.connections.watch(self._interceptor.arriving.look)
            self._watching.append(asyncio.create_task(looking))
        self._say("SERVING")

    async def drain(self) -> None:
        """Stop: say so, finish what was accepted within the drain time, end the rest as UNAVAILABLE, then go."""
        self._say("NOT_SERVING")
        log.info("draining", extra={"seconds": self._engine.config.drain_s})
        await self._interceptor.drain(self._engine.config.drain_s)
        for watching in self._watching:
            watching.cancel()
        self._health.end()
        await self._server.stop(_STOP_S)
        for claim in self._claims:
            claim.release()

    def _say(self, status: str) -> None:
        for name in ("", SERVICE):
            self._health.set(name, health.Status.Value(status))


def _channel_options(config: Config) -> list[tuple[str, int]]:
    options = [
        ("grpc.max_receive_message_length", config.max_message_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_concurrent_streams", 256),
        # Both bounds on headers are equal: between two different ones gRPC refuses at random.
        ("grpc.max_metadata_size", MOST_HEADER_BYTES),
        ("grpc.absolute_max_metadata_size", MOST_HEADER_BYTES),
        # A compressed message costs a thousand times its bytes, of gRPC's threads and of the loop, and health reads
        # what strangers send. gRPC refuses it unread.
        ("grpc.compression_enabled_algorithms_bitset", 1),
        # Where a connection proves fast, gRPC would let megabytes of each stream come before anybody has taken the RPC
        # over. A message that is awaited gets as much room as it needs in any case.
        ("grpc.http2.bdp_probe", 0),
        # Clients keep silent streams alive through NATs. gRPC puts each ping beyond a bound into one error, and copies
        # all of it for each: a thread is busy for a minute, and the server does not stop meanwhile. So there is none.
        # They count as what comes beside RPCs (`rpc/connections.py`).
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        # A connection without any RPC is closed after a while: clients that vanished hold no descriptor for ever.
        ("grpc.max_connection_idle_ms", 600_000),
        ("grpc.so_reuseport", 0),
        # What strangers can hold open: connections, and how long one may take to say anything at all.
        ("grpc.max_allowed_incoming_connections", most_connections(config)),
        ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
    ]
    if config.tls_client_ca:
        # A certificate is checked only when a connection is made. All connections therefore end at an age, also those
        # whose authority was withdrawn. Open RPCs have a third of that age more to finish.
        age = int(config.connection_age_s * 1000)
        options += [("grpc.max_connection_age_ms", age), ("grpc.max_connection_age_grace_ms", age // 3)]
    return options
