"""A verdict for an answer."""

from __future__ import annotations

from cruxboxd.judging.outcomes import CheckResult, Outcome
from cruxboxd.judging.tasks import CallCheck, StepCount, Task
from cruxboxd.rpc import service
from cruxboxd.settings.config import DEFAULT_LIMITS


async def give(answer: service._Answer, name: str) -> None:
    """A verdict for an answer."""
    check = CallCheck(name, "f()", "1")
    task = Task("task", b"", [check], DEFAULT_LIMITS, "python", True, None, 1, StepCount.INSTRUCTIONS)
    await answer.emit(task, check, CheckResult(Outcome.PASSED), None)
