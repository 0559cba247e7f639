"""A comparison of models: every statistic of the package, computed once, as plain data for all reports.

All rates are fractions. Reports convert them to percent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cruxbox.building.methods import Methods
from cruxbox.building.rows import Row
from cruxbox.errors import DataError
from cruxbox.stats.behaviour import Confusion, Shares, conditional_failure, cot_confusion, diversity, shares
from cruxbox.stats.bootstrap import CONFIDENCE, RESAMPLES, interval, resample_means
from cruxbox.stats.correlation import correlations
from cruxbox.stats.difficulty import Group, Histogram, by_method, by_quarter, difficulty_histogram
from cruxbox.stats.external import AgainstExternal, ExternalScores, against_external
from cruxbox.stats.noise import AtSize, noise_by_size, type1, type1_closed, type2
from cruxbox.stats.paired import SIZES, Difference, differences
from cruxbox.stats.panel import Floats, Panel, column_means, panel_of, pass_at_k, unit_histogram
from cruxbox.stats.scored import Scored

KS = (1, 5)
#: However many comparisons there are, no more resamples than that are drawn for them.
MOST_RESAMPLES = 1_000_000
# How far below the level the smallest p value is to lie.
_ROOM = 2


@dataclass(frozen=True)
class Settings:
    """How a comparison is made; everything that a reader needs to repeat it.

    Args:
        resamples: bootstrap draws. `compare` raises it if Holm's adjustment needs more, up to 1,000,000.
        seed: of the bootstrap.
        confidence: coverage of the intervals; differences are significant at 1 − confidence.
        ks: the ks of pass@k; differences and ranks are those of the first.
        sizes: numbers of tasks for which noise and the chance of a reversed order are given.
        methods: what it is to use a method.
        failed_below: a model fails a task when its p is less than this; with 0.0, when its p is 0.
        highlight: names of models that reports emphasise; empty lets the report choose.
    """

    resamples: int = RESAMPLES
    seed: int = 0
    confidence: float = CONFIDENCE
    ks: tuple[int, ...] = KS
    sizes: tuple[int, ...] = SIZES
    methods: Methods = Methods.CALL
    failed_below: float = 0.0
    highlight: tuple[str, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """pass@k of one model, as a fraction, with its bootstrap interval.

    Args:
        k: number of samples drawn.
        tasks: number of tasks with at least k known samples, over which the mean is taken.
        value: pass@k.
        low, high: ends of the interval.
    """

    k: int
    tasks: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ModelSummary:
    """One model. Rates and deviations are fractions.

    Args:
        name: the model.
        tasks: number of tasks with a known verdict.
        samples: fewest and most known verdicts of a task.
        masked: number of undecided verdicts.
        pass_at: one estimate for each k.
        recorded: k -> the pass@k that the file itself states, in percent.
        noise_tasks: standard deviation of pass@1 over other tasks of the same kind, from the bootstrap.
        noise_tasks_closed: the same, as std(p)/√tasks.
        noise_samples: standard deviation of pass@1 when the same tasks are sampled again; NaN for single samples.
        shares: shares of tasks that are always, never and sometimes solved.
        distinct: mean number of distinct answers of a task; None without generations.
        distinct_counts: `distinct_counts[i]` tasks have i distinct answers.
        p_counts: tasks by p, in 10 bins from 0 to 1.
        by_size: `noise_tasks` for other numbers of tasks.
    """

    name: str
    tasks: int
    samples: tuple[int, int]
    masked: int
    pass_at: tuple[Estimate, ...]
    recorded: dict[int, float]
    noise_tasks: float
    noise_tasks_closed: float
    noise_samples: float
    shares: Shares
    distinct: float | None
    distinct_counts: tuple[int, ...]
    p_counts: tuple[int, ...]
    by_size: tuple[AtSize, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`, which reports show. p of a task is its pass@1, a fraction.

    Args:
        settings: how the comparison was made, with the resamples that were drawn.
        tasks: number of tasks that all models share.
        left_out: number of tasks that some model lacks.
        baseline: name of the model that others are compared with.
        models: the models, highest pass@1 first. All matrices have this order.
        differences: differences of pass@k to the baseline for the first k, highest first.
        ahead: share of resamples in which the model of the line is ahead of the model of the column.
        correlations: name of the coefficient -> correlation of p for each two models.
        conditional_failure: mean(column | line fails)/mean(column) for each two models.
        confusions: one table for each pair of direct generation and chain of thought.
        difficulty: histogram of the tasks' mean p over the models.
        methods: tasks by the methods that their programs use, hardest first; empty without a data set.
        quarters: "characters", "lines", "steps" -> tasks in four groups by that measure; empty without a data set.
        notes: sentences that a reader of the figures should know.
        differences_at: k -> `differences` for every other k.
        external: pass@1 against scores of other benchmarks.
    """

    settings: Settings
    tasks: int
    left_out: int
    baseline: str
    models: tuple[ModelSummary, ...]
    differences: tuple[Difference, ...]
    ahead: Floats
    correlations: dict[str, Floats]
    conditional_failure: Floats
    confusions: tuple[Confusion, ...]
    difficulty: Histogram
    methods: tuple[Group, ...] = ()
    quarters: Mapping[str, tuple[Group, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=())
    differences_at: Mapping[int, tuple[Difference, ...]] = field(default_factory=dict)
    external: tuple[AgainstExternal, ...] = ()


def compare(
    models: Sequence[Scored],
    *,
    baseline: str = "",
    cot: Sequence[tuple[str, str]] = (),
    dataset: Sequence[Row] | None = None,
    external: ExternalScores | None = None,
    settings: Settings | None = None,
) -> Comparison:
    """Compare models on the tasks that all of them have.

    Args:
        models: scored models, at least one.
        baseline: name of the model that others are compared with; "" is the first.
        cot: pairs of names, direct generation and chain of thought.
        dataset: the rows of the tasks, for figures by method, length and steps.
        external: scores of other benchmarks.
        settings: None is the default.

    Returns:
        Every statistic, computed once.

    Raises:
        DataError: a name is unknown, the models have no task in common, the data set has none of the tasks, or the
            external scores have none of the models.
    """
    settings = _with_enough_resamples(settings or Settings(), len(models) - 1)
    given = panel_of(models)
    base_name = baseline or given.names[0]
    for name in settings.highlight:
        given.column(name)
    panel = given.reordered(given.best_first())
    models = [models[column] for column in given.best_first()]
    base = panel.column(base_name)
    pairs = [(panel.column(direct), panel.column(thought)) for direct, thought in cot]
    means = resample_means(panel.p, resamples=settings.resamples, seed=settings.seed)
    rows = _rows_by_id(dataset, panel.ids)
    ours = dict(zip(panel.names, map(float, column_means(panel.p))))
    return Comparison(
        settings=settings,
        tasks=len(panel.ids),
        left_out=panel.left_out,
        baseline=panel.names[base],
        models=_summaries(models, panel, means, settings),
        differences=_differences(panel, base, settings.ks[0], settings),
        differences_at={
            k: found for k in settings.ks[1:] if (found := _differences(panel, base, k, settings, sizes=()))
        },
        ahead=ahead(means),
        correlations=correlations(panel.p),
        conditional_failure=conditional_failure(panel.p, settings.failed_below),
        confusions=tuple(
            cot_confusion(panel.p[:, i], panel.p[:, j], (panel.names[i], panel.names[j])) for i, j in pairs
        ),
        difficulty=difficulty_histogram(panel.p),
        methods=tuple(by_method(panel.p, panel.ids, rows, methods=settings.methods)),
        quarters=_quarters(panel.p, [rows.get(id) for id in panel.ids]),
        notes=tuple(_notes(models, panel, rows, dataset is not None)),
        external=tuple(against_external(ours, external)) if external else (),
    )


def _differences(
    panel: Panel, base: int, k: int, settings: Settings, sizes: Sequence[int] | None = None
) -> tuple[Difference, ...]:
    """Differences of pass@k to the baseline, of the models that have a pass@k; none if the baseline has not."""
    scores = pass_at_k(panel.n, panel.c, k)
    known = [at for at in range(len(panel.names)) if not np.isnan(scores[:, at]).all()]
    if base not in known:
        return ()
    found = differences(
        scores[:, known],
        [panel.names[at] for at in known],
        known.index(base),
        resamples=settings.resamples,
        seed=settings.seed,
        confidence=settings.confidence,
        sizes=settings.sizes if sizes is None else sizes,
    )
    return tuple(sorted(found, key=lambda one: -one.difference))


def _with_enough_resamples(settings: Settings, comparisons: int) -> Settings:
    """`settings` with so many resamples that each of the comparisons made at once can be significant at all.

    The smallest p value of R resamples is 2/(R + 1), and Holm multiplies it by the number of comparisons.
    """
    level = 1 - settings.confidence
    enough = math.ceil(_ROOM * 2 * comparisons / level)
    return replace(settings, resamples=max(settings.resamples, min(enough, MOST_RESAMPLES)))


def ahead(means: Floats) -> Floats:
    """Share of the resamples in which the model of the line is ahead of the model of the column; a tie counts half."""
    models = means.shape[1]
    result = np.full((models, models), np.nan)
    for i in range(models):
        for j in range(models):
            if i != j:
                wins = means[:, i] > means[:, j]
                ties = means[:, i] == means[:, j]
                result[i, j] = wins.mean() + ties.mean() / 2
    return result


# What is measured of a program -> how. The names appear in every report.
_MEASURES: dict[str, Callable[[Row], int | None]] = {
    "characters": lambda row: len(row.code),
    "lines": lambda row: len(row.code.splitlines()),
    "steps": lambda row: row.steps,
}


def _quarters(p: Floats, rows: Sequence[Row | None]) -> dict[str, tuple[Group, ...]]:
    found = {
        what: tuple(by_quarter(p, [measure(row) if row else None for row in rows]))
        for what, measure in _MEASURES.items()
    }
    return {what: groups for what, groups in found.items() if groups}


def _rows_by_id(dataset: Sequence[Row] | None, ids: Sequence[str]) -> dict[str, Row]:
    if dataset is None:
        return {}
    rows = {row.id: row for row in dataset}
    if not rows.keys() & set(ids):
        raise DataError(f"the data set has none of the scored tasks, such as {ids[0]!r}")
    return rows


def _summaries(models: Sequence[Scored], panel: Panel, means: Floats, settings: Settings) -> tuple[ModelSummary, ...]:
    estimates = [_estimates(panel, k, means, settings) for k in settings.ks]
    noise, closed, sampling = type1(means), type1_closed(panel.p), type2(panel.p, panel.n)
    sized = noise_by_size(panel.p, settings.sizes, settings.resamples, settings.seed, settings.confidence)
    result = []
    for at, model in enumerate(models):
        distinct = diversity(model.generations, panel.ids)
        answers = [count for count in distinct if count]
        p, n = panel.p[:, at], panel.n[:, at]
        result.append(
            ModelSummary(
                name=model.name,
                tasks=int((n > 0).sum()),
                samples=(int(n.min()), int(n.max())),
                masked=sum(list(model.verdicts[id]).count(None) for id in panel.ids),
                pass_at=tuple(column[at] for column in estimates if column[at].tasks),
                recorded=dict(model.recorded),
                noise_tasks=float(noise[at]),
                noise_tasks_closed=float(closed[at]),
                noise_samples=float(sampling[at]),
                shares=shares(p),
                distinct=float(np.mean(answers)) if answers else None,
                distinct_counts=tuple(int(c) for c in np.bincount(answers)) if answers else (),
                p_counts=tuple(int(c) for c in unit_histogram(p, 10)),
                by_size=sized[at],
            )
        )
    return tuple(result)


def _estimates(panel: Panel, k: int, means: Floats, settings: Settings) -> list[Estimate]:
    scores = pass_at_k(panel.n, panel.c, k)
    if k != 1:
        means = resample_means(scores, resamples=settings.resamples, seed=settings.seed)
    low, high = interval(means, settings.confidence)
    tasks = (~np.isnan(scores)).sum(axis=0)
    values = column_means(scores)
    return [Estimate(k, int(tasks[at]), float(values[at]), float(low[at]), float(high[at])) for at in range(len(tasks))]


def _notes(models: Sequence[Scored], panel: Panel, rows: Mapping[str, Row], with_dataset: bool) -> list[str]:
    """Sentences that a reader must know before believing a number."""
    notes = []
    if panel.left_out:
        notes.append(f"{panel.left_out} tasks are left out: not every file has them.")
    masked = [f"{model.name} ({model.masked})" for model in models if model.masked]
    if masked:
        notes.append(f"Undecided checks are masked, neither passed nor failed: {', '.join(masked)}.")
    missing = sum(id not in rows for id in panel.ids)
    if with_dataset and missing:
        notes.append(
            f"{missing} of {len(panel.ids)} tasks are not in the data set; methods and lengths leave them out."
        )
    return notes
