"""Doctests that a script runs over the program: their examples stand in the program's docstrings, not in its own."""

import sys

from cruxcell.jobs.separated.proxies.remote import is_remote
from cruxcell.jobs.suite_base import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

NO_EXAMPLES = "a doctest run of the script finds no examples, and it asks nothing else of the program: it tests nothing"


def follow_doctests(link):
    # type: (Any) -> None
    """In the test's process: a doctest run over the script's module is one over the program's docstrings, too, as where
    both are one file. Their examples run as any text of the program's does: if they are harmless (`texts.py`).

    `testmod()` runs nothing unless the script looks at what came of it, or at what it prints: it cannot fail otherwise.
    Runs that have tested nothing are told to `link.idle`.
    """
    import doctest

    finder, testmod = doctest.DocTestFinder, doctest.testmod  # type: Any, Any
    belongs, find = finder._from_module, finder.find
    idle = link.idle  # type: list[Any]

    def from_module(self, module, value):
        # type: (Any, Any, Any) -> bool
        if is_remote(value):
            return module is None or getattr(value, "__module__", None) == link.objects.module
        return bool(belongs(self, module, value))

    def find_some(self, target, *more, **named):
        # type: (Any, Any, Any, Any) -> Any
        found = find(self, target, *more, **named)
        if not any(each.examples for each in found):
            idle.append(target)
        return found

    def run(*asked, **named):
        # type: (Any, Any) -> Any
        result = testmod(*asked, **named)
        if result[1] == 0:
            link.invalid(NO_EXAMPLES)
        return result

    def run_if_used(m=None, *more, **named):
        # type: (Any, Any, Any) -> Any
        is_main = m is None or m is sys.modules.get(MAIN)
        if not is_main or named.get("raise_on_error") or len(more) > 6 or link.alongside.listens():
            return run(m, *more, **named)
        idle.append(m)
        return _Result(lambda: run(m, *more, **named))

    finder._from_module, finder.find, doctest.testmod = from_module, find_some, run_if_used


_FIELDS = frozenset(["failed", "attempted", "skipped", "count", "index", "_asdict", "_fields", "_replace"])


class _Result:
    """What came of a doctest run, which is made when the script looks at this."""

    def __init__(self, run):
        # type: (Any) -> None
        self.__dict__["_run"] = run

    def __getattr__(self, name):
        # type: (str) -> Any
        if name not in _FIELDS:  # the run itself looks through the script's names, and finds this
            raise AttributeError(name)
        return getattr(_value_of(self), name)


def _value_of(result):
    # type: (Any) -> Any
    own = result.__dict__
    if "_value" not in own:
        own["_value"] = own["_run"]()
    return own["_value"]


def _of_value(name):
    # type: (str) -> Any
    def method(self, *others):
        # type: (Any, Any) -> Any
        values = [_value_of(each) if type(each) is _Result else each for each in others]
        return getattr(_value_of(self), name)(*values)

    return method


for _each in (
    "eq", "ne", "lt", "le", "gt", "ge", "hash", "iter", "len", "getitem", "contains", "repr", "str", "format", "add",
):  # fmt: skip
    setattr(_Result, "__%s__" % _each, _of_value("__%s__" % _each))
_Result.__bool__ = lambda self: bool(_value_of(self))  # type: ignore[attr-defined]
