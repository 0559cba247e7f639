"""From a worker's report and end to results: which check the end is attributed to, and which checks run again alone.

There are three pure steps. The report is parsed (`cruxboxd.zygotes.report_parser`). The worker's end is attributed to
one check, or to none. The results are labelled with properties that all of them share. Rules of the second step:

* If the report explains the end, it is attributed to no check. Checks that were not reached run in a new worker, unless
  none was reached at all.
* If the report does not explain the end (a signal, a clock, a forged record, a report too large), and nothing of the
  task had run before in this worker, the end is attributed to the check whose turn it was.
* Otherwise earlier checks may have caused the end. A clock starts anew for each check of a hermetic program, so its
  result stands. In any other case the check runs again alone. After a forged report all checks of the worker do,
  because no record can be told from a forged one.
* A check that ran out of memory where the texts of others take some of it runs again alone, the first one, too.
* A check whose seal broke runs again alone (`cruxboxd.zygotes.seals`).
* If a worker ended before its plan was complete, the end is attributed to none of its checks: any of their texts may be
  the cause.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from cruxcell.protocol import messages

from cruxboxd.judging import outcomes
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome, invalid, sandbox_error
from cruxboxd.seccomp.compiler import syscall_name
from cruxboxd.settings.config import Limits
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.report import VALUES, Asked, Plan, Report
from cruxboxd.zygotes.report_parser import read_report

_MS = 1_000_000
_EVERY_CALL = messages.DIRECT + messages.ARGUED + messages.EXPRESSION
_CLOCKS = frozenset([messages.KILLED_CPU, messages.KILLED_WALL])
# With which exit codes a worker ends after its last answer; any other kind of answer is followed by EXIT_DONE.
_EXITS = {
    messages.STEP_LIMIT: (messages.EXIT_STEPS,),
    messages.OUTPUT_LIMIT: (messages.EXIT_OUTPUT, messages.EXIT_DONE),
}
_ENDING_KINDS = (messages.STEP_LIMIT, messages.MEMORY_LIMIT)


@dataclass(frozen=True)
class Seen:
    """The results of one worker's checks, by position. A check in neither was not reached, because the worker
    ended early, and runs in a new worker; `classes` is what the plan says each is."""

    results: dict[int, CheckResult]
    to_run_alone: list[int]
    classes: str = ""
    is_shared: bool = False  # some ran one after the other, as what may share a worker


def one_answer(
    limits: Limits,
    kinds: frozenset[bytes] = VALUES,
    *,
    value_bytes: int = messages.VALUE_BYTES,
    token: bytes = b"",
    runs_noted: bool = False,
    is_suite: bool = False,
) -> Asked:
    """What is asked of a job with one check of any class."""
    return Asked(
        kinds=kinds,
        runs=_EVERY_CALL,
        runs_noted=runs_noted,
        output=limits.output_bytes,
        value_bytes=value_bytes,
        token=token,
        is_suite=is_suite,
    )


def read(
    result: Result, asked: Asked, limits: Limits, assurance_of: Callable[[Plan], Assurance | None] = lambda _plan: None
) -> Seen:
    """The results of checks that were answered, cannot be answered, or ended the worker; and the checks that must run
    alone.

    `limits` are those of each check; `assurance_of` gives that of calls.
    """
    if result.error:
        return Seen({at: _labelled(sandbox_error(result.error), result) for at in range(asked.count)}, [])
    report = result.read(asked)
    plan = report.plan
    if plan is None:
        if asked.count > 1:
            return Seen({}, list(range(asked.count)), messages.DIRECT * asked.count)
        return Seen({0: _labelled(of_missing_plan(report, result, limits), result)}, [])
    ends, again = _charge(plan, report, result, limits, asked.count > 1)
    results = _answers(plan, report, result, assurance_of(plan))
    for at, kind in enumerate(plan.classes):
        if kind == messages.INVALID:
            results[at] = _labelled(invalid(plan.detail_of(at)), result, report.notes.get(at, ()))
    for at, judged in ends.items():
        results[at] = _labelled(judged, result, report.notes.get(at, ()), assurance_of(plan))
    for at in again:
        results.pop(at, None)
    elsewhere = [at for at in range(asked.count) if at not in results and at not in report.turns]
    return Seen(results, sorted([*elsewhere, *again]), plan.classes, plan.hermetic and len(report.turns) > 1)


def read_single(result: Result, asked: Asked, limits: Limits) -> CheckResult:
    """The result of a job that answers one check."""
    return read(result, asked, limits).results[0]


def behind(report: bytes, asked: Asked) -> list[int]:
    """The calls after the one that a shared worker is running, by its report so far."""
    said = read_report(report, asked)
    return said.unanswered[1:] if said.plan is not None and said.plan.hermetic else []


# ---- who is charged ------------------------------------------------------------------------------------------------


def _charge(
    plan: Plan, report: Report, result: Result, limits: Limits, has_company: bool
) -> tuple[dict[int, CheckResult], set[int]]:
    """(results of the checks that are charged with the end of the worker, checks that run again, alone).

    `has_company`: other checks' texts take some of the memory, also of the first one's."""
    calls = [at for at in report.turns if plan.classes[at] != messages.CONSTANT]
    again = {at for at in _out_of_memory(report) if at in calls and has_company}
    if not report.turns or result.unsealed:  # the check that broke the seal ran next; nothing that it wrote is here
        return {}, again | set(report.unanswered[:1])
    if _is_explained(report, result):
        return ({} if report.answers else {report.turns[0]: _of_exit(report, result, limits)}), again
    # A limit's answer ends a worker. That the harness ran out of memory after an answer, a later check may have said.
    has_ended = report.last_kind in _ENDING_KINDS
    charged = report.turns[len(report.answers) - 1] if has_ended else [*report.unanswered, report.turns[-1]][0]
    if charged in calls[:1] or charged not in calls:
        return {charged: _of_bad_end(report, result, limits)}, again
    if report.forged and not result.over_cap:
        return {}, set(calls)
    if plan.hermetic and result.facts.killed in _CLOCKS and not result.over_cap:
        return {charged: _of_bad_end(report, result, limits)}, again
    return {}, again | {charged}


def _out_of_memory(report: Report) -> list[int]:
    return [one.index for one in report.answers if one.is_out_of_memory or one.kind == messages.MEMORY_LIMIT]


def _is_explained(report: Report, result: Result) -> bool:
    """Is this how an honest worker ends after such a report?"""
    if report.forged or report.is_cut or report.syscall is not None or result.over_cap:
        return False
    if result.facts.killed != messages.NOT_KILLED:
        return False
    return result.facts.status in [code << 8 for code in _EXITS.get(report.last_kind, (messages.EXIT_DONE,))]


def _of_bad_end(report: Report, result: Result, limits: Limits) -> CheckResult:
    """Kernel facts first, then the report that is not an honest worker's."""
    facts = result.facts
    if report.syscall is not None and _ended_itself(facts) and facts.status == messages.EXIT_VIOLATION << 8:
        return outcomes.of_violation(syscall_name(report.syscall), facts)
    if result.over_cap:
        return CheckResult(Outcome.OUTPUT_LIMIT, "its report is over the limit")
    if not facts.is_clean and not (report.forged and _ended_itself(facts)):
        return _of_exit(report, result, limits)
    detail = "its report ends in the middle of a record" if report.is_cut else "it ended as its report does not explain"
    return CheckResult(Outcome.VIOLATION, report.forged or detail, forged=True)


