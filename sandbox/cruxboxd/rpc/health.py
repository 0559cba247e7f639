"""Health: the one service that answers strangers, so everything of it is bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2 as pb

from cruxboxd.rpc.methods import add_methods, letting_go
from cruxboxd.shared.waiting import within

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[Any, Any]

SERVICE = pb.DESCRIPTOR.services_by_name["Health"].full_name
Status = pb.HealthCheckResponse.ServingStatus
_EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]

# A question is a name. As any message it may be as long as the largest request while it is on its way: so few are read
# at a time, and none for long.
READERS = 8
_READ_S = 2.0
_MOST_BYTES = 1_024
WATCHES = 64
_WATCH_S = 600.0
_AWAY = "the server is shutting down"


class Health:
    """`grpc.health.v1.Health`. `set` says how the server is; "" is the server as a whole.

    Args:
        came: told the peer of each RPC.
    """

    def __init__(self, came: Callable[[str], None]) -> None:
        self._came = came
        self._statuses: dict[str, int] = {}
        self._changed = asyncio.Event()
        self._reading: set[asyncio.Future[Any]] = set()
        self._watches = 0
        self._has_ended = False

    def add_to(self, server: grpc.aio.Server) -> None:
        """Have `server` serve it."""
        answer = pb.HealthCheckResponse.SerializeToString
        methods = {
            "Check": grpc.stream_stream_rpc_method_handler(letting_go(self.check), None, answer),
            "Watch": grpc.stream_stream_rpc_method_handler(letting_go(self.watch), None, answer),
        }
        add_methods(server, SERVICE, methods)

    def set(self, name: str, status: int) -> None:
        """Set the status of a service and notify its watchers."""
        self._statuses[name] = status
        self._wake()

    def end(self) -> None:
        """The server is about to stop: nobody watches any more, or is waited for."""
        self._has_ended = True
        self._wake()
        for reading in self._reading:
            reading.cancel()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def check(self, _: Any, context: Context) -> None:
        """The status of the service that is named. Under a flood, that of the whole server, without reading the name:
        a server must not look dead because strangers ask it how it is."""
        self._came(context.peer())
        name = await self._name(context) if len(self._reading) < READERS else ""
        if name not in self._statuses:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        await context.write(pb.HealthCheckResponse(status=self._statuses[name]))

    async def watch(self, _: Any, context: Context) -> None:
        """The status of the service that is named, now and after each change, for ten minutes at the most."""
        self._came(context.peer())
        if self._watches >= WATCHES or len(self._reading) >= READERS:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{self._watches} clients watch already")
        self._watches += 1
        try:
            await self._tell(await self._name(context), context)
            why = _AWAY if self._has_ended else "watched for long; watch again"
            await context.abort(grpc.StatusCode.UNAVAILABLE, why)
        finally:
            self._watches -= 1

    async def _tell(self, name: str, context: Context) -> None:
        loop, last = asyncio.get_running_loop(), None
        end = loop.time() + _WATCH_S
        while (left := end - loop.time()) > 0 and not self._has_ended:
            changed = asyncio.ensure_future(self._changed.wait())
            status = self._statuses.get(name, Status.Value("SERVICE_UNKNOWN"))
            try:
                if status != last:
                    # Who takes nothing is not waited for any longer than others.
                    await within(left, context.write(pb.HealthCheckResponse(status=status)))
                last = status
                await asyncio.wait({changed}, timeout=end - loop.time())
            except asyncio.TimeoutError:
                return
            finally:
                changed.cancel()

    async def _name(self, context: Context) -> str:
        """The service that is asked about."""
        reading = asyncio.ensure_future(context.read())
        self._reading.add(reading)
        try:
            await asyncio.wait({reading}, timeout=_READ_S)
            data = reading.result() if reading.done() and not reading.cancelled() else _EOF
        finally:
            self._reading.discard(reading)
            reading.cancel()
        if data is not _EOF and len(data) <= _MOST_BYTES:
            try:
                return str(pb.HealthCheckRequest.FromString(data).service)
            except DecodeError:
                pass
        if self._has_ended:
            await context.abort(grpc.StatusCode.UNAVAILABLE, _AWAY)
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "send the name of a service, or nothing, at once")
        raise AssertionError  # abort raises
