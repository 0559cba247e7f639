"""Values of pandas, and what the other half has of them."""

from __future__ import annotations

import io
import struct
import zoneinfo
from typing import Any

import pytest
from containers_by_hand import numpy

pandas: Any = pytest.importorskip("pandas")
TIMES = pandas.to_datetime(["2020-01-01", None])
VALUES = {
    "mixed": pandas.DataFrame({"a": [1, 2], "b": ["x", None], "c": [1.5, float("nan")], "d": [[1], {"a": 2}]}),
    "empty": pandas.DataFrame(),
    "no columns": pandas.DataFrame(index=[1, 2]),
    "no rows": pandas.DataFrame({"a": []}),
    "names twice": pandas.DataFrame([[1, 2], [3, 4]], columns=["x", "x"], index=[5, 5]),
    "times": pandas.DataFrame({"a": TIMES, "b": TIMES.tz_localize("UTC"), "c": TIMES - TIMES[0]}),
    "zones": pandas.Series(TIMES.tz_localize("Europe/Berlin")),
    "own types": pandas.DataFrame(
        {
            "a": pandas.Categorical(["a", None], ordered=True),
            "b": pandas.period_range("2020-01", periods=2, freq="M"),
            "c": pandas.array([1, None], dtype="Int64"),
            "d": pandas.array(["q", None], dtype="string"),
            "e": pandas.array([True, None], dtype="boolean"),
            "f": pandas.array([1.5, None], dtype="Float64"),
            "g": pandas.interval_range(0, 2),
        }
    ),
    "numpy's types": pandas.DataFrame(
        {at: numpy.ones(2, name) for at, name in enumerate(["?", "i1", "u8", "f4", "c16"])}
    ),
    "levels": pandas.DataFrame({"a": [1, 2, 2], "b": [3, 4, 5]}).groupby("a").agg(["mean", "sum"]),
    "texts": pandas.Series(["a", "b"], name=("n", 1), index=pandas.Index(["x", "y"], name="z")),
    "objects": pandas.Series(["a", 1], dtype=object),
    "no items": pandas.Series(dtype=float),
    "cut": pandas.cut(pandas.Series([1, 5, 9]), 3),
    "index": pandas.Index([1, 2], name="n"),
    "range": pandas.RangeIndex(1, 9, 2, name="n"),
    "product": pandas.MultiIndex.from_product([[1, 2], ["a", None]], names=["x", None]),
    "days": pandas.date_range("2020", periods=3, freq="B", tz="UTC"),
    "days as they come": pandas.to_datetime(["2020-01-02", "2020-01-01"]),
    "durations": pandas.timedelta_range("1h", periods=3),
    "kinds": pandas.CategoricalIndex(["a", "b"]),
    "quarters": pandas.period_range("2020", periods=3, freq="Q"),
    "an array": pandas.Categorical(["a", None]),
    "numbers": pandas.array([1, None]),
    "time": pandas.Timestamp("2020-01-01 01:02:03.000000004"),
    "zoned": pandas.Timestamp("2020-07-01", tz="America/New_York"),
    "duration": pandas.Timedelta("1D3ns"),
    "no time": pandas.NaT,
    "nothing": pandas.NA,
    "month": pandas.Period("2020-01", "M"),
    "interval": pandas.Interval(0, 1.5, closed="both"),
    "of times": pandas.Interval(pandas.Timestamp("2020"), pandas.Timestamp("2021")),
}


def zone_without_name() -> zoneinfo.ZoneInfo:
    """It does not cross. Its file (RFC 8536) has one type of local time, of no offset."""
    counts = struct.pack(">6I", 0, 0, 0, 0, 1, 4)
    return zoneinfo.ZoneInfo.from_file(io.BytesIO(b"TZif" + bytes(16) + counts + bytes(6) + b"UTC\0"))
