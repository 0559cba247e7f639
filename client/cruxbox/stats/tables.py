"""A comparison and a data set in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cruxbox.stats import sheets, sheets_across
from cruxbox.stats.compare import Comparison
from cruxbox.stats.dataset import DatasetStats
from cruxbox.stats.sheets import Sheet
from cruxbox.stats.study import Study
from cruxbox.stats.wording import headline, notes_on, related
from cruxbox.terminal import Terminal

# Matrices wider than this do not fit a terminal; the JSON and the HTML page hold them all.
_WIDEST_MATRIX = 10


def terminal() -> Console:
    """Standard output, as wide as tables need when nobody looks."""
    return Terminal()


def print_comparison(comparison: Comparison, console: Console) -> None:
    """All tables that have something to say, under a sentence that sums them up."""
    console.print(Text(" ".join(headline(comparison)), style="bold"))
    for sheet in _sheets(comparison):
        console.print()
        console.print(_table(sheet))
    for note in notes_on(comparison):
        console.print(Text(f"Note: {note}", style="yellow"))


def print_study(study: Study, console: Console) -> None:
    """The tasks against each other, then each task by itself."""
    for found in study.across:
        console.print(Text(f"{found.first} and {found.second}", style="bold"))
        for sheet in sheets_across.in_terminal(found, study.settings, study.shown(found)):
            console.print()
            console.print(_table(sheet))
        console.print(Text(" ".join(related(found))))
        for note in found.notes:
            console.print(Text(f"Note: {note}", style="yellow"))
    for task, comparison in study.tasks.items():
        console.print()
        console.print(Text(f"Task {task}", style="bold cyan"))
        print_comparison(comparison, console)


def print_dataset(stats: DatasetStats, console: Console) -> None:
    """Lengths, steps with their quartiles, and the methods used."""
    console.print(_table(sheets.spreads(stats)))
    console.print()
    console.print(_table(sheets.methods_used(stats)))
    unused = ", ".join(stats.methods_unused) or "none"
    console.print(Text(f"Rows that use no method: {stats.without_method}. Methods never used: {unused}."))


def _sheets(comparison: Comparison) -> Iterator[Sheet]:
    yield sheets.scores(comparison)
    yield sheets.behaviour(comparison)
    if comparison.differences:
        yield sheets.differences(comparison)
        for k in comparison.differences_at:
            yield sheets.differences(comparison, k)
        yield sheets.reversals(comparison)
    yield sheets.noise_by_size(comparison)
    if 1 < len(comparison.models) <= _WIDEST_MATRIX:
        for name, values in comparison.correlations.items():
            yield sheets.matrix(f"Correlation of p ({name.title()})", comparison, values)
        title = "Conditional failure: mean(column | line fails) / mean(column)"
        yield sheets.matrix(title, comparison, comparison.conditional_failure, "fails")
    for confusion in comparison.confusions:
        yield sheets.confusion(confusion)
    if comparison.methods:
        yield sheets.methods(comparison)
    for what, groups in comparison.quarters.items():
        yield sheets.groups(what, groups, comparison)
    for external in comparison.external:
        yield sheets_across.relations(external)


def _table(sheet: Sheet) -> Table:
    table = Table(title=Text(sheet.title), title_justify="left", title_style="bold cyan", header_style="bold")
    for at, column in enumerate(sheet.columns):
        table.add_column(Text(column), justify="left" if at == 0 else "right", overflow="fold")
    for line in sheet.lines:
        table.add_row(*map(Text, line))
    return table
