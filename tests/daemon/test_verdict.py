"""From facts to outcomes: kernel facts first, then what the worker says, and a forged report is never a pass."""

from __future__ import annotations

import signal

import pytest
from cruxboxd.judging import outcomes
from cruxboxd.judging.outcomes import Clock, Finding, Outcome, of_exit
from cruxboxd.zygotes.exit import Exit
from cruxcell.protocol import messages

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
