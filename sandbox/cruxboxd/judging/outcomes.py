"""Decides the Outcome: first from the kernel's facts about a worker, then from the worker's own report.

This module is pure, and the only place where outcomes are decided. Kernel facts come first because the worker is
hostile: its report counts only where the facts allow it, and only as far as `cruxboxd.zygotes.report_parser` accepts
it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from cruxcell.protocol import frames, messages

from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.report import Answer, text, utf8


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
    EXECUTED = 13


class TestOutcome(Enum):
    """How one test of a suite ended; names and numbers are those of the wire."""

    PASSED = 1
    FAILED = 2
    ERROR = 3
    SKIPPED = 4


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
class CheckResult:
    """What is known of one check, or of one side of it: an outcome, or (outcome None) a value to be compared."""

    outcome: Outcome | None
    detail: str = ""
    clock: Clock | None = None
    canonical: bytes | None = None  # None: not plain data, or holds NaN; such a value equals nothing
    relation: tuple[bytes, bytes] | None = None  # what counts beside its like only: `canonical.relation`
    shown: str = ""
    shown_cut: bool = False
    steps: int = 0
    cpu_ns: int = 0
    wall_ns: int = 0
    peak_bytes: int = 0
    exception: tuple[str, str, int] | None = None
    stdout: bytes = b""  # UTF-8
    stderr: bytes = b""
    output_cut: bool = False
    assurance: Assurance | None = None
    findings: tuple[str, ...] = ()
    queue_ns: int = 0
    attempts: int = 1
    syscall: str = ""  # the forbidden one, of a VIOLATION
    forged: bool = False  # of a VIOLATION: the report is no honest worker's
    shared: bool = False  # a worker with other checks
    tests: tuple[tuple[str, TestOutcome, str], ...] = ()  # of a suite: name, outcome, message
    exit_code: int | None = None  # of a program that was run
    files: tuple[tuple[str, bytes], ...] = ()  # that were read back

    def but(self, **changes: Any) -> CheckResult:
        """A copy with some fields changed; five times as fast as `dataclasses.replace`."""
        copy = object.__new__(CheckResult)
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(changes)
        return copy

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        files = sum(len(content) for _, content in self.files)
        return len(self.stdout) + len(self.stderr) + len(self.canonical or b"") + len(self.shown) + files


BLANK = CheckResult(None)  # nothing is known yet


def sandbox_error(detail: str) -> CheckResult:
    """Our failure: retried, masked, never counted."""
    return CheckResult(Outcome.SANDBOX_ERROR, detail)


def invalid(detail: str) -> CheckResult:
    """The check is not what its kind asks for."""
    return CheckResult(Outcome.INVALID, detail)


# A kernel fact -> (outcome, clock, sentence). Looked up in order: why the zygote killed it, then the signal it died of.
_KILLED: dict[int, tuple[Outcome, Clock | None, str]] = {
    messages.KILLED_CPU: (Outcome.TIMED_OUT, Clock.CPU, "out of CPU time"),
    messages.KILLED_WALL: (Outcome.TIMED_OUT, Clock.WALL, "out of wall time"),
    messages.KILLED_CANCEL: (Outcome.SANDBOX_ERROR, None, "the check was cancelled"),
    messages.KILLED_SILENT: (Outcome.CRASHED, None, "it cut its line to the sandbox and lived on"),
    messages.KILLED_STARVED: (Outcome.SANDBOX_ERROR, None, "it waited too long for a CPU, or was stopped from outside"),
    messages.KILLED_PARTNER: (Outcome.CRASHED, None, "it lived on when its part was over"),
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


def of_exit(facts: Exit, cpu_limit_ns: int, memory_bytes: int) -> CheckResult:
    """The outcome of a check whose worker ended without reporting on it."""
    outcome, clock, detail = _classify_exit(facts, cpu_limit_ns, memory_bytes)
    return CheckResult(outcome, detail, clock, cpu_ns=facts.cpu_ns, wall_ns=facts.wall_ns, peak_bytes=facts.peak_bytes)


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


def of_violation(name: str, facts: Exit) -> CheckResult:
    """A forbidden system call, named."""
    return CheckResult(
        Outcome.VIOLATION, f"a forbidden system call: {name}", cpu_ns=facts.cpu_ns, wall_ns=facts.wall_ns, syscall=name
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def of_answer(answer: Answer, facts: Exit, base: CheckResult = BLANK) -> CheckResult:
    """The result of a check that its worker answered; `base` holds what all results of the worker have in common.
    What the answer claims to have used is cut to what the kernel measured."""
    fields = _READERS[answer.kind](answer)
    fields["steps"] = answer.steps
    fields["cpu_ns"] = min(answer.cpu_ns, facts.cpu_ns)
    fields["wall_ns"] = min(answer.wall_ns, facts.wall_ns)
    fields["peak_bytes"] = facts.peak_bytes
    return base.but(**fields)


Fields = dict[str, Any]  # of a CheckResult
Reader = Callable[[Answer], Fields]


# The detail of a value that equals no plain data.
NOT_PLAIN = "the value is not plain data"


def _read_value(answer: Answer) -> Fields:
    kind, canonical, shown, stdout, stderr = answer.fields
    fields: Fields = {"shown": text(shown.rstrip(b"\0")), "shown_cut": shown.endswith(b"\0")}
    if kind == messages.PLAIN:
        fields["canonical"] = canonical
    elif kind == messages.HAS_LIKES:
        fields.update(_read_likes(canonical))
    elif kind == messages.HOLDS_NAN:
        fields["detail"] = "the value holds NaN, which equals nothing"
    else:
        fields["detail"] = NOT_PLAIN
    return fields | _printed(stdout, stderr)


def _read_likes(packed: bytes) -> Fields:
    try:
        canonical, counted, marks = frames.unpack(packed, 3)
    except ValueError:  # a FrameError, or other parts
        return {"detail": NOT_PLAIN}  # no honest worker's
    return {"canonical": canonical, "relation": (counted, marks)}


# What a worker is refused looks like this to its program. Fixed texts: nothing of the program's own is in them.
# (type, beginning of the message, what to say)
_POLICY = (
    (
        b"PermissionError",
        b"",
        "the sandbox's policy refuses files, processes, sockets and signals in this way",
    ),
    (b"BlockingIOError", b"", "the sandbox's policy refuses processes in this way"),
    (
        b"RuntimeError",
        b"can't start new thread",
        "the sandbox's policy allows few threads, to texts that name them",
    ),
    (
        b"FileNotFoundError",
        b"[Errno 2] No usable temporary",
        "the sandbox's policy gives no folder to write to",
    ),
    (
        b"OSError",
        b"[Errno 28]",
        "the scratch folder is full: the server says how many bytes it holds (--scratch-mib), and it holds 4,096 files",
    ),
    (
        b"OSError",
        b"[Errno 27]",
        "no file may be larger than the scratch folder or, where there is none, the output limit",
    ),
    (b"OSError", b"[Errno 30]", "the sandbox's policy lets programs write to their scratch folder only"),
    (b"itimer_error", b"", "the sandbox's policy allows no timers of the kernel"),
)


def _hint(kind: bytes, message: bytes) -> str:
    return next((hint for name, start, hint in _POLICY if kind == name and message.startswith(start)), "")


def _read_raised(answer: Answer) -> Fields:
    kind, message, line, stdout, stderr = answer.fields
    number = int.from_bytes(line, "little", signed=True)
    ending = _OUT_OF_MEMORY if answer.is_out_of_memory else {"outcome": Outcome.RAISED}
    detail = _hint(kind, message)
    fields = {"detail": detail, "exception": (text(kind), text(message), number)}
    return {**fields, **ending, **_printed(stdout, stderr)}


# The detail of a result that says "it came to its end".
ENDED = "ended"


def _read_ended(answer: Answer) -> Fields:
    return {"detail": ENDED, **_printed(answer.fields[0], answer.fields[1])}


def _printed(stdout: bytes, stderr: bytes) -> Fields:
    return {"stdout": utf8(stdout), "stderr": utf8(stderr)} if stdout or stderr else {}


def _with_detail(outcome: Outcome, detail: str) -> Reader:
    return lambda _answer: {"outcome": outcome, "detail": detail}


def _in_its_words(outcome: Outcome) -> Reader:
    return lambda answer: {"outcome": outcome, "detail": text(answer.fields[0])}


_OUT_OF_MEMORY: Fields = {"outcome": Outcome.MEMORY_LIMIT, "detail": "out of memory"}
_READERS: dict[bytes, Reader] = {
    messages.VALUE: _read_value,
    messages.RAISED: _read_raised,
    messages.ENDED: _read_ended,
    messages.STEP_LIMIT: _with_detail(Outcome.STEP_LIMIT, "out of steps"),
    messages.OUTPUT_LIMIT: _with_detail(Outcome.OUTPUT_LIMIT, "over its output limit"),
    messages.MEMORY_LIMIT: lambda _answer: dict(_OUT_OF_MEMORY),
    messages.CANDIDATE_GONE: _in_its_words(Outcome.CRASHED),
    messages.NOT_PLAIN: _in_its_words(Outcome.FAILED),
    messages.CANNOT_CROSS: _in_its_words(Outcome.INVALID),
}


def compare(value: CheckResult, expected: bytes | None, relation: tuple[bytes, bytes] | None = None) -> CheckResult:
    """PASSED or FAILED for a value that was computed; any other result as it is. `relation`: of what is expected."""
    if value.outcome is not None:
        return value
    if value.canonical is None or expected is None:
        return value.but(outcome=Outcome.FAILED)
    if value.relation is None or relation is None:
        same = value.canonical == expected
    else:
        same = value.relation[0] == relation[0] and _agree(value.relation[1], relation[1])
    return value.but(outcome=Outcome.PASSED if same else Outcome.FAILED, detail="" if same else "the value differs")


def _agree(marks: bytes, others: bytes) -> bool:
    """Do the marks of two values' dicts agree? See `cruxcell.values.canonical.relation`."""
    ours, theirs = marks.split(b";"), others.split(b";")
    return len(ours) == len(theirs) and all(one == other or _are_alike(one, other) for one, other in zip(ours, theirs))


