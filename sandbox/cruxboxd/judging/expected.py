"""Reading what people expect: constants and assertions, many texts a worker, no candidate anywhere near."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from cruxcell.protocol import frames, messages

from cruxboxd.judging.outcomes import text
from cruxboxd.scheduling.scheduler import Pool
from cruxboxd.settings.config import MIB, Limits
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.setup import ZygoteKey

_TEXTS_A_JOB = 256
_BYTES_A_JOB = MIB
# A constant needs next to nothing; what needs more (9**9**9) is judged as an expression, under its check's limits.
_LIMITS = Limits(cpu_ms=250, wall_ms=10_000, memory_bytes=256 * MIB, steps=1_000_000, output_bytes=16 * MIB)


class Kind(Enum):
    """What a text turned out to be."""

    CONSTANT = messages.READ_CONSTANT
    EXPRESSION = messages.READ_EXPRESSION  # or a script that must be run
    ASSERTION = messages.READ_ASSERTION  # `assert <constant> == <expression>`
    INVALID = messages.READ_INVALID
    UNREAD = b""  # our failure


@dataclass(frozen=True)
class Reading:
    """One text, read. `canonical` is the constant's (None when it holds NaN: it equals nothing); `text` is the other
    side of an assertion, or the sentence that says what is wrong."""

    kind: Kind
    canonical: bytes | None = None
    text: str = ""


class Reader:
    """Reads the texts of a batch."""

    def __init__(self, pool: Pool, key: ZygoteKey, tenant: str, interactive: bool) -> None:
        self._pool, self._key = pool, key
        self._tenant, self._interactive = tenant, interactive

    async def read(self, texts: Sequence[tuple[bytes, str]]) -> list[Reading]:
        """Read (EXPECTED or SCRIPT, text) pairs, each distinct pair once; the readings in their order."""
        distinct = list(dict.fromkeys(texts))
        slices = await asyncio.gather(*[self._read_slice(part) for part in _slices(distinct)])
        readings = dict(zip(distinct, [reading for part in slices for reading in part]))
        return [readings[item] for item in texts]

    async def _read_slice(self, texts: list[tuple[bytes, str]]) -> list[Reading]:
        """A worker that dies answers for the text it died on; the rest goes on in a new one."""
        readings: list[Reading] = []
        while len(readings) < len(texts):
            rest = texts[len(readings) :]
            result = await self._pool.run(self._job(rest))
            if result.error:
                return readings + [Reading(Kind.UNREAD, text=result.error)] * len(rest)
            found = _readings(result)[: len(rest)]
            readings += found
            if len(found) < len(rest):
                readings.append(Reading(Kind.EXPRESSION))
        return readings

    def _job(self, texts: list[tuple[bytes, str]]) -> Job:
        fields = [field for kind, item in texts for field in (kind, item.encode("utf-8", "surrogatepass"))]
        return Job(
            key=self._key,
            kind=messages.JOB_READ,
            fields=fields,
            limits=_LIMITS,
            tenant=self._tenant,
            interactive=self._interactive,
            checks=len(texts),
            flags=messages.COMPUTE_PROFILE,
        )


def _slices(texts: list[tuple[bytes, str]]) -> list[list[tuple[bytes, str]]]:
    slices: list[list[tuple[bytes, str]]] = []
    room = 0
    for item in texts:
        room -= len(item[1])
        if not slices or room < 0 or len(slices[-1]) >= _TEXTS_A_JOB:
            slices.append([])
            room = _BYTES_A_JOB
        slices[-1].append(item)
    return slices


def _readings(result: Result) -> list[Reading]:
    try:
        records, _ = frames.split(result.report)
    except frames.FrameError:
        return []
    readings = []
    for record in records:
        if len(record) != 3:
            break
        kind = Kind(record[0])
        if kind is Kind.INVALID:
            readings.append(Reading(kind, None, text(record[1])))
        else:
            readings.append(Reading(kind, record[1] or None, record[2].decode("utf-8", "surrogatepass")))
    return readings
