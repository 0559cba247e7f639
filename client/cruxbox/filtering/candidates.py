"""Candidates for a data set: rows `{code, input}` or `{code, inputs: [...]}`, each a function and inputs to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Union

from cruxbox.building.rows import MAX_FIELD_BYTES, count_rows, problem_of_name, records
from cruxbox.errors import DataError
from cruxbox.reading import kind_of

_KNOWN = ("code", "input", "inputs", "output", "outputs", "id")


class BadRow(NamedTuple):
    """A row that cannot be used, where it stands and why."""

    row: int
    line: int
    reason: str


class Candidate(NamedTuple):
    """A function and the inputs that came with it. `row` counts from 0, `line` is the line of the file."""

    row: int
    line: int
    code: str
    inputs: tuple[str, ...]
    outputs: tuple[str | None, ...]
    id: str
    has_many: bool
    extra: Mapping[str, Any]


Item = Union[BadRow, Candidate]


def read_candidates(path: str | os.PathLike[str], *, skip: int = 0) -> Iterator[Item]:
    """Candidates of a JSONL or Parquet file in order, from row `skip` on, with constant memory."""
    name = Path(path).name
    if skip:
        count = count_rows(path)
        if count is not None and skip > count:
            raise DataError(f"{path}: has {count} rows, but {skip} of them are said to be done; use --restart")
    for row, (line, record) in enumerate(records(path, skip=skip), skip):
        yield candidate(record, row, line, name) if isinstance(record, dict) else BadRow(row, line, record)


def candidate(record: Mapping[str, Any], row: int = 0, line: int = 0, file: str = "") -> Item:
    """The candidate of one row, or what is wrong with it.

    Args:
        record: the row, as JSON gives it.
        row: its number, from 0.
        line: its line in the file.
        file: the file's name, for rows without an id.
    """
    problem = _problem(record)
    if problem:
        return BadRow(row, line, problem)
    has_many = "inputs" in record
    inputs = tuple(record["inputs"]) if has_many else (record["input"],)
    given = record.get("outputs", [None] * len(inputs)) if has_many else [record.get("output")]
    name = record.get("id", f"{Path(file).stem or 'row'}_{row}")
    extra = {key: value for key, value in record.items() if key not in _KNOWN}
    return Candidate(row, line, record["code"], inputs, tuple(given), name, has_many, extra)


def _problem(record: Mapping[str, Any]) -> str:
    """What is wrong with the row, in one sentence; "" if nothing is."""
    if "code" not in record:
        return "field 'code' is missing"
    if ("input" in record) == ("inputs" in record):
        return (
            "has both 'input' and 'inputs'; one of them is enough" if "input" in record else "field 'input' is missing"
        )
    for name in ("code", "input", "output", "id"):
        if name in record:
            problem = _text_problem(record[name], repr(name))
            if problem:
                return problem
    return problem_of_name(record) or (_lists_problem(record) if "inputs" in record else "")


def _lists_problem(record: Mapping[str, Any]) -> str:
    for name in ("inputs", "outputs"):
        items = record.get(name, [])
        if not isinstance(items, list):
            return f"field {name!r} must be a list of strings, is {kind_of(items)}"
        for at, item in enumerate(items):
            problem = _text_problem(item, f"{name!r}[{at}]")
            if problem:
                return problem
    if not record["inputs"]:
        return "field 'inputs' is empty; a candidate has at least one input"
    if "outputs" in record and len(record["outputs"]) != len(record["inputs"]):
        return f"has {len(record['inputs'])} inputs but {len(record['outputs'])} outputs"
    return ""


def _text_problem(value: object, name: str) -> str:
    if not isinstance(value, str):
        return f"field {name} must be a string, is {kind_of(value)}"
    if len(value) > MAX_FIELD_BYTES or len(value.encode("utf-8", "replace")) > MAX_FIELD_BYTES:
        return f"field {name} is larger than {MAX_FIELD_BYTES} bytes"
    return ""
