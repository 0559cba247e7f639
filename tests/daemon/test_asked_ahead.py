"""Calls that are asked for ahead: what a report says of them, and which pairs are run again, call by call."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cruxboxd.judging import scripts
from cruxboxd.judging.outcomes import Outcome
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.report import TEST_ENDS, Asked, read_report
from cruxcell.protocol import messages
from cruxcell.protocol.frames import frame
from cruxcell.protocol.payloads import MAY_ASK_AHEAD
from test_scripts_judged import (
    CALLED_OFF,
    CHECK,
    CLEAN,
    DONE,
    ENDED,
    GONE,
    OUT_OF_CPU,
    PARTNER,
    PLAN,
    SEGFAULT,
    SERVED,
    TASK,
    leaves,
    raised,
    result,
)
from told_workers import Told

AHEAD = frame([messages.ASKED_AHEAD, messages.AT_ALL])
IN_VAIN = AHEAD + frame([messages.ASKED_AHEAD, messages.IN_VAIN])
AGAIN, FAILS = leaves(messages.AGAIN), raised(b"AssertionError")
# How a pair ends in which calls were asked for ahead, what it comes to when it is run call by call -> the verdict.
TWICE = {
    "the script did something else": (SERVED, (PLAN + AHEAD + AGAIN, CLEAN), DONE, Outcome.PASSED),
    "the candidate crashed": ((PLAN, SEGFAULT), (PLAN + AHEAD, PARTNER), DONE, Outcome.PASSED),
    "the candidate ran out of time": ((PLAN, OUT_OF_CPU), (PLAN + AHEAD, PARTNER), DONE, Outcome.PASSED),
    "the candidate is gone": (SERVED, (PLAN + AHEAD + GONE, CLEAN), DONE, Outcome.PASSED),
    "it goes on after a test that holds": ((PLAN, PARTNER), (PLAN + IN_VAIN + ENDED, CLEAN), DONE, Outcome.PASSED),
    "it goes on after one that fails": ((PLAN, PARTNER), (PLAN + IN_VAIN + FAILS, CLEAN), DONE, Outcome.FAILED),
    "the test ran out of time": (SERVED, (PLAN + AHEAD, OUT_OF_CPU), (PLAN, OUT_OF_CPU), Outcome.TIMED_OUT),
}
ONCE = {
    "all were made": (SERVED, (PLAN + AHEAD + ENDED, CLEAN), Outcome.PASSED),
    "the last was not made": (SERVED, (PLAN + IN_VAIN + ENDED, CLEAN), Outcome.PASSED),
    "an assertion": (SERVED, (PLAN + IN_VAIN + FAILS, CLEAN), Outcome.FAILED),
    "none was asked for, and it crashed": ((PLAN, SEGFAULT), (PLAN, PARTNER), Outcome.CRASHED),
    "our failure": ((b"", CALLED_OFF), (PLAN + AHEAD, PARTNER), Outcome.SANDBOX_ERROR),
}


class InTurn(Told):
    """Pairs end in these ways, one after the other."""

    def __init__(self, *pairs: tuple[tuple[bytes, Exit], tuple[bytes, Exit]]) -> None:
        super().__init__({})
        self.pairs = list(pairs)

    async def run_pair(self, job: Job) -> tuple[Result, Result]:
        self.jobs.append(job)
        candidate, test = self.pairs.pop(0)
        return result(*candidate), result(*test)

    def flags(self) -> list[int]:
        return [job.partner.fields[3][0] for job in self.jobs if job.partner is not None]


@pytest.mark.parametrize("name", TWICE)
async def test_what_a_call_ahead_may_have_decided_is_run_again_call_by_call(name: str):
    candidate, test, second, outcome = TWICE[name]
    told = InTurn((candidate, test), (SERVED, second))
    judged = await scripts.run_script(told, TASK, CHECK, "0")  # type: ignore[arg-type]
    assert (judged.outcome, told.flags()) == (outcome, [MAY_ASK_AHEAD, 0])


@pytest.mark.parametrize("name", ONCE)
async def test_what_it_cannot_have_decided_is_not(name: str):
    candidate, test, outcome = ONCE[name]
    told = InTurn(*[(candidate, test)] * 3)
    judged = await scripts.run_script(told, TASK, CHECK, "0")  # type: ignore[arg-type]
    assert (judged.outcome, set(told.flags())) == (outcome, {MAY_ASK_AHEAD})


@pytest.mark.parametrize(
    "how", ["floods its report", "runs out of time", "ends before its test has", "ours in between"]
)
@pytest.mark.parametrize("said", [IN_VAIN + FAILS, AHEAD + leaves(messages.NOT_PLAIN)])
async def test_a_script_that_has_failed_stays_failed_whatever_the_candidate_does_then(how: str, said: bytes):
    candidate, test = result(PLAN, OUT_OF_CPU), result(PLAN + said, CLEAN)
    if how == "floods its report":
        candidate = result(PLAN + ENDED, CLEAN, over_cap=True)
    elif how == "ends before its test has":
        candidate, test = result(PLAN, SEGFAULT), result(PLAN + said, PARTNER)
    pairs = [(candidate, test), *[(result(b"", CALLED_OFF), result(*DONE))] * (how == "ours in between")]
    told = InTurn()

    async def run_pair(_job: Job) -> tuple[Result, Result]:
        return pairs.pop(0) if pairs else (result(*SERVED), result(*DONE))

    told.run_pair = run_pair  # type: ignore[method-assign, assignment]
    judged = await scripts.run_script(told, TASK, CHECK, "0")  # type: ignore[arg-type]
    assert not pairs
    assert judged.outcome not in (Outcome.PASSED, Outcome.SANDBOX_ERROR)


CALLED_AHEAD = [
    'def f(x):\n    """Takes O(n) time. Open or closed, from a random id."""\n    return x',
    "from typing import List\nimport math, re as r\nfrom collections.abc import Iterable\n",
    "import numpy as np\ndef f(self): return np.sum(self)",
]
NOT_CALLED_AHEAD = [
    "import time", "from os import urandom", "import math;import time", "from math import pi; import time",
    "import math, time", "import math as m, \\\n time", "if 1: import time", "''\nfrom math x\n''\nx=1;import time",
    "def f(x): return id(x)", "g = open", "import statistics\nstatistics.random.random()", "import re\nre.enum.sys",
    "().__class__.__base__.__subclasses__()", "__import__('time')", "\uff45val('1')", "getattr(f, 'a' + 'b')",
    "import numpy\nnumpy.random.rand()", "from numpy import random",
    "from numpy import (array,\n random)\nrandom.rand()",
]  # fmt: skip


def test_a_program_that_may_not_do_the_same_again_is_not_called_ahead():
    assert [text for text in CALLED_AHEAD if not scripts.may_be_called_ahead(text)] == []
    assert [text for text in NOT_CALLED_AHEAD if scripts.may_be_called_ahead(text)] == []


async def test_suites_and_programs_with_threads_ask_for_nothing_ahead():
    told = InTurn(*[(SERVED, DONE)] * 9)
    await scripts.run_script(told, TASK, replace(CHECK, framework="unittest"), "0")  # type: ignore[arg-type]
    threads = replace(TASK, program="import threading")
    await scripts.run_script(told, threads, CHECK, "0")  # type: ignore[arg-type]
    assert set(told.flags()) == {0}


def test_that_calls_are_asked_for_ahead_is_said_once_and_then_that_one_was_not_made():
    asked = Asked(kinds=TEST_ENDS, runs="x", is_suite=True, may_ask_ahead=True)
    told = {b"": b"", AHEAD: messages.AT_ALL, IN_VAIN: messages.IN_VAIN}
    for said, found in told.items():
        report = read_report(PLAN + said + ENDED, asked)
        assert (report.ahead, report.forged, len(report.answers)) == (found, "", 1)
    for wrong in (IN_VAIN[len(AHEAD) :], AHEAD + AHEAD, IN_VAIN + IN_VAIN, frame([messages.ASKED_AHEAD, b"?"])):
        assert read_report(PLAN + wrong + ENDED, asked).forged
    assert read_report(PLAN + ENDED + AHEAD, asked).forged
    assert read_report(PLAN + AHEAD + ENDED, replace(asked, may_ask_ahead=False)).forged
