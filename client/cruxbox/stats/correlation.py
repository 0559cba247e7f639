"""Correlations of p between models over tasks: do models find the same tasks hard?"""

from __future__ import annotations

import numpy as np

from cruxbox.stats.panel import Floats

_METHODS = {"pearson": "pearsonr", "spearman": "spearmanr", "kendall": "kendalltau"}  # of scipy.stats


def correlations(p: Floats) -> dict[str, Floats]:
    """Correlations of p between models: do they find the same tasks hard?

    Args:
        p: pass rates in [0, 1], shape (tasks, models); a pair is compared on the tasks that both know.

    Returns:
        "pearson", "spearman", "kendall" (τ-b) -> matrix of shape (models, models). NaN where a model has the same p on
        every task.
    """
    return {name: _matrix(p, name) for name in _METHODS}


def relation(method: str, x: Floats, y: Floats) -> float:
    """One correlation (`pearson`, `spearman` or `kendall`) of what both know; NaN where nothing can be said."""
    both = ~np.isnan(x) & ~np.isnan(y)
    x, y = x[both], y[both]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    from scipy import stats  # takes seconds of CPU time to load, and intervals do without

    return float(getattr(stats, _METHODS[method])(x, y).statistic)


def _matrix(p: Floats, method: str) -> Floats:
    models = p.shape[1]
    result = np.full((models, models), np.nan)
    for i in range(models):
        for j in range(i, models):
            value = relation(method, p[:, i], p[:, j])
            if not np.isnan(value):
                result[i, j] = result[j, i] = 1.0 if i == j else value
    return result
