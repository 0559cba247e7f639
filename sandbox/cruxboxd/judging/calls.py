"""The side of the call: what `call` evaluates to on the program, by workers that never see what is expected."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cruxcell.protocol import messages, payloads

from cruxboxd.judging import filter_notes, outcomes
from cruxboxd.judging.outcomes import Assurance, Finding, Outcome, Plan, Report, invalid, sandbox_error
from cruxboxd.judging.tasks import CallAsk, TaskAsk
from cruxboxd.scheduling.scheduler import MAX_ATTEMPTS, Pool
from cruxboxd.seccomp.compiler import syscall_name
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.setup import ZygoteKey

# At most so many checks share a worker: tenants take turns at this grain.
SHARED_CHECKS = 64
_MS = 1_000_000
# Where every check ends its worker, those that share it whatever the program is would wait for each other.
_TURNS_TOGETHER = 2


@dataclass(frozen=True)
class Way:
    """How a call is evaluated: what its worker may do, and what that says about the value."""

    flags: int
    assurance: Assurance


_SHARED = Way(payloads.SHARE, Assurance.SEPARATED)
_TOGETHER = Way(payloads.SHARE | payloads.TOGETHER, Assurance.IN_PROCESS)
_ALONE = Way(0, Assurance.SEPARATED)
_BESIDE_PROGRAM = Way(payloads.RUN_EXPRESSIONS, Assurance.IN_PROCESS)
_NO_PROGRAM = Way(payloads.RUN_EXPRESSIONS, Assurance.SEPARATED)  # an expression that has no program to share with


class Caller:
    """Evaluates calls of one task; `hash_seed` chooses the zygotes, `inspects` False leaves out what filters ask."""

    def __init__(self, pool: Pool, task: TaskAsk, hash_seed: str, inspects: bool = True) -> None:
        self._pool, self._task = pool, task
        self._inspects = inspects
        self._program = task.program.encode("utf-8", "surrogatepass")
        self._hash_seed = hash_seed

    async def evaluate(self, asks: Sequence[CallAsk]) -> list[Finding]:
        """A finding for each call, in order: a value, or an outcome other than PASSED and FAILED."""
        if not self._task.share:
            return list(await asyncio.gather(*[self._evaluate_alone(ask) for ask in asks]))
        if len(asks) <= SHARED_CHECKS:
            return await self._evaluate_shared(asks)
        slices = [asks[at : at + SHARED_CHECKS] for at in range(0, len(asks), SHARED_CHECKS)]
        parts = await asyncio.gather(*[self._evaluate_shared(part) for part in slices])
        return [finding for part in parts for finding in part]

    async def _evaluate_shared(self, asks: Sequence[CallAsk]) -> list[Finding]:
        """Calls in one worker; where it ends early, the call it ended on is charged and the rest go on in a new one.

        What cannot share (the program is not hermetic, arguments to be computed first, ...) goes its own way.
        """
        findings: dict[int, Finding] = {}
        waiting = list(range(len(asks)))
        turns = 0
        while waiting:
            turns += 1
            if self._task.together and turns > _TURNS_TOGETHER:
                findings.update(zip(waiting, await asyncio.gather(*[self._evaluate_alone(asks[at]) for at in waiting])))
                break
            found, elsewhere = await self._run_shared([asks[at] for at in waiting])
            findings.update({waiting[at]: finding for at, finding in found.items()})
            if elsewhere:
                alone = [self._evaluate_elsewhere(asks[waiting[at]], kind) for at, kind in elsewhere.items()]
                findings.update(zip([waiting[at] for at in elsewhere], await asyncio.gather(*alone)))
            waiting = [at for at in waiting if at not in findings]
        return [findings[at] for at in range(len(asks))]

    async def _run_shared(self, asks: Sequence[CallAsk]) -> tuple[dict[int, Finding], dict[int, str]]:
        """(findings, class of what has to go another way), by place. If the worker gets stuck on a call, those behind
        it are evaluated by others meanwhile."""
        behind: dict[int, asyncio.Task[list[Finding]]] = {}

        def take_over(report: bytes) -> None:
            for at in _behind(report, len(asks), self._task):
                if at not in behind:  # it may run once more, and be stuck once more
                    behind[at] = asyncio.ensure_future(self._evaluate_shared([asks[at]]))

        way = _TOGETHER if self._task.together else _SHARED
        job = self._calls_job(asks, way)
        job.on_stuck = take_over
        try:
            result = await self._pool.run(job)
            taken_over = {at: (await task)[0] for at, task in behind.items()}
        finally:
            for task in behind.values():
                task.cancel()
        seen = _read_calls(result, len(asks), way, self._task)
        # Without a program there is nothing an expression could not be evaluated beside.
        elsewhere = {at: seen.classes[at] if self._task.program else messages.DIRECT for at in seen.to_run_alone}
        elsewhere = {at: messages.DIRECT if kind == messages.CONSTANT else kind for at, kind in elsewhere.items()}
        if not result.error:  # our own failures are tried again
            broken = [at for at, finding in seen.findings.items() if finding.outcome is Outcome.SANDBOX_ERROR]
            elsewhere.update(dict.fromkeys(broken, messages.DIRECT))
        found = {at: finding for at, finding in seen.findings.items() if at not in elsewhere} | taken_over
        return found, {at: kind for at, kind in elsewhere.items() if at not in taken_over}

    async def _evaluate_alone(self, ask: CallAsk) -> Finding:
        """One call, one worker (or two, where its arguments have to be computed first)."""
        way = _ALONE if self._task.program else _NO_PROGRAM
        finding, kind = await self._attempt(ask, way)
        return finding if finding is not None else await self._evaluate_elsewhere(ask, kind)

    async def _evaluate_elsewhere(self, ask: CallAsk, kind: str) -> Finding:
        """A call of a class that does not run where it was asked."""
        if kind in (messages.DIRECT, messages.ALONE):
            return await self._evaluate_alone(ask)
        if kind == messages.ARGUED and not ask.inspect:  # nothing is compared with what a filter asks for
            return await self._apply(ask)
        return await self.evaluate_beside(ask, "the call is not one call of a name")

    async def evaluate_beside(self, ask: CallAsk, why: str) -> Finding:
        """The call beside the program, IN_PROCESS; INVALID where better was required."""
        if self._task.require is not None and self._task.require is not Assurance.IN_PROCESS:
            return invalid(f"{why}, so it can only be checked IN_PROCESS")
        finding, _ = await self._attempt(replace(ask, entry_point=""), _BESIDE_PROGRAM)
        return finding if finding is not None else sandbox_error("the call was not evaluated")

    async def _attempt(self, ask: CallAsk, way: Way) -> tuple[Finding | None, str]:
        """(finding, "") or (None, the class of call that has to go another way). Our own failures are tried again."""
        finding: Finding | None = None
        for attempt in range(1, MAX_ATTEMPTS + 1):
            result = await self._run_calls([ask], way)
            seen = _read_calls(result, 1, way, self._task)
            if seen.to_run_alone:
                return None, seen.classes[:1]
            finding = seen.findings[0].but(attempts=max(attempt, result.attempts))
            if finding.outcome is not Outcome.SANDBOX_ERROR or result.error:
                break
        return finding, ""

    async def _run_calls(self, asks: Sequence[CallAsk], way: Way) -> Result:
        return await self._pool.run(self._calls_job(asks, way))

    def _calls_job(self, asks: Sequence[CallAsk], way: Way) -> Job:
        inspect = payloads.INSPECT if self._inspects and any(ask.inspect for ask in asks) else 0
        fields = [payloads.CALLS_FLAGS.pack(way.flags | inspect), self._program]
        for ask in asks:
            fields += [ask.entry_point.encode(), ask.call.encode("utf-8", "surrogatepass")]
        imports = any("import" in ask.call for ask in asks)
        job = self._job(messages.JOB_CALLS, fields, len(asks), imports)
        job.may_share = bool(way.flags & payloads.SHARE)
        return job

    # ---- calls with expressions for arguments ------------------------------------------------------------------

    async def _apply(self, ask: CallAsk) -> Finding:
        """Arguments computed in a worker without the program, then applied in another."""
        fields = [self._program, ask.call.encode("utf-8", "surrogatepass")]
        result = await self._pool.run(self._job(messages.JOB_ARGUMENTS, fields, 1, "import" in ask.call))
        report, finding = _single(result, self._task, messages.MAX_ARGUMENTS)
        if report.plan is not None and report.plan.classes == messages.INVALID:
            detail = report.plan.detail_of(0)
            return invalid(detail) if ask.entry_point else await self.evaluate_beside(ask, detail)
        if finding.outcome is not None or report.plan is None:
            return finding.but(assurance=Assurance.SEPARATED)
        record = report.records[0]
        if record[2] != messages.PLAIN:
            why = f"an argument is not plain data ({outcomes.text(record[4])})"
            # Beside the program nothing keeps the arguments from its names, which an entry point promises.
            return invalid(why) if ask.entry_point else await self.evaluate_beside(ask, why)
        fields = [self._program, (report.plan.details or ("",))[0].encode(), record[3]]
        result = await self._pool.run(self._job(messages.JOB_APPLY, fields, 1, False))
        _, finding = _single(result, self._task)
        return finding.but(assurance=Assurance.SEPARATED)

    # ---- expressions on the other side -------------------------------------------------------------------------

    async def evaluate_expected(self, expression: str) -> Finding:
        """An expected value that is not a constant: without the program, or beside it if it needs its names."""
        field = expression.encode("utf-8", "surrogatepass")
        result = await self._pool.run(self._job(messages.JOB_EXPRESSION, [field], 1, "import" in expression))
        _, finding = _single(result, self._task)
        if finding.exception is not None and finding.exception[0] == "NameError" and self._task.program:
            ask = CallAsk("", expression, None)
            return await self.evaluate_beside(ask, "the expected value uses names of the program")
        return finding.but(assurance=Assurance.SEPARATED)

    def _job(self, kind: bytes, fields: list[bytes], checks: int, imports: bool) -> Job:
        task = self._task
        return Job(
            key=ZygoteKey(task.runtime, imports or "import" in task.program, self._hash_seed),
            kind=kind,
            fields=fields,
            limits=task.limits,
            tenant=task.tenant,
            interactive=task.interactive,
            call=task.call,
            checks=checks,
        )


@dataclass(frozen=True)
class _Seen:
    """What came of calls in one worker, by their place in it."""

    findings: dict[int, Finding]
    to_run_alone: list[int]
    classes: str = ""


def _read_calls(result: Result, count: int, way: Way, task: TaskAsk) -> _Seen:
    """Findings of the calls that were evaluated or cannot be, and which have to be run alone.

    What is in neither was not reached because the worker ended early, and goes on in a new one: what ends in silence
    is charged only where it came first.
    """
    if result.error:
        return _Seen({at: _charged(result, sandbox_error(result.error)) for at in range(count)}, [])
    report = outcomes.parse_report(result.report, count)
    if report.plan is None or len(report.plan.classes) != count:
        return _Seen({0: _charged(result, of_missing_plan(report, result, task))}, [])
    plan = report.plan
    report, notes = filter_notes.split(report)
    if not plan.hermetic:
        notes = {at: tuple(name for name in names if name != messages.SEEDLESS) for at, names in notes.items()}
    base = _charged(result, outcomes.BLANK, _assurance(plan, way))
    found, forged = outcomes.of_records(report, count, result.facts, task.limits.output_bytes, base=base)
    findings = dict(found)
    findings.update(
        {at: invalid(plan.detail_of(at)) for at, kind in enumerate(plan.classes) if kind == messages.INVALID}
    )
    turns = _turns(plan, way)
    unreached = [at for at in turns if at not in findings]
    elsewhere = [at for at in range(count) if at not in findings and at not in turns]
    doubtful = [at for at, finding in found.items() if finding.outcome is Outcome.MEMORY_LIMIT]
    if forged or result.over_cap or not _ends_well(report, result):
        charged = (unreached or [at for at in turns if at in found][-1:] or [0])[0]
        findings[charged] = _of_bad_end(report, result, forged, task)
        doubtful.append(charged)
    elif unreached and not _ended_by_limit(report) and not (found and result.facts.is_clean):
        findings[unreached[0]] = outcomes.of_exit(result.facts, *_bounds(task))
    if result.over_cap or (way is _TOGETHER and not plan.hermetic):
        # Those before it may have had a part in how a check ended that was not the first.
        again = set(doubtful).difference(turns[:1])
        elsewhere += sorted(again)
        findings = {at: finding for at, finding in findings.items() if at not in again}
    for at, finding in findings.items():
        if found.get(at) is not finding:
            findings[at] = _charged(result, finding, notes=notes.get(at, ()))
        elif plan.classes[at] == messages.CONSTANT:
            findings[at] = finding.but(assurance=Assurance.LITERAL, findings=notes.get(at, ()))
        elif at in notes:
            findings[at] = finding.but(findings=notes[at])
    return _Seen(findings, elsewhere, plan.classes)


def _behind(report: bytes, count: int, task: TaskAsk) -> list[int]:
    """The calls behind the one that a shared worker is at, by what it has said so far."""
    said = outcomes.parse_report(report, count)
    if said.plan is None or not said.plan.hermetic or len(said.plan.classes) != count:
        return []
    found, _ = outcomes.of_records(filter_notes.split(said)[0], count, Exit(), task.limits.output_bytes)
    return [at for at in _turns(said.plan, _SHARED) if at not in found][1:]


def _turns(plan: Plan, way: Way) -> list[int]:
    """The calls the worker was to evaluate, in its order: constants, then calls; only one if it cannot be shared."""
    runnable = messages.DIRECT
    if way.flags & payloads.RUN_EXPRESSIONS:
        runnable += messages.ARGUED + messages.EXPRESSION
    constants = [at for at, kind in enumerate(plan.classes) if kind == messages.CONSTANT]
    others = [at for at, kind in enumerate(plan.classes) if kind in runnable]
    return constants + (others if plan.hermetic or way is _TOGETHER else others[:1])


def _assurance(plan: Plan, way: Way) -> Assurance:
    """That of calls; constants are LITERAL."""
    return Assurance.SEPARATED if way is _TOGETHER and plan.hermetic else way.assurance


_LIMIT_EXITS = {messages.STEP_LIMIT: messages.EXIT_STEPS, messages.OUTPUT_LIMIT: messages.EXIT_OUTPUT}


def _ends_well(report: Report, result: Result) -> bool:
    """Does the way the worker ended fit its last record?"""
    last = report.records[-1][0] if report.records else b""
    if result.facts.is_clean:
        return True
    return last in _LIMIT_EXITS and result.facts.killed == 0 and result.facts.status == _LIMIT_EXITS[last] << 8


def _ended_by_limit(report: Report) -> bool:
    return bool(report.records) and report.records[-1][0] in _LIMIT_EXITS


def _of_bad_end(report: Report, result: Result, forged: str, task: TaskAsk) -> Finding:
    """Kernel facts first, then the report that is not an honest worker's."""
    if report.syscall is not None and result.facts.status == messages.EXIT_VIOLATION << 8:
        return outcomes.of_violation(syscall_name(report.syscall), result.facts)
    if result.over_cap:
        return Finding(Outcome.OUTPUT_LIMIT, "its report is over the limit")
    if not result.facts.is_clean and not (forged and result.facts.killed == 0):
        return outcomes.of_exit(result.facts, *_bounds(task))
    return Finding(Outcome.VIOLATION, forged or "it ended in a way its report does not explain")


