"""Statistics of a data set: characters, lines, steps and methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cruxbox.building.methods import METHODS, Methods, methods_used
from cruxbox.building.rows import Row
from cruxbox.stats.panel import Floats, Ints

#: A histogram ends at this many times the 99th percentile; a single program with 3,175 steps would flatten the rest.
FAR_OUT = 3.0
_BINS = 40


@dataclass(frozen=True)
class Spread:
    """How a whole number is spread over the rows.

    Args:
        rows: number of rows.
        total, mean: sum and mean of the numbers.
        bounds: minimum, three quartiles (linear interpolation, as in pandas' qcut) and maximum.
        quarters: `quarters[i]` counts the rows in (bounds[i], bounds[i+1]]; the first includes its lower bound.
        edges, counts: a histogram; `counts[i]` rows lie between `edges[i]` and `edges[i+1]`.
        beyond: numbers far above the 99th percentile, which the histogram leaves out.
    """

    rows: int
    total: int
    mean: float
    bounds: tuple[float, ...]
    quarters: tuple[int, ...]
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    beyond: tuple[int, ...]


@dataclass(frozen=True)
class DatasetStats:
    """The result of `describe`.

    Args:
        rows: number of rows.
        chars, lines: characters and lines of the programs.
        chars_asserted, lines_asserted: the same of program and assertion up to its `==`, as the CRUXEval paper counts
            75 to 300 characters and 3 to 13 lines.
        steps: steps of the calls; None if no row has them.
        methods: name of a method -> number of rows that use it at least once, most used first.
        methods_unused: methods that no row uses.
        without_method: number of rows that use no method.
    """

    rows: int
    chars: Spread
    lines: Spread
    chars_asserted: Spread
    lines_asserted: Spread
    steps: Spread | None
    methods: dict[str, int]
    methods_unused: tuple[str, ...]
    without_method: int


def describe(
    rows: Sequence[Row], steps: Sequence[int | None] | None = None, *, methods: Methods = Methods.CALL
) -> DatasetStats:
    """Statistics of a data set.

    Args:
        rows: the data set, at least one row.
        steps: steps of each row, instead of the rows' own; None in it is a row that has none.
        methods: what it is to use a method.

    Returns:
        Lengths, steps and methods.
    """
    counted = [row.steps for row in rows] if steps is None else steps
    known = [count for count in counted if count is not None]
    used = [methods_used(row.code, methods) for row in rows]
    asserted = [f"{row.code}\nassert {row.call} ==" for row in rows]
    counts = Counter(name for names in used for name in names)
    every = {name for names in METHODS.values() for name in names}
    return DatasetStats(
        rows=len(rows),
        chars=spread([len(row.code) for row in rows]),
        lines=spread([len(row.code.splitlines()) for row in rows]),
        chars_asserted=spread([len(text) for text in asserted]),
        lines_asserted=spread([len(text.splitlines()) for text in asserted]),
        steps=spread(known) if known else None,
        methods=dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        methods_unused=tuple(sorted(every - set(counts))),
        without_method=sum(not names for names in used),
    )


def spread(values: Sequence[int]) -> Spread:
    """Quartiles and a histogram of whole numbers.

    Args:
        values: at least one whole number.

    Returns:
        Their spread.
    """
    numbers = np.asarray(values, dtype=np.int64)
    bounds = np.quantile(numbers, [0, 0.25, 0.5, 0.75, 1])
    quarter = quarter_of(numbers, bounds)
    edges, counts, beyond = histogram(numbers)
    return Spread(
        rows=len(numbers),
        total=int(numbers.sum()),
        mean=float(numbers.mean()),
        bounds=tuple(float(bound) for bound in bounds),
        quarters=tuple(int((quarter == at).sum()) for at in range(4)),
        edges=edges,
        counts=counts,
        beyond=beyond,
    )


def quarter_of(numbers: Ints, bounds: Floats) -> Ints:
    """0 to 3 for each number: which of the intervals (bounds[i], bounds[i+1]] holds it; the minimum is in the first."""
    return np.clip(np.searchsorted(bounds[1:-1], numbers, side="left"), 0, 3)


def histogram(numbers: Ints) -> tuple[tuple[float, ...], tuple[int, ...], tuple[int, ...]]:
    """Edges and counts of at most 40 bins of the same whole width, and the values that are too far out to show."""
    reach = max(FAR_OUT * float(np.quantile(numbers, 0.99)), 1.0)
    shown, beyond = numbers[numbers <= reach], numbers[numbers > reach]
    low, high = int(shown.min()), int(shown.max())
    width = -(-(high - low + 1) // _BINS)
    # Edges lie between whole numbers, so that no value sits on one.
    edges = np.arange(low, high + width + 1, width) - 0.5
    counts, _ = np.histogram(shown, bins=edges)
    return tuple(map(float, edges)), tuple(map(int, counts)), tuple(sorted(map(int, beyond)))
