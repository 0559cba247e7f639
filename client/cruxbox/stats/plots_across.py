"""The figures that set two scores of the same models, or of the same samples, against each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from cruxbox.stats.across import CLASSES, Across, BothTasks
from cruxbox.stats.external import AgainstExternal
from cruxbox.stats.lines import place_labels
from cruxbox.stats.plots import BLUE, INK, MUTED, drawn, short
from cruxbox.stats.wording import plain

_SIDE = 6.2  # inches


def _square() -> tuple[Figure, Any]:
    figure = Figure(figsize=(_SIDE, _SIDE * 0.86))
    return figure, figure.subplots()


@drawn
def models(found: Across, coloured: Sequence[str]) -> Figure:
    """pass@1 of each model on the first task against the second."""
    figure, axes = _square()
    points = [(100 * one.pass_at[1][0], 100 * one.pass_at[1][1], one.name) for one in found.models if 1 in one.pass_at]
    _scatter(axes, [point[:2] for point in points], [BLUE] * len(points))
    _limits(axes, points)
    low, high = max(axes.get_xlim()[0], axes.get_ylim()[0]), min(axes.get_xlim()[1], axes.get_ylim()[1])
    if low < high:
        axes.plot([low, high], [low, high], color=MUTED, linewidth=0.8, linestyle=":", zorder=1)
    axes.set_xlabel(f"pass@1 on {short(found.first)}, percent")
    axes.set_ylabel(f"pass@1 on {short(found.second)}, percent")
    axes.set_title(f"over {len(points)} models: Pearson {plain(found.models_pearson)}", fontsize=9)
    place_labels(figure, axes, [(x, y, short(name, 26)) for x, y, name in points], [short(one, 26) for one in coloured])
    return figure


@drawn
def samples(found: Across) -> Figure:
    """Each sample's p, averaged over the models, on both tasks."""
    figure, axes = _square()
    values = np.array(found.means)
    axes.plot(values[:, 0], values[:, 1], "o", color=BLUE, markersize=4, alpha=0.35, markeredgewidth=0)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel(f"mean p on {short(found.first)}")
    axes.set_ylabel(f"mean p on {short(found.second)}")
    axes.set_title(f"over {len(values)} samples: Pearson {plain(found.samples_pearson)}", fontsize=9)
    return figure


@drawn
def confusion(found: Across, one: BothTasks) -> Figure:
    """The 11 × 11 table of one model; colours are of the logarithm, since the corners hold most of the samples."""
    figure, axes = _square()
    counts = np.array(one.confusion)
    axes.imshow(np.log1p(counts), cmap="Blues", origin="lower")
    darkest = np.log1p(max(1, counts.max()))
    for (i, j), count in np.ndenumerate(counts):
        if count:
            dark = np.log1p(count) > 0.6 * darkest
            axes.text(j, i, str(count), ha="center", va="center", fontsize=8, color="white" if dark else INK)
    ticks = [f"{at / (CLASSES - 1):g}" for at in range(CLASSES)]
    axes.set_xticks(range(CLASSES), ticks)
    axes.set_yticks(range(CLASSES), ticks)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_xlabel(f"p on {short(found.second)}")
    axes.set_ylabel(f"p on {short(found.first)}")
    axes.set_title(short(one.name, 60), fontsize=9)
    return figure


@drawn
def external(found: AgainstExternal, coloured: Sequence[str]) -> Figure:
    """Our pass@1 against the scores of another benchmark, families by colour."""
    figure, axes = _square()
    families = sorted({family for _, family, _, _ in found.points})
    palette = mpl.colormaps["tab20"](np.linspace(0, 1, 20))
    colours = {family: palette[at % 20] for at, family in enumerate(families)}
    points = [(theirs, 100 * ours, short(model, 26)) for model, _, theirs, ours in found.points]
    _scatter(axes, [point[:2] for point in points], [colours[family] for _, family, _, _ in found.points])
    _limits(axes, points)
    axes.set_xlabel(short(found.benchmark, 60))
    axes.set_ylabel("pass@1, percent")
    overall = found.relations[0]
    told = f"over {overall.models} models: Pearson {plain(overall.pearson)}, Spearman {plain(overall.spearman)}"
    axes.set_title(told, fontsize=9)
    place_labels(figure, axes, points, [short(one, 26) for one in coloured])
    return figure


def _scatter(axes: Any, points: Sequence[tuple[float, ...]], colours: Sequence[Any]) -> None:
    for (x, y), colour in zip(points, colours):
        axes.plot(x, y, "o", color=colour, markersize=5.5, zorder=3)


def _limits(axes: Any, points: Sequence[tuple[float, float, str]]) -> None:
    """Room around the points, so that names at the edge find a place."""
    for at, set_limits in ((0, axes.set_xlim), (1, axes.set_ylim)):
        values = [float(point[at]) for point in points] or [0.0]
        room = max(1.0, 0.14 * (max(values) - min(values)))
        set_limits(min(values) - room, max(values) + room)
