"""The gRPC service: requests in, verdicts out. No policy of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxbox_proto.v1 import sandbox_pb2_grpc as pb_grpc

from cruxboxd.judging.judge import Judge
from cruxboxd.judging.outcomes import Finding
from cruxboxd.judging.tasks import Ask, TaskAsk
from cruxboxd.rpc.call_work import Slices
from cruxboxd.rpc.codec import Caller, RequestError, Stamp, Terms, read_request, write_verdict
from cruxboxd.rpc.interceptor import Call, Door, away, current_call
from cruxboxd.rpc.response_stream import Outbox
from cruxboxd.settings.config import MIB
from cruxboxd.tenancy.admission import Admission
from cruxboxd.tenancy.identity import Identity
from cruxboxd.tenancy.refusal import Refused

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[Any, Any]

# More than this in one answer is refused: no client could take it.
_BYTES_AN_ANSWER = 64 * MIB


class Observer:
    """What the service tells whoever keeps figures."""

    def verdict(self, task: TaskAsk, finding: Finding) -> None:
        pass


class SandboxService(pb_grpc.SandboxServicer):
    """See sandbox.proto. Every method has passed the door: `current_call` says whose call it is."""

    def __init__(
        self, *, judge: Judge, terms: Terms, stamp: Stamp, info: pb.ServerInfo, identity: Identity,
        admission: Admission, door: Door, observer: Observer,
    ) -> None:  # fmt: skip
        self._judge = judge
        self._terms, self._stamp, self._info = terms, stamp, info
        self._identity, self._admission, self._door, self._observer = identity, admission, door, observer

    async def GetServerInfo(self, request: pb.GetServerInfoRequest, context: Context) -> pb.ServerInfo:
        return self._info

    async def Check(self, request: pb.CheckRequest, context: Context) -> pb.CheckResponse:
        """One batch, one answer."""
        call = current_call.get()
        tasks = self._read(request, call, interactive=True)
        ticket = self._admission.take(call.tenant, _count(tasks), request.ByteSize())
        verdicts: dict[tuple[str, str], pb.Verdict] = {}
        size = 0

        async def emit(task: TaskAsk, ask: Ask, finding: Finding, second: Finding | None) -> None:
            nonlocal size
            verdict = verdicts[task.id, ask.id] = self._write(task, ask, finding, second)
            size += verdict.ByteSize()
            if size > _BYTES_AN_ANSWER:
                raise _too_large()

        work = Slices(self._judge, emit)
        try:
            await work.add(tasks, ticket)
            await work.finish()
        finally:
            await work.cancel()
        return pb.CheckResponse(verdicts=[verdicts[task.id, ask.id] for task in tasks for ask in task.asks])

    async def CheckStream(
        self, requests: AsyncIterator[pb.CheckRequest], context: Context
    ) -> AsyncIterator[pb.CheckResponse]:
        """Batches are judged as they come, several at a time; verdicts leave as they are known."""
        outbox = Outbox()
        judging = asyncio.create_task(self._judge_stream(requests, current_call.get(), outbox))
        try:
            async for response in outbox.responses():
                yield response
            await judging
        finally:
            judging.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await judging

    async def _judge_stream(self, requests: AsyncIterator[pb.CheckRequest], call: Call, outbox: Outbox) -> None:
        """Judge what comes until the client, or this server, has had enough; then finish what was begun."""

        async def emit(task: TaskAsk, ask: Ask, finding: Finding, second: Finding | None) -> None:
            await outbox.put(self._write(task, ask, finding, second))

        work = Slices(self._judge, emit)
        try:
            async for request in _until(self._door.draining, requests):
                call.tenant = self._identity.tenant_of(call.shown)  # a token may have been withdrawn meanwhile
                tasks = self._read(request, call, interactive=False)
                ticket = await self._admission.take_when_possible(
                    call.tenant, _count(tasks), request.ByteSize(), work.has_work
                )
                await work.add(tasks, ticket)
            await work.finish()
            if self._door.draining.is_set():
                raise away()
        finally:
            await work.cancel()
            outbox.close()

    def _read(self, request: pb.CheckRequest, call: Call, interactive: bool) -> list[TaskAsk]:
        try:
            tasks = read_request(request, self._terms, Caller(call.tenant.name, interactive, call.number))
        except RequestError as error:
            raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "invalid", str(error)) from None
        call.checks += _count(tasks)
        return tasks

    def _write(self, task: TaskAsk, ask: Ask, finding: Finding, second: Finding | None) -> pb.Verdict:
        self._observer.verdict(task, finding)
        return write_verdict(task, ask, finding, second, self._stamp)


def _count(tasks: list[TaskAsk]) -> int:
    return sum(len(task.asks) for task in tasks)


def _too_large() -> Refused:
    sentence = f"the answer is over {_BYTES_AN_ANSWER // MIB} MiB; use CheckStream, or a lower limits.output_bytes"
    return Refused(grpc.StatusCode.OUT_OF_RANGE, "too_large", sentence)


async def _until(event: asyncio.Event, requests: AsyncIterator[pb.CheckRequest]) -> AsyncIterator[pb.CheckRequest]:
    """The requests of a stream, until it ends or `event` is set."""
    stop = asyncio.ensure_future(event.wait())
    coming = requests.__aiter__()
    following = None
    try:
        while True:
            following = asyncio.ensure_future(coming.__anext__())
            await asyncio.wait({stop, following}, return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                return
            try:
                request = following.result()
            except StopAsyncIteration:
                return
            yield request
    finally:
        stop.cancel()
        if following is not None:
            following.cancel()