def of_missing_plan(report: Report, result: Result, task: TaskAsk) -> Finding:
    """A worker that ended before it had read its task: its own death, or our failure."""
    if report.harness_error:
        return sandbox_error(report.harness_error)
    if result.facts.is_clean or report.garbled:
        return sandbox_error(report.garbled or "the worker said nothing")
    return outcomes.of_exit(result.facts, *_bounds(task))


def _single(result: Result, task: TaskAsk, value_bytes: int = messages.VALUE_BYTES) -> tuple[Report, Finding]:
    """The report and the finding of a job that answers one check with a value of so many bytes or the output limit."""
    report = outcomes.parse_report(result.report)
    if result.error:
        return report, _charged(result, sandbox_error(result.error))
    if report.plan is None:
        return report, _charged(result, of_missing_plan(report, result, task))
    if report.plan.classes == messages.INVALID:
        return report, _charged(result, invalid(report.plan.detail_of(0)))
    report, notes = filter_notes.split(report)
    output_limit = task.limits.output_bytes
    found, forged = outcomes.of_records(report, 1, result.facts, output_limit, value_bytes=value_bytes)
    if forged or result.over_cap or not found or not _ends_well(report, result):
        if not found and not forged and result.facts.is_clean:
            return report, _charged(result, outcomes.of_exit(result.facts, *_bounds(task)))
        return report, _charged(result, _of_bad_end(report, result, forged, task))
    return report, _charged(result, found[0], notes=notes.get(0, ()))


def read_single(result: Result, task: TaskAsk) -> Finding:
    """The finding of a job that answers one check."""
    return _single(result, task)[1]


def _bounds(task: TaskAsk) -> tuple[int, int]:
    return task.limits.cpu_ms * _MS, task.limits.memory_bytes


def _charged(
    result: Result, finding: Finding, assurance: Assurance | None = None, notes: tuple[str, ...] = ()
) -> Finding:
    return finding.but(
        findings=notes,
        queue_ns=max(result.queue_ns, 0),
        attempts=result.attempts,
        peak_bytes=result.facts.peak_bytes,
        assurance=assurance or finding.assurance,
    )
