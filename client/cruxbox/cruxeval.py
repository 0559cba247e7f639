"""CRUXEval's own files: the data set and the generations. Mistakes are named by file and line."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cruxbox.building.rows import Row, read_rows
from cruxbox.errors import DataError
from cruxbox.reading import STANDARD, kind_of, read_json, read_text

Dataset = Mapping[str, Row]
Generations = Mapping[str, list[str]]


def read_dataset(path: Path) -> Dataset:
    """The rows `{code, input, output, id}` of a JSONL file by id, in their order. DataError names file and line."""
    rows, _ = read_rows(path, strict=True, unique=True)
    return {row.id: row for row in rows}


def read_prelude(path: Path | None) -> str:
    """What stands in front of every program; "" for nothing. DataError if the file cannot be read."""
    return read_text(path).rstrip("\n") + "\n" if path else ""


def with_prelude(dataset: Dataset, front: str) -> Dataset:
    """The rows with the text `front` in front of every program."""
    if not front:
        return dataset
    return {id: replace(row, code=front + row.code.removeprefix("\ufeff")) for id, row in dataset.items()}


def read_generations(path: Path, dataset: Dataset) -> Generations:
    """`{id: [generation, ...]}` from a JSON file, every id one of `dataset`. DataError names file, line and key."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise DataError(f"{path}: must hold an object of lists, one for each task, not {kind_of(value)}")
    if not value:
        raise DataError(f"{path}: holds no generations")
    for name, generations in value.items():
        problem = _problem(name, generations, dataset)
        if problem:
            raise DataError(f"{_where(path, name)}: {problem}")
    return value


def _problem(name: str, generations: Any, dataset: Dataset) -> str:
    """What is wrong with the generations of one task; "" if nothing is."""
    if name not in dataset:
        return f"{name!r:.80} is no id of the data set (its ids look like {next(iter(dataset))!r:.80})"
    if not isinstance(generations, list):
        return f"{name} must be a list of strings, not {kind_of(generations)}"
    for number, generation in enumerate(generations):
        if not isinstance(generation, str):
            return f"generation {number} of {name} must be a string, not {kind_of(generation)}"
    return ""


def _where(path: Path, key: str) -> str:
    """File and line of a key. Looked for only when something is wrong: for every key it would take for ever."""
    if os.fspath(path) == STANDARD:
        return STANDARD
    try:
        return f"{path}, line {_line_of(read_text(path), key)}"
    except DataError:  # a pipe, which can be read but once
        return str(path)


def _line_of(text: str, key: str) -> int:
    at = text.find(json.dumps(key))
    if at < 0:
        at = text.find(json.dumps(key, ensure_ascii=False))
    return text.count("\n", 0, max(at, 0)) + 1
