"""Objects of a class derived from Counter: by what they hold, a test compares and reckons with them.

The library's own operators are written in Python. They would ask a class of the program's for each item, by the keys of
what is expected.
"""

import sys

from cruxcell.jobs.separated.proxies.operations import mro_of
from cruxcell.jobs.separated.proxies.remote import RemoteType
from cruxcell.jobs.separated.proxies.runs import connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments


def operators(base):
    # type: (Any) -> dict[str, Any]
    """What a class of the other side's has here that derives from `base`, in the place of what Counter has."""
    if not (connection[0].is_test and base is _counter()):
        return {}
    found = {name: _of_content(name) for name in _COMPARISONS if hasattr(base, name)}
    for name in _OPERATORS:
        found["__%s__" % name] = _of_content("__%s__" % name)
        found["__r%s__" % name] = _reflected("__%s__" % name)
    return found


def plain_of(value):
    # type: (Any) -> Any
    """A counter of the other side's as the library's own, of what it holds; any other value as it is."""
    counter = _counter()
    if type(type(value)) is not RemoteType or not any(each is counter for each in mro_of(type(value))):
        return value
    found = counter()
    dict.update(found, dict(dict.items(value)))
    return found


def _counter():
    # type: () -> Any
    return getattr(sys.modules.get("collections"), "Counter", None)


def _of_content(name):
    # type: (str) -> Any
    def method(self, other):
        # type: (object, object) -> Any
        return getattr(plain_of(self), name)(plain_of(other))

    method.__name__ = name
    return method


def is_ours(method):
    # type: (Any) -> bool
    """Is it a comparison from here, which is that of what a counter holds?"""
    return type(method) is _FUNCTION and method.__code__ is _OURS


def _reflected(name):
    # type: (str) -> Any
    def method(self, other):
        # type: (object, Any) -> Any
        plain = getattr(other, name, None) if type(other) is _counter() else None
        return NotImplemented if plain is None else plain(plain_of(self))

    method.__name__ = "__r" + name[2:]
    return method


_FUNCTION, _OURS = type(_of_content), _of_content("").__code__
_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
_OPERATORS = ("add", "sub", "and", "or")
