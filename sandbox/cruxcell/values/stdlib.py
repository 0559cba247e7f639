"""Transfer of value types of the standard library; `arrays` has those of numpy, `tables` and `made_tables`
those of pandas, `sparse` scipy's matrices, `formulas` sympy's expressions, `images` those of PIL, `calendars` those of
pytz and dateutil, `generics` types with arguments.

Each is written as a letter and the plain data it is made of, and made again by its own constructor from exactly that.
A type is only looked for in modules that are loaded: nothing is imported to write a value.
"""

import sys

from cruxcell.values import arrays, calendars, formulas, generics, images, made_tables, owned, sparse, tables, views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_NUMPY = ("numpy", "numpy.dtypes")
_LONGEST_PATTERN = 1 << 10  # compiling takes 3 ms a character at worst
_DEBUG = 128  # of re


def write(writer, value, depth):
    # type: (Any, Any, int) -> bool
    """Write `value` if it is of one of these types; False if not."""
    kind = type(value)
    module = kind.__module__ or "sympy"  # whose functions that have but a name are of no module
    found, is_written = None, False  # type: Any, bool
    if type(module) is not str:  # a program may write anything there
        return False
    if module == "builtins":
        found = (b"s", (value.start, value.stop, value.step)) if kind is slice else owned.parts_of(writer, value)
    elif module in _TAKE:
        found = _TAKE[module](value)
    elif module in _NUMPY:
        is_written = views.write(writer, value, depth) or arrays.write(writer, value, depth)
        found = None if is_written else arrays.parts_of(value)
    elif module.partition(".")[0] == "pandas" and writer.all_cross(value):
        is_written = tables.write(writer, value, depth)
        found = None if is_written else tables.parts_of(value)
    elif module.partition(".")[0] == "scipy":
        is_written = sparse.write(writer, value, depth)
    else:
        found = _OF_LIBRARIES.get(module.partition(".")[0], _nothing)(value)
    if found is None:
        return is_written
    letter, parts = found
    if letter in _CONTAINERS:  # it can change, and has a number of its own
        writer.parts.append(b"V" + letter + writer.number(value).to_bytes(4, "little"))
        writer.value(parts, depth + 1)
        writer.content(value, depth)
        return True
    _write_parts(writer, value, letter, parts, depth)
    return True


# Of those whose values hold no others, by the name of the library; None of what does not cross.
_OF_LIBRARIES = {
    "sympy": formulas.parts_of,
    "PIL": lambda value: (b"i", None) if images.crosses(value) else None,
    **dict.fromkeys(calendars.LIBRARIES, calendars.parts_of),
}  # type: dict[str, Any]


def _nothing(_value):
    # type: (Any) -> None
    pass


def _of_a_module(value):
    # type: (Any) -> Any
    kind = type(value)
    take = _PARTS.get(kind.__name__)
    is_own = getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind
    return take(value) if take is not None and is_own else None


def _by_text(value):
    # type: (Any) -> Any
    name = type(value).__name__
    return (b"x", (name, str(value))) if _class_of(name) is type(value) else None


def _write_parts(writer, value, letter, parts, depth):
    # type: (Any, Any, bytes, tuple[Any, ...], int) -> None
    """What cannot change. A NaN has a number behind it: two are alike only if they are the same object."""
    has_number = _is_nan(letter, value)
    writer.parts.append((b"W" if has_number else b"V") + letter + len(parts).to_bytes(4, "little"))
    writer.items(parts, depth)
    if has_number:
        writer.parts.append(writer.number(value).to_bytes(4, "little"))


def _is_nan(letter, value):
    # type: (bytes, Any) -> bool
    """Some decimal NaNs may not be compared."""
    return value.is_nan() if letter == b"d" else letter == b"a" and bool(value != value)  # noqa: PLR0124


# What is made of its text, and where the class is to be found.
_TEXTS = dict.fromkeys(("PosixPath", "PurePosixPath", "PureWindowsPath"), "pathlib")
_TEXTS.update({"IPv%d%s" % (n, kind): "ipaddress" for n in (4, 6) for kind in ("Address", "Network", "Interface")})


