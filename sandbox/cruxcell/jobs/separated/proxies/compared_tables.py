"""Tables of pandas' that a script has an object of the program's compared with: `candidate(x).equals(expected)`.

What is a table in the program is one in the test, and is compared there. Any other object would be told what is
expected, and could say that it equals that.
"""

from cruxcell.jobs.separated.proxies.operations import mro_of
from cruxcell.jobs.separated.proxies.remote import RemoteType, is_of_the_test, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

# Methods by which pandas compares tables.
_COMPARE = frozenset(["compare", "eq", "equals", "ge", "gt", "identical", "le", "lt", "ne"])
_WHY = "%s with a %s is for the candidate to say; compare what the object's methods or attributes give"


class ComparedTables:
    """Of the test's half."""

    def __init__(self):
        # type: () -> None
        self._methods = {}  # type: dict[int, str]  # of objects that the script has not made, by their numbers

    def hinder(self, operation, fields):
        # type: (str, list[Any]) -> str
        """Why the candidate is not to be asked this; nothing where it is."""
        if not self._methods or operation not in _CALLS or not _is_an_object(fields[0]):
            return ""
        name = self._methods.get(number_of(fields[0]))
        tables = [type(each).__name__ for each in fields[1:] if _is_of_pandas(each)] if name else []
        return _WHY % (name, tables[0]) if tables else ""

    def got(self, operation, place, value):
        # type: (str, tuple[Any, ...], object) -> None
        """The candidate's answer; `place`: the object and the name that it was asked for."""
        is_method = operation == "get" and _is_an_object(value) and _is_an_object(place[0]) and place[1] in _COMPARE
        if is_method and not is_of_the_test(place[0]):
            self._methods[number_of(value)] = place[1]


_CALLS = frozenset(["call", "special"])


def _is_an_object(value):
    # type: (object) -> bool
    """Of the program's: no class, which is told by a name of the program's what it compares."""
    return type(type(value)) is RemoteType


def _is_of_pandas(value):
    # type: (object) -> bool
    return any(str(each.__module__).partition(".")[0] == "pandas" for each in mro_of(type(value)))
