"""Who answers for how a worker ended: the check whose turn it was, or nobody, and then who runs again, alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from charging_by_hand import (
    CLEAN,
    EVERY_CALL,
    KILLED,
    OUT_OF_CPU,
    OUT_OF_WALL,
    OUTPUT,
    SEGFAULT,
    SILENT,
    STEPS,
    VIOLATED,
    VIOLATION,
    limit,
    plan,
    seen,
    value,
)
from cruxboxd.judging import charging
from cruxboxd.judging.charging import Seen
from cruxboxd.judging.outcomes import Outcome
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.report import Asked
from cruxcell.protocol import messages, records

LETTERS = {None: "v", Outcome.RAISED: "r", Outcome.INVALID: "i", Outcome.TIMED_OUT: "t", Outcome.STEP_LIMIT: "s",
           Outcome.MEMORY_LIMIT: "m", Outcome.OUTPUT_LIMIT: "o", Outcome.VIOLATION: "x", Outcome.CRASHED: "c",
           Outcome.SANDBOX_ERROR: "!"}  # fmt: skip


def out_of_memory(index: int) -> bytes:
    return records.raised(records.NUMBERS.pack(index, 1, 1, 1, records.OUT_OF_MEMORY), MemoryError())


def error(index: int) -> bytes:
    return records.raised(records.NUMBERS.pack(index, 1, 1, 1, 0), KeyError())


OVER = limit(messages.MEMORY_LIMIT, 1)


def letters(found: Seen, count: int = 3) -> str:
    """One a check: its outcome, `v` for a value, `a` if it runs again alone, `.` if it goes on in a new worker."""
    letter = {at: LETTERS[judged.outcome] for at, judged in found.results.items()}
    assert not set(letter) & set(found.to_run_alone)
    letter.update(dict.fromkeys(found.to_run_alone, "a"))
    return "".join(letter.get(at, ".") for at in range(count))


# name -> report, exit, what becomes of three checks of a hermetic program
SHARED = {
    "all is well": (plan("ddd") + value(0) + value(1) + value(2), CLEAN, "vvv"),
    "a constant first": (plan("ddc") + value(2) + value(0) + value(1), CLEAN, "vvv"),
    "errors": (plan("ddd") + error(0) + value(1) + error(2), CLEAN, "rvr"),
    "it stopped early": (plan("ddd") + value(0), CLEAN, "v.."),
    "it stopped at once": (plan("ddd"), CLEAN, "c.."),
    "other ways": (plan("adi") + value(1), CLEAN, "avi"),
    "out of steps at first": (plan("ddd") + limit(messages.STEP_LIMIT, 0), STEPS, "s.."),
    "out of steps": (plan("ddd") + value(0) + limit(messages.STEP_LIMIT, 1), STEPS, "vs."),
    "over its output": (plan("ddd") + value(0) + limit(messages.OUTPUT_LIMIT, 1), OUTPUT, "vo."),
    "a value too large": (plan("ddd") + limit(messages.OUTPUT_LIMIT, 0) + value(1) + value(2), CLEAN, "ovv"),
    "out of CPU time at first": (plan("ddd"), OUT_OF_CPU, "t.."),
    "out of CPU time": (plan("ddd") + value(0), OUT_OF_CPU, "vt."),
    "out of wall time": (plan("ddd") + value(0), OUT_OF_WALL, "vt."),
    "cut off by a clock": (plan("ddd") + value(0) + value(1)[:-1], OUT_OF_CPU, "vt."),
    "a crash at first": (plan("ddd"), SEGFAULT, "c.."),
    "a crash": (plan("ddd") + value(0), SEGFAULT, "va."),
    "a crash after a constant": (plan("cdd") + value(0), SEGFAULT, "vc."),
    "a crash in a constant": (plan("ccd") + value(0), SEGFAULT, "vc."),
    "a crash among constants": (plan("ccc") + value(0), SEGFAULT, "vc."),
    "a constant out of memory": (plan("ccd") + value(0) + out_of_memory(1) + value(2), CLEAN, "vmv"),
    "a crash after all": (plan("ddd") + value(0) + value(1) + value(2), SEGFAULT, "vva"),
    "it cut its line at first": (plan("ddd"), SILENT, "c.."),
    "it cut its line": (plan("ddd") + value(0), SILENT, "va."),
    "killed from outside": (plan("ddd"), KILLED, "!.."),
    "out of memory at first": (plan("ddd") + out_of_memory(0) + value(1) + value(2), CLEAN, "avv"),
    "out of memory": (plan("ddd") + value(0) + out_of_memory(1) + value(2), CLEAN, "vav"),
    "the harness out of memory": (plan("ddd") + value(0) + limit(messages.MEMORY_LIMIT, 1), CLEAN, "va."),
    "the harness out of memory, and a crash": (
        plan("ddd") + value(0) + limit(messages.MEMORY_LIMIT, 1), SEGFAULT, "va."
    ),
    "between two checks": (plan("ddd") + value(0) + limit(messages.MEMORY_LIMIT, 0), CLEAN, "v.."),
    "a violation at first": (plan("ddd") + VIOLATED, VIOLATION, "x.."),
    "a violation": (plan("ddd") + value(0) + VIOLATED, VIOLATION, "va."),
    "an exit as of a violation": (plan("ddd"), VIOLATION, "c.."),
    "a violation, and a clock": (plan("ddd") + VIOLATED, replace(VIOLATION, killed=messages.KILLED_CPU), "t.."),
    # What no honest worker says: nothing it said can be told from what was forged.
    "an answer twice": (plan("ddd") + value(0) + value(0), CLEAN, "aaa"),
    "an answer out of turn": (plan("ddd") + value(0) + value(2), CLEAN, "aaa"),
    "out of turn at first": (plan("ddd") + value(1), CLEAN, "x.."),
    "one too many": (plan("ddd") + value(0) + value(1) + value(2) + value(2), CLEAN, "aaa"),
    "forged after a constant": (plan("cdd") + value(0) + value(2), CLEAN, "vx."),
    "forged later, after a constant": (plan("cdd") + value(0) + value(1) + value(1), CLEAN, "vaa"),
    "garbage": (plan("ddd") + value(0) + b"\1\0\0\0\0", CLEAN, "aaa"),
    "half a record and a clean exit": (plan("ddd") + value(0) + value(1)[:-1], CLEAN, "va."),
    "half a record at first": (plan("ddd") + value(0)[:-1], CLEAN, "x.."),
    "out of steps and a clean exit": (plan("ddd") + limit(messages.STEP_LIMIT, 0), CLEAN, "x.."),
    "a value and an exit as out of steps": (plan("ddd") + value(0), STEPS, "va."),
    "a violation and a clean exit": (plan("ddd") + VIOLATED, CLEAN, "x.."),
    "out of steps, then killed": (plan("ddd") + limit(messages.STEP_LIMIT, 0), OUT_OF_CPU, "t.."),
    "later out of steps, then killed": (
        plan("ddd") + value(0) + limit(messages.STEP_LIMIT, 1), OUT_OF_CPU, "vt."
    ),
    "at last out of steps, then killed": (
        plan("ddd") + value(0) + value(1) + limit(messages.STEP_LIMIT, 2), OUT_OF_CPU, "vvt"
    ),
    # Before the plan is complete nobody is charged: any of the texts may be the cause.
    "slow to parse": (b"", OUT_OF_CPU, "aaa"),
    "nothing": (b"", CLEAN, "aaa"),
    "half a plan": (plan("ddd")[:-1], CLEAN, "aaa"),
    "our own failure": (records.harness_error("x"), CLEAN, "aaa"),
    "no turns": (plan("aai"), SEGFAULT, "aai"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_who_answers_for_the_end_of_a_shared_worker(name: str):
    report, facts, expected = SHARED[name]
    assert letters(seen(report, facts)) == expected


# name -> report, exit, what becomes of three checks of a program that is not hermetic: only one turn
UNSHARED = {
    "the others go elsewhere": (plan("ddd", False) + value(0), CLEAN, "vaa"),
    "it answers for another": (plan("ddd", False) + value(1), CLEAN, "xaa"),
    "it answers for another after its own": (plan("ddd", False) + value(0) + value(1), CLEAN, "xaa"),
    "it answers twice": (plan("ddd", False) + value(0) + value(0), CLEAN, "xaa"),
    "it answers and lives on": (plan("ddd", False) + value(0), OUT_OF_CPU, "taa"),
    "it answers and exits as it is killed": (
        plan("ddd", False) + value(0), replace(CLEAN, killed=messages.KILLED_CPU), "taa"
    ),
    "it answers and crashes": (plan("ddd", False) + value(0), SEGFAULT, "caa"),
    "it answers and cuts its line": (plan("ddd", False) + value(0), SILENT, "caa"),
    "it answers and is refused": (plan("ddd", False) + value(0) + VIOLATED, VIOLATION, "xaa"),
    "it answers, then claims a violation": (plan("ddd", False) + value(0) + VIOLATED, CLEAN, "xaa"),
    "it answers with another exit code": (plan("ddd", False) + value(0), Exit(1 << 8), "caa"),
    "it answers with our exit code": (plan("ddd", False) + value(0), OUTPUT, "caa"),
    "forged, and killed": (plan("ddd", False) + value(1), OUT_OF_WALL, "taa"),
    "forged, and a crash": (plan("ddd", False) + value(1), SEGFAULT, "xaa"),
    "out of memory": (plan("dd", False) + out_of_memory(0), CLEAN, "aa"),
    # What it says of the constants that were evaluated before it began.
    "it says that one ended the harness": (plan("ccd", False) + value(0) + value(1) + OVER, OUT_OF_WALL, "vvt"),
    "it says so and crashes": (plan("ccd", False) + value(0) + value(1) + OVER, SEGFAULT, "vvc"),
    "it says so and more": (plan("ccd", False) + value(0) + value(1) + OVER + value(2), CLEAN, "vvx"),
    "it says so and leaves": (plan("ccd", False) + value(0) + value(1) + OVER, CLEAN, "vv."),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSHARED)
def test_who_answers_for_the_end_of_a_worker_with_one_turn(name: str):
    report, facts, expected = UNSHARED[name]
    assert letters(seen(report, facts), len(expected)) == expected


TOGETHER = {
    "all is well": (plan("ddd", False) + value(0) + value(1) + value(2), CLEAN, "vvv"),
    "out of CPU time": (plan("ddd", False) + value(0), OUT_OF_CPU, "va."),
    "out of CPU time at first": (plan("ddd", False), OUT_OF_CPU, "t.."),
    "out of memory": (plan("ddd", False) + value(0) + out_of_memory(1) + value(2), CLEAN, "vav"),
    "forged": (plan("ddd", False) + value(0) + value(0), CLEAN, "aaa"),
    "a hermetic program after all": (plan("ddd") + value(0), OUT_OF_CPU, "vt."),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_who_answers_where_checks_take_turns_whatever_the_program(name: str):
    report, facts, expected = TOGETHER[name]
    assert letters(seen(report, facts, together=True)) == expected


@pytest.mark.parametrize("letter", EVERY_CALL)
def test_a_call_of_any_class_may_be_why_those_behind_it_ended(letter: str):
    asked = Asked(count=3, runs=EVERY_CALL, takes_turns=True, output=1_000)
    result = Result(report=plan(letter * 3, False) + value(0), facts=SEGFAULT)
    assert letters(charging.read(result, asked, DEFAULT_LIMITS)) == "va."


@pytest.mark.parametrize("facts", [Exit(9, killed=messages.KILLED_CANCEL), CLEAN, OUT_OF_CPU])
@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (plan("ddd") + value(0) + value(1)[:-1], "va."),
        (plan("ddd") + value(0)[:-1], "o.."),
        (plan("ddd") + value(0) + value(1) + value(2), "vva"),
        (plan("ddd") + value(0) + value(0), "va."),  # what was dropped may have stood between
    ],
)
def test_a_report_over_the_cap_counts_up_to_it(report: bytes, expected: str, facts: Exit):
    assert letters(seen(report, facts, over_cap=True)) == expected


@pytest.mark.parametrize(
    ("said", "expected"), [(b"", "a.."), (value(0), "va."), (value(0) + out_of_memory(1), "vaa"), (value(1), "a..")]
)
def test_behind_a_broken_seal_one_check_runs_again(said: bytes, expected: str):
    """What broke it is what ran next, whatever it may have said."""
    asked = Asked(count=3, output=1_000)
    result = Result(report=plan("ddd") + said, facts=CLEAN, unsealed=("builtins",))
    assert letters(charging.read(result, asked, DEFAULT_LIMITS)) == expected


@pytest.mark.parametrize("count", [2, 3])
def test_without_a_plan_each_of_several_runs_alone(count: int):
    found = charging.read(Result(report=b"", facts=OUT_OF_CPU), Asked(count=count), DEFAULT_LIMITS)
    assert (found.results, found.to_run_alone, found.classes) == ({}, list(range(count)), "d" * count)


def test_a_plan_of_other_checks_is_our_failure():
    result = Result(report=plan("dd"), facts=CLEAN)
    found = charging.read(result, Asked(count=1), DEFAULT_LIMITS)
    assert found.results[0].outcome is Outcome.SANDBOX_ERROR
