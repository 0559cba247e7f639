"""Texts of megabytes: they are held once however many checks have them, and no step on them is long."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields, is_dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.judging import scripts
from cruxboxd.judging.jobs import look_at_texts
from cruxboxd.judging.judge import Judge
from cruxboxd.judging.scripts import read_as
from cruxboxd.judging.tasks import (
    CallCheck,
    Folder,
    InvalidCheck,
    RunCheck,
    ScriptCheck,
    StepCount,
    Task,
    as_text,
    encoded,
    kept,
)
from cruxboxd.rpc.codec import Origin, outline_of, read_tasks
from cruxboxd.rpc.outline import Outline
from cruxboxd.rpc.rpc_work import slices
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes import looks, setup
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.lane import Lane
from cruxboxd.zygotes.pipe_writer import GET_PIPE_SIZE, SET_PIPE_SIZE, PipeWriter
from cruxboxd.zygotes.setup import ZygoteKinds
from cruxcell.protocol import messages, payloads
from offered import TERMS
from told_workers import EXPRESSION, Told

MIB = 1 << 20
PROGRAM = "def f(x): ...\n#" + "x" * MIB
FILE = bytes(2 * MIB)
KINDS: dict[str, Callable[[str], pb.Check]] = {
    "stdio": lambda name: pb.Check(id=name, stdio=pb.StdioCheck(stdin=name, expected_stdout=name)),
    "run": lambda name: pb.Check(id=name, run=pb.RunCheck(stdin=name, arguments=[name])),
    "call": lambda name: pb.Check(id=name, call=pb.CallCheck(call=f"f({name})", expected=name)),
    "evaluate": lambda name: pb.Check(id=name, evaluate=pb.EvaluateCheck(call=f"f({name})")),
    "script": lambda name: pb.Check(id=name, script=pb.ScriptCheck(script=f"assert f(1) == {name}", entry_point="f")),
}


def request(kind: str, checks: int = 6) -> bytes:
    task = pb.Task(program=PROGRAM, checks=[KINDS[kind](str(at)) for at in range(checks)], files={"a": FILE})
    return pb.CheckRequest(tasks=[task]).SerializeToString()


def tasks_of(data: bytes) -> tuple[list[Task], int]:
    """What a request holds, and the number of steps in which it was read."""
    outline, tasks = Outline(), list[Task]()
    list(outline_of(data, outline))
    offer = replace(TERMS, folder=Folder(64 * MIB, ""))
    return tasks, sum(1 for _ in read_tasks(data, outline, offer, Origin("lab", True, 0), tasks))


@pytest.mark.parametrize("kind", KINDS)
async def test_what_the_checks_of_a_task_share_is_held_once(kind: str):
    (task,), _ = tasks_of(request(kind))
    none = Result(error="no")
    told = Told(defaultdict(lambda: EXPRESSION), ZygoteKinds(has_scratch=True), pair=(none, none))
    told.before = lambda job: None if job.kind == messages.JOB_READ else none
    emitted = []

    async def emit(*result: object) -> None:
        emitted.append(result)

    for part in slices([task], most=2):
        await Judge(told, "0").judge(part, emit)  # type: ignore[arg-type]
    assert len(emitted) == 6
    waiting = [one for job in told.jobs for one in (job, job.partner) if one is not None]
    held = {id(part): len(part) for job in waiting for part in parts_of(job) if len(part) > MIB // 2}
    assert sorted(held.values()) == [len(PROGRAM), len(FILE)]
    assert all(job.size >= len(PROGRAM) for job in told.jobs if any(part is task.program for part in job.fields))


def parts_of(job: Any) -> list[bytes]:
    return [*job.fields, *(job.setting.parts() if job.setting is not None else ())]


@pytest.mark.parametrize("kind", ["run", "stdio"])
async def test_what_a_checks_program_finds_around_it_is_put_together_when_its_worker_is_handed_out(kind: str):
    """A task's environment and files stood in each of its checks and jobs."""
    check = KINDS[kind]("1")
    getattr(check, kind).env["OWN"] = "1"
    env, files = {f"V{at}": str(at) for at in range(64)}, {f"f{at}": b"%d" % at for at in range(60)}
    data = pb.CheckRequest(tasks=[pb.Task(program="x", checks=[check], env=env, files=files)]).SerializeToString()
    (task,), _ = tasks_of(data)
    setting = cast(Any, task.checks[0]).setting
    assert (setting.env, setting.files, setting.base) == ((("OWN", "1"),), (), task.setting)
    told = Told(defaultdict(lambda: EXPRESSION), ZygoteKinds(has_scratch=True))
    told.before = lambda _job: Result(error="no")

    async def emit(*_result: object) -> None: ...

    await Judge(told, "0").judge([task], emit)  # type: ignore[arg-type]
    assert told.jobs[-1].setting is setting
    assert told.jobs[-1].size >= task.setting.size + len("OWN1")


