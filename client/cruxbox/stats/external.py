"""Scores of other benchmarks beside pass@1 (the paper's Figure 3): agreement of ranks, also within a model family."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cruxbox.errors import DataError
from cruxbox.reading import read_text
from cruxbox.stats.correlation import relation

#: A family of fewer models says nothing: two points always lie on a line.
FEWEST_MODELS = 3

_END = re.compile(r"_temp\d+(\.\d+)?(_(input|output))?$")
_FAMILY = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True)
class ExternalScores:
    """Scores of other benchmarks.

    Args:
        benchmarks: their names.
        scores: model -> benchmark -> score, in the file's unit; a missing score has no entry.
        families: model -> family, for the models whose family the file states.
        where: the file.
    """

    benchmarks: tuple[str, ...]
    scores: Mapping[str, Mapping[str, float]]
    families: Mapping[str, str] = field(default_factory=dict)
    where: str = ""

    def row_of(self, model: str) -> str | None:
        """The name that the file has for `model`: the same, or the same up to `_temp0.2`; None if it has none."""
        return next((name for name in (model, _END.sub("", model)) if name in self.scores), None)


@dataclass(frozen=True)
class Relation:
    """Correlations of models' scores on two benchmarks; NaN for fewer than three models, or if all scores are alike.

    Args:
        family: the family of the models, or "all models".
        models: number of models that have both scores.
        pearson, spearman: the coefficients.
    """

    family: str
    models: int
    pearson: float
    spearman: float


@dataclass(frozen=True)
class AgainstExternal:
    """pass@1 against the scores of another benchmark.

    Args:
        benchmark: its name.
        points: (model, family, score of the benchmark in the file's unit, our pass@1 as a fraction).
        relations: correlations of all models first, then of each family.
    """

    benchmark: str
    points: tuple[tuple[str, str, float, float], ...]
    relations: tuple[Relation, ...]


def read_external(path: Path) -> ExternalScores:
    """Read scores of other benchmarks.

    Args:
        path: a CSV file with the columns `model`, optionally `family`, and one for each benchmark. An empty cell or `-`
            is no score.

    Returns:
        The scores.

    Raises:
        DataError: the file cannot be read or does not have this form; the message names line and column.
    """
    try:
        lines = list(csv.reader(io.StringIO(read_text(path))))
    except csv.Error as error:
        raise DataError(f"{path}: is not CSV: {error}") from None
    header = [name.strip() for name in lines[0]] if lines else []
    benchmarks = tuple(name for name in header if name not in ("model", "family"))
    if "model" not in header or not benchmarks or "" in header or len(set(header)) != len(header):
        raise DataError(
            f"{path}, line 1: the header must be as in model,HumanEval@1, each name once; is {','.join(header)!r}"
        )
    scores: dict[str, dict[str, float]] = {}
    families: dict[str, str] = {}
    for number, cells in enumerate(lines[1:], 2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise DataError(f"{path}, line {number}: has {len(cells)} cells, the header {len(header)}")
        row = {name: cell.strip() for name, cell in zip(header, cells)}
        model = row["model"]
        if not model or model in scores:
            raise DataError(f"{path}, line {number}: 'model' must be a name of its own, is {model!r}")
        stated = {name: row[name] for name in benchmarks if row[name] not in ("", "-")}
        scores[model] = {name: _number(text, path, number, name) for name, text in stated.items()}
        if row.get("family"):
            families[model] = row["family"]
    return ExternalScores(benchmarks, scores, families, str(path))


def _number(text: str, path: Path, line: int, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{path}, line {line}: {column!r} must be a number, is {text!r:.40}")
    return value


def family_of(model: str) -> str:
    """The letters that a model's name begins with, in lower case: `codellama` of `codellama-13b+cot`."""
    match = _FAMILY.match(model)
    return match[0].lower() if match else model


def against_external(ours: Mapping[str, float], external: ExternalScores) -> list[AgainstExternal]:
    """Our scores (pass@1 by model) against every benchmark of the file, over the models that have both.

    Raises DataError if the file has none of the models.
    """
    rows = {model: row for model in ours if (row := external.row_of(model)) is not None}
    if not rows:
        file = external.where or "the external scores"
        raise DataError(f"{file}: has none of the models, such as {next(iter(ours))!r}")
    found = []
    for benchmark in external.benchmarks:
        points = tuple(
            (model, external.families.get(row) or family_of(model), external.scores[row][benchmark], ours[model])
            for model, row in rows.items()
            if benchmark in external.scores[row]
        )
        found.append(AgainstExternal(benchmark, points, tuple(_relations(points))))
    return found


def _relations(points: Sequence[tuple[str, str, float, float]]) -> list[Relation]:
    families = sorted({point[1] for point in points})
    groups = [("all models", list(points))]
    groups += [(family, [point for point in points if point[1] == family]) for family in families]
    found = []
    for name, members in groups:
        theirs, mine = np.array([point[2] for point in members]), np.array([point[3] for point in members])
        enough = len(members) >= FEWEST_MODELS
        pearson, spearman = (relation(how, theirs, mine) if enough else math.nan for how in ("pearson", "spearman"))
        found.append(Relation(name, len(members), pearson, spearman))
    return found
