"""The daemon as a whole. Start-up order: zygotes, self-test, listeners."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import resource
import secrets
import signal
import tempfile
import threading

import grpc.aio
from cruxbox_proto.v1 import sandbox_pb2 as pb
from grpc_reflection.v1alpha import reflection

from cruxboxd import STARTED_BY, __version__
from cruxboxd.judging.audit import Audit
from cruxboxd.judging.judge import Judge
from cruxboxd.rpc import health
from cruxboxd.rpc.codec import Offer, Stamp
from cruxboxd.rpc.headers import MOST_HEADER_BYTES
from cruxboxd.rpc.health import Health
from cruxboxd.rpc.interceptor import Interceptor
from cruxboxd.rpc.listeners import is_unix, listen
from cruxboxd.rpc.response_stream import Answers
from cruxboxd.rpc.service import SandboxService
from cruxboxd.rpc.tracing import Tracer
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.seccomp.compiler import PolicyError
from cruxboxd.selftest.canary import Canaries
from cruxboxd.selftest.preflight import Preflight, run_preflight
from cruxboxd.settings.config import UNITS, Config, Limits, check_config, fit_memory, metrics_address
from cruxboxd.telemetry.exporter import Exporter
from cruxboxd.telemetry.metrics import Metrics
from cruxboxd.tenancy.admission import Admission
from cruxboxd.tenancy.identity import Identity
from cruxboxd.turns import Turns
from cruxboxd.zygotes.launch import StartError
from cruxboxd.zygotes.runtimes import Runtime, ZygoteSetups, find_runtimes
from cruxboxd.zygotes.setup import ZygoteKey, ZygoteKinds

log = logging.getLogger(__name__)

SERVICE = pb.DESCRIPTOR.services_by_name["Sandbox"].full_name
# What is left for the transport once every call has been answered.
_STOP_S = 1.0
_YOUNG_OBJECTS = 20_000
_MOST_CONNECTIONS = 4_096
_HANDSHAKE_MS = 20_000
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _LARGE_BLOCK = -1, -3, 1 << 18
_THREADS = 16  # that gRPC and the executor start
_PR_SET_PDEATHSIG, _PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 1, 3, 4


class RefusedToServe(Exception):
    """The daemon refuses to serve; each line of the message is one reason."""


class Engine:
    """Scheduler, judge and what is known about this host; everything but the network."""

    def __init__(self, config: Config) -> None:
        self.config = check_config(config)
        self.runtimes = find_runtimes(self.config)
        self.config = fit_memory(self.config, sum(runtime.preload_bytes for runtime in self.runtimes.values()))
        try:
            self.setups = ZygoteSetups(self.config, self.runtimes)
        except PolicyError as error:
            raise RefusedToServe(str(error)) from None
        except OSError as error:
            raise RefusedToServe(f"the filter of system calls cannot be built: {error.strerror}") from None
        self.metrics = Metrics()
        for name, helper in self.helpers().items():
            self.metrics.helper(name, helper == "native")
        for name in sorted(self.unsealed()):
            log.warning(
                "no native helper: the pure twin serves, slower; every check has a worker of its own",
                extra={"runtime": name},
            )
        self.identity = Identity(self.config)
        self.default_runtime = next(runtime.name for runtime in self.runtimes.values() if runtime.is_default)
        self.preflight = Preflight((), ())

    async def open(self) -> None:
        """Start zygotes and probe them; raises RefusedToServe when a required layer does not hold."""
        kinds = ZygoteKinds({runtime.name: runtime.preload for runtime in self.runtimes.values()}, self.unsealed())
        audit = Audit(self.config.audit_share, self.metrics)
        self.scheduler = Scheduler(
            self.config, self.setups, self.metrics, self.identity.tenant_named, kinds, draw=audit.draw
        )
        self.judge = Judge(self.scheduler, self.config.hash_seed, audit)
        key = ZygoteKey(self.default_runtime, False, self.config.hash_seed)
        try:
            zygote = await self.scheduler.open(key)
        except StartError as error:
            raise RefusedToServe(str(error)) from None
        self.preflight = await run_preflight(self.scheduler, zygote, key, self.config)
        if self.preflight.problems:
            await self.close()
            raise RefusedToServe("\n".join(self.preflight.problems))
        self.scheduler.kinds.has_scratch = bool(self.preflight.folder.size_bytes)
        self.metrics.watch(self.scheduler, self.config.workers)

    async def close(self) -> None:
        await self.scheduler.close()

    def helpers(self) -> dict[str, str]:
        """ "native" or "pure" for each runtime."""
        return {name: "pure" if self.config.pure else runtime.helper for name, runtime in self.runtimes.items()}

    def unsealed(self) -> frozenset[str]:
        """Runtimes whose checks share no worker, because no seal would notice what a check leaves behind."""
        return frozenset(name for name, helper in self.helpers().items() if helper != "native")

    def offer(self) -> Offer:
        return Offer(
            frozenset(self.runtimes), self.default_runtime, self.config.default_limits, self.config.maximum_limits,
            self.preflight.folder,
        )  # fmt: skip

    def stamp(self) -> Stamp:
        versions = {runtime.name: runtime.version for runtime in self.runtimes.values()}
        return Stamp(versions, self.setups.profile_digest, self.preflight.degraded)

    def info(self) -> pb.ServerInfo:
        """What GetServerInfo answers."""
        return pb.ServerInfo(
            version=__version__,
            runtimes=[_runtime_info(runtime, self.helpers()[runtime.name]) for runtime in self.runtimes.values()],
            default_limits=_limits_info(self.config.default_limits),
            maximum_limits=_limits_info(self.config.maximum_limits),
            layers=[
                pb.Layer(name=layer.name, active=layer.active, required=layer.required, detail=layer.detail)
                for layer in self.preflight.layers
            ],
            workers=self.config.workers,
            profile_digest=self.setups.profile_digest,
            max_message_bytes=self.config.max_message_bytes,
            instance_id=secrets.token_hex(8),
            hash_seed=self.config.hash_seed,
        )


def _runtime_info(runtime: Runtime, helper: str) -> pb.Runtime:
    return pb.Runtime(
        name=runtime.name, version=runtime.version, path=runtime.path, is_default=runtime.is_default, helper=helper,
        packages=[pb.Package(name=name, version=version) for name, version in runtime.packages],
        preload=runtime.preload,
    )  # fmt: skip


def _limits_info(limits: Limits) -> pb.Limits:
    return pb.Limits(**{name: getattr(limits, name) for name in UNITS})


class Server:
    """The engine behind gRPC: health, reflection, the service."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        config = engine.config
        identity, scheduler = engine.identity, engine.scheduler
        admission = Admission(config, identity.is_required, lambda: scheduler.queue_age_s, scheduler.cpu_wait_s)
        engine.metrics.watch_accepted(lambda: admission.checks)
        self._interceptor = Interceptor(identity, admission, engine.metrics, Tracer())
        self._health = Health()
        self._watching: asyncio.Task[None] | None = None
        self._server = grpc.aio.server(interceptors=(self._interceptor,), options=_channel_options(config))
        service = SandboxService(
            judge=engine.judge, offer=engine.offer(), stamp=engine.stamp(), info=engine.info(), identity=identity,
            admission=admission, interceptor=self._interceptor, turns=Turns(scheduler.charge),
            answers=Answers(scheduler.resume), observer=engine.metrics,
        )  # fmt: skip
        service.add_to(self._server)
        self._health.add_to(self._server)
        reflection.enable_server_reflection((SERVICE, health.SERVICE, reflection.SERVICE_NAME), self._server)

    async def start(self) -> None:
        """Listen and serve. Raises ConfigError for an address that cannot or must not be listened on."""
        listen(self._server, self._engine.config)
        await self._server.start()
        if not all(map(is_unix, self._engine.config.listen)):
            self._watching = asyncio.create_task(self._interceptor.connections.watch())
        self._say("SERVING")

    async def drain(self) -> None:
        """Stop: say so, finish what was accepted within the drain time, end the rest as UNAVAILABLE, then go."""
        self._say("NOT_SERVING")
        log.info("draining", extra={"seconds": self._engine.config.drain_s})
        await self._interceptor.drain(self._engine.config.drain_s)
        if self._watching is not None:
            self._watching.cancel()
        await self._server.stop(_STOP_S)

    def _say(self, status: str) -> None:
        for name in ("", SERVICE):
            self._health.set(name, health.Status.Value(status))