WIDE = "\U0001f600" + "x" * MIB  # as a str, four bytes a character
AROUND = {"arguments": ["\U0001f600" + "x" * 30_000], "env": {"A": "\U0001f600" + "x" * 30_000}}
WIDE_KINDS = {
    "stdio": pb.Check(stdio=pb.StdioCheck(stdin=WIDE, expected_stdout=WIDE, **AROUND)),
    "checker": pb.Check(stdio=pb.StdioCheck(checker=WIDE)),
    "run": pb.Check(run=pb.RunCheck(stdin=WIDE, **AROUND)),
    "call": pb.Check(call=pb.CallCheck(call=WIDE, expected=WIDE)),
    "evaluate": pb.Check(evaluate=pb.EvaluateCheck(call=WIDE)),
    "script": pb.Check(script=pb.ScriptCheck(script=WIDE)),
}


def held_by(value: object) -> list[object]:
    """All that a check holds."""
    if isinstance(value, tuple):
        return [part for each in value for part in held_by(each)]
    if is_dataclass(value):
        return [part for each in fields(value) for part in held_by(getattr(value, each.name))]
    return [value]


@pytest.mark.parametrize("kind", WIDE_KINDS)
async def test_a_long_text_is_held_once_and_as_long_as_it_came(kind: str):
    asked = WIDE_KINDS[kind]
    ((task,), _) = tasks_of(pb.CheckRequest(tasks=[pb.Task(program="x = 1", checks=[asked])]).SerializeToString())
    (check,) = task.checks
    assert not isinstance(check, InvalidCheck)
    held = [part for part in held_by(check) if isinstance(part, (str, bytes))]
    assert sum(map(sys.getsizeof, held)) < asked.ByteSize() + 2_000
    none = Result(error="no")
    told = Told({}, ZygoteKinds(has_scratch=True), pair=(none, none), before=lambda _job: none)

    async def emit(*_result: object) -> None: ...

    await Judge(told, "0").judge([task], emit)  # type: ignore[arg-type]
    waiting = [one for job in told.jobs for one in (job, job.partner) if one is not None]
    long = [part for job in waiting for part in [*parts_of(job), job.stdin] if len(part) > 20_000]
    assert long or kind == "checker"  # which waits for what is printed
    assert {id(part) for part in long} <= {id(part) for part in held}


