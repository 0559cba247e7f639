"""The tables of two tasks side by side, and of scores of other benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cruxbox.stats.across import CLASSES, Across, BothTasks, Unsolved
from cruxbox.stats.compare import Settings
from cruxbox.stats.external import AgainstExternal
from cruxbox.stats.paired import Difference
from cruxbox.stats.sheets import Sheet, sheet
from cruxbox.stats.wording import NOTHING, p_value, percent, plain, signed, verdict_at


def models(found: Across, settings: Settings) -> Sheet:
    """pass@k of each model on both tasks, and what the second is above the first."""
    ks = settings.ks
    of_k = [[f"{task} @{k}" for task in (found.first, found.second)] for k in ks]
    return sheet(
        f"pass@k on {found.first} and {found.second}, and {found.second} minus {found.first}, on the same samples",
        [
            "model",
            *(name for pair in of_k for name in pair),
            "points",
            "interval",
            "p",
            "p (Holm)",
            "verdict",
            "r",
        ],
        (_model(one, settings) for one in found.models),
    )


def _model(one: BothTasks, settings: Settings) -> list[str]:
    scores = [percent(value) for k in settings.ks for value in one.pass_at.get(k, (None, None))]
    return [one.name, *scores, *_difference(one.differences.get(1), settings), plain(one.pearson)]


def _difference(difference: Difference | None, settings: Settings) -> list[str]:
    if difference is None:
        return [NOTHING] * 5
    return [
        signed(difference.difference),
        f"[{signed(difference.low)}, {signed(difference.high)}]",
        p_value(difference.p_value, settings.resamples),
        p_value(difference.adjusted, settings.resamples),
        verdict_at(difference, 1 - settings.confidence),
    ]


def unsolved(found: Across) -> Sheet:
    """How many samples each model never solves."""
    return sheet(
        f"Samples at 0/n, of {len(found.ids)}",
        ["model", found.first, found.second, "both"],
        ([one.name, *map(str, one.unsolved)] for one in found.models),
    )


def unsolved_ids(one: Unsolved, found: Across) -> Sheet:
    """The samples at 0/n by name."""
    named = ((found.first, one.first), (found.second, one.second), ("both", one.both))
    return sheet(
        f"Samples at 0/n for {' and '.join(one.models)}",
        ["task", "samples", "which"],
        ([task, str(len(ids)), " ".join(ids) or NOTHING] for task, ids in named),
    )


def confusion(found: Across, one: BothTasks) -> Sheet:
    """The 11 × 11 table of one model: the line is p on the first task, the column p on the second."""
    classes = [f"{at / (CLASSES - 1):g}" for at in range(CLASSES)]
    return sheet(
        f"{one.name}: samples by p on {found.first} (line) and {found.second} (column)",
        ["", *classes],
        ([name, *map(str, line)] for name, line in zip(classes, one.confusion)),
    )


def relations(found: AgainstExternal) -> Sheet:
    """How our scores go with those of another benchmark, over all models and within families."""
    return sheet(
        f"pass@1 against {found.benchmark}",
        ["family", "models", "Pearson", "Spearman"],
        ([one.family, str(one.models), plain(one.pearson), plain(one.spearman)] for one in found.relations),
    )


def in_terminal(found: Across, settings: Settings, coloured: Sequence[str]) -> Iterator[Sheet]:
    """The tables that a terminal shows, the 11 × 11 ones of the models in `coloured` only."""
    yield models(found, settings)
    yield unsolved(found)
    for named in found.unsolved:
        yield unsolved_ids(named, found)
    for one in found.models:
        if one.name in coloured:
            yield confusion(found, one)
