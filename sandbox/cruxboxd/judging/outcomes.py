"""From what the kernel says of a worker, and then from what the worker says of itself, to an Outcome.

This module is pure, and the only place where outcomes are decided. Kernel facts come first because the worker is
hostile: its own report counts only where the facts allow it, and any report that is not exactly what an honest worker
sends (a record too many, out of order, malformed) is a VIOLATION, never a PASSED.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from cruxcell.protocol import frames, messages
from cruxcell.protocol.records import CUT_OUTPUT, NUMBERS, OUT_OF_MEMORY

from cruxboxd.zygotes.exit import Exit


class Outcome(Enum):
    """How a check ended; names and numbers are those of the wire."""

    PASSED = 1
    FAILED = 2
    RAISED = 3
    INVALID = 4
    TIMED_OUT = 5
    STEP_LIMIT = 6
    MEMORY_LIMIT = 7
    OUTPUT_LIMIT = 8
    VIOLATION = 9
    CRASHED = 10
    SANDBOX_ERROR = 11
    EVALUATED = 12


class Assurance(Enum):
    """How well a verdict is protected from the candidate."""

    IN_PROCESS = 1
    SEPARATED = 2
    LITERAL = 3


class Clock(Enum):
    """Which clock a TIMED_OUT ran out on."""

    CPU = 1
    WALL = 2


@dataclass(frozen=True)
class Finding:
    """What is known of one check, or of one side of it: an outcome, or (outcome None) a value to be compared."""

    outcome: Outcome | None
    detail: str = ""
    clock: Clock | None = None
    canonical: bytes | None = None  # None: not plain data, or holds NaN; such a value equals nothing
    shown: str = ""
    shown_cut: bool = False
    steps: int = 0
    cpu_ns: int = 0
    wall_ns: int = 0
    peak_bytes: int = 0
    exception: tuple[str, str, int] | None = None
    stdout: str = ""
    stderr: str = ""
    output_cut: bool = False
    assurance: Assurance | None = None
    findings: tuple[str, ...] = ()
    queue_ns: int = 0
    attempts: int = 1
    syscall: str = ""

    def but(self, **changes: Any) -> Finding:
        """A copy with some fields changed: `dataclasses.replace`, at a fifth of its price (one a check, or more)."""
        copy = object.__new__(Finding)
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(changes)
        return copy


BLANK = Finding(None)  # nothing is known yet


def sandbox_error(detail: str) -> Finding:
    """Our failure: retried, masked, never counted."""
    return Finding(Outcome.SANDBOX_ERROR, detail)


def invalid(detail: str) -> Finding:
    """The check is not what its kind asks for."""
    return Finding(Outcome.INVALID, detail)


# A kernel fact -> (outcome, clock, sentence). Looked up in order: why the zygote killed it, then the signal it died of.
_KILLED: dict[int, tuple[Outcome, Clock | None, str]] = {
    messages.KILLED_CPU: (Outcome.TIMED_OUT, Clock.CPU, "out of CPU time"),
    messages.KILLED_WALL: (Outcome.TIMED_OUT, Clock.WALL, "out of wall time"),
    messages.KILLED_CANCEL: (Outcome.SANDBOX_ERROR, None, "the check was cancelled"),
    messages.KILLED_SILENT: (Outcome.CRASHED, None, "it cut its line to the sandbox and lived on"),
}
_SIGNALS: dict[int, tuple[Outcome, Clock | None, str]] = {
    signal.SIGSYS: (Outcome.VIOLATION, None, "a forbidden system call"),
    signal.SIGXCPU: (Outcome.TIMED_OUT, Clock.CPU, "out of CPU time"),
    signal.SIGXFSZ: (Outcome.OUTPUT_LIMIT, None, "wrote more than its output limit"),
    signal.SIGKILL: (Outcome.SANDBOX_ERROR, None, "the worker was killed from outside"),
    signal.SIGTERM: (Outcome.SANDBOX_ERROR, None, "the worker was terminated from outside"),
}
# A worker killed by the kernel's OOM killer, as far as that shows: this share of its memory limit was resident.
_MEMORY_EVIDENCE = 0.9


def of_exit(facts: Exit, cpu_limit_ns: int, memory_bytes: int) -> Finding:
    """The outcome of a check whose worker ended without reporting on it."""
    outcome, clock, detail = _classify_exit(facts, cpu_limit_ns, memory_bytes)
    return Finding(outcome, detail, clock, cpu_ns=facts.cpu_ns, wall_ns=facts.wall_ns, peak_bytes=facts.peak_bytes)


def _classify_exit(facts: Exit, cpu_limit_ns: int, memory_bytes: int) -> tuple[Outcome, Clock | None, str]:
    if facts.killed in _KILLED:
        return _KILLED[facts.killed]
    if not os.WIFSIGNALED(facts.status):
        return Outcome.CRASHED, None, f"exited with code {os.waitstatus_to_exitcode(facts.status)} and no answer"
    number = os.WTERMSIG(facts.status)
    if number == signal.SIGKILL and facts.cpu_ns >= cpu_limit_ns:
        return Outcome.TIMED_OUT, Clock.CPU, "out of CPU time"
    if number == signal.SIGKILL and facts.peak_bytes >= _MEMORY_EVIDENCE * memory_bytes:
        return Outcome.MEMORY_LIMIT, None, "killed by the kernel for its memory"
    return _SIGNALS.get(number, (Outcome.CRASHED, None, f"ended by {_signal_name(number)}"))


def of_violation(name: str, facts: Exit) -> Finding:
    """A forbidden system call, named."""
    return Finding(
        Outcome.VIOLATION, f"a forbidden system call: {name}", cpu_ns=facts.cpu_ns, wall_ns=facts.wall_ns, syscall=name
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@dataclass(frozen=True)
class Plan:
    """What a worker said before any code of the task ran: that much can be believed."""

    hermetic: bool
    classes: str
    details: tuple[str, ...]

    def detail_of(self, index: int) -> str:
        """The sentence that belongs to check `index`; sentences stand in the order of the checks that have one."""
        position = sum(kind == messages.INVALID for kind in self.classes[:index])
        return self.details[position] if position < len(self.details) else ""


@dataclass(frozen=True)
class Report:
    """A worker's report, taken apart. `records` are those after the plan; `garbled` says what was wrong with it."""

    plan: Plan | None
    records: list[list[bytes]]
    garbled: str = ""
    harness_error: str = ""
    syscall: int | None = None  # the forbidden call that ended the worker, as its signal handler wrote it