def _are_alike(mark: bytes, other: bytes) -> bool:
    """May two dicts with different marks be equal? Two Counters; and others with the same zeros, but no two orders."""
    (kind, _, zeros), (wanted, _, wanted_zeros) = mark.partition(b":"), other.partition(b":")
    if kind == wanted == b"c":
        return True
    return zeros == wanted_zeros and not (kind[:1] == wanted[:1] == b"o")


# Which of these ends a run first depends on how fast the machine is.
_LIMITS = frozenset({Outcome.TIMED_OUT, Outcome.STEP_LIMIT, Outcome.MEMORY_LIMIT, Outcome.OUTPUT_LIMIT})


def evaluated(value: CheckResult) -> CheckResult:
    """The result of a check without expectation, without the notes that are meant for the daemon."""
    findings = tuple([name for name in value.findings if name != messages.SEEDLESS]) if value.findings else ()
    return value.but(outcome=value.outcome or Outcome.EVALUATED, findings=findings)


def compare_runs(first: CheckResult, second: CheckResult | None) -> tuple[CheckResult, CheckResult | None]:
    """How a check ended that was run under two hash seeds, and the second run if it differs.

    Values are compared as people see them: order included. Two runs that a limit ended are alike, whichever limit it
    was. A run that was our failure says nothing about the program, so the check is our failure. If either shared a
    worker, so did the check.
    """
    if second is None or first.outcome is Outcome.SANDBOX_ERROR:
        return first, None
    first = first.but(shared=first.shared or second.shared)
    if second.outcome is Outcome.SANDBOX_ERROR:
        return second, None
    if first.outcome in _LIMITS and second.outcome in _LIMITS:
        return first, None
    same = (first.outcome, first.canonical, first.shown) == (second.outcome, second.canonical, second.shown)
    return first, None if same else second