def _most_connections() -> int:
    """Half of the descriptors this process may have: the rest is for zygotes and files."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST_CONNECTIONS if descriptors < 0 else max(16, min(_MOST_CONNECTIONS, descriptors // 2))


def _channel_options(config: Config) -> list[tuple[str, int]]:
    options = [
        ("grpc.max_receive_message_length", config.max_message_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_concurrent_streams", 256),
        # Both bounds on headers are equal: between two different ones gRPC refuses at random.
        ("grpc.max_metadata_size", MOST_HEADER_BYTES),
        ("grpc.absolute_max_metadata_size", MOST_HEADER_BYTES),
        # Where a connection proves fast, gRPC would let megabytes of each stream come before anybody has taken the call
        # over. A message that is awaited gets as much room as it needs in any case.
        ("grpc.http2.bdp_probe", 0),
        # Clients keep silent streams alive through NATs; that is allowed, a ping flood is not.
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.http2.max_ping_strikes", 5),
        # A connection without any call is closed after a while: clients that vanished hold no descriptor for ever.
        ("grpc.max_connection_idle_ms", 600_000),
        ("grpc.so_reuseport", 0),
        # What strangers can hold open: connections, and how long one may take to say anything at all.
        ("grpc.max_allowed_incoming_connections", _most_connections()),
        ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
    ]
    if config.tls_client_ca:
        # A certificate is checked only when a connection is made. All connections therefore end at an age, also those
        # whose authority was withdrawn. Open calls have a third of that age more to finish.
        age = int(config.connection_age_s * 1000)
        options += [("grpc.max_connection_age_ms", age), ("grpc.max_connection_age_grace_ms", age // 3)]
    return options


async def serve(config: Config) -> None:
    """Run the daemon until SIGTERM, SIGINT or SIGHUP. Raises ConfigError or RefusedToServe before it serves."""
    protect_process(config.exit_with_parent, config.parent_pid)
    config = check_config(config)
    check_surroundings(config.zygotes)
    give_memory_back()
    engine = Engine(config)
    await engine.open()
    async with contextlib.AsyncExitStack() as at_end:
        at_end.push_async_callback(engine.close)
        at_end.push_async_callback(_end_of, asyncio.create_task(_keep_canaries(engine)))
        exporter = Exporter(engine.metrics.registry)
        at_end.callback(exporter.close)
        server = Server(engine)
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        address = metrics_address(config)
        if address is not None:
            await exporter.start(*address)
        await server.start()
        _spare_the_collector()
        log.info("serving", extra={"workers": config.workers, "version": __version__})
        await stop.wait()
        await server.drain()


async def _end_of(canaries: asyncio.Task[None]) -> None:
    canaries.cancel()
    await asyncio.wait({canaries}, timeout=_STOP_S)


def _spare_the_collector() -> None:
    """Have the garbage collector run less often. Objects that exist now are never freed, and work in flight is
    thousands of objects that live some milliseconds longer than a young generation of 700. Collections took an eighth
    of the daemon's CPU time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)


