"""Mocks of the script that it reads back from the program: `service.db.save.assert_called_once_with(3)`.

An honest program gives the mock itself, which is the script's. What another object of the program says of calls would
be what the script expects of its own mock.
"""

from cruxcell.jobs.separated.proxies.facts import number_of
from cruxcell.jobs.separated.proxies.operations import is_a_mock
from cruxcell.jobs.separated.proxies.remote import is_class_of_proxies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_MAKERS = frozenset(["AsyncMock", "MagicMock", "Mock", "create_autospec", "mock", "mocker", "patch"])
_ONLY_OF_MOCKS = frozenset(
    [
        "assert_any_call", "assert_called", "assert_called_once", "assert_called_once_with", "assert_called_with",
        "assert_has_calls", "assert_not_called", "assert_any_await", "assert_awaited", "assert_awaited_once",
        "assert_awaited_once_with", "assert_awaited_with", "assert_has_awaits", "assert_not_awaited",
        "await_args", "await_args_list", "call_args", "call_args_list", "method_calls", "mock_calls",
    ]
)  # fmt: skip
_ALSO_OF_OTHERS = frozenset(["await_count", "call_count", "called"])  # of a decorator that counts, say
_WHY = "the script asks for %s of a %s of the program, as of a mock: it is none of the script's"


class Mocks:
    """Of the test's half. `names`: those that the script has."""

    def __init__(self, names):
        # type: (set[str]) -> None
        self._are_used = not _MAKERS.isdisjoint(names)
        self._put = set()  # type: set[tuple[int, object]]  # where the script has put one
        self._instead = set()  # type: set[int]  # what was there instead, when the script looked

    def hinder(self, operation, fields):
        # type: (str, list[Any]) -> str
        """Why the candidate is not to be asked this; nothing where it is. Also hears what the script sets."""
        if not self._are_used or operation not in _OF_ATTRIBUTES:
            return ""
        target, name = fields[:2]
        if operation == "get":
            is_told = name in _ONLY_OF_MOCKS or (name in _ALSO_OF_OTHERS and number_of(target) in self._instead)
            return _WHY % (name, type(target).__name__) if is_told else ""
        place = number_of(target), name
        (self._put.add if operation == "set" and is_a_mock(fields[2]) else self._put.discard)(place)
        return ""

    def got(self, operation, place, value):
        # type: (str, tuple[Any, ...], object) -> None
        """The candidate's answer; `place`: the object and the name that it was asked for."""
        is_there = operation == "get" and self._put and (number_of(place[0]), place[1]) in self._put
        if is_there and (is_class_of_proxies(value) or is_class_of_proxies(type(value))):
            self._instead.add(number_of(value))


_OF_ATTRIBUTES = frozenset(["get", "set", "del"])
