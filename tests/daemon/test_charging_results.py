"""What one check is charged with, and what holds for all results of a worker."""

from __future__ import annotations

from dataclasses import replace

import pytest
from charging_by_hand import (
    CLEAN,
    EVERY_CALL,
    KILLED,
    OUT_OF_CPU,
    OUT_OF_WALL,
    SEGFAULT,
    SILENT,
    STEPS,
    VIOLATED,
    VIOLATION,
    S,
    limit,
    plan,
    seen,
    value,
)
from cruxboxd.judging import charging
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.report import ENDS, Asked
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame

CALLED_OFF = Exit(9, S, killed=messages.KILLED_CANCEL)


# ---- one answer --------------------------------------------------------------------

ONE = charging.one_answer(DEFAULT_LIMITS)


def single(report: bytes, facts: Exit = CLEAN, **facts_of_result: object) -> CheckResult:
    return charging.read_single(Result(report=report, facts=facts, **facts_of_result), ONE, DEFAULT_LIMITS)  # type: ignore[arg-type]


ALONE = {
    "a value": (plan("x") + value(), CLEAN, None),
    "nothing": (b"", CLEAN, Outcome.SANDBOX_ERROR),
    "half a plan": (plan("x")[:-1], CLEAN, Outcome.SANDBOX_ERROR),
    "no plan in time": (b"", OUT_OF_CPU, Outcome.TIMED_OUT),
    "no plan in time, exiting": (b"", replace(CLEAN, killed=messages.KILLED_CPU), Outcome.TIMED_OUT),
    "no plan and a crash": (b"", SEGFAULT, Outcome.CRASHED),
    "no plan, killed from outside": (b"", KILLED, Outcome.SANDBOX_ERROR),
    "our failure": (records.harness_error("x"), Exit(messages.EXIT_HARNESS << 8), Outcome.SANDBOX_ERROR),
    "our failure, says the candidate": (plan("x") + records.harness_error("x"), CLEAN, Outcome.VIOLATION),
    "another plan, and a crash": (plan("xx"), SEGFAULT, Outcome.SANDBOX_ERROR),
    "only a plan": (plan("x"), CLEAN, Outcome.CRASHED),
    "only a plan, and silence": (plan("x"), SILENT, Outcome.CRASHED),
    "two values": (plan("x") + value() + value(), CLEAN, Outcome.VIOLATION),
    "of another check": (plan("x") + value(1), CLEAN, Outcome.VIOLATION),
    "a value and a crash": (plan("x") + value(), SEGFAULT, Outcome.CRASHED),
    "a value and a clock": (plan("x") + value(), OUT_OF_WALL, Outcome.TIMED_OUT),
    "a value and an exit code": (plan("x") + value(), STEPS, Outcome.CRASHED),
    "the end of a script": (plan("x") + records.ended(records.NUMBERS.pack(0, 1, 1, 1, 0)), CLEAN, Outcome.VIOLATION),
    "invalid": (plan("i"), CLEAN, Outcome.INVALID),
    "called off": (plan("x"), CALLED_OFF, Outcome.SANDBOX_ERROR),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONE)
def test_one_answer(name: str):
    report, facts, outcome = ALONE[name]
    assert single(report, facts).outcome is outcome


