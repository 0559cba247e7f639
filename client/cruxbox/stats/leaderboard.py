"""A leaderboard out of scored files that are named as CRUXEval's are: `MODEL[+cot]_temp{T}_{input|output}.json`.

pass@1 is that of the files at T = 0.2, pass@5 that of the files at T = 0.8, both as the released scorers compute them
from the marks of a file. There is no pass@5 of fewer than five generations a task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cruxbox.errors import DataError
from cruxbox.passk import mean_percent, reference_pass_at_k
from cruxbox.reading import stem_of
from cruxbox.stats.scored import Scored, read_scored

# The columns of the table, and of the CSV after the model's name.
COLUMNS = ("i@1", "o@1", "i@5", "o@5")
CSV_COLUMNS = ("i@1", "i@5", "o@1", "o@5")

_NAME = re.compile(r"(?P<model>.+)_temp(?P<temperature>\d+(?:\.\d+)?)_(?P<mode>input|output)")
_K_OF_TEMPERATURE = {0.2: 1, 0.8: 5}


@dataclass
class Entry:
    """One model: its figures in percent (None where there is none), n (fewest and most generations a task), tasks."""

    model: str
    figures: dict[str, float | None] = field(default_factory=dict)
    samples: tuple[int, int] = (0, 0)
    tasks: int = 0

    @property
    def n(self) -> str:
        """`10`, or `3–10` where files or tasks differ."""
        return "–".join(map(str, sorted(set(self.samples))))

    def as_dict(self) -> dict[str, object]:
        """The entry for `--json`."""
        known = {column: self.figures.get(column) for column in COLUMNS}
        return {"model": self.model, **known, "n": list(self.samples), "tasks": self.tasks}


@dataclass(frozen=True)
class Leaderboard:
    """Entries, the best first (by the mean of its pass@1), and what a reader should know."""

    entries: Sequence[Entry]
    notes: Sequence[str]


def leaderboard(paths: Iterable[Path]) -> Leaderboard:
    """The leaderboard of scored files. Raises DataError for a name that tells no model, and for a place taken twice."""
    entries: dict[str, Entry] = {}
    taken: dict[tuple[str, str], Path] = {}
    notes: list[str] = []
    for path in paths:
        model, temperature, mode = place_of(path)
        k = _K_OF_TEMPERATURE.get(temperature)
        if k is None:
            notes.append(
                f"{path} is left out: pass@1 is that of T = 0.2 and pass@5 that of T = 0.8, not {temperature:g}."
            )
            continue
        column = f"{mode[0]}@{k}"
        if (model, column) in taken:
            raise DataError(f"{path}: {column} of {model!r} comes from {taken[model, column]} already")
        taken[model, column] = path
        _enter(entries.setdefault(model, Entry(model)), column, k, read_scored(path, model))
    if not entries:
        raise DataError("there is no file of T = 0.2 or T = 0.8 to make a leaderboard of")
    counts = {entry.tasks for entry in entries.values()}
    if len(counts) > 1:
        notes.append(f"Not all files cover as many tasks: {min(counts)} to {max(counts)}.")
    return Leaderboard(sorted(entries.values(), key=_rank), notes)


def place_of(path: Path) -> tuple[str, float, str]:
    """(model, temperature, mode) of a scored file, by its name or, if that says nothing, by its folder's."""
    match = _NAME.fullmatch(stem_of(path)) or _NAME.fullmatch(path.absolute().parent.name)
    if match is None:
        raise DataError(f"{path}: must be called MODEL_temp0.2_input.json, MODEL+cot_temp0.8_output.json or alike")
    return match["model"], float(match["temperature"]), match["mode"]


def _enter(entry: Entry, column: str, k: int, scored: Scored) -> None:
    counts = [len(scored.generations.get(id, marks)) for id, marks in scored.verdicts.items()]
    least, most = min(counts), max(counts)
    before = entry.samples if entry.tasks else (least, most)
    entry.samples = min(least, before[0]), max(most, before[1])
    entry.tasks = max(entry.tasks, len(counts))
    entry.figures[column] = None if least < k else figure(scored.verdicts, k)


def figure(verdicts: Mapping[str, Sequence[bool | None]], k: int) -> float:
    """pass@k in percent, as the released scorers compute it; undecided marks leave n."""
    known = ([mark for mark in marks if mark is not None] for marks in verdicts.values())
    return mean_percent(reference_pass_at_k(len(marks), sum(marks), k) for marks in known)


def _rank(entry: Entry) -> tuple[float, str]:
    first = [value for value in (entry.figures.get("i@1"), entry.figures.get("o@1")) if value is not None]
    return (-mean_percent(first) if first else 1.0), entry.model


def cell(value: float | None, digits: int = 1) -> str:
    """A figure as it is printed; `-` for none."""
    return "-" if value is None else f"{value:.{digits}f}"


def csv_lines(board: Leaderboard, digits: int = 1) -> list[list[str]]:
    """The lines of the CSV, its header first."""
    lines = [["Model", *CSV_COLUMNS]]
    for entry in board.entries:
        lines.append([entry.model, *(cell(entry.figures.get(column), digits) for column in CSV_COLUMNS)])
    return lines


def render_leaderboard(board: Leaderboard, title: str = "CRUXEval leaderboard", digits: int = 1) -> str:
    """One HTML page with both tasks that needs nothing else and runs no script. Raises DataError without jinja2."""
    try:
        import jinja2
    except ImportError as error:
        raise DataError("the HTML page needs jinja2: pip install 'cruxbox[stats]'") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cruxbox.stats"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    tasks = [(mode, _ranked(board, mode)) for mode in ("input", "output")]
    return environment.get_template("leaderboard.html.j2").render(
        title=title, board=board, columns=COLUMNS, tasks=tasks, cell=lambda value: cell(value, digits)
    )


def _ranked(board: Leaderboard, mode: str) -> list[tuple[Entry, float | None, float | None]]:
    """(entry, pass@1, pass@5) of one task, the best pass@1 first."""
    lines = [(entry, entry.figures.get(f"{mode[0]}@1"), entry.figures.get(f"{mode[0]}@5")) for entry in board.entries]
    return sorted(lines, key=lambda line: -1.0 if line[1] is None else line[1], reverse=True)
