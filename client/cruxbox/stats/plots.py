"""The figures of the report, drawn by matplotlib without a display and returned as SVG text.

Every function takes plain results and gives one figure. Text becomes outlines, so that the page looks the same with
any fonts; the same input gives the same bytes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from cruxbox.stats.behaviour import Confusion
from cruxbox.stats.compare import Comparison
from cruxbox.stats.difficulty import Group, Histogram
from cruxbox.stats.lines import Line, line_styles, standing_out
from cruxbox.stats.panel import Floats
from cruxbox.stats.slim import slim
from cruxbox.stats.wording import estimate_of, verdict_on

INK, MUTED, GRID = "#1f2933", "#7b8794", "#e4e7eb"
BLUE, ORANGE, GREEN, RED = "#2563a8", "#d97a1f", "#2e8b57", "#c0392b"
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "cruxbox",
    "svg.fonttype": "path",
    "text.parse_math": False,  # a model may be called anything
}
_MOST_LINES = 10
_WIDTH = 8.6  # inches; the page scales figures to its own width


def drawn(draw: Callable[..., Figure], *, is_tight: bool = True) -> Callable[..., str]:
    """Runs a drawing function in the report's style and gives its figure as SVG.

    A figure whose every part has its place needs no tight bounds, which take a third of the time of the drawing.
    """

    def figure_text(*arguments: Any) -> str:
        with mpl.rc_context(_STYLE):
            figure = draw(*arguments)
            out = io.StringIO()
            box = _tight(figure) if is_tight else None
            figure.savefig(out, format="svg", bbox_inches=box, metadata={"Date": None})
        text = out.getvalue()
        return slim(text[text.index("<svg") :])

    figure_text.__doc__, figure_text.__name__ = draw.__doc__, draw.__name__
    return figure_text


def _tight(figure: Figure) -> Bbox:
    """What it covers, with a margin, in inches. `bbox_inches="tight"` would draw it for that, and then once more."""
    figure.dpi = FigureCanvasSVG.fixed_dpi
    measuring: Any = RendererSVG
    box = figure.get_tightbbox(measuring(*figure.bbox.size, io.StringIO()))
    return box.padded(mpl.rcParams["savefig.pad_inches"])


def _lines(models: int) -> float:
    return max(1.6, 0.7 + 0.36 * models)


def _new(height: float, columns: int = 1) -> tuple[Figure, Any]:
    figure = Figure(figsize=(_WIDTH, height))
    axes = figure.subplots(1, columns)
    return figure, axes


def _named(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def short(name: str, longest: int = 34) -> str:
    """A name that fits beside a figure: its middle makes way."""
    if len(name) <= longest:
        return name
    half = (longest - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


@drawn
def scores(comparison: Comparison) -> Figure:
    """pass@k of every model with its interval, best on top."""
    ks = comparison.settings.ks
    models = comparison.models
    figure, axes = _new(_lines(len(models)))
    shift = 0.16 if len(ks) > 1 else 0.0
    for index, (k, colour, marker) in enumerate(zip(ks, (BLUE, ORANGE, GREEN), "oDs")):
        found = [(at, estimate_of(model, k)) for at, model in enumerate(models)]
        known = [(at, one) for at, one in found if one is not None]
        if not known:
            continue
        at = np.array([at for at, _ in known]) + shift * (2 * index - len(ks) + 1)
        value = np.array([100 * one.value for _, one in known])
        low = np.array([100 * one.low for _, one in known])
        high = np.array([100 * one.high for _, one in known])
        axes.hlines(at, low, high, color=colour, alpha=0.45, linewidth=3)
        axes.plot(value, at, marker, color=colour, markersize=5.5, label=f"pass@{k}")
    _named(axes, [model.name for model in models])
    axes.set_xlabel("percent of tasks, with the bootstrap interval")
    axes.legend(frameon=False, ncols=len(ks), loc="lower right", bbox_to_anchor=(1, 1))
    return figure


@drawn
def differences(comparison: Comparison, k: int = 1) -> Figure:
    """Differences to the baseline with their intervals; green and red where they are significant."""
    ordered = comparison.differences_at.get(k, comparison.differences)
    figure, axes = _new(_lines(len(ordered)))
    colours = {"better": GREEN, "worse": RED}
    for at, one in enumerate(ordered):
        colour = colours.get(verdict_on(one, comparison), MUTED)
        axes.hlines(at, 100 * one.low, 100 * one.high, color=colour, alpha=0.45, linewidth=3)
        axes.plot(100 * one.difference, at, "o", color=colour, markersize=5.5)
    axes.axvline(0, color=INK, linewidth=1)
    _named(axes, [one.model for one in ordered])
    axes.set_xlabel(f"points of pass@{k} above {short(comparison.baseline)}")
    return figure


@drawn
def reversals(comparison: Comparison) -> Figure:
    """How likely so many tasks show two models in the wrong order; of many models, those where it matters most."""
    figure, axes = _new(3.0)
    ordered = sorted(comparison.differences, key=lambda one: -max(one.reversed.values(), default=0.0))[:_MOST_LINES]
    colours = mpl.colormaps["viridis"](np.linspace(0.05, 0.85, len(ordered)))
    for one, colour in zip(ordered, colours):
        sizes = sorted(one.reversed)
        axes.plot(sizes, [100 * one.reversed[size] for size in sizes], "o-", color=colour, label=short(one.model, 26))
    axes.set_xscale("log", base=2)
    sizes = list(comparison.settings.sizes)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("tasks in the benchmark")
    axes.set_ylabel("chance of a reversed order, %")
    highest = max((share for one in comparison.differences for share in one.reversed.values()), default=0.0)
    axes.set_ylim(-0.4, max(10.0, 110 * highest))
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure


@drawn
def noise_by_size(comparison: Comparison) -> Figure:
    """How far pass@1 strays with so many tasks: the deviation by size, and single draws of one model."""
    figure, (left, right) = _new(3.0, 2)
    coloured = standing_out(comparison)
    names = [model.name for model in comparison.models]
    for model, style in zip(comparison.models, line_styles(names, coloured)):
        sizes = [one.size for one in model.by_size]
        noise = [100 * one.noise for one in model.by_size]
        left.plot(sizes, noise, color=style.colour, linewidth=style.width, zorder=style.order)
    shown = next(model for model in comparison.models if model.name == coloured[0])
    for one in shown.by_size:
        right.plot([one.size] * len(one.draws), [100 * draw for draw in one.draws], ".", color=BLUE, alpha=0.35)
        right.vlines(one.size, 100 * one.low, 100 * one.high, color=ORANGE, alpha=0.5, linewidth=3)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        sizes = list(comparison.settings.sizes)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("tasks in the benchmark")
    left.set_ylim(bottom=0)
    left.set_ylabel("deviation of pass@1, points")
    right.set_ylabel("pass@1 of single draws, percent")
    right.set_title(short(shown.name, 40), fontsize=9)
    figure.subplots_adjust(wspace=0.28)
    return figure


@drawn
def shares(comparison: Comparison) -> Figure:
    """Tasks that a model solves always, now and then, never."""
    figure, axes = _new(_lines(len(comparison.models)))
    names = [model.name for model in comparison.models]
    solved = np.array([100 * model.shares.solved for model in comparison.models])
    unsolved = np.array([100 * model.shares.unsolved for model in comparison.models])
    sometimes = 100 - solved - unsolved
    left = np.zeros(len(names))
    for values, colour, label in (
        (solved, BLUE, "every sample passes"),
        (sometimes, "#a9c4e2", "some pass"),
        (unsolved, "#e3e6ea", "none passes"),
    ):
        bars = axes.barh(range(len(names)), values, left=left, color=colour, height=0.66, label=label)
        texts = [f"{value:.0f}" if value >= 4 else "" for value in values]
        axes.bar_label(bars, texts, label_type="center", fontsize=8, color="white" if colour == BLUE else INK)
        left = left + values
    _named(axes, names)
    axes.set_xlim(0, 100)
    axes.set_xlabel("percent of tasks")
    axes.legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    return figure


@partial(drawn, is_tight=False)
def spread_of_p(comparison: Comparison) -> Figure:
    """How pass@1 of single tasks is spread, one small histogram a model."""
    models = comparison.models
    columns = min(4, len(models))
    rows = math.ceil(len(models) / columns)
    height = 0.5 + 1.5 * rows
    figure = Figure(figsize=(_WIDTH, height))
    # Each has the same labels, so their room is known; to have it found costs more than the drawing.
    inches = {"left": 0.65 / _WIDTH, "right": 1 - 0.05 / _WIDTH, "bottom": 0.5 / height, "top": 1 - 0.25 / height}
    grid = figure.subplots(
        rows, columns, sharex=True, sharey=True, squeeze=False, gridspec_kw={**inches, "hspace": 0.35, "wspace": 0.1}
    )
    for at, axes in enumerate(grid.flat):
        if at >= len(models):
            axes.set_visible(False)
            continue
        counts = models[at].p_counts
        axes.bar(np.arange(len(counts)) / len(counts) + 0.05, counts, width=0.088, color=BLUE)
        axes.set_title(short(models[at].name, 24), fontsize=8.5)
        axes.grid(visible=False, axis="x")
    grid[0, 0].set_xticks([0, 0.5, 1])  # of all of them: each call looks through all
    figure.supxlabel("share of a task's samples that pass", fontsize=9, y=0.08 / height)
    figure.supylabel("tasks", fontsize=9, x=0.0)
    return figure


@drawn
def distinct(comparison: Comparison) -> Figure:
    """Distinct answers a task, one line a model."""
    figure, axes = _new(2.8)
    models = [model for model in comparison.models if model.distinct_counts]
    for model, style in zip(models, line_styles([model.name for model in models], standing_out(comparison))):
        counts = np.array(model.distinct_counts[1:], dtype=float)
        _line(axes, range(1, len(counts) + 1), 100 * counts / counts.sum(), style, 4)
    axes.set_xlabel("distinct answers to one task")
    axes.set_ylabel("percent of tasks")
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure


@drawn
def heat(matrix: Floats, names: Sequence[str], diverging: bool, legend: str) -> Figure:
    """A matrix over models: from −1 to 1 around white, or from 0 up."""
    models = len(names)
    size = min(_WIDTH, 2.6 + 0.52 * models)
    figure = Figure(figsize=(size, size * 0.86))
    axes = figure.subplots()
    top = 1.0 if diverging else max(1.0, float(np.nanmax(matrix)) if not np.isnan(matrix).all() else 1.0)
    colours = mpl.colormaps["RdBu" if diverging else "YlOrBr"].with_extremes(bad="#f1f3f5")
    image = axes.imshow(np.ma.masked_invalid(matrix), cmap=colours, vmin=-1 if diverging else 0, vmax=top)
    letters = 9 if models <= 16 else 6.5
    turned = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if models <= 16 else {"rotation": 90}
    axes.set_xticks(range(models), [short(name, 26) for name in names], fontsize=letters, **turned)
    axes.set_yticks(range(models), [short(name, 26) for name in names], fontsize=letters)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (i, j), value in np.ndenumerate(matrix):
        if not math.isnan(value) and models <= 24:
            red, green, blue, _ = image.cmap(image.norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
            axes.text(
                j,
                i,
                f"{value:.2f}".replace("-", "−"),
                ha="center",
                va="center",
                fontsize=7.5 if models <= 12 else 5.5,
                color="white" if dark else INK,
            )
    bar = figure.colorbar(image, ax=axes, fraction=0.045, pad=0.03)
    bar.outline.set_visible(False)
    bar.set_label(legend)
    return figure


@drawn
def difficulty(histogram: Histogram) -> Figure:
    """Tasks by their mean pass@1 over the models."""
    figure, axes = _new(2.6)
    edges = np.array(histogram.edges)
    axes.bar(edges[:-1], histogram.counts, width=np.diff(edges) * 0.92, align="edge", color=BLUE)
    axes.set_xlabel("mean pass@1 over the models (left: hard, right: easy)")
    axes.set_ylabel("tasks")
    axes.set_xlim(0, 1)
    axes.grid(visible=False, axis="x")
    return figure


@drawn
def thought(confusion: Confusion) -> Figure:
    """How far thinking aloud moved each task."""
    figure, axes = _new(2.6)
    edges = np.array(confusion.edges)
    centres = (edges[:-1] + edges[1:]) / 2
    colours = [RED if centre < -0.01 else GREEN if centre > 0.01 else MUTED for centre in centres]
    axes.bar(centres, confusion.counts, width=0.088, color=colours)
    axes.set_xlabel("pass@1 with chain of thought minus pass@1 without")
    axes.set_ylabel("tasks")
    axes.grid(visible=False, axis="x")
    return figure


@drawn
def methods(hardest: Sequence[Group], easiest: Sequence[Group]) -> Figure:
    """The methods whose tasks go worst and best."""
    groups = [*hardest, *reversed(easiest)]
    figure, axes = _new(_lines(len(groups)) * 0.85)
    colours = [RED] * len(hardest) + [GREEN] * len(easiest)
    bars = axes.barh(range(len(groups)), [100 * group.mean for group in groups], color=colours, height=0.66, alpha=0.85)
    axes.bar_label(bars, [f"{100 * group.mean:.0f} %, {group.tasks} tasks" for group in groups], padding=4, fontsize=8)
    _named(axes, [f".{group.name}()" for group in groups])
    axes.set_xlim(0, max(100 * group.mean for group in groups) * 1.25 + 5)
    axes.set_xlabel("pass@1, mean over the models, percent")
    return figure


def _line(axes: Any, places: Sequence[int], heights: Any, style: Line, marker_size: int) -> None:
    """One model's line; who does not stand out has no markers."""
    axes.plot(
        places,
        heights,
        "o-",
        markersize=marker_size if style.order > 1 else 0,
        color=style.colour,
        linewidth=style.width,
        zorder=style.order,
        label=short(style.label, 26) or None,
    )


@drawn
def quarters(groups: Sequence[Group], names: Sequence[str], what: str, coloured: Sequence[str]) -> Figure:
    """pass@1 from the smallest to the largest quarter of the tasks, one line a model."""
    figure, axes = _new(2.8)
    for at, style in enumerate(line_styles(names, coloured)):
        _line(axes, range(len(groups)), [100 * group.by_model[at] for group in groups], style, 5)
    axes.set_xticks(range(len(groups)), [f"{group.name}\n{group.tasks} tasks" for group in groups])
    axes.set_xlabel(what)
    axes.set_ylabel("pass@1, percent")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure
