"""What comes of a program by how its worker ended; which way a script goes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cruxboxd.judging import scripts, streams
from cruxboxd.judging.expected import Kind, Reading
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.tasks import ScriptCheck, StepCount
from cruxboxd.judging.texts import texts_of
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.setup import ZygoteKey, ZygoteKinds
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame
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
from ends_by_hand import (
    CLEAN,
    DONE,
    ENDED,
    EXIT_2,
    INVALID,
    OUT_OF_CPU,
    OUT_OF_STEPS,
    PARTNER,
    PLAN,
    SEGFAULT,
    SERVED,
    STEPS,
    TASK,
    TRAPPED,
    numbers,
    raised,
    result,
)
from told_workers import TOKEN, Told

VIOLATED = frame([messages.VIOLATED, b"\x3b\0\0\0"])


# ---- programs --------------------------------------------------------------------

# report, end -> the outcome of a program whose output is compared (None: it is), and of one that only runs
PROGRAMS = {
    "its end": (PLAN + ENDED, CLEAN, None, Outcome.EXECUTED),
    "an exit without a word": (PLAN, CLEAN, None, Outcome.EXECUTED),
    "an exit with a code": (PLAN, EXIT_2, Outcome.CRASHED, Outcome.EXECUTED),
    "an error": (PLAN + raised(b"KeyError"), CLEAN, Outcome.RAISED, Outcome.EXECUTED),
    "an error, with a code": (PLAN + raised(b"KeyError"), EXIT_2, Outcome.CRASHED, Outcome.EXECUTED),
    "an error of memory": (
        PLAN + raised(b"MemoryError", records.OUT_OF_MEMORY), CLEAN, Outcome.MEMORY_LIMIT, Outcome.MEMORY_LIMIT
    ),
    "out of steps": (PLAN + STEPS, OUT_OF_STEPS, Outcome.STEP_LIMIT, Outcome.STEP_LIMIT),
    "out of CPU time": (PLAN, OUT_OF_CPU, Outcome.TIMED_OUT, Outcome.TIMED_OUT),
    "out of CPU time at its end": (PLAN + ENDED, OUT_OF_CPU, Outcome.TIMED_OUT, Outcome.TIMED_OUT),
    "out of CPU time, exiting": (
        PLAN, replace(CLEAN, killed=messages.KILLED_CPU), Outcome.TIMED_OUT, Outcome.TIMED_OUT
    ),
    "a crash": (PLAN, SEGFAULT, Outcome.CRASHED, Outcome.CRASHED),
    "a crash at its end": (PLAN + ENDED, SEGFAULT, Outcome.CRASHED, Outcome.CRASHED),
    "a forbidden call": (PLAN + VIOLATED, TRAPPED, Outcome.VIOLATION, Outcome.VIOLATION),
    "a forbidden call made up": (PLAN + VIOLATED, EXIT_2, Outcome.CRASHED, Outcome.CRASHED),
    "two ends": (PLAN + ENDED + ENDED, CLEAN, Outcome.VIOLATION, Outcome.VIOLATION),
    "garbage": (PLAN + b"\1\0\0\0\0", CLEAN, Outcome.VIOLATION, Outcome.VIOLATION),
    "no plan": (b"", CLEAN, Outcome.SANDBOX_ERROR, Outcome.SANDBOX_ERROR),
    "no plan, and a code": (b"", EXIT_2, Outcome.SANDBOX_ERROR, Outcome.SANDBOX_ERROR),
    "an invalid program": (INVALID, CLEAN, Outcome.INVALID, Outcome.INVALID),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_end_of_a_program(name: str):
    said, facts, compared, executed = PROGRAMS[name]
    ended = result(said, facts)
    assert streams._of_stdio(ended, TASK, True).outcome is compared
    assert streams._of_run(ended, TASK).outcome is executed


def test_who_prints_nothing_and_says_nothing_has_not_answered():
    """An empty output is expected of few; who leaves before the end has not shown that it is one's answer."""
    assert streams._of_stdio(result(PLAN, CLEAN), TASK, False).outcome is Outcome.CRASHED
    assert streams._of_stdio(result(PLAN + ENDED, CLEAN), TASK, False).outcome is None


@pytest.mark.parametrize(("out", "err", "is_over"), [(99, 99, False), (100, 0, True), (0, 100, False)])
def test_output_at_the_limit_is_over_it_but_standard_error_is_cut(out: int, err: int, is_over: bool):
    ended = result(PLAN + ENDED, CLEAN, streams=(b"x" * out, b"x" * err))
    for judged in (streams._of_stdio(ended, TASK, True), streams._of_run(ended, TASK)):
        assert (judged.outcome is Outcome.OUTPUT_LIMIT) is is_over


