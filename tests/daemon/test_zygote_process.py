"""The handle of one zygote, without a scheduler: starting, working, ending, and what becomes of the jobs."""

from __future__ import annotations

import ast
import asyncio
import os
import select
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from cruxboxd.judging.outcomes import Outcome, of_exit
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes import launch
from cruxboxd.zygotes.jobs import Job
from cruxboxd.zygotes.lane import REST_S, Lane
from cruxboxd.zygotes.launch import StartError
from cruxboxd.zygotes.priority import Priority
from cruxboxd.zygotes.template import Template
from cruxboxd.zygotes.zygote_process import ZygoteProcess
from cruxcell.protocol import messages
from support.waiting import still_there, until_true
from zygotes_by_hand import KEY, SETUPS, Kept, job

pytestmark = pytest.mark.kernel


@pytest_asyncio.fixture
async def kept() -> AsyncIterator[Kept]:
    made, template = Kept(), Template(SETUPS(KEY))
    await made.zygote.start(template)
    yield made
    made.zygote.kill("")
    template.close()


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        ("/nowhere/python", "cannot execute /nowhere/python: No such file or directory"),
        ("/bin/true", "/bin/true ended before it was ready"),
    ],
)
async def test_what_does_not_start_is_named(python: str, sentence: str):
    made = Kept()
    with pytest.raises(StartError, match=sentence):
        await made.zygote.start(Template(replace(SETUPS(KEY), python=python)))
    made.zygote.kill("")
    assert made.zygote.pid == 0


async def test_a_step_that_fails_is_named():
    made = Kept()
    fields = list(SETUPS(KEY).fields)
    fields[9], fields[12] = b"0", b"namespaces"  # not wanted, and required
    template = Template(replace(SETUPS(KEY), fields=fields))
    with pytest.raises(StartError, match="confinement step namespaces"):
        await made.zygote.start(template)
    made.zygote.kill("")
    template.close()


async def test_it_says_which_layers_hold(kept: Kept):
    started = kept.zygote.started
    assert started is not None
    assert {name for name, active, _ in started.layers if active} >= {"landlock", "undumpable"}


async def test_who_waits_for_a_zygote_holds_no_copy_of_its_memory(kept: Kept):
    """With process numbers of its own, it has a parent that only waits."""
    for _ in range(2):
        await kept.values(job("", "1"))
    process = psutil.Process(kept.zygote.pid)
    for child in process.children():
        assert anonymous_kib(child.pid) > 2_000
        assert anonymous_kib(process.pid) < 512


def anonymous_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


async def test_a_lean_zygote_holds_few_modules(kept: Kept):
    """What it imports is memory of each zygote and time of each fork, and the seal compares it after each check."""
    ((shown,),) = await kept.values(job("def f():\n    return sorted(__import__('sys').modules)", "f()"))
    names = {name for name in ast.literal_eval(shown) if not name.startswith(("_", "encodings"))}
    assert names - LEAN == set()


LEAN = {
    "abc", "builtins", "codecs", "errno", "fcntl", "gc", "genericpath", "io", "marshal", "opcode", "os", "os.path",
    "posix", "posixpath", "resource", "select", "stat", "struct", "sys", "time", "unicodedata", "zipimport",
    *(["linecache"] if sys.version_info >= (3, 13) else []),  # which the interpreter loads for `python -c` itself
}  # fmt: skip


async def test_one_job_after_the_other(kept: Kept):
    program = "n = []\ndef f(x):\n    n.append(x)\n    return n"
    jobs = [job(f"{program}\n# {number}", f"f({number})", "f(7)") for number in range(5)]
    assert await kept.values(*jobs) == [[f"[{number}]", "[7]"] for number in range(5)]
    assert kept.zygote.load == 0
    assert kept.requeued == []
    assert not any(one.future.result().is_held_up for one in jobs)


async def test_a_report_that_may_not_go_into_a_pipe_waits_for_the_event_loop(kept: Kept):
    limits = replace(DEFAULT_LIMITS, output_bytes=2 << 20)
    one = job("def f():\n    print('x' * (1 << 20))", "f()", limits=limits)
    await kept.values(one)
    assert one.future.result().is_held_up


