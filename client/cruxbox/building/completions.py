"""Raw completions of a model, as serving engines write them.

One JSON object `{id: [text, ...]}`, or JSONL with an `id` (or `task_id`) and a `completion`, or several `completions`,
a line; lines with the same id add up, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cruxbox.errors import DataError
from cruxbox.reading import KeyTwice, NotJson, kind_of, parse_json, parse_row, problem_of_texts, read_text


def read_completions(path: Path, *, numbered: bool = False) -> dict[str, list[str]]:
    """Completions by id. `numbered` lets lines go without an id: they are called by their line's number, from 0.

    Raises DataError that names file and line.
    """
    text = read_text(path)
    try:
        whole = parse_json(text, unique=True)
    except KeyTwice as error:
        raise DataError(f"{path}: {error}") from None
    except NotJson:
        whole = None
    if isinstance(whole, dict) and whole and all(isinstance(value, list) for value in whole.values()):
        return {id: _texts(many, f"{path}: completions of {id!r}") for id, many in whole.items()}
    found: dict[str, list[str]] = {}
    for number, where, record in _records(path, text):
        id = _id(record, where, str(number - 1) if numbered else None)
        many = record.get("completions", record.get("completion"))
        if many is None:
            raise DataError(f"{where}: needs a 'completion' or 'completions'")
        found.setdefault(id, []).extend(_texts([many] if isinstance(many, str) else many, f"{where}: completions"))
    if not found:
        raise DataError(f"{path}: holds no completions")
    return found


def read_prompts(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Of a file that `cruxbox prompts` wrote: prompts by id, and the names of the functions that are not called f."""
    prompts, functions = {}, {}
    is_empty = True
    for number, where, record in _records(path, read_text(path)):
        is_empty = False
        id = _id(record, where, str(number - 1))
        if isinstance(record.get("function"), str):
            functions[id] = record["function"]
        if "messages" in record and "prompt" not in record:
            continue  # a chat's answer never begins with what was asked
        if not isinstance(record.get("prompt"), str):
            raise DataError(f"{where}: 'prompt' must be a string, is {kind_of(record.get('prompt'))}")
        prompts[id] = record["prompt"]
    if is_empty:
        raise DataError(f"{path}: holds no prompts")
    return prompts, functions


def _records(path: Path, text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Number, place and object of each line that is not blank. DataError for one that is no object."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                yield number, where, parse_row(line.encode("utf-8", "surrogatepass"))
            except NotJson as error:
                raise DataError(f"{where}: {error}") from None


def _id(record: dict[str, Any], where: str, default: str | None) -> str:
    id = record.get("id", record.get("task_id", default))
    if not isinstance(id, str):
        raise DataError(f"{where}: 'id' must be a string" + (f", is {id!r:.40}" if id is not None else ", is missing"))
    return id


def _texts(many: Any, where: str) -> list[str]:
    problem = problem_of_texts(many)
    if problem:
        raise DataError(f"{where} must be a list of strings, {problem}")
    return list(many)
