"""Where the files of a command go: what an option may name, and what else is said where one is standard output."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cruxbox.cli.show import note, print_json, say
from cruxbox.errors import DataError, InvalidRequest
from cruxbox.reading import STANDARD


def file_path(named: str) -> Path:
    """The path of a file to write. DataError for a name that only a folder has; a path does not keep its last slash."""
    if named.endswith(os.sep):
        raise DataError(f"{named}: ends in {os.sep} as a folder does, but must be a file")
    return Path(named)


def goes_to_stdout(as_json: bool, **outputs: Path | None) -> bool:
    """Whether an output is `-`, so that nothing else may be written there.

    Args:
        as_json: is --json given?
        outputs: the option that names it -> an output.

    Raises InvalidRequest if two things would be written there.
    """
    there = [f"--{name} -" for name, path in outputs.items() if path is not None and os.fspath(path) == STANDARD]
    both = [*there, *(["--json"] if as_json else [])]
    if there and len(both) > 1:
        raise InvalidRequest(f"{both[0]} and {both[1]} both write to standard output; leave one of them out.")
    return bool(there)


def sum_up(sentence: str, summary: dict[str, Any], *, as_json: bool, out: Path) -> None:
    """What a command has done: as JSON or a sentence on standard output; on stderr, where `out` is standard output."""
    if as_json:
        print_json(summary)
    elif os.fspath(out) == STANDARD:
        note(sentence)
    else:
        say(sentence)
