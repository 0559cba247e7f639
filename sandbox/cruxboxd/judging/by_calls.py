"""Scripts judged by the calls that they make of the program, which are known before any is made.

A worker, which never learns what is expected, makes the calls one after the other, as the script would; it may be
shared like that of any call. What its word comes to is settled elsewhere: by comparing it (`series`), or by running the
script on it (`rows`).

This decides only what it is certain of. Anything else (a limit, a value that is no plain data, a crash, a report that
makes no sense) is not judged here: then the script is run, by two workers that begin anew.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Generic, TypeVar

from cruxcell.protocol import messages, payloads

from cruxboxd.judging import charging
from cruxboxd.judging.asserted import Rows, Series
from cruxboxd.judging.audit import Audit, Audited
from cruxboxd.judging.jobs import job_for
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.scripts import run_script
from cruxboxd.judging.tasks import ScriptCheck, Task
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.settings.config import MIB, Limits
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.report import Asked

# What takes longer is run as a script, with all of its limits: calls may go on behind one that gave a wrong value.
_CPU_MS, _WALL_MS = 500, 5_000
_OUTPUT = 2 * MIB  # what is told is looked through in one step of the event loop


def of_an_attempt(limits: Limits) -> Limits:
    """What the calls of a script may take, of its limits: reaching one of these decides nothing."""
    return replace(
        limits,
        cpu_ms=min(limits.cpu_ms, _CPU_MS),
        wall_ms=min(limits.wall_ms, _WALL_MS),
        output_bytes=min(limits.output_bytes, _OUTPUT),
    )


def is_plain(scheduler: Scheduler, task: Task) -> bool:
    """Do calls of the program find all that a script's find? Not where it may start threads, or as a whole, for what it
    imports, have a scratch folder: calls that name no file have none."""
    key = scheduler.kinds.key(task.runtime, "", [task.program], is_whole=True)
    return not (key.threads or key.scratch)


Script = TypeVar("Script", Series, Rows)


class CallsJudge(ABC, Generic[Script]):
    """Judges one script by its calls."""

    def __init__(  # noqa: PLR0917 - a script's parts
        self, scheduler: Scheduler, task: Task, check: ScriptCheck, hash_seed: str, audit: Audit, code: bytes = b""
    ) -> None:
        self._scheduler, self._task, self._check = scheduler, task, check
        self._hash_seed, self._audit, self._code = hash_seed, audit, code

    async def judge(self, script: Script) -> CheckResult | None:
        """PASSED, FAILED, RAISED or INVALID; None where the script has to be run."""
        entry_point = script.entry_point(self._check.entry_point)
        if not entry_point or self._task.setting or not is_plain(self._scheduler, self._task):
            return None
        if not script.attempts.may_begin():
            return None
        job = self._job(script, entry_point)
        result = await self._scheduler.run(job)
        try:
            judged = await self._judged(result, job.asked, script)
            script.attempts.ended(judged is not None, result.cpu_ns)
            if judged is not None and result.audited:
                audited = Audited(self._task.rpc_id, self._task.id, self._check.id)
                judged = await self._audit.run_again(audited, judged, self.run_alone)
        finally:
            result.leave()
        await result.settled()
        return judged

    async def run_alone(self) -> CheckResult:
        """The script as it stands, in two workers of its own."""
        return await run_script(self._scheduler, self._task, self._check, self._hash_seed, self._code)

    def _job(self, script: Script, entry_point: str) -> Job:
        task = self._task
        may_share = task.share and self._scheduler.kinds.seals(task.runtime) and not self._audit.is_suspect(task.rpc_id)
        flags = payloads.SERIES | (payloads.SHARE if may_share else 0)
        fields = [payloads.CALLS_FLAGS.pack(flags), task.program, entry_point.encode(), script.calls, script.unbindable]
        job = job_for(self._scheduler, task, messages.JOB_SERIES, fields, self._hash_seed, [task.program])
        job.limits = of_an_attempt(job.limits)
        job.asked = Asked(output=job.limits.output_bytes)
        job.rpc_id, job.may_share = task.rpc_id, may_share
        return job

    async def _judged(self, result: Result, asked: Asked, script: Script) -> CheckResult | None:
        """What the worker's word comes to, if it ended as one that has said all it was asked."""
        if result.error or result.unsealed:
            return None
        seen = charging.read(result, asked, self._task.limits, lambda _plan: Assurance.SEPARATED)
        base = seen.results.get(0)
        if base is None:
            return None
        base = base.but(shared=result.company is not None)
        if base.outcome is Outcome.INVALID and base.detail.startswith("the program: "):
            return base.but(assurance=Assurance.SEPARATED)
        if base.outcome is not None or base.canonical is None or not result.facts.is_clean:
            return None
        return await self.settled(base.but(canonical=None, shown="", detail=""), base.canonical, script)

    @abstractmethod
    async def settled(self, base: CheckResult, told: bytes, script: Script) -> CheckResult | None:
        """What the script comes to where the calls gave what a worker tells of them."""
