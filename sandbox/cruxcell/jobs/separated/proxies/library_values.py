"""Objects of the program's whose `==` is that of a library's class of values: Mapping, UserList, Counter, date.

Such an object equals what the value equals that is made here of what it gives: its items, its year. So it is with `<`,
and with arithmetic of what never changes (a date, a Decimal). The candidate never hears what it is compared with, but
where the script makes an object to compare with: what others give is noted before that (`equality.Notes`).
"""

import _operator
from abc import ABCMeta

from cruxcell.jobs.separated.proxies.facts import fixed_value
from cruxcell.jobs.separated.proxies.operations import ARITHMETIC, mro_of, own_of
from cruxcell.jobs.separated.proxies.placing import hash_meanwhile, is_reading
from cruxcell.jobs.separated.proxies.runs import LINK
from cruxcell.jobs.separated.proxies.shared_names import is_stdlib, place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
_MAKES = "_remote_makes"  # an attribute of a class that stands for such a one: what makes the value


def compared_as(places, orders, has_hash):
    # type: (list[str], list[str], bool) -> dict[str, Any]
    """What a class has here that has its `==` from the class at one of these places. `orders`: what it has of the order
    from there."""
    place = next((each for each in places if each in _VALUES), None)
    if place is None:
        return {}
    members = {_MAKES: _VALUES[place], "__eq__": _equals, "__ne__": object.__ne__}  # type: dict[str, Any]
    members.update({name: _ordered(name) for name in orders})
    if has_hash:
        members["__hash__"] = _hash
    return members


def gives_a_value(cls):
    # type: (Any) -> bool
    """Is it a class of the library whose objects stay where they are, may change, and equal what they give?"""
    if type(cls) not in (type, ABCMeta) or not is_stdlib(cls):
        return False
    makes = [_VALUES.get(place_of(each)) for each in mro_of(cls) if is_stdlib(each)]
    return any(make is not None and make not in _FIXED for make in makes)


def told_of_arithmetic(cls, place):
    # type: (Any, str) -> list[str]
    """The operators that a class has of the library, if it has its `==` from the class of values at this place, whose
    values never change."""
    if _VALUES.get(place) not in _FIXED:
        return []
    owners = {name: next((each for each in mro_of(cls) if name in own_of(each)), None) for name in _RECKONED}
    return [RECKONS + name for name, owner in owners.items() if owner is not None and is_stdlib(owner)]


def reckoned(offers, members):
    # type: (list[str], dict[str, Any]) -> dict[str, Any]
    """The operators of which the other half told that a class has them of the library. `members`: what else it has."""
    names = [each[1:] for each in offers if each[:1] == RECKONS and each[1:] in _RECKONED]
    return {name: _reckoned(name, members[name]) for name in names if name in members} if _MAKES in members else {}


def _reckoned(name, ask):
    # type: (str, Any) -> Any
    """With data, of the value that an object gives. What gives another object of its class, or an error, is asked as
    the operators of any class are."""

    def method(self, *others):
        # type: (Any, Any) -> Any
        try:
            value, *data = [_value_of(each) for each in (self, *others)]
            is_data = all(map(is_stdlib, map(type, data)))
            found = getattr(value, name)(*data) if is_data else NotImplemented
            gives_its_own = type(found) is type(value) and type(found).__name__ in _KEEP_THEIR_CLASS
        except Exception:
            found, gives_its_own = NotImplemented, False
        return ask(self, *others) if found is NotImplemented or gives_its_own else found

    method.__name__ = name
    return method


RECKONS = "+"  # before the names of such operators, among those of what a class offers
_RECKONED = (
    *[name for name in ARITHMETIC if name == "__invert__" or name[:3] != "__i"],
    *["__%s__" % each for each in ("abs", "round", "divmod", "rdivmod", "trunc", "floor", "ceil")],
)
_KEEP_THEIR_CLASS = frozenset(["date", "datetime", "PurePosixPath"])  # `Day(2024, 1, 2) + timedelta(1)` is a Day


def _ordered(name):
    # type: (str) -> Any
    compare = getattr(_operator, name.strip("_"))
    return lambda self, other: compare(_value_of(self), _value_of(other))


def _equals(self, other):
    # type: (object, object) -> Any
    if is_reading():
        return NotImplemented
    value = _value_of(self)
    return value == (value if self is other else _value_of(other))  # a NaN does not equal itself


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
    if make in _FIXED:
        return fixed_value(value, make)
    return LINK[0].notes.value_of(value, lambda: LINK[0].value_of(value, make))


def fix_values(values):
    # type: (list[Any]) -> None
    """Of these, what never changes is from now on what it is, and no other value; nothing, if it does not say."""
    for each in values:
        if own_of(type(each)).get(_MAKES) in _FIXED:
            try:
                _value_of(each)
            except Exception:
                fixed_value(each, lambda _: object())


def may_change(value):
    # type: (object) -> bool
    """Is it one that may give another value later?"""
    make = own_of(type(value)).get(_MAKES)
    return make is not None and make not in _FIXED


def given_by(value):
    # type: (object) -> Any
    """What such an object gives now; what equals nothing, if it does not say."""
    try:
        return _value_of(value)
    except Exception:
        return object()


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
