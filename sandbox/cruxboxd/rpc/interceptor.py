"""The interceptor: every RPC but health checks passes it. It sets identity, request id, log line and status, and counts
open RPCs.

An interceptor of gRPC, so that no method can forget it. Whatever is refused inside, at whatever depth, is raised as
`Refused` or `Unidentified` and becomes a status here and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Optional

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from cruxboxd.rpc import headers
from cruxboxd.rpc.arriving import Arriving
from cruxboxd.rpc.connections import Connections
from cruxboxd.rpc.endings import Metadata, abort, log_end, request_id
from cruxboxd.rpc.headers import MOST_HEADER_BYTES
from cruxboxd.rpc.methods import letting_go
from cruxboxd.rpc.strangers import Strangers
from cruxboxd.rpc.tracing import Tracer
from cruxboxd.shared.fair_loop import current_tenant
from cruxboxd.shared.observer import Observer
from cruxboxd.shared.waiting import within
from cruxboxd.tenancy.admission import Admission
from cruxboxd.tenancy.identity import Identity, Shown, Unidentified, shown_by
from cruxboxd.tenancy.refusal import Refused
from cruxboxd.tenancy.starts import QUESTION_S, QUESTIONS, Starts
from cruxboxd.tenancy.tenants import Tenant

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[Any, Any]

log = logging.getLogger(__name__)

_EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]
_OPEN_TO_ALL = "/grpc.health.v1.Health/"
# What a method that there is not is called in the log: its own name may be anything.
_NO_METHOD = "?"
# An RPC with one message sends it within so many seconds.
_MESSAGE_S = 60
# Messages that are parsed as a whole (reflection's, say) are small.
_MOST_PARSED = 1 << 16
# An answer that is not longer needs no client that reads.
_WINDOW = 64 << 10


@dataclass(eq=False)
class Rpc:
    """One open RPC. What is needed of `context` after its end must be read before."""

    method: str
    request_id: str
    context: Context | None
    tenant: Tenant
    shown: Shown = field(default_factory=Shown)
    peer: str = ""
    checks: int = 0
    at_end: list[Callable[[], None]] = field(default_factory=list)
    ended: Refused | None = None
    cut: Callable[[], bool] = lambda: False  # end its connection, once its status waits there to be read
    task: asyncio.Task[Any] | None = None
    id: int = field(default_factory=itertools.count(1).__next__)

    def end(self, why: Refused) -> bool:
        """End it with this status, whatever it is at; if that waits to be read already, its connection. False where
        there is nothing that can be ended."""
        if self.ended is not None:
            return self.cut()
        if self.task is not None:
            self.ended = why
            self.task.cancel()
        return self.task is not None

    def give_back(self) -> None:
        """Nothing is left of it, its status has left too."""
        for give_back in self.at_end:
            give_back()
        self.at_end.clear()


current_rpc: ContextVar[Rpc] = ContextVar("current_rpc")


def away() -> Refused:
    """What callers hear from a server that is shutting down."""
    return Refused(grpc.StatusCode.UNAVAILABLE, "draining", "the server is shutting down; another one will serve you")


Parse = Optional[Callable[[bytes], Any]]
Behaviour = Callable[["Context"], Awaitable[None]]


class Interceptor(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Admits RPCs and ends them at shutdown. `draining` is set when no more are admitted."""

    def __init__(self, identity: Identity, admission: Admission, observer: Observer, tracer: Tracer) -> None:
        self._identity, self._admission, self._observer, self._tracer = identity, admission, observer, tracer
        self.connections = Connections(observer)
        self._strangers = Strangers(self.connections, observer)
        self.arriving = Arriving(admission.holds_too_much)
        self._questions = Starts(QUESTIONS, QUESTION_S)
        self._headers = headers.bound(lambda: observer.refused("", "too_large"))
        self._open: set[Rpc] = set()
        self._empty = asyncio.Event()
        self.draining = asyncio.Event()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Wrap the method, whatever its kind, in one that reads its requests itself.

        gRPC sees every method as a stream of bytes, and so hands over an RPC before it has read a message. A caller
        that is unknown or over its quota is refused before a byte of the request is read.
        """
        self._headers.complete()
        method = handler_call_details.method
        # Asked for once: gRPC makes it anew each time, from as many headers as somebody sent.
        metadata = handler_call_details.invocation_metadata or ()
        header_bytes = headers.size_of_all(metadata)
        if header_bytes > MOST_HEADER_BYTES:
            return grpc.stream_stream_rpc_method_handler(letting_go(self._refuse_headers))
        handler = await continuation(handler_call_details)
        if method.startswith(_OPEN_TO_ALL):
            return handler
        passing = self._passing(method if handler else _NO_METHOD, metadata, header_bytes, self._behaviour(handler))
        return grpc.stream_stream_rpc_method_handler(letting_go(passing), None, handler and handler.response_serializer)

    def _behaviour(self, handler: Any) -> Behaviour:
        """What a method does, which is of one of these kinds, or None."""
        if handler is None:
            return self._refuse_method
        if handler.unary_unary is not None:
            return self._single(handler.unary_unary, handler.request_deserializer)
        return self._stream(handler.stream_stream, handler.request_deserializer)

    def _single(self, answer: Callable[[Any, Context], Awaitable[Any]], parse: Parse) -> Behaviour:
        # A question about the daemon is answered at once: it waits behind questions only, not behind checks.
        starts = self._admission.starts if parse is None else self._questions

        async def behave(context: Context) -> None:
            start = await starts.begin(current_rpc.get().tenant.name)
            try:
                response = await answer(_parsed(parse, await self._one_message(context)), context)
                if parse is None and len(response) > _WINDOW:
                    await _sent(context.send_initial_metadata(()))  # as for a stream
                await _sent(context.write(response))
            except Refused:
                start.refused()
                raise
            start.answered()

        return behave

    def _stream(self, answer: Callable[[Any, Context], AsyncIterator[Any]], parse: Parse) -> Behaviour:
        async def behave(context: Context) -> None:
            messages = self._messages(context) if parse is None else self._asked(context, parse)
            responses, has_begun = answer(messages, context), False
            try:
                async for response in responses:
                    if not has_begun:
                        # gRPC would send it with the first message, and try again with the status where that is given
                        # up while it waits to be read: then the client would hear of none.
                        has_begun = True
                        await _sent(context.send_initial_metadata(()))
                    await _sent(context.write(response))
            finally:
                await responses.aclose()  # type: ignore[attr-defined]

        return behave

    async def _asked(self, context: Context, parse: Parse) -> AsyncIterator[Any]:
        """The messages of a stream of questions. Each takes a place, as an RPC that is one does."""
        async for data in self._messages(context):
            coming = [_parsed(parse, data)]
            del data
            (await self._questions.begin(current_rpc.get().tenant.name)).answered()
            yield coming.pop()

    async def _one_message(self, context: Context) -> bytes:
        """The message of an RPC that has one."""
        rpc = current_rpc.get()
        slow = Refused(grpc.StatusCode.DEADLINE_EXCEEDED, "slow", f"the request did not come within {_MESSAGE_S} s")
        timer = asyncio.get_running_loop().call_later(_MESSAGE_S, rpc.end, slow)
        try:  # in this task: another one for it would cost each request two more passes of the loop
            data = await self._read(rpc, context)
        finally:
            timer.cancel()
        if data is _EOF:
            raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "invalid", "the call ended without a request")
        return data  # type: ignore[no-any-return]

    async def _messages(self, context: Context) -> AsyncIterator[bytes]:
        """The messages of a stream, of which none is held while the next is waited for."""
        while True:
            coming = [await self._read(current_rpc.get(), context)]
            if coming[0] is _EOF:
                return
            yield coming.pop()

    async def _read(self, rpc: Rpc, context: Context) -> Any:
        """The next message."""
        with self.arriving.awaited(rpc):
            data = await context.read()
        if data is not _EOF:
            self.arriving.came(rpc, len(data))
        return data

    async def refuse_unknown(self, context: Context) -> None:
        """End an RPC of a method that there is not, as any other is ended, where gRPC knows which there are."""
        self._headers.complete()
        metadata: Metadata = context.invocation_metadata() or ()  # type: ignore[assignment]
        header_bytes = headers.size_of_all(metadata)
        await self._passing(_NO_METHOD, metadata, header_bytes, self._refuse_method)(None, context)

    async def _refuse_method(self, _context: Context) -> None:
        """It takes a place, as a question about the daemon does."""
        (await self._questions.begin(current_rpc.get().tenant.name)).answered()
        raise Refused(grpc.StatusCode.UNIMPLEMENTED, "invalid", "there is no such method")

    # ---- one RPC ----------------------------------------------------------------------------------------------

    async def _refuse_headers(self, _requests: Any, context: Context) -> None:
        """gRPC has a bound on headers, but hands over an RPC whose header block went on and on and was broken off."""
        self._observer.refused("", "too_large")
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"the headers are over {MOST_HEADER_BYTES} bytes")

    def _passing(
        self, method: str, metadata: Metadata, header_bytes: int, behave: Behaviour
    ) -> Callable[[Any, Context], Awaitable[None]]:
        async def answer(_requests: Any, context: Context) -> None:
            """One RPC from its beginning to its end, however it ends."""
            shown, peer = shown_by(context, metadata), context.peer()
            self.arriving.began(peer, header_bytes)
            try:
                tenant = self._identity.tenant_of(shown)
            except Unidentified as error:
                await self._strangers.refuse(context, method, metadata, peer, error)
                return
            rpc = Rpc(method, request_id(metadata), context, tenant, shown, peer, task=asyncio.current_task())
            current_rpc.set(rpc)
            try:
                refused = await self._behaved(rpc, metadata, context, behave)
                rpc.cut = partial(self.connections.unread, rpc.peer)
                if refused is not None:
                    await self._refuse(rpc, context, refused)
            finally:
                rpc.give_back()

        return answer

    async def _behaved(self, rpc: Rpc, metadata: Metadata, context: Context, behave: Behaviour) -> Refused | None:
        """What became of it, if it is to be refused: its client has not heard that yet."""
        began, code = time.monotonic(), "OK"
        refused: Refused | None = None
        try:
            with self._entered(rpc), self._tracer.span(rpc.method, metadata):
                await behave(context)
        except Unidentified as error:
            refused = Refused(grpc.StatusCode.UNAUTHENTICATED, "unidentified", str(error))
            self.connections.nobodys(rpc.peer)
        except Refused as error:
            # Without its traceback, whose frames hold the request for as long as somebody holds the exception.
            refused = error.bare()
        except asyncio.CancelledError:
            code = "CANCELLED"
            if rpc.ended is None:
                raise
            refused = rpc.ended
        except _Gone:
            code = "CANCELLED"
        except grpc.aio.AbortError:
            code = "ABORTED"
            raise
        except Exception:
            log.exception("a call failed", extra={"request_id": rpc.request_id})
            refused = _FAILED.bare()
        finally:
            code = code if refused is None else refused.code.name
            ms = round((time.monotonic() - began) * 1000, 1)
            log_end(rpc.method, rpc.request_id, rpc.tenant.name, rpc.peer, code, checks=rpc.checks, ms=ms)
            rpc.context = rpc.task = None  # else the RPC and its task hold each other until a collection
        return refused

    @contextlib.contextmanager
    def _entered(self, rpc: Rpc) -> Iterator[None]:
        """Counted and known as open. It counts until its status has left: what gRPC has of it is there as
        long, and a client that does not read takes none."""
        tenant = rpc.tenant
        current_tenant.set(tenant.name)
        if self.draining.is_set():
            raise away()
        self._admission.enter(tenant)
        rpc.at_end.append(partial(self._admission.leave, tenant))  # its token may be another tenant's by then
        self._open.add(rpc)
        self.connections.opened(rpc.peer, tenant.name)
        try:
            yield
        finally:
            self.connections.closed(rpc.peer, tenant.name)
            self._open.discard(rpc)
            if not self._open:
                self._empty.set()

    async def _refuse(self, rpc: Rpc, context: Context, refused: Refused) -> None:
        if refused is not _FAILED and not (rpc.ended and self.draining.is_set()):
            self._observer.refused(rpc.tenant.name, refused.reason)
        await abort(context, refused.code, refused.sentence, rpc.request_id, refused.metadata())

    # ---- the end of all ----------------------------------------------------------------------------------------

    async def drain(self, seconds: float) -> None:
        """Refuse new RPCs; give open RPCs `seconds` to finish, then end the rest with UNAVAILABLE."""
        self.draining.set()
        if self._open:
            self._empty.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await within(seconds, self._empty.wait())
        for rpc in list(self._open):
            rpc.end(away())
        self._strangers.let_go()  # not sooner: a flood would slow down what is to finish


_FAILED = Refused(grpc.StatusCode.INTERNAL, "failed", "an internal error of the server; its log has the request id")


class _Gone(Exception):
    """The client has disconnected. The daemon has not failed."""


async def _sent(sending: Awaitable[None]) -> None:
    try:
        await sending
    except grpc.aio.InternalError:
        raise _Gone from None


def _parsed(parse: Parse, data: bytes) -> Any:
    """What the method takes: a message, or the bytes, for a method that parses them in slices."""
    if parse is None:
        return data
    if len(data) > _MOST_PARSED:
        sentence = f"the request is over {_MOST_PARSED} bytes"
        raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "invalid", sentence)
    try:
        return parse(data)
    except DecodeError:
        raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "invalid", "the request is no valid protobuf message") from None
