"""What an object of the program's has of a class of a library that it is derived from.

A script that asks `isinstance` hears which these are, and nobody else: what the candidate says of it says no more than
what the object is for, but a library that compares arrays or expressions would take its word for its content.

An object whose `==` is that of a class of values (Mapping, UserList, Counter, date) equals what the value equals that
is made here of what it gives: its items, its year. So it is with `<`. The candidate never hears what it is compared
with.
"""

import _operator
import sys

from cruxcell.jobs.separated.proxies.operations import mro_of, own_of
from cruxcell.jobs.separated.proxies.placing import hash_meanwhile, is_reading
from cruxcell.jobs.separated.proxies.remote import fixed_value
from cruxcell.jobs.separated.proxies.runs import connection
from cruxcell.jobs.separated.proxies.shared_names import is_stdlib, place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

# Before where a class of a library is found, among the names of what a class offers; the last where `==` is of that.
ITSELF, DERIVES, EQUALS = "=", "<", "~"
ORDERS = "^"  # among those names, where the order is a library's, too
_TOLD = "_remote_libraries"  # an attribute of a class that stands for one of the other side's: those of these names
_ASKING = frozenset(["assertIsInstance", "assertNotIsInstance", "assertIsSubclass", "assertNotIsSubclass"])


def of_libraries(cls):
    # type: (Any) -> list[str]
    """Which classes of libraries a class is, or derives from, and whose `==` it has."""
    found = [each for each in mro_of(cls) if each is not object and _is_known(each)]
    places = [(ITSELF if each is cls else DERIVES) + place_of(each) for each in found]
    owner, *others = [
        next(each for each in mro_of(cls) if name in own_of(each)) for name in ("__eq__", "__ne__", *_ORDER)
    ]
    if is_stdlib(owner) and is_stdlib(others[0]):
        places.append(EQUALS + place_of(owner))
    return [*places, ORDERS] if all(map(is_stdlib, others)) else places


def _is_known(cls):
    # type: (Any) -> bool
    """Is it a class of a library? One that no code in Python can have made is, though no name may lead to it: that of
    locks, of modules, of what reads CSV."""
    return is_stdlib(cls) or _flags(cls) & (_MADE_AT_RUNTIME | _UNCHANGEABLE) != _MADE_AT_RUNTIME


_flags = type.__dict__["__flags__"].__get__
_MADE_AT_RUNTIME, _UNCHANGEABLE = 1 << 9, 1 << 8  # Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE


def told(offers, compares):
    # type: (list[str], bool) -> dict[str, Any]
    """What a class has here of what the other side told of it; with `==`, if that `compares` as a class of values."""
    found = frozenset([each for each in offers if each[:1] in (ITSELF, DERIVES)])
    made = {_TOLD: found} if found else {}  # type: dict[str, Any]
    if _OF_FLAGS in found:
        made["__contains__"] = _has_flags
    makers = [_VALUES[each[1:]] for each in offers if each[:1] == EQUALS and each[1:] in _VALUES]
    if compares and makers:
        made.update({_MAKES: makers[0], "__eq__": _equals, "__ne__": object.__ne__})
        made.update({name: _ordered(name) for name in _ORDER if name in offers and ORDERS in offers})
        if "__hash__" in offers:
            made["__hash__"] = _hash
    return made


def derives_from(cls, base):
    # type: (type, type) -> bool
    """Is it one of the other side's that derives from this class of a library, as that side says?"""
    return DERIVES + place_of(base) in own_of(cls).get(_TOLD, ())


_OF_FLAGS = DERIVES + "enum:IntFlag"
_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")


def _has_flags(self, flags):
    # type: (int, object) -> bool
    """What `in` means for flags that are numbers here: nobody is asked."""
    if not isinstance(flags, int):
        raise TypeError("unsupported operand type(s) for 'in': %r and %r" % (type(flags).__name__, type(self).__name__))
    return self & flags == flags


def _ordered(name):
    # type: (str) -> Any
    compare = getattr(_operator, name.strip("_"))
    return lambda self, other: compare(_value_of(self), _value_of(other))


