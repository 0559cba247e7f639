"""The gRPC service: requests in, verdicts out. No policy of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import grpc
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxbox_proto.v1 import sandbox_pb2_grpc as pb_grpc

from cruxboxd.asks import Ask, TaskAsk
from cruxboxd.judge import Judge
from cruxboxd.pool import Pool
from cruxboxd.requests import Caller, RequestError, Stamp, Terms, read_request, write_verdict
from cruxboxd.verdict import Finding

log = logging.getLogger(__name__)

# Verdicts that are ready at the same time travel together, up to so many a message.
_VERDICTS_A_MESSAGE = 256
# Requests of one stream that are judged at the same time; more wait in the transport, which slows the client down.
_REQUESTS_A_STREAM = 16


class Observer:
    """What the service tells whoever keeps figures."""

    def verdict(self, task: TaskAsk, finding: Finding) -> None:
        pass


class SandboxService(pb_grpc.SandboxServicer):
    """See sandbox.proto."""

    def __init__(
        self, judge: Judge, pool: Pool, terms: Terms, stamp: Stamp, info: pb.ServerInfo, admission: Admission,
        observer: Observer,
    ) -> None:  # fmt: skip
        self._judge, self._pool = judge, pool
        self._terms, self._stamp, self._info = terms, stamp, info
        self._admission, self._observer = admission, observer

    async def GetServerInfo(
        self, request: pb.GetServerInfoRequest, context: grpc.aio.ServicerContext
    ) -> pb.ServerInfo:
        return self._info

    async def Check(
        self, request: pb.CheckRequest, context: grpc.aio.ServicerContext
    ) -> pb.CheckResponse:
        tasks = await self._read(request, context, interactive=True)
        await self._admission.admit(tasks, context)
        verdicts: dict[tuple[str, str], pb.Verdict] = {}

        async def emit(task: TaskAsk, ask: Ask, finding: Finding, second: Finding | None) -> None:
            verdicts[task.id, ask.id] = self._write(task, ask, finding, second)

        try:
            await self._judge.judge(tasks, emit)
        finally:
            self._admission.release(tasks)
        return pb.CheckResponse(verdicts=[verdicts[task.id, ask.id] for task in tasks for ask in task.asks])

    async def CheckStream(
        self, requests: AsyncIterator[pb.CheckRequest], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.CheckResponse]:
        """Batches are judged as they come, several at a time; verdicts leave as they are known."""
        ready: asyncio.Queue[pb.Verdict | None] = asyncio.Queue(maxsize=4 * _VERDICTS_A_MESSAGE)
        reading = asyncio.create_task(self._judge_stream(requests, context, ready))
        try:
            async for response in _batches(ready):
                yield response
            await reading
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, grpc.aio.AbortError, RequestError):
                await reading

    async def _judge_stream(
        self,
        requests: AsyncIterator[pb.CheckRequest],
        context: grpc.aio.ServicerContext,
        ready: asyncio.Queue[pb.Verdict | None],
    ) -> None:
        room = asyncio.Semaphore(_REQUESTS_A_STREAM)
        running: set[asyncio.Task[None]] = set()

        async def emit(task: TaskAsk, ask: Ask, finding: Finding, second: Finding | None) -> None:
            await ready.put(self._write(task, ask, finding, second))

        async def judge(tasks: list[TaskAsk]) -> None:
            try:
                await self._judge.judge(tasks, emit)
            finally:
                self._admission.release(tasks)
                room.release()

        try:
            async for request in requests:
                tasks = await self._read(request, context, interactive=False)
                await room.acquire()
                try:
                    await self._admission.admit(tasks, context)
                except BaseException:
                    room.release()
                    raise
                work = asyncio.create_task(judge(tasks))
                running.add(work)
                work.add_done_callback(running.discard)
            await asyncio.gather(*running)
        finally:
            for work in list(running):
                work.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            _put_end(ready)

    async def _read(
        self, request: pb.CheckRequest, context: grpc.aio.ServicerContext, interactive: bool
    ) -> list[TaskAsk]:
        caller = Caller(self._admission.tenant_of(context), interactive)
        try:
            return read_request(request, self._terms, caller)
        except RequestError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            raise

    def _write(self, task: TaskAsk, ask: Ask, finding: Finding, second: Finding | None) -> pb.Verdict:
        self._observer.verdict(task, finding)
        return write_verdict(task, ask, finding, second, self._stamp)


def _put_end(ready: asyncio.Queue[pb.Verdict | None]) -> None:
    """Mark the end of the verdicts, also when the queue is full because nobody reads any more."""
    while True:
        try:
            ready.put_nowait(None)
        except asyncio.QueueFull:
            ready.get_nowait()
        else:
            return


async def _batches(ready: asyncio.Queue[pb.Verdict | None]) -> AsyncIterator[pb.CheckResponse]:
    while True:
        verdict = await ready.get()
        batch: list[pb.Verdict] = []
        while verdict is not None:
            batch.append(verdict)
            if ready.empty() or len(batch) >= _VERDICTS_A_MESSAGE:
                break
            verdict = ready.get_nowait()
        if batch:
            yield pb.CheckResponse(verdicts=batch)
        if verdict is None:
            return


class Admission:
    """Who may ask how much. This one lets everybody in while the queue has room."""

    def __init__(self, pool: Pool, queue_checks: int, queue_bytes: int) -> None:
        self._pool = pool
        self._queue_checks, self._queue_bytes = queue_checks, queue_bytes
        self._checks = 0
        self.is_draining = False

    def tenant_of(self, context: grpc.aio.ServicerContext) -> str:
        return ""

    async def admit(self, tasks: list[TaskAsk], context: grpc.aio.ServicerContext) -> None:
        """Count the tasks in, or end the call with a code the client retries."""
        checks = sum(len(task.asks) for task in tasks)
        if self.is_draining:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the server is shutting down")
        if self._checks + checks > self._queue_checks or self._pool.queued_bytes > self._queue_bytes:
            await context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED, f"{self._checks} checks wait already; try again later"
            )
        self._checks += checks

    def release(self, tasks: list[TaskAsk]) -> None:
        self._checks -= sum(len(task.asks) for task in tasks)

    @property
    def checks(self) -> int:
        """Checks that were accepted and have no verdict yet."""
        return self._checks
