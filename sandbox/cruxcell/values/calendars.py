"""Transfer of time zones of pytz and dateutil, and of dateutil's distances between dates.

Each is written as a word and the plain data that it is made of. Nothing is imported to write a value, and nothing is
written of which the other half would make something else.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

LIBRARIES = frozenset(["pytz", "dateutil"])
_ZONES = frozenset(["pytz", "pytz.offset", "dateutil.utc", "dateutil.local", "dateutil.offset", "dateutil.file"])
_PLAIN = frozenset([type(None), str, int, float])
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/")
_FIELDS = (
    "years", "months", "days", "leapdays", "hours", "minutes", "seconds", "microseconds",
    "year", "month", "day", "hour", "minute", "second", "microsecond",
)  # fmt: skip


def parts_of(value):
    # type: (Any) -> tuple[bytes, tuple[Any, ...]] | None
    """The letter of the value, and what `made` makes it of again; None if it does not cross."""
    word = _word_of(type(value))
    if not word:
        return None
    try:
        parts = (word, *_TAKE[word](value))
        again = made(parts)
    except (AttributeError, TypeError, ValueError):
        return None
    # Most zones are kept by their library, and to compare two takes as long as all else.
    return (b"L", parts) if again is value or (type(again) is type(value) and again == value) else None


def may_be_zone(value):
    # type: (Any) -> bool
    """Is it no time zone, or one that crosses: of a fixed offset, or one that has a name?"""
    kind = type(value)
    if value is None or kind is sys.modules["datetime"].timezone:
        return True
    if kind is getattr(sys.modules.get("zoneinfo"), "ZoneInfo", None):
        return value.key is not None
    found = parts_of(value)
    return found is not None and found[1][0] in _ZONES


def _word_of(kind):
    # type: (type) -> str
    """By the class itself, whatever it says of itself. Those of pytz' zones that have names are made as needed."""
    bases = type.__dict__["__mro__"].__get__(kind)  # type: tuple[type, ...]
    for module, name, word in _CLASSES:
        cls = getattr(sys.modules.get(module), name, None)
        if kind is cls or (word == "pytz" and any(each is cls for each in bases)):
            return word
    return ""


_CLASSES = (
    ("pytz", "_FixedOffset", "pytz.offset"),
    ("pytz.tzinfo", "BaseTzInfo", "pytz"),
    ("dateutil.tz", "tzutc", "dateutil.utc"),
    ("dateutil.tz", "tzlocal", "dateutil.local"),
    ("dateutil.tz", "tzoffset", "dateutil.offset"),
    ("dateutil.tz", "tzfile", "dateutil.file"),
    ("dateutil.zoneinfo", "tzfile", "dateutil.file"),  # where the host has no zones
    ("dateutil.relativedelta", "weekday", "dateutil.weekday"),
    ("dateutil.relativedelta", "relativedelta", "dateutil.distance"),
)


# ---- taking apart ----------------------------------------------------------------------------------------------------


def _file_name(zone):
    # type: (Any) -> tuple[str]
    """The name by which `gettz` finds it: some versions keep only the path of its file."""
    names = [getattr(zone, "_key", None), str(zone._filename).rpartition("zoneinfo/")[2]]
    return (next(name for name in names if type(name) is str),)


def _distance(value):
    # type: (Any) -> tuple[Any, ...]
    weekday = value.weekday
    return (*[getattr(value, name) for name in _FIELDS], *((None, None) if weekday is None else _weekday(weekday)))


def _weekday(value):
    # type: (Any) -> tuple[Any, ...]
    return value.weekday, value.n


_TAKE = {
    "pytz": lambda zone: zone.__reduce__()[1] or (zone.zone,),
    "pytz.offset": lambda zone: (zone._minutes,),
    "dateutil.utc": lambda _zone: (),
    "dateutil.local": lambda _zone: (),
    "dateutil.offset": lambda zone: (zone._name, zone._offset.total_seconds()),
    "dateutil.file": _file_name,
    "dateutil.weekday": _weekday,
    "dateutil.distance": _distance,
}  # type: dict[str, Any]


# ---- making ----------------------------------------------------------------------------------------------------------


def made(parts):
    # type: (Any) -> Any
    """What has been taken apart by `parts_of`. Raises ValueError where it is not what that gives."""
    word, *fields = parts
    if type(word) is not str or word not in _MAKE or not all(type(each) in _PLAIN for each in fields):
        raise ValueError("not what a time zone is made of")
    module, make = _MAKE[word]
    try:
        __import__(module)
        return make(sys.modules[module], *fields)
    except Exception as error:  # the libraries' own, and whatever else they may raise
        raise ValueError(str(error)) from None


def _named(name):
    # type: (Any) -> str
    """A name, of which no path is made that leaves the folder of zones."""
    if type(name) is not str or not name or name[0] == "/" or not _LETTERS.issuperset(name):
        raise ValueError("a name that no time zone has")
    return name


def _of_pytz(pytz, name, offset_s=None, dst_s=None, abbreviation=None):
    # type: (Any, Any, Any, Any, Any) -> Any
    """The zone, or that of it which holds at some time."""
    zone = pytz.timezone(_named(name))
    if offset_s is None:
        return zone
    timedelta = __import__("datetime").timedelta
    return zone._tzinfos[timedelta(seconds=offset_s), timedelta(seconds=dst_s), abbreviation]


def _distance_of(module, *fields):
    # type: (Any, Any) -> Any
    *numbers, weekday, number = fields
    day = None if weekday is None else module.weekday(weekday, number)
    return module.relativedelta(weekday=day, **dict(zip(_FIELDS, numbers)))


_MAKE = {
    "pytz": ("pytz", _of_pytz),
    "pytz.offset": ("pytz", lambda module, minutes: module.FixedOffset(minutes)),
    "dateutil.utc": ("dateutil.tz", lambda module: module.tzutc()),
    "dateutil.local": ("dateutil.tz", lambda module: module.tzlocal()),
    "dateutil.offset": ("dateutil.tz", lambda module, name, seconds: module.tzoffset(name, seconds)),
    "dateutil.file": ("dateutil.tz", lambda module, name: module.gettz(_named(name))),
    "dateutil.weekday": ("dateutil.relativedelta", lambda module, day, number: module.weekday(day, number)),
    "dateutil.distance": ("dateutil.relativedelta", _distance_of),
}  # type: dict[str, Any]