def _ended_itself(facts: Exit) -> bool:
    return facts.killed == messages.NOT_KILLED


def of_missing_plan(report: Report, result: Result, limits: Limits) -> CheckResult:
    """A worker that ended before it had read its task: a death that the texts may be the cause of, or our failure. No
    code of the task has run then, so nobody but the harness has given an exit code."""
    if report.harness_error:
        return sandbox_error(report.harness_error)
    if report.forged or (_ended_itself(result.facts) and not os.WIFSIGNALED(result.facts.status)):
        return sandbox_error(report.forged or "the worker said nothing")
    return _of_exit(report, result, limits)


def _of_exit(report: Report, result: Result, limits: Limits) -> CheckResult:
    """The result of the check that ended the worker. CPU time of checks that were reported before is not counted for
    it."""
    judged = outcomes.of_exit(result.facts, limits.cpu_ms * _MS, limits.memory_bytes)
    return judged.but(cpu_ns=max(judged.cpu_ns - sum(one.cpu_ns for one in report.answers), 0))


# ---- what holds for all --------------------------------------------------------------------------------------------


def _answers(plan: Plan, report: Report, result: Result, assurance: Assurance | None) -> dict[int, CheckResult]:
    """The results of the checks that were answered. The kernel's figures for the worker cap their times."""
    base = _labelled(outcomes.BLANK, result, assurance=assurance)
    results = {}
    facts, left = result.facts, result.facts.cpu_ns
    for one in report.answers:
        judged = outcomes.of_answer(one, facts, base)
        judged = judged.but(cpu_ns=min(judged.cpu_ns, left)) if judged.cpu_ns > left else judged
        if one.kind in messages.LIMITS and one is report.answers[-1]:
            judged = judged.but(cpu_ns=left, wall_ns=facts.wall_ns)  # as of one whose worker was killed
        left -= judged.cpu_ns
        if plan.classes[one.index] == messages.CONSTANT:
            judged = judged.but(assurance=Assurance.LITERAL)
        notes = report.notes.get(one.index)
        results[one.index] = judged.but(findings=notes) if notes else judged
    return results


def _labelled(
    judged: CheckResult, result: Result, notes: tuple[str, ...] = (), assurance: Assurance | None = None
) -> CheckResult:
    """The result with what is known of its job, and the notes on its check."""
    return judged.but(
        findings=notes,
        queue_ns=max(result.queue_ns, 0),
        attempts=result.attempts,
        peak_bytes=result.facts.peak_bytes,
        assurance=assurance,
    )
