"""Methods by the bytes of their path: an RPC of any other path is refused, and nobody reads its name.

gRPC's server reads the path of an RPC as UTF-8 before the RPC has a task of its own. One whose path is none would end
the server for all. gRPC compares the path of a method that is registered byte by byte, and hands over its RPCs apart
from others, whose path it would read. These never get so far here. A version of gRPC that does not know registered
methods reads a path in the RPC's own task.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import grpc
import grpc.aio
from grpc._cython import cygrpc  # type: ignore[attr-defined]

from cruxboxd.shared.fair_loop import STRANGERS, current_tenant

_Server: Any = cygrpc.AioServer


# RPCs of a method that gRPC may hand over before the server takes them on, one after the other.
_HANDED_OVER = 16
# At the end as many more are taken on, to be refused: of those that it has not handed over gRPC says that they were
# cancelled, as their callers might have done.
_AT_THE_END = 1024
# What is left of RPCs when the event loop ends would be cancelled, and gRPC would call that an error. They are over by
# then, unless a connection takes nothing.
_ENDED_S = 1.0
# Health answers strangers: what there is of it at once is bounded, so what comes at once should not look like more.
_ONE_AT_A_TIME = b"/grpc."


class _Arrivals:
    """The RPCs of one method that gRPC has handed over. It is asked for several at a time: to ask for the next one only
    when one has come takes five passes of the event loop for each, in which all that came after it wait.

    Args:
        ask: asks gRPC for one more; raises by its future when the server shuts down.
        refuse: ends one that comes at the end.
    """

    def __init__(self, ask: Callable[[], asyncio.Future[Any]], refuse: Callable[[Any], None]) -> None:
        self._ask, self._refuse = ask, refuse
        self._has_ended = False
        self._asked = 0
        self._came: deque[asyncio.Future[Any]] = deque()
        self._awaited: asyncio.Future[Any] | None = None

    def next(self) -> asyncio.Future[Any]:
        """The next one. Ask for another only when it is done."""
        self._ask_for_more()
        if self._came:
            return self._came.popleft()
        self._awaited = asyncio.get_running_loop().create_future()
        return self._awaited

    def end(self) -> None:
        """The server is about to shut down. Refuse those that have come, and those that come yet."""
        self._has_ended = True
        while self._came:
            self._refuse_one(self._came.popleft())
        self._ask_for_more()

    def _ask_for_more(self) -> None:
        most = _AT_THE_END if self._has_ended else _HANDED_OVER
        while self._asked + len(self._came) < most:
            self._asked += 1
            self._ask().add_done_callback(self._on_arrival)

    def _on_arrival(self, came: asyncio.Future[Any]) -> None:
        self._asked -= 1
        if came.cancelled():
            return
        error = came.exception()
        if self._has_ended and error is None:
            self._refuse_one(came)
        elif self._awaited is None or self._awaited.done():
            self._came.append(came)
        elif error is not None:
            self._awaited.set_exception(error)
        else:
            self._awaited.set_result(came.result())

    def _refuse_one(self, came: asyncio.Future[Any]) -> None:
        if came.exception() is None:
            self._refuse(came.result())


class _OfKnownMethods(_Server):  # type: ignore[misc]
    """gRPC's server, which asks `refuse` to end an RPC whose path is not registered, or that comes at the end."""

    refuse: Callable[[Any], Awaitable[None]]
    arrivals: dict[bytes, _Arrivals]
    refusing: set[asyncio.Task[None]]

    def _make_request_call_future(self, method: bytes | None) -> Any:
        """What gRPC waits for: the next RPC of a method; without one, of any other path, which never comes."""
        if method is None:
            return asyncio.ensure_future(self._refuse_all())
        if method.startswith(_ONE_AT_A_TIME):
            return super()._make_request_call_future(method)
        if method not in self.arrivals:
            self.arrivals[method] = _Arrivals(partial(super()._make_request_call_future, method), self._refuse)
        return self.arrivals[method].next()

    async def shutdown(self, grace: float | None) -> None:
        for arrivals in self.arrivals.values():
            arrivals.end()
        await asyncio.sleep(0)  # gRPC has been asked for more by then
        await super().shutdown(grace)
        left = {*self.refusing, *filter(_is_of_an_rpc, asyncio.all_tasks())}
        if left:
            await asyncio.wait(left, timeout=_ENDED_S)

    async def _refuse_all(self) -> None:
        """Until the server is shut down, which ends the wait for an RPC by an error."""
        while True:
            self._refuse(await self._request_call())

    def _refuse(self, rpc: Any) -> None:
        refused = asyncio.create_task(self._refused(rpc))  # its connection may take nothing for long
        # As gRPC does with the RPCs of methods that there are: else who left would wait on, in the place of others.
        left = asyncio.create_task(cygrpc._handle_cancellation_from_core(refused, rpc, asyncio.get_running_loop()))
        for task in (refused, left):
            self.refusing.add(task)
            task.add_done_callback(self.refusing.discard)

    async def _refused(self, rpc: Any) -> None:
        with contextlib.suppress(grpc.aio.InternalError):
            await letting_go(self.refuse)(cygrpc._ServicerContext(rpc, None, None, asyncio.get_running_loop()))


def _is_of_an_rpc(task: asyncio.Task[Any]) -> bool:
    """Is it one that gRPC has made for an RPC? It waits for none of them, not for one that has yet to begin either."""
    name: str = cygrpc._schedule_rpc_coro.__qualname__
    return getattr(task.get_coro(), "__qualname__", "") == name


def letting_go(behave: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """`behave` as work of strangers, until it knows better, after which nothing is left of an RPC that it aborts.

    gRPC keeps the exception of an abort with its RPC, and raises it again by itself. The frames that the exception came
    by have the RPC in turn: each refused caller's would stay until a full collection, which is rare.
    """

    async def answer(*asked: Any) -> None:
        current_tenant.set(STRANGERS)
        try:
            await behave(*asked)
        except grpc.aio.AbortError as error:
            error.__traceback__ = error.__context__ = None

    return answer


def server_of_known_methods(
    refuse: Callable[[Any], Awaitable[None]],
    interceptors: Sequence[Any],
    options: Sequence[tuple[str, int]],
) -> grpc.aio.Server:
    """A server; `refuse` ends an RPC, of which it is given the context, as one of no method that there is, or as one
    that comes at the end."""

    def make(*arguments: Any) -> _OfKnownMethods:
        made = _OfKnownMethods(*arguments)
        made.refuse, made.arrivals, made.refusing = refuse, {}, set()
        return made

    cygrpc.AioServer = make
    try:
        return grpc.aio.server(interceptors=interceptors, options=options)
    finally:
        cygrpc.AioServer = _Server


def add_methods(server: grpc.aio.Server, service: str, methods: Mapping[str, grpc.RpcMethodHandler[Any, Any]]) -> None:
    """Have `server` serve the methods of a service."""
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, dict(methods)),))
    register = getattr(server, "add_registered_method_handlers", None)
    if register is not None:
        register(service, dict(methods))
