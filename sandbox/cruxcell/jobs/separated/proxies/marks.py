"""Attributes that a program sets of the script's functions, as a decorator marks them: `f.route = "/"`."""

from cruxcell.analysis.parsing import CHECK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

# What the candidate has set of functions of the script, by their addresses.
_marks = {}  # type: dict[int, tuple[object, dict[str, object]]]
# By what they note on functions, the libraries that run or patch tests know which are what. Beside these, the names of
# what the script sets itself, of any object: a count of calls, say, or what it expects.
_not_to_mark = {"hypothesis", "is_hypothesis_test", "patchings", "pytestmark"}
keep_unmarked = _not_to_mark.update


def is_marked(function, name):
    # type: (Any, str) -> bool
    """Has the candidate set this attribute (`f.route = "/"`), and nobody another since?"""
    _, own = _marks.get(id(function), (None, {}))
    return name in own and vars(function).get(name, _marks) is own[name]


def marks(function, name, value=...):
    # type: (Any, str, object) -> bool
    """May the candidate set, or delete, this public attribute? Of a function of the script, and none that it has."""
    is_of_the_script = function.__code__.co_filename == CHECK
    is_free = is_of_the_script and name not in vars(function) and name not in _not_to_mark and value is not ...
    if not (is_free or is_marked(function, name)):
        return False
    _marks.setdefault(id(function), (function, {}))[1][name] = value
    return True
