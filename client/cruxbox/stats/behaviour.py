"""Kinds of failures: shared by models, repaired by chain of thought; and the diversity of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cruxbox.stats.panel import Floats

#: Above this share of passed samples a task counts as solved by a model, in the 2×2 tables.
SOLVED_ABOVE = 0.5


def conditional_failure(p: Floats, below: float = 0.0) -> Floats:
    """How well model Y does where model X fails, relative to how well it does at large: mean(Y | X fails)/mean(Y).

    Args:
        p: pass rates in [0, 1], shape (tasks, models).
        below: X fails a task when its p is less than this; with 0.0, when its p is 0.

    Returns:
        Shape (models, models), line X and column Y. 1 means that failures have nothing in common, 0 that Y fails
        wherever X does. NaN where X never fails or Y never passes.
    """
    models = p.shape[1]
    result = np.full((models, models), np.nan)
    for x in range(models):
        failed = p[:, x] < below if below > 0 else p[:, x] == 0
        for y in range(models):
            both = ~np.isnan(p[:, y]) & ~np.isnan(p[:, x])
            if (both & failed).any() and p[both, y].mean() > 0:
                result[x, y] = p[both & failed, y].mean() / p[both, y].mean()
    return result


@dataclass(frozen=True)
class Confusion:
    """Direct generation against chain of thought, over the tasks that both know.

    Args:
        direct, cot: names of the two models.
        both, only_direct, only_cot, neither: numbers of tasks that are solved (p > 0.5) by both, by one, by none.
        edges: edges of a histogram of p_cot − p_direct, from −1.05 to 1.05.
        counts: `counts[i]` tasks lie between `edges[i]` and `edges[i+1]`.
    """

    direct: str
    cot: str
    both: int
    only_direct: int
    only_cot: int
    neither: int
    edges: tuple[float, ...]
    counts: tuple[int, ...]


def cot_confusion(direct: Floats, cot: Floats, names: tuple[str, str]) -> Confusion:
    """Compare the tasks that a model solves directly and with a chain of thought.

    Args:
        direct, cot: pass rates in [0, 1], shape (tasks,), of the same tasks; NaN is an unknown one.
        names: names of the two models.

    Returns:
        The 2×2 table and the histogram of the change, over the tasks that both know.
    """
    known = ~np.isnan(direct) & ~np.isnan(cot)
    d, t = direct[known] > SOLVED_ABOVE, cot[known] > SOLVED_ABOVE
    # Bins are centred on the multiples of 0.1, so that "no change" has a bin of its own.
    edges = (np.arange(-10, 12) - 0.5) / 10
    counts, _ = np.histogram(np.round(cot[known] - direct[known], 12), bins=np.round(edges, 12))
    return Confusion(
        direct=names[0],
        cot=names[1],
        both=int((d & t).sum()),
        only_direct=int((d & ~t).sum()),
        only_cot=int((~d & t).sum()),
        neither=int((~d & ~t).sum()),
        edges=tuple(float(edge) for edge in edges),
        counts=tuple(int(count) for count in counts),
    )


def diversity(generations: Mapping[str, Sequence[str]], ids: Iterable[str]) -> tuple[int, ...]:
    """How many distinct answers a model gives to each task.

    Args:
        generations: task id -> its generations.
        ids: the tasks.

    Returns:
        Numbers of distinct texts, without white space around them, in the order of `ids`; 0 for a task without
        generations.
    """
    return tuple(len({text.strip() for text in generations.get(id, ())}) for id in ids)


@dataclass(frozen=True)
class Shares:
    """Shares of the tasks with a known p, in [0, 1]; NaN if no p is known.

    Args:
        solved: tasks with p = 1.
        unsolved: tasks with p = 0.
        functional_diversity: tasks with 0.1 < p < 0.9.
    """

    solved: float
    unsolved: float
    functional_diversity: float


def shares(p: Floats) -> Shares:
    """How many tasks a model always solves, never solves, and sometimes solves.

    Args:
        p: pass rates in [0, 1], shape (tasks,); NaN is an unknown one.

    Returns:
        Shares of the tasks with a known p.
    """
    known = p[~np.isnan(p)]
    if not len(known):
        return Shares(float("nan"), float("nan"), float("nan"))
    between = (known > 0.1) & (known < 0.9)
    return Shares(float((known == 1).mean()), float((known == 0).mean()), float(between.mean()))
