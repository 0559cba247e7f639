"""Who answers for how a worker ended: the check whose turn it was, or nobody, and then who runs again, alone."""

from __future__ import annotations

import signal
import struct
from dataclasses import replace

import pytest
from cruxboxd.judging import charging
from cruxboxd.judging.charging import Seen
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.report import ENDS, Asked
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame

S = 1_000_000_000
CLEAN = Exit(0, 5 * S, 7 * S, 3 << 20)
LETTERS = {None: "v", Outcome.RAISED: "r", Outcome.INVALID: "i", Outcome.TIMED_OUT: "t", Outcome.STEP_LIMIT: "s",
           Outcome.MEMORY_LIMIT: "m", Outcome.OUTPUT_LIMIT: "o", Outcome.VIOLATION: "x", Outcome.CRASHED: "c",
           Outcome.SANDBOX_ERROR: "!"}  # fmt: skip


def plan(classes: str, hermetic: bool = True) -> bytes:
    return records.plan(hermetic, classes, [])


def value(index: int = 0, cpu_ns: int = 1) -> bytes:
    return records.value(records.NUMBERS.pack(index, 10, cpu_ns, 2, 0), messages.PLAIN, b"i1;", b"1")


def out_of_memory(index: int) -> bytes:
    return records.raised(records.NUMBERS.pack(index, 1, 1, 1, records.OUT_OF_MEMORY), MemoryError())


def error(index: int) -> bytes:
    return records.raised(records.NUMBERS.pack(index, 1, 1, 1, 0), KeyError())


def limit(kind: bytes, index: int) -> bytes:
    return records.limit(kind, index, 5)


OVER = limit(messages.MEMORY_LIMIT, 1)
VIOLATED = frame([messages.VIOLATED, struct.pack("<I", 59)])


def seen(report: bytes, facts: Exit = CLEAN, *, together: bool = False, over_cap: bool = False) -> Seen:
    """What came of a worker."""
    count = 2 if report.startswith(plan("dd", False)) else 3
    asked = Asked(count=count, takes_turns=together, output=1_000)
    result = Result(report=report, facts=facts, over_cap=over_cap)
    return charging.read(result, asked, DEFAULT_LIMITS, lambda plan: Assurance.SEPARATED)


def letters(found: Seen, count: int = 3) -> str:
    """One a check: its outcome, `v` for a value, `a` if it runs again alone, `.` if it goes on in a new worker."""
    letter = {at: LETTERS[judged.outcome] for at, judged in found.results.items()}
    assert not set(letter) & set(found.to_run_alone)
    letter.update(dict.fromkeys(found.to_run_alone, "a"))
    return "".join(letter.get(at, ".") for at in range(count))


STEPS, OUTPUT, VIOLATION = (
    Exit(code << 8, S) for code in (messages.EXIT_STEPS, messages.EXIT_OUTPUT, messages.EXIT_VIOLATION)
)
SEGFAULT, KILLED = Exit(signal.SIGSEGV, S), Exit(signal.SIGKILL, S)
OUT_OF_CPU, OUT_OF_WALL, SILENT = (
    Exit(9, S, killed=killed) for killed in (messages.KILLED_CPU, messages.KILLED_WALL, messages.KILLED_SILENT)
)
CALLED_OFF = Exit(9, S, killed=messages.KILLED_CANCEL)

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
def test_the_end_of_a_shared_worker(name: str):
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
def test_the_end_of_a_worker_with_one_turn(name: str):
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
def test_the_end_of_checks_that_take_turns_whatever_the_program(name: str):
    report, facts, expected = TOGETHER[name]
    assert letters(seen(report, facts, together=True)) == expected


EVERY_CALL = charging.one_answer(DEFAULT_LIMITS).runs


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
def test_a_report_over_the_cap(report: bytes, expected: str, facts: Exit):
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
