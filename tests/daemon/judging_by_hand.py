"""Judges a task with workers that say what a test has them say."""

from __future__ import annotations

from dataclasses import replace

from cruxboxd.judging.audit import Audit
from cruxboxd.judging.judge import Judge
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.tasks import CallCheck, Check, ScriptCheck, StepCount, Task
from told_workers import LIMITS, Said, Told

TASK = Task("t", b"def f(x): ...", [], LIMITS, "default", True, None, 1, StepCount.INSTRUCTIONS)
ONE, TWO = Said("d"), Said("d", 2)
SEPARATED, IN_PROCESS, LITERAL = Assurance.SEPARATED, Assurance.IN_PROCESS, Assurance.LITERAL
Found = tuple[CheckResult, "CheckResult | None"]


async def judged(told: Told, *checks: Check, audit: Audit | None = None, **changes: object) -> dict[str, Found]:
    """The result of each check of one task, and that of its second run."""
    task = replace(TASK, checks=list(checks), **changes)  # type: ignore[arg-type]
    found: dict[str, Found] = {}

    async def emit(_task: Task, check: Check, result: CheckResult, second: CheckResult | None) -> None:
        assert check.id not in found
        found[check.id] = result, second

    await Judge(told, "0", audit).judge([task], emit)  # type: ignore[arg-type]
    return found


def outcomes(found: dict[str, Found]) -> dict[str, Outcome | None]:
    return {name: first.outcome for name, (first, _) in found.items()}


def call(text: str, expected: str | None = "1", **more: object) -> CallCheck:
    return CallCheck(text, text, expected, **more)  # type: ignore[arg-type]


def script(text: str, framework: str = "") -> ScriptCheck:
    return ScriptCheck(text, text, "", framework)


async def emit_nothing(*_result: object) -> None:
    pass
