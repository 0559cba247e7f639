"""The comparison as one HTML page that needs nothing else: figures are inside it, and it runs no script."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cruxbox.errors import DataError
from cruxbox.stats import sheets, sheets_across
from cruxbox.stats.across import Across
from cruxbox.stats.compare import Comparison
from cruxbox.stats.difficulty import hardest_and_easiest
from cruxbox.stats.reading import HOW_TO_READ
from cruxbox.stats.sheets import Sheet
from cruxbox.stats.study import Study
from cruxbox.stats.wording import headline, notes_on, related

# With more models than this the page takes all the width there is for its matrices.
_MANY = 12


@dataclass(frozen=True)
class Plot:
    """A figure as a data URI, and what it shows for those who cannot see it."""

    source: str
    shows: str


@dataclass(frozen=True)
class Section:
    """One question of the report: what it asks, how to read the answer, and the answer itself."""

    id: str
    label: str
    title: str
    how_to_read: str
    plots: tuple[Plot, ...] = ()
    tables: tuple[Sheet, ...] = ()
    folded: tuple[Sheet, ...] = ()
    folded_plots: tuple[Plot, ...] = ()


def render(comparison: Comparison | Study, title: str = "Comparison of models") -> str:
    """The whole page, of one comparison or of several tasks. Raises DataError without matplotlib or jinja2."""
    try:
        import jinja2

        from cruxbox.stats import plots  # noqa: F401
    except ImportError as error:
        raise DataError("the HTML report needs matplotlib and jinja2: pip install 'cruxbox[stats]'") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cruxbox.stats"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("report.html.j2").render(
        title=title,
        settings=comparison.settings,
        many=_most_models(comparison) > _MANY,
        **(_of_study(comparison) if isinstance(comparison, Study) else _of_comparison(comparison)),
    )


def _most_models(comparison: Comparison | Study) -> int:
    found = comparison.tasks.values() if isinstance(comparison, Study) else [comparison]
    return max(len(one.models) for one in found)


def _of_comparison(comparison: Comparison) -> dict[str, Sequence[object]]:
    return {"headline": headline(comparison), "notes": notes_on(comparison), "sections": list(_sections(comparison))}


def _of_study(study: Study) -> dict[str, Sequence[object]]:
    told: list[str] = []
    notes: list[str] = []
    sections: list[Section] = []
    for at, found in enumerate(study.across):
        told += related(found)
        notes += [f"{found.first} and {found.second}: {note}" for note in found.notes]
        sections += _across(found, at, study)
    for task, comparison in study.tasks.items():
        told.append(f"{task}: {' '.join(headline(comparison))}")
        notes += [f"{task}: {note}" for note in notes_on(comparison)]
        sections += [
            replace(one, id=f"{at}-{one.id}", label=f"{task}: {one.label}", title=f"{task}: {one.title}")
            for at, one in ((list(study.tasks).index(task), one) for one in _sections(comparison))
        ]
    return {"headline": told, "notes": notes, "sections": sections}


def _plot(svg: str, shows: str) -> Plot:
    return Plot("data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode("ascii"), shows)


def _sections(comparison: Comparison) -> Iterator[Section]:
    yield _scores(comparison)
    if comparison.differences:
        yield _differences(comparison)
    yield _behaviour(comparison)
    if len(comparison.models) > 1:
        yield _agreement(comparison)
    for at, _ in enumerate(comparison.confusions):
        yield _thought(comparison, at)
    yield _difficulty(comparison)
    if comparison.methods:
        yield _methods(comparison)
    if comparison.quarters:
        yield _quarters(comparison)
    for at, _ in enumerate(comparison.external):
        yield _external(comparison, at)


def _scores(comparison: Comparison) -> Section:
    from cruxbox.stats import plots

    return Section(
        "scores",
        "Scores",
        "How good is each model?",
        HOW_TO_READ["scores"],
        (_plot(plots.scores(comparison), "pass@k of each model with its bootstrap interval"),),
        (sheets.scores(comparison),),
        (sheets.noise_by_size(comparison),),
        (_plot(plots.noise_by_size(comparison), "noise of pass@1 against the number of tasks, with single draws"),),
    )


def _differences(comparison: Comparison) -> Section:
    from cruxbox.stats import plots

    figures = [_plot(plots.differences(comparison), f"differences of pass@1 to {comparison.baseline}")]
    # Models that are far apart are never reversed: a flat line says nothing that the table does not.
    if max((share for one in comparison.differences for share in one.reversed.values()), default=0.0) >= 0.001:
        figures.append(_plot(plots.reversals(comparison), "chance of a reversed order against the number of tasks"))
    return Section(
        "differences",
        "Differences",
        f"Who differs from {comparison.baseline}?",
        HOW_TO_READ["differences"],
        tuple(figures),
        (sheets.differences(comparison), *(sheets.differences(comparison, k) for k in comparison.differences_at)),
        (sheets.reversals(comparison),),
        tuple(
            _plot(plots.differences(comparison, k), f"differences of pass@{k} to {comparison.baseline}")
            for k in comparison.differences_at
        ),
    )


def _behaviour(comparison: Comparison) -> Section:
    from cruxbox.stats import plots

    figures = [
        _plot(plots.shares(comparison), "share of tasks that a model solves always, sometimes, never"),
        _plot(plots.spread_of_p(comparison), "histograms of pass@1 over tasks"),
    ]
    if any(model.distinct_counts for model in comparison.models):
        figures.append(_plot(plots.distinct(comparison), "distinct answers a task"))
    return Section(
        "behaviour",
        "Certainty",
        "Sure or guessing?",
        HOW_TO_READ["behaviour"],
        tuple(figures),
        (sheets.behaviour(comparison),),
    )


def _agreement(comparison: Comparison) -> Section:
    from cruxbox.stats import plots

    names = [model.name for model in comparison.models]
    legends = {name: f"{name.title()} correlation of p" for name in comparison.correlations}
    # Of many models only the first: the tables say the same, and are smaller.
    shown = list(comparison.correlations.items())[: None if len(names) <= _MANY else 1]
    heats = [_plot(plots.heat(values, names, True, legends[name]), legends[name]) for name, values in shown]
    ratio = "mean(column | line fails) / mean(column)"
    return Section(
        "agreement",
        "Agreement",
        "Do they fail on the same tasks?",
        HOW_TO_READ["agreement"],
        (heats[0], _plot(plots.heat(comparison.conditional_failure, names, False, ratio), ratio)),
        (),
        tuple(
            [sheets.matrix(legends[name], comparison, values) for name, values in comparison.correlations.items()]
            + [sheets.matrix(f"Conditional failure: {ratio}", comparison, comparison.conditional_failure, "fails")]
            + [sheets.matrix("Chance that the line is ahead of the column", comparison, comparison.ahead, "ahead")]
        ),
        tuple(heats[1:]),
    )


def _thought(comparison: Comparison, at: int) -> Section:
    from cruxbox.stats import plots

    one = comparison.confusions[at]
    return Section(
        f"thought-{at}",
        "Chain of thought",
        f"What does thinking aloud change? {one.direct} → {one.cot}",
        f"Of the tasks that {one.direct} solves, {one.only_direct} are lost with chain of thought; of those it fails, "
        f"{one.only_cot} are won. In the figure, green is to the right of no change, red to the left.",
        (_plot(plots.thought(one), "histogram of the change of pass@1"),),
        (sheets.confusion(one),),
    )


def _difficulty(comparison: Comparison) -> Section:
    from cruxbox.stats import plots

    return Section(
        "difficulty",
        "Difficulty",
        "How hard are the tasks?",
        HOW_TO_READ["difficulty"],
        (_plot(plots.difficulty(comparison.difficulty), "tasks by mean pass@1"),),
    )


def _methods(comparison: Comparison) -> Section:
    from cruxbox.stats import plots

    hardest, easiest = hardest_and_easiest(comparison.methods)
    return Section(
        "methods",
        "Methods",
        "Which methods are hard?",
        HOW_TO_READ["methods"],
        (_plot(plots.methods(hardest, easiest), "hardest and easiest methods"),),
        (),
        (sheets.all_methods(comparison),),
    )


def _quarters(comparison: Comparison) -> Section:
    from cruxbox.stats import plots
    from cruxbox.stats.lines import standing_out

    names, coloured = [model.name for model in comparison.models], standing_out(comparison)
    figures = (
        _plot(plots.quarters(groups, names, f"{what} of the program", coloured), f"pass@1 by {what}")
        for what, groups in comparison.quarters.items()
    )
    return Section(
        "lengths",
        "Length",
        "Do longer programs go worse?",
        HOW_TO_READ["lengths"],
        tuple(figures),
        (),
        tuple(sheets.groups(what, groups, comparison) for what, groups in comparison.quarters.items()),
    )


def _external(comparison: Comparison, at: int) -> Section:
    from cruxbox.stats import plots_across
    from cruxbox.stats.lines import standing_out

    found = comparison.external[at]
    shows = f"pass@1 against {found.benchmark}"
    return Section(
        f"external-{at}",
        found.benchmark,
        f"Does {found.benchmark} rank the models alike?",
        HOW_TO_READ["external"],
        (_plot(plots_across.external(found, standing_out(comparison)), shows),),
        (sheets_across.relations(found),),
    )


def _across(found: Across, at: int, study: Study) -> Iterator[Section]:
    from cruxbox.stats import plots_across

    label = f"{found.first} × {found.second}"
    shown = [one for one in found.models if one.name in study.shown(found)]
    yield Section(
        f"across-{at}",
        label,
        f"Are models alike on {found.first} and {found.second}?",
        HOW_TO_READ["across"],
        (_plot(plots_across.models(found, [one.name for one in shown]), f"pass@1 of the models, {label}"),),
        (sheets_across.models(found, study.settings),),
    )
    yield Section(
        f"samples-{at}",
        f"{label}: samples",
        "Are the same samples hard?",
        HOW_TO_READ["samples"],
        (
            _plot(plots_across.samples(found), f"mean p of the samples, {label}"),
            *(_plot(plots_across.confusion(found, one), f"samples by p, {label}, {one.name}") for one in shown),
        ),
        (sheets_across.unsolved(found),),
        tuple(sheets_across.unsolved_ids(one, found) for one in found.unsolved),
    )
