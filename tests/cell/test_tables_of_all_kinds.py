"""Every value of pandas' that is read is the one that was written; every other one is known before it is sent.

What no end can read would be taken for a lie of the program's.
"""

from __future__ import annotations

import datetime
import sys
import zoneinfo
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from containers_by_hand import ROOM, numpy
from cruxcell.values import tables, transfer, writer
from cruxcell.values.canonical import NotPlain
from cruxcell.values.containers import MAX_DEPTH, Garbled
from tables_by_hand import zone_without_name

pandas: Any = pytest.importorskip("pandas")
pytz: Any = pytest.importorskip("pytz")
tz: Any = pytest.importorskip("dateutil.tz")

ZONES = [
    None, datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=5, minutes=30)),
    zoneinfo.ZoneInfo("Europe/Berlin"), tz.gettz("Europe/Berlin"), tz.tzutc(), tz.tzoffset("here", 3600),
    pytz.timezone("Europe/Berlin"), pytz.utc, pytz.FixedOffset(90),
]  # fmt: skip
UNITS = ["s", "ms", "us", "ns"]
PERIODS = ["D", "M", "Y", "Q", "W", "W-MON", "h", "min", "s", "us", "Q-JAN", "2D", "3M", "15min"]
OFFSETS = [name for name in dir(pandas.offsets) if not name.startswith("_") and name != "BaseOffset"]
SCALARS = {
    **{f"a time in {zone}": pandas.Timestamp("2020-07-01 01:02:03", tz=zone) for zone in ZONES},
    "a time in a zone without a name": pandas.Timestamp("2020-07-01 01:02:03", tz=zone_without_name()),
    **{f"a time by {unit}": pandas.Timestamp("2020-07-01").as_unit(unit) for unit in UNITS},
    **{f"a duration by {unit}": pandas.Timedelta(-5, "D").as_unit(unit) for unit in UNITS},
    **{f"a period of {freq}": pandas.Period("2020-01-01", freq=freq) for freq in PERIODS},
    **{f"a number of numpy's {kind}": numpy.dtype(kind).type(3) for kind in "bBhHiIlLefd?FD"},
    "an integer": 3, "a large integer": 10**30, "a float": 1.5, "nan": float("nan"), "a complex number": 1j,
    "no time": pandas.NaT, "nothing": pandas.NA, "None": None, "a text": "a", "bytes": b"a", "a tuple": (1, "a"),
    "a decimal": Decimal(2), "a date": datetime.date(2020, 1, 1), "a day of numpy's": numpy.datetime64("2020-01-01"),
}  # fmt: skip
DTYPES = [
    "Int8", "UInt64", "Float32", "boolean", "string", "str", "category", "Sparse[int]", "datetime64[s]",
    "timedelta64[us]", "complex64", "float16", "int8", "datetime64[s, Europe/Berlin]", "period[Q-DEC]",
    "interval[int64, left]", "interval[float64, both]", "interval[datetime64[ns], right]",
]  # fmt: skip
# The kinds of values that hold another one.
FORMS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda each: each,
    "a series": lambda each: pandas.Series([each, each]),
    "a series of objects": lambda each: pandas.Series([each, None], dtype=object),
    "a name": lambda each: pandas.Series([1], name=each),
    "an index": lambda each: pandas.Index([each, each], name=("a", 1)),
    "the name of an index": lambda each: pandas.Index([1], name=each),
    "an index of a series": lambda each: pandas.Series([1, 2], index=[each, each]),
    "an array": lambda each: pandas.array([each, None]),
    "categories": lambda each: pandas.Categorical([each, None]),
    "an index of categories": lambda each: pandas.CategoricalIndex([each], ordered=True),
    "a column": lambda each: pandas.DataFrame({"a": [each, each], "b": [1, 2]}),
    "the name of a column": lambda each: pandas.DataFrame([[1]], columns=[each]),
    "a level": lambda each: pandas.MultiIndex.from_product([[each], [1, 2]], names=["x", None]),
    "an interval": lambda each: pandas.Interval(each, each, closed="both"),
    "a series of an interval": lambda each: pandas.Series([FORMS["an interval"](each), None], dtype=object),
    "an index of intervals": lambda each: pandas.IntervalIndex.from_arrays([each], [each]),
}
DATES: dict[str, Callable[[Any], Any]] = {
    "dates": lambda offset: pandas.date_range("2020-01-01", periods=3, freq=offset),
    "the dates of a series": lambda offset: pandas.Series(1, index=DATES["dates"](offset)),
    "a period": lambda offset: pandas.Period("2020-01-01", freq=offset),
    "periods": lambda offset: pandas.period_range("2020-01-01", periods=3, freq=offset),
    "durations": lambda offset: pandas.timedelta_range("1h", periods=3, freq=offset),
}


