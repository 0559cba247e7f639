"""Reports made by hand, and their parts."""

from __future__ import annotations

import struct

from cruxboxd.zygotes.report import TEST_ENDS, Asked, Report
from cruxboxd.zygotes.report_parser import read_report
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame

TWO = Asked(count=2, output=1_000, steps=500)


def plan(classes: str = "dd", hermetic: bool = True) -> bytes:
    return records.plan(hermetic, classes, [])


def numbers(index: int = 0, steps: int = 10, cpu_ns: int = 1, wall_ns: int = 2, flags: int = 0) -> bytes:
    return records.NUMBERS.pack(index, steps, cpu_ns, wall_ns, flags)


def value(index: int = 0, canonical: bytes = b"i1;", kind: bytes = messages.PLAIN, **facts: int) -> bytes:
    return records.value(numbers(index, **facts), kind, canonical, b"1")


def violated(number: int = 59) -> bytes:
    return frame([messages.VIOLATED, struct.pack("<I", number)])


def read(*parts: bytes, asked: Asked = TWO) -> Report:
    return read_report(b"".join(parts), asked)


def indexes(report: Report) -> list[int]:
    return [answer.index for answer in report.answers]


SUITE = Asked(kinds=TEST_ENDS, runs="x", is_suite=True)
