"""What a filter has done so far, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from cruxbox.filtering.candidates import BadRow
from cruxbox.filtering.judging import Judged


@dataclass
class Summary:
    """Counts. A refused pair counts once in `rejected`, and once for each of its reasons in `reasons`."""

    rows: int = 0
    bad_rows: int = 0
    pairs: int = 0
    kept: int = 0
    rejected: int = 0
    undecided: int = 0
    given_differs: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, result: BadRow | Judged) -> None:
        """Count one result."""
        if isinstance(result, BadRow):
            self.rows += 1
            self.bad_rows += 1
            return
        self.pairs += 1
        self.rows += ends_row(result)
        self.given_differs += result.given_differs
        if result.is_kept:
            self.kept += 1
        else:
            self.rejected += 1
            self.undecided += "UNDECIDED" in result.reasons
            self.reasons.update(result.reasons)

    def as_dict(self) -> dict[str, Any]:
        """As JSON; reasons by frequency."""
        counts = {name: value for name, value in vars(self).items() if name != "reasons"}
        return {**counts, "reasons": dict(self.reasons.most_common())}

    @classmethod
    def of_dict(cls, values: dict[str, Any]) -> Summary:
        """What `as_dict` gave."""
        return cls(**{**values, "reasons": Counter(values["reasons"])})


def ends_row(result: BadRow | Judged) -> bool:
    """Is this the last result of its row?"""
    return isinstance(result, BadRow) or result.pair.at == len(result.pair.candidate.inputs) - 1
