"""Checks that run a program with standard input: what it prints is compared or handed back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cruxcell.protocol import messages
from cruxcell.protocol.payloads import RUN_ONLY, STDIO_FLAGS

from cruxboxd.judging.calls import CallEvaluator
from cruxboxd.judging.charging import one_answer, read_single
from cruxboxd.judging.comparing import is_same, parts_of_text
from cruxboxd.judging.jobs import job_for
from cruxboxd.judging.literals import read_literal
from cruxboxd.judging.outcomes import ENDED, Assurance, CheckResult, Outcome, sandbox_error
from cruxboxd.judging.tasks import PLAIN_SETTING, CallCheck, Kept, RunCheck, StdioCheck, Task, as_text, encoded
from cruxboxd.scheduling.holding import hold_more
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.shared.turns import Turns
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.report import ENDS, utf8


async def run_stdio(
    scheduler: Scheduler, task: Task, check: StdioCheck, hash_seed: str, turns: Turns
) -> tuple[CheckResult, bytes]:
    """The program with `stdin`, in a worker of its own; all that it printed on standard output is read from a memory
    file after its death. The outcome is None if that is to be judged (`settle`)."""
    task = _with_room(task, check)
    result = await scheduler.run(_job(scheduler, task, check, hash_seed, 0))
    is_to_judge = bool(check.expected_stdout.strip() or (check.checker and result.streams[0].strip()))
    judged = _of_stdio(result, task, is_to_judge)
    return await _with_output(judged, result, task, turns), result.streams[0]


async def settle(
    task: Task, check: StdioCheck, printed: tuple[CheckResult, bytes], checkers: CallEvaluator | None, turns: Turns
) -> CheckResult:
    """The result of a run, with what it printed compared, or judged by a checker in a worker of its own: `checkers`
    runs that. Comparing megabytes takes seconds, which are the tenant's."""
    judged, out = printed
    if judged.outcome is not None:
        return judged
    if checkers is not None:
        return await _ask_checker(checkers, check, out, judged)
    same = False

    def compare() -> Iterator[None]:
        nonlocal same
        for step in is_same(out, encoded(check.expected_stdout), check.comparison):
            same = step
            yield

    await turns.run(task.tenant, compare())
    return judged.but(outcome=Outcome.PASSED if same else Outcome.FAILED, detail="" if same else "the output differs")


async def run_program(scheduler: Scheduler, task: Task, check: RunCheck, hash_seed: str, turns: Turns) -> CheckResult:
    """The program by itself: EXECUTED if it came to an end of its own, whatever its exit code is."""
    result = await scheduler.run(_job(scheduler, task, check, hash_seed, RUN_ONLY))
    judged = await _with_output(_of_run(result, task), result, task, turns)
    if result.files.is_over and judged.outcome is Outcome.EXECUTED:
        why = "the files that were asked for are more than its output limit"
        return judged.but(outcome=Outcome.OUTPUT_LIMIT, detail=why, exit_code=None)
    return judged.but(files=result.files.files)


# A program may print so many times what is expected of it, and more, where that is more than the default.
_ROOMY = 2


def _with_room(task: Task, check: StdioCheck) -> Task:
    """The task with an output limit under which the check can pass, unless one was asked for.

    A program can find out its limit: a power of two does not tell how long what is expected is.
    """
    roomy = 1 << (_ROOMY * len(encoded(check.expected_stdout))).bit_length()
    needed = min(roomy, task.most_output)
    limits = task.limits
    return replace(task, limits=replace(limits, output_bytes=needed)) if needed > limits.output_bytes else task


def _job(scheduler: Scheduler, task: Task, check: StdioCheck | RunCheck, hash_seed: str, flags: int) -> Job:
    fields = [STDIO_FLAGS.pack(flags), task.program]
    asked = check.read_files if isinstance(check, RunCheck) else ()
    job = job_for(scheduler, task, messages.JOB_STDIO, fields, hash_seed, [task.program], check.setting, asked)
    job.flags, job.stdin = job.flags | messages.STDIO, encoded(check.stdin)
    return job