def test_the_exit_code_of_a_program_is_told():
    judged = streams._of_run(result(PLAN, EXIT_2), TASK)
    assert (judged.exit_code, judged.detail) == (2, "")
    told = streams._of_run(result(PLAN + raised(b"KeyError"), Exit(1 << 8)), TASK)
    assert (told.exit_code, told.exception) == (1, ("KeyError", "text", 1))
    failed = streams._of_run(result(PLAN + ENDED, CLEAN, error="cancelled"), TASK)
    assert (failed.outcome, failed.exit_code) == (Outcome.SANDBOX_ERROR, None)


# ---- which way a script goes, and what is tried again -----------------------------

CHECK = ScriptCheck("s", "assert f() == 1", "")
EVENTS = {"step_count": StepCount.EVENTS}
SEPARATED, IN_PROCESS = {"require": Assurance.SEPARATED}, {"require": Assurance.IN_PROCESS}


async def run(told: Told, framework: str = "", **changes: object) -> CheckResult:
    task = replace(TASK, **changes)  # type: ignore[arg-type]
    return await scripts.run_script(told, task, replace(CHECK, framework=framework), "0")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "framework", "outcome", "kinds"),
    [
        ({}, "", Outcome.PASSED, [messages.JOB_SERVE]),
        (SEPARATED, "", Outcome.PASSED, [messages.JOB_SERVE]),
        (SEPARATED, "pytest", Outcome.SANDBOX_ERROR, [messages.JOB_SERVE] * 3),
        (IN_PROCESS, "", Outcome.PASSED, [messages.JOB_SCRIPT]),
        (IN_PROCESS, "unittest", Outcome.SANDBOX_ERROR, [messages.JOB_SCRIPT]),
        (IN_PROCESS, "pytest", Outcome.INVALID, []),
        (EVENTS, "", Outcome.PASSED, [messages.JOB_SCRIPT]),
        (EVENTS, "unittest", Outcome.INVALID, []),
        ({**EVENTS, **SEPARATED}, "", Outcome.INVALID, []),
        ({**EVENTS, **IN_PROCESS}, "", Outcome.PASSED, [messages.JOB_SCRIPT]),
    ],
)
async def test_a_script_runs_beside_its_program_only_where_that_is_asked_for(changes, framework, outcome, kinds):
    told = Told({})

    def end(job: Job) -> Result:
        assert job.fields[0] == SCRIPT_FLAGS.pack(COUNT_EVENTS if "step_count" in changes else 0)
        return result(PLAN + records.ended(numbers(), token=job.fields[-1]), CLEAN)

    told.before = end
    judged = await run(told, framework, **changes)
    assert (judged.outcome, [job.kind for job in told.jobs]) == (outcome, kinds)
    if outcome is not Outcome.INVALID:
        assert (judged.assurance is Assurance.IN_PROCESS) is (messages.JOB_SCRIPT in kinds)


@pytest.mark.parametrize(("changes", "flags"), [(IN_PROCESS, LOOK), (EVENTS, COUNT_EVENTS | LOOK), ({}, UNREAD)])
async def test_a_script_that_nobody_has_read_is_looked_at_where_it_runs(changes, flags: int):
    told = Told({}, pair=(result(*SERVED), result(*DONE)))
    told.before = lambda job: result(PLAN + records.ended(numbers(), token=job.fields[-1]), CLEAN)
    task = replace(TASK, **changes)

    async def read() -> Reading:
        raise AssertionError

    judged = await scripts.run_script(told, task, CHECK, "0", read=read)  # type: ignore[arg-type]
    job = told.jobs[0].partner or told.jobs[0]
    assert (judged.outcome, flags) == (Outcome.PASSED, job.fields[0 if changes else 4][0])


async def test_only_our_failure_of_a_pair_is_tried_again():
    told = Told({}, pair=(result(*SERVED), result(PLAN, SEGFAULT)))
    assert ((await run(told)).outcome, len(told.jobs)) == (Outcome.CRASHED, 1)
    told = Told({}, pair=(result(*SERVED), result(b"", CLEAN)))
    assert ((await run(told)).outcome, len(told.jobs)) == (Outcome.SANDBOX_ERROR, 3)


async def test_both_halves_of_a_suite_have_the_zygote_of_its_framework():
    told = Told({}, ZygoteKinds({"default": ("pytest",)}))
    await run(told, "pytest")
    await run(told)
    assert told.jobs[0].key.packages == ("pytest",) == told.jobs[0].partner.key.packages  # type: ignore[union-attr]
    assert told.jobs[-1].key == ZygoteKey("default", False, "0")


# ---- scripts that nobody has read ------------------------------------------------

