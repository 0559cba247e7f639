"""Canaries: right in a daemon that works, red when verdicts are wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from cruxboxd.judging.outcomes import Finding, Outcome
from cruxboxd.judging.tasks import TaskAsk
from cruxboxd.selftest.canary import Canaries
from serving import Served, until

NAMES = ("pass", "fail", "forgery")


class Answers:
    """A judge that gives the outcomes it was told to; None is no answer."""

    def __init__(self, **outcomes: Outcome | None) -> None:
        self._outcomes = outcomes

    async def judge(self, tasks: Sequence[TaskAsk], emit) -> None:
        for task in tasks:
            outcome = self._outcomes[task.id]
            if outcome is None:
                raise RuntimeError("no answer")
            await emit(task, task.asks[0], Finding(outcome), None)


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
        for name in NAMES:
            until(lambda name=name: daemon.metric("cruxbox_canary_ok", canary=name) == 1)
        assert daemon.metric("cruxbox_verdicts_total") == 0
        assert daemon.metric("cruxbox_accepted_checks") == 0
        for line in daemon.log.splitlines():
            assert json.loads(line)["level"] == "info"
