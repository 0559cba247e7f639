"""Attributes of the script's functions and classes: those that a program sets of them, as a decorator marks them
(`f.route = "/"`), and those that the script has set of a function (`f.priority = 3`), which the program reads.
"""

from cruxcell.analysis.parsing import CHECK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

# What the candidate has set of functions and classes of the script, by their addresses.
_marks = {}  # type: dict[int, tuple[object, dict[str, object]]]
# By what they note on functions, the libraries that run or patch tests know which are what. Beside these, the names of
# what the script sets itself, of any object: a count of calls, say, or what it expects.
_OF_LIBRARIES = frozenset(["hypothesis", "is_hypothesis_test", "patchings", "pytestmark"])
_not_to_mark = {*_OF_LIBRARIES}
keep_unmarked = _not_to_mark.update


def is_marked(target, name):
    # type: (Any, str) -> bool
    """Has the candidate set this attribute (`f.route = "/"`), and nobody another since?"""
    _, own = _marks.get(id(target), (None, {}))
    return name in own and vars(target).get(name, _marks) is own[name]


def is_set_by_the_script(target, name):
    # type: (Any, str) -> bool
    """Has the script set this attribute of a function of its own?"""
    is_its_own = type(target) is type(is_marked) and target.__code__.co_filename == CHECK
    return is_its_own and name in vars(target) and name not in _OF_LIBRARIES


def marks(target, name, value=...):
    # type: (Any, str, object) -> bool
    """May the candidate set, or delete, this public attribute? Of a function or class of the script, and none that it
    has."""
    lacks = _class_lacks if type(target) is type else _function_lacks
    is_free = value is not ... and name not in _not_to_mark and lacks(target, name)
    if not (is_free or is_marked(target, name)):
        return False
    _marks.setdefault(id(target), (target, {}))[1][name] = value
    return True


def _function_lacks(function, name):
    # type: (Any, str) -> bool
    return function.__code__.co_filename == CHECK and name not in vars(function)


def _class_lacks(cls, name):
    # type: (Any, str) -> bool
    """A class with no base but the script's own, which is no test and finds its attributes as any class does."""
    classes = cls.__mro__[:-1]
    if not all(type(each) is type and vars(each).get("__module__") == _SCRIPT for each in classes):
        return False
    has = {own for each in classes for own in vars(each)}
    is_a_test = cls.__name__.startswith("Test") or any(str(each).startswith("test") for each in has)
    return not is_a_test and has.isdisjoint([name, "__getattr__", "__getattribute__"])


_SCRIPT = "__main__"  # what classes of a script say their module is
