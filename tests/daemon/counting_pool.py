"""A real scheduler that notes the workers it is asked for."""

from __future__ import annotations

import weakref

from cruxboxd.judging.judge import Judge
from cruxboxd.judging.outcomes import CheckResult, Outcome
from cruxboxd.judging.tasks import Check, StepCount, Task
from cruxboxd.scheduling.holding import Holding
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.jobs import Job, Result

PROGRAM = "def f(x):\n    return [x, x + 1]\n"


class CountingPool(Scheduler):
    """A real pool that notes the kind of every worker it is asked for, and keeps nothing of what it has seen."""

    asked_for: list[str]
    seen: list[weakref.ref[object]]

    def _take(self, job: Job, is_ahead: bool) -> Job:
        carrier = super()._take(job, is_ahead)
        self.seen.append(weakref.ref(carrier))
        return carrier

    def _over(self, job: Job, result: Result, holding: Holding | None = None) -> None:
        self.seen += map(weakref.ref, (job, result))
        super()._over(job, result, holding)

    async def run(self, job: Job) -> Result:
        self.asked_for.append(job.kind.decode())
        return await super().run(job)

    async def run_pair(self, job: Job) -> tuple[Result, Result]:
        assert job.partner is not None
        self.asked_for += [job.kind.decode(), job.partner.kind.decode()]
        return await super().run_pair(job)


def task(*asks: Check, program: str = PROGRAM, interactive: bool = False) -> Task:
    return Task(
        "t", program.encode(), list(asks), DEFAULT_LIMITS, "default", True, None, 1, StepCount.INSTRUCTIONS,
        interactive=interactive,
    )  # fmt: skip


async def outcomes(pool: CountingPool, *tasks: Task) -> list[Outcome | None]:
    found: list[Outcome | None] = []

    async def emit(task: Task, ask: Check, judged: CheckResult, second: CheckResult | None) -> None:
        found.append(judged.outcome)

    await Judge(pool, "0").judge(tasks, emit)
    return found