LOOP = "def check():\n    for x in cases:\n        assert f(x)\n"
LONG = LOOP + "# more\n" * 1000


@pytest.mark.parametrize(
    ("script", "changes", "framework", "kind"),
    [
        (LONG, {}, "", LARGE_SCRIPT),
        (LONG.replace("    for", "\tfor"), {}, "", LARGE_SCRIPT),
        (LOOP, {}, "", SCRIPT),
        (LOOP, EVENTS, "", b""),
        (LONG, EVENTS, "", b""),
        (LONG, IN_PROCESS, "", SCRIPT),
        (LONG, SEPARATED, "", LARGE_SCRIPT),
        (LONG, {}, "pytest", b""),
        (LONG.replace("for x", "while x"), {}, "", SCRIPT),
        (f"{LONG}assert (f(1), 'always holds')", {}, "", SCRIPT),
        ("assert f(1) == 2\n" * (scripts._VERY_LARGE // 16), {}, "", LARGE_SCRIPT),
    ],
)
def test_a_long_script_with_a_loop_is_only_compiled(script, changes, framework, kind: bytes):
    check = replace(CHECK, script=script, framework=framework)
    task = replace(TASK, checks=[check], **changes)
    assert scripts.read_as(task, check) == kind
    assert dict(texts_of(task)) == ({check: (kind, script)} if kind else {})


FAILED = (PLAN + raised(b"KeyError"), CLEAN)
WRONG, RIGHT = Reading(Kind.INVALID, text="it tests nothing"), Reading(Kind.EXPRESSION)


@pytest.mark.parametrize(
    ("candidate", "test", "reading", "outcome", "detail"),
    [
        (SERVED, DONE, None, Outcome.PASSED, ""),
        (SERVED, (INVALID, CLEAN), None, Outcome.INVALID, "why"),
        (FAILED, (INVALID, PARTNER), None, Outcome.INVALID, "why"),
        (FAILED, (PLAN, PARTNER), None, Outcome.RAISED, ""),
        (FAILED, (b"", PARTNER), WRONG, Outcome.INVALID, "the script: it tests nothing"),
        (FAILED, (b"", PARTNER), RIGHT, Outcome.RAISED, ""),
        (SERVED, (b"", CLEAN), None, Outcome.SANDBOX_ERROR, ""),
    ],
)
async def test_what_is_wrong_with_an_unread_script_counts_before_its_candidate(
    candidate, test, reading, outcome, detail
):
    async def read() -> Reading:
        read_again.append(reading)
        return reading

    read_again: list[Reading | None] = []
    told = Told({}, pair=(result(*candidate), result(*test)))
    judged = await scripts.run_script(told, TASK, CHECK, "0", read=read)  # type: ignore[arg-type]
    assert (judged.outcome, judged.assurance) == (outcome, SEPARATED["require"])
    assert judged.detail == detail or not detail
    assert read_again == ([] if reading is None else [reading])
    assert told.jobs[0].partner.fields[4] == TEST_FLAGS.pack(UNREAD)  # type: ignore[union-attr]


async def test_a_script_that_was_read_is_not_read_again():
    told = Told({}, pair=(result(*FAILED), result(INVALID, PARTNER)))
    assert (await run(told)).outcome is Outcome.RAISED
    assert told.jobs[0].partner.fields[4] == TEST_FLAGS.pack(0)  # type: ignore[union-attr]


@pytest.mark.parametrize("last", [DONE, (PLAN + raised(b"KeyError"), CLEAN), (b"", CLEAN)])
async def test_a_script_that_holds_with_python_s_own_builtins_has_to_hold_with_the_program_s(last):
    own = PLAN + records.ended(numbers(records.PYTHONS_OWN), token=TOKEN)
    told = Told({}, pair=(result(*SERVED), result(*last)), first_pair=(result(*SERVED), result(own, CLEAN)))
    judged = await run(told)
    flags = [job.partner.fields[4] for job in told.jobs]  # type: ignore[union-attr]
    wanted = scripts._of_pair(*told.pair, TASK, "", TOKEN)  # type: ignore[misc]
    assert (judged.outcome, judged.assurance) == (wanted.outcome, Assurance.SEPARATED)
    assert flags == [TEST_FLAGS.pack(0)] + [TEST_FLAGS.pack(REDEFINED)] * (3 if last[0] == b"" else 1)


async def test_nor_does_one_that_fails_run_again():
    own = PLAN + raised(b"KeyError", flags=records.PYTHONS_OWN)
    told = Told({}, pair=(result(*SERVED), result(own, CLEAN)))
    judged = await run(told)
    assert (judged.outcome, judged.detail, len(told.jobs)) == (Outcome.RAISED, scripts.PYTHONS_OWN, 1)
