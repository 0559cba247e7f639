"""Pandas' values taken apart: data frames, series, indexes, arrays of its own types, times and intervals.

Each becomes plain data: bytes of numpy's types, lists of objects, names. `made_tables` makes it again. Nothing is
imported to write a value.
"""

import sys

from cruxcell.values import calendars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

# Of numpy's types, and those of pandas' own that may miss items.
KINDS = frozenset("biufcmMO")
MASKED = frozenset(
    ["boolean", "Float32", "Float64", *("%snt%d" % (i, n) for i in ("I", "UI") for n in (8, 16, 32, 64))]
)
TABLES = ("DataFrame", "Series")


def write(writer, value, depth):
    # type: (Any, Any, int) -> bool
    """Write `value` if it is a data frame or a series; False if not."""
    kind = type(value)
    if not any(kind is _of_pandas(name) for name in TABLES) or _taken_apart(value) is None:
        return False
    writer.parts.append(b"Q" + kind.__name__[:1].encode() + writer.number(value).to_bytes(4, "little"))
    writer.content(value, depth)
    return True


def write_content(writer, value, depth):
    # type: (Any, Any, int) -> None
    writer.value(_taken_apart(value, True), depth + 1)


def parts_of(value):
    # type: (Any) -> tuple[bytes, tuple[Any, ...]] | None
    """The letter of a value of pandas' that cannot change, and what `made` makes it of again; None if it is none."""
    kind = type(value)
    for name, take in _TAKEN.items():
        if kind is _of_pandas(name):
            taken = take(value)
            return None if taken is None else (b"P", (name, *taken))
    for name in ("NaT", "NA"):
        if value is _of_pandas(name):
            return b"P", (name,)
    for family, take in (("Index", _index_parts), ("api.extensions.ExtensionArray", _own_array_parts)):
        base = _of_pandas(family)
        if isinstance(base, type) and issubclass(kind, base):
            parts = take(value)
            return None if parts is None else (b"P", (family, parts))
    parts = _type_parts(value)
    return None if parts is None else (b"P", ("type", parts))


def state_of(value):
    # type: (Any) -> Any
    """What a table holds, to be compared."""
    return _taken_apart(value, True)


def _of_pandas(path):
    # type: (str) -> Any
    found = sys.modules.get("pandas")  # type: Any
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


# ---- taking apart ----------------------------------------------------------------------------------------------------


def _taken_apart(value, is_known=False):
    # type: (Any, bool) -> Any
    """(index, columns, arrays) of a data frame, (index, name, array) of a series; None where a part does not cross, or
    the table has attributes. `is_known`: the other half has it, so what does not cross is a list of objects."""
    index = _index_parts(value.index, is_known)
    if type(value).__name__ == "Series":
        parts = (index, (value.name,), _array_parts(_held(value), is_known))  # type: tuple[Any, ...]
    else:
        columns = tuple([_array_parts(_held(value.iloc[:, at]), is_known) for at in range(value.shape[1])])
        parts = (index, _index_parts(value.columns, is_known), columns)
        if None in [type(each) is tuple or None for each in columns]:
            return None
    is_whole = is_known or (not value.attrs and value.flags.allows_duplicate_labels)
    return parts if is_whole and all(type(each) is tuple for each in parts) else None


def _index_parts(index, is_known=False):
    # type: (Any, bool) -> Any
    kind = type(index).__name__
    if type(index) is not _of_pandas(kind) and type(index).__module__ != _NUMERIC and not is_known:
        return None
    if kind == "RangeIndex":
        return "range", (index.name,), (index.start, index.stop, index.step)
    if kind == "MultiIndex":
        levels = tuple([_index_parts(each, is_known) for each in index.levels])
        codes = tuple([_array_parts(codes) for codes in index.codes])
        return None if any(each is None for each in levels) else ("multi", tuple(index.names), levels, codes)
    array = _array_parts(_held(index), is_known)
    freq = getattr(index, "freq", None) if kind in ("DatetimeIndex", "TimedeltaIndex") else None
    name = None if freq is None else _name_of_freq(freq)
    if array is None or (name is None and freq is not None and not is_known):
        return None
    return "index", (index.name,), array, name


def _name_of_freq(freq):
    # type: (Any) -> str | None
    return _found(lambda: freq.freqstr, _of_pandas("tseries.frequencies").to_offset, freq)


def _found(name_of, make, value):
    # type: (Callable[[], str], Callable[[str], Any], Any) -> str | None
    """The name by which pandas makes `value`; None of what has no such name, as it knows holidays, say."""
    try:
        name = name_of()
        return name if type(name) is str and make(name) == value else None
    except (TypeError, ValueError):
        return None


_NUMERIC = "pandas.core.indexes.numeric"  # up to pandas 1.5


def _held(value):
    # type: (Any) -> Any
    """The array that a series or an index consists of."""
    return value.to_numpy() if isinstance(value.dtype, sys.modules["numpy"].dtype) else value.array


