"""The tables of a comparison and of a data set as plain text cells; the terminal and the HTML page both show these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cruxbox.stats.behaviour import Confusion
from cruxbox.stats.compare import Comparison
from cruxbox.stats.dataset import DatasetStats, Spread
from cruxbox.stats.difficulty import Group, hardest_and_easiest
from cruxbox.stats.panel import Floats
from cruxbox.stats.wording import (
    NOTHING,
    estimate_of,
    p_value,
    percent,
    plain,
    signed,
    verdict_on,
    with_interval,
)


@dataclass(frozen=True)
class Sheet:
    """One table: the first column holds names, the others numbers."""

    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


def sheet(title: str, columns: Sequence[str], lines: Iterable[Sequence[str]]) -> Sheet:
    return Sheet(title, tuple(columns), tuple(tuple(line) for line in lines))


def scores(comparison: Comparison) -> Sheet:
    """pass@k with intervals, and both kinds of noise."""
    ks = comparison.settings.ks
    level = f"{100 * comparison.settings.confidence:g} %"
    return sheet(
        "Scores, in percent",
        ["model", "tasks", "samples", *(f"pass@{k} [{level}]" for k in ks), "noise: tasks", "noise: samples"],
        (
            [
                model.name,
                str(model.tasks),
                "–".join(map(str, sorted(set(model.samples)))),
                *(with_interval(estimate_of(model, k)) for k in ks),
                f"±{percent(model.noise_tasks, 2)}",
                NOTHING if math.isnan(model.noise_samples) else f"±{percent(model.noise_samples, 2)}",
            ]
            for model in comparison.models
        ),
    )


def behaviour(comparison: Comparison) -> Sheet:
    """How often a model always, never or sometimes solves a task, and how varied its answers are."""
    return sheet(
        "Behaviour",
        ["model", "solved (p = 1)", "unsolved (p = 0)", "0.1 < p < 0.9", "distinct answers a task", "masked"],
        (
            [
                model.name,
                f"{percent(model.shares.solved)} %",
                f"{percent(model.shares.unsolved)} %",
                f"{percent(model.shares.functional_diversity)} %",
                NOTHING if model.distinct is None else plain(model.distinct),
                str(model.masked),
            ]
            for model in comparison.models
        ),
    )


def differences(comparison: Comparison, k: int = 1) -> Sheet:
    """pass@k of every model minus the baseline, with three p values and what they amount to."""
    resamples = comparison.settings.resamples
    return sheet(
        f"pass@{k} minus that of {comparison.baseline}, in points, on the same tasks",
        ["model", "points", "interval", "p", "p (Holm)", "p (t test)", "verdict"],
        (
            [
                one.model,
                signed(one.difference),
                f"[{signed(one.low)}, {signed(one.high)}]",
                p_value(one.p_value, resamples),
                p_value(one.adjusted, resamples),
                p_value(one.t_test, 1 << 30),
                verdict_on(one, comparison),
            ]
            for one in comparison.differences_at.get(k, comparison.differences)
        ),
    )


def noise_by_size(comparison: Comparison) -> Sheet:
    """The noise of tasks that benchmarks of other sizes would have."""
    return sheet(
        "Noise of pass@1 from the choice of so many tasks, in points",
        ["model", *(f"{size} tasks" for size in comparison.settings.sizes)],
        ([model.name, *(f"±{percent(one.noise, 2)}" for one in model.by_size)] for model in comparison.models),
    )


def reversals(comparison: Comparison) -> Sheet:
    """How likely a benchmark of some size shows the opposite order."""
    return sheet(
        f"Chance that so many tasks reverse the order with {comparison.baseline}",
        ["model", *(f"{size} tasks" for size in comparison.settings.sizes)],
        ([one.model, *(f"{percent(share)} %" for share in one.reversed.values())] for one in comparison.differences),
    )


def matrix(title: str, comparison: Comparison, values: Floats, corner: str = "") -> Sheet:
    """A matrix with a line and a column for each model."""
    names = [model.name for model in comparison.models]
    lines = ([name, *(plain(float(value)) for value in row)] for name, row in zip(names, values))
    return sheet(title, [corner, *names], lines)


def confusion(one: Confusion) -> Sheet:
    """The 2×2 table of direct answers against chain of thought."""
    return sheet(
        "Tasks solved (p > 0.5) directly and with chain of thought",
        ["", f"{one.cot} solves", f"{one.cot} fails"],
        [
            [f"{one.direct} solves", str(one.both), str(one.only_direct)],
            [f"{one.direct} fails", str(one.only_cot), str(one.neither)],
        ],
    )


def methods(comparison: Comparison) -> Sheet:
    """The methods whose tasks go worst, and those whose tasks go best, side by side."""
    hardest, easiest = hardest_and_easiest(comparison.methods)

    def cells(groups: Sequence[Group], at: int) -> list[str]:
        return [groups[at].name, str(groups[at].tasks), percent(groups[at].mean)] if at < len(groups) else ["", "", ""]

    return sheet(
        "Methods, by the mean pass@1 over models",
        ["hardest", "tasks", "pass@1", "easiest", "tasks", "pass@1"],
        ([*cells(hardest, at), *cells(easiest, at)] for at in range(max(len(hardest), len(easiest)))),
    )


def all_methods(comparison: Comparison) -> Sheet:
    """Every ranked method, for each model."""
    return sheet(
        "All methods that five tasks or more use, hardest first; pass@1 in percent",
        ["method", "tasks", "mean", *(model.name for model in comparison.models)],
        (
            [group.name, str(group.tasks), percent(group.mean), *map(percent, group.by_model)]
            for group in comparison.methods
        ),
    )


def groups(what: str, found: Sequence[Group], comparison: Comparison) -> Sheet:
    """pass@1 of each model on each quarter of the tasks."""
    return sheet(
        f"pass@1 by {what} of the program, in percent",
        ["model", *(f"{group.name} ({group.tasks})" for group in found)],
        ([model.name, *(percent(group.by_model[at]) for group in found)] for at, model in enumerate(comparison.models)),
    )


def spreads(stats: DatasetStats) -> Sheet:
    """Lengths and steps of a data set."""
    named = (
        ("characters", stats.chars),
        ("lines", stats.lines),
        ("characters with assertion", stats.chars_asserted),
        ("lines with assertion", stats.lines_asserted),
        ("steps", stats.steps),
    )

    def line(name: str, spread: Spread) -> list[str]:
        return [
            name,
            str(spread.rows),
            f"{spread.total:,}",
            f"{spread.mean:.2f}",
            *(f"{bound:g}" for bound in spread.bounds),
            " / ".join(map(str, spread.quarters)),
        ]

    return sheet(
        "Lengths and steps",
        ["", "rows", "total", "mean", "least", "25 %", "median", "75 %", "most", "rows in each quarter"],
        (line(name, spread) for name, spread in named if spread),
    )


def methods_used(stats: DatasetStats) -> Sheet:
    """How many rows call each method."""
    return sheet(
        "Methods used",
        ["method", "rows", "share"],
        ([name, str(count), f"{percent(count / stats.rows)} %"] for name, count in stats.methods.items()),
    )