def _class_of(name):
    # type: (str) -> Any
    """None of one that is not made of a text, or not loaded."""
    return getattr(sys.modules.get(_TEXTS.get(name, "")), name, None)


def _is_small(text, flags):
    # type: (Any, int) -> bool
    """Does a regular expression take little to compile, and is nothing printed about it?"""
    return (type(text) is str or type(text) is bytes) and len(text) <= _LONGEST_PATTERN and not flags & _DEBUG


_PARTS = {
    "Decimal": lambda value: (b"d", (str(value),)),
    "Fraction": lambda value: (b"f", (value.numerator, value.denominator)),
    "date": lambda value: (b"D", (value.year, value.month, value.day)),
    "time": lambda value: (
        (b"t", (value.hour, value.minute, value.second, value.microsecond, value.tzinfo, value.fold))
        if calendars.may_be_zone(value.tzinfo)
        else None
    ),
    "datetime": lambda value: (
        (
            b"T",
            (
                value.year,
                value.month,
                value.day,
                value.hour,
                value.minute,
                value.second,
                value.microsecond,
                value.tzinfo,
                value.fold,
            ),
        )
        if calendars.may_be_zone(value.tzinfo)
        else None
    ),
    "timedelta": lambda value: (b"e", (value.days, value.seconds, value.microseconds)),
    "timezone": lambda value: (b"z", (value.utcoffset(None), value.tzname(None))),
    "ZoneInfo": lambda value: (b"Z", (value.key,)) if value.key is not None else None,
    "UUID": lambda value: (b"u", (value.int,)),
    "deque": lambda value: (b"q", value.maxlen),
    "array": lambda value: (b"y", value.typecode),
    "Pattern": lambda value: (b"p", (value.pattern, value.flags)) if _is_small(value.pattern, value.flags) else None,
}  # type: dict[str, Any]
# How values of the classes of a module are taken apart.
_TAKE = {
    **dict.fromkeys(
        ("collections", "decimal", "fractions", "datetime", "uuid", "zoneinfo", "array", "re"), _of_a_module
    ),
    **dict.fromkeys(("pathlib", "pathlib._local", "ipaddress"), _by_text),
    **dict.fromkeys(("types", "typing"), generics.parts_of),
}  # type: dict[str, Any]


def base_name(kind):
    # type: (type) -> str
    """ "deque", "array", "ndarray", "table", "image" or "sparse" for the containers of other modules; else ""."""
    name = _NAMES.get((kind.__module__, kind.__name__), "")
    name = name or ("image" if images.is_own(kind) else "")
    return name or ("sparse" if kind.__name__ in sparse.NAMES and sparse.is_own(kind) else "")


_NAMES = {("numpy", name): "ndarray" for name in ("ndarray", *arrays.RECORDS)}
_NAMES.update({("pandas", name): "table" for name in tables.TABLES})
_NAMES["pandas.core.frame", "DataFrame"] = _NAMES["pandas.core.series", "Series"] = "table"  # up to pandas 2
_NAMES["collections", "deque"], _NAMES["array", "array"] = "deque", "array"


# ---- reading ---------------------------------------------------------------------------------------------------------


def read(reader, depth):
    # type: (Any, int) -> Any
    letter = reader.take(1)
    if letter in _CONTAINERS:
        number, made = reader.u32(), _CONTAINERS[letter](reader.value(depth + 1))
        reader.containers.adopt(number, made)
        return reader.fill(made, depth)
    make = _MAKERS[letter]
    count = reader.count()
    return make([reader.value(depth + 1) for _ in range(count)])


def read_nan(reader, depth):
    # type: (Any, int) -> Any
    """A NaN, with its number behind it."""
    letter = reader.data[reader.at : reader.at + 1]
    value = read(reader, depth)
    if not _is_nan(letter, value):
        raise ValueError("a NaN that is none")
    reader.containers.adopt(reader.u32(), value)
    return value


def _typed(values, *kinds):
    # type: (list[Any], type) -> list[Any]
    """The values, if there are so many and each is exactly of its type. `type(None)` stands for any, checked later."""
    if len(values) != len(kinds) or any(
        kind is not type(None) and type(v) is not kind for v, kind in zip(values, kinds)
    ):
        raise ValueError("not what a value is made of")
    return values


