"""The models of a comparison as arrays with a row for each task and a column for each model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cruxbox.errors import DataError
from cruxbox.stats.scored import Scored

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Panel:
    """Counts of the tasks that all models share. Arrays have the shape (tasks, models).

    Args:
        ids: ids of the tasks.
        names: names of the models.
        n: numbers of known verdicts.
        c: numbers of those that passed.
        p: c/n, the pass@1 of each task; NaN where n is 0.
        left_out: number of tasks that some model lacks.
    """

    ids: tuple[str, ...]
    names: tuple[str, ...]
    n: Ints
    c: Ints
    p: Floats
    left_out: int

    def column(self, name: str) -> int:
        """The column of a model.

        Args:
            name: the model.

        Returns:
            Its index in `names`.

        Raises:
            DataError: there is no such model; the message lists the models.
        """
        if name not in self.names:
            raise DataError(f"no model is called {name!r}; there are: {', '.join(self.names)}")
        return self.names.index(name)

    def best_first(self) -> list[int]:
        """The columns by mean p, the highest first; equal ones stay in their order."""
        return [int(column) for column in np.argsort(-column_means(self.p), kind="stable")]

    def reordered(self, columns: Sequence[int]) -> Panel:
        """The same panel with its models in the order of `columns`; the tasks stay where they are."""
        at = list(columns)
        names = tuple(self.names[column] for column in at)
        return replace(self, names=names, n=self.n[:, at], c=self.c[:, at], p=self.p[:, at])


def panel_of(models: Sequence[Scored]) -> Panel:
    """Put models side by side, on the tasks that all of them have, in the order of the first model.

    Args:
        models: scored models, at least one.

    Returns:
        The counts of verdicts.

    Raises:
        DataError: there is no model, no task that all have, or a model without a known verdict.
    """
    if not models:
        raise DataError("no scored file is given")
    shared = set(models[0].verdicts).intersection(*(model.verdicts for model in models[1:]))
    ids = tuple(id for id in models[0].verdicts if id in shared)
    if not ids:
        raise DataError("the scored files have no task in common")
    for model in models:
        if all(verdict is None for id in ids for verdict in model.verdicts[id]):
            raise DataError(f"{model.name}: not one check of the {len(ids)} shared tasks is decided")
    every = {id for model in models for id in model.verdicts}
    n = np.array([[sum(v is not None for v in model.verdicts[id]) for model in models] for id in ids], dtype=np.int64)
    c = np.array([[sum(v is True for v in model.verdicts[id]) for model in models] for id in ids], dtype=np.int64)
    p = np.divide(c, n, out=np.full(n.shape, np.nan), where=n > 0)
    return Panel(ids, tuple(model.name for model in models), n, c, p, len(every) - len(ids))


def column_means(values: Floats) -> Floats:
    """The mean of each column's known entries, shape (models,); NaN where there is none."""
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    totals = np.where(known, values, 0.0).sum(axis=0)
    means: Floats = np.divide(totals, counts, out=np.full(values.shape[1], np.nan), where=counts > 0)
    return means


def unit_histogram(values: Floats, bins: int) -> Ints:
    """How many of the values, which lie between 0 and 1, are in each of `bins` equal bins; 1 is in the last one.

    Shares such as 3/10 sit on an edge: both sides are rounded alike, so that they fall to the right of it.
    """
    edges = np.round(np.arange(bins + 1) / bins, 12)
    counts: Ints = np.histogram(np.round(values[~np.isnan(values)], 12), bins=edges)[0]
    return counts


def pass_at_k(n: Ints, c: Ints, k: int) -> Floats:
    """The unbiased estimate of pass@k, 1 − C(n−c, k)/C(n, k) (Chen et al., arXiv 2107.03374, equation 1).

    Args:
        n: numbers of samples, of any shape.
        c: numbers of passed samples, the same shape.
        k: number of samples drawn.

    Returns:
        Fractions of the same shape; NaN where n < k. Computed as a product of k factors, exact to rounding for any n.

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError(f"k must be 1 or more, is {k}")
    none_passes = np.ones(n.shape)
    for drawn in range(k):
        none_passes *= np.clip(n - c - drawn, 0, None) / np.maximum(n - drawn, 1)
    return np.asarray(np.where(n >= k, 1.0 - none_passes, np.nan), dtype=np.float64)
