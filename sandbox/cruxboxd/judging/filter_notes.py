"""What a worker notes about checks beside their results, for filters of data sets.

Notes decide nothing: they are the worker's word about its own candidate, in a vocabulary that is fixed.
"""

from __future__ import annotations

from functools import lru_cache

from cruxcell.protocol import messages

from cruxboxd.judging.outcomes import Report

Notes = dict[int, tuple[str, ...]]


def split(report: Report) -> tuple[Report, Notes]:
    """The report without its notes, and the notes by check. A malformed note stays, and is a forgery like any other."""
    notes: Notes = {}
    rest = []
    for record in report.records:
        if not record or record[0] != messages.FINDINGS or not _take(record, notes):
            rest.append(record)
    if len(rest) == len(report.records):
        return report, notes
    return Report(report.plan, rest, report.garbled, report.harness_error, report.syscall), notes


def _take(record: list[bytes], notes: Notes) -> bool:
    """Add what a record notes about checks that follow each other; False if it is malformed."""
    named = [_names(places) for places in record[2:]]
    if len(record) < 2 or len(record[1]) != 4 or None in named:
        return False
    for index, names in enumerate(named, int.from_bytes(record[1], "little")):
        if names:
            known = notes.get(index, ())
            notes[index] = known + tuple([name for name in names if name not in known]) if known else names
    return True


@lru_cache(maxsize=256)
def _names(places: bytes) -> tuple[str, ...] | None:
    """The findings at these places in FINDING_NAMES, each once; None if one is not there."""
    most = len(messages.FINDING_NAMES)
    if len(places) > most or max(places, default=0) >= most:
        return None
    return tuple(dict.fromkeys(map(messages.FINDING_NAMES.__getitem__, places)))
