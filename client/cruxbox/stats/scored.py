"""Reads and validates scored files in the reference format: one object a file, one list of verdicts a task.

`{raw_generations: {id: [str, ...]}, raw_scored_generations: {id: [bool | null, ...]}, pass_at_1, pass_at_5}`. A null is
a check that the sandbox could not decide; it is masked, that is, it is neither passed nor counted in n.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cruxbox.errors import DataError
from cruxbox.reading import kind_of, problem_of_texts, read_json, stem_of


@dataclass(frozen=True)
class Scored:
    """The verdicts of one model on a set of tasks.

    Args:
        name: the model.
        verdicts: task id -> True, False or None (undecided) for each generation.
        generations: task id -> the generations; empty if the file has none.
        recorded: k -> the pass@k that the file itself states, in percent.
    """

    name: str
    verdicts: Mapping[str, tuple[bool | None, ...]]
    generations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recorded: Mapping[int, float] = field(default_factory=dict)

    @property
    def masked(self) -> int:
        """Verdicts that are not known."""
        return sum(list(row).count(None) for row in self.verdicts.values())


def read_scored(path: Path, name: str) -> Scored:
    """Read one scored file.

    Args:
        path: the file.
        name: the name for the model.

    Returns:
        Its verdicts.

    Raises:
        DataError: the file cannot be read or is not in the format; the message names file, field and task.
    """
    value = read_json(path)
    if not isinstance(value, dict) or not isinstance(value.get("raw_scored_generations"), dict):
        raise DataError(f"{path}: is not a scored file: it needs an object 'raw_scored_generations'")
    if not value["raw_scored_generations"]:
        raise DataError(f"{path}: 'raw_scored_generations' is empty")
    verdicts = {id: _verdicts(path, id, row) for id, row in value["raw_scored_generations"].items()}
    generations = _generations(path, value.get("raw_generations"))
    for id, row in generations.items():
        if len(verdicts.get(id, ())) > len(row):  # fewer there may be: the released scorer leaves some out
            raise DataError(
                f"{path}: task {id!r} has more verdicts ({len(verdicts[id])}) than generations ({len(row)})"
            )
    return Scored(name, verdicts, generations, _recorded(path, value))


def _verdicts(path: Path, id: str, row: Any) -> tuple[bool | None, ...]:
    if not isinstance(row, list):
        raise DataError(f"{path}: verdicts of task {id!r} must be a list, not {kind_of(row)}")
    for one in row:
        if one is not None and not isinstance(one, bool):
            raise DataError(f"{path}: verdicts of task {id!r} must be true, false or null; one is {one!r:.40}")
    return tuple(row)


def _generations(path: Path, value: Any) -> dict[str, tuple[str, ...]]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise DataError(f"{path}: 'raw_generations' must be an object, is {kind_of(value)}")
    for id, row in value.items():
        problem = problem_of_texts(row)
        if problem:
            raise DataError(f"{path}: generations of task {id!r} must be a list of strings, {problem}")
    return {id: tuple(row) for id, row in value.items()}


def _recorded(path: Path, value: Mapping[str, Any]) -> dict[int, float]:
    found: dict[int, float] = {}
    for key, number in value.items():
        match = re.fullmatch(r"pass_at_(\d{1,9})", key)
        if match and number is not None:
            is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
            if not is_number or not 0 <= number <= 100:  # false for NaN
                raise DataError(f"{path}: {key!r} must be a percentage from 0 to 100, is {number!r:.40}")
            found[int(match[1])] = float(number)
    return found


def read_all(arguments: Sequence[str]) -> list[Scored]:
    """Read scored files as a command line names them.

    Where file names agree (`a/scored.json`, `b/scored.json`), the folders that differ become part of the models' names.

    Args:
        arguments: `FILE`, whose name is the model's, or `NAME=FILE`.

    Returns:
        One model for each argument, in order.

    Raises:
        DataError: a file cannot be read or is not in the format, or two models have the same name.
    """
    paths: list[Path] = []
    given: list[str | None] = []
    for argument in arguments:
        name, separator, rest = argument.partition("=")
        named = bool(separator and name and rest) and not Path(argument).exists()
        paths.append(Path(rest if named else argument))
        given.append(name if named else None)
    names = [name or default for name, default in zip(given, _default_names(paths))]
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"two files are called {name!r}; name them, as in first=FILE second=FILE")
    return [read_scored(path, name) for path, name in zip(paths, names)]


def read_tasks(arguments: Sequence[str]) -> dict[str, list[Scored]]:
    """Read the scored files of several tasks as a command line names them.

    Models have the names of their files without the task at the end: `m_input.json` and `m_output.json` are one model.

    Args:
        arguments: `TASK=FILE`, `TASK=PATTERN` or `TASK=NAME=FILE`. A task may be given more than once.

    Returns:
        Name of a task -> its models.

    Raises:
        DataError: an argument does not have this form, no file matches a pattern, or as for `read_all`.
    """
    return {task: _of_task(task, read_all(found)) for task, found in files_of_tasks(arguments).items()}


def files_of_tasks(arguments: Sequence[str]) -> dict[str, list[str]]:
    """What `read_tasks` reads for each task, as `FILE` or `NAME=FILE`."""
    files: dict[str, list[str]] = {}
    for argument in arguments:
        task, separator, rest = argument.partition("=")
        if not (separator and task and rest):
            raise DataError(f"--task {argument!r} must be TASK=FILE, as in input=scored/m_temp0.2_input.json")
        files.setdefault(task, []).extend(_matching(rest, argument))
    return files


def _matching(text: str, argument: str) -> list[str]:
    """The files that a pattern matches, in the order of their names; anything else stays as it is."""
    if Path(text).exists() or not glob.has_magic(text):
        return [text]
    found = sorted(glob.glob(text))
    if not found:
        raise DataError(f"--task {argument!r}: no file matches {text!r}")
    return found


def _of_task(task: str, models: Sequence[Scored]) -> list[Scored]:
    named = [replace(model, name=re.sub(f"(?<=.)[_.-]{re.escape(task)}$", "", model.name)) for model in models]
    names = [model.name for model in named]
    return named if len(set(names)) == len(names) else list(models)


def _default_names(paths: Sequence[Path]) -> list[str]:
    parts = [[*path.absolute().parent.parts, stem_of(path)] for path in paths]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [stem_of(path) for path in paths]