def _equals(self, other):
    # type: (object, object) -> Any
    if is_reading():
        return NotImplemented
    return self is other or _value_of(self) == _value_of(other)


def _hash(self):
    # type: (object) -> int
    """That of what it equals."""
    return hash_meanwhile(self, object.__hash__(self)) if is_reading() else hash(_value_of(self))


def _value_of(value):
    # type: (Any) -> Any
    """The value that an object of such a class gives; any other as it is."""
    make = own_of(type(value)).get(_MAKES)
    if make is None:
        return value
    return fixed_value(value, make) if make in _FIXED else connection[0].value_of(value, make)


def fix_values(values):
    # type: (list[Any]) -> None
    """Of these, what never changes is from now on what it is, and no other value; nothing, if it does not say."""
    for each in values:
        if own_of(type(each)).get(_MAKES) in _FIXED:
            try:
                _value_of(each)
            except Exception:
                fixed_value(each, lambda _: object())


def _made(module, name, *arguments, **keywords):
    # type: (str, str, object, object) -> Any
    return getattr(__import__(module), name)(*arguments, **keywords)


def _zone(it):
    # type: (Any) -> Any
    """That of a moment, or one as far from UTC then, where its class is the program's: which moment it is says that."""
    zone, datetime = it.tzinfo, __import__("datetime")  # type: Any, Any
    if zone is None or isinstance(zone, datetime.tzinfo):
        return zone
    offset = it.utcoffset()
    return None if offset is None else datetime.timezone(offset)


_CLOCK = ("year", "month", "day", "hour", "minute", "second", "microsecond")
_OF_FIXED = frozenset(["datetime", "decimal", "fractions", "pathlib", "uuid"])  # modules of values that never change
_VALUES = {
    "collections.abc:Mapping": lambda it: dict(it.items()),
    "collections.abc:Set": set,
    "collections:Counter": lambda it: _made("collections", "Counter", dict(it.items())),
    "collections:OrderedDict": lambda it: _made("collections", "OrderedDict", it.items()),
    "collections:UserList": lambda it: it.data,
    "collections:UserString": lambda it: it.data,
    "collections:deque": lambda it: _made("collections", "deque", it),
    "datetime:date": lambda it: _made("datetime", "date", *[getattr(it, each) for each in _CLOCK[:3]]),
    "datetime:datetime": lambda it: _made(
        "datetime", "datetime", *[getattr(it, each) for each in _CLOCK], tzinfo=_zone(it)
    ),
    "datetime:timedelta": lambda it: _made("datetime", "timedelta", it.days, it.seconds, it.microseconds),
    "decimal:Decimal": lambda it: _made("decimal", "Decimal", it.as_tuple()),
    "fractions:Fraction": lambda it: _made("fractions", "Fraction", it.numerator, it.denominator),
    "pathlib:PurePath": lambda it: _made("pathlib", "PurePosixPath", *it.parts),
    "types:SimpleNamespace": lambda it: _made("types", "SimpleNamespace", **it.__dict__),
    "uuid:UUID": lambda it: _made("uuid", "UUID", int=it.int),
}  # type: dict[str, Any]
_FIXED = frozenset([make for name, make in _VALUES.items() if name.partition(":")[0] in _OF_FIXED])
_MAKES = "_remote_makes"  # an attribute of a class that stands for such a one: what makes the value


def is_instance(value, classes):
    # type: (object, Any) -> bool
    """In the place of `isinstance` in a script."""
    return isinstance(value, classes) or _is_of(type(value), classes)


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
    found = own_of(cls).get(_TOLD)
    return found is not None and any(_names(found, each) for each in _each_of(classes))


def _names(found, cls):
    # type: (frozenset[str], Any) -> bool
    """Is it a class of a library, this side's own or the program's, that is among those found?"""
    if _TOLD in own_of(cls):
        places = [each[1:] for each in own_of(cls)[_TOLD] if each[:1] == ITSELF]
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
