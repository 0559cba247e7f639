"""The gRPC service: requests in, verdicts out. No policy of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from cruxbox_proto.v1 import sandbox_pb2 as pb

from cruxboxd.judging.judge import Judge
from cruxboxd.judging.outcomes import CheckResult
from cruxboxd.judging.tasks import Check as OneCheck
from cruxboxd.judging.tasks import Task
from cruxboxd.rpc.codec import (
    Offer,
    Origin,
    RequestError,
    Stamp,
    outline_of,
    read_tasks,
    size_of,
    write_verdict,
)
from cruxboxd.rpc.interceptor import Interceptor, Rpc, away, current_rpc
from cruxboxd.rpc.methods import add_methods
from cruxboxd.rpc.outline import Outline
from cruxboxd.rpc.response_stream import Answers, Outgoing, ResponseStream
from cruxboxd.rpc.rpc_work import RpcWork, slices
from cruxboxd.rpc.wire import field
from cruxboxd.settings.config import MIB
from cruxboxd.shared.observer import Observer
from cruxboxd.shared.turns import Turns
from cruxboxd.tenancy.admission import Admission, Ticket
from cruxboxd.tenancy.identity import Identity
from cruxboxd.tenancy.refusal import Refused, full
from cruxboxd.zygotes.jobs import current_outlet

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[Any, Any]

# More than this in one answer is refused: no client could take it.
_BYTES_AN_ANSWER = 64 * MIB
_BYTES_OF_ANSWERS = 256 * MIB  # of one tenant's RPCs together
_ANSWERS_WAIT_S = 1.0
_VERDICTS_A_STEP = 256
_VERDICTS = 1  # the field of CheckResponse


class SandboxService:
    """The service of sandbox.proto. Every method has passed the interceptor; `current_rpc` is the RPC.

    Requests arrive as bytes. They are counted before admission and parsed afterwards, in slices. Verdicts leave as
    bytes. Each is encoded when it is known, so that no response is encoded in one step.
    """

    def __init__(
        self, *, judge: Judge, offer: Offer, stamp: Stamp, info: pb.ServerInfo, identity: Identity,
        admission: Admission, interceptor: Interceptor, turns: Turns, answers: Answers, observer: Observer,
    ) -> None:  # fmt: skip
        self._judge = judge
        self._offer, self._stamp, self._info = offer, stamp, info
        self._identity, self._admission, self._interceptor, self._observer = identity, admission, interceptor, observer
        self._turns, self._answers = turns, answers

    def add_to(self, server: grpc.aio.Server) -> None:
        """Have `server` serve every method."""
        methods = {
            "Check": grpc.unary_unary_rpc_method_handler(self.Check),
            "CheckStream": grpc.stream_stream_rpc_method_handler(self.CheckStream),
            "GetServerInfo": grpc.unary_unary_rpc_method_handler(
                self.GetServerInfo, pb.GetServerInfoRequest.FromString, pb.ServerInfo.SerializeToString
            ),
        }
        name = pb.DESCRIPTOR.services_by_name["Sandbox"].full_name
        add_methods(server, name, methods)

    async def GetServerInfo(self, request: pb.GetServerInfoRequest, context: Context) -> pb.ServerInfo:
        return self._info

    async def Check(self, request: bytes, context: Context) -> bytes:
        """One batch, one answer."""
        rpc = current_rpc.get()
        with contextlib.ExitStack() as until_let_in:
            until_let_in.enter_context(self._admission.arrived(rpc.tenant, len(request)))
            tasks, ticket = await self._take(request, rpc, until_let_in)
        del request
        answer = _Answer(self._write, self._answers, rpc.tenant.name, rpc.end)
        current_outlet.set(answer)
        rpc.at_end += [answer.gone, partial(self._judge.forget, rpc.id)]
        work = answer.work = RpcWork(self._judge, answer.emit)
        try:
            await work.add(tasks, ticket)
            await work.finish()
            if self._judge.is_suspect(rpc.id):
                for part in slices(answer.shared(tasks)):
                    await self._judge.judge(part, answer.emit)
                await work.finish()  # if that made the answer too large
        except BaseException:
            answer.gone()  # so nothing more begins while what is under way ends
            raise
        finally:
            try:
                await work.cancel()
            finally:
                del answer.work  # each holds the other
        parts: list[bytes] = []
        await self._turns.run(rpc.tenant.name, answer.in_order(tasks, parts))
        return answer.whole(parts)

    async def CheckStream(self, requests: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
        """Batches are judged as they come, several at a time; verdicts leave as they are known."""
        rpc = current_rpc.get()
        stream = ResponseStream(self._answers, rpc.tenant.name, rpc.end)
        rpc.at_end += [stream.gone, partial(self._judge.forget, rpc.id)]
        current_outlet.set(stream)
        judging = asyncio.create_task(self._judge_stream(requests, rpc, stream))
        try:
            async for response in stream.responses():
                yield response
            await judging
        finally:
            stream.drop()
            judging.cancel()
            try:
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await judging
            finally:
                del judging  # its error holds this frame, and that of a request that was refused

    async def _judge_stream(self, requests: AsyncIterator[bytes], rpc: Rpc, stream: ResponseStream) -> None:
        """Judge what comes until the client, or this server, has had enough; then finish what was begun."""

        async def emit(task: Task, check: OneCheck, judged: CheckResult, second: CheckResult | None) -> None:
            await stream.put(self._write(task, check, judged, second))

        work = RpcWork(self._judge, emit)
        try:
            async for request in _until(self._interceptor.draining, requests):
                rpc.tenant = self._identity.tenant_of(rpc.shown)  # a token may have been withdrawn meanwhile
                tasks, ticket = await self._begin(request, rpc, work)
                del request
                stream.expect(sum(len(task.checks) for task in tasks))
                await work.add(tasks, ticket)
                del tasks, ticket
            await work.finish()
            if self._interceptor.draining.is_set():
                raise away()
        finally:
            stream.close()
            await work.cancel()

    async def _begin(self, data: bytes, rpc: Rpc, work: RpcWork) -> tuple[list[Task], Ticket]:
        """Let a request of a stream in. It needs a place to begin if nothing of its stream is under way: who opens a
        stream to leave it takes one each time, and who stays takes one for all."""
        with contextlib.ExitStack() as until_let_in:
            until_let_in.enter_context(self._admission.arrived(rpc.tenant, len(data)))
            if work.has_work():
                return await self._take(data, rpc, until_let_in, work)
            start = await self._admission.starts.begin(rpc.tenant.name)
            try:
                tasks, ticket = await self._take(data, rpc, until_let_in, work)
            except Refused:
                start.refused()
                raise
            ticket.answered = start.answered
            return tasks, ticket

    async def _take(
        self, data: bytes, rpc: Rpc, until_let_in: contextlib.ExitStack, stream: RpcWork | None = None
    ) -> tuple[list[Task], Ticket]:
        """Let a request in, and only then parse it. What it costs to read is the tenant's.

        Args:
            data: the request.
            rpc: whose it is.
            until_let_in: closed when the request counts in the queue.
            stream: the work of its stream, if it came on one: then it waits for room rather than being refused.

        Returns:
            Its tasks, and the ticket for them. Raises Refused.
        """
        name = rpc.tenant.name
        outline, tasks = Outline(), list[Task]()
        if stream is None:
            self._admission.ask(rpc.tenant, 1, len(data))
        try:
            await self._turns.run(name, outline_of(data, outline))
        except RequestError as error:
            raise _invalid(error) from None
        size = size_of(data, outline)
        if stream is None:
            ticket = self._admission.take(rpc.tenant, outline.checks, size)
        else:
            ticket = await self._admission.take_when_possible(rpc.tenant, outline.checks, size, stream.has_work)
        until_let_in.close()
        try:
            origin = Origin(name, stream is None, rpc.id)
            await self._turns.run(name, read_tasks(data, outline, self._offer, origin, tasks))
        except RequestError as error:
            ticket.close()
            raise _invalid(error) from None
        except BaseException:
            ticket.close()
            raise
        rpc.checks += outline.checks
        return tasks, ticket

    def _write(self, task: Task, check: OneCheck, judged: CheckResult, second: CheckResult | None) -> bytes:
        """A verdict as a field of CheckResponse."""
        self._observer.verdict(task, judged)
        return field(_VERDICTS, *write_verdict(task, check, judged, second, self._stamp))


class _Answer(Outgoing):
    """The verdicts of one answer, kept until the last is known, and bounded in bytes.

    `work` is what they come from. It fails where they are too many, and `emit` does not raise: an exception holds the
    frames on its way, these hold what was judged, and all of it would be there until the next collection.
    """

    work: RpcWork

    def __init__(
        self, write: Callable[[Task, OneCheck, CheckResult, CheckResult | None], bytes], answers: Answers, tenant: str,
        end: Callable[[Refused], bool] = lambda _why: False,
    ) -> None:  # fmt: skip
        super().__init__(answers, tenant, end)
        self._write = write
        self._verdicts: dict[tuple[str, str], bytes] = {}
        self._shared: set[tuple[str, str]] = set()
        self._is_gone = False

    @property
    def is_full(self) -> bool:
        return self._is_gone

    async def emit(self, task: Task, check: OneCheck, judged: CheckResult, second: CheckResult | None) -> None:
        """Add a verdict; it replaces an earlier one of the same check."""
        if self._is_gone:
            return
        key = task.id, check.id
        self._shared.discard(key)
        if judged.shared or (second is not None and second.shared):
            self._shared.add(key)
        verdict = self._write(task, check, judged, second)
        more = len(verdict) - len(self._verdicts.get(key, b""))
        self._verdicts[key] = verdict
        self._bytes += more
        self._answers.add(self._tenant, more)
        if self._bytes > _BYTES_AN_ANSWER:
            self._refuse(_too_large())
        elif self._answers.held(self._tenant) > _BYTES_OF_ANSWERS:
            self._answers.refused.add(self._tenant)
            sentence = f"{_BYTES_OF_ANSWERS // MIB} MiB of answers to you have not left"
            self._refuse(full("answers", sentence, _ANSWERS_WAIT_S))

    def _refuse(self, why: Refused) -> None:
        self.gone()
        self.work.fail(why)

    def gone(self) -> None:
        """It has left, or nobody waits for it any more."""
        self._answers.add(self._tenant, -self._bytes)
        self._bytes = 0
        self._is_gone = True
        self._verdicts.clear()
        self._forget()

    def whole(self, parts: list[bytes]) -> bytes:
        """What gRPC is given."""
        self._given(self._bytes)
        return b"".join(parts)

    def shared(self, tasks: list[Task]) -> list[Task]:
        """The tasks with those checks alone that shared a worker."""
        found = [
            replace(task, checks=[check for check in task.checks if (task.id, check.id) in self._shared])
            for task in tasks
        ]
        return [task for task in found if task.checks]

    def in_order(self, tasks: list[Task], parts: list[bytes]) -> Iterator[None]:
        """Append the verdicts to `parts` in the order of what was asked, in steps. Each takes what it was asked for out
        of `tasks`: to give a hundred thousand checks back at once takes tens of milliseconds."""
        tasks.reverse()
        while tasks:
            task = tasks.pop()
            task.checks.reverse()
            while task.checks:
                part = task.checks[: -_VERDICTS_A_STEP - 1 : -1]
                del task.checks[-_VERDICTS_A_STEP:]
                parts.append(b"".join([self._verdicts.pop((task.id, check.id)) for check in part]))
                yield


def _invalid(error: RequestError) -> Refused:
    return Refused(grpc.StatusCode.INVALID_ARGUMENT, "invalid", str(error))


def _too_large() -> Refused:
    sentence = f"the answer is over {_BYTES_AN_ANSWER // MIB} MiB; use CheckStream, or a lower limits.output_bytes"
    return Refused(grpc.StatusCode.OUT_OF_RANGE, "too_large", sentence)


async def _until(event: asyncio.Event, requests: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The requests of a stream, until it ends or `event` is set. None is held while the next is waited for."""
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
                come = [following.result()]
            except StopAsyncIteration:
                return
            finally:
                following = None  # its error holds this frame
            yield come.pop()
    finally:
        stop.cancel()
        if following is not None:
            following.cancel()
