"""Evaluates expected values: constants and assertions, many texts in one worker that runs no candidate."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from sys import getsizeof

from cruxcell.protocol import frames, messages
from cruxcell.protocol.payloads import EXPECTED, LARGE_SCRIPT

from cruxboxd.judging.asserted import MOST_KNOWN_BYTES, Attempts, Rows, Series, read_rows, read_series
from cruxboxd.judging.cuts import cut
from cruxboxd.judging.literals import MOST_CHARACTERS, read_literal
from cruxboxd.judging.tasks import Kept, as_text, encoded
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.settings.config import DEFAULT_LIMITS, MIB, Limits
from cruxboxd.shared.turns import Turns
from cruxboxd.shared.waiting import together
from cruxboxd.zygotes.jobs import Job
from cruxboxd.zygotes.report import text
from cruxboxd.zygotes.setup import ZygoteKey

_TEXTS_A_JOB = 256
# Plain literals are read here where that saves a worker somebody waits for: of so few texts, or interactively. A worker
# that reads hundreds takes less of the daemon's time than reading them here would.
_FEW = 8
_BYTES_A_JOB = MIB
# A constant needs next to nothing; what needs more (9**9**9) is judged as an expression, under its check's limits.
_LIMITS = Limits(cpu_ms=250, wall_ms=10_000, memory_bytes=256 * MIB, steps=1_000_000, output_bytes=16 * MIB)
# Half a megabyte of numbers takes 0.5 s to compile, as long again for its tree, and half as long to be taken apart.
_LIMITS_OF_LARGE = replace(_LIMITS, cpu_ms=2_500, memory_bytes=DEFAULT_LIMITS.memory_bytes)
# Bytes: an object, a number in a tuple, and what holds a reading, with the key under which it is kept.
_OBJECT, _NUMBER, _SHELVED = 300, 40, 600


class Kind(Enum):
    """What a text turned out to be."""

    CONSTANT = messages.READ_CONSTANT
    EXPRESSION = messages.READ_EXPRESSION  # or a script that must be run
    ASSERTION = messages.READ_ASSERTION  # `assert <constant> == <expression>`
    SERIES = messages.READ_SERIES  # several such assertions about calls of one name with constants
    INVALID = messages.READ_INVALID
    UNREAD = b""  # our failure


@dataclass(frozen=True)
class Reading:
    """One text, read. `canonical` is the constant's (None when it holds NaN: it equals nothing); `text` is the other
    side of an assertion, or the sentence that says what is wrong; `code` that of a script which must be run, as workers
    take it: nobody looks into it here. `rows` is known of some of these. `attempts`: at an assertion by its call."""

    kind: Kind
    canonical: bytes | None = None
    text: str = ""
    series: Series | None = None
    code: bytes = b""
    rows: Rows | None = None
    attempts: Attempts = field(default_factory=Attempts, compare=False)

    @cached_property
    def size(self) -> int:
        """About how many bytes it holds."""
        size = _SHELVED + len(self.canonical or b"") + getsizeof(self.text) + len(self.code)
        if self.rows is not None:
            size += _OBJECT + len(self.rows.unbindable) + len(self.rows.calls) + MOST_KNOWN_BYTES
            size += _NUMBER * len(self.rows.lines)
        if self.series is not None:
            asserted = self.series.asserted
            size += len(self.series.calls) + sum(
                _OBJECT + len(each.canonical) + getsizeof(each.message) for each in asserted
            )
        return size


class Reader:
    """Reads the texts of a batch; `turns` are those of what the event loop itself does for it."""

    def __init__(
        self, scheduler: Scheduler, key: ZygoteKey, tenant: str, interactive: bool, turns: Turns | None = None
    ) -> None:
        self._scheduler, self._key = scheduler, key
        self._tenant, self._interactive = tenant, interactive
        self._turns = turns or Turns(lambda _tenant, _seconds: None)

    async def read(self, texts: Sequence[tuple[bytes, Kept]]) -> list[Reading]:
        """Read pairs of what a text is meant to be and the text, each distinct pair once; the readings in their order.
        Large scripts are read by themselves."""
        distinct = list(dict.fromkeys(texts))
        read: dict[tuple[bytes, Kept], Reading] = {}
        if self._interactive or len(distinct) <= _FEW:
            await self._turns.run(self._tenant, _read_here(distinct, read))
        rest = [item for item in distinct if item not in read]
        parts = cut(rest, _TEXTS_A_JOB, _BYTES_A_JOB, lambda item: len(item[1]))
        found = await together(*[self._read_part(part) for part in parts])
        read.update(zip(rest, [reading for part in found for reading in part]))
        return [read[item] for item in texts]

    async def _read_part(self, texts: Sequence[tuple[bytes, Kept]]) -> list[Reading]:
        """A worker that dies answers for the text it died on; the rest goes on in a new one."""
        read: list[Reading] = []
        while len(read) < len(texts):
            rest = texts[len(read) :]
            result = await self._scheduler.run(self._job(rest))
            if result.error:
                return read + [Reading(Kind.UNREAD, text=result.error)] * len(rest)
            found = readings(result.report, len(rest))
            read += found
            if len(found) < len(rest):
                read.append(Reading(Kind.EXPRESSION))
        return read

    def _job(self, texts: Sequence[tuple[bytes, Kept]]) -> Job:
        fields = [field for kind, item in texts for field in (kind, encoded(item))]
        return Job(
            key=self._key,
            kind=messages.JOB_READ,
            fields=fields,
            limits=_LIMITS_OF_LARGE if fields[0] == LARGE_SCRIPT else _LIMITS,
            tenant=self._tenant,
            interactive=self._interactive,
            follows=True,  # verdicts wait for what is expected of them, and it is little beside what they hold
            checks=len(texts),
            flags=messages.COMPUTE_PROFILE,
        )


def _read_here(texts: Sequence[tuple[bytes, Kept]], read: dict[tuple[bytes, Kept], Reading]) -> Iterator[None]:
    """Add the readings of the plain literals among the texts to `read`, in steps: one may take milliseconds."""
    for kind, item in texts:
        if kind != EXPECTED or len(item) > MOST_CHARACTERS:
            continue
        canonical = read_literal(as_text(item))
        if canonical is not None:
            read[kind, item] = Reading(Kind.CONSTANT, canonical)
        yield


def readings(report: bytes, most: int) -> list[Reading]:
    """What a worker read of at most so many texts, in their order, to the first record that it cannot have written."""
    records: list[list[bytes]] = []
    with contextlib.suppress(frames.FrameError):
        frames.split(report, records, most, _FIELDS)
    found = []
    for record in records:
        reading = _reading(record)
        if reading is None:
            break
        found.append(reading)
    return found


_FIELDS = 3  # class, canonical value or sentence, other text
_KINDS = {kind.value: kind for kind in Kind if kind is not Kind.UNREAD}


def _reading(record: list[bytes]) -> Reading | None:
    kind = _KINDS.get(record[0]) if len(record) == _FIELDS else None
    if kind is None:
        return None
    if kind is Kind.INVALID:
        return Reading(kind, None, text(record[1]))
    if kind is Kind.EXPRESSION:
        return Reading(kind, code=record[1], rows=read_rows(record[2]))
    if kind is Kind.SERIES:
        series = read_series(record[1], record[2])
        return None if series is None else Reading(kind, series=series)
    try:
        return Reading(kind, record[1] or None, record[2].decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError:
        return None
