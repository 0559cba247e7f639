"""What comes of a script and of a program: by how both workers ended, and by what an honest one could have said."""

from __future__ import annotations

import pytest
from cruxboxd.judging import outcomes, scripts
from cruxboxd.judging.outcomes import CheckResult, Outcome
from cruxboxd.judging.outcomes import TestOutcome as Ended
from cruxboxd.zygotes.report import Answer
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame
from ends_by_hand import (
    CALLED_OFF,
    CLEAN,
    DONE,
    ENDED,
    ENDED_WELL,
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
    numbers,
    raised,
    result,
)
from told_workers import TOKEN


def leaves(kind: bytes) -> bytes:
    return frame([kind, numbers(), b"why", TOKEN])


GONE, NOT_PLAIN, CANNOT_CROSS = map(leaves, (messages.CANDIDATE_GONE, messages.NOT_PLAIN, messages.CANNOT_CROSS))
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
        (Outcome.FAILED, (False, False, True), "", "why; {2}"),
        (Outcome.RAISED, (False, True, True), "", "why; {1}: require IN_PROCESS; {2}"),
        (Outcome.PASSED, (False, False, True), "", "why"),
    ],
)
def test_why_a_right_program_may_have_failed_is_said(
    outcome: Outcome, flags: tuple[bool, ...], framework: str, detail: str
):
    answers = [Answer(messages.ENDED, 0, 0, 0, 0, False, (), *flags)]
    wanted = detail.format(scripts.BY_IDENTITY, scripts.OF_ITS_OWN, scripts.PYTHONS_OWN)
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