def _array_parts(array, is_known=False):
    # type: (Any, bool) -> Any
    """What `made_tables` makes the array of again: a word and plain data; None of one that does not cross."""
    dtype = array.dtype
    parts = None  # type: Any
    if isinstance(dtype, sys.modules["numpy"].dtype):
        parts = _numpy_parts(array, dtype)
    elif type(dtype).__name__ in _ARRAYS:
        parts = _ARRAYS[type(dtype).__name__](array, dtype)
    elif getattr(dtype, "name", None) in MASKED:
        parts = "masked", dtype.name, [None if _is_missing(each) else each.item() for each in array]
    return ("numpy", "|O", list(array)) if parts is None and is_known else parts


def _numpy_parts(array, dtype):
    # type: (Any, Any) -> Any
    if dtype.kind not in KINDS or array.ndim != 1:
        return None
    array = sys.modules["numpy"].asarray(array)
    return "numpy", dtype.str, list(array) if dtype.kind == "O" else array.tobytes()


def _zoned_parts(array, dtype):
    # type: (Any, Any) -> Any
    return ("zoned", _array_parts(array.tz_convert(None)), dtype.tz) if calendars.may_be_zone(dtype.tz) else None


def _category_parts(array, dtype):
    # type: (Any, Any) -> Any
    categories = _index_parts(dtype.categories)
    return None if categories is None else ("category", _array_parts(array.codes), categories, bool(dtype.ordered))


def _interval_parts(array, dtype):
    # type: (Any, Any) -> Any
    sides = _index_parts(array.left), _index_parts(array.right)
    return None if None in sides else ("interval", *sides, dtype.closed)


def _string_parts(array, dtype):
    # type: (Any, Any) -> Any
    held = array.to_numpy(dtype=object).tolist()  # to go through the array itself takes ten times as long
    if not all(_is_missing(each) for each in held if type(each) is not str):
        return None
    items = [each if type(each) is str else None for each in held]
    return "string", dtype.storage, dtype.na_value is not _of_pandas("NA"), items


def _period_parts(array, dtype):
    # type: (Any, Any) -> Any
    name = _found(lambda: dtype.name[len("period[") : -1], _of_pandas("PeriodDtype"), dtype)
    return None if name is None else ("period", array.asi8.tobytes(), name)


# By the names of pandas' types of arrays.
_ARRAYS = {
    "DatetimeTZDtype": _zoned_parts,
    "CategoricalDtype": _category_parts,
    "PeriodDtype": _period_parts,
    "IntervalDtype": _interval_parts,
    "StringDtype": _string_parts,
}  # type: dict[str, Any]


def _own_array_parts(array):
    # type: (Any) -> Any
    """As of one that stands alone: one over numpy's would be an array of numpy's."""
    parts = _array_parts(array)
    return None if parts is None or parts[0] == "numpy" else parts


def _type_parts(dtype):
    # type: (Any) -> Any
    """Of one of pandas' own types: the parts of an array of it that holds nothing."""
    kind = type(dtype)
    if kind is not _of_pandas(kind.__name__) or not (kind.__name__ in _ARRAYS or getattr(dtype, "name", "") in MASKED):
        return None
    try:
        array = dtype.construct_array_type()._from_sequence([], dtype=dtype)
    except (TypeError, ValueError):
        return None
    return _own_array_parts(array) if repr(array.dtype) == repr(dtype) else None  # not of one that leaves things open


def _is_missing(item):
    # type: (Any) -> bool
    return item is None or item is _of_pandas("NA") or (type(item) is float and item != item)  # noqa: PLR0124


def _time_parts(value):
    # type: (Any) -> Any
    return (value.to_datetime64(), value.tzinfo) if calendars.may_be_zone(value.tzinfo) else None


def _month_parts(value):
    # type: (Any) -> Any
    made = _of_pandas("Period")
    name = _found(lambda: value.freqstr, lambda name: made(ordinal=value.ordinal, freq=name), value)
    return None if name is None else (value.ordinal, name)


def _sides(value):
    # type: (Any) -> Any
    sides = value.left, value.right
    is_read = all(is_side(each) and (type(each) is not _of_pandas("Timestamp") or _time_parts(each)) for each in sides)
    return (*sides, value.closed) if is_read else None


def is_side(value):
    # type: (object) -> bool
    """Is it of a type that an interval is made of again? Of those, pandas asks nothing that is not their own."""
    numpy = sys.modules["numpy"]
    numbers = [numpy.dtype(letter).type for letter in "bBhHiIlLqQefd"]
    return any(type(value) is each for each in (int, float, *numbers, _of_pandas("Timestamp"), _of_pandas("Timedelta")))


# What these give is None for a value that does not cross.
_TAKEN = {
    "Timestamp": _time_parts,
    "Timedelta": lambda value: (value.to_timedelta64(),),
    "Period": _month_parts,
    "Interval": _sides,
}  # type: dict[str, Any]