# What is said of an end, and of which system call: a name counts only with the exit that its trap has.
SENTENCES = {
    "the trap": (plan("x") + VIOLATED, VIOLATION, "a forbidden system call: execve", "execve"),
    "a trap made up": (plan("x") + VIOLATED, CLEAN, "it ended as its report does not explain", ""),
    "a trap with another code": (plan("x") + VIOLATED, Exit(messages.EXIT_UNSEALED << 8), "exited with code 65", ""),
    "half a record": (plan("x") + value()[:-1], CLEAN, "its report ends in the middle of a record", ""),
    "out of turn": (plan("x") + value(1), CLEAN, "its report answers a check twice, out of turn", ""),
    "no plan of one check": (plan("xx"), CLEAN, "its report does not begin with a plan of its checks", ""),
    "nothing": (b"", CLEAN, "the worker said nothing", ""),
    "nothing, and our exit code": (b"", Exit(status=messages.EXIT_HARNESS << 8), "the worker said nothing", ""),
    "our failure": (records.harness_error("confine: x"), CLEAN, "confine: x", ""),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_what_is_said_of_an_end(name: str):
    report, facts, detail, syscall = SENTENCES[name]
    judged = single(report, facts)
    assert (judged.detail[: len(detail)], judged.syscall) == (detail, syscall)


def test_notes_that_nobody_asked_for_are_forged():
    notes = frame([messages.FINDINGS, b"\0\0\0\0", b"\0"])
    assert single(plan("x") + notes + value()).outcome is Outcome.VIOLATION
    asked = charging.one_answer(DEFAULT_LIMITS, runs_noted=True)
    noted = charging.read_single(Result(report=plan("x") + notes + value(), facts=CLEAN), asked, DEFAULT_LIMITS)
    assert noted.findings == (messages.FINDING_NAMES[0],)


def test_what_ends_its_worker_keeps_its_notes():
    notes = frame([messages.FINDINGS, b"\0\0\0\0", b"\0"])
    asked = charging.one_answer(DEFAULT_LIMITS, runs_noted=True)
    judged = charging.read_single(Result(report=plan("x") + notes, facts=SEGFAULT), asked, DEFAULT_LIMITS)
    assert (judged.outcome, judged.findings) == (Outcome.CRASHED, (messages.FINDING_NAMES[0],))


def test_what_is_no_call_has_its_own_notes():
    """Not those on the first check."""
    report = plan("di") + records.findings(0, [{messages.OPS_LONG}, {messages.SEEDLESS}]) + value()
    found = charging.read(Result(report=report, facts=CLEAN), Asked(count=2, texts_noted=True), DEFAULT_LIMITS).results
    assert {at: (one.outcome, one.findings) for at, one in found.items()} == {
        0: (None, (messages.OPS_LONG,)),
        1: (Outcome.INVALID, (messages.SEEDLESS,)),
    }


def test_what_the_daemon_could_not_do_is_our_failure():
    judged = single(plan("x") + value(), error="cancelled", attempts=2)
    assert (judged.outcome, judged.detail, judged.attempts) == (Outcome.SANDBOX_ERROR, "cancelled", 2)


@pytest.mark.parametrize("token", [b"", b"another"])
def test_a_script_that_says_itself_that_it_ended(token: bytes):
    asked = charging.one_answer(DEFAULT_LIMITS, ENDS, token=b"the token")
    ended = records.ended(records.NUMBERS.pack(0, 1, 1, 1, 0), token=token)
    judged = charging.read_single(Result(report=plan("x", False) + ended, facts=CLEAN), asked, DEFAULT_LIMITS)
    assert judged.outcome is Outcome.VIOLATION


# ---- what a result says -----------------------------------------------------------


def test_what_holds_for_all_results_of_a_worker():
    result = Result(report=plan("ddc") + value(2) + value(0), facts=OUT_OF_CPU, queue_ns=9, attempts=2)
    found = charging.read(result, Asked(count=3), DEFAULT_LIMITS, lambda plan: Assurance.IN_PROCESS).results
    assert [found[at].assurance for at in range(3)] == [Assurance.IN_PROCESS, Assurance.IN_PROCESS, Assurance.LITERAL]
    assert {(one.queue_ns, one.attempts) for one in found.values()} == {(9, 2)}
    assert found[1].outcome is Outcome.TIMED_OUT
    assert {one.findings for one in found.values()} == {()}


@pytest.mark.parametrize("letter", messages.CONSTANT + EVERY_CALL)
def test_only_a_constant_is_literal(letter: str):
    """Beside its program a call of any class has a value."""
    result = Result(report=plan(letter) + value(), facts=CLEAN)
    found = charging.read(result, ONE, DEFAULT_LIMITS, lambda plan: Assurance.IN_PROCESS).results
    assert found[0].assurance is (Assurance.LITERAL if letter == messages.CONSTANT else Assurance.IN_PROCESS)


@pytest.mark.parametrize(("report", "forged"), [(plan("x") + value() + value(), True), (plan("x") + value(), False)])
def test_of_a_violation_it_is_noted_whether_its_report_is_forged(report: bytes, forged: bool):
    assert single(report).forged is forged
    assert not single(plan("x") + VIOLATED, VIOLATION).forged


@pytest.mark.parametrize(("missing_ns", "outcome"), [(0, Outcome.TIMED_OUT), (1, Outcome.SANDBOX_ERROR)])
def test_who_was_killed_after_all_of_its_cpu_time_ran_out_of_it(missing_ns: int, outcome: Outcome):
    limits = replace(DEFAULT_LIMITS, cpu_ms=3)
    facts = replace(KILLED, cpu_ns=3_000_000 - missing_ns)
    assert charging.read_single(Result(report=plan("x"), facts=facts), ONE, limits).outcome is outcome


def test_a_queue_never_took_less_than_no_time():
    assert single(plan("x") + value(), queue_ns=-5).queue_ns == 0


def test_no_worker_used_more_than_the_kernel_measured():
    report = plan("ddd") + value(0, 3 * S) + value(1, 4 * S) + value(2, 2**63)
    found = seen(report, replace(CLEAN, cpu_ns=5 * S)).results
    assert [found[at].cpu_ns for at in range(3)] == [3 * S, 2 * S, 0]
    found = seen(plan("ddd") + value(0, 3 * S), Exit(9, 5 * S, 7 * S, killed=messages.KILLED_CPU)).results
    assert [found[at].cpu_ns for at in range(2)] == [3 * S, 2 * S]
    found = seen(plan("ddd") + value(0, 9 * S), Exit(9, 5 * S, 7 * S, killed=messages.KILLED_CPU)).results
    assert [found[at].cpu_ns for at in range(2)] == [5 * S, 0]


@pytest.mark.parametrize("kind", [messages.STEP_LIMIT, messages.OUTPUT_LIMIT, messages.MEMORY_LIMIT])
def test_a_check_that_reached_a_limit_took_what_is_left(kind: bytes):
    found = seen(plan("ddd") + value(0, 3 * S) + limit(kind, 1), replace(CLEAN, status=EXITS[kind] << 8)).results
    if kind == messages.MEMORY_LIMIT:  # runs again alone
        result = Result(report=plan("d") + limit(kind, 0), facts=replace(CLEAN, cpu_ns=2 * S))
        found = charging.read(result, Asked(), DEFAULT_LIMITS).results
    [judged] = [one for one in found.values() if one.outcome is not None]
    assert (judged.cpu_ns, judged.wall_ns) == (2 * S, 7 * S)


def test_what_printed_too_much_took_nothing_of_those_behind_it():
    found = seen(plan("ddd") + limit(messages.OUTPUT_LIMIT, 0) + value(1, 4 * S) + value(2), CLEAN).results
    assert [found[at].cpu_ns for at in (0, 1)] == [0, 4 * S]


EXITS = {
    messages.STEP_LIMIT: messages.EXIT_STEPS,
    messages.OUTPUT_LIMIT: messages.EXIT_OUTPUT,
    messages.MEMORY_LIMIT: messages.EXIT_DONE,
}


def test_a_call_is_behind_the_one_its_worker_is_at():
    asked = Asked(count=4)
    assert charging.behind(plan("dddd") + value(0), asked) == [2, 3]
    assert charging.behind(plan("dddd") + value(0) + value(1)[:-1], asked) == [2, 3]
    assert charging.behind(plan("dddd") + value(2), asked) == [1, 2, 3]  # whoever speaks out of turn has said nothing
    assert charging.behind(plan("dddd", False), asked) == []
    assert charging.behind(plan("cddd", False), asked) == []
    assert charging.behind(plan("dddd", False), replace(asked, takes_turns=True)) == []
    assert charging.behind(plan("ddd"), asked) == []
    assert charging.behind(b"", asked) == []


@pytest.mark.parametrize(
    ("classes", "hermetic", "is_shared"),
    [("ddd", True, True), ("dda", True, True), ("daa", True, False), ("aai", True, False), ("ddd", False, False)],
)
def test_who_was_alone_in_its_worker_shared_it_with_nobody(classes: str, hermetic: bool, is_shared: bool):
    report = Result(report=plan(classes, hermetic) + value(0), facts=CLEAN)
    assert charging.read(report, Asked(count=3), DEFAULT_LIMITS).is_shared is is_shared
    turns = Asked(count=3, takes_turns=True)  # an audit could not tell what they left behind
    assert charging.read(report, turns, DEFAULT_LIMITS).is_shared is is_shared