async def _with_output(judged: CheckResult, result: Result, task: Task, turns: Turns) -> CheckResult:
    limit = task.limits.output_bytes
    out, err = [await _as_utf8(stream[:limit], task.tenant, turns) for stream in result.streams]
    cut = any(len(stream) >= limit for stream in result.streams)
    return judged.but(stdout=out, stderr=err, output_cut=cut, assurance=Assurance.SEPARATED)


async def _as_utf8(data: bytes, tenant: str, turns: Turns) -> bytes:
    """`utf8` of much, in steps."""
    if data.isascii():
        return data
    found: list[bytes] = []

    def convert() -> Iterator[None]:
        for part in parts_of_text(data):
            found.append(utf8(part))
            yield

    await turns.run(tenant, convert())
    text = b"".join(found)
    hold_more(len(text))
    return text


_TOO_MUCH = CheckResult(Outcome.OUTPUT_LIMIT, "printed more than its output limit")


def _within_limit(judged: CheckResult, result: Result, task: Task) -> CheckResult:
    """The result of a program, unless it printed more than it may. Standard error is only cut: it is too much where the
    program ended by an error, which may be that no more could be written."""
    out, err = (len(stream) >= task.limits.output_bytes for stream in result.streams)
    failed = judged.outcome in (Outcome.RAISED, Outcome.CRASHED) or bool(judged.exit_code)
    return _TOO_MUCH if out or (err and failed) else judged


def _of_stdio(result: Result, task: Task, is_to_judge: bool) -> CheckResult:
    """The result, with outcome None if the program came to its end: also by os._exit(0), if there is output to judge,
    that is expected or that a checker is shown."""
    judged = read_single(result, one_answer(task.limits, ENDS), task.limits)
    silent = judged.outcome is Outcome.CRASHED and result.facts.is_clean and is_to_judge
    return _within_limit(judged.but(outcome=None, detail="") if silent else judged, result, task)


def _of_run(result: Result, task: Task) -> CheckResult:
    return _within_limit(_end_of_run(result, task), result, task)


def _end_of_run(result: Result, task: Task) -> CheckResult:
    """The kernel says how the program ended; a report of its own end only adds the exception."""
    asked, facts = one_answer(task.limits, ENDS), result.facts
    said = result.read(asked)
    ended = not said.answers or said.last_kind in (messages.ENDED, messages.RAISED)
    if result.error or said.plan is None or facts.killed != messages.NOT_KILLED or not os.WIFEXITED(facts.status):
        return read_single(result, asked, task.limits)
    if not ended or said.syscall is not None:
        return read_single(result, asked, task.limits)
    judged = read_single(replace(result, facts=replace(facts, status=0)), asked, task.limits)
    silent = judged.outcome is Outcome.CRASHED and not said.answers
    if judged.outcome is Outcome.RAISED or silent or (judged.outcome is None and judged.detail == ENDED):
        hint = judged.detail if judged.outcome is Outcome.RAISED else ""
        return judged.but(outcome=Outcome.EXECUTED, detail=hint, exit_code=os.WEXITSTATUS(facts.status))
    return judged


# ---- checkers ------------------------------------------------------------------------------------------------------

_MOST_CHECKED = 4 << 20  # bytes of what a checker is given
# As a call, as long as that is short: such calls share workers. What is longer crosses as it is.
_LONGEST_CALL = 1 << 12
# A call that has a value only if the checker can be loaded and defines `check`.
_IS_DEFINED = "_has_check()"
_DEFINITION = b"\n\n\ndef _has_check():\n    return check is not None\n"