# What an honest worker sends at most: a plan, a note on all, a note and a result for each check, how it ended; and the
# fields of one.
_MOST_RECORDS_A_CHECK, _MOST_OTHER_RECORDS, _MOST_FIELDS = 2, 5, 16


def parse_report(data: bytes, checks: int = 1) -> Report:
    """Any bytes give a Report. Everything up to the first thing that is wrong is kept; what follows is not read.

    A hostile worker may fill its report with the smallest records there are: what no worker of so many `checks` sends
    is not read either, so that reading takes no longer than the honest would.
    """
    found: list[list[bytes]] = []
    garbled = ""
    try:
        most = _MOST_RECORDS_A_CHECK * checks + _MOST_OTHER_RECORDS
        if frames.split(data, found, most, checks + _MOST_FIELDS)[1] != len(data):
            garbled = "its report ends in the middle of a record"
    except frames.FrameError as error:
        garbled = f"its report is garbled: {error}"
    if found and found[0][:1] == [messages.HARNESS_ERROR] and len(found[0]) == 2:
        return Report(None, [], "", text(found[0][1]))
    plan = _parse_plan(found[0]) if found else None
    if plan is None:
        return Report(None, [], garbled or ("its report does not begin with a plan" if found else ""))
    records, syscall = found[1:], None
    if records and len(records[-1]) == 2 and records[-1][0] == messages.VIOLATED:
        syscall = int.from_bytes(records.pop()[1][:4], "little")
    return Report(plan, records, garbled, syscall=syscall)


def _parse_plan(fields: list[bytes]) -> Plan | None:
    if len(fields) < 3 or fields[0] != messages.PLAN:
        return None
    return Plan(fields[1] == b"1", fields[2].decode("ascii", "replace"), tuple(map(text, fields[3:])))


def text(data: bytes) -> str:
    """Bytes of a worker as text for people: always valid, always encodable."""
    return data.decode("utf-8", "replace")


def of_records(
    report: Report,
    count: int,
    facts: Exit,
    output_limit: int,
    *,
    base: Finding = BLANK,
    value_bytes: int = messages.VALUE_BYTES,
) -> tuple[dict[int, Finding], str]:
    """({index: finding} of the checks reported on, what was forged or garbled or ""); `base` holds what is common to
    all of them. A value may be as large as the output, and at least `value_bytes`."""
    found: dict[int, Finding] = {}
    for record in report.records:
        reader = _READERS.get(record[0] if record else b"")
        if reader is None or len(record) != reader[0] or len(record[1]) != NUMBERS.size:
            return found, "its report holds a record no worker writes"
        if any(len(field) > most for field, most in zip(record, _sizes(record[0], output_limit, value_bytes))):
            return found, "its report holds a record larger than any worker writes"
        index, finding = _of_record(record, reader[1], facts, base)
        if index >= count or index in found:
            return found, "its report answers a check twice or one that was not asked"
        found[index] = finding
    return found, report.garbled


