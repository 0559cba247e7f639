"""Checks that run a script with a program: in two processes, or in one on request."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from cruxcell.protocol import messages
from cruxcell.protocol.payloads import (
    COUNT_EVENTS,
    LARGE_SCRIPT,
    LOOK,
    REDEFINED,
    SCRIPT,
    SCRIPT_FLAGS,
    TEST_FLAGS,
    UNREAD,
)

from cruxboxd.judging import outcomes
from cruxboxd.judging.charging import one_answer, read_single
from cruxboxd.judging.expected import Kind, Reading
from cruxboxd.judging.jobs import job_for
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome, TestOutcome, invalid, sandbox_error
from cruxboxd.judging.tasks import ScriptCheck, StepCount, Task, encoded
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.report import ENDS, TEST_ENDS, Answer, Asked, Report
from cruxboxd.zygotes.retry import RETRY

ReadLate = Callable[[], Awaitable[Reading]]
NO_ASSERTION = "an assertion of the script does not hold"
BY_IDENTITY = (
    "it compared objects of the program, which is by identity or by all that they hold where test and program are two "
    "processes: compare their attributes"
)
OF_ITS_OWN = (
    "the script patches, seeds, sets or asks for what each of the two processes has for itself (functions of modules,"
    " random numbers, the environment, limits, sources, current figures), which may be why"
)
PYTHONS_OWN = (
    "by the name of a builtin the script has Python's own beside other names: name the program's as the entry point, or"
    " import it from a module"
)
NEEDS_TWO = "pytest"  # a suite of it runs in the program's process on nobody's request


# What a script that is taken apart into calls, or that may be vacuous by its form, does not have or has.
_LOOP = re.compile(rb"\n[ \t]+for ")
_MAY_ASSERT_A_TUPLE = re.compile(rb"assert[\s\\]*\(")
_LARGE = 1 << 12  # bytes
_VERY_LARGE = 1 << 18  # bytes; nobody makes a tree of so much, so nobody looks for a loop


def read_as(task: Task, check: ScriptCheck) -> bytes:
    """As what a script is read before it is run; b"": it is not.

    Making the tree of a large one takes as long as compiling it. One with a loop is no series, so it is only compiled,
    and looked at only as far as tells whether it can fail at all; so is one that is very large. Where that comes to
    nothing, the test's worker does both, and the script is read late if that has no word about it.
    """
    if check.framework or check.module or task.step_count is not StepCount.INSTRUCTIONS:
        return b""
    text = encoded(check.script)
    if task.require is Assurance.IN_PROCESS or len(text) < _LARGE:
        return SCRIPT
    if len(text) < _VERY_LARGE and _LOOP.search(text) is None:
        return SCRIPT
    return SCRIPT if _MAY_ASSERT_A_TUPLE.search(text) else LARGE_SCRIPT


async def run_script(  # noqa: PLR0917 - a script's parts
    scheduler: Scheduler,
    task: Task,
    check: ScriptCheck,
    hash_seed: str,
    code: bytes = b"",
    read: ReadLate | None = None,
) -> CheckResult:
    """Run a script in two processes, or in one if the task asks for that.

    `code` is the script's, where that is known. `read` reads a script that has not been read yet: where the test's
    worker comes to no word about it.
    """
    counts_events = task.step_count is StepCount.EVENTS
    if task.require is Assurance.SEPARATED and counts_events:
        return invalid("trace events are counted over program and script, so it can only be checked IN_PROCESS")
    if counts_events and check.framework:
        return invalid("trace events are counted of scripts, not of suites")
    if task.require is Assurance.IN_PROCESS and check.framework == NEEDS_TWO:
        return invalid("a suite of pytest's can only be checked SEPARATED")
    if counts_events or task.require is Assurance.IN_PROCESS:
        return (await _run_together(scheduler, task, check, hash_seed, read is not None)).but(
            assurance=Assurance.IN_PROCESS
        )
    return await _run_separated(scheduler, task, check, hash_seed, code, read)


async def _run_together(
    scheduler: Scheduler, task: Task, check: ScriptCheck, hash_seed: str, is_unread: bool
) -> CheckResult:
    """Script and program in one namespace."""
    events = task.step_count is StepCount.EVENTS
    fields = [
        SCRIPT_FLAGS.pack(COUNT_EVENTS * events | LOOK * is_unread),
        task.program,
        encoded(check.script),
        check.entry_point.encode(),
        check.framework.encode(),
        check.module.encode(),
        token := secrets.token_bytes(16),
    ]
    result = await scheduler.run(job_for(scheduler, task, messages.JOB_SCRIPT, fields, hash_seed, counts_events=events))
    asked = one_answer(task.limits, ENDS, token=token, runs_noted=events, is_suite=True)
    return of_suite(of_script(read_single(result, asked, task.limits)), result.read(asked).tests, check.framework)


async def _run_separated(  # noqa: PLR0917 - a script's parts
    scheduler: Scheduler, task: Task, check: ScriptCheck, hash_seed: str, code: bytes, read: ReadLate | None
) -> CheckResult:
    """Run the program in one worker and the script in another, which asks it.

    A script that holds with Python's own `sum`, where the program has one, has to hold with the program's, too: it
    may be what is tested, and it may be there to let any script pass."""
    flags = UNREAD if read is not None else 0
    judged, test = await _run_pair(scheduler, task, check, hash_seed, code, flags)
    if read is not None and judged.outcome is not Outcome.SANDBOX_ERROR:
        judged = await _refused(test, read) or judged
    if judged.outcome is Outcome.PASSED and any(answer.pythons_own for answer in test.answers):
        judged, _ = await _run_pair(scheduler, task, check, hash_seed, code, REDEFINED)
    return judged.but(assurance=Assurance.SEPARATED)


async def _run_pair(  # noqa: PLR0917 - a script's parts
    scheduler: Scheduler, task: Task, check: ScriptCheck, hash_seed: str, code: bytes, flags: int
) -> tuple[CheckResult, Report]:
    """(what the script comes to, what its worker said)"""
    texts = [task.program, encoded(check.script)]
    fields = [texts[1], check.entry_point.encode(), check.framework.encode(), check.module.encode()]
    fields += [TEST_FLAGS.pack(flags), code]
    if check.framework:
        texts.append(b"import " + fields[2])
    for _ in RETRY.tries():
        token = secrets.token_bytes(16)
        job = job_for(scheduler, task, messages.JOB_SERVE, [texts[0], fields[3]], hash_seed, texts)
        job.flags |= messages.PAIR
        job.partner = job_for(scheduler, task, messages.JOB_TEST, [*fields, token], hash_seed, key=job.key)
        job.partner.is_partner = True
        candidate, test = await scheduler.run_pair(job)
        said = test.read(_asked_of_test(task, token))
        test = replace(test, said=said)
        judged = _of_pair(candidate, test, task, check.framework, token)
        if judged.outcome is not Outcome.SANDBOX_ERROR:
            break
    return judged, said


async def _refused(test: Report, read: ReadLate) -> CheckResult | None:
    """What is wrong with a script that was run unread, by the test's word, or as read now if the candidate ended before
    that; None if nothing is."""
    if test.plan is not None:
        return invalid(test.plan.detail_of(0)) if test.plan.classes == messages.INVALID else None
    reading = await read()
    return invalid(f"the script: {reading.text}") if reading.kind is Kind.INVALID else None


def _of_pair(candidate: Result, test: Result, task: Task, framework: str, token: bytes) -> CheckResult:
    """The result of a pair: by the test's report, or by the kernel's facts about the candidate if that ended first."""
    served_by = one_answer(task.limits, ENDS)
    served = read_single(candidate, served_by, task.limits)
    if served.outcome in (Outcome.INVALID, Outcome.OUTPUT_LIMIT) or candidate.error or candidate.over_cap:
        return served
    if candidate.facts.killed not in (messages.NOT_KILLED, messages.KILLED_PARTNER):
        return served
    if test.facts.killed == messages.KILLED_PARTNER:
        return _gone(served, candidate, "the candidate ended before its test")
    asked = _asked_of_test(task, token)
    said, judged = test.read(asked), read_single(test, asked, task.limits)
    kind = said.last_kind
    if kind in _TEST_LEAVES and test.facts.is_clean:
        if kind == messages.CANDIDATE_GONE:
            return _gone(served, candidate, judged.detail).but(tests=_tests(said.tests))
        return served.but(outcome=judged.outcome, detail=judged.detail, tests=_tests(said.tests))
    judged = of_suite(of_script(judged), said.tests, framework)
    judged = judged.but(detail=_with_reasons(judged, said.answers, framework))
    if _ran_out(judged) and any(answer.is_out_of_memory for answer in candidate.read(served_by).answers):
        judged = judged.but(outcome=Outcome.MEMORY_LIMIT, detail="out of memory")
    return judged.but(
        steps=served.steps,
        cpu_ns=served.cpu_ns,
        peak_bytes=max(candidate.facts.peak_bytes, test.facts.peak_bytes),
        stdout=served.stdout or judged.stdout,
        stderr=served.stderr or judged.stderr,
    )


def _asked_of_test(task: Task, token: bytes) -> Asked:
    return one_answer(task.limits, TEST_ENDS, token=token, is_suite=True)


def _with_reasons(judged: CheckResult, answers: Sequence[Answer], framework: str) -> str:
    """The detail of a script that did not hold, with why that may be so of a right program, and the way out."""
    parts = [judged.detail] if judged.detail else []
    if judged.outcome is Outcome.FAILED and any(answer.by_identity for answer in answers):
        parts.append(BY_IDENTITY + ("" if framework == NEEDS_TWO else ", or require IN_PROCESS"))
    elif judged.outcome in (Outcome.FAILED, Outcome.RAISED) and any(answer.of_its_own for answer in answers):
        parts.append(OF_ITS_OWN + ("" if framework == NEEDS_TWO else ": require IN_PROCESS"))
    if judged.outcome in (Outcome.FAILED, Outcome.RAISED) and any(answer.pythons_own for answer in answers):
        parts.append(PYTHONS_OWN)
    return "; ".join(parts)


def _ran_out(judged: CheckResult) -> bool:
    """Did the script end with an error of the candidate's memory (or of the test's)?"""
    raised = judged.exception[0] if judged.exception is not None else ""
    return judged.outcome is Outcome.RAISED and raised.endswith("MemoryError")


def _gone(served: CheckResult, candidate: Result, text: str) -> CheckResult:
    """The result if the candidate ended before its test: how it ended by itself, if that says more."""
    is_known = candidate.facts.killed == messages.NOT_KILLED and served.outcome is not None
    return served if is_known else CheckResult(Outcome.CRASHED, text)


# How a test ends that neither came to its end nor raised.
_TEST_LEAVES = TEST_ENDS - ENDS


_TESTS = {
    messages.TEST_PASSED: TestOutcome.PASSED,
    messages.TEST_FAILED: TestOutcome.FAILED,
    messages.TEST_ERROR: TestOutcome.ERROR,
    messages.TEST_SKIPPED: TestOutcome.SKIPPED,
}


def _tests(told: tuple[tuple[bytes, str, str], ...] | None) -> tuple[tuple[str, TestOutcome, str], ...]:
    return tuple([(name, _TESTS[letter], message) for letter, name, message in told or ()])


def of_suite(judged: CheckResult, told: tuple[tuple[bytes, str, str], ...] | None, framework: str) -> CheckResult:
    """The result of a script that may be a suite: PASSED if at least one test ran and all that ran passed."""
    if told is None:
        if framework and judged.outcome is Outcome.PASSED:
            return sandbox_error("the suite ended without a word on its tests")
        return judged
    tests = _tests(told)
    judged = judged.but(tests=tests)
    if judged.outcome is not Outcome.PASSED:
        return judged
    bad = [name for name, ended, _ in tests if ended in (TestOutcome.FAILED, TestOutcome.ERROR)]
    if bad:
        detail = f"{len(bad)} of {len(tests)} tests did not pass, the first is {bad[0]}"
        return judged.but(outcome=Outcome.FAILED, detail=detail)
    if all(ended is TestOutcome.SKIPPED for _, ended, _ in tests):
        detail = "every test of the suite was skipped" if tests else "the suite holds no test"
        return judged.but(outcome=Outcome.INVALID, detail=detail)
    return judged


def of_script(judged: CheckResult) -> CheckResult:
    """A script that came to its end has PASSED; an assertion of it that failed is FAILED."""
    if judged.outcome is None and judged.detail == outcomes.ENDED:
        return judged.but(outcome=Outcome.PASSED, detail="")
    if judged.outcome is Outcome.RAISED and judged.exception is not None and judged.exception[0] == "AssertionError":
        return judged.but(outcome=Outcome.FAILED, detail=NO_ASSERTION)
    return judged
