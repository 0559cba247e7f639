"""Paired differences between models: size, significance, and the chance of a reversal on other tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cruxbox.stats.bootstrap import CONFIDENCE, RESAMPLES, interval, resample_means
from cruxbox.stats.panel import Floats, column_means

#: Data-set sizes for which the chance of a reversed order is given.
SIZES = (200, 400, 800, 1600)


@dataclass(frozen=True)
class Difference:
    """The pass@k of a model minus that of a baseline, as fractions, on the tasks that both know.

    Args:
        baseline, model: names of the two.
        tasks: number of tasks that both know.
        difference: the mean difference.
        low, high: ends of its bootstrap interval.
        p_value: two-sided, from the bootstrap.
        adjusted: `p_value` with Holm's adjustment for all comparisons made at once.
        t_test: p value of the paired t test on the same tasks.
        reversed: number of tasks -> share of draws of so many tasks that show the opposite order.
    """

    baseline: str
    model: str
    tasks: int
    difference: float
    low: float
    high: float
    p_value: float
    adjusted: float
    t_test: float
    reversed: dict[int, float]

    def significant(self, level: float = 1 - CONFIDENCE) -> bool:
        """Whether `adjusted` is below `level`: significant, with all comparisons made at once accounted for."""
        return bool(self.adjusted < level)


def differences(
    p: Floats,
    names: Sequence[str],
    baseline: int,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    sizes: Sequence[int] = SIZES,
) -> list[Difference]:
    """Every model against a baseline. A task counts where both are known.

    Args:
        p: pass rates in [0, 1], shape (tasks, models).
        names: names of the models.
        baseline: column of the baseline.
        resamples, seed: as in `resample_means`.
        confidence: coverage of the intervals.
        sizes: numbers of tasks for which the chance of a reversal is given.

    Returns:
        One `Difference` for each other model, in the order of the columns.
    """
    others = [column for column in range(p.shape[1]) if column != baseline]
    if not others:
        return []
    gaps = p[:, others] - p[:, [baseline]]
    observed = column_means(gaps)
    means = resample_means(gaps, resamples=resamples, seed=seed)
    low, high = interval(means, confidence)
    p_values = two_sided(means)
    turned = {
        size: reversal(resample_means(gaps, resamples=resamples, seed=seed, size=size), observed) for size in sizes
    }
    return [
        Difference(
            baseline=names[baseline],
            model=names[column],
            tasks=int((~np.isnan(gaps[:, at])).sum()),
            difference=float(observed[at]),
            low=float(low[at]),
            high=float(high[at]),
            p_value=float(p_values[at]),
            adjusted=float(adjusted),
            t_test=paired_t(gaps[:, at]),
            reversed={size: float(shares[at]) for size, shares in turned.items()},
        )
        for at, (column, adjusted) in enumerate(zip(others, holm(p_values)))
    ]


def two_sided(means: Floats) -> Floats:
    """Two-sided bootstrap p value of "no difference": twice the smaller share of differences beyond zero.

    One is added to each count, because a finite number of resamples cannot show a probability of zero.

    Args:
        means: mean differences, shape (resamples, models).

    Returns:
        Shape (models,), at least 2/(resamples + 1).
    """
    below = (means <= 0).sum(axis=0)
    above = (means >= 0).sum(axis=0)
    share = 2.0 * (np.minimum(below, above) + 1) / (len(means) + 1)
    return np.where(np.isnan(means).all(axis=0), np.nan, np.minimum(1.0, share))


def holm(p_values: Floats) -> Floats:
    """Holm's step-down adjustment of p values for several comparisons (Holm 1979).

    Args:
        p_values: shape (comparisons,).

    Returns:
        The adjusted p values, at most 1, in the same order.
    """
    order = np.argsort(p_values)
    factors = len(p_values) - np.arange(len(p_values))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * factors))
    return adjusted


def paired_t(gap: Floats) -> float:
    """Two-sided p value of the paired t test for differences of shape (tasks,); 1 if the models agree on every task."""
    known = gap[~np.isnan(gap)]
    if len(known) < 2:
        return float("nan")
    if np.ptp(known) == 0:
        return 1.0 if known[0] == 0 else 0.0
    from scipy import stats  # takes seconds of CPU time to load, and intervals do without

    return float(stats.ttest_1samp(known, 0.0).pvalue)


def reversal(means: Floats, observed: Floats) -> Floats:
    """How often resamples show the opposite order.

    Args:
        means: mean differences, shape (resamples, models).
        observed: the observed differences, shape (models,).

    Returns:
        Shares of resamples whose sign is opposite to the observed one, shape (models,); 0 if the observed one is 0.
    """
    opposite = (np.sign(means) == -np.sign(observed)) & (observed != 0)
    return np.asarray(opposite.mean(axis=0), dtype=np.float64)
