"""The same models on two tasks, such as input against output prediction, or original against anonymised programs.

Everything is over the samples that all files of both tasks have; what compares two models' scores is over the models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from cruxbox.errors import DataError
from cruxbox.stats.compare import Settings
from cruxbox.stats.correlation import relation
from cruxbox.stats.paired import Difference, differences, holm
from cruxbox.stats.panel import Floats, Panel, column_means, panel_of, pass_at_k
from cruxbox.stats.scored import Scored

#: p falls into so many classes, one around each tenth.
CLASSES = 11


@dataclass(frozen=True)
class BothTasks:
    """One model on both tasks.

    Args:
        name: the model.
        pass_at: k -> pass@k on the first task and on the second, as fractions.
        differences: k -> pass@k on the second task minus that on the first.
        pearson: correlation of p on the two tasks over the samples.
        confusion: an 11 × 11 table; `confusion[i][j]` counts the samples with p nearest i/10 on the first task and j/10
            on the second.
        unsolved: numbers of samples at 0/n on the first task, on the second, and on both.
    """

    name: str
    pass_at: Mapping[int, tuple[float, float]]
    differences: Mapping[int, Difference]
    pearson: float
    confusion: tuple[tuple[int, ...], ...]
    unsolved: tuple[int, int, int]


@dataclass(frozen=True)
class Unsolved:
    """Ids of the samples that every one of some models has at 0/n.

    Args:
        models: names of the models.
        first, second, both: ids of such samples on the first task, on the second, on both.
    """

    models: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    both: tuple[str, ...]


@dataclass(frozen=True)
class Across:
    """Two tasks side by side. p of a sample is its pass@1, a fraction.

    Args:
        first, second: names of the tasks.
        ids: the samples that all files of both tasks have.
        left_out: number of samples that some file does not have.
        models: the models that have both tasks, highest sum of both pass@1 first.
        models_pearson, models_spearman: correlations of pass@1 on the two tasks, over the models.
        means: for each sample, in the order of `ids`, its p on the first task and on the second, averaged over the
            models.
        samples_pearson, samples_spearman: correlations of `means`, over the samples.
        unsolved: samples at 0/n of the models that were asked for.
        notes: sentences that a reader of the figures should know.
    """

    first: str
    second: str
    ids: tuple[str, ...]
    left_out: int
    models: tuple[BothTasks, ...]
    models_pearson: float
    models_spearman: float
    means: tuple[tuple[float, float], ...]
    samples_pearson: float
    samples_spearman: float
    unsolved: tuple[Unsolved, ...] = ()
    notes: tuple[str, ...] = field(default=())


def across(
    tasks: Mapping[str, Sequence[Scored]], *, unsolved_of: Sequence[str] = (), settings: Settings | None = None
) -> list[Across]:
    """Compare every two tasks. Models are the same where they have the same name.

    Args:
        tasks: name of a task -> its scored models; at least two tasks.
        unsolved_of: models whose samples at 0/n are listed: those of each model, and those that all of them share.
        settings: the ks of pass@k, resamples, seed and confidence; None is the default.

    Returns:
        One result for each pair of tasks, in the order of the tasks.

    Raises:
        DataError: there are fewer than two tasks, two tasks have no model or sample in common, or a name of
            `unsolved_of` is unknown.
    """
    if len(tasks) < 2:
        raise DataError("two tasks are needed to compare across tasks, as in --task input=… --task output=…")
    return [
        _two((first, tasks[first]), (second, tasks[second]), unsolved_of, settings or Settings())
        for first, second in combinations(tasks, 2)
    ]


def _two(
    one: tuple[str, Sequence[Scored]], other: tuple[str, Sequence[Scored]], unsolved_of: Sequence[str], how: Settings
) -> Across:
    first, second = ({model.name: model for model in models} for _, models in (one, other))
    shared = [name for name in first if name in second]
    if not shared:
        listed = ", ".join([*first, *second])
        raise DataError(f"no model has both tasks, {one[0]} and {other[0]}; there are: {listed}")
    x, y, left_out = _on_the_same_samples([first[name] for name in shared], [second[name] for name in shared])
    order = np.argsort(-(column_means(x.p) + column_means(y.p)), kind="stable")
    x, y = x.reordered([int(at) for at in order]), y.reordered([int(at) for at in order])
    scores = column_means(x.p), column_means(y.p)
    means = column_means(x.p.T), column_means(y.p.T)
    alone = [name for name in (*first, *second) if name not in shared]
    return Across(
        first=one[0],
        second=other[0],
        ids=x.ids,
        left_out=left_out,
        models=_adjusted([_model(x, y, at, (one[0], other[0]), how) for at in range(len(x.names))]),
        models_pearson=relation("pearson", *scores),
        models_spearman=relation("spearman", *scores),
        means=tuple((float(a), float(b)) for a, b in zip(*means)),
        samples_pearson=relation("pearson", *means),
        samples_spearman=relation("spearman", *means),
        unsolved=tuple(_unsolved(x, y, unsolved_of)),
        notes=tuple(_notes(alone, left_out)),
    )


def _on_the_same_samples(first: Sequence[Scored], second: Sequence[Scored]) -> tuple[Panel, Panel, int]:
    """The panels of both tasks on the samples that all files have, in the same order, and how many are left out."""
    whole = panel_of([*first, *second])
    columns = len(first)
    return (
        whole.reordered(range(columns)),
        whole.reordered(range(columns, columns + len(second))),
        whole.left_out,
    )


def _notes(alone: Sequence[str], left_out: int) -> list[str]:
    notes = []
    if alone:
        notes.append(f"Left out here, having one task only: {', '.join(dict.fromkeys(alone))}.")
    if left_out:
        notes.append(f"{left_out} samples are left out: not every file has them.")
    return notes


def _model(x: Panel, y: Panel, at: int, tasks: tuple[str, str], how: Settings) -> BothTasks:
    pass_at: dict[int, tuple[float, float]] = {}
    found: dict[int, Difference] = {}
    for k in how.ks:
        both = np.column_stack([pass_at_k(panel.n[:, [at]], panel.c[:, [at]], k)[:, 0] for panel in (x, y)])
        if np.isnan(both).all(axis=0).any():
            continue
        values = column_means(both)
        pass_at[k] = float(values[0]), float(values[1])
        [found[k]] = differences(
            both, tasks, 0, resamples=how.resamples, seed=how.seed, confidence=how.confidence, sizes=()
        )
    zero_x, zero_y = x.p[:, at] == 0, y.p[:, at] == 0
    return BothTasks(
        name=x.names[at],
        pass_at=pass_at,
        differences=found,
        pearson=relation("pearson", x.p[:, at], y.p[:, at]),
        confusion=confusion(x.p[:, at], y.p[:, at]),
        unsolved=(int(zero_x.sum()), int(zero_y.sum()), int((zero_x & zero_y).sum())),
    )


def _adjusted(models: Sequence[BothTasks]) -> tuple[BothTasks, ...]:
    """The models with Holm's adjustment of their differences, as all of them are looked at together."""
    found = list(models)
    for k in {k for model in models for k in model.differences}:
        at = [index for index, model in enumerate(found) if k in model.differences]
        p_values = np.array([found[index].differences[k].p_value for index in at])
        for index, adjusted in zip(at, holm(p_values)):
            difference = replace(found[index].differences[k], adjusted=float(adjusted))
            found[index] = replace(found[index], differences={**found[index].differences, k: difference})
    return tuple(found)


