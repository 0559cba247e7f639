"""What keeps a figure of many models readable: a few models stand out, and no label covers another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from cruxbox.stats.compare import Comparison

#: With more models than this, only a few are drawn in colour.
MOST_COLOURED = 10
OTHERS = "#c9d1d9"
_LABEL_SIZE = 7.5  # in points
# Where a label may stand, from its point: (right, up) in points of text, the nearest places first.
_PLACES = [(x * d, y * d) for d in (7, 14, 24) for x, y in product((1, -1, 0), (0, 1, -1)) if (x, y) != (0, 0)]


@dataclass(frozen=True)
class Line:
    """How a model's line is drawn; one without a label is one of many."""

    colour: Any
    label: str
    width: float
    order: int


def standing_out(comparison: Comparison) -> list[str]:
    """The models to draw in colour: those asked for, or all if they are few, or the best, the baseline and the last."""
    names = [model.name for model in comparison.models]
    if comparison.settings.highlight:
        return [name for name in names if name in comparison.settings.highlight]
    if len(names) <= MOST_COLOURED:
        return names
    chosen = {*names[:3], comparison.baseline, names[len(names) // 2], names[-1]}
    return [name for name in names if name in chosen]


def line_styles(names: Sequence[str], coloured: Sequence[str]) -> list[Line]:
    """A style for each name: `coloured` ones with a colour and a label, the others thin and grey behind them."""
    palette = mpl.colormaps["viridis"](np.linspace(0.05, 0.85, max(1, len(coloured))))
    colours = dict(zip(coloured, palette))
    told = False
    styles = []
    for name in names:
        if name in colours:
            styles.append(Line(colours[name], name, 1.6, 3))
        else:
            styles.append(Line(OTHERS, "" if told else "the other models", 0.8, 1))
            told = True
    return styles


def place_labels(
    figure: Figure, axes: Any, points: Sequence[tuple[float, float, str]], first: Sequence[str] = ()
) -> list[Bbox]:
    """Writes the names beside their points where they cover neither a point nor another name nor the axes' edge.

    Names in `first` choose first. A name without room is left out: the table beside the figure has it. Limits of the
    axes must be final. Returns the boxes of the names written, in pixels.
    """
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    inside = axes.get_window_extent(renderer)
    centres = axes.transData.transform([(x, y) for x, y, _ in points])
    taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in centres]
    written: list[Bbox] = []
    for x, y, name in sorted(points, key=lambda point: point[2] not in first):
        for right, up in _PLACES:
            text = axes.annotate(
                name,
                (x, y),
                xytext=(right, up),
                textcoords="offset points",
                fontsize=_LABEL_SIZE,
                ha="left" if right > 0 else "right" if right < 0 else "center",
                va="bottom" if up > 0 else "top" if up < 0 else "center",
            )
            box = text.get_window_extent(renderer)
            is_inside = inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1
            if is_inside and not any(box.overlaps(other) for other in (*taken, *written)):
                written.append(box)
                break
            text.remove()
    return written
