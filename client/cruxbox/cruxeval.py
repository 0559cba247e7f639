"""CRUXEval's own files: the data set, generations in, scored generations out. Mistakes are named by file and line."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cruxbox.building.rows import Row, read_rows
from cruxbox.errors import DataError

MODES = ("input", "output")

Dataset = Mapping[str, Row]
Generations = Mapping[str, list[str]]


def read_dataset(path: Path) -> Dataset:
    """The rows `{code, input, output, id}` of a JSONL file by id, in their order. DataError names file and line."""
    rows, _ = read_rows(path, strict=True)
    found: dict[str, Row] = {}
    for row in rows:
        if row.id in found:
            raise DataError(f"{path}, line {row.line}: id {row.id!r} is taken by line {found[row.id].line}")
        found[row.id] = row
    return found


def read_generations(path: Path, dataset: Dataset) -> Generations:
    """`{id: [generation, ...]}` from a JSON file, every id one of `dataset`. DataError names file, line and key."""
    text, value = _read_json(path)
    if not isinstance(value, dict):
        raise DataError(f"{path}: must hold an object of lists, one for each task, not {_kind(value)}")
    if not value:
        raise DataError(f"{path}: holds no generations")
    for name, generations in value.items():
        where = f"{path}, line {_line_of(text, name)}"
        if name not in dataset:
            raise DataError(f"{where}: {name!r} is no id of the data set (its ids look like {next(iter(dataset))!r})")
        if not isinstance(generations, list):
            raise DataError(f"{where}: {name} must be a list of strings, not {_kind(generations)}")
        for number, generation in enumerate(generations):
            if not isinstance(generation, str):
                raise DataError(f"{where}: generation {number} of {name} must be a string, not {_kind(generation)}")
    return value


def _read_json(path: Path) -> tuple[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        return text, json.loads(text, object_pairs_hook=_once)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: is not JSON: {error.msg}") from None
    except RecursionError:
        raise DataError(f"{path}: is nested too deeply to be generations") from None
    except _Twice as error:
        raise DataError(f"{path}: the key {error.args[0]!r} is there twice") from None


class _Twice(ValueError):
    """A key that an object holds twice: which of the two was meant cannot be known."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return found


def _line_of(text: str, key: str) -> int:
    at = text.find(json.dumps(key))
    if at < 0:
        at = text.find(json.dumps(key, ensure_ascii=False))
    return text.count("\n", 0, max(at, 0)) + 1


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


class OutputFile:
    """A file that is there whole or not at all: written beside its place and renamed when it is complete.

    Made before the work starts, so that a folder that cannot be written is known at once. DataError if it cannot.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_dir():
            raise DataError(f"{path}: is a folder, not a file that can be written")
        try:
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        except OSError as error:
            raise DataError(f"{path}: cannot be written: {error.strerror or error}") from None
        os.close(handle)
        self._part = Path(name)

    def write_json(self, value: Any) -> None:
        """Put `value` there as JSON, and the file in its place."""
        try:
            with self._part.open("w", encoding="utf-8") as out:
                json.dump(value, out)
            os.chmod(self._part, 0o666 & ~_umask())
            self._part.replace(self.path)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written: {error.strerror or error}") from None

    def discard(self) -> None:
        """Remove what was not put in place; nothing if it was."""
        with suppress(OSError):
            self._part.unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
