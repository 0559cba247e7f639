"""What a worker has read off a script that only asserts what calls with constants give."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from cruxcell.protocol import frames, payloads

from cruxboxd.zygotes.report import text

MOST_STEPS = 1 << 10
_CANDIDATE = "candidate"


@dataclass(frozen=True)
class Step:
    """What is expected of one call; `line` is its assertion's, 0 if how that fails is not known
    beforehand: it stands on several lines, or computes its message."""

    canonical: bytes
    line: int
    message: str


@dataclass(frozen=True)
class Series:
    """A script, taken apart: the name it calls, what is expected of each call, and the calls as a worker takes them."""

    name: str
    steps: tuple[Step, ...]
    calls: bytes

    def entry_point(self, asked: str) -> str:
        """The name of the program that is called, `asked` being the check's; "" where that is not certain."""
        if asked.isidentifier() and self.name in (asked, _CANDIDATE):
            return asked
        return "" if asked or self.name == _CANDIDATE else self.name


def read_series(expected: bytes, calls: bytes) -> Series | None:
    """The series, from the fields of a worker that has read the script; None if they are none."""
    try:
        name, *fields = frames.unpack(expected, 3 * MOST_STEPS)
        steps = []
        for head, message, canonical in zip(fields[0::3], fields[1::3], fields[2::3]):
            steps.append(Step(canonical, payloads.SERIES_STEP.unpack(head)[0], text(message)))
        return Series(name.decode(), tuple(steps), calls) if steps else None
    except (frames.FrameError, ValueError, UnicodeError, struct.error):
        return None