async def test_so_does_a_program_with_much_to_read(kept: Kept):
    found = []
    for size in (1 << 10, 3 << 20):
        one = Job(KEY, messages.JOB_STDIO, [b"\0", b"import sys\nsys.stdin.read()"], DEFAULT_LIMITS)
        one.flags, one.stdin = messages.STDIO, b"1" * size
        kept.zygote.run(one)
        found.append((await one.future).is_held_up)
    assert found == [False, True]


async def test_a_large_payload_travels_in_pieces(kept: Kept):
    text = "'" + "x" * 3_000_000 + "'"
    large = job(f"def f():\n    return len({text})", "f()")
    assert await kept.values(large) == [["3000000"]]
    assert large.future.result().is_held_up  # it waited for the event loop


async def test_a_second_job_waits_ready(kept: Kept):
    slow, quick = job("def f(x):\n    return sum(range(x))", "f(3 * 10**5)"), job("", "2")
    kept.zygote.run(slow)
    kept.zygote.run(quick)
    assert kept.zygote.load == 2
    assert (await asyncio.wait_for(slow.future, 20)).error == ""
    if kept.requeued:  # the first one turned out to be slow, so the second was given to whoever is free
        assert kept.requeued == [quick]
    else:
        assert (await asyncio.wait_for(quick.future, 20)).error == ""


async def test_a_cancelled_job_is_killed_and_the_next_is_not_harmed(kept: Kept):
    endless = job("import time\ndef f():\n    time.sleep(1000)", "f()")
    kept.zygote.run(endless)
    await until_true(lambda: kept.zygote.slow)
    endless.is_cancelled = True
    kept.zygote.cancel(endless)
    result = await asyncio.wait_for(endless.future, 20)
    assert result.error == "cancelled"
    assert result.facts.killed == messages.KILLED_CANCEL
    assert await kept.values(job("", "1 + 1")) == [["2"]]


async def test_dots_of_a_candidate_do_not_keep_it_from_its_clocks(kept: Kept):
    """What it writes to the progress pipe itself is not a check done, neither for its time nor for being fast."""
    program = "import os, time\ndef f():\n    while True:\n        os.write(4, b'.')\n        time.sleep(0.001)"
    dotting = job(program, "f()", limits=replace(DEFAULT_LIMITS, wall_ms=500))
    kept.zygote.run(dotting)
    result = await asyncio.wait_for(dotting.future, 20)
    assert result.facts.killed == messages.KILLED_WALL


async def test_a_report_that_comes_by_bytes_does_not_keep_the_event_loop_busy(kept: Kept, monkeypatch):
    """Each byte woke it, in nobody's time, at a higher priority than that of who writes."""
    looks: list[Lane] = []
    drain = ZygoteProcess._drain

    def look(zygote: ZygoteProcess, lane: Lane) -> None:
        looks.append(lane)
        drain(zygote, lane)

    monkeypatch.setattr(ZygoteProcess, "_drain", look)
    program = "import os, time\ndef f():\n    while True:\n        os.write(3, b'x')\n        time.sleep(0)"
    dripping = job(program, "f()", limits=replace(DEFAULT_LIMITS, cpu_ms=300))
    began = time.monotonic()
    kept.zygote.run(dripping)
    result = await asyncio.wait_for(dripping.future, 20)
    most = (time.monotonic() - began) / REST_S + 2
    assert (result.facts.killed, len(result.report) > 1000) == (messages.KILLED_CPU, True)
    assert 5 < len(looks) <= most


async def test_a_zygote_that_watches_for_long_gives_signs_of_life(kept: Kept):
    """So one that is stopped is noticed long before the clocks of all its checks have run out."""
    limits = replace(DEFAULT_LIMITS, wall_ms=20_000)
    endless = job("import time\ndef f():\n    time.sleep(1000)", *["f()"] * 64, limits=limits)
    kept.zygote.run(endless)
    await until_true(lambda: kept.zygote.slow)
    heard = kept.zygote._heard_ns
    late = heard + 10 * 10**9 + 1
    assert kept.zygote.silence_ns(late) > 10 * 10**9
    assert kept.zygote.silence_ns(heard + 9 * 10**9) == 9 * 10**9
    await until_true(lambda: kept.zygote.ping() or kept.zygote._heard_ns > heard)  # type: ignore[func-returns-value]
    assert kept.zygote.silence_ns(late) < 10 * 10**9
    outer = psutil.Process(kept.zygote.pid)
    for one in [outer, *outer.children(recursive=True)]:
        one.suspend()
    await asyncio.sleep(0.3)  # what it said before has come by now
    heard = kept.zygote._heard_ns
    kept.zygote.ping()
    await asyncio.sleep(0.3)
    assert kept.zygote._heard_ns == heard


