"""What `call` evaluates to on the program, by workers that never see what is expected."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Collection, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial

from cruxcell.protocol import messages, payloads

from cruxboxd.judging import charging
from cruxboxd.judging.audit import Audit, Audited
from cruxboxd.judging.cuts import cut
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome, invalid, sandbox_error
from cruxboxd.judging.tasks import CallCheck, Kept, Task, encoded
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.shared.waiting import together
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.report import Asked, Plan, text
from cruxboxd.zygotes.retry import RETRY
from cruxboxd.zygotes.setup import ZygoteKey

# Most checks of a task that share a worker. Tenants alternate between workers, so more would delay other tenants.
SHARED_CHECKS = 64
# Characters of their calls: what all of them hold in the worker, each is without.
_SHARED_CHARACTERS = 1 << 16
# Workers in a row for checks of ISOLATION_TASK. What is left after them runs alone, in parallel, because a program may
# end its worker in every check.
_TURNS_TOGETHER = 2


@dataclass(frozen=True)
class Way:
    """How a call is evaluated: the profile of its worker, and the assurance of the value."""

    flags: int
    assurance: Assurance

    def assurance_of(self, plan: Plan) -> Assurance:
        """That of calls; constants are LITERAL."""
        return Assurance.SEPARATED if self is _TOGETHER and plan.hermetic else self.assurance


_SHARED = Way(payloads.SHARE, Assurance.SEPARATED)
_TOGETHER = Way(payloads.SHARE | payloads.TOGETHER, Assurance.IN_PROCESS)
_ALONE = Way(0, Assurance.SEPARATED)
_BESIDE_PROGRAM = Way(payloads.RUN_EXPRESSIONS, Assurance.IN_PROCESS)
_NO_PROGRAM = Way(payloads.RUN_EXPRESSIONS, Assurance.SEPARATED)  # an expression that has no program to share with


# How the detail of an INVALID ends where a call would have to run beside the program and better is required.
ONLY_BESIDE = "so it can only be checked IN_PROCESS"


class CallEvaluator:
    """Evaluates calls of one task; `hash_seed` chooses the zygotes, `inspects` False omits notes for filters."""

    def __init__(self, scheduler: Scheduler, task: Task, hash_seed: str, audit: Audit, inspects: bool = True) -> None:
        self._scheduler, self._task, self._audit = scheduler, task, audit
        self._inspects, self._follows = inspects, False
        self._more_flags = 0
        self._program = task.program
        self._hash_seed = hash_seed
        self._setting = task.setting or None

    def afterwards(self) -> CallEvaluator:
        """The same, for what follows upon a result. What a call printed may be megabytes and is held until the verdict,
        so this goes before calls that have not begun."""
        later = copy.copy(self)
        later._follows = True
        return later

    def of_a_checker(self) -> CallEvaluator:
        """The same for a checker, which is given what a candidate has printed."""
        later = self.afterwards()
        later._more_flags = payloads.CHECKER
        return later

    async def evaluate(self, checks: Sequence[CallCheck]) -> list[CheckResult]:
        """A result for each call, in order: a value, or an outcome other than PASSED and FAILED."""
        texts = [self._program, *[encoded(check.call) for check in checks]]
        if not self._may_share(texts):
            return await together(*[self._evaluate_alone(check) for check in checks])
        parts = list(cut(checks, SHARED_CHECKS, _SHARED_CHARACTERS, lambda check: len(check.call)))
        if len(parts) == 1:
            return await self._evaluate_shared(checks)
        found = await together(*[self._evaluate_shared(part) for part in parts])
        return [judged for part in found for judged in part]

    def _may_share(self, texts: list[bytes]) -> bool:
        if not self._task.share or self._key(texts).threads:  # threads would run on beside the next check
            return False
        is_noticed = self._scheduler.kinds.seals(self._task.runtime) or self._task.together
        return is_noticed and not self._audit.is_suspect(self._task.rpc_id)

    async def _evaluate_shared(self, checks: Sequence[CallCheck]) -> list[CheckResult]:
        """Evaluate calls in one worker. If it ends early, the end is attributed to the call it was running, and the
        rest go on in a new worker.

        Calls that may not share a worker (the program is not hermetic, arguments must be computed first, ...) are
        evaluated in another way.
        """
        results: dict[int, CheckResult] = {}
        waiting = list(range(len(checks)))
        turns, later = 0, self.afterwards()
        while waiting:
            turns += 1
            evaluator = self if turns == 1 else later
            if self._task.together and turns > _TURNS_TOGETHER:
                results.update(zip(waiting, await together(*[later._evaluate_alone(checks[at]) for at in waiting])))
                break
            found = await evaluator._run_shared([checks[at] for at in waiting])
            results.update({waiting[at]: judged for at, judged in found.items()})
            waiting = [at for at in waiting if at not in results]
        return [results[at] for at in range(len(checks))]

    async def _run_shared(self, checks: Sequence[CallCheck]) -> dict[int, CheckResult]:
        """Results by index, also of calls that have to be evaluated in another way. If the worker stalls in a call,
        other workers evaluate the calls after it meanwhile."""
        behind: dict[int, asyncio.Task[list[CheckResult]]] = {}
        of_this_request = copy_context()  # the zygote calls in its own

        def take_over(report: bytes) -> None:
            for at in charging.behind(report, job.asked):
                if at not in behind:  # the call may run again, and stall again
                    work = self.afterwards()._evaluate_shared([checks[at]])
                    behind[at] = of_this_request.run(asyncio.ensure_future, work)

        way = _TOGETHER if self._task.together else _SHARED
        job = self._calls_job(checks, way)
        job.on_stuck = take_over
        try:
            result = await self._scheduler.run(job)
            try:
                taken_over = {at: (await task)[0] for at, task in behind.items()}
                found, elsewhere = self._read_shared(result, job.asked, way)
                elsewhere = {at: kind for at, kind in elsewhere.items() if at not in taken_over}
                await self._audit_shared(checks, found, elsewhere, result)
            finally:
                result.leave()
            await result.settled()
        finally:
            for task in behind.values():
                task.cancel()
        is_told_beside = result.company is not None
        others = [self._evaluate_as_told(checks[at], kind, is_told_beside) for at, kind in elsewhere.items()]
        return found | taken_over | dict(zip(elsewhere, await together(*others)))

    def _read_shared(self, result: Result, asked: Asked, way: Way) -> tuple[dict[int, CheckResult], dict[int, str]]:
        """The worker's own results: (results, classes of the calls that must be evaluated in another way), by index."""
        seen = charging.read(result, asked, self._task.limits, way.assurance_of)
        # Without a program an expression may run in any worker.
        elsewhere = {at: seen.classes[at] if self._task.program else messages.DIRECT for at in seen.to_run_alone}
        elsewhere = {at: messages.DIRECT if kind == messages.CONSTANT else kind for at, kind in elsewhere.items()}
        if not result.error:  # failures of the sandbox are retried
            broken = [at for at, judged in seen.results.items() if judged.outcome is Outcome.SANDBOX_ERROR]
            elsewhere.update(dict.fromkeys(broken, messages.DIRECT))
        found = {at: judged for at, judged in seen.results.items() if at not in elsewhere}
        is_shared = seen.is_shared or result.company is not None
        return {at: judged.but(shared=is_shared) for at, judged in found.items()}, elsewhere

    async def _audit_shared(
        self, checks: Sequence[CallCheck], found: dict[int, CheckResult], elsewhere: dict[int, str], result: Result
    ) -> None:
        """Run a random share of the calls that shared a worker again, alone: what they then come to is found. So are
        those that it says must be evaluated in another way."""
        has_company = result.company is not None
        drawn = result.audited if has_company else self._audit.draw(len(checks))
        told = [at for at in drawn if at in elsewhere and has_company]
        as_told = [self._evaluate_as_told(checks[at], elsewhere.pop(at), has_company) for at in told]
        found.update(zip(told, await together(*as_told)))
        places = [at for at in drawn if at in found and found[at].shared]
        if places:
            audits = [self._compare(checks[at], found[at]) for at in places]
            found.update(zip(places, await together(*audits)))

    async def _compare(self, check: CallCheck, shared: CheckResult) -> CheckResult:
        audited = Audited(self._task.rpc_id, self._task.id, check.id)
        return await self._audit.run_again(audited, shared, partial(self.afterwards()._evaluate_alone, check))

    async def _evaluate_alone(self, check: CallCheck) -> CheckResult:
        """One call, one worker (or two, where its arguments have to be computed first)."""
        way = _ALONE if self._task.program else _NO_PROGRAM
        judged, kind = await self._attempt(check, way)
        return judged if judged is not None else await self.afterwards()._evaluate_elsewhere(check, kind)

    async def _evaluate_elsewhere(self, check: CallCheck, kind: str) -> CheckResult:
        """Evaluate a call of a class that the first worker does not evaluate."""
        if kind in (messages.DIRECT, messages.ALONE):
            return await self._evaluate_alone(check)
        if kind == messages.ARGUED and not check.inspect:  # a filter compares nothing, so it needs no separation
            return await self._apply(check)
        return await self.evaluate_beside(check, "the call is not one call of a name")

    async def _evaluate_as_told(self, check: CallCheck, kind: str, is_told_beside: bool) -> CheckResult:
        """The same for a class that another worker has told, beside jobs of others: then the result shares with these
        what they may have done to that word."""
        judged = await self.afterwards()._evaluate_elsewhere(check, kind)
        is_its_word = is_told_beside and kind not in (messages.DIRECT, messages.ALONE)
        return judged.but(shared=True) if is_its_word else judged

    async def evaluate_beside(self, check: CallCheck, why: str) -> CheckResult:
        """The call beside the program, IN_PROCESS; INVALID if a stronger assurance is required."""
        if self._task.require is not None and self._task.require is not Assurance.IN_PROCESS:
            return invalid(f"{why}, {ONLY_BESIDE}")
        judged, _ = await self._attempt(replace(check, entry_point=""), _BESIDE_PROGRAM)
        return judged if judged is not None else sandbox_error("the call was not evaluated")

    async def _attempt(self, check: CallCheck, way: Way) -> tuple[CheckResult | None, str]:
        """(result, "") or (None, class of the call, which must be evaluated in another way). Failures of the sandbox
        are retried."""
        judged: CheckResult | None = None
        for attempt in RETRY.tries():
            job = self._calls_job([check], way)
            result = await self._scheduler.run(job)
            seen = charging.read(result, job.asked, self._task.limits, way.assurance_of)
            if seen.to_run_alone:
                return None, seen.classes[:1]
            judged = seen.results[0].but(attempts=max(attempt, result.attempts))
            if judged.outcome is not Outcome.SANDBOX_ERROR or result.error:
                break
        return judged, ""

    def _calls_job(self, checks: Sequence[CallCheck], way: Way) -> Job:
        inspect = payloads.INSPECT if self._inspects and any(check.inspect for check in checks) else 0
        fields = [payloads.CALLS_FLAGS.pack(way.flags | inspect | self._more_flags), self._program]
        for check in checks:
            fields += [check.entry_point.encode(), encoded(check.call)]
        runs_all = bool(way.flags & payloads.RUN_EXPRESSIONS)
        asked = Asked(
            count=len(checks),
            runs=messages.DIRECT + (messages.ARGUED + messages.EXPRESSION if runs_all else ""),
            takes_turns=bool(way.flags & payloads.TOGETHER),
            texts_noted=bool(inspect and self._program),
            runs_noted=bool(inspect and self._program),
            steps=self._task.limits.steps,
            output=self._task.limits.output_bytes,
        )
        job = self._job(messages.JOB_CALLS, fields, asked)
        job.may_share = bool(way.flags & payloads.SHARE) and job.setting is None
        job.seals = len(checks) + 1 if len(checks) > 1 else 0  # only who may share is not alone
        return job

    # ---- calls with expressions for arguments ------------------------------------------------------------------

    async def _apply(self, check: CallCheck) -> CheckResult:
        """Arguments computed in a worker without the program, then applied in another."""
        fields = [self._program, encoded(check.call)]
        asked = charging.one_answer(self._task.limits, value_bytes=messages.MAX_ARGUMENTS)
        result = await self._scheduler.run(self._job(messages.JOB_ARGUMENTS, fields, asked))
        report, judged = result.read(asked), charging.read_single(result, asked, self._task.limits)
        if report.plan is not None and report.plan.classes == messages.INVALID:
            detail = report.plan.detail_of(0)
            return invalid(detail) if check.entry_point else await self.evaluate_beside(check, detail)
        if judged.outcome is not None or report.plan is None:
            return judged.but(assurance=Assurance.SEPARATED)
        kind, arguments, shown = report.answers[0].fields[:3]
        if kind != messages.PLAIN:
            why = f"an argument is not plain data ({text(shown)})"
            # An entry point promises that arguments use no name of the program, which nothing enforces in its process.
            return invalid(why) if check.entry_point else await self.evaluate_beside(check, why)
        fields = [self._program, (report.plan.details or ("",))[0].encode(), arguments]
        judged = await self.afterwards()._run_single(messages.JOB_APPLY, fields)
        return judged.but(assurance=Assurance.SEPARATED)

    # ---- checkers ----------------------------------------------------------------------------------------------

    async def evaluate_check(self, stdin: bytes, printed: bytes, expected: bytes) -> CheckResult:
        """What the program's `check` says of these. They may be megabytes: nothing is made of them here."""
        asked = charging.one_answer(self._task.limits)
        job = self._job(messages.JOB_CHECKER, [self._program], asked)  # what was printed chooses no zygote
        job.fields += [stdin, printed, expected]
        return charging.read_single(await self._scheduler.run(job), asked, self._task.limits)

    # ---- expressions on the other side -------------------------------------------------------------------------

    async def evaluate_expected(self, expression: Kept) -> CheckResult:
        """An expected value that is not a constant: without the program, or beside it if it needs its names."""
        field = encoded(expression)
        later = self.afterwards()
        judged = await later._run_single(messages.JOB_EXPRESSION, [field])
        if judged.exception is not None and judged.exception[0] == "NameError" and self._task.program:
            check = CallCheck("", expression, None)
            return await later.evaluate_beside(check, "the expected value uses names of the program")
        return judged.but(assurance=Assurance.SEPARATED)

    async def _run_single(self, kind: bytes, fields: list[bytes]) -> CheckResult:
        """The result of a job that answers one check with a value."""
        limits = self._task.limits
        asked = charging.one_answer(limits)
        return charging.read_single(await self._scheduler.run(self._job(kind, fields, asked)), asked, limits)

    def _key(self, texts: Collection[bytes]) -> ZygoteKey:
        return self._scheduler.kinds.key(self._task.runtime, self._hash_seed, texts, self._task.setting.has_files)

    def _job(self, kind: bytes, fields: list[bytes], asked: Asked) -> Job:
        task = self._task
        key = self._key({self._program, *fields})  # most fields hold the program, which is looked through once
        return Job(
            key=key,
            scratch_bytes=self._scheduler.scratch_bytes if key.scratch else 0,
            kind=kind,
            fields=fields,
            limits=task.limits,
            setting=self._setting,
            tenant=task.tenant,
            interactive=task.interactive,
            follows=self._follows,
            rpc_id=task.rpc_id,
            checks=asked.count,
            asked=asked,
        )
