"""Texts that may be run: who runs them, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.exchange import permissions
from cruxcell.jobs.separated.proxies.remote import RemoteObject
from cruxcell.jobs.separated.rules.texts import (
    Texts,
)

# The script's variables: the program's objects, what the program has that is of the library, and the script's own.
GIVEN = {"f": object.__new__(RemoteObject), "g": object.__new__(RemoteObject), "kind": type, "want": 2, "max": 3}


class Left(Exception):
    """The worker is ended, at that line of the script."""


Frame = tuple[str, str, str, dict[str, Any]]


def frame(module: str, /, function: str = "load", file: str = "library.py", **variables: Any) -> Frame:
    return module, function, file, variables


class Heard:
    """A script that is under way."""

    def __init__(self) -> None:
        self.is_foreign, self.opens = True, False
        texts = "'import os', 'a > @limit', 'limit', 'limit + 1', 'a > @asked.limit', 'a > @asked.limit - 1 + @limit'"
        script = compile(f"def f(n): return n\ntexts = {texts}", CHECK, "exec", 0, True)
        self.own = next(each for each in script.co_consts if isinstance(each, type(script)))
        self.texts = Texts(self._hear, script, lambda: self.is_foreign, self._leave, self._may_open)

    def _hear(self, _events: tuple[str, ...], listen: Callable[..., None]) -> None:
        self.listen = listen

    def _leave(self, line: int) -> None:
        raise Left(line)

    def _may_open(self, path: str, is_moved: bool) -> bool:
        return self.opens or (is_moved and path == "b")

    def ask(self, frames: list[Frame], event: str, *arguments: Any) -> str:
        """What comes of an event within these frames, of which the last one causes it."""
        call: Callable[[], Any] = partial(self.listen, event, arguments)
        for module, function, file, variables in reversed(frames):
            space: dict[str, Any] = {"__name__": module, "call": call, **variables}
            named = ", ".join(f"{name}={name}" for name in variables)
            exec(compile(f"def {function}({named}):\n    return call()", file, "exec"), space)
            call = space[function]
        try:
            call()
        except Left as left:
            return f"left at {left}"
        except PermissionError:
            return "refused"
        return "ran"


CODE, CALL = compile("import sys", "<string>", "exec", 0, True), compile("f(1)", "<string>", "exec", 0, True)
F = GIVEN["f"]
SCRIPTS = frame("__main__", file=CHECK)
ASKED, OURS = frame(permissions.__name__, permissions.run.__name__), frame("cruxcell.jobs.separated.state.files")
LIBRARY, TWINS = frame("json"), frame("cruxcell.native.pure")


def timed(stmt: object, setup: object = "pass") -> Frame:
    return frame("timeit", f=F, stmt=stmt, setup=setup)
