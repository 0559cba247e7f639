"""Seals: the report of a shared worker counts up to its last valid seal.

Before the first check of a shared worker, and after each, the native helper compares the interpreter's state with a
snapshot and writes a seal (`cruxcell/native/src/seal.c`). A seal holds a one-time token, which came with the payload
and which only C memory of the worker holds, and the number of bytes that the harness had written. So

* the harness wrote what stands before a seal, one answer for each check, and no check left changed state behind;
* what stands after the last seal was written while the next check ran. Only the record of a limit that ended this check
  counts there. Otherwise the check runs again alone, also where it made a system call that the filter answers with the
  worker's end: in shared workers most of them are (`seccomp/table.py`).
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

from cruxcell.protocol import frames, messages

_SIZE = messages.TOKEN_BYTES
_HEAD = frames.frame([messages.SEAL, bytes(_SIZE + messages.SEAL_TAIL.size)])[: -_SIZE - messages.SEAL_TAIL.size]
RECORD_BYTES = len(_HEAD) + _SIZE + messages.SEAL_TAIL.size
_HERMETIC_PLAN = [messages.PLAN, b"1"]
_MOST_RECORDS, _MOST_FIELDS = 8, 1 << 10
# For a worker that ended between an answer and its seal, whatever it was that ended it.
UNFINISHED = "unfinished"
# For a system call that the filter answers with the worker's end.
SYSTEM_CALL = "system_call"
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Unsealed:
    """A report without its seals, as far as it counts; `broken` names what broke the last one, if it is broken."""

    report: bytes
    broken: tuple[str, ...] = ()


def new_tokens(count: int) -> bytes:
    """So many tokens, which nobody can guess."""
    return os.urandom(_SIZE * count)


def unseal(report: bytes, tokens: bytes, is_whole: bool = True) -> Unsealed:
    """What counts of a worker's report.

    Args:
        report: all that the worker wrote.
        tokens: those it was given, in order.
        is_whole: False for a report that goes on, or was cut off at the limit on its size: what stands behind the last
            seal is then left out, but breaks nothing.
    """
    kept: list[bytes] = []
    at = 0
    for place in range(0, len(tokens), _SIZE):
        mark = _HEAD + tokens[place : place + _SIZE]
        found = report.find(mark, at)
        if found < 0:
            break
        end = found + len(mark) + messages.SEAL_TAIL.size
        if report[found + len(mark) : end] != messages.SEAL_TAIL.pack(found):
            break  # bytes that the harness did not say stand in front of it
        kept.append(report[at:found])
        at = end
    tail = report[at:]
    if not kept:
        return _without_seals(report) if is_whole else Unsealed(report)
    body = b"".join(kept)
    if not tail or not is_whole:
        return Unsealed(body)
    records = _records(tail)
    kinds = [record[0] if record else b"" for record in records]
    if len(kinds) == 1 and kinds[0] in messages.LIMITS and _is_whole(tail, records):
        return Unsealed(body + tail)
    if kinds[:1] == [messages.SECTION] and kinds[1:2] in ([], [messages.PLAN], [messages.VIOLATED]):
        # It ended between the mark of a job and its first check: while it read the texts, say.
        return Unsealed(body + frames.frame(records[0]))
    return Unsealed(body, _names(records))


def _without_seals(report: bytes) -> Unsealed:
    """No candidate ran before the first seal. A program that is not hermetic has none: its first call is alone."""
    records = _records(report)
    plans = [place for place, record in enumerate(records) if record[:1] == [messages.PLAN]]
    if not plans or records[plans[0]][:2] != _HERMETIC_PLAN:
        return Unsealed(report)
    head = b"".join(frames.frame(record) for record in records[: plans[0] + 1])
    others = {record[0] if record else b"" for record in records[plans[0] + 1 :]}
    return Unsealed(head) if others <= {messages.FINDINGS} else Unsealed(head, _names(records))


def _records(data: bytes) -> list[list[bytes]]:
    """The first whole records there are."""
    found: list[list[bytes]] = []
    with contextlib.suppress(frames.FrameError):
        frames.split(data, found, _MOST_RECORDS, _MOST_FIELDS)
    return found


def _is_whole(data: bytes, records: list[list[bytes]]) -> bool:
    return sum(len(frames.frame(record)) for record in records) == len(data)


def _names(records: list[list[bytes]]) -> tuple[str, ...]:
    """What the worker says differed, in our words; it can say nothing else."""
    for record in records:
        if len(record) == 2 and record[0] == messages.UNSEALED and len(record[1]) == 8:
            bits = int.from_bytes(record[1], "little")
            named = tuple(name for place, name in enumerate(messages.SEAL_NAMES) if bits >> place & 1)
            return named or (UNKNOWN,)
    return (SYSTEM_CALL,) if [messages.VIOLATED] in [record[:1] for record in records] else (UNFINISHED,)
