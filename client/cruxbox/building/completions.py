"""Raw completions of a model, as serving engines write them.

One JSON object `{id: [text, ...]}`, or JSONL with an `id` (or `task_id`) and a `completion`, or several `completions`,
a line; lines with the same id add up, in their order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cruxbox.errors import DataError
from cruxbox.reading import NotJson, kind_of, parse_json, read_text


def read_completions(path: Path, *, numbered: bool = False) -> dict[str, list[str]]:
    """Completions by id. `numbered` lets lines go without an id: they are called by their line's number, from 0.

    Raises DataError that names file and line.
    """
    text = read_text(path)
    try:
        whole = parse_json(text)
    except NotJson:
        whole = None
    if isinstance(whole, dict) and whole and all(isinstance(value, list) for value in whole.values()):
        return {id: _texts(many, f"{path}: completions of {id!r}") for id, many in whole.items()}
    found: dict[str, list[str]] = {}
    for number, line in _lines(text):
        where = f"{path}, line {number}"
        record = _object(line, where)
        id = _id(record, where, str(number - 1) if numbered else None)
        many = record.get("completions", record.get("completion"))
        if many is None:
            raise DataError(f"{where}: needs a 'completion' or 'completions'")
        found.setdefault(id, []).extend(_texts([many] if isinstance(many, str) else many, f"{where}: completions"))
    if not found:
        raise DataError(f"{path}: holds no completions")
    return found


def read_prompts(path: Path) -> dict[str, str]:
    """Prompts by id, of a file that `cruxbox prompts` wrote."""
    found = {}
    for number, line in _lines(read_text(path)):
        where = f"{path}, line {number}"
        record = _object(line, where)
        if "messages" in record and "prompt" not in record:
            continue  # a chat's answer never begins with what was asked
        if not isinstance(record.get("prompt"), str):
            raise DataError(f"{where}: 'prompt' must be a string")
        found[_id(record, where, str(number - 1))] = record["prompt"]
    return found


def read_functions(path: Path) -> dict[str, str]:
    """By id, the names of the functions that are not called f, of a file that `cruxbox prompts` wrote."""
    found = {}
    for number, line in _lines(read_text(path)):
        where = f"{path}, line {number}"
        record = _object(line, where)
        if isinstance(record.get("function"), str):
            found[_id(record, where, str(number - 1))] = record["function"]
    return found


def _lines(text: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        record = parse_json(line)
    except NotJson as error:
        raise DataError(f"{where}: {error}") from None
    if not isinstance(record, dict):
        raise DataError(f"{where}: must be an object, is {kind_of(record)}")
    return record


def _id(record: dict[str, Any], where: str, default: str | None) -> str:
    id = record.get("id", record.get("task_id", default))
    if not isinstance(id, str):
        raise DataError(f"{where}: 'id' must be a string" + (f", is {id!r:.40}" if id is not None else ", is missing"))
    return id


def _texts(many: Any, where: str) -> list[str]:
    if not isinstance(many, list) or not all(isinstance(one, str) for one in many):
        raise DataError(f"{where} must be a list of strings")
    return many
