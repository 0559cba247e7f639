"""Do models find the same tasks hard? Correlations of p between models, task by task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from cruxbox.stats.panel import Floats

_METHODS: dict[str, Callable[[Floats, Floats], Any]] = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
}


def correlations(p: Floats) -> dict[str, Floats]:
    """Pearson, Spearman and Kendall (τ-b) matrices, over the tasks both models of a pair know.

    NaN where a model has the same p on every task: nothing can be said then.
    """
    return {name: _matrix(p, method) for name, method in _METHODS.items()}


def _matrix(p: Floats, method: Callable[[Floats, Floats], Any]) -> Floats:
    models = p.shape[1]
    result = np.full((models, models), np.nan)
    for i in range(models):
        for j in range(i, models):
            both = ~np.isnan(p[:, i]) & ~np.isnan(p[:, j])
            x, y = p[both, i], p[both, j]
            if len(x) > 1 and np.ptp(x) > 0 and np.ptp(y) > 0:
                result[i, j] = result[j, i] = 1.0 if i == j else float(method(x, y).statistic)
    return result
