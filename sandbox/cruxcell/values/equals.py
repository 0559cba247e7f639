"""What values of libraries' own types equal: plain data, or only their like.

Only attributes and methods that are C code are asked, so nothing of a candidate's is called. A type is only looked for
in modules that are loaded.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_mro_of = type.__dict__["__mro__"].__get__
_dict_of = type.__dict__["__dict__"].__get__
_module_in = type.__dict__["__module__"].__get__
_names_in = type(sys).__dict__["__dict__"].__get__  # type: ignore[index]
_MOST_DIGITS = 5000  # of a Decimal that is written with an exponent


def equal_of(kind, name, value):
    # type: (type, str, object) -> object
    """The number or text that a value of type `kind`, called `name`, equals; or a tuple of what it is and consists of,
    where only its like equals it. None where it equals nothing, or nobody but itself could say what."""
    module = module_of(kind)
    equal = _EQUALS.get((module, name))
    loaded = sys.modules.get(module) if equal is not None else None
    if equal is None or type(loaded) is not type(sys) or _names_in(loaded).get(name) is not kind:
        return None
    try:
        return equal(kind, value)
    except Exception:  # nothing of the library's
        return None


def module_of(kind):
    # type: (type) -> str
    """The name of the module that a type says it is of; "" where it says none."""
    try:
        module = _module_in(kind)
    except AttributeError:
        return ""
    return module if type(module) is str else ""


def _native(kind, value, name, what):
    # type: (type, Any, str, Any) -> Any
    """An attribute of the value, if it is C code of the very class that holds it: another's may ask the candidate."""
    for cls in _mro_of(kind):
        found = _dict_of(cls).get(name)  # type: Any
        if found is not None:
            is_native = type(found) is what and found.__objclass__ is cls
            if not is_native:
                break
            return found.__get__(value, kind)
    raise TypeError(name)


def _of_ratio(numerator, denominator):
    # type: (Any, Any) -> object
    """The int or float that a fraction equals exactly; where there is none, its parts."""
    if type(numerator) is not int or type(denominator) is not int:
        return None
    if denominator == 1:
        return numerator
    parts = ("ratio", numerator, denominator)
    try:
        near = numerator / denominator
    except OverflowError:
        return parts
    return near if near.as_integer_ratio() == parts[1:] else parts


def _of_fraction(kind, value):
    # type: (type, Any) -> object
    return _of_ratio(*[_native(kind, value, name, _SLOT) for name in ("_numerator", "_denominator")])


def _of_decimal(kind, value):
    # type: (type, Any) -> object
    _sign, digits, exponent = _native(kind, value, "as_tuple", _METHOD)()
    if type(exponent) is not int:  # NaN or infinity
        return _native(kind, value, "__float__", _WRAPPER)() if exponent == "F" else float("nan")
    if not any(digits):
        return 0
    if abs(exponent) + len(digits) > _MOST_DIGITS:
        return None
    return _of_ratio(*_native(kind, value, "as_integer_ratio", _METHOD)())


def _of_numpy(kind, value):
    # type: (type, Any) -> object
    return _native(kind, value, "item", _METHOD)()