def confusion(first: Floats, second: Floats) -> tuple[tuple[int, ...], ...]:
    """The 11 × 11 table: samples by p on the first task (line) and on the second (column), to the nearest tenth.

    With n = 10 these are the counts of passed generations. Samples without a known p on either task are left out.
    """
    known = ~np.isnan(first) & ~np.isnan(second)
    # Half a class up, as shares such as 0.25 of n = 4 lie between two; rounded first, since 0.15 may be 0.1499….
    lines, columns = (np.floor(np.round(p[known] * (CLASSES - 1), 9) + 0.5).astype(int) for p in (first, second))
    table = np.zeros((CLASSES, CLASSES), dtype=int)
    np.add.at(table, (lines, columns), 1)
    return tuple(tuple(int(count) for count in line) for line in table)


def _unsolved(x: Panel, y: Panel, names: Sequence[str]) -> list[Unsolved]:
    groups = [(name,) for name in names] + ([tuple(names)] if len(names) > 1 else [])
    found = []
    for group in groups:
        columns = [x.column(name) for name in group]
        first, second = ((panel.p[:, columns] == 0).all(axis=1) for panel in (x, y))
        listed = (tuple(id for id, is_in in zip(x.ids, chosen) if is_in) for chosen in (first, second, first & second))
        found.append(Unsolved(group, *listed))
    return found
