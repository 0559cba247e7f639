"""Workers that several checks share give the verdicts of workers of their own."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from cruxboxd.judging.judge import Judge
from cruxboxd.judging.outcomes import CheckResult, Outcome
from cruxboxd.judging.tasks import CallCheck, Check, StepCount, Task
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.settings.config import DEFAULT_LIMITS, Config
from cruxboxd.telemetry.metrics import Metrics
from cruxboxd.zygotes.commands import Commands
from cruxboxd.zygotes.runtimes import ZygoteSetups, find_runtimes
from cruxboxd.zygotes.setup import ZygoteKey
from left_behind import PROGRAMS
from sealed_workers import OPENED


class OpenJudge:
    """A judge with a scheduler of its own. `opened` names the layers that it goes without."""

    def __init__(self, opened: frozenset[str], **changes: object) -> None:
        self.config = replace(Config(workers=2, canary_s=0), opened=opened, **changes)
        self.metrics = Metrics()
        self.scheduler = Scheduler(
            self.config, ZygoteSetups(self.config, find_runtimes(self.config, Commands())), self.metrics
        )

    async def results(self, tasks: list[Task]) -> list[tuple[object, ...]]:
        found: dict[tuple[str, str], CheckResult] = {}

        async def emit(task: Task, check: Check, judged: CheckResult, second: CheckResult | None) -> None:
            found[task.id, check.id] = judged

        await Judge(self.scheduler, "0").judge(tasks, emit)
        keys = [(task.id, check.id) for task in tasks for check in task.checks]
        return [(*key, found[key].outcome, found[key].shown, found[key].steps) for key in keys]

    def breaks(self) -> float:
        return sum(
            sample.value
            for family in self.metrics.registry.collect()
            for sample in family.samples
            if sample.name == "cruxbox_seal_breaks_total"
        )


@pytest_asyncio.fixture
async def opened() -> AsyncIterator[OpenJudge]:
    judge = OpenJudge(OPENED)
    await judge.scheduler.open(ZygoteKey("default", False, "0"))
    yield judge
    await judge.scheduler.close()


def tasks_of(share: bool) -> list[Task]:
    """800 generations, of which 50 are after the others: some beside honest calls of their own task."""
    evil = [leaves.program for leaves in PROGRAMS.values() if leaves.needs == "True"]
    made = []
    for at in range(800):
        honest: list[Check] = [
            CallCheck("a", f"sorted('ba{at}')", f"{sorted(f'ba{at}')!r}"),
            CallCheck("b", f"len(str({at}))", "9"),
        ]
        if at % 16 == 3:
            honest.insert(at % 3, CallCheck("evil", f"exec({evil[at // 16 % len(evil)]!r})", "[66]"))
        task = Task(str(at), b"", honest, DEFAULT_LIMITS, "default", share, None, 1, StepCount.INSTRUCTIONS, rpc_id=1)
        made.append(task)
    return made


@pytest.mark.kernel
async def test_with_the_rule_open_the_verdicts_are_those_of_workers_of_their_own(opened: OpenJudge, caplog):
    with caplog.at_level(logging.WARNING):
        shared = await opened.results(tasks_of(share=True))
    assert opened.breaks() >= 40
    assert {record.what for record in caplog.records if record.message == "a seal broke"} != set()
    alone = await opened.results(tasks_of(share=False))
    assert [pair for pair in zip(shared, alone) if pair[0] != pair[1]] == []
    assert Outcome.PASSED in {row[2] for row in shared}
