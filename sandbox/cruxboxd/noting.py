"""What a worker notes about a check beside its result, for filters of data sets.

Notes decide nothing: they are the worker's word about its own candidate, in a vocabulary that is fixed.
"""

from __future__ import annotations

from cruxcell import messages
from cruxcell.reports import NUMBERS

from cruxboxd.verdict import Report

Notes = dict[int, tuple[str, ...]]


def split(report: Report) -> tuple[Report, Notes]:
    """The report without its notes, and the notes by check. A malformed note stays, and is a forgery like any other."""
    if not any(record[:1] == [messages.FINDINGS] for record in report.records):
        return report, {}
    notes: Notes = {}
    rest = []
    for record in report.records:
        places = _places(record)
        if places is None:
            rest.append(record)
            continue
        index = NUMBERS.unpack(record[1])[0]
        known = notes.get(index, ())
        notes[index] = known + tuple(
            name for name in map(messages.FINDING_NAMES.__getitem__, places) if name not in known
        )
    return Report(report.plan, rest, report.garbled, report.harness_error, report.syscall), notes


def _places(record: list[bytes]) -> bytes | None:
    if record[:1] != [messages.FINDINGS] or len(record) != 3 or len(record[1]) != NUMBERS.size:
        return None
    is_known = len(record[2]) <= len(messages.FINDING_NAMES) and max(record[2], default=0) < len(messages.FINDING_NAMES)
    return record[2] if is_known else None
