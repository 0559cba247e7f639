"""Numbers and sentences for people, the same in the terminal and in the report."""

from __future__ import annotations

import math

from cruxbox.printable import counted
from cruxbox.stats.across import Across
from cruxbox.stats.compare import Comparison, Estimate, ModelSummary
from cruxbox.stats.paired import Difference

NOTHING = "–"


def percent(fraction: float | None, digits: int = 1) -> str:
    """0.3689 as `36.9`; a dash for what is not known."""
    return NOTHING if fraction is None or math.isnan(fraction) else f"{100 * fraction:.{digits}f}"


def signed(fraction: float) -> str:
    """A difference in points, with its sign, and a real minus."""
    return NOTHING if math.isnan(fraction) else f"{100 * fraction:+.1f}".replace("-", "−")


def plain(number: float) -> str:
    """A number that is not a percentage."""
    return NOTHING if math.isnan(number) else f"{number:.2f}".replace("-", "−")


def p_value(number: float, resamples: int) -> str:
    """A p value; below what so many resamples can show it is only known to be smaller."""
    if math.isnan(number):
        return NOTHING
    least = max(0.001, 2 / (resamples + 1))
    return f"< {least:.1g}" if number <= least else f"{number:.3f}"


def estimate_of(model: ModelSummary, k: int) -> Estimate | None:
    """The model's pass@k, or None where too few samples were drawn."""
    return next((estimate for estimate in model.pass_at if estimate.k == k), None)


def with_interval(estimate: Estimate | None) -> str:
    """`36.9 [32.6, 41.3]`."""
    if estimate is None:
        return NOTHING
    return f"{percent(estimate.value)} [{percent(estimate.low)}, {percent(estimate.high)}]"


def verdict_on(difference: Difference, comparison: Comparison) -> str:
    """What a difference to the baseline amounts to, in a word or two."""
    if math.isnan(difference.difference):
        return "no shared task"
    return verdict_at(difference, 1 - comparison.settings.confidence)


def verdict_at(difference: Difference, level: float) -> str:
    """`better`, `worse` or `not told apart`, at this level of significance."""
    if not difference.significant(level):
        return "not told apart"
    return "better" if difference.difference > 0 else "worse"


def headline(comparison: Comparison) -> list[str]:
    """What the whole comparison says, in a few sentences."""
    first = comparison.settings.ks[0]
    ranked = sorted(
        (model for model in comparison.models if estimate_of(model, first)),
        key=lambda model: -(estimate_of(model, first) or Estimate(first, 0, 0.0, 0.0, 0.0)).value,
    )
    sentences = [f"{counted(len(comparison.models), 'model')} on {counted(comparison.tasks, 'task')}."]
    if ranked:
        best = estimate_of(ranked[0], first)
        sentences.append(
            f"{'Highest' if len(ranked) > 1 else 'Its'} pass@{first}: "
            + (f"{ranked[0].name} with " if len(ranked) > 1 else "")
            + f"{with_interval(best)} %."
        )
    if comparison.differences:
        words = [(verdict_on(one, comparison), one.model) for one in comparison.differences]
        for word, phrase in (
            ("better", "better than"),
            ("worse", "worse than"),
            ("not told apart", "not told apart from"),
        ):
            names = [name for verdict, name in words if verdict == word]
            if names:
                listed = ", ".join(names) if len(names) <= 5 else f"{len(names)} models"
                verb = "is" if len(names) == 1 else "are"
                sentences.append(f"{listed} {verb} {phrase} the baseline {comparison.baseline}.")
    return sentences


def related(found: Across) -> list[str]:
    """How two tasks go together, over models and over samples."""
    return [
        f"Pass@1 on {found.first} against {found.second}, over {len(found.models)} models: "
        f"Pearson {plain(found.models_pearson)}, Spearman {plain(found.models_spearman)}.",
        f"Mean p over the models, over {len(found.ids)} samples: "
        f"Pearson {plain(found.samples_pearson)}, Spearman {plain(found.samples_spearman)}.",
    ]


def notes_on(comparison: Comparison) -> list[str]:
    """What a reader must know before believing a number."""
    notes = list(comparison.notes)
    stated = [text for model in comparison.models if (text := _recorded_differs(model))]
    if stated:
        notes.append(
            "Files state another pass@k than their verdicts give, because they cover other tasks, or were scored with "
            f"accounting that drops what cannot be checked: {'; '.join(stated)}."
        )
    return notes


def _recorded_differs(model: ModelSummary) -> str:
    """`name pass@1 36.88 here, 35.95 stated`, or nothing where the two agree to what is printed."""
    parts = []
    for estimate in model.pass_at:
        stated = model.recorded.get(estimate.k)
        if stated is not None and abs(stated - 100 * estimate.value) > 0.005:
            parts.append(f"pass@{estimate.k} {100 * estimate.value:.2f} here, {stated:.2f} stated")
    return f"{model.name} ({', '.join(parts)})" if parts else ""