def checkers_of(task: Task, checks: Sequence[StdioCheck]) -> dict[Kept, Task]:
    """Source of a checker -> the task that runs it. A checker is a separate program and knows nothing of the
    candidate's. Its steps are not counted, which takes time, and a limit on steps is meant for the candidate's."""
    sources = {check.checker for check in checks if check.checker}
    limits = replace(task.limits, steps=0)
    changes = {"repeat": 1, "together": False, "checks": [], "setting": PLAIN_SETTING, "limits": limits}
    return {
        source: replace(task, program=encoded(source) + _DEFINITION, require=Assurance.SEPARATED, **changes)  # type: ignore[arg-type]
        for source in sources
    }


async def _ask_checker(checkers: CallEvaluator, check: StdioCheck, out: bytes, judged: CheckResult) -> CheckResult:
    """PASSED or FAILED as the checker says; FAILED, too, if it says neither of what was printed and is known to work.

    What was printed is hostile: it can make a checker raise, hang or return something else. That is the candidate's
    failure. INVALID is only a checker that fails where no candidate has a part in it: on the expected output, or, where
    none is given, by not even defining `check`.
    """
    room = _MOST_CHECKED - len(check.stdin) - len(check.expected_stdout)
    if room < 0:
        return judged.but(outcome=Outcome.INVALID, detail=f"a checker is given at most {_MOST_CHECKED} bytes")
    if len(out) > room:
        detail = f"printed more than a checker is given, which is {_MOST_CHECKED} bytes in all"
        return judged.but(outcome=Outcome.OUTPUT_LIMIT, detail=detail)
    said = await _say_of(checkers, check, out)
    (outcome, why), shared = _answer(said), judged.shared or said.shared
    if outcome is None:
        if check.expected_stdout.strip():
            said = await _say_of(checkers, check, encoded(check.expected_stdout))
        else:
            said = await _say(checkers, check, _IS_DEFINED)
        (sound, fault), shared = _answer(said), shared or said.shared
        outcome, why = (Outcome.INVALID, fault) if sound is None else (Outcome.FAILED, f"{why} (of what was printed)")
        if sound is Outcome.SANDBOX_ERROR:
            outcome, why = sound, fault
    if outcome is Outcome.SANDBOX_ERROR:
        return sandbox_error(f"the checker: {why}")
    return judged.but(outcome=outcome, detail=why, shared=shared)


async def _say_of(checkers: CallEvaluator, check: StdioCheck, printed: bytes) -> CheckResult:
    """What the checker says of what was printed."""
    if len(check.stdin) + len(printed) + len(check.expected_stdout) <= _LONGEST_CALL:
        texts = as_text(check.stdin), printed.decode("utf-8", "replace"), as_text(check.expected_stdout)
        return await _say(checkers, check, f"check({', '.join(map(ascii, texts))})")
    stdin, expected = encoded(check.stdin), encoded(check.expected_stdout)
    hold_more(len(stdin) + len(expected))
    return await checkers.evaluate_check(stdin, printed, expected)


async def _say(checkers: CallEvaluator, check: StdioCheck, call: str) -> CheckResult:
    return (await checkers.evaluate([CallCheck(check.id, call, None)]))[0]


def _answer(said: CheckResult) -> tuple[Outcome | None, str]:
    """The checker's answer and a sentence; None for an answer other than True and False."""
    if said.outcome is Outcome.SANDBOX_ERROR:
        return said.outcome, said.detail
    if said.outcome is not None:
        why = f"{said.exception[0]}: {said.exception[1]}" if said.exception else said.detail or said.outcome.name
        why = why.removeprefix("the program: ")  # which is the checker here
        return None, f"the checker gave no answer: {why}"
    outcome = _ANSWERS.get(said.canonical)
    if outcome is None:
        return None, f"the checker must return True or False, not {said.shown[:80]}"
    return outcome, "" if outcome is Outcome.PASSED else "the checker says no"


_ANSWERS = {read_literal("True"): Outcome.PASSED, read_literal("False"): Outcome.FAILED}
