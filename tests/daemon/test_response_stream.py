"""Verdicts on their way out, and work in slices: bounded, complete, in time."""

from __future__ import annotations

import asyncio
import weakref
from dataclasses import replace

import pytest
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.judging.tasks import CallCheck, Check, StepCount, Task
from cruxboxd.rpc.response_stream import BYTES_A_TENANT, Answers, ResponseStream
from cruxboxd.rpc.rpc_work import BYTES_A_PART, SLICES_AN_RPC, RpcWork, slices
from cruxboxd.settings.config import DEFAULT_LIMITS
from hypothesis import given
from hypothesis import strategies as st


async def sent(stream: ResponseStream) -> list[list[pb.Verdict]]:
    return [list(pb.CheckResponse.FromString(response).verdicts) async for response in stream.responses()]


def written(**fields: object) -> bytes:
    """A verdict as it is put in: a field of CheckResponse."""
    return pb.CheckResponse(verdicts=[pb.Verdict(**fields)]).SerializeToString()


async def test_everything_leaves_in_order_in_messages_of_bounded_size():
    stream = ResponseStream(Answers(lambda: None), "lab")
    sizes = [10, 3 << 20, 3 << 20, 20 << 20, *[10] * 600]

    async def fill() -> None:
        for number, size in enumerate(sizes):
            await stream.put(written(check_id=str(number), stdout="x" * size))
        stream.close()

    messages, _ = await asyncio.gather(sent(stream), fill())
    assert [int(verdict.check_id) for message in messages for verdict in message] == list(range(len(sizes)))
    assert all(len(message) <= 256 for message in messages)
    assert all(len(message) == 1 or sum(v.ByteSize() for v in message) <= 4 << 20 for message in messages)


async def test_whoever_puts_in_waits_while_nobody_reads():
    stream, put = ResponseStream(Answers(lambda: None), "lab"), 0

    async def fill() -> None:
        nonlocal put
        for _ in range(100):
            await stream.put(written(stdout="x" * (1 << 20)))
            put += 1
        stream.close()

    filling = asyncio.create_task(fill())
    for _ in range(300):
        await asyncio.sleep(0)
    assert 1 <= put <= 8
    assert sum(map(len, await sent(stream))) == 100
    await filling


async def test_a_message_that_grpc_has_and_nobody_takes_has_not_left():
    """gRPC asks for the next one when the client had room for the last."""
    answers = Answers(lambda: None)
    stream = ResponseStream(answers, "lab")
    await asyncio.wait({asyncio.ensure_future(stream.put(b"x" * (20 << 20)))}, timeout=0)
    responses = stream.responses()
    message = await responses.__anext__()
    assert (answers.held("lab"), stream.is_full) == (len(message), True)
    stream.close()
    with pytest.raises(StopAsyncIteration):
        await responses.__anext__()
    assert (answers.held("lab"), stream.is_full) == (0, False)


@pytest.mark.parametrize("is_given", [False, True])
async def test_what_nobody_will_take_is_held_no_longer(is_given: bool):
    answers = Answers(lambda: None)
    stream = ResponseStream(answers, "lab")
    putting = asyncio.ensure_future(stream.put(b"x" * (20 << 20)))
    await asyncio.sleep(0)
    if is_given:
        await stream.responses().__anext__()
    stream.drop()
    await putting
    assert answers.held("lab") == (20 << 20 if is_given else 0)  # gRPC has it until the RPC is over
    stream.gone()
    assert (answers.held("lab"), stream.is_full) == (0, True)  # so nothing more of it begins


