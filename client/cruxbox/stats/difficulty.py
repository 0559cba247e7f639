"""Difficulty of tasks: by task, by the methods used, by length and number of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cruxbox.building.methods import Methods, methods_used
from cruxbox.building.rows import Row
from cruxbox.stats.dataset import quarter_of
from cruxbox.stats.panel import Floats, column_means, unit_histogram

#: A method is ranked when at least so many tasks use it.
FEWEST_TASKS = 5
#: How many methods stand at either end of the ranking.
RANKED = 7

_BINS = 20


@dataclass(frozen=True)
class Histogram:
    """`counts[i]` tasks lie between `edges[i]` and `edges[i+1]`; the last bin has its right edge too."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """Tasks that have something in common.

    Args:
        name: what they have in common.
        tasks: how many there are.
        mean: their p, a fraction, averaged over tasks and models.
        by_model: their mean p for each model, in the order of the columns.
    """

    name: str
    tasks: int
    mean: float
    by_model: tuple[float, ...]


def task_difficulty(p: Floats) -> Floats:
    """Mean p of each task over the models; low is hard.

    Args:
        p: pass rates in [0, 1], shape (tasks, models); NaN is an unknown one.

    Returns:
        Shape (tasks,); NaN for a task that no model knows.
    """
    return column_means(p.T)


def difficulty_histogram(p: Floats) -> Histogram:
    """Tasks by their mean p over the models.

    Args:
        p: pass rates in [0, 1], shape (tasks, models).

    Returns:
        20 bins from 0 to 1.
    """
    counts = unit_histogram(task_difficulty(p), _BINS)
    return Histogram(tuple(edge / _BINS for edge in range(_BINS + 1)), tuple(map(int, counts)))


def by_method(p: Floats, ids: Sequence[str], rows: Mapping[str, Row], methods: Methods = Methods.CALL) -> list[Group]:
    """Tasks by the methods that their programs use. A task counts once for each method, a method that fewer than
    FEWEST_TASKS of them use for none.

    Args:
        p: pass rates in [0, 1], shape (tasks, models).
        ids: ids of the tasks.
        rows: id -> row; tasks without a row are left out.
        methods: what it is to use a method.

    Returns:
        One group for each method, hardest first.
    """
    users: dict[str, list[int]] = {}
    for at, id in enumerate(ids):
        for name in methods_used(rows[id].code, methods) if id in rows else ():
            users.setdefault(name, []).append(at)
    groups = [_group(name, p[users[name]]) for name in sorted(users) if len(users[name]) >= FEWEST_TASKS]
    return sorted((group for group in groups if group.mean == group.mean), key=lambda group: (group.mean, group.name))


def hardest_and_easiest(groups: Sequence[Group], ranked: int = RANKED) -> tuple[list[Group], list[Group]]:
    """The two ends of a list of groups, without overlap.

    Args:
        groups: groups, hardest first.
        ranked: how many to take of each end.

    Returns:
        (the hardest, hardest first; the easiest, easiest first).
    """
    hardest = list(groups[:ranked])
    return hardest, list(reversed(groups[len(hardest) :]))[:ranked]


def by_quarter(p: Floats, values: Sequence[int | None]) -> list[Group]:
    """Tasks in four groups of about the same size, by a number such as length or steps.

    Args:
        p: pass rates in [0, 1], shape (tasks, models).
        values: a whole number for each task; tasks with None are left out.

    Returns:
        At most four groups, from low to high numbers; empty groups are left out.
    """
    at = [index for index, value in enumerate(values) if value is not None]
    if not at:
        return []
    numbers = np.array([value for value in values if value is not None], dtype=np.int64)
    bounds = np.quantile(numbers, [0, 0.25, 0.5, 0.75, 1])
    quarter = quarter_of(numbers, bounds)
    chosen = p[at]
    names = [f"{'[' if i == 0 else '('}{bounds[i]:g}, {bounds[i + 1]:g}]" for i in range(4)]
    return [_group(names[i], chosen[quarter == i]) for i in range(4) if (quarter == i).any()]


def _group(name: str, p: Floats) -> Group:
    overall = column_means(task_difficulty(p)[:, None])
    return Group(name, len(p), float(overall[0]), tuple(float(mean) for mean in column_means(p)))
