"""`sys.path` as each half has set it, where the script takes it by that name.

What the program has added the script sees in its own, and imports nothing from there, nor does a library of its: which
module is found first the program must not decide. For the same reason what it has removed is only out of sight.
"""

import sys
from _frozen_importlib_external import PathFinder

from cruxcell.analysis.bytecode import dissect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_MOST = 256  # entries of the program's


def search_paths_in(script, names, texts):
    # type: (Any, Any, list[str]) -> list[SearchPath]
    """One, if the script takes or patches `sys.path`. `names`, `texts`: all that it names, and its constants."""
    is_patched = "syspath_prepend" in names or "sys.path" in texts or ("sys" in names and "path" in texts)
    return [SearchPath()] if is_patched or any(map(_takes_it, dissect(script).codes)) else []


def _takes_it(code):
    # type: (Any) -> bool
    if "path" not in code.co_names or "sys" not in code.co_names + code.co_varnames + code.co_freevars:
        return False
    import dis

    names = [each.argval for each in dis.get_instructions(code) if each.opname not in ("EXTENDED_ARG", "PRECALL")]
    return ("sys", "path") in zip(names, names[1:])


class SearchPath:
    """Of the test's half."""

    asks = ("search_path",)

    def __init__(self):
        # type: () -> None
        self._last = _read()  # as both have it
        self._added = set()  # type: set[str]  # by the program
        self._hidden = []  # type: list[str]  # which it has removed

    def changes(self):
        # type: () -> list[tuple[str, str, str, bool, Any]]
        """As those of a place that the script may change (`lending`)."""
        now = _read()
        if now == self._last:
            return []
        self._added.difference_update([each for each in now if now.count(each) > self._last.count(each)])
        self._last = now
        return [("search_path", "", "", False, now)]

    def take(self, told):
        # type: (Any) -> None
        """What the program has there."""
        is_one = type(told) is list and len(told) <= _MOST and set(map(type, told)) <= {str}
        if not is_one or told == self._last:
            return
        own = self.own()
        self._added = {each for each in told if each not in own}
        self._hidden = [each for each in own if each not in told]
        self._last = list(told)
        put("", told)
        if _OwnFinder not in map(type, sys.meta_path):
            sys.meta_path[:] = [_OwnFinder(self) if each is PathFinder else each for each in sys.meta_path]

    def own(self):
        # type: () -> list[str]
        """Where the script finds modules: what would be there without the program."""
        return [each for each in _read() if each not in self._added] + self._hidden


class _OwnFinder(PathFinder):
    def __init__(self, search_path):
        # type: (SearchPath) -> None
        self._search_path = search_path

    def find_spec(self, name, path=None, target=None):  # type: ignore[override]
        # type: (str, Any, Any) -> Any
        return PathFinder.find_spec(name, self._search_path.own() if path is None else path, target)


def read(_target=None):
    # type: (object) -> list[str]
    """Of the candidate's half: what the program has there."""
    return _read()


def put(_, value):
    # type: (str, list[str]) -> None
    if type(sys.path) is list:
        sys.path[:] = value
    else:
        sys.path = value


def _read():
    # type: () -> list[str]
    return [each for each in sys.path if type(each) is str] if type(sys.path) in (list, tuple) else []
