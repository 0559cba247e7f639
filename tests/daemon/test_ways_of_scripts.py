"""Which way a script goes: by its calls, in two processes, read before or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cruxboxd.judging import judge as judging
from cruxboxd.judging.expected import Kind, Reading
from cruxboxd.judging.judge import Judge, texts_of
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.tasks import ScriptCheck, StepCount, Task
from cruxcell.protocol import payloads
from told_workers import EXPRESSION, LIMITS, Told

TASK = Task("t", "def f(x): ...", [], LIMITS, "default", True, None, 1, StepCount.INSTRUCTIONS)
SHORT = ScriptCheck("s", "def check():\n    for x in cases:\n        assert f(x)\n", "")
LONG = replace(SHORT, script=SHORT.script + "# more\n" * 1000)
EVENTS = {"step_count": StepCount.EVENTS}


@pytest.mark.parametrize(
    ("check", "changes", "is_read", "is_read_late"),
    [
        (SHORT, {}, True, False),
        (LONG, {}, False, True),
        (SHORT, EVENTS, False, False),
        (LONG, EVENTS, False, False),
        (replace(LONG, framework="pytest"), {}, False, False),
        (LONG, {"require": Assurance.IN_PROCESS}, True, False),
    ],
)
async def test_a_script_is_read_before_it_runs_or_may_be_after(check, changes, is_read: bool, is_read_late: bool):
    task = replace(TASK, checks=[check], **changes)
    assert texts_of(task) == ({check: (payloads.SCRIPT, check.script)} if is_read else {})
    judge = Judge(told := Told({check.script: EXPRESSION}), "0", None)  # type: ignore[arg-type]
    late = judge._read_late(task, check)
    assert (late is not None) is is_read_late
    if late is not None:
        assert ((await late()).kind, [job.tenant for job in told.jobs]) == (Kind.EXPRESSION, [""])


SERIES: Any = object()
PASSED, RAN = CheckResult(Outcome.PASSED), CheckResult(Outcome.RAISED)


@pytest.mark.parametrize(
    ("reading", "says", "require", "outcome"),
    [
        (Reading(Kind.SERIES, series=SERIES), PASSED, None, Outcome.PASSED),
        (Reading(Kind.SERIES, series=SERIES), PASSED, Assurance.SEPARATED, Outcome.PASSED),
        (Reading(Kind.SERIES, series=SERIES), PASSED, Assurance.IN_PROCESS, Outcome.RAISED),
        (Reading(Kind.SERIES, series=SERIES), None, None, Outcome.RAISED),
        (Reading(Kind.EXPRESSION), PASSED, None, Outcome.RAISED),
        (None, PASSED, None, Outcome.RAISED),
        (Reading(Kind.INVALID, text="why"), PASSED, None, Outcome.INVALID),
        (Reading(Kind.UNREAD, text="why"), PASSED, None, Outcome.SANDBOX_ERROR),
    ],
)
async def test_a_series_is_judged_by_its_calls_where_these_say_enough(
    reading, says, require, outcome, monkeypatch: pytest.MonkeyPatch
):
    class Calls:
        def __init__(self, *_of: object) -> None:
            pass

        async def judge(self, series: object) -> CheckResult | None:
            assert series is SERIES
            return says

    async def run(*_of: object) -> CheckResult:
        return RAN

    async def emit(_task: Task, _check: object, result: CheckResult, _second: object) -> None:
        found.append(result.outcome)

    found: list[Outcome | None] = []
    monkeypatch.setattr(judging, "SeriesJudge", Calls)
    monkeypatch.setattr(judging, "run_script", run)
    judge = Judge(Told({}), "0", None)  # type: ignore[arg-type]
    await judge._judge_script(replace(TASK, require=require), SHORT, reading, emit)
    assert found == [outcome]
