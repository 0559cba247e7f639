"""The door: what every call but health passes. Who it is, how many are open, a request id, a log line, and an end.

An interceptor of gRPC, so that no method can forget it. Whatever is refused inside, at whatever depth, is raised as
`Refused` or `Unidentified` and becomes a status here and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from cruxboxd.rpc.tracing import Tracer
from cruxboxd.tenancy.admission import Admission
from cruxboxd.tenancy.identity import Identity, Shown, Unidentified, shown_by
from cruxboxd.tenancy.refusal import Refused
from cruxboxd.tenancy.tenants import Tenant

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[Any, Any]

log = logging.getLogger(__name__)

_OPEN_TO_ALL = "/grpc.health.v1.Health/"
REQUEST_ID_KEY = "x-request-id"
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,64}")


@dataclass(eq=False)
class Call:
    """One call that is open. What is asked of `context` after its end must have been taken before."""

    method: str
    request_id: str
    context: Context
    tenant: Tenant = field(default_factory=lambda: Tenant(""))
    shown: Shown = field(default_factory=Shown)
    peer: str = ""
    checks: int = 0
    is_ended_by_us: bool = False
    task: asyncio.Task[Any] | None = None
    number: int = field(default_factory=itertools.count(1).__next__)


current_call: ContextVar[Call] = ContextVar("current_call")


def away() -> Refused:
    """What callers hear from a server that is shutting down."""
    return Refused(grpc.StatusCode.UNAVAILABLE, "draining", "the server is shutting down; another one will serve you")


class Observer:
    """What the door tells whoever keeps figures."""

    def refused(self, tenant: str, reason: str) -> None:
        pass


class Door(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Lets calls in, and in the end sees them out. `draining` is set from the moment nobody is let in any more."""

    def __init__(self, identity: Identity, admission: Admission, observer: Observer, tracer: Tracer) -> None:
        self._identity, self._admission, self._observer, self._tracer = identity, admission, observer, tracer
        self._open: set[Call] = set()
        self._empty = asyncio.Event()
        self.draining = asyncio.Event()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Wrap the method, whatever its kind."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(_OPEN_TO_ALL):
            return handler
        ways = (_tolerant(handler.request_deserializer), handler.response_serializer)
        if handler.unary_unary is not None:
            return grpc.unary_unary_rpc_method_handler(self._single(method, handler.unary_unary), *ways)
        if handler.stream_stream is not None:
            return grpc.stream_stream_rpc_method_handler(self._stream(method, handler.stream_stream), *ways)
        return None  # we have no other kinds, and nothing passes unseen

    def _single(self, method: str, behaviour: Callable[[Any, Context], Awaitable[Any]]) -> Any:
        async def answer(request: Any, context: Context) -> Any:
            async with self._pass(method, context):
                return await behaviour(_read(request), context)

        return answer

    def _stream(self, method: str, behaviour: Callable[[Any, Context], AsyncIterator[Any]]) -> Any:
        async def answer(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
            async with self._pass(method, context):
                responses = behaviour(_read_all(requests), context)
                try:
                    async for response in responses:
                        yield response
                finally:
                    await responses.aclose()  # type: ignore[attr-defined]

        return answer

    # ---- one call ----------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _pass(self, method: str, context: Context) -> AsyncIterator[None]:
        """One call from its beginning to its end, however it ends."""
        call = Call(
            method, _request_id(context), context, shown=shown_by(context), peer=context.peer(),
            task=asyncio.current_task(),
        )  # fmt: skip
        began, code = time.monotonic(), "OK"
        current_call.set(call)
        try:
            with self._entered(call), self._tracer.span(call.method, context.invocation_metadata() or ()):
                yield
        except Unidentified as error:
            code = "UNAUTHENTICATED"
            self._observer.refused("", "unidentified")
            await self._abort(call, Refused(grpc.StatusCode.UNAUTHENTICATED, "unidentified", str(error)))
        except Refused as error:
            code = error.code.name
            self._observer.refused(call.tenant.name, error.reason)
            await self._abort(call, error)
        except asyncio.CancelledError:
            code = "CANCELLED"
            if not call.is_ended_by_us:
                raise
            code = "UNAVAILABLE"
            await self._abort(call, away())
        except grpc.aio.AbortError:
            code = "ABORTED"
            raise
        except Exception:
            code = "INTERNAL"
            log.exception("a call failed", extra={"request_id": call.request_id})
            raise
        finally:
            _log_end(call, code, time.monotonic() - began)

    @contextlib.contextmanager
    def _entered(self, call: Call) -> Iterator[None]:
        """Identified, counted and known as open."""
        call.tenant = self._identity.tenant_of(call.shown)
        if self.draining.is_set():
            raise away()
        self._admission.enter(call.tenant)
        self._open.add(call)
        try:
            yield
        finally:
            self._admission.leave(call.tenant)
            self._open.discard(call)
            if not self._open:
                self._empty.set()

    async def _abort(self, call: Call, refused: Refused) -> None:
        metadata: list[tuple[str, str | bytes]] = [(REQUEST_ID_KEY, call.request_id), *refused.metadata()]
        await call.context.abort(refused.code, refused.sentence, tuple(metadata))

    # ---- the end of all ----------------------------------------------------------------------------------------

    async def drain(self, seconds: float) -> None:
        """Let nobody in any more; give open calls `seconds` to finish, then end the rest with UNAVAILABLE."""
        self.draining.set()
        if self._open:
            self._empty.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._empty.wait(), seconds)
        for call in list(self._open):
            call.is_ended_by_us = True
            if call.task is not None:
                call.task.cancel()


class _Unreadable:
    """What stands for a message that could not be parsed, until the call has a place to be refused."""


def _tolerant(deserialize: Callable[[bytes], Any] | None) -> Callable[[bytes], Any] | None:
    """gRPC answers a message it cannot parse with UNKNOWN; a caller's mistake is INVALID_ARGUMENT."""
    if deserialize is None:
        return None

    def read(data: bytes) -> Any:
        try:
            return deserialize(data)
        except DecodeError:
            return _Unreadable()

    return read


def _read(request: Any) -> Any:
    if isinstance(request, _Unreadable):
        sentence = (
            "the request is no valid protobuf message: text that is not UTF-8, fields cut off, or nested too deep"
        )
        raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "invalid", sentence)
    return request


async def _read_all(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        yield _read(request)


def _request_id(context: Context) -> str:
    """The caller's own id for the request if it is decent, else a new one."""
    for key, value in context.invocation_metadata() or ():
        if key == REQUEST_ID_KEY and isinstance(value, str) and _REQUEST_ID.fullmatch(value):
            return value
    return secrets.token_hex(8)


def _log_end(call: Call, code: str, seconds: float) -> None:
    log.info(
        "call ended",
        extra={
            "request_id": call.request_id,
            "method": call.method,
            "tenant": call.tenant.name,
            "peer": call.peer,
            "code": code,
            "checks": call.checks,
            "ms": round(seconds * 1000, 1),
        },
    )
