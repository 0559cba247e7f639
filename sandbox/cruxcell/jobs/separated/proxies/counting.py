"""Objects of a class derived from Counter or OrderedDict: by what they hold, a test compares and reckons with them.

Counter's own operators are written in Python. They would ask a class of the program's for each item, by the keys of
what is expected. Copies of both are made by a call of the class, which is none of the script's.
"""

import sys

from cruxcell.jobs.separated.proxies.facts import hand_over, is_of_the_test
from cruxcell.jobs.separated.proxies.operations import mro_of, own_of
from cruxcell.jobs.separated.proxies.remote import is_class_of_proxies
from cruxcell.jobs.separated.proxies.runs import LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments


def operators(base):
    # type: (Any) -> dict[str, Any]
    """What a class of the other half's has here that derives from `base`, in the place of what that has."""
    if not LINK[0].is_test or base not in (_of_collections("Counter"), _of_collections("OrderedDict")):
        return {}
    found = {name: _handed_over(getattr(base, name)) for name in _COPIES if name in own_of(base)}
    if base is not _of_collections("Counter"):
        return found
    _let_compare(base)
    found.update({name: _of_content(name) for name in _COMPARISONS if hasattr(base, name)})
    for name in _OPERATORS:
        found["__%s__" % name] = _of_content("__%s__" % name)
        found["__r%s__" % name] = _reflected("__%s__" % name)
    return found


def plain_of(value):
    # type: (Any) -> Any
    """A counter of the other half's as the library's own, of what it holds; any other value as it is."""
    counter = _of_collections("Counter")
    if not is_class_of_proxies(type(value)) or not any(each is counter for each in mro_of(type(value))):
        return value
    found = counter()
    dict.update(found, dict(dict.items(value)))
    return found


def _of_collections(name):
    # type: (str) -> Any
    return getattr(sys.modules.get("collections"), name, None)


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
        plain = getattr(other, name, None) if type(other) is _of_collections("Counter") else None
        return NotImplemented if plain is None else plain(plain_of(self))

    method.__name__ = "__r" + name[2:]
    return method


def _let_compare(counter):
    # type: (Any) -> None
    """Counters of this half, of classes of the script's too, compare and reckon with others by what these hold."""
    for name in (*_COMPARISONS, *["__%s%s__" % (form, each) for form in ("", "i") for each in _OPERATORS]):
        own = own_of(counter).get(name)
        if type(own) is _FUNCTION and own.__module__ == counter.__module__:
            setattr(counter, name, _with_plain(own))


def _with_plain(own):
    # type: (Any) -> Any
    def method(self, other):
        # type: (object, object) -> Any
        return own(self, plain_of(other))

    method.__name__ = own.__name__
    return method


def _handed_over(copy):
    # type: (Any) -> Any
    """By the library's own, which calls the class. What comes of what the test has not made is none either."""

    def method(self, *others):
        # type: (object, object) -> Any
        value = copy(self, *others)
        if not is_of_the_test(self):
            hand_over(value)
        return value

    return method


_FUNCTION, _OURS = type(_of_content), _of_content("").__code__
_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
_OPERATORS = ("add", "sub", "and", "or")
_COPIES = ("copy", "__copy__", "__or__", "__ror__")
