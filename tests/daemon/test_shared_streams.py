"""One program on many inputs in one worker comes to the same as each input in a worker of its own, and in CPython."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from behaviours import tested_runtimes
from counting_pool import CountingPool, outcomes, task
from cruxbox import Client, Isolation, Outcome
from cruxboxd.judging import outcomes as judged
from cruxboxd.judging.tasks import StdioCheck as Check
from cruxboxd.zygotes import zygote_process
from in_company import differing, seen
from shared_stream_cases import INPUTS, PROGRAMS, poisoned, tasks
from support.daemons import Served
from support.waiting import until

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("runtime", tested_runtimes())
def test_company_changes_nothing(native: Client, runtime: str):
    assert differing(native, [replace(one, runtime=runtime) for one in tasks(PROGRAMS)]) == []


def test_steps_are_the_same(native: Client):
    quick = {name: PROGRAMS[name] for name in ("lines", "all", "main", "bytes", "a heap", "a cache", "quits", "errors")}
    assert differing(native, tasks(quick, steps=100_000)) == []
    assert differing(native, tasks(quick, steps=60)) == []


def test_what_is_printed_is_what_python_prints(native: Client):
    left_out = {"the streams", "surrogates", "deep", "no program"}
    odd = ("too ", "as deep as")
    quick = {
        name: source for name, source in PROGRAMS.items() if name not in left_out and not any(o in name for o in odd)
    }
    quick.pop("a crash")
    found = {(v.task_id, v.check_id): v for v in native.check(tasks(quick))}
    for name, source in quick.items():
        for at, given in enumerate(INPUTS):
            run = subprocess.run(
                [sys.executable, "-I", "-X", "utf8", "-c", source], input=given.encode("utf-8", "surrogateescape"),
                capture_output=True, check=False,
            )  # fmt: skip
            verdict = found[name, str(at)]
            assert verdict.stdout == run.stdout.decode("utf-8", "replace"), (name, given)
            assert (verdict.outcome in (Outcome.PASSED, Outcome.FAILED)) == (run.returncode == 0), (name, given)


def test_what_is_read_ahead_is_as_much_as_of_a_pipe(native: Client):
    source = "import sys\nb = sys.stdin.buffer\nprint(len(b.readline()), len(sys.stdin.readline()), len(b.read()))\n"
    given = "1\n" + "23 45\n" * 2000
    run = subprocess.run([sys.executable, "-c", source], input=given.encode(), capture_output=True, check=True)
    found = native.check(tasks({"": source}, [given, given]))
    assert [verdict.stdout for verdict in found] == [run.stdout.decode()] * 2


def test_output_that_memory_has_no_room_for_is_not_lost(native: Client):
    """What a run prints is kept in the worker's memory: a third copy of this text, which would not fit."""
    source = "n = int(input())\ntry:\n    print('x' * (n << 20))\nexcept:\n    pass\nprint(6)\n"
    inputs = ["0\n", *[f"{n}\n" for n in range(15, 19)]]
    assert differing(native, tasks({"": source}, inputs, memory_bytes=48 << 20)) == []


# ---- how many workers ----------------------------------------------------------------------------------------------

ADDS = "print(int(input()) + 1)"
SLOW = "n = int(input())\nwhile n == 2:\n    pass\nprint(n + 1)"


@pytest.mark.parametrize(
    ("pool", "program", "workers"),
    [
        ("native", ADDS, ["streams"]),
        ("pure", ADDS, ["stdio"] * 6),
        ("native", "import os\n" + ADDS, ["stdio"] * 6),  # its text says so
        ("native", "_x = 1\n" + ADDS, ["stdio"] * 6 + ["streams"]),  # its worker says so
    ],
    indirect=["pool"],
    ids=["shared", "pure", "not asked", "refused"],
)
async def test_the_inputs_of_a_program_share_a_worker(pool: CountingPool, program: str, workers: list[str]):
    checks = [Check(str(at), f"{at}\n", f"{at + 1}\n") for at in range(6)]
    assert await outcomes(pool, task(*checks, program=program)) == [judged.Outcome.PASSED] * 6
    assert sorted(pool.asked_for) == workers


async def test_who_takes_long_runs_alone_and_the_others_share(
    pool: CountingPool,
    monkeypatch: pytest.MonkeyPatch,
):
    """A worker that is stopped is believed up to there; nothing runs for longer than its own limit."""
    monkeypatch.setattr(zygote_process, "_STUCK_S", 0.5)
    checks = [Check(str(at), f"{at}\n", f"{at + 1}\n") for at in range(6)]
    limits = replace(task().limits, cpu_ms=1_000)
    found = await outcomes(pool, replace(task(*checks, program=SLOW), limits=limits))
    assert sorted(map(str, found)) == sorted(map(str, [judged.Outcome.PASSED] * 5 + [judged.Outcome.TIMED_OUT]))
    assert sorted(pool.asked_for) == ["stdio", "streams", "streams"]


async def test_large_inputs_and_outputs_run_alone(pool: CountingPool):
    checks = [Check("large", "1" * 70_000, ""), *[Check(str(at), "9\n", "9\n") for at in range(3)]]
    await outcomes(pool, task(*checks, program="print(input())"))
    assert sorted(pool.asked_for) == ["stdio", "streams"]
    pool.asked_for.clear()
    found = await outcomes(pool, task(*checks[1:], program="print('x' * 300_000 if input() else '')"))
    assert found == [judged.Outcome.FAILED] * 3
    assert sorted(pool.asked_for) == ["stdio"] * 3 + ["streams"]


# ---- with layers open: what the rule refuses ----------------------------------------------------------------------


def test_what_a_run_leaves_is_seen_by_the_seal(tmp_path: Path):
    """With the rule open, and no audit. With neither rule nor seal the audit sees it: see test_audit.py."""
    with Served(tmp_path, "--audit-share=0", opened="rule") as served, served.client() as client:
        alone = [seen(v) for v in client.check([replace(one, isolation=Isolation.PROCESS) for one in poisoned()])]
        company = [seen(verdict) for verdict in client.check(poisoned())]
        assert [pair for pair in zip(company, alone) if pair[0] != pair[1]] == []
        until(lambda: served.log.count("a seal broke") >= 8)
