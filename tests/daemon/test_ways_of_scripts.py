"""Which way a script goes: by its calls, in two processes, read before or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cruxboxd.judging import judge as judging
from cruxboxd.judging.expected import Kind, Reading
from cruxboxd.judging.judge import Judge
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.tasks import ScriptCheck, StepCount, Task, as_text
from cruxcell.protocol import messages
from cruxcell.protocol.payloads import EXPECTED, SCRIPT
from told_workers import CONSTANT, EXPRESSION, LIMITS, Told, read

TASK = Task("t", b"def f(x): ...", [], LIMITS, "default", True, None, 1, StepCount.INSTRUCTIONS)
SHORT = ScriptCheck("s", "def check():\n    for x in cases:\n        assert f(x)\n", "")
LONG = replace(SHORT, script=as_text(SHORT.script) + "# more\n" * 1000)
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

    async def run(*_of: object, **_more: object) -> CheckResult:
        return RAN

    async def emit(_task: Task, _check: object, result: CheckResult, _second: object) -> None:
        found.append(result.outcome)

    found: list[Outcome | None] = []
    monkeypatch.setattr(judging, "SeriesJudge", Calls)
    monkeypatch.setattr(judging, "run_script", run)
    judge = Judge(Told({}), "0", None)  # type: ignore[arg-type]
    await judge._judge_script(replace(TASK, require=require), SHORT, reading, emit)
    assert found == [outcome]


@pytest.mark.parametrize(
    ("check", "reading", "code", "is_read_late"),
    [
        (SHORT, Reading(Kind.EXPRESSION, code=b"code"), b"code", False),
        (SHORT, Reading(Kind.EXPRESSION), b"", True),
        (LONG, Reading(Kind.EXPRESSION, code=b"code"), b"code", False),
        (LONG, Reading(Kind.EXPRESSION), b"", True),
        (LONG, Reading(Kind.UNREAD, text="no zygote"), b"", True),
        (replace(LONG, framework="pytest"), None, b"", False),
    ],
)
async def test_a_script_is_run_by_its_code_or_may_be_read_after(
    check, reading, code: bytes, is_read_late: bool, monkeypatch: pytest.MonkeyPatch
):
    told, ran = Told({check.script: EXPRESSION}), []

    async def run(
        _scheduler: object, _task: Task, _check: object, _seed: str, code: bytes = b"", read: Any = None
    ) -> CheckResult:
        ran.append((code, read is not None))
        if read is not None:
            assert ((await read()).kind, [job.tenant for job in told.jobs]) == (Kind.EXPRESSION, [""])
        return PASSED

    async def emit(_task: Task, _check: object, result: CheckResult, _second: object) -> None:
        assert result is PASSED

    monkeypatch.setattr(judging, "run_script", run)
    await Judge(told, "0", None)._judge_script(TASK, check, reading, emit)  # type: ignore[arg-type]
    assert ran == [(code, is_read_late)]


async def test_expected_values_and_scripts_are_read_apart_and_scripts_once():
    told = Told({"a": CONSTANT, "script": EXPRESSION, "b": EXPRESSION})
    judge = Judge(told, "0", None)  # type: ignore[arg-type]
    texts = [(EXPECTED, "a"), (SCRIPT, "script"), (EXPECTED, "b")]
    told.texts["a"] = read(messages.READ_ASSERTION, b"i1;", "a")  # type: ignore[index]
    for _ in range(2):
        found = await judge._texts._read(texts, "default", "t", False)
        assert [each.kind for each in found] == [Kind.ASSERTION, Kind.EXPRESSION, Kind.EXPRESSION]
    asked = [[text.decode() for text in job.fields[1::2]] for job in told.jobs]
    assert sorted(asked) == [["a", "b"], ["a", "b"], ["script"]]