@pytest.mark.parametrize("is_ahead", [False, True])
async def test_the_worker_of_who_is_ahead_comes_before_others(kept: Kept, is_ahead: bool, monkeypatch):
    """Until it is slow; and nobody's where the host does not let the daemon raise its own priority."""
    raised = messages.ZYGOTE_AHEAD
    monkeypatch.setattr(launch, "PRIORITY", launch.PRIORITY + raised)  # as if this process had stepped forward
    plain = launch.PRIORITY
    is_raised = is_ahead and os.geteuid() == 0  # an ordinary user's daemon may not
    zygote = ZygoteProcess(KEY, lambda _: None, kept.requeued.append)
    template = Template(SETUPS(KEY))
    await zygote.start(template)
    session = Path(f"/proc/{zygote.pid}/autogroup")
    [forking] = psutil.Process(zygote.pid).children() or [psutil.Process(zygote.pid)]
    below = Path(f"/proc/{forking.pid}/task/{forking.pid}/children")
    seen = set[int]()
    while (plain - raised if is_raised else plain) not in seen:  # a busy host does not look at every worker in time
        long = replace(DEFAULT_LIMITS, wall_ms=100_000)  # or a crowded host ends it before it is looked at
        sleeping = job("import time\ndef f():\n    time.sleep(1000)", "f()", limits=long)
        sleeping.is_ahead = is_ahead
        zygote.run(sleeping)
        if session.exists() and os.geteuid() == 0:
            assert session.read_text().endswith(f" nice {-raised if is_ahead else 0}\n")
        while not zygote.slow:
            await asyncio.sleep(0)
            seen |= {os.getpriority(os.PRIO_PROCESS, int(pid)) for pid in below.read_text().split()}
        assert not (is_raised and plain in seen)
        assert not session.exists() or session.read_text().endswith(" nice 0\n")
        await until_true(lambda: any(each.nice() > plain for each in forking.children()))
        zygote.cancel(sleeping)
        await until_true(lambda: not zygote.load)
    zygote.kill("")
    template.close()


def test_the_priority_of_a_zygote_that_is_gone_is_no_failure(monkeypatch):
    monkeypatch.setattr(launch, "PRIORITY", launch.PRIORITY + messages.ZYGOTE_AHEAD)
    ended = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})
    os.waitpid(ended, 0)
    priority = Priority()
    priority.begin(ended)
    priority.put(is_ahead=True)
    assert priority.flags(is_ahead=False) == 0
    priority.end()


def test_nothing_of_a_job_stays_on_its_lane():
    """Where one half of a pair is forked and the other cannot be, the first may have reported by then."""
    with closing(Lane()) as lane, open(lane.report_theirs, "wb", buffering=0) as worker:
        os.write(lane.payload, b"p" * 70_000)
        worker.write(b"r" * 70_000)
        lane.clear()
        for end in (lane.payload_theirs, lane.report):
            assert select.select([end], [], [], 0)[0] == []


async def test_a_killed_zygote_gives_its_jobs_back(kept: Kept):
    endless = job("import time\ndef f():\n    time.sleep(1000)", "f()")
    kept.zygote.run(endless)
    await until_true(lambda: kept.zygote.slow)
    below = psutil.Process(kept.zygote.pid).children(recursive=True)
    os.kill(kept.zygote.pid, signal.SIGKILL)
    await until_true(lambda: not kept.zygote.alive)
    assert kept.requeued == [endless]
    assert not endless.future.done()
    assert kept.zygote.load == 0
    assert still_there(below, 10) == []


async def test_a_killed_worker_is_our_failure_and_the_zygote_goes_on(kept: Kept):
    endless = job("import time\ndef f():\n    time.sleep(1000)", "f()")
    kept.zygote.run(endless)
    await until_true(lambda: kept.zygote.slow)
    workers = [one for one in psutil.Process(kept.zygote.pid).children(recursive=True) if not one.children()]
    for worker in workers:
        worker.kill()
    result = await asyncio.wait_for(endless.future, 20)
    assert of_exit(result.facts, 10**12, 1 << 40).outcome is Outcome.SANDBOX_ERROR
    assert await kept.values(job("", "1 + 1")) == [["2"]]
