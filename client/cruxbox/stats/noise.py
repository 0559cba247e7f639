"""Two kinds of noise in a pass@1, after the CRUXEval paper.

Type 1 is the choice of tasks: the deviation of the bootstrap means, close to std(p)/√tasks. Type 2 is the sampling of
generations: √(Σ pᵢ(1 − pᵢ)/(nᵢ − 1))/tasks, what remains when the tasks stay and the model is asked again.
"""

from __future__ import annotations

import numpy as np

from cruxbox.stats.panel import Floats, Ints


def type1(means: Floats) -> Floats:
    """Deviation of the bootstrap means (resamples × models), for each model."""
    return np.asarray(np.nanstd(means, axis=0), dtype=np.float64)


def type1_closed(p: Floats) -> Floats:
    """What type 1 tends to with many resamples: std(p)/√tasks."""
    known = (~np.isnan(p)).sum(axis=0)
    return np.asarray(np.nanstd(p, axis=0) / np.sqrt(known), dtype=np.float64)


def type2(p: Floats, n: Ints) -> Floats:
    """Deviation of pass@1 over repeated sampling of the same tasks, for each model.

    One sample a task says nothing of it: NaN for a model that has a task with a single one.
    """
    variance = np.divide(p * (1 - p), n - 1, out=np.zeros(p.shape), where=n > 1)
    variance = np.where(n == 1, np.nan, variance)
    return np.asarray(np.sqrt(variance.sum(axis=0)) / (n > 0).sum(axis=0), dtype=np.float64)
