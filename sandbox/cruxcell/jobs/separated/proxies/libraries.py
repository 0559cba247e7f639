"""What an object of the program's has of a class of a library that it is derived from.

A script that asks `isinstance` hears which these are, and nobody else: what the candidate says of it says no more than
what the object is for, but a library that compares arrays or expressions would take its word for its content.
"""

import sys

from cruxcell.jobs.separated.proxies.facts import DERIVES, LIBRARIES, derives_from
from cruxcell.jobs.separated.proxies.library_values import ORDER, compared_as, told_of_arithmetic
from cruxcell.jobs.separated.proxies.operations import mro_of, own_of
from cruxcell.jobs.separated.proxies.runs import LINK
from cruxcell.jobs.separated.proxies.shared_names import is_of_c, is_stdlib, place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

# As DERIVES, before where a class of a library is found, among the names of what a class offers; where `==` is of that.
ITSELF, EQUALS = "=", "~"
ORDERS = "^"  # among those names, where the order is a library's, too
_ASKING = frozenset(["assertIsInstance", "assertNotIsInstance", "assertIsSubclass", "assertNotIsSubclass"])


def of_libraries(cls):
    # type: (Any) -> list[str]
    """Which classes of libraries a class is, or derives from, and whose `==` it has."""
    found = [each for each in mro_of(cls) if each is not object and _is_known(each)]
    places = [(ITSELF if each is cls else DERIVES) + place_of(each) for each in found]
    owner, *others = [
        next(each for each in mro_of(cls) if name in own_of(each)) for name in ("__eq__", "__ne__", *ORDER)
    ]
    if is_stdlib(owner) and is_stdlib(others[0]):
        places += [EQUALS + place_of(owner), *told_of_arithmetic(cls, place_of(owner))]
    return [*places, ORDERS] if all(map(is_stdlib, others)) else places


def _is_known(cls):
    # type: (Any) -> bool
    """Is it a class of a library? One that no code in Python can have made is, though no name may lead to it: that of
    locks, of modules, of what reads CSV."""
    return is_stdlib(cls) or is_of_c(cls)


def told(offers, compares):
    # type: (list[str], bool) -> dict[str, Any]
    """What a class has here of what the other half told of it; with `==`, if that `compares` as a class of values."""
    found = frozenset([each for each in offers if each[:1] in (ITSELF, DERIVES)])
    made = {LIBRARIES: found} if found else {}  # type: dict[str, Any]
    if _OF_FLAGS in found:
        made["__contains__"] = _has_flags
    elif _OF_MEMBERS in found:
        made["__contains__"] = _has_members
    places = [each[1:] for each in offers if each[:1] == EQUALS] if compares else []
    orders = [name for name in ORDER if name in offers and ORDERS in offers]
    made.update(compared_as(places[:1], orders, "__hash__" in offers))
    return made


_OF_FLAGS, _OF_MEMBERS = DERIVES + "enum:IntFlag", DERIVES + "enum:Flag"


def _has_flags(self, flags):
    # type: (int, object) -> bool
    """What `in` means for flags that are numbers here: nobody is asked."""
    if not isinstance(flags, int):
        raise TypeError(_NO_FLAGS % (type(flags).__name__, type(self).__name__))
    return self & flags == flags


def _has_members(self, member):
    # type: (Any, Any) -> bool
    """The same for other flags, by the numbers that both are: several at once are none of the items, and up to Python
    3.10 there are no items."""
    if type(member) is not type(self):
        raise TypeError(_NO_FLAGS % (type(member).__name__, type(self).__name__))
    flags, value = self.value, member.value
    if type(flags) is not int or type(value) is not int:  # an object would say yes
        return bool(LINK[0].refuse(_NO_NUMBERS % type(self).__name__))
    return flags & value == value


_NO_NUMBERS = "a %s says that its value is no number"
_NO_FLAGS = "unsupported operand type(s) for 'in': %r and %r"


def is_instance(value, classes):
    # type: (object, Any) -> bool
    """In the place of `isinstance` in a script."""
    return isinstance(value, classes) or _is_of(type(value), classes) or _is_an_enum(value, classes)


def _is_an_enum(cls, classes):
    # type: (Any, Any) -> bool
    """Is it a class of the other half's that derives from Enum, and asked for as what such classes are (EnumMeta)?"""
    enum = sys.modules.get("enum")  # type: Any
    is_one = issubclass(type(cls), type) and derives_from(cls, "enum:Enum")
    return is_one and any(each is enum.EnumMeta for each in _each_of(classes))


def is_subclass(cls, classes):
    # type: (Any, Any) -> bool
    """In the place of `issubclass` in a script."""
    return issubclass(cls, classes) or _is_of(cls, classes)


def provide(namespace, named):
    # type: (dict[str, Any], frozenset[str]) -> None
    """Have a script that names these ask so, and suites that ask for it."""
    for name, function in _INSTEAD.items():
        if name in named:
            namespace.setdefault(name, function)
    if not _ASKING.isdisjoint(named):
        __import__("unittest.case")
        vars(sys.modules["unittest.case"]).update(_INSTEAD)


_INSTEAD = {"isinstance": is_instance, "issubclass": is_subclass}  # type: dict[str, Any]


def _is_of(cls, classes):
    # type: (Any, Any) -> bool
    found = own_of(cls).get(LIBRARIES)
    return found is not None and any(_names(found, each) for each in _each_of(classes))


def _names(found, cls):
    # type: (frozenset[str], Any) -> bool
    """Is it a class of a library, this half's own or the program's, that is among those found?"""
    if LIBRARIES in own_of(cls):
        places = [each[1:] for each in own_of(cls)[LIBRARIES] if each[:1] == ITSELF]
    else:
        places = [place_of(cls)] if _is_known(cls) else []
    return any(mark + place in found for place in places for mark in (ITSELF, DERIVES))


def _each_of(classes):
    # type: (Any) -> list[Any]
    """Of one class, a tuple of such, or a union."""
    if isinstance(classes, type):
        return [classes]
    parts = classes if type(classes) is tuple else getattr(classes, "__args__", ())
    return [each for part in parts for each in _each_of(part)]
