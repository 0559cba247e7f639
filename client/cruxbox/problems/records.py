"""Records of a file of problems or samples, each with where it stands: JSON lines, one JSON value or Parquet; and of
EvalPlus's folders of samples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from cruxbox.building import rows
from cruxbox.errors import DataError
from cruxbox.reading import NotJson, bounded_lines, kind_of, opened, parse_row, read_bytes, read_json

Record = Mapping[str, Any]
# Fields by which an object is known for a row, and not for one of rows by their names.
_IDS = ("task_id", "question_id", "problem_id")


class BadRow(ValueError):
    """What is wrong with one record, as a phrase such as "field 'test' is missing"."""


def records(path: Path) -> Iterator[tuple[str, Record | BadRow]]:
    """(file and line, object) of each line that is not blank; or of each item, where the file is one array; or of each
    row of a Parquet file.

    Of a folder, one for each file TASK/*.py. A line that is no object is a BadRow. DataError if the file itself cannot
    be read.
    """
    if path.is_dir():
        yield from _programs_of(path)
        return
    if path.suffix == ".parquet":
        yield from _rows_of(path)
        return
    is_whole = path.name.endswith((".json", ".json.gz")) and not _has_lines(path)
    if is_whole and not isinstance(whole := read_json(path), str):
        yield from _items(path, whole)
        return
    with opened(path) as file:
        for number, line in enumerate(bounded_lines(file, path), 1):
            if line is None or line.strip():
                yield f"{path}, line {number}", _parsed(line)


def _rows_of(path: Path) -> Iterator[tuple[str, Record | BadRow]]:
    for number, found in rows.records(path):
        yield f"{path}, row {number}", BadRow(found) if isinstance(found, str) else found


def _has_lines(path: Path) -> bool:
    """Does a file that is called `.json` hold an object on each line? So pandas and datasets write it."""
    if not path.is_file():
        return False
    with opened(path) as file:
        lines = [*islice((line for line in bounded_lines(file, path) if line is None or line.strip()), 2)]
    try:
        return len(lines) > 1 and bool(parse_row(lines[0]))
    except NotJson:
        return False


def programs_in(folder: Path) -> list[Path]:
    """The files TASK/*.py of a folder, those of one task together and by their numbers."""
    found = folder.glob("*/*.py")
    return sorted(found, key=lambda each: [int(part) if part.isdecimal() else part for part in _parts(each)])


def _parts(path: Path) -> list[str]:
    """Text, number, text, ... so that two paths compare as people count."""
    return re.split(r"([0-9]+)", f"{path.parent.name}/{path.name}")


def _programs_of(folder: Path) -> Iterator[tuple[str, Record | BadRow]]:
    for path in programs_in(folder):
        try:
            text = read_bytes(path).decode("utf-8-sig", "surrogateescape")  # other bytes are the program's own fault
            yield str(path), {"task_id": path.parent.name, "file": path.name, "solution": text}
        except DataError as error:
            yield str(path), BadRow(str(error).removeprefix(f"{path}: "))


def _items(path: Path, whole: Any) -> Iterator[tuple[str, Record | BadRow]]:
    """Those of an array; of an object, what each key has, unless it is a row itself."""
    if isinstance(whole, dict) and not any(isinstance(whole.get(name), (str, int)) for name in _IDS):
        for name, value in whole.items():
            yield f"{path}, item {name[:80]!r}", _listed(name, value)
        return
    for number, item in enumerate(whole if isinstance(whole, list) else [whole], 1):
        yield f"{path}, item {number}", item if isinstance(item, dict) else _no_object(item)


def _listed(name: str, value: Any) -> Record:
    return {"task_id": name, **(value if isinstance(value, dict) else {"code_list": value})}


def _parsed(line: bytes | None) -> Record | BadRow:
    try:
        return parse_row(line)
    except NotJson as error:
        return BadRow(str(error))


def _no_object(value: Any) -> BadRow:
    return BadRow(f"must be an object, is {kind_of(value)}")


def text(record: Record, name: str) -> str:
    """A field that has to be a string. BadRow if it is not there or is something else."""
    if name not in record:
        raise BadRow(f"field {name!r} is missing")
    value = record[name]
    if not isinstance(value, str):
        raise BadRow(f"field {name!r} must be a string, is {kind_of(value)}")
    return value


def optional_text(record: Record, name: str) -> str:
    """A field that may be missing or null, else a string."""
    return "" if record.get(name) is None else text(record, name)


def texts(record: Record, name: str) -> list[str]:
    """A field that is a list of strings, or missing, or null."""
    value = [] if record.get(name) is None else record[name]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadRow(f"field {name!r} must be a list of strings")
    return value


def identity(record: Record, *names: str) -> str:
    """What the record is called: the first of these fields that it has, a whole number or a string of some length."""
    name = next((each for each in names if each in record), names[0])
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer():  # as pandas writes a column in which one is missing
        return str(int(value))
    if not (said := text(record, name)):
        raise BadRow(f"field {name!r} is empty")
    return said


def entry_point(value: str) -> str:
    """A name with attributes and empty calls: `f`, `Solution.solve`, `Solution().solve`. BadRow if it is none."""
    if all(map(_is_called_name, value.split("."))):
        return value
    raise BadRow(f"entry_point is {value[:80]!r}, which is no name such as 'f' or 'Solution().solve'")


def _is_called_name(part: str) -> bool:
    """Is it a name, and nothing but empty calls behind that?"""
    name = part.rstrip("()")
    calls = part[len(name) :]
    return name.isidentifier() and calls == "()" * (len(calls) // 2)


def may_bind_check(source: str) -> bool:
    """May this source of a test or checker bind `check`? One that this Python cannot read is left to the runtime."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == "check":
            return True
        if isinstance(node, ast.Name) and node.id == "check" and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.alias) and (node.asname or node.name) in ("check", "*"):
            return True
        if isinstance(node, ast.Constant) and node.value == "check":  # globals()["check"] = …
            return True
    return False
