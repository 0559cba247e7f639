"""What comes of a script and of a program: by how both workers ended, and by what an honest one could have said."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest
from cruxboxd.judging import outcomes, scripts, streams
from cruxboxd.judging.expected import Kind, Reading
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.outcomes import TestOutcome as Ended
from cruxboxd.judging.tasks import ScriptCheck, StepCount, Task
from cruxboxd.judging.texts import texts_of
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.report import Answer
from cruxboxd.zygotes.setup import ZygoteKey, ZygoteKinds
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame
from cruxcell.protocol.payloads import COUNT_EVENTS, LARGE_SCRIPT, LOOK, SCRIPT, SCRIPT_FLAGS, TEST_FLAGS, UNREAD
from told_workers import TOKEN, Told

S = 1_000_000_000
LIMITS = replace(DEFAULT_LIMITS, output_bytes=100)
TASK = Task("t", b"", [], LIMITS, "default", True, None, 1, StepCount.INSTRUCTIONS)
PLAN = records.plan(False, "x", [])
INVALID = records.plan(False, "i", ["why"])


def numbers(flags: int = 0, steps: int = 7) -> bytes:
    return records.NUMBERS.pack(0, steps, 1, 2, flags)


def raised(name: bytes, flags: int = 0) -> bytes:
    return frame([messages.RAISED, numbers(flags), name, b"text", b"\1\0\0\0", b"", b""])


def leaves(kind: bytes) -> bytes:
    return frame([kind, numbers(), b"why", TOKEN])


CLEAN, SEGFAULT = Exit(0, S), Exit(signal.SIGSEGV, S)
OUT_OF_CPU, CALLED_OFF, PARTNER = (
    Exit(9, S, killed=killed) for killed in (messages.KILLED_CPU, messages.KILLED_CANCEL, messages.KILLED_PARTNER)
)
EXIT_2, TRAPPED = Exit(2 << 8, S), Exit(messages.EXIT_VIOLATION << 8, S)
OUT_OF_STEPS = Exit(messages.EXIT_STEPS << 8, S)
VIOLATED = frame([messages.VIOLATED, b"\x3b\0\0\0"])
ENDED, STEPS = records.ended(numbers(steps=5)), records.limit(messages.STEP_LIMIT, 0, 9)
ENDED_WELL = records.ended(numbers(), token=TOKEN)  # by a test
GONE, NOT_PLAIN, CANNOT_CROSS = map(leaves, (messages.CANDIDATE_GONE, messages.NOT_PLAIN, messages.CANNOT_CROSS))


def result(said: bytes, facts: Exit, **more: object) -> Result:
    return Result(report=said, facts=facts, **more)  # type: ignore[arg-type]


# ---- pairs -----------------------------------------------------------------------

SERVED, DONE = (PLAN + ENDED, CLEAN), (PLAN + ENDED_WELL, CLEAN)
# the candidate's report and end, its test's -> the outcome of the script
PAIRS = {
    "both came to their end": (SERVED, DONE, Outcome.PASSED),
    "its service is ended by ours": ((PLAN, PARTNER), DONE, Outcome.PASSED),
    "an assertion": (SERVED, (PLAN + raised(b"AssertionError"), CLEAN), Outcome.FAILED),
    "the test raises": (SERVED, (PLAN + raised(b"KeyError"), CLEAN), Outcome.RAISED),
    "the test raises for memory": (SERVED, (PLAN + raised(b"MemoryError"), CLEAN), Outcome.RAISED),
    "the test raises for the candidate's memory": (
        (PLAN + records.ended(numbers(records.OUT_OF_MEMORY)), CLEAN),
        (PLAN + raised(b"numpy.MemoryError"), CLEAN),
        Outcome.MEMORY_LIMIT,
    ),
    "another error, when memory had run out": (
        (PLAN + records.ended(numbers(records.OUT_OF_MEMORY)), CLEAN),
        (PLAN + raised(b"KeyError"), CLEAN),
        Outcome.RAISED,
    ),
    "an end, when memory had run out": (
        (PLAN + records.ended(numbers(records.OUT_OF_MEMORY)), CLEAN), DONE, Outcome.PASSED
    ),
    "an invalid program": ((INVALID, CLEAN), DONE, Outcome.INVALID),
    "an invalid script": (SERVED, (INVALID, CLEAN), Outcome.INVALID),
    "the candidate ran out of time": ((PLAN, OUT_OF_CPU), DONE, Outcome.TIMED_OUT),
    "the candidate ran out of time, says it ended": ((PLAN + ENDED, OUT_OF_CPU), DONE, Outcome.TIMED_OUT),
    "the candidate was called off": ((PLAN, CALLED_OFF), DONE, Outcome.SANDBOX_ERROR),
    "the candidate crashed first": ((PLAN, SEGFAULT), (PLAN, PARTNER), Outcome.CRASHED),
    "the candidate crashed first, the test says it ended": (
        (PLAN, SEGFAULT), (PLAN + ENDED_WELL, PARTNER), Outcome.CRASHED
    ),
    "the candidate says it ended, and left its test": ((PLAN + ENDED, CLEAN), (PLAN, PARTNER), Outcome.CRASHED),
    "the candidate raised while loading": (
        (PLAN + raised(b"KeyError"), CLEAN), (PLAN, PARTNER), Outcome.RAISED
    ),
    "the candidate forged": ((PLAN + ENDED + ENDED, CLEAN), (PLAN, PARTNER), Outcome.VIOLATION),
    "the test ran out of time": (SERVED, (PLAN, OUT_OF_CPU), Outcome.TIMED_OUT),
    "the test ended, and went on": (SERVED, (PLAN + ENDED_WELL, OUT_OF_CPU), Outcome.TIMED_OUT),
    "the test crashed": (SERVED, (PLAN, SEGFAULT), Outcome.CRASHED),
    "the test ended, and crashed": (SERVED, (PLAN + ENDED_WELL, SEGFAULT), Outcome.CRASHED),
    "the test ended, with an exit code": (SERVED, (PLAN + ENDED_WELL, EXIT_2), Outcome.CRASHED),
    "the test only came to its plan": (SERVED, (PLAN, CLEAN), Outcome.CRASHED),
    "the test said nothing": (SERVED, (b"", CLEAN), Outcome.SANDBOX_ERROR),
    "an end without the token": (SERVED, (PLAN + ENDED, CLEAN), Outcome.VIOLATION),
    "the candidate went, without the token": (SERVED, (PLAN + GONE[:-16] + bytes(16), CLEAN), Outcome.VIOLATION),
    "a value is no end": (SERVED, (PLAN + records.value(numbers(), b"p", b"i1;", b"1"), CLEAN), Outcome.VIOLATION),
    "the test says the candidate went": (SERVED, (PLAN + GONE, CLEAN), Outcome.CRASHED),
    "the test says the candidate went, which crashed": ((PLAN, SEGFAULT), (PLAN + GONE, CLEAN), Outcome.CRASHED),
    "the test says the candidate went, which raised": (
        (PLAN + raised(b"KeyError"), CLEAN), (PLAN + GONE, CLEAN), Outcome.RAISED
    ),
    "the test says the candidate went, which was out of steps": (
        (PLAN + STEPS, OUT_OF_STEPS), (PLAN + GONE, CLEAN), Outcome.STEP_LIMIT
    ),
    "the test says the candidate went, and crashes": (SERVED, (PLAN + GONE, SEGFAULT), Outcome.CRASHED),
    "the test says the candidate went, which raised, and crashes": (
        (PLAN + raised(b"KeyError"), CLEAN), (PLAN + GONE, SEGFAULT), Outcome.CRASHED
    ),
    "what is not plain": (SERVED, (PLAN + NOT_PLAIN, CLEAN), Outcome.FAILED),
    "what cannot cross": (SERVED, (PLAN + CANNOT_CROSS, CLEAN), Outcome.INVALID),
    "what cannot cross, from a test that crashed": (SERVED, (PLAN + CANNOT_CROSS, SEGFAULT), Outcome.CRASHED),
    "the candidate is out of steps, its test at its end": ((PLAN + STEPS, OUT_OF_STEPS), DONE, Outcome.PASSED),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_the_end_of_a_pair(name: str):
    candidate, test, outcome = PAIRS[name]
    judged = scripts._of_pair(result(*candidate), result(*test), TASK, "", TOKEN)
    assert judged.outcome is outcome, judged


def test_a_candidate_whose_report_is_over_the_limit_passes_no_script():
    judged = scripts._of_pair(result(*SERVED, over_cap=True), result(*DONE), TASK, "", TOKEN)
    assert judged.outcome is Outcome.OUTPUT_LIMIT


@pytest.mark.parametrize(
    ("outcome", "flags", "framework", "detail"),
    [
        (Outcome.FAILED, (True, False), "", "why; {0}, or require IN_PROCESS"),
        (Outcome.FAILED, (True, True), "pytest", "why; {0}"),
        (Outcome.FAILED, (False, True), "", "why; {1}: require IN_PROCESS"),
        (Outcome.RAISED, (True, True), "pytest", "why; {1}"),
        (Outcome.FAILED, (False, False), "", "why"),
        (Outcome.RAISED, (False, False), "", "why"),
        (Outcome.RAISED, (True, False), "", "why"),
        (Outcome.PASSED, (True, True), "", "why"),
        (Outcome.PASSED, (False, True), "", "why"),
    ],
)
def test_why_a_right_program_may_have_failed_is_said(
    outcome: Outcome, flags: tuple[bool, bool], framework: str, detail: str
):
    answers = [Answer(messages.ENDED, 0, 0, 0, 0, False, (), *flags)]
    wanted = detail.format(scripts.BY_IDENTITY, scripts.OF_ITS_OWN)
    assert scripts._with_reasons(CheckResult(outcome, "why"), answers, framework) == wanted
    short = wanted.partition("; ")[2]
    assert scripts._with_reasons(CheckResult(outcome), answers, framework) == short


def test_what_is_our_failure_or_too_large_is_told_of_the_candidate():
    ended = result(*DONE)
    ours = scripts._of_pair(result(b"", CLEAN, error="cancelled"), ended, TASK, "", TOKEN)
    assert (ours.outcome, ours.detail) == (Outcome.SANDBOX_ERROR, "cancelled")
    flood = scripts._of_pair(result(PLAN + ENDED, CLEAN, over_cap=True), ended, TASK, "", TOKEN)
    assert flood.outcome is Outcome.OUTPUT_LIMIT


def test_of_a_pair_the_candidates_figures_are_told():
    said = frame([messages.ENDED, numbers(steps=5), b"mine", b"", b""])
    test_said = frame([messages.ENDED, numbers(steps=99), b"its", b"theirs", TOKEN])
    judged = scripts._of_pair(result(PLAN + said, CLEAN), result(PLAN + test_said, CLEAN), TASK, "", TOKEN)
    assert (judged.steps, judged.stdout, judged.stderr) == (5, b"mine", b"theirs")
    said = frame([messages.ENDED, numbers(steps=5), b"", b"mine", b""])
    judged = scripts._of_pair(result(PLAN + said, CLEAN), result(PLAN + test_said, CLEAN), TASK, "", TOKEN)
    assert (judged.stdout, judged.stderr) == (b"its", b"mine")
    for facts in (CLEAN, PARTNER):
        known = scripts._of_pair(result(PLAN + ENDED, facts), result(PLAN + GONE, CLEAN), TASK, "", TOKEN)
        assert known.detail == "why"
    left = scripts._of_pair(result(PLAN + ENDED, CLEAN), result(PLAN, PARTNER), TASK, "", TOKEN)
    assert left.detail == "the candidate ended before its test"


# ---- suites ----------------------------------------------------------------------

PASSED = CheckResult(Outcome.PASSED)
GOOD, BAD, ERROR, SKIPPED = (
    (letter, "T.test", "text")
    for letter in (messages.TEST_PASSED, messages.TEST_FAILED, messages.TEST_ERROR, messages.TEST_SKIPPED)
)


@pytest.mark.parametrize(
    ("told", "framework", "outcome", "detail"),
    [
        (None, "", Outcome.PASSED, ""),
        (None, "unittest", Outcome.SANDBOX_ERROR, "without a word"),
        ((GOOD,), "unittest", Outcome.PASSED, ""),
        ((GOOD, SKIPPED), "", Outcome.PASSED, ""),
        ((GOOD, BAD, GOOD), "", Outcome.FAILED, "1 of 3 tests did not pass, the first is T.test"),
        ((ERROR,), "", Outcome.FAILED, "1 of 1"),
        ((SKIPPED,), "", Outcome.INVALID, "every test of the suite was skipped"),
        ((), "", Outcome.INVALID, "the suite holds no test"),
    ],
)
def test_a_suite_passes_if_one_test_ran_and_all_passed(told, framework: str, outcome: Outcome, detail: str):
    judged = scripts.of_suite(PASSED, told, framework)
    assert judged.outcome is outcome
    assert detail in judged.detail


@pytest.mark.parametrize("told", [None, (), (GOOD,), (BAD,)])
@pytest.mark.parametrize("outcome", [None, Outcome.TIMED_OUT, Outcome.FAILED, Outcome.CRASHED])
def test_no_tests_make_a_suite_pass_that_did_not_end(outcome: Outcome | None, told):
    judged = scripts.of_suite(CheckResult(outcome, "why"), told, "unittest")
    assert (judged.outcome, judged.detail) == (outcome, "why")
    assert [ended for _, ended, _ in judged.tests] == [
        Ended.PASSED if one is GOOD else Ended.FAILED for one in told or ()
    ]


def test_a_pairs_tests_are_its_suites():
    tests = frame([messages.TESTS, frame([messages.TEST_FAILED, b"T.test", b""])])
    judged = scripts._of_pair(result(*SERVED), result(PLAN + tests + ENDED_WELL, CLEAN), TASK, "unittest", TOKEN)
    assert (judged.outcome, len(judged.tests)) == (Outcome.FAILED, 1)
    silent = scripts._of_pair(result(*SERVED), result(*DONE), TASK, "unittest", TOKEN)
    assert silent.outcome is Outcome.SANDBOX_ERROR


@pytest.mark.parametrize("detail", ["", "end", "ended "])
def test_only_an_end_is_an_end(detail: str):
    assert scripts.of_script(CheckResult(None, outcomes.ENDED)).outcome is Outcome.PASSED
    assert scripts.of_script(CheckResult(None, detail)).outcome is None
    assert scripts.of_script(CheckResult(Outcome.CRASHED, outcomes.ENDED)).outcome is Outcome.CRASHED
    no_memory = CheckResult(Outcome.MEMORY_LIMIT, exception=("AssertionError", "", 1))
    assert scripts.of_script(no_memory) == no_memory


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
