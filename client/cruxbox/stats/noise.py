"""Two kinds of noise in a pass@1, as in the CRUXEval paper (arXiv 2401.03065).

Type 1 is the choice of tasks: the deviation of the bootstrap means, close to std(p)/√tasks. Type 2 is the sampling of
generations: √(Σ pᵢ(1 − pᵢ)/(nᵢ − 1))/tasks, what remains when the tasks stay and the model is asked again.

`noise_by_size` gives type 1 for benchmarks of other sizes (the paper's Figure 1), with some of the draws themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cruxbox.stats.bootstrap import CONFIDENCE, RESAMPLES, interval, resample_means
from cruxbox.stats.panel import Floats, Ints

#: So many draws of each size are kept, to be shown.
DRAWS_SHOWN = 30


@dataclass(frozen=True)
class AtSize:
    """pass@1, as a fraction, over bootstrap draws of another number of tasks.

    Args:
        size: number of tasks in each draw.
        noise: standard deviation over the draws.
        low, high: ends of their percentile interval.
        draws: the first 30 of them.
    """

    size: int
    noise: float
    low: float
    high: float
    draws: tuple[float, ...]


def noise_by_size(
    p: Floats,
    sizes: Sequence[int],
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> list[tuple[AtSize, ...]]:
    """Noise of pass@1 for benchmarks of other sizes (the paper's Figure 1).

    Args:
        p: pass rates in [0, 1], shape (tasks, models).
        sizes: numbers of tasks.
        resamples, seed: as in `resample_means`.
        confidence: coverage of the interval.

    Returns:
        For each model, one `AtSize` for each size.
    """
    found: list[list[AtSize]] = [[] for _ in range(p.shape[1])]
    for size in sizes:
        means = resample_means(p, resamples=resamples, seed=seed, size=size)
        noise = type1(means)
        low, high = interval(means, confidence)
        for at, column in enumerate(found):
            draws = tuple(float(mean) for mean in means[:DRAWS_SHOWN, at])
            column.append(AtSize(size, float(noise[at]), float(low[at]), float(high[at]), draws))
    return [tuple(column) for column in found]


def type1(means: Floats) -> Floats:
    """Type 1 noise: the standard deviation of pass@1 over other tasks of the same kind.

    Args:
        means: bootstrap means, shape (resamples, models).

    Returns:
        Shape (models,).
    """
    return np.asarray(np.nanstd(means, axis=0), dtype=np.float64)


def type1_closed(p: Floats) -> Floats:
    """Type 1 noise in closed form, std(p)/√tasks.

    Args:
        p: pass rates in [0, 1], shape (tasks, models); NaN is an unknown one.

    Returns:
        Shape (models,).
    """
    known = (~np.isnan(p)).sum(axis=0)
    return np.asarray(np.nanstd(p, axis=0) / np.sqrt(known), dtype=np.float64)


def type2(p: Floats, n: Ints) -> Floats:
    """Type 2 noise: the standard deviation of pass@1 when the same tasks are sampled again.

    Args:
        p: pass rates in [0, 1], shape (tasks, models).
        n: numbers of samples, the same shape.

    Returns:
        Shape (models,). NaN for a model with a task of a single sample, which gives no estimate.
    """
    variance = np.divide(p * (1 - p), n - 1, out=np.zeros(p.shape), where=n > 1)
    variance = np.where(n == 1, np.nan, variance)
    return np.asarray(np.sqrt(variance.sum(axis=0)) / (n > 0).sum(axis=0), dtype=np.float64)