@pytest.mark.parametrize("text", ["x" * 256, "\U0001f600" * 256, "\u3000" * 1_000, ""])
def test_a_short_text_and_a_blank_one_stay_text(text: str):
    assert kept(text) is text
    assert (kept(text + "é" * 257), as_text(kept(text + "é" * 257))) == (
        f"{text}{'é' * 257}".encode(),
        text + "é" * 257,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_others_get_a_turn_behind_each_check_that_is_read(kind: str):
    assert tasks_of(request(kind, 40))[1] - tasks_of(request(kind, 10))[1] >= 30


def test_in_a_long_text_nobody_looks_for_words(monkeypatch: pytest.MonkeyPatch):
    """It is taken to have them."""
    kinds = ZygoteKinds({"default": ("numpy", "pandas")}, has_scratch=True)
    monkeypatch.setattr(looks, "_MOST_READ", 50)
    short, plain = b"import numpy" + b" " * 38, b"numpy = thread = 1" + b" " * 50
    assert kinds.key("default", "0", [short], is_whole=True) == setup.ZygoteKey("default", True, "0", ("numpy",))
    longer = kinds.key("default", "0", [short + b" "], is_whole=True)
    assert longer == setup.ZygoteKey("default", True, "0", ("numpy",), threads=True, scratch=True)
    assert kinds.key("default", "0", [plain], is_whole=True) == setup.ZygoteKey("default", False, "0")


def test_of_a_very_large_script_nobody_makes_a_tree(monkeypatch: pytest.MonkeyPatch):
    (task,), _ = tasks_of(request("script"))
    text = "assert f(1) == 1\n" * 300
    assert read_as(task, ScriptCheck("s", text, "f")) == payloads.SCRIPT
    monkeypatch.setattr(scripts, "_VERY_LARGE", len(text))
    assert read_as(task, ScriptCheck("s", text, "f")) == payloads.LARGE_SCRIPT
    assert read_as(task, ScriptCheck("s", text[:-1], "f")) == payloads.SCRIPT
    assert read_as(task, ScriptCheck("s", text + "assert (f(1), 2)", "f")) == payloads.SCRIPT  # which cannot fail


# ---- into a pipe -----------------------------------------------------------------------------------------------------


class Pipe:
    """Both ends of one, and how what is written into it ended."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe2(os.O_CLOEXEC)
        for end in (self.reading, self.writing):
            os.set_blocking(end, False)
        self.ended: list[OSError | None] = []

    def close(self) -> None:
        for end in (self.reading, self.writing):
            if end >= 0:
                os.close(end)

    def writes(self, data: bytes) -> PipeWriter:
        return PipeWriter(self.writing, data, self.ended.append)

    def read(self) -> bytes:
        try:
            return os.read(self.reading, MIB)
        except BlockingIOError:
            return b""


@pytest.fixture
def pipe():
    made = Pipe()
    yield made
    made.close()


async def test_what_a_pipe_cannot_take_at_once_follows_as_it_is_read(pipe: Pipe):
    data = os.urandom(3 * MIB)
    pipe.writes(data).write()
    assert pipe.ended == []
    came = b""
    for _ in range(10_000):  # some fifty are enough
        came += pipe.read()
        await asyncio.sleep(0)
        if len(came) == len(data):
            break
    await asyncio.sleep(0.01)
    assert (came == data, pipe.ended, pipe.read()) == (True, [None], b"")
    assert not asyncio.get_running_loop().remove_writer(pipe.writing)  # nobody waits for it any more


async def test_a_reader_that_keeps_up_does_not_hold_the_loop(pipe: Pipe, monkeypatch: pytest.MonkeyPatch):
    written: list[int] = []

    def write(descriptor: int, data: memoryview) -> int:
        written.append(len(data))
        return len(data)

    monkeypatch.setattr(os, "write", write)
    pipe.writes(bytes(MIB)).write()
    assert (written, pipe.ended) == ([MIB // 4], [])
    for _ in range(20):
        await asyncio.sleep(0)
    assert (written, pipe.ended) == ([MIB // 4] * 4, [None])


async def test_nothing_to_write_has_ended_at_once(pipe: Pipe):
    pipe.writes(b"").write()
    assert pipe.ended == [None]


async def test_where_nobody_reads_any_more_it_ends(pipe: Pipe):
    pipe.writes(bytes(MIB)).write()
    os.close(pipe.reading)
    pipe.reading = -1
    while not pipe.ended:
        await asyncio.sleep(0)
    assert isinstance(pipe.ended[0], BrokenPipeError)
    assert not asyncio.get_running_loop().remove_writer(pipe.writing)


async def test_what_is_stopped_writes_no_more_and_says_nothing(pipe: Pipe):
    writer = pipe.writes(bytes(MIB))
    writer.write()
    writer.stop()
    while pipe.read():
        pass
    await asyncio.sleep(0.01)
    assert (pipe.read(), pipe.ended) == (b"", [])


@pytest.mark.skipif(sys.version_info < (3, 10), reason="fcntl names them from Python 3.10 on")
def test_the_sizes_of_pipes_are_asked_and_set_as_fcntl_does():
    assert [getattr(fcntl, f"F_{word}PIPE_SZ") for word in ("SET", "GET")] == [SET_PIPE_SIZE, GET_PIPE_SIZE]


def test_a_report_of_less_than_half_a_pipe_was_never_held_up():
    with closing(Lane()) as lane, open(lane.report_theirs, "wb"):
        room = fcntl.fcntl(lane.report_theirs, GET_PIPE_SIZE)  # a user with many pipes gets small ones
        lane.received_bytes = room // 2
        assert not lane.is_held_up
        lane.received_bytes = room // 2 + 1
        assert lane.is_held_up


def test_the_long_texts_of_a_task_are_looked_through_in_steps_before_its_jobs_are_made(looked_at: list[bytes]):
    kinds = ZygoteKinds()
    long = "import math\n" * 200
    checks = [
        CallCheck("1", "f(1)", "1"), CallCheck("2", long, "1"), ScriptCheck("3", long + "f()", "f"),
        *[RunCheck(str(number), "") for number in range(2_000)],
    ]  # fmt: skip
    task = Task("t", encoded("x" + long), checks, DEFAULT_LIMITS, "r", True, None, 1, StepCount.INSTRUCTIONS)
    steps = look_at_texts(cast(Any, SimpleNamespace(kinds=kinds)), task)
    assert looked_at == []
    texts = [encoded("x" + long), encoded(long), encoded(long + "f()")]
    for number in range(3):
        next(steps)
        assert looked_at == texts[: number + 1]
    assert len(list(steps)) == 2
    for text in texts:
        kinds.key("r", "0", [text])
    assert looked_at == texts
