"""The table of `cruxbox score`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from cruxbox.cli.check import error_of
from cruxbox.cli.show import note, print_table
from cruxbox.model import Outcome
from cruxbox.printable import counted
from cruxbox.scoring import FileReport

_REASONS = {
    "skipped": "it leaves out {}",
    "spliced": "it passes {} only because it splices their text into an assertion",
    "refused": "it does not pass {} that pass here",
}


# How a verdict's words begin that are about the data set's part of the check.
_OF_THE_ROW = ("the program: ", "the expected value: ")


def show(summary: Mapping[str, Any], accounting: str) -> None:
    """Print what `--json` would say, for people."""
    ks = list(summary["files"][0]["pass_at_k"])
    table = Table("file", *(f"pass@{k}" for k in ks), "checks", "outcomes", "assurance", "masked", title_justify="left")
    table.title = f"{accounting} accounting"
    for entry in summary["files"]:
        figures = [_percent(entry["pass_at_k"][k]) for k in ks]
        counts = [
            f"{entry['checks']:,}",
            _counts(entry["outcomes"]),
            _counts(entry["assurances"]),
            str(entry["masked"]),
        ]
        table.add_row(entry["path"], *figures, *counts)
    print_table(table)
    for entry in summary["files"]:
        _show_difference(entry)
    note(
        f"{counted(summary['checks'], 'check')}, {summary['distinct']:,} of them distinct, "
        f"in {summary['elapsed_s']:.2f} s."
        + ("" if all(entry["masked"] == 0 for entry in summary["files"]) else " Masked ones are faults of the sandbox.")
    )


def say_faults(dataset: Path, reports: Sequence[FileReport]) -> None:
    """Say which rows of the data set no generation can pass, and why generations are masked."""
    unusable: dict[str, str] = {}
    masked: list[str] = []
    for name, verdict in ((name, each) for report in reports for name, row in report.verdicts.items() for each in row):
        words = "" if verdict is None else error_of(verdict) or ""
        if verdict is not None and verdict.outcome is Outcome.INVALID and words.startswith(_OF_THE_ROW):
            unusable.setdefault(name, words)
        if verdict is not None and verdict.outcome is Outcome.SANDBOX_ERROR:
            masked.append(f"{name}: {words}")
    if unusable:
        name, words = next(iter(unusable.items()))
        rows = f"{counted(len(unusable), 'row')} that no generation can pass (such as {name!r:.80}: {words})"
        note(f"{dataset} has {rows}; what was generated for them counts as wrong.")
    if masked:
        note(f"{counted(len(masked), 'generation')} masked, the first of {masked[0]}")


def _show_difference(entry: Mapping[str, Any]) -> None:
    reference = entry.get("reference")
    if not reference or not reference["differs"]:
        return
    # The examples are of the last kinds.
    differs = sorted(reference["differs"].items(), key=lambda each: each[0] != "skipped")
    reasons = ", and ".join(_REASONS[reason].format(count) for reason, count in differs)
    figures = ", ".join(f"pass@{k} {_percent(value)}" for k, value in reference["pass_at_k"].items())
    examples = f" (such as {', '.join(reference['examples'])})" if reference["examples"] else ""
    note(f"{entry['path']}: the released scorer would give {figures}: {reasons}{examples}.")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "–"
