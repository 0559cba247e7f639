"""The judge: turns tasks into results.

Theory of operation. Workers that run no program read every *expected* text (`expected`). At the same time workers that
never see an expected value run each task's calls (`calls`). This module receives both as canonical bytes, and
`outcomes.compare` decides. An assertion `assert <constant> == <expression>` is split into the same two sides. Other
scripts and stdio checks run as separate programs (`scripts`, `streams`); several inputs of one program may share a
worker (`shared_streams`).

    CONSTANT     nothing ran but the constant: LITERAL if the other side is a constant too
    DIRECT       name(<constants>): on the program; several share a worker if the program is hermetic
    ARGUED       name(<expressions>): arguments computed without the program, then applied in another worker
    EXPRESSION   anything else: beside the program, IN_PROCESS
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cruxcell.protocol.messages import SEEDLESS
from cruxcell.protocol.payloads import LARGE_SCRIPT

from cruxboxd.judging import outcomes
from cruxboxd.judging.audit import Audit
from cruxboxd.judging.by_calls import is_plain, of_an_attempt
from cruxboxd.judging.calls import ONLY_BESIDE, CallEvaluator
from cruxboxd.judging.cuts import cut
from cruxboxd.judging.expected import Kind, Reading
from cruxboxd.judging.jobs import look_at_texts
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome, evaluated, invalid, sandbox_error
from cruxboxd.judging.rows import RowsJudge
from cruxboxd.judging.scripts import read_as, run_script
from cruxboxd.judging.series import SeriesJudge
from cruxboxd.judging.shared_streams import Printed, Runs
from cruxboxd.judging.streams import checkers_of, run_program, run_stdio, settle
from cruxboxd.judging.tasks import CallCheck, Check, InvalidCheck, RunCheck, ScriptCheck, StdioCheck, Task
from cruxboxd.judging.texts import Readings, TextReader, texts_of_all
from cruxboxd.scheduling import holding
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.shared.turns import Turns
from cruxboxd.shared.waiting import done, together

log = logging.getLogger(__name__)

SECOND_SEED_OFFSET = 1
# Tasks that start in one pass of the event loop, their checks, and checks that are refused; a task that is cancelled
# has a pass of its own. Other work of the loop, and tasks of other tenants, come in between.
_TASKS_A_PASS, _CHECKS_A_PASS, _REFUSED_A_PASS = 8, 64, 32

Emit = Callable[[Task, Check, CheckResult, "CheckResult | None"], Awaitable[None]]


class _NotTaken(Exception):
    """The caller refused a result, for example because its answer became too large. Judging has not failed."""

    def __init__(self, why: Exception) -> None:
        self.why = why


@dataclass(frozen=True, eq=False)
class _Results:
    """Emits the results of a task, unless a check has to run again.

    A function that named itself for that would hold the task until a collection.
    """

    judge: Judge
    readings: asyncio.Future[Readings]
    emit: Emit
    unanswered: dict[str, Check]

    async def __call__(self, task: Task, check: Check, judged: CheckResult, second: CheckResult | None) -> None:
        holding.leave(judged.size + (second.size if second is not None else 0))
        if judged.shared and self.judge.is_suspect(task.rpc_id):
            # Whenever that was found out: none of its checks shares a worker any more.
            with holding.awaited():
                await self.judge.judge_kinds(replace(task, checks=[check]), self.readings, self)
            return
        self.unanswered.pop(check.id, None)
        try:
            await self.emit(task, check, _hinted(task, judged), second)
        except Exception as error:
            raise _NotTaken(error) from None


class Judge:
    """Judges batches of tasks on a scheduler; `turns` are those of what the event loop itself does for them."""

    def __init__(
        self, scheduler: Scheduler, hash_seed: str, audit: Audit | None = None, turns: Turns | None = None
    ) -> None:
        self._scheduler, self._audit = scheduler, audit or Audit(0)
        self._turns = turns or Turns(lambda _tenant, _seconds: None)
        self._by_steps = Turns(lambda _tenant, _seconds: None, slice_s=0)
        self._seeds = (hash_seed, str(int(hash_seed) + SECOND_SEED_OFFSET))
        self._texts = TextReader(scheduler, hash_seed, self._turns)

    async def judge(self, tasks: Sequence[Task], emit: Emit) -> None:
        """Judge every check of every task; `emit(task, check, result, second run's result)` as they are known."""
        readings, reading = self._texts.read_all(tasks, [texts async for texts in texts_of_all(tasks)])
        running: list[asyncio.Task[None]] = []
        try:
            if tasks:
                await self._by_steps.run(tasks[0].tenant, self._begin(tasks, readings, emit, running))
            await done(running)
        except BaseException:
            for work in reading:
                work.cancel()
            await self._by_steps.cancel(tasks[0].tenant, running, reading)
            raise

    def _begin(
        self, tasks: Sequence[Task], readings: list[asyncio.Future[Readings]], emit: Emit,
        running: list[asyncio.Task[None]],
    ) -> Iterator[None]:  # fmt: skip
        """Start on the tasks, a few at each step; what runs is added to `running`."""
        parts = cut(list(zip(tasks, readings)), _TASKS_A_PASS, _CHECKS_A_PASS, lambda one: len(one[0].checks))
        for number, part in enumerate(parts):
            if number:
                yield
            running += [asyncio.create_task(self._judge_task(*one, emit)) for one in part]

    async def _judge_task(self, task: Task, readings: asyncio.Future[Readings], emit: Emit) -> None:
        """Every check of the task gets exactly one result; a SANDBOX_ERROR if the daemon fails before it has one."""
        unanswered = {check.id: check for check in task.checks}
        try:
            await self._turns.run(task.tenant, look_at_texts(self._scheduler, task))
            await self.judge_kinds(task, readings, _Results(self, readings, emit, unanswered))
        except _NotTaken as error:
            raise error.why from None
        except Exception:
            log.exception("a task could not be judged", extra={"task": task.id})
            for check in list(unanswered.values()):
                await emit(task, check, sandbox_error("an internal error of the server"), None)

    async def judge_kinds(self, task: Task, readings: asyncio.Future[Readings], emit: Emit) -> None:
        """The calls of a task together, everything else one by one; all at once."""
        call_checks = [check for check in task.checks if isinstance(check, CallCheck)]
        work: list[Awaitable[None]] = []
        if call_checks:
            work.append(self._judge_calls(task, call_checks, readings, emit))
        scripts = [check for check in task.checks if isinstance(check, ScriptCheck) and not check.framework]
        if scripts:
            work.append(self._judge_scripts(task, scripts, readings, emit))
        suites = [check for check in task.checks if isinstance(check, ScriptCheck) and check.framework]
        work += [self._judge_script(task, check, None, emit) for check in suites]
        stdio = [check for check in task.checks if isinstance(check, StdioCheck)]
        if stdio:
            work.append(self._judge_stdio(task, stdio, emit))
        work += [self._judge_run(task, check, emit) for check in task.checks if isinstance(check, RunCheck)]
        if refused := [check for check in task.checks if isinstance(check, InvalidCheck)]:
            work.append(self._refuse(task, refused, emit))
        if len(work) == 1:
            await work[0]
        else:
            await together(*work)

    async def _refuse(self, task: Task, checks: Sequence[InvalidCheck], emit: Emit) -> None:
        for part in cut(checks, _REFUSED_A_PASS):
            await asyncio.sleep(0)
            for check in part:
                await emit(task, check, invalid(check.why), None)

    # ---- calls -------------------------------------------------------------------------------------------------

    async def _judge_calls(
        self, task: Task, checks: list[CallCheck], readings: asyncio.Future[Readings], emit: Emit
    ) -> None:
        with self._scheduler.holding(task.tenant, len(checks)):
            evaluator = self._evaluator(task)
            values, others = await self._evaluate(task, checks)
            read = readings.result() if readings.done() else await asyncio.shield(readings)

            async def emit_one(check: CallCheck, value: CheckResult, other: CheckResult | None) -> None:
                if check.expected is None:
                    await emit(task, check, *outcomes.compare_runs(evaluated(value), other and evaluated(other)))
                    return
                judged = await self._settle(evaluator, check, value, read[check])
                second = other and await self._settle(evaluator, check, other, read[check])
                await emit(task, check, *outcomes.compare_runs(judged, second))

            if self.is_suspect(task.rpc_id):  # each runs again
                await together(*[emit_one(*each) for each in zip(checks, values, others)])
                return
            for each in zip(checks, values, others):
                await emit_one(*each)

    async def _evaluate(
        self, task: Task, checks: list[CallCheck]
    ) -> tuple[list[CheckResult], list[CheckResult | None]]:
        """The values of the calls, and with repeat = 2 those under another hash seed."""
        first = self._evaluator(task).evaluate(checks)
        if task.repeat < 2:
            return await first, [None] * len(checks)
        if any(check.inspect for check in checks):
            return await self._evaluate_and_repeat(task, checks, await first)
        second = self._evaluator(task, 1).evaluate(checks)
        values, others = await together(first, second)
        return values, [*others]

    async def _evaluate_and_repeat(
        self, task: Task, checks: list[CallCheck], values: list[CheckResult]
    ) -> tuple[list[CheckResult], list[CheckResult | None]]:
        """Repeat the calls of a filter, which asks whether a value depends on the hash seed. Only calls that gave a
        value are repeated, without notes, and not those whose program cannot observe the seed, as an analysis before
        the run has found."""
        valued = [at for at, value in enumerate(values) if value.outcome is None and SEEDLESS not in value.findings]
        others: list[CheckResult | None] = [None] * len(checks)
        if valued:
            evaluator = self._evaluator(task, 1, inspects=False).afterwards()
            for at, other in zip(valued, await evaluator.evaluate([checks[at] for at in valued])):
                others[at] = other
        return values, others

    def _evaluator(self, task: Task, seed: int = 0, inspects: bool = True) -> CallEvaluator:
        return CallEvaluator(self._scheduler, task, self._seeds[seed], self._audit, inspects)

    def is_suspect(self, rpc_id: int) -> bool:
        """Has an audit shown that checks of this RPC which shared a worker cannot be believed?"""
        return self._audit.is_suspect(rpc_id)

    def forget(self, rpc_id: int) -> None:
        """This RPC is over."""
        self._audit.forget(rpc_id)

    async def _settle(
        self, evaluator: CallEvaluator, check: CallCheck, value: CheckResult, reading: Reading
    ) -> CheckResult:
        """Compare a value with what was expected."""
        if value.outcome is not None:
            return value
        if reading.kind is Kind.UNREAD:
            return sandbox_error(reading.text)
        if reading.kind is Kind.INVALID:
            return invalid(f"the expected value: {reading.text}")
        if reading.kind is Kind.CONSTANT:
            return outcomes.compare(value, reading.canonical)
        expected = await evaluator.evaluate_expected(check.expected or "")
        return settle_expression(value, expected)

    # ---- scripts -----------------------------------------------------------------------------------------------

    async def _judge_scripts(
        self, task: Task, checks: list[ScriptCheck], readings: asyncio.Future[Readings], emit: Emit
    ) -> None:
        """Judge scripts that only assert one call as calls, together, and every other script by itself."""
        read = await asyncio.shield(readings)
        kinds = {at: read[check] for at, check in enumerate(checks) if check in read}
        # `candidate` is a name that only scripts have.
        simple = [
            at
            for at, reading in (kinds if is_plain(self._scheduler, task) else {}).items()
            if reading.kind is Kind.ASSERTION and "candidate" not in reading.text and reading.attempts.may_begin()
        ]
        decided = await self._judge_assertions(task, [(checks[at], kinds[at]) for at in simple], emit)
        judged = {at for at, is_decided in zip(simple, decided) if is_decided}
        rest = [at for at in range(len(checks)) if at not in judged]
        await together(*[self._judge_script(task, checks[at], kinds.get(at), emit) for at in rest])

    async def _judge_assertions(
        self, task: Task, scripts: Sequence[tuple[ScriptCheck, Reading]], emit: Emit
    ) -> list[bool]:
        """Judge assertions by their calls; for each, did its call decide it?"""
        if not scripts:
            return []
        calls = [CallCheck(check.id, reading.text, None) for check, reading in scripts]
        require = task.require or Assurance.SEPARATED
        evaluator = self._evaluator(replace(task, require=require, limits=of_an_attempt(task.limits_of_scripts)))
        decided: list[bool] = []
        with self._scheduler.holding(task.tenant, len(calls)):
            for (check, reading), value in zip(scripts, await evaluator.evaluate(calls)):
                decided.append(_is_certain(value))
                reading.attempts.ended(decided[-1], value.cpu_ns)
                if decided[-1]:
                    await emit(task, check, outcomes.compare(value, reading.canonical), None)
        return decided

    async def _judged_by_calls(self, task: Task, check: ScriptCheck, reading: Reading) -> CheckResult | None:
        """The script by the calls that it makes, if these are known and what they give says enough; else None."""
        if task.require is Assurance.IN_PROCESS:
            return None
        parts = self._scheduler, task, check, self._seeds[0], self._audit, reading.code
        if reading.series is not None:
            return await SeriesJudge(*parts).judge(reading.series)
        if reading.rows is not None:
            return await RowsJudge(*parts).judge(reading.rows)
        return None

    async def _judge_script(self, task: Task, check: ScriptCheck, reading: Reading | None, emit: Emit) -> None:
        with self._scheduler.holding(task.tenant):
            await emit(task, check, await self._of_script(task, check, reading), None)

    async def _of_script(self, task: Task, check: ScriptCheck, reading: Reading | None) -> CheckResult:
        run = partial(run_script, self._scheduler, task, check, self._seeds[0])
        unread = partial(run, read=partial(self._texts.read_script, task, check))
        if reading is None:
            return await (unread() if check.module and not check.framework else run())
        short = await self._judged_by_calls(task, check, reading)
        if short is not None or reading.code:
            return short or await run(reading.code)
        if reading.kind is Kind.EXPRESSION or read_as(task, check) == LARGE_SCRIPT:
            # A worker may have died on it, or not have come to look: so who runs it looks.
            return await unread()
        if reading.kind is Kind.INVALID:
            return invalid(f"the script: {reading.text}")
        return sandbox_error(reading.text) if reading.kind is Kind.UNREAD else await run()

    # ---- programs ----------------------------------------------------------------------------------------------

    async def _judge_stdio(self, task: Task, checks: list[StdioCheck], emit: Emit) -> None:
        checkers = {source: self._evaluator(each).of_a_checker() for source, each in checkers_of(task, checks).items()}

        async def run_alone(check: StdioCheck) -> Printed:
            return await run_stdio(self._scheduler, task, check, self._seeds[0], self._turns)

        async def take(check: StdioCheck, printed: Printed) -> None:
            await emit(task, check, await settle(task, check, printed, checkers.get(check.checker), self._turns), None)

        runs = Runs(self._scheduler, task, self._seeds[0], self._audit, run_alone)
        await runs.run(checks, take)

    async def _judge_run(self, task: Task, check: RunCheck, emit: Emit) -> None:
        with self._scheduler.holding(task.tenant):
            await emit(task, check, await run_program(self._scheduler, task, check, self._seeds[0], self._turns), None)


def _is_certain(value: CheckResult) -> bool:
    """Does what the call of a script's only assertion came to decide the script? Not if it is no call of a name, gave
    an object, met a limit, that of recursion, too, or failed an assertion of the program's, which fails the script as
    one of its own does: then two processes do, as of any other script."""
    if value.outcome is None:
        return value.detail != outcomes.NOT_PLAIN
    if value.outcome is Outcome.RAISED:
        return value.exception is not None and value.exception[0] not in _UNCERTAIN
    return value.outcome is Outcome.INVALID and not value.detail.endswith(ONLY_BESIDE)


_UNCERTAIN = ("AssertionError", "MemoryError", "RecursionError")


def _hinted(task: Task, judged: CheckResult) -> CheckResult:
    """Add a hint to a ModuleNotFoundError: most often another runtime has the package."""
    if judged.exception is None or judged.exception[0] != "ModuleNotFoundError" or judged.detail:
        return judged
    name = judged.exception[1].partition("'")[2].partition("'")[0].partition(".")[0]
    if any(each == f"{name}.py" or each.startswith(f"{name}/") for each, _ in task.setting.files):
        return judged.but(detail="a test imports no module of the task's files, as these are the program's")
    hint = (
        f"the runtime {task.runtime!r} has no such module; `cruxbox runtimes` lists what each one has, "
        "--runtime NAME chooses another, and --python PATH an interpreter of your own"
    )
    return judged.but(detail=hint)


def settle_expression(value: CheckResult, expected: CheckResult) -> CheckResult:
    """A value against an expected value that had to be computed. The weaker of the two assurances counts."""
    if expected.outcome is not None:
        return expected.but(detail=f"the expected value: {expected.detail or expected.outcome.name}")
    if expected.canonical is None:
        other = "; a script may compare it" if expected.detail == outcomes.NOT_PLAIN else ""
        return invalid(f"the expected value: {expected.detail}{other}")
    settled = outcomes.compare(value, expected.canonical, expected.relation)
    sides = [side.assurance for side in (value, expected) if side.assurance is not None]
    return settled.but(assurance=min(sides, key=lambda assurance: assurance.value, default=Assurance.SEPARATED))
