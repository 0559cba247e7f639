"""Tables of pandas', expressions of sympy's and images of PIL's that an object of the program's is compared with.

What is one of these in the program is one in the test, and is compared there. Any other object would be told what is
expected, and could say that it equals that: where the script asks it (`candidate(x).equals(expected)`), and where the
library does, which takes for its own what has the methods of that: `sympy.Eq(candidate(x), expected)`,
`pandas.concat([candidate(x), expected])`, `ImageChops.difference(candidate(x), expected)`.
"""

import sys

from cruxcell.jobs.separated.proxies.facts import is_of_the_test, number_of
from cruxcell.jobs.separated.proxies.operations import mro_of
from cruxcell.jobs.separated.proxies.remote import is_class_of_proxies
from cruxcell.values.formulas import parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_PANDAS, _SYMPY = "pandas", "sympy"
# Methods by which the libraries' own objects are compared.
_COMPARE = {
    _PANDAS: frozenset(["compare", "eq", "equals", "ge", "gt", "identical", "le", "lt", "ne"]),
    _SYMPY: frozenset(["compare", "dummy_eq", "equals"]),
}
# Where the classes are of what is, or is in, such a value, by the library that looks for methods. Pandas draws on what
# it is given, too, with others; the pixels of an image have a class of no module.
_HOLDS = {_PANDAS: ("pandas.core.",), _SYMPY: ("sympy.",), "PIL": ("PIL.", "builtins.ImagingCore")}
_WHY = "%s with a %s is for the candidate to say; compare what the object's methods or attributes give"


class ComparedTables:
    """Of the test's half."""

    def __init__(self):
        # type: () -> None
        # Of objects that the script has not made, by their numbers: (name, which library has looked for it)
        self._methods = {}  # type: dict[int, tuple[str, str]]

    def hinder(self, operation, fields):
        # type: (str, list[Any]) -> str
        """Why the candidate is not to be asked this; nothing where it is."""
        if not self._methods or operation not in _CALLS or not _is_an_object(fields[0]):
            return ""
        name, library = self._methods.get(number_of(fields[0]), ("", ""))
        if library:
            told = [each for each in _within(fields[1:]) if _is_of(_HOLDS[library], each)]
        else:
            told = [each for each in fields[1:] if _may_be_expected(name, each)]
        return _WHY % (name, type(told[0]).__name__) if told else ""

    def got(self, operation, place, value):
        # type: (str, tuple[Any, ...], object) -> None
        """The candidate's answer; `place`: the object and the name that it was asked for."""
        if operation != "get" or not _is_an_object(value) or not _is_an_object(place[0]) or is_of_the_test(place[0]):
            return
        package = _who_asks()
        library = package if package in _HOLDS else ""
        if library or any(place[1] in names for names in _COMPARE.values()):
            self._methods[number_of(value)] = place[1], library


_CALLS = frozenset(["call", "special"])


def _is_an_object(value):
    # type: (object) -> bool
    """Of the program's: no class, which is told by a name of the program's what it compares."""
    return is_class_of_proxies(type(value))


def _who_asks():
    # type: () -> str
    """The package whose code, or that of the script, has the candidate asked."""
    frame = sys._getframe()  # type: Any
    while frame is not None and _package_of(frame) == "cruxcell":
        frame = frame.f_back
    return "" if frame is None else _package_of(frame)


def _package_of(frame):
    # type: (Any) -> str
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _may_be_expected(name, value):
    # type: (str, object) -> bool
    """Does a method of this name compare with such a value, which would be one in the test if the program had it?"""
    if name in _COMPARE[_PANDAS] and _is_of((_PANDAS + ".",), value):
        return True
    return name in _COMPARE[_SYMPY] and _is_of((_SYMPY + ".",), value) and parts_of(value) is not None


def _within(values):
    # type: (list[Any]) -> list[Any]
    """These, and what is in them in the containers of a call."""
    found = list(values)
    for each in found:
        if type(each) in (list, tuple):
            found += each
        elif type(each) is dict:
            found += each.values()
    return found


def _is_of(places, value):
    # type: (tuple[str, ...], object) -> bool
    return any(("%s.%s" % (each.__module__, each.__name__)).startswith(places) for each in mro_of(type(value)))