def _decimal(values):
    # type: (list[Any]) -> Any
    (text,) = _typed(values, str)
    return __import__("decimal").Decimal(text)


def _fraction(values):
    # type: (list[Any]) -> Any
    return __import__("fractions").Fraction(*_typed(values, int, int))


def _zoned(values):
    # type: (list[Any]) -> Any
    """(values, time zone, fold) of the parts of a time."""
    *numbers, zone, fold = values
    if not calendars.may_be_zone(zone):
        raise ValueError("a time zone that cannot be")
    return _typed(numbers, *[int] * len(numbers)), zone, _typed([fold], int)[0]


def _time(values):
    # type: (list[Any]) -> Any
    numbers, zone, fold = _zoned(values)
    return __import__("datetime").time(*numbers, tzinfo=zone, fold=fold)


def _datetime(values):
    # type: (list[Any]) -> Any
    numbers, zone, fold = _zoned(values)
    return __import__("datetime").datetime(*numbers, tzinfo=zone, fold=fold)


def _timezone(values):
    # type: (list[Any]) -> Any
    datetime = __import__("datetime")
    offset, name = _typed(values, datetime.timedelta, str)
    made = datetime.timezone(offset)
    return made if made.tzname(None) == name else datetime.timezone(offset, name)


def _named_zone(values):
    # type: (list[Any]) -> Any
    (key,) = _typed(values, str)
    try:
        return __import__("zoneinfo").ZoneInfo(key)
    except (ImportError, KeyError, OSError):
        raise ValueError("a time zone that there is not") from None


def _of_text(values):
    # type: (list[Any]) -> Any
    name, text = _typed(values, str, str)
    if name not in _TEXTS:
        raise ValueError("a class that is not made of a text")
    __import__(_TEXTS[name])
    return _class_of(name)(text)


def _deque(maxlen):
    # type: (Any) -> Any
    if maxlen is not None and type(maxlen) is not int:
        raise ValueError("a length that is no number")
    return __import__("collections").deque(maxlen=maxlen)


def _pattern(values):
    # type: (list[Any]) -> Any
    text, flags = _typed(values, type(None), int)
    if not _is_small(text, flags):
        raise ValueError("a regular expression that cannot be")
    re, warnings = __import__("re"), __import__("warnings")
    try:
        with warnings.catch_warnings():  # which the other half had
            warnings.simplefilter("ignore")
            made = re.compile(text, flags)
    except Exception as error:  # re.error, and whatever else compiling may raise
        raise ValueError(str(error)) from None
    if made.flags != flags:
        raise ValueError("flags that cannot be")
    return made


def _array_of(typecode):
    # type: (Any) -> Any
    return __import__("array").array(typecode)


_CONTAINERS = {b"q": _deque, b"y": _array_of, b"i": lambda _parts: images.empty()}  # type: dict[bytes, Any]
_MAKERS = {
    b"s": lambda values: slice(*_typed(values, type(None), type(None), type(None))),
    b"m": lambda values: memoryview(*_typed(values, bytes)),
    b"k": lambda values: dict.fromkeys(values).keys(),
    b"v": lambda values: dict(enumerate(values)).values(),
    b"w": lambda values: dict(values).items(),
    b"d": _decimal,
    b"f": _fraction,
    b"D": lambda values: __import__("datetime").date(*_typed(values, int, int, int)),
    b"t": _time,
    b"T": _datetime,
    b"e": lambda values: __import__("datetime").timedelta(*_typed(values, int, int, int)),
    b"z": _timezone,
    b"Z": _named_zone,
    b"u": lambda values: __import__("uuid").UUID(int=_typed(values, int)[0]),
    b"a": arrays.made_scalar,
    b"n": arrays.made_type,
    b"p": _pattern,
    b"x": _of_text,
    b"P": made_tables.made,
    b"L": calendars.made,
    b"E": formulas.made,
    b"A": generics.made,
    **owned.MAKERS,
}  # type: dict[bytes, Any]
