"""Ends of the workers of scripts and programs."""

from __future__ import annotations

import signal
from dataclasses import replace

from cruxboxd.judging.tasks import StepCount, Task
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Result
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame
from told_workers import TOKEN

S = 1_000_000_000
LIMITS = replace(DEFAULT_LIMITS, output_bytes=100)
TASK = Task("t", b"", [], LIMITS, "default", True, None, 1, StepCount.INSTRUCTIONS)
PLAN = records.plan(False, "x", [])
INVALID = records.plan(False, "i", ["why"])


def numbers(flags: int = 0, steps: int = 7) -> bytes:
    return records.NUMBERS.pack(0, steps, 1, 2, flags)


def raised(name: bytes, flags: int = 0) -> bytes:
    return frame([messages.RAISED, numbers(flags), name, b"text", b"\1\0\0\0", b"", b""])


CLEAN, SEGFAULT = Exit(0, S), Exit(signal.SIGSEGV, S)
OUT_OF_CPU, CALLED_OFF, PARTNER = (
    Exit(9, S, killed=killed) for killed in (messages.KILLED_CPU, messages.KILLED_CANCEL, messages.KILLED_PARTNER)
)
EXIT_2, TRAPPED = Exit(2 << 8, S), Exit(messages.EXIT_VIOLATION << 8, S)
OUT_OF_STEPS = Exit(messages.EXIT_STEPS << 8, S)
ENDED, STEPS = records.ended(numbers(steps=5)), records.limit(messages.STEP_LIMIT, 0, 9)
ENDED_WELL = records.ended(numbers(), token=TOKEN)  # by a test


def result(said: bytes, facts: Exit, **more: object) -> Result:
    return Result(report=said, facts=facts, **more)  # type: ignore[arg-type]


SERVED, DONE = (PLAN + ENDED, CLEAN), (PLAN + ENDED_WELL, CLEAN)
