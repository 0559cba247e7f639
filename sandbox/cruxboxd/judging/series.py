"""Scripts that only assert what calls with constants give, judged by their calls.

A worker that runs no program takes the script apart (`cruxcell.analysis.series`). Another, which never learns what is
expected, makes the calls one after the other, as the script would; it may be shared like that of any call. Here the
values are compared, to the first that differs. So such a script costs a part of one worker instead of two.

This decides only what it is certain of: every call gave a plain value, or one gave another value than expected or a
common error. Anything else (a limit, a value that is no plain data, a crash, a report that makes no sense) is not
judged here: then the script is run, by two workers that begin anew.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from cruxcell.protocol import frames, messages, payloads

from cruxboxd.judging import charging
from cruxboxd.judging.asserted import MOST_STEPS, Series
from cruxboxd.judging.audit import Audit, Audited
from cruxboxd.judging.jobs import job_for
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.scripts import NO_ASSERTION, run_script
from cruxboxd.judging.tasks import ScriptCheck, Task, encoded
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.report import Asked, text

# What takes longer is run as a script, with all of its limits: calls may go on behind one that gave a wrong value.
_CPU_MS, _WALL_MS = 250, 5_000
_MOST_NAME, _MOST_TEXT = 200, 6 * messages.MAX_TEXT  # bytes


class SeriesJudge:
    """Judges one script by its calls."""

    def __init__(self, scheduler: Scheduler, task: Task, check: ScriptCheck, hash_seed: str, audit: Audit) -> None:
        self._scheduler, self._task, self._check = scheduler, task, check
        self._hash_seed, self._audit = hash_seed, audit

    async def judge(self, series: Series) -> CheckResult | None:
        """PASSED, FAILED, RAISED or INVALID; None where the script has to be run."""
        entry_point = series.entry_point(self._check.entry_point)
        if not entry_point or self._task.setting:
            return None
        job = self._job(series, entry_point)
        if job.key.threads or job.key.scratch:
            return None
        result = await self._scheduler.run(job)
        try:
            judged = self._judged(result, job.asked, series)
            if judged is not None and result.audited:
                audited = Audited(self._task.rpc_id, self._task.id, self._check.id)
                await self._audit.run_again(audited, judged, self.run_alone)
        finally:
            result.leave()
        await result.settled()
        if judged is not None and judged.shared and self._audit.is_suspect(self._task.rpc_id):
            return None
        return judged

    async def run_alone(self) -> CheckResult:
        """The script as it stands, in two workers of its own."""
        return await run_script(self._scheduler, self._task, self._check, self._hash_seed)

    def _job(self, series: Series, entry_point: str) -> Job:
        task = self._task
        may_share = task.share and self._scheduler.kinds.seals(task.runtime) and not self._audit.is_suspect(task.rpc_id)
        flags = payloads.SERIES | (payloads.SHARE if may_share else 0)
        fields = [payloads.CALLS_FLAGS.pack(flags), task.program, entry_point.encode(), series.calls]
        texts = [task.program, encoded(self._check.script)]
        job = job_for(self._scheduler, task, messages.JOB_SERIES, fields, self._hash_seed, texts)
        limits = job.limits
        job.limits = replace(limits, cpu_ms=min(limits.cpu_ms, _CPU_MS), wall_ms=min(limits.wall_ms, _WALL_MS))
        job.asked = Asked(output=limits.output_bytes)
        job.rpc_id, job.may_share = task.rpc_id, may_share
        return job

    def _judged(self, result: Result, asked: Asked, series: Series) -> CheckResult | None:
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
        return _compared(base.but(canonical=None, shown="", detail=""), base.canonical, series)


def _compared(base: CheckResult, told: bytes, series: Series) -> CheckResult | None:
    """The values against what is expected of them, to the first that differs."""
    try:
        fields = frames.unpack(told, 2 * MOST_STEPS)
        for at, (step, head, data) in enumerate(zip(series.steps, fields[0::2], fields[1::2]), 1):
            kind, steps = payloads.SERIES_CAME.unpack(head)
            if kind == payloads.CAME_VALUE and data == step.canonical:
                continue
            is_last = 2 * at == len(fields)
            if not step.line or not (is_last or not (base.stdout or base.stderr)):
                return None  # what calls behind it printed is not this one's
            ended = base.but(steps=min(steps, base.steps))
            if kind == payloads.CAME_VALUE:
                error = "AssertionError", step.message, step.line
                return ended.but(outcome=Outcome.FAILED, detail=NO_ASSERTION, exception=error)
            name, message = frames.unpack(data, 2)
            if len(name) > _MOST_NAME or len(message) > _MOST_TEXT:
                return None
            return ended.but(outcome=Outcome.RAISED, exception=(text(name), text(message), step.line))
    except (frames.FrameError, ValueError, struct.error):
        return None
    is_whole = len(fields) == 2 * len(series.steps)
    return base.but(outcome=Outcome.PASSED) if is_whole else None
