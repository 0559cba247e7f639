"""Output of the commands: results on stdout, everything else on stderr, all of it through `printable`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.table import Table

from cruxbox.errors import DataError
from cruxbox.files import Unwritable
from cruxbox.printable import counted, printable
from cruxbox.terminal import Terminal

# Rows that cannot be used are named one by one up to this many; all are counted.
_REPORTED = 20


def print_json(value: Any) -> None:
    """One JSON object on stdout."""
    json.dump(value, sys.stdout)
    sys.stdout.write("\n")


def print_table(table: Table) -> None:
    """A table on stdout, as wide as it needs to be when nobody looks."""
    Terminal().print(table)


def say(sentence: str) -> None:
    """One line of a result for people, on stdout."""
    sys.stdout.write(printable(sentence) + "\n")


def note(sentence: str) -> None:
    """A remark for people, on stderr."""
    sys.stderr.write(f"cruxbox: {printable(sentence)}\n")


class BadRows:
    """Says which rows cannot be used, but not a million times; nothing before one can, as then an error says it all."""

    def __init__(self) -> None:
        self.count = 0
        self.first: object = ""
        self._held: list[object] = []
        self._is_usable = False

    def __call__(self, problem: object) -> None:
        """A row that cannot be used."""
        self.first = self.first or problem
        self.count += 1
        if self.count <= _REPORTED:
            self._held.append(problem)
        if self._is_usable:
            self.usable()

    def usable(self) -> None:
        """A row that can be used has come."""
        self._is_usable = True
        for problem in self._held:
            note(str(problem))
        self._held.clear()

    def finish(self) -> None:
        """That were all rows."""
        self.usable()
        if self.count > _REPORTED:
            note(f"{counted(self.count - _REPORTED, 'more row')} cannot be used")


def say_bad(problems: Iterable[object]) -> None:
    """Say which rows cannot be used, where others can."""
    rows = BadRows()
    for problem in problems:
        rows(problem)
    rows.finish()


@contextmanager
def resumable(left: Callable[[], Path | None]) -> Iterator[None]:
    """If the body ends early, by Ctrl-C or an error, tells where its work is kept and that --resume goes on with it.

    Args:
        left: gives the file that holds what was done, None if there is nothing.
    """
    try:
        yield
    except BaseException as error:
        # The sentence of a mistake in a file says what to do.
        path = None if isinstance(error, DataError) and not isinstance(error, Unwritable) else left()
        if path is not None:
            note(f"what was done so far is kept in {path}; --resume continues it")
        raise


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A function (done, all) that moves a bar on stderr; it does nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as progress:
        bar = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)
