"""An evaluator of calls whose worker says what a test tells it."""

from __future__ import annotations

from dataclasses import replace

from cruxboxd.judging.audit import Audit
from cruxboxd.judging.calls import CallEvaluator
from cruxboxd.judging.outcomes import Assurance, CheckResult
from cruxboxd.judging.tasks import CallCheck, StepCount, Task
from cruxboxd.zygotes.jobs import Job, Result
from told_workers import CLEAN, LIMITS, Said, Told

TASK = Task("t", b"def f(x): ...", [], LIMITS, "default", True, None, 1, StepCount.INSTRUCTIONS, rpc_id=7)
ONE = Said("d")
SEPARATED, IN_PROCESS, LITERAL = Assurance.SEPARATED, Assurance.IN_PROCESS, Assurance.LITERAL
NO_WORD = Result(report=b"", facts=CLEAN)  # our failure


def caller(told: Told, audit: Audit | None = None, inspects: bool = True, **changes: object) -> CallEvaluator:
    task = replace(TASK, **changes)  # type: ignore[arg-type]
    return CallEvaluator(told, task, "0", audit or Audit(0), inspects)  # type: ignore[arg-type]


def call(text: str, **more: object) -> CallCheck:
    return CallCheck(text, text, None, **more)  # type: ignore[arg-type]


def texts(job: Job) -> list[str]:
    return [field.decode() for field in job.fields[3::2]]


async def evaluated(told: Told, *names: str, audit: Audit | None = None, **changes: object) -> list[CheckResult]:
    return await caller(told, audit, **changes).evaluate([call(name) for name in names])
