"""From facts to outcomes: kernel facts first, then what the worker says, and a forged report is never a pass."""

from __future__ import annotations

import signal
import struct

import pytest
from cruxboxd.judging import outcomes
from cruxboxd.judging.outcomes import Clock, Finding, Outcome, of_exit, of_records, parse_report
from cruxboxd.zygotes.exit import Exit
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame

S = 1_000_000_000
MIB = 1 << 20
LIMITS = (3 * S, 512 * MIB)


def died(number: int, **facts: int) -> Exit:
    return Exit(status=number, **facts)


# facts -> outcome, clock
ENDS = {
    "out of CPU time": (Exit(9, killed=messages.KILLED_CPU), Outcome.TIMED_OUT, Clock.CPU),
    "out of wall time": (Exit(9, killed=messages.KILLED_WALL), Outcome.TIMED_OUT, Clock.WALL),
    "cancelled": (Exit(9, killed=messages.KILLED_CANCEL), Outcome.SANDBOX_ERROR, None),
    "silent": (Exit(9, killed=messages.KILLED_SILENT), Outcome.CRASHED, None),
    "CPU time beats memory": (Exit(9, 9 * S, 0, 512 * MIB, messages.KILLED_CPU), Outcome.TIMED_OUT, Clock.CPU),
    "exit 0 and no answer": (Exit(0), Outcome.CRASHED, None),
    "exit 1": (Exit(1 << 8), Outcome.CRASHED, None),
    "the harness's exit code is no answer": (Exit(messages.EXIT_STEPS << 8), Outcome.CRASHED, None),
    "SIGSEGV": (died(signal.SIGSEGV), Outcome.CRASHED, None),
    "SIGSEGV with a core": (died(signal.SIGSEGV | 0x80), Outcome.CRASHED, None),
    "SIGSYS": (died(signal.SIGSYS), Outcome.VIOLATION, None),
    "SIGXCPU": (died(signal.SIGXCPU), Outcome.TIMED_OUT, Clock.CPU),
    "SIGXFSZ": (died(signal.SIGXFSZ), Outcome.OUTPUT_LIMIT, None),
    "SIGKILL from outside": (died(signal.SIGKILL), Outcome.SANDBOX_ERROR, None),
    "SIGTERM from outside": (died(signal.SIGTERM), Outcome.SANDBOX_ERROR, None),
    "SIGKILL after all its CPU time": (died(signal.SIGKILL, cpu_ns=3 * S), Outcome.TIMED_OUT, Clock.CPU),
    "SIGKILL with all its memory": (died(signal.SIGKILL, peak_bytes=500 * MIB), Outcome.MEMORY_LIMIT, None),
    "a signal without a name": (died(40), Outcome.CRASHED, None),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_an_end_without_an_answer(name: str):
    facts, outcome, clock = ENDS[name]
    finding = of_exit(facts, *LIMITS)
    assert (finding.outcome, finding.clock) == (outcome, clock)
    assert finding.detail


# ---- what a worker says -----------------------------------------------------------

PLAN = records.plan(True, "dd", [])
CLEAN = Exit(0, 5 * S, 7 * S, 3 * MIB)


def numbers(index: int = 0, steps: int = 10, cpu_ns: int = 1, wall_ns: int = 2, flags: int = 0) -> bytes:
    return records.NUMBERS.pack(index, steps, cpu_ns, wall_ns, flags)


def value(index: int = 0, canonical: bytes = b"i1;", kind: bytes = messages.PLAIN, **facts: int) -> bytes:
    return records.value(numbers(index, **facts), kind, canonical, b"1")


def findings(*records: bytes) -> tuple[dict[int, Finding], str]:
    return of_records(parse_report(PLAN + b"".join(records)), 2, CLEAN, MIB)


# Records with a field that no worker makes so large, for an output limit of 1,000 characters.
LARGE = {
    "canonical": records.value(numbers(), messages.PLAIN, b"z" * 65_537, b"1"),
    "shown": records.value(numbers(), messages.PLAIN, b"i1;", b"z" * (6 * messages.MAX_TEXT + 2)),
    "kind": records.value(numbers(), b"pp", b"i1;", b"1"),
    "stdout": records.value(numbers(), messages.PLAIN, b"i1;", b"1", b"z" * 6_001),
    "stderr": records.value(numbers(), messages.PLAIN, b"i1;", b"1", b"", b"z" * 6_001),
    "message": frame([messages.RAISED, numbers(), b"E", b"z" * (6 * messages.MAX_TEXT + 1), b"\0" * 4, b"", b""]),
    "line": frame([messages.RAISED, numbers(), b"E", b"", b"\0" * 5, b"", b""]),
    "token": frame([messages.ENDED, numbers(), b"", b"", b"z" * 257]),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_record_larger_than_any_worker_writes(name: str):
    found, forged = of_records(parse_report(PLAN + LARGE[name]), 2, CLEAN, 1_000)
    assert (found, "larger" in forged) == ({}, True)


def test_an_honest_report():
    found, forged = findings(value(0), value(1, b"i2;"))
    assert forged == ""
    assert [found[at].canonical for at in (0, 1)] == [b"i1;", b"i2;"]
    assert (found[0].outcome, found[0].shown, found[0].steps) == (None, "1", 10)


def test_what_is_claimed_is_cut_to_what_the_kernel_measured():
    found, _ = findings(value(cpu_ns=2**60, wall_ns=2**60))
    assert (found[0].cpu_ns, found[0].wall_ns, found[0].peak_bytes) == (5 * S, 7 * S, 3 * MIB)


RAISED = frame([messages.RAISED, numbers(), b"KeyError", b"'x'", struct.pack("<i", 3), b"out", b"err"])
OUT_OF_MEMORY = frame([messages.RAISED, numbers(flags=records.OUT_OF_MEMORY), b"MemoryError", b"", b"\0" * 4, b"", b""])
KINDS = {
    "raised": (RAISED, Outcome.RAISED),
    "out of memory": (OUT_OF_MEMORY, Outcome.MEMORY_LIMIT),
    "step limit": (records.limit(messages.STEP_LIMIT, 0, 5), Outcome.STEP_LIMIT),
    "output limit": (records.limit(messages.OUTPUT_LIMIT, 0, 5), Outcome.OUTPUT_LIMIT),
    "memory limit": (records.limit(messages.MEMORY_LIMIT, 0, 5), Outcome.MEMORY_LIMIT),
    "ended": (records.ended(numbers()), None),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_record(name: str):
    record, outcome = KINDS[name]
    found, forged = findings(record)
    assert (found[0].outcome, forged) == (outcome, "")


def test_an_exception_is_told():
    found, _ = findings(RAISED)
    assert found[0].exception == ("KeyError", "'x'", 3)
    assert (found[0].stdout, found[0].stderr) == ("out", "err")


FORGED = {
    "an answer twice": value(0) + value(0),
    "an answer to another question": value(7),
    "a kind there is not": frame([b"?", numbers()]),
    "a plan again": PLAN,
    "too few fields": frame([messages.VALUE, numbers()]),
    "too many fields": frame([messages.ENDED, numbers(), b"", b"", b"", b""]),
    "numbers cut off": frame([messages.STEP_LIMIT, numbers()[:-1]]),
    "no fields": frame([]),
    "half a record": value(0)[:-1],
    "garbage": b"\1\0\0\0\0",
}


@pytest.mark.parametrize("name", FORGED)
def test_what_no_worker_writes(name: str):
    _, forged = findings(FORGED[name])
    assert forged


@pytest.mark.parametrize("name", FORGED)
def test_what_was_said_before_is_kept(name: str):
    found, forged = findings(value(1), FORGED[name])
    assert found[1].canonical == b"i1;"
    assert forged


def test_a_failure_of_ours_counts_only_before_anything_ran():
    assert parse_report(records.harness_error("confine: x")).harness_error == "confine: x"
    late = parse_report(PLAN + records.harness_error("confine: x"))
    assert late.harness_error == ""
    assert of_records(late, 2, CLEAN, MIB)[1]


@pytest.mark.parametrize("data", [b"", value(0), frame([b"P"]), b"\0" * 3, frame([]) + PLAN])
def test_without_a_plan_nothing_is_believed(data: bytes):
    report = parse_report(data)
    assert report.plan is None
    assert report.records == []


def test_sentences_belong_to_the_invalid_ones():
    plan = parse_report(records.plan(False, "dixi", ["first", "second"])).plan
    assert plan is not None
    assert [plan.detail_of(at) for at in (1, 3)] == ["first", "second"]
    short = parse_report(records.plan(False, "ii", ["only"])).plan
    assert short is not None
    assert short.detail_of(1) == ""


# ---- deciding ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("canonical", "expected", "outcome"),
    [
        (b"i1;", b"i1;", Outcome.PASSED),
        (b"i1;", b"i2;", Outcome.FAILED),
        (None, b"i1;", Outcome.FAILED),
        (b"i1;", None, Outcome.FAILED),
        (None, None, Outcome.FAILED),
        (b"", b"i1;", Outcome.FAILED),
    ],
)
def test_only_equal_bytes_pass(canonical: bytes | None, expected: bytes | None, outcome: Outcome):
    assert outcomes.compare(Finding(None, canonical=canonical), expected).outcome is outcome


@pytest.mark.parametrize("outcome", Outcome)
def test_what_is_decided_stays(outcome: Outcome):
    assert outcomes.compare(Finding(outcome, canonical=b"i1;"), b"i1;").outcome is outcome


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        (b"1\n2\n", b"1\n2", True),
        (b"1  \n2\t\n\n\n", b"1\n2", True),
        (b"1\r\n2", b"1\n2", True),
        (b" 1", b"1", False),
        (b"1\n\n2", b"1\n2", False),
        (b"", b"1", False),
        (b"12", b"1\n2", False),
    ],
)
def test_output(printed: bytes, expected: bytes, same: bool):
    assert outcomes.same_output(printed, expected) is same
