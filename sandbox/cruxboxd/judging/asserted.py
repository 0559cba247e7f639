"""Scripts of which it is known which calls they make before any is made, as the worker that has read them says."""

from __future__ import annotations

import struct
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from cruxcell.protocol import frames, payloads

from cruxboxd.zygotes.report import text

MOST_CALLS = 1 << 10
_CANDIDATE = "candidate"
MOST_KNOWN, MOST_KNOWN_BYTES = 16, 1 << 15  # of what a script came to


@dataclass(frozen=True)
class Asserted:
    """What a script asserts of one call. `line`: of the assertion; 0 if how that fails is not known beforehand, as it
    stands on several lines or computes its message."""

    canonical: bytes
    line: int
    message: str


class Attempts:
    """Does it pay to judge a script by its calls? What came of programs before says so.

    Where their calls took too long or gave too much, each was run again, in a pair. So an attempt that decides nothing
    takes credit, and one that does, or a pair that began at once, gives what an attempt saves.
    """

    _MOST_NS = 1_000_000_000
    _SAVED_NS = 10_000_000  # a pair's two workers

    def __init__(self) -> None:
        self._credit_ns = self._MOST_NS

    def may_begin(self) -> bool:
        if self._credit_ns > 0:
            return True
        self._credit_ns += self._SAVED_NS
        return False

    def ended(self, has_decided: bool, cpu_ns: int) -> None:
        self._credit_ns += self._SAVED_NS if has_decided else -cpu_ns
        self._credit_ns = max(-self._MOST_NS, min(self._credit_ns, self._MOST_NS))  # many may end at once


@dataclass(frozen=True)
class _Calling:
    """A script that calls one name of the program."""

    name: str
    attempts: Attempts = field(default_factory=Attempts, init=False, compare=False)

    def entry_point(self, asked: str) -> str:
        """The name of the program that is called, `asked` being the check's; "" where that is not certain."""
        if asked.isidentifier() and self.name in (asked, _CANDIDATE):
            return asked
        return "" if asked or self.name == _CANDIDATE else self.name


@dataclass(frozen=True)
class Series(_Calling):
    """A script, taken apart: the name it calls, what it asserts of each call, and the calls as a worker takes them."""

    asserted: tuple[Asserted, ...]
    calls: bytes

    unbindable = frames.pack([])


@dataclass(frozen=True)
class Rows(_Calling):
    """A script that calls its name once for each row of a table, or in each of its assertions: the line of each call, 0
    if how it fails is not known beforehand; the names that the program may not bind, packed; and the calls as a worker
    takes them.

    `known` is what it came to where programs gave certain values: by a digest of these, and limits."""

    lines: tuple[int, ...]
    unbindable: bytes
    calls: bytes
    known: dict[Hashable, Any] = field(default_factory=dict, compare=False)


def read_series(expected: bytes, calls: bytes) -> Series | None:
    """The series, from the fields of a worker that has read the script; None if they are none."""
    try:
        name, *fields = frames.unpack(expected, 3 * MOST_CALLS)
        asserted = []
        for head, message, canonical in zip(fields[0::3], fields[1::3], fields[2::3]):
            asserted.append(Asserted(canonical, payloads.SERIES_LINE.unpack(head)[0], text(message)))
        return Series(name.decode(), tuple(asserted), calls) if asserted else None
    except (ValueError, struct.error):  # FrameErrors and UnicodeErrors are ValueErrors
        return None


def read_rows(told: bytes) -> Rows | None:
    """The rows, from what a worker that has read the script says of them; None if there are none."""
    try:
        told_lines, name, unbindable, calls = frames.unpack(told, 4)
        lines = tuple(line for (line,) in payloads.LINE.iter_unpack(told_lines))
        return Rows(name.decode(), lines, unbindable, calls) if lines else None
    except (ValueError, struct.error):  # FrameErrors and UnicodeErrors are ValueErrors
        return None
