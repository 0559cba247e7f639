"""Canaries: right in a daemon that works, red when verdicts are wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from cruxboxd.judging.outcomes import CheckResult, Outcome
from cruxboxd.judging.tasks import Task
from cruxboxd.selftest import canary
from cruxboxd.selftest.canary import Canaries
from support.daemons import Served
from support.waiting import until

NAMES = ("pass", "fail", "forgery")


class Answers:
    """A judge that gives the outcomes it was told to; None is no answer."""

    def __init__(self, **outcomes: Outcome | None) -> None:
        self._outcomes = outcomes

    async def judge(self, tasks: Sequence[Task], emit) -> None:
        for task in tasks:
            outcome = self._outcomes[task.id]
            if outcome is None:
                raise RuntimeError("no answer")
            await emit(task, task.checks[0], CheckResult(outcome), None)


P, F, S = Outcome.PASSED, Outcome.FAILED, Outcome.SANDBOX_ERROR


@pytest.mark.parametrize(
    ("outcomes", "green"),
    [
        ((P, F, F), (1, 1, 1)),
        ((P, F, Outcome.INVALID), (1, 1, 1)),
        ((F, F, F), (0, 1, 1)),
        ((P, P, F), (1, 0, 1)),
        ((P, F, P), (1, 1, 0)),
        ((S, S, S), (0, 0, 1)),
        ((None, None, None), (0, 0, 1)),
    ],
)
async def test_what_turns_red(outcomes, green):
    told = {}
    judge = Answers(**dict(zip(NAMES, outcomes)))
    await Canaries(judge, "python", 1.0, told.__setitem__).send()
    assert tuple(told[name] for name in NAMES) == green


def test_a_daemon_that_works_shows_green_and_counts_them_nowhere(tmp_path):
    with Served(tmp_path, "--canary-s", "0.2") as daemon:
        for name in (*NAMES, "scheduling"):
            until(lambda name=name: daemon.metric("cruxbox_canary_ok", canary=name) == 1)
        assert daemon.metric("cruxbox_verdicts_total") == 0
        assert daemon.metric("cruxbox_accepted_checks") == 0
        for line in daemon.log.splitlines():
            assert json.loads(line)["level"] == "info"


@pytest.mark.parametrize(("stalled_s", "green"), [(0.0, 1), (4.0, 1), (6.0, 0)])
async def test_work_that_waits_for_nothing_turns_scheduling_red(stalled_s, green):
    told = {}
    judge = Answers(**dict(zip(NAMES, (P, F, F))))
    await Canaries(judge, "python", 1.0, told.__setitem__, lambda: {"stalled_s": stalled_s}).send()
    assert told == {"pass": 1, "fail": 1, "forgery": 1, "scheduling": green}


async def test_a_red_canary_says_where_it_waited(caplog):
    class Late(Answers):
        async def judge(self, tasks: Sequence[Task], emit) -> None:
            judged = CheckResult(S, "the sandbox failed", queue_ns=7 * 10**9, attempts=3, wall_ns=10**9)
            await emit(tasks[0], tasks[0].checks[0], judged, None)

    where = {"stalled_s": 0.0, "busy": 8, "slow": 8}
    await Canaries(Late(), "python", 1.0, lambda *_: None, lambda: where).send()
    first, second = [record for record in caplog.records if record.message == "canary is red"][:2]
    assert (first.waited_ms, first.wall_ms, first.attempts, first.busy, first.slow) == (7000, 1000, 3, 8, 8)
    assert (second.outcome, second.busy) == ("none", 8)


async def test_a_late_canary_says_so_while_it_waits(caplog, monkeypatch):
    class Slow(Answers):
        async def judge(self, tasks: Sequence[Task], emit) -> None:
            await emit(tasks[0], tasks[0].checks[0], CheckResult(P), None)
            while not caplog.records:
                await asyncio.sleep(0.001)

    monkeypatch.setattr(canary, "_LATE_S", 0.001)
    await Canaries(Slow(), "python", 1.0, lambda *_: None, lambda: {"busy": 8}).send()
    assert caplog.records[0].message == "a canary is late"
    assert (caplog.records[0].late, caplog.records[0].busy) == (["fail", "forgery"], 8)
