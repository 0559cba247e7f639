"""How pandas' values cross: what comes out is what went in, and what pandas would ask an object for is not read."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from containers_by_hand import ROOM, Ends, numpy
from cruxcell.values import tables, transfer
from cruxcell.values.canonical import NotPlain
from cruxcell.values.containers import Containers
from cruxcell.values.writer import Writer
from tables_by_hand import TIMES, VALUES, pandas, zone_without_name

ONES = numpy.ones(2, "i8")


def crossed(value: object) -> Any:
    return transfer.decode(transfer.encode(value, ROOM))


def check_same(one: Any, other: Any) -> None:
    testing = pandas.testing
    assert type(one) is type(other)
    if isinstance(one, pandas.DataFrame):
        testing.assert_frame_equal(one, other)
    elif isinstance(one, pandas.Series):
        testing.assert_series_equal(one, other)
    elif isinstance(one, pandas.Index):
        testing.assert_index_equal(one, other, exact=True)
        assert getattr(one, "freq", None) == getattr(other, "freq", None)
    elif isinstance(one, pandas.api.extensions.ExtensionArray):
        testing.assert_extension_array_equal(one, other)
    else:
        assert one is other or one == other
        assert repr(one) == repr(other)


@pytest.mark.parametrize("name", VALUES)
def test_what_crosses_is_the_same(name: str):
    check_same(crossed(VALUES[name]), VALUES[name])


class Own(pandas.DataFrame):  # type: ignore[misc]
    def equals(self, _other: object) -> bool:
        return True


class Meta(type):
    __hash__ = type.__hash__

    def __eq__(cls, other: object) -> bool:
        return True


class Other(metaclass=Meta):
    __module__ = "pandas"


def with_attributes() -> Any:
    value = pandas.DataFrame({"a": [1]})
    value.attrs["a"] = 1
    return value


def without_names_twice() -> Any:
    value = pandas.DataFrame({"a": [1]})
    value.flags.allows_duplicate_labels = False
    return value


def stuffed(item: object) -> Any:
    """An array of texts that holds something else."""
    array = pandas.array(["a", "b"], dtype=pandas.StringDtype("python"))
    array._ndarray[0] = item
    return array


class OwnIndex(pandas.RangeIndex):  # type: ignore[misc]
    pass


HOLIDAYS = pandas.offsets.CustomBusinessDay(holidays=["2020-01-02"])
SPARSE = pandas.Index(pandas.arrays.SparseArray([0, 1]))
ELSEWHERE = TIMES.tz_localize(zone_without_name())
UNSENT = {
    "a subclass": Own({"a": [1]}),
    "a class of that module": Other(),
    "sparse": pandas.DataFrame({"a": pandas.arrays.SparseArray([0, 1])}),
    "attributes": with_attributes(),
    "holidays": pandas.date_range("2020-01-01", periods=2, freq=HOLIDAYS),
    "groups": pandas.DataFrame({"a": [1]}).groupby("a"),
    "over numpy": pandas.Series([1, 2]).array,
    "times over numpy": TIMES.array,
    "no names twice": without_names_twice(),
    "an own index": OwnIndex(2),
    "holidays of a series": pandas.Series([1, 2], pandas.date_range("2020-01-01", periods=2, freq=HOLIDAYS)),
    "a sparse index": SPARSE,
    "columns that are sparse": pandas.DataFrame([[1, 2]], columns=SPARSE),
    "a level that is sparse": pandas.MultiIndex([SPARSE, ["a"]], [[0, 1], [0, 0]]),
    "categories that are sparse": pandas.Categorical.from_codes([0, 1], SPARSE),
    "another zone": ELSEWHERE,
    "a time of another zone": ELSEWHERE[0],
    "an interval of another zone": pandas.IntervalIndex.from_breaks([ELSEWHERE[0], ELSEWHERE[0] + HOLIDAYS]),
    "a text that is a number": stuffed(5),
    "a text that is a fraction": stuffed(1.5),
    "a text that is not equal to itself": stuffed(Decimal("nan")),
}


@pytest.mark.parametrize("name", UNSENT)
def test_what_would_not_be_read_as_the_same_does_not_cross(name: str):
    value = UNSENT[name]
    assert tables.parts_of(value) is None, "and it is known before anything of it is written"
    assert not tables.write(Writer(Containers()), value, 0)
    with pytest.raises(NotPlain):
        transfer.encode(value, ROOM)


def test_of_numpy_s_arrays_rows_of_types_of_tables_are_taken_apart():
    arrays = [numpy.zeros(1), numpy.zeros((1, 1)), numpy.array(["a"]), numpy.zeros(1, "V1")]
    assert [tables._numpy_parts(each, each.dtype) is None for each in arrays] == [False, True, True, True]
    missing = [tables._is_missing(each) for each in (None, pandas.NA, float("nan"), 0.0, "")]
    assert missing == [True, True, True, False, False]


def test_what_a_known_table_holds_is_compared_whatever_it_is():
    for name in ("attributes", "no names twice", "sparse", "holidays of a series"):
        index, _names, arrays = tables.state_of(UNSENT[name])
        assert index is not None
        assert arrays is not None
    assert tables.state_of(pandas.DataFrame({"a": [1, 2]}, index=UNSENT["an own index"]))[0] is not None


def test_an_index_of_numbers_is_one_up_to_pandas_1_5():
    fields = {"__module__": tables._NUMERIC, "name": None, "dtype": numpy.dtype("i8"), "to_numpy": lambda _: ONES}
    assert tables._index_parts(type("Int64Index", (), fields)()) == (
        "index", (None,), ("numpy", "<i8", ONES.tobytes()), None,
    )  # fmt: skip


CHANGES: dict[str, Any] = {
    "an item": lambda value: value.__setitem__("a", [7, 8]),
    "a column": lambda value: value.__setitem__("new", [None, "x"]),
    "one place": lambda value: value.loc.__setitem__((0, "b"), "changed"),
    "a row": lambda value: value.loc.__setitem__(9, [1, "z", []]),
    "names": lambda value: setattr(value, "columns", ["p", "q", "r"]),
    "a row less": lambda value: value.drop(index=0, inplace=True),
    "an index": lambda value: setattr(value, "index", ["x", "y"]),
    "another type": lambda value: value.__setitem__("a", pandas.Categorical(["x", "y"])),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_in_a_table_changes_at_the_other_end(name: str):
    ends, inner = Ends(), [1]
    value = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [inner, None]})
    again, same = ends.send([value, value])
    assert again is same
    assert ends.one.changed() == ends.other.changed() == []
    CHANGES[name](again)
    assert ends.other.changed() != []
    ends.turned().refresh()
    check_same(value, again)
    assert ends.one.changed() == ends.other.changed() == []
    if "c" in value and len(value) > 1:
        assert value["c"].iloc[0] is inner


def test_a_series_is_changed_in_place():
    value, ends = pandas.Series([1, 2], name="a"), Ends()
    again = ends.send(value)
    again[0], again.name = 7, "b"
    ends.turned().refresh()
    check_same(value, again)


def test_a_known_table_crosses_whatever_it_comes_to_hold():
    ends, value = Ends(), pandas.DataFrame({"a": [0, 1]})
    again = ends.send(value)
    value["b"] = pandas.arrays.SparseArray([0, 1])
    ends.refresh()
    assert again["b"].tolist() == [0, 1]


def test_a_table_that_holds_itself_crosses():
    value = pandas.Series([None, 1], dtype=object)
    value.iloc[0] = value
    again = crossed(value)
    assert again.iloc[0] is again