async def test_a_tenants_streams_are_full_together():
    room = []
    answers = Answers(lambda: room.append(True))
    boxes = [ResponseStream(answers, "lab") for _ in range(20)]
    other = ResponseStream(answers, "other")
    filled = 0
    while not boxes[-1].is_full:
        await boxes[filled].put(b"x" * (7 << 20))
        filled += 1
    assert filled == -(-BYTES_A_TENANT // (7 << 20))
    assert not other.is_full
    boxes[0].close()
    assert len(await sent_bytes(boxes[0])) == 1
    assert (room, boxes[-1].is_full) == ([True], False)
    for box in boxes:
        box.drop()
    assert answers.held("lab") == 0


async def sent_bytes(stream: ResponseStream) -> list[bytes]:
    return [response async for response in stream.responses()]


def task(number: int, checks: int) -> Task:
    made: list[Check] = [CallCheck(f"{number}-{at}", "f()", "1") for at in range(checks)]
    return Task(str(number), b"", made, DEFAULT_LIMITS, "python", True, None, 1, StepCount.INSTRUCTIONS)


@given(st.lists(st.integers(1, 30), max_size=20), st.integers(1, 12))
def test_slices_hold_every_check_once_and_in_order(sizes, most):
    tasks = [task(number, size) for number, size in enumerate(sizes)]
    parts = list(slices(tasks, most))
    counts = [sum(len(one.checks) for one in part) for part in parts]
    assert [check.id for part in parts for one in part for check in one.checks] == [
        c.id for t in tasks for c in t.checks
    ]
    assert all(count == most for count in counts[:-1])
    assert all(0 < count <= most for count in counts)


def test_a_task_of_large_outputs_is_cut():
    limits = replace(DEFAULT_LIMITS, output_bytes=16 << 20)
    parts = [len(one.checks) for part in slices([replace(task(1, 100), limits=limits)]) for one in part]
    assert sum(parts) == 100
    assert max(parts) * limits.output_bytes <= BYTES_A_PART


def test_a_task_of_many_checks_is_cut():
    """The event loop begins and ends one in a pass."""
    parts = [[len(one.checks) for one in part] for part in slices([task(1, 300), task(2, 50)])]
    assert parts == [[64, 64, 64, 64], [44, 50]]


class Ticket:
    def __init__(self, checks: int) -> None:
        self.left = checks
        self.is_answered = False

    def answered(self) -> None:
        self.is_answered = True

    def give_back(self, checks: int) -> bool:
        self.left -= checks
        return self.left == 0

    def close(self) -> None:
        self.left = 0


class SlowJudge:
    """Judges nothing until it is let; counts how many slices it has at once."""

    def __init__(self) -> None:
        self.go, self.now, self.most = asyncio.Event(), 0, 0

    async def judge(self, tasks, emit) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.go.wait()
            if tasks[0].id == "7":
                raise ValueError("seven")
        finally:
            self.now -= 1


async def test_few_slices_at_a_time_and_everything_given_back():
    judge, ticket = SlowJudge(), Ticket(256 * 40)
    work = RpcWork(judge, None)
    adding = asyncio.create_task(work.add([task(100 + n, 256) for n in range(40)], ticket))
    for _ in range(200):
        await asyncio.sleep(0)
    assert judge.now == SLICES_AN_RPC
    assert work.has_work()
    judge.go.set()
    await adding
    await work.finish()
    assert (ticket.left, judge.most, work.has_work()) == (0, SLICES_AN_RPC, False)


async def test_what_goes_wrong_in_a_slice_is_heard_and_the_rest_is_ended():
    judge, ticket = SlowJudge(), Ticket(256 * 10)
    work = RpcWork(judge, None)
    await work.add([task(n, 256) for n in range(10)], ticket)
    judge.go.set()
    with pytest.raises(ValueError, match="seven"):
        await work.finish()
    await work.cancel()
    assert (ticket.left, judge.now) == (0, 0)


class TooMuch(Exception):
    pass


async def test_where_no_more_is_wanted_the_rest_is_ended_and_the_reason_held_no_longer():
    judge, ticket = SlowJudge(), Ticket(256 * 10)
    work = RpcWork(judge, None)
    await work.add([task(100 + n, 256) for n in range(10)], ticket)
    await asyncio.sleep(0)
    error, heard = TooMuch("first"), ""
    reason = weakref.ref(error)
    work.fail(error)
    work.fail(TooMuch("second"))
    del error
    try:
        await work.finish()
    except TooMuch as raised:
        heard = str(raised)
    await work.cancel()
    assert (heard, ticket.left, judge.now, reason()) == ("first", 0, 0, None)


class ReluctantJudge(SlowJudge):
    """Takes a while to end when it is cancelled, as workers do that have to be killed."""

    async def judge(self, tasks, emit) -> None:
        try:
            await super().judge(tasks, emit)
        finally:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("passes", [1, 2, 3, 5, 9])
async def test_a_call_that_is_cancelled_again_while_it_ends_gives_everything_back(passes):
    """Some of its slices wait for room, some have not begun, some end."""
    judge, ticket = ReluctantJudge(), Ticket(256 * 40)
    work = RpcWork(judge, None)

    async def call() -> None:
        try:
            await work.add([task(100 + n, 256) for n in range(40)], ticket)
        finally:
            await work.cancel()

    running = asyncio.create_task(call())
    for _ in range(passes):
        await asyncio.sleep(0)
    running.cancel()
    for _ in range(2):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    while work.has_work():
        await asyncio.sleep(0.01)
    assert (ticket.left, judge.now) == (0, 0)


async def test_verdicts_for_nobody_are_not_kept():
    answers = Answers(lambda: None)
    stream = ResponseStream(answers, "a")
    await stream.put(b"x" * 100)
    stream.drop()
    await stream.put(b"x" * 100)
    assert answers.held("a") == 0