_TEXT_BYTES = 6  # of a character at the most: a surrogate, escaped


@lru_cache(maxsize=256)
def _sizes(kind: bytes, output_limit: int, value_bytes: int) -> tuple[int, ...]:
    """How large the fields of a record may be: nothing larger is looked at, copied or passed on."""
    value, text_, printed = max(output_limit, value_bytes), _TEXT_BYTES * messages.MAX_TEXT, _TEXT_BYTES * output_limit
    sizes = {
        messages.VALUE: (1, value, text_ + 1, printed, printed),
        messages.RAISED: (_TEXT_BYTES * 200, text_, 4, printed, printed),
        messages.ENDED: (printed, printed, 256),
    }
    return (1, NUMBERS.size, *sizes.get(kind, ()))


def _of_record(record: list[bytes], read: Reader, facts: Exit, base: Finding) -> tuple[int, Finding]:
    """Which check a well-formed record is about, and its finding."""
    index, steps, cpu_ns, wall_ns, flags = NUMBERS.unpack(record[1])
    fields = read(record, flags)
    fields["steps"] = steps
    fields["cpu_ns"] = min(cpu_ns, facts.cpu_ns) if facts.cpu_ns else cpu_ns
    fields["wall_ns"] = min(wall_ns, facts.wall_ns) if facts.wall_ns else wall_ns
    fields["peak_bytes"] = facts.peak_bytes
    fields["output_cut"] = bool(flags & CUT_OUTPUT)
    return index, base.but(**fields)


Fields = dict[str, Any]  # of a Finding
Reader = Callable[[list[bytes], int], Fields]


def _read_value(record: list[bytes], flags: int) -> Fields:
    _, _, kind, canonical, shown, stdout, stderr = record
    fields: Fields = {"shown": text(shown.rstrip(b"\0")), "shown_cut": shown.endswith(b"\0")}
    if kind == messages.PLAIN:
        fields["canonical"] = canonical
    elif kind == messages.HOLDS_NAN:
        fields["detail"] = "the value holds NaN, which equals nothing"
    else:
        fields["detail"] = "the value is not plain data"
    return fields | _printed(stdout, stderr)


def _read_raised(record: list[bytes], flags: int) -> Fields:
    _, _, kind, message, line, stdout, stderr = record
    number = int.from_bytes(line[:4], "little", signed=True)
    ending = _OUT_OF_MEMORY if flags & OUT_OF_MEMORY else {"outcome": Outcome.RAISED}
    return {"exception": (text(kind), text(message), number), **ending, **_printed(stdout, stderr)}


# The detail of a finding that says "it came to its end"; the token is in `canonical`.
ENDED = "ended"


def _read_ended(record: list[bytes], flags: int) -> Fields:
    return {"detail": ENDED, "canonical": record[4], **_printed(record[2], record[3])}


def _printed(stdout: bytes, stderr: bytes) -> Fields:
    return {"stdout": text(stdout), "stderr": text(stderr)} if stdout or stderr else {}


def _ends(outcome: Outcome, detail: str) -> Reader:
    return lambda record, flags: {"outcome": outcome, "detail": detail}


_OUT_OF_MEMORY: Fields = {"outcome": Outcome.MEMORY_LIMIT, "detail": "out of memory"}
# Kind of record -> (number of fields, reader).
_READERS: dict[bytes, tuple[int, Reader]] = {
    messages.VALUE: (7, _read_value),
    messages.RAISED: (7, _read_raised),
    messages.ENDED: (5, _read_ended),
    messages.STEP_LIMIT: (2, _ends(Outcome.STEP_LIMIT, "out of steps")),
    messages.OUTPUT_LIMIT: (2, _ends(Outcome.OUTPUT_LIMIT, "over its output limit")),
    messages.MEMORY_LIMIT: (2, lambda record, flags: dict(_OUT_OF_MEMORY)),
}


def compare(value: Finding, expected: bytes | None) -> Finding:
    """PASSED or FAILED for a value that was computed; any other finding as it is."""
    if value.outcome is not None:
        return value
    if value.canonical is None or expected is None:
        return value.but(outcome=Outcome.FAILED)
    same = value.canonical == expected
    return value.but(outcome=Outcome.PASSED if same else Outcome.FAILED, detail="" if same else "the value differs")


def same_output(printed: bytes, expected: bytes) -> bool:
    """Do two outputs match, trailing white space of lines and trailing blank lines aside?"""
    return _lines(printed) == _lines(expected)


def _lines(data: bytes) -> list[bytes]:
    return [line.rstrip() for line in data.rstrip().split(b"\n")]
