"""Streams that nobody reads, beside others of their tenant: who stands in the way of these is ended."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import grpc
import pytest
from cruxbox import AsyncClient, Event, RunCheck, Task, channel
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.rpc.response_stream import Answers, ResponseStream
from cruxboxd.rpc.service import _Answer
from cruxboxd.rpc.unread import Unread
from cruxboxd.tenancy.refusal import Refused
from given_verdicts import give
from support.daemons import Served
from support.tasks import sums
from support.waiting import until

CHECK, STREAM = "/cruxbox.v1.Sandbox/Check", "/cruxbox.v1.Sandbox/CheckStream"
MIB = 1 << 20
# A channel has a connection of its own, and a client that takes any verdict.
LARGE = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory) -> Iterator[Served]:
    arguments = ("--unread-s", "1", "--maximum-output-bytes", str(16 * MIB))
    with Served(tmp_path_factory.mktemp("unread"), *arguments) as served:
        with served.client() as client:
            client.check(sums(20))
        yield served


def printing_much(name: str) -> pb.CheckRequest:
    """A few verdicts of these take as much as a tenant may have, and gRPC keeps one of each stream that is ended."""
    check = pb.Check(stdio=pb.StdioCheck(expected_stdout="1"))
    program = f"print('x' * 15_000_000)  # {name}"
    request = pb.CheckRequest(tasks=[pb.Task(id=str(at), program=program, checks=[check]) for at in range(4)])
    request.options.limits.output_bytes = 16 * MIB
    return request


@contextlib.contextmanager
def unread(daemon: Served, count: int) -> Iterator[list]:
    """Streams that nobody reads, each of another connection."""
    with contextlib.ExitStack() as until_left:
        calls = []
        for number in range(count):
            channel = until_left.enter_context(grpc.insecure_channel(daemon.target, options=LARGE))
            request = printing_much(f"{time.monotonic()} {number}").SerializeToString()
            calls.append(channel.stream_stream(STREAM, None, None)(iter([request]), timeout=100))
            until_left.callback(calls[-1].cancel)
        yield calls


def test_who_stands_in_the_way_of_others_and_reads_nothing_is_ended(daemon):
    before = ended_by(daemon)
    with unread(daemon, 5) as calls:
        until(lambda: is_answered(daemon) and ended_by(daemon) > before, 60)
        said = [words for words in map(last_words, calls) if words]
        assert said
        assert {code for code, words in said if "nobody has read" in str(words)} == {"RESOURCE_EXHAUSTED"}
        assert {code for code, _ in said} <= {"RESOURCE_EXHAUSTED", "UNAVAILABLE"}  # or its connection is ended
    until(lambda: daemon.metric("cruxbox_accepted_checks") == 0)


def ended_by(daemon: Served) -> float:
    return daemon.metric("cruxbox_refused_total", reason="unread")


def is_answered(daemon: Served) -> bool:
    """Has a stream that is read every verdict? It may be refused for now."""
    checks = [pb.Check(id=str(n), call=pb.CallCheck(call=f"f({n})", expected=f"{n}")) for n in range(300)]
    request = pb.CheckRequest(tasks=[pb.Task(program="def f(n):\n    return n", checks=checks)]).SerializeToString()
    with grpc.insecure_channel(daemon.target, options=LARGE) as channel, contextlib.suppress(grpc.RpcError):
        answers = channel.stream_stream(STREAM, None, None)(iter([request]), timeout=60)
        return sum(len(pb.CheckResponse.FromString(one).verdicts) for one in answers) == 300
    return False


def test_a_client_that_was_busy_with_something_else_gets_every_verdict_all_the_same(daemon, monkeypatch):
    """Its event loop reads ten streams, and does not come to it while another client waits for what they hold."""
    # Where a connection proves fast, gRPC reads all of a stream ahead for its client.
    options = channel.options
    monkeypatch.setattr(channel, "options", lambda tls: [*options(tls), ("grpc.http2.bdp_probe", 0)])
    events, answered, before = list[Event](), list[bool](), ended_by(daemon)

    async def stream(client: AsyncClient, number: int) -> list[int]:
        sizes = []
        tasks = [Task(f"print('x' * 900_000)  # {number} {n}", [RunCheck()]) for n in range(20)]
        async for verdict in client.stream(tasks):
            sizes.append(len(verdict.stdout))
            if not answered and daemon.metric("cruxbox_accepted_checks") >= 120:  # more than a tenant may hold
                answered.append(True)
                until(lambda: is_answered(daemon) and ended_by(daemon) > before, 60)
        return sizes

    async def busy() -> list[list[int]]:
        async with AsyncClient(daemon.target, on_event=events.append) as client:
            return await asyncio.gather(*[stream(client, number) for number in range(10)])

    for _ in range(5):
        if not answered:  # or the daemon was as quick as the client
            assert asyncio.run(busy()) == [[900_001] * 20] * 10
    assert answered
    assert any("nobody has read" in event.detail for event in events)


def last_words(call) -> tuple[str, str | None] | None:
    """How a stream ends for who reads it after all, if it was not to go on."""
    try:
        for _ in call:
            pass
    except grpc.RpcError as error:
        return error.code().name, error.details()
    return None


# ---- which ----------------------------------------------------------------------------------------------------------


class Streams:
    """Streams of one tenant, who was refused something or has other work that waits; `ended` are those that were."""

    def __init__(self, *, is_held_up: bool = False, is_refused: bool = False, unread_s: float = 0) -> None:
        self.answers, self.ended = Answers(lambda: None, unread_s), list[str]()
        self.unread = Unread(self.answers, lambda _name, _full: is_held_up, lambda: {"lab"} if is_refused else set())
        self._given = []

    async def add(self, name: str, size: int = 9 * MIB, to_come: int = 1, is_given: bool = True) -> ResponseStream:
        """One with a verdict of so many bytes, which gRPC has been given or not."""
        stream = ResponseStream(self.answers, "lab", partial(self._end, name))
        stream.expect(to_come)
        putting = asyncio.ensure_future(stream.put(b"x" * size))
        await asyncio.sleep(0)
        if is_given:
            self._given.append((putting, stream.responses()))
            await self._given[-1][1].__anext__()
        return stream

    def _end(self, name: str, _why: Refused) -> bool:
        self.ended.append(name)
        return True

    def look(self) -> list[str]:
        self.unread.look()
        return self.ended


@pytest.mark.parametrize(
    ("why", "ended"),
    [({"is_held_up": True}, ["large"]), ({"is_refused": True}, ["many"]), ({}, []),
     ({"is_held_up": True, "is_refused": True, "unread_s": 60}, [])],
)  # fmt: skip
async def test_of_those_that_harm_others_one_is_ended_and_of_others_none(why: dict[str, Any], ended: list[str]):
    streams = Streams(**why)
    for name, size, to_come in (("small", MIB, 2), ("large", 20 * MIB, 5), ("many", 2 * MIB, 900)):
        await streams.add(name, size, to_come)
    await streams.add("on its way", 50 * MIB, 1000, is_given=False)
    assert streams.look() == ended


async def test_one_that_was_ended_is_ended_again_only_if_what_it_leaves_is_much():
    streams = Streams(is_held_up=True)
    one = await streams.add("one", 20 * MIB)
    assert streams.look() == ["one"]
    one.drop()
    assert (streams.look(), streams.answers.held("lab")) == (["one"], 20 * MIB)
    other = await streams.add("other", 19 * MIB)
    assert streams.look() == ["one", "other"]
    other.drop()
    assert streams.look() == ["one", "other", "one"]
    for stream in (one, other):
        stream.gone()
    assert (streams.look(), streams.answers.open) == (["one", "other", "one"], {})


async def test_one_that_has_every_verdict_takes_no_places_of_the_queue():
    streams = Streams(is_refused=True)
    await streams.add("judged", 20 * MIB, 1)
    assert streams.look() == []


@pytest.mark.parametrize(("is_held_up", "is_refused"), [(True, False), (False, True)])
async def test_an_answer_to_check_that_nobody_reads_is_ended_too(is_held_up: bool, is_refused: bool):
    streams = Streams(is_held_up=is_held_up)
    answer = _Answer(lambda *_: b"x" * MIB, streams.answers, "lab", partial(streams._end, "answer"))
    await give(answer, "a")
    assert streams.look() == []  # gRPC has none of it yet
    assert answer.whole([b"x"]) == b"x"
    if is_refused:
        streams.answers.refused.add("lab")
    assert streams.look() == ["answer"]
    assert streams.look() == ["answer"]
    answer.gone()
    assert (streams.answers.held("lab"), streams.answers.open) == (0, {})


async def test_what_its_client_has_taken_is_read():
    streams = Streams(is_held_up=True)
    stream = ResponseStream(streams.answers, "lab")
    await stream.put(b"x" * MIB)
    responses = stream.responses()
    await responses.__anext__()
    assert stream.is_unread
    waiting = asyncio.ensure_future(responses.__anext__())
    await asyncio.sleep(0)
    assert (stream.is_unread, streams.look()) == (False, [])
    waiting.cancel()
