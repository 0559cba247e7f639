"""Runs of one program on several standard inputs, in one worker where the program can leave nothing behind.

The worker decides by the program's text whether it may (`cruxcell.analysis.hermetic_streams`), and what it answers
counts up to its last valid seal. Only answers are taken from it. Whatever else becomes of a check there (a limit, a
crash, much output, a break of the seal) becomes of it again in a worker of its own, and that is its result.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from cruxcell.protocol import messages

from cruxboxd.judging import charging
from cruxboxd.judging.audit import Audit, Audited
from cruxboxd.judging.cuts import cut
from cruxboxd.judging.jobs import job_for
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.tasks import StdioCheck, Task, encoded
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.shared.waiting import together
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.report import ENDS, Asked
from cruxboxd.zygotes.setup import ZygoteKey

# Inputs that share a worker, and the bytes of all and of one of them.
SHARED_INPUTS = 64
_MOST_BYTES, _MOST_OF_ONE = 1 << 18, 1 << 16
_LONGEST_PROGRAM = 1 << 18  # bytes; to look through a longer one takes the event loop too long
# Fewer answers of a worker say that others of the same program save nothing.
_WORTH_IT = 2

# What the worker would refuse anyhow: it is not asked. What is missing here costs a worker and nothing else.
_MODULES = frozenset(b"sys math itertools bisect string collections heapq functools operator".split())
_REFUSED = re.compile(rb"^[ \t]*(?:class|with|async)\b|\b(?:open|getattr|exec|eval|globals|type|id)\(", re.MULTILINE)

Printed = tuple[CheckResult, bytes]  # how a run ended, and all of its standard output
Take = Callable[[StdioCheck, Printed], Awaitable[None]]


class Runs:
    """Runs of one task's program. `run_alone` is one in a worker of its own."""

    def __init__(
        self, scheduler: Scheduler, task: Task, hash_seed: str, audit: Audit,
        run_alone: Callable[[StdioCheck], Awaitable[Printed]],
    ) -> None:  # fmt: skip
        self._scheduler, self._task, self._hash_seed = scheduler, task, hash_seed
        self._audit, self._alone = audit, run_alone
        self._program = task.program
        self._stopped: set[Job] = set()

    async def run(self, checks: Sequence[StdioCheck], take: Take) -> None:
        """Run the program for each check; `take` is called with each as it is known."""
        plain: list[StdioCheck] = []
        alone: list[StdioCheck] = []
        for check in checks:
            is_plain = not check.setting and len(check.stdin) <= _MOST_OF_ONE
            (plain if is_plain else alone).append(check)
        if len(plain) < 2 or not self._may_share():
            plain, alone = [], list(checks)
        parts = cut(plain, SHARED_INPUTS, _MOST_BYTES, lambda check: len(check.stdin))
        await together(
            *[self._take_alone(check, take) for check in alone], *[self._take_shared(part, take) for part in parts]
        )

    @property
    def _is_suspect(self) -> bool:
        return self._audit.is_suspect(self._task.rpc_id)

    def _may_share(self) -> bool:
        task = self._task
        if not task.share or self._is_suspect or not self._scheduler.kinds.seals(task.runtime):
            return False
        if len(self._program) > _LONGEST_PROGRAM:
            return False
        key = self._key()
        if key.threads or key.scratch or key.packages:
            return False
        modules = self._scheduler.kinds.look(task.runtime, self._program).modules
        return modules <= _MODULES and not _REFUSED.search(self._program)

    def _key(self) -> ZygoteKey:
        return self._scheduler.kinds.key(self._task.runtime, self._hash_seed, [self._program], is_whole=True)

    async def _take_alone(self, check: StdioCheck, take: Take) -> None:
        with self._scheduler.holding(self._task.tenant):
            await take(check, await self._alone(check))

    async def _take_shared(self, checks: Sequence[StdioCheck], take: Take) -> None:
        """What the worker does not answer runs elsewhere: the check that it came upon alone, those behind that one
        once more in one worker, if there is something to be won by it."""
        with self._scheduler.holding(self._task.tenant, len(checks)) as holding:
            if len(checks) < _WORTH_IT or self._is_suspect:
                found: dict[int, Printed] = {}
            else:
                found = await self._run_shared(checks)
            holding.expect(len(found))
            rest = [check for at, check in enumerate(checks) if at not in found]
            again = rest[1:] if len(found) >= _WORTH_IT else []
            await together(
                *[take(checks[at], printed) for at, printed in found.items()],
                *[self._take_alone(check, take) for check in (rest[:1] if again else rest)],
                *([self._take_shared(again, take)] if again else []),
            )

    # ---- one worker --------------------------------------------------------------------------------------------

    async def _run_shared(self, checks: Sequence[StdioCheck]) -> dict[int, Printed]:
        """What the worker answered, by place; audited."""
        job = self._job(checks)
        job.on_stuck = lambda _report: self._stop(job)  # a long check runs alone, on its own clocks
        try:
            found = self._read(await self._scheduler.run(job), job)
        finally:
            self._stopped.discard(job)
        places = [at for at in self._audit.draw(len(checks)) if at in found]
        alone = await together(*[self._compare(checks[at], found[at][0]) for at in places])
        return {} if self._is_suspect else found | dict(zip(places, alone))

    def _stop(self, job: Job) -> None:
        self._stopped.add(job)
        self._scheduler.stop(job)

    def _job(self, checks: Sequence[StdioCheck]) -> Job:
        task = self._task
        fields = [self._program, *[encoded(check.stdin) for check in checks]]
        job = job_for(self._scheduler, task, messages.JOB_STREAMS, fields, self._hash_seed, [self._program])
        job.setting, job.flags = None, messages.SHARED_PROFILE  # those with a setting are alone
        job.checks, job.rpc_id, job.seals = len(checks), task.rpc_id, len(checks) + 1
        job.asked = Asked(count=len(checks), kinds=ENDS, output=task.limits.output_bytes)
        return job

    def _read(self, result: Result, job: Job) -> dict[int, Printed]:
        """The answers that count. A worker that was stopped has given some before; one that failed is final."""
        if result.error and job not in self._stopped:
            failed = charging.read(result, job.asked, self._task.limits).results
            return {at: (judged, b"") for at, judged in failed.items()}
        if result.error:
            result = job.opened(replace(result, error=""))
        report = result.read(job.asked)
        seen = charging.read(result, job.asked, self._task.limits, lambda _plan: Assurance.SEPARATED)
        found = {}
        for one in report.answers:
            judged = seen.results.get(one.index)
            if judged is None or one.is_out_of_memory or judged.outcome not in (None, Outcome.RAISED):
                continue
            if one.kind in (messages.ENDED, messages.RAISED):
                out = one.fields[0 if one.kind == messages.ENDED else 3]
                found[one.index] = judged.but(shared=True), out
        return found

    async def _compare(self, check: StdioCheck, shared: CheckResult) -> Printed:
        """The check alone, whether that is any different or not."""
        first: Printed | None = None

        async def run_alone() -> CheckResult:
            nonlocal first
            printed = await self._alone(check)
            first = first or printed
            return printed[0]

        await self._audit.run_again(Audited(self._task.rpc_id, self._task.id, check.id), shared, run_alone)
        assert first is not None
        return first
