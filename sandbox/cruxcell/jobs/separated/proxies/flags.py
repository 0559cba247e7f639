"""Members of an IntFlag, which are numbers in the other half: what comes of two of them is a member, too."""

from cruxcell.jobs.separated.proxies.asking import agreed, answered_here, forward
from cruxcell.jobs.separated.proxies.runs import LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator  # noqa: F401 - in type comments

_OF_TWO = ("__and__", "__or__", "__xor__")


def operators(offers):
    # type: (list[str]) -> dict[str, Any]
    """What a class that offers this has of IntFlag, if it derives from that."""
    if "IntFlag" not in offers:
        return {}
    if not LINK[0].is_test:
        return {name: forward(name) for name in (*_OF_TWO, *_OF_ONE, "__contains__") if name in offers}
    return {name: _OF_ONE.get(name) or _combined(name) for name in (*_OF_TWO, *_OF_ONE) if name in offers}


def _combined(name):
    # type: (str) -> Any
    """Of two members the member that is the number which the plain type gives. With another number, that number."""
    plain = getattr(int, name)

    def method(self, other):
        # type: (Any, object) -> Any
        expected = plain(self, other)
        if type(other) is not type(self):
            return expected
        return agreed(name, self, expected, LINK[0].ask("special", self, name, other))

    method.__name__ = name
    return method


def _inverted(self):
    # type: (Any) -> Any
    """From Python 3.11 on all members but these. Which there are, the class says; none that are in it."""
    found = LINK[0].ask("special", self, "__invert__")
    return found if type(found) is type(self) and not int.__and__(self, found) else int.__invert__(self)


def _members(self):
    # type: (Any) -> Iterator[Any]
    return iter([each for each in type(self) if int.__and__(self, each)])


def _count(self):
    # type: (Any) -> int
    return bin(self).count("1")


_OF_ONE = {"__invert__": _inverted, "__iter__": _members, "__len__": _count}  # type: dict[str, Any]
answered_here.update([_members, _count])