async def _keep_canaries(engine: Engine) -> None:
    if engine.config.canary_s > 0:
        every_s, tell, where = engine.config.canary_s, engine.metrics.canary, engine.scheduler.where
        await Canaries(engine.judge, engine.default_runtime, every_s, tell, where).run()


def give_memory_back() -> None:
    """Have large blocks return to the system when they are freed. Left alone, the C library takes the size of the
    largest request so far as a sign that it pays to keep such blocks."""
    libc = ctypes.CDLL(None)
    for option in (_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD):
        if hasattr(libc, "mallopt"):
            libc.mallopt(option, _LARGE_BLOCK)


def check_surroundings(zygotes: int) -> None:
    """Threads and processes, as gRPC ends the process where it gets no thread, and a zygote that cannot fork judges
    nothing; and a folder for zygotes. Raises RefusedToServe.

    The kernel counts threads and processes alike, so threads stand for both: gRPC's, and each zygote with its worker.
    """
    needed = _THREADS + 2 * zygotes
    done = threading.Event()
    try:
        for _ in range(needed):
            threading.Thread(target=done.wait, daemon=True).start()
    except RuntimeError:
        raise RefusedToServe(
            f"{needed} processes and threads cannot be started, as many as {zygotes} zygotes with their workers "
            "need; raise the limit on processes (ulimit -u, or pids of the container), or lower --workers"
        ) from None
    finally:
        done.set()
    try:
        with tempfile.TemporaryDirectory(prefix="cruxbox-"):
            pass
    except OSError as error:
        raise RefusedToServe(
            f"there is no folder for temporary files ({error.strerror}); set TMPDIR to one that can be written to"
        ) from None


def protect_process(exit_with_parent: bool, parent_pid: int = 0) -> None:
    """Make this process's memory unreadable to others of its user; end it with its parent if that was asked.

    `parent_pid` is the number that the parent has given. Without it the parent is the one that this process had when it
    started, and a parent that ended before goes unnoticed.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise RefusedToServe(f"cannot become undumpable: {os.strerror(ctypes.get_errno())}")
    if libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise RefusedToServe("cannot become undumpable: the kernel took the call and did nothing")
    if exit_with_parent and libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0):
        raise RefusedToServe(f"cannot tie this process to its parent: {os.strerror(ctypes.get_errno())}")
    if exit_with_parent and os.getppid() != (parent_pid or STARTED_BY):
        raise RefusedToServe("the process that started this one is gone")