def _of_range(kind, value):
    # type: (type, Any) -> object
    """Two are equal if they are the same sequence."""
    # What `__index__` gave may be of a class of its own.
    start, stop, step = [int.__int__(_native(kind, value, name, _SLOT)) for name in ("start", "stop", "step")]
    size = max(0, -((start - stop) // step))  # `len` has no number for a long one
    return ("range", size, *(start, step)[:size])


def _of_date(kind, value):
    # type: (type, Any) -> object
    return "date", _native(kind, value, "toordinal", _METHOD)()


def _of_datetime(kind, value):
    # type: (type, Any) -> object
    """With an offset that is the same at all times it is that moment. What other zones say depends on more."""
    zone = _native(kind, value, "tzinfo", _GETSET)
    if zone is None:
        return "datetime", _native(kind, value, "isoformat", _METHOD)()
    days, seconds, microseconds = _seconds_in_utc(kind, value, zone)
    days += _native(kind, value, "toordinal", _METHOD)()
    return "moment", (days * 86400 + seconds) * 1000000 + microseconds


def _of_time(kind, value):
    # type: (type, Any) -> object
    """With an offset it is that time of another's day, to the second of the offset."""
    zone = _native(kind, value, "tzinfo", _GETSET)
    if zone is None:
        return "time", _native(kind, value, "isoformat", _METHOD)()
    days, seconds, _microseconds = _seconds_in_utc(kind, value, zone)
    return "time of a zone", days * 86400 + seconds, _native(kind, value, "microsecond", _GETSET)


def _seconds_in_utc(kind, value, zone):
    # type: (type, Any, object) -> tuple[int, int, int]
    """(days, seconds, microseconds) of a time of day without its zone's offset."""
    hour, minute, second, micro = [
        _native(kind, value, name, _GETSET) for name in ("hour", "minute", "second", "microsecond")
    ]
    offset = _offset(type(zone), zone)
    days, seconds, microseconds = [
        _native(type(offset), offset, name, _SLOT) for name in ("days", "seconds", "microseconds")
    ]
    return -days, hour * 3600 + minute * 60 + second - seconds, micro - microseconds


def _of_timezone(kind, value):
    # type: (type, Any) -> object
    return "timezone", _offset(kind, value)


def _offset(kind, zone):
    # type: (type, object) -> Any
    return _native(kind, zone, "utcoffset", _METHOD)(None)


def _of_deque(kind, value):
    # type: (type, Any) -> object
    return ("deque", *_native(kind, value, "__iter__", _WRAPPER)())


def _of_slots(name, *slots):
    # type: (str, str) -> Any
    """Two are equal if these of their attributes are."""
    return lambda kind, value: (name, *[_native(kind, value, slot, _SLOT) for slot in slots])


class _Slotted:
    __slots__ = ("slot",)


_METHOD, _WRAPPER, _SLOT = type(str.upper), type(float.__float__), type(_Slotted.slot)  # type: ignore[attr-defined]
_GETSET = type(type.__dict__["__module__"])
# Types of libraries whose values equal plain data or only their like: (module, name) -> what the value equals; a tuple
# of what it is and consists of; None if it equals nothing. A float32 equals the floats that are nearest to it, so no
# single one.
_NUMPY = ["bool", "bool_", "float64", "complex128"]
_NUMPY += ["%sint%d" % (sign, bits) for sign in ("", "u") for bits in (8, 16, 32, 64)]
_EQUALS = {("numpy", name): _of_numpy for name in _NUMPY}  # type: dict[tuple[str, str], Any]
# Texts and bytes by themselves: `item` leaves out the zeros at the end.
_EQUALS["numpy", "str_"] = lambda _kind, value: str.__str__(value)
_EQUALS["numpy", "bytes_"] = lambda _kind, value: bytes.__getitem__(value, slice(None))
_EQUALS["fractions", "Fraction"] = _of_fraction
_EQUALS["decimal", "Decimal"] = _of_decimal
_EQUALS["builtins", "range"] = _of_range
_EQUALS["builtins", "slice"] = _of_slots("slice", "start", "stop", "step")
_EQUALS["collections", "deque"] = _of_deque
_EQUALS["datetime", "date"] = _of_date
_EQUALS["datetime", "datetime"] = _of_datetime
_EQUALS["datetime", "time"] = _of_time
_EQUALS["datetime", "timedelta"] = _of_slots("timedelta", "days", "seconds", "microseconds")
_EQUALS["datetime", "timezone"] = _of_timezone
_EQUALS["re", "Pattern"] = _of_slots("Pattern", "pattern", "flags")
_EQUALS["uuid", "UUID"] = _of_slots("UUID", "int")
