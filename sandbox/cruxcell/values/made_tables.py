"""Pandas' values made again of what `tables` has taken apart.

What is read is believed in nothing: types are told by a fixed list, and pandas' constructors check lengths and codes.
None is given an object that it would ask anything, since that may be the other half's.
"""

import sys

from cruxcell.values import arrays, calendars
from cruxcell.values.tables import KINDS, MASKED, is_side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments


def read(reader, depth):
    # type: (Any, int) -> Any
    pandas = __import__("pandas")
    letter, number = reader.take(1), reader.u32()
    made = {b"D": pandas.DataFrame, b"S": pandas.Series}[letter](dtype=object)
    reader.containers.adopt(number, made)
    return refill(reader, made, depth)


def refill(reader, value, depth):
    # type: (Any, Any, int) -> Any
    """What a table holds now."""
    pandas = __import__("pandas")
    (parts,) = _fields([reader.value(depth + 1)], tuple)
    index, heads, columns = _fields(parts, tuple, tuple, tuple)
    index = _index(index)
    if type(value) is pandas.Series:
        found = _series(columns, index)
        (found.name,) = heads
    else:
        made = {at: _series(each, index) for at, each in enumerate(columns)}
        found = pandas.DataFrame(made, index=index, copy=False)
        found.columns = _index(heads)
    type(value).__init__(value, found)
    return value


def _series(parts, index):
    # type: (Any, Any) -> Any
    """Its type is given: pandas would look at objects to find a better one."""
    array = _array(parts)
    return __import__("pandas").Series(array, index=index, dtype=array.dtype, copy=False)


def made(parts):
    # type: (list[Any]) -> Any
    """What has been taken apart by `parts_of`."""
    pandas = __import__("pandas")
    name, parts = parts[0], parts[1:]
    if name in ("NaT", "NA"):
        _fields(parts)
        return getattr(pandas, name)
    if name == "Timestamp":
        when, zone = parts
        found = pandas.Timestamp(*_fields([when], sys.modules["numpy"].datetime64))
        return found if zone is None else found.tz_localize("UTC").tz_convert(_zone(zone))
    if name == "Timedelta":
        return pandas.Timedelta(*_fields(parts, sys.modules["numpy"].timedelta64))
    if name == "Period":
        ordinal, freq = _fields(parts, int, str)
        return pandas.Period(ordinal=ordinal, freq=freq)
    if name == "Interval":
        left, right, closed = parts
        if not (is_side(left) and is_side(right)):
            raise ValueError("an interval that cannot be")
        return pandas.Interval(left, right, *_fields([closed], str))
    (inner,) = _fields(parts, tuple)
    return _OF_PARTS[name](inner)


def _fields(values, *kinds):
    # type: (Any, type) -> Any
    """The values, if there are so many and each is exactly of its type."""
    if type(values) not in (tuple, list) or [type(each) for each in values] != list(kinds):
        raise ValueError("not what a value of pandas is made of")
    return values


def _zone(zone):
    # type: (Any) -> Any
    if not calendars.may_be_zone(zone):
        raise ValueError("a time zone that cannot be")
    return zone


def _index(parts):
    # type: (Any) -> Any
    pandas = __import__("pandas")
    word, names, *parts = parts
    if word == "multi":
        levels, codes = _fields(parts, tuple, tuple)
        found = pandas.MultiIndex([_index(each) for each in levels], [_array(each, "i") for each in codes])
    elif word == "range":
        (parts,) = _fields(parts, tuple)
        found = pandas.RangeIndex(*_fields(parts, int, int, int))
    elif word == "index":
        array, freq = parts
        array = _array(array)
        found = pandas.Index(array, dtype=array.dtype, tupleize_cols=False)
        if freq is not None and found.dtype.kind in "mM":
            found.freq = _fields([freq], str)[0]
    else:
        raise ValueError("an index that cannot be")
    found.names = [*_fields([names], tuple)[0]]
    return found


def _array(parts, kinds=""):
    # type: (Any, str) -> Any
    """`kinds`: the letters of numpy's types that it must be of, where pandas would look at what each object is."""
    found = _ARRAYS[parts[0]](*parts[1:])
    if kinds and found.dtype.kind not in kinds:
        raise ValueError("an array of a type that cannot be")
    return found


def _of_numpy(name, data):
    # type: (Any, Any) -> Any
    dtype = arrays.read_type(name)
    if dtype.kind not in KINDS:
        raise ValueError("an array that cannot be")
    size = len(data) if dtype.kind == "O" else len(data) // dtype.itemsize
    return arrays.made([name, (size,), data])


def _zoned(times, zone):
    # type: (Any, Any) -> Any
    return __import__("pandas").DatetimeIndex(_array(times, "M")).tz_localize("UTC").tz_convert(_zone(zone)).array


def _category(codes, categories, is_ordered):
    # type: (Any, Any, Any) -> Any
    categories = _index(categories)
    return __import__("pandas").Categorical.from_codes(_array(codes, "i"), categories, *_fields([is_ordered], bool))


def _period(ordinals, freq):
    # type: (Any, Any) -> Any
    pandas = __import__("pandas")
    ordinals, dtype = _of_numpy("<i8", ordinals), pandas.PeriodDtype(*_fields([freq], str))
    return pandas.arrays.PeriodArray(ordinals, dtype=dtype)


def _interval(left, right, closed):
    # type: (Any, Any, Any) -> Any
    kind = __import__("pandas").arrays.IntervalArray
    sides = _index(left), _index(right)
    if any(each.dtype.kind not in "biufmM" for each in sides):
        raise ValueError("an interval that cannot be")
    return kind.from_arrays(*sides, *_fields([closed], str))


def _string(storage, has_nan, items):
    # type: (Any, Any, Any) -> Any
    pandas = __import__("pandas")
    _fields([storage, has_nan], str, bool)
    dtype = pandas.StringDtype(storage, na_value=float("nan")) if has_nan else pandas.StringDtype(storage)
    return pandas.array(_items(items, str), dtype=dtype)


def _masked(name, items):
    # type: (Any, Any) -> Any
    if type(name) is not str or name not in MASKED:
        raise ValueError("an array that cannot be")
    return __import__("pandas").array(_items(items, bool, int, float), dtype=name)


def _items(items, *kinds):
    # type: (Any, type) -> Any
    if type(items) is not list or any(each is not None and type(each) not in kinds for each in items):
        raise ValueError("items that cannot be")
    return items


_OF_PARTS = {
    "Index": _index,
    "api.extensions.ExtensionArray": _array,
    "type": lambda parts: _array(parts).dtype,
}  # type: dict[str, Any]
_ARRAYS = {
    "numpy": _of_numpy,
    "zoned": _zoned,
    "category": _category,
    "period": _period,
    "interval": _interval,
    "string": _string,
    "masked": _masked,
}  # type: dict[str, Any]
