"""Ends of workers, and what a report holds before them."""

from __future__ import annotations

import signal
import struct

from cruxboxd.judging import charging
from cruxboxd.judging.charging import Seen
from cruxboxd.judging.outcomes import Assurance
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.report import Asked
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame

S = 1_000_000_000
CLEAN = Exit(0, 5 * S, 7 * S, 3 << 20)


def plan(classes: str, hermetic: bool = True) -> bytes:
    return records.plan(hermetic, classes, [])


def value(index: int = 0, cpu_ns: int = 1) -> bytes:
    return records.value(records.NUMBERS.pack(index, 10, cpu_ns, 2, 0), messages.PLAIN, b"i1;", b"1")


def limit(kind: bytes, index: int) -> bytes:
    return records.limit(kind, index, 5)


VIOLATED = frame([messages.VIOLATED, struct.pack("<I", 59)])


def seen(report: bytes, facts: Exit = CLEAN, *, together: bool = False, over_cap: bool = False) -> Seen:
    """What came of a worker."""
    count = 2 if report.startswith(plan("dd", False)) else 3
    asked = Asked(count=count, takes_turns=together, output=1_000)
    result = Result(report=report, facts=facts, over_cap=over_cap)
    return charging.read(result, asked, DEFAULT_LIMITS, lambda plan: Assurance.SEPARATED)


STEPS, OUTPUT, VIOLATION = (
    Exit(code << 8, S) for code in (messages.EXIT_STEPS, messages.EXIT_OUTPUT, messages.EXIT_VIOLATION)
)
SEGFAULT, KILLED = Exit(signal.SIGSEGV, S), Exit(signal.SIGKILL, S)
OUT_OF_CPU, OUT_OF_WALL, SILENT = (
    Exit(9, S, killed=killed) for killed in (messages.KILLED_CPU, messages.KILLED_WALL, messages.KILLED_SILENT)
)


EVERY_CALL = charging.one_answer(DEFAULT_LIMITS).runs