def _called(fields: dict[str, Any], kind: Any) -> Any:
    return kind(**fields)


def made(forms: dict[str, Callable[[Any], Any]], each: object) -> Iterator[tuple[str, Any]]:
    """What pandas makes of it, and can show."""
    for name, form in forms.items():
        try:
            found = form(each)
            repr(found)
        except (TypeError, ValueError, AttributeError, NotImplementedError):
            continue
        yield name, found


def crosses(value: Any) -> bool:
    """Does it, and as it is?"""
    try:
        data = transfer.encode(value, ROOM)
    except NotPlain:
        return False
    again: Any = transfer.decode(data)
    assert type(again) is type(value)
    assert repr(again) == repr(value)
    for name in ("dtype", "freq", "names", "name", "unit"):
        assert repr(getattr(again, name, None)) == repr(getattr(value, name, None)), name
    if isinstance(value, pandas.DataFrame):
        assert list(map(str, again.dtypes)) == list(map(str, value.dtypes))
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCALARS)
def test_what_pandas_makes_of_a_value(name: str):
    found = {form: crosses(value) for form, value in made(FORMS, SCALARS[name])}
    assert found["itself"] is not ("from_file" in name or "without" in name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("offset", OFFSETS)
def test_dates_at_every_distance(offset: str):
    kind = getattr(pandas.offsets, offset)
    for fields in ({}, {"n": 2}, {"n": -1}, {"normalize": True}):
        for _, value in made({"the offset": partial(_called, fields)}, kind):
            for _, dates in made(DATES, value):
                crosses(dates)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_type(dtype: str):
    whole = {
        "a series": lambda items: pandas.Series(items, dtype=dtype),
        "an index": lambda items: pandas.Index(items, dtype=dtype),
        "an array": lambda items: pandas.array(items, dtype=dtype),
        "categories": lambda items: pandas.Categorical(pandas.Series(items, dtype=dtype)),
    }
    found = [crosses(value) for items in ([], [1, 0], [1, None], ["a", "b"], [None]) for _, value in made(whole, items)]
    assert any(found) is (dtype != "Sparse[int]")
    assert all(crosses(value.dtype) for _, value in made(whole, []) if crosses(value))


@pytest.mark.parametrize("dtype", [pandas.CategoricalDtype(), pandas.IntervalDtype("int64"), pandas.SparseDtype(int)])
def test_a_type_that_leaves_things_open_is_an_object(dtype: Any):
    assert not crosses(dtype)


def test_tables_in_tables_are_as_deep_as_anything_may_be(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer, "MAX_DEPTH", 4 * MAX_DEPTH)  # as no honest half writes it
    deep = pandas.Series([1])
    for _ in range(MAX_DEPTH // 2):
        deep = pandas.Series([deep, None], dtype=object)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        data = transfer.encode(deep, ROOM)
        with pytest.raises(Garbled):
            transfer.decode(data)
    finally:
        sys.setrecursionlimit(limit)


def test_a_period_whose_frequency_has_no_name_is_not_taken_apart():
    month = pandas.Period("2020-01", "M")
    assert tables._month_parts(month) == (month.ordinal, "M")
    assert tables._month_parts(SimpleNamespace(ordinal=month.ordinal, freqstr="no frequency")) is None
    months = pandas.period_range("2020-01", periods=2, freq="M").array
    assert tables._period_parts(months, months.dtype) == ("period", months.asi8.tobytes(), "M")
    assert tables._period_parts(months, SimpleNamespace(name="period[no frequency]")) is None
