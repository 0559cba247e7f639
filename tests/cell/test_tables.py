"""How pandas' values cross: what comes out is what went in, and what pandas would ask an object for is not read."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zoneinfo
from collections import deque
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import remote, runs
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from cruxcell.values import cells, made_tables, tables, transfer
from cruxcell.values.canonical import NotPlain
from cruxcell.values.containers import Containers, Garbled
from cruxcell.values.writer import Writer
from test_containers import ROOM, Ends, numpy, plain, u32

pandas: Any = pytest.importorskip("pandas")
ONES = numpy.ones(2, "i8")
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


def zone_without_name() -> zoneinfo.ZoneInfo:
    """It does not cross. Its file (RFC 8536) has one type of local time, of no offset."""
    counts = struct.pack(">6I", 0, 0, 0, 0, 1, 4)
    return zoneinfo.ZoneInfo.from_file(io.BytesIO(b"TZif" + bytes(16) + counts + bytes(6) + b"UTC\0"))


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


INTS = ("numpy", "<i8", (1).to_bytes(8, "little"))
RANGE = ("range", (None,), (0, 1, 1))
OBJECTS = ("numpy", "|O", [1])
TEXTS = ("index", (None,), ("numpy", "|O", ["a"]), None)
HOSTILE: dict[str, Any] = {
    "no such value": ("DataFrame",),
    "a module's name": ("api.types", INTS),
    "more of nothing": ("NaT", 1),
    "a time of a text": ("Timestamp", "2020", None),
    "a zone of a text": ("Timestamp", numpy.datetime64("2020", "ns"), "UTC"),
    "a zone that there is not": ("Timestamp", numpy.datetime64("2020", "ns"), ("pytz", "../../etc/passwd")),
    "a zone of another kind": ("Timestamp", numpy.datetime64("2020", "ns"), ("dateutil", "UTC")),
    "a duration of a text": ("Timedelta", "1d"),
    "an ordinal of a text": ("Period", "1", "M"),
    "a frequency that there is not": ("Period", 1, "no"),
    "an interval of texts": ("Interval", "a", "b", "right"),
    "an interval of lists": ("Interval", [1], [2], "right"),
    "an interval without sides": ("Interval", 0, 1, "up"),
    "an index of a text": ("Index", "range"),
    "an index of another kind": ("Index", ("other", (None,), INTS, None)),
    "a range of floats": ("Index", ("range", (None,), (0.0, 1, 1))),
    "a range of no steps": ("Index", ("range", (None,), (0, 1, 0))),
    "names of a list": ("Index", ("range", [None], (0, 1, 1))),
    "two names": ("Index", ("range", (None, None), (0, 1, 1))),
    "a name that is a list": ("Index", ("range", ([],), (0, 1, 1))),
    "a frequency that is not the index's": ("Index", ("index", (None,), ("numpy", "<M8[ns]", bytes(24)), "D")),
    "a frequency that is no text": ("Index", ("index", (None,), ("numpy", "<M8[ns]", bytes(8)), 1)),
    "codes of objects": ("Index", ("multi", (None,), (RANGE,), (OBJECTS,))),
    "codes beyond": ("Index", ("multi", (None,), (TEXTS,), (INTS,))),
    "levels of a list": ("Index", ("multi", (None,), [RANGE], (INTS,))),
    "an array of another kind": ("api.extensions.ExtensionArray", ("list", [1])),
    "categories' codes of objects": ("api.extensions.ExtensionArray", ("category", OBJECTS, TEXTS, False)),
    "categories' codes beyond": ("api.extensions.ExtensionArray", ("category", INTS, TEXTS, False)),
    "an order of a number": ("api.extensions.ExtensionArray", ("category", INTS, RANGE, 1)),
    "times of objects": ("api.extensions.ExtensionArray", ("zoned", OBJECTS, None)),
    "months of objects": ("api.extensions.ExtensionArray", ("period", [1], "M")),
    "months of a frequency that there is not": ("api.extensions.ExtensionArray", ("period", bytes(8), "no")),
    "sides of objects": ("api.extensions.ExtensionArray", ("interval", TEXTS, TEXTS, "right")),
    "sides of numbers as objects": (
        "api.extensions.ExtensionArray",
        ("interval", *[("index", (None,), OBJECTS, None)] * 2, "right"),
    ),
    "texts of numbers": ("api.extensions.ExtensionArray", ("string", "python", False, [1])),
    "texts of a tuple": ("api.extensions.ExtensionArray", ("string", "python", False, ("a",))),
    "texts stored elsewhere": ("api.extensions.ExtensionArray", ("string", "disk", False, ["a"])),
    "numbers of a type of numpy's": ("api.extensions.ExtensionArray", ("masked", "int64", [1])),
    "numbers of a type that is evaluated": ("api.extensions.ExtensionArray", ("masked", "category", [1])),
    "numbers of texts": ("api.extensions.ExtensionArray", ("masked", "Int64", ["1"])),
}


def made_of(parts: Any) -> bytes:
    return b"VP" + u32(len(parts)) + plain(list(parts))[9:]


def test_parts_are_read_as_they_are_written():
    assert transfer.decode(made_of(("Index", RANGE))).equals(pandas.RangeIndex(1))  # type: ignore[attr-defined]
    assert transfer.decode(made_of(("NaT",))) is pandas.NaT


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_honest_end_writes_is_not_read(name: str):
    with pytest.raises(Garbled):
        transfer.decode(made_of(HOSTILE[name]))


def test_what_is_read_has_types_of_tables_and_names_that_are_texts():
    class Text(str):
        __slots__ = ()

    assert made_tables._of_numpy("<f8", bytes(8)) == [0]
    assert len(made_tables._masked("Int64", [1])) == 1
    for make, name, data in ((made_tables._of_numpy, "<U1", bytes(4)), (made_tables._masked, Text("Int64"), [1])):
        with pytest.raises(ValueError, match="an array that cannot be"):
            make(name, data)

    class Number(int):  # which pandas would ask which is less
        __slots__ = ()

    for sides in ((Number(0), 1), (0, Number(1))):
        with pytest.raises(ValueError, match="an interval that cannot be"):
            made_tables.made(["Interval", *sides, "right"])
    made = made_tables._index(("index", (None,), INTS, "D"))
    assert not hasattr(made, "freq"), "only times have a frequency"


def test_sides_of_other_types_are_not_taken_apart():
    """Of a class of its own pandas would ask which is less, where the interval is made again."""

    class Number(float):
        __slots__ = ()

    for sides in ((Number(0), 1.0), (0.0, Number(1))):
        assert tables.parts_of(pandas.Interval(*sides)) is None


def test_numpy_reads_no_type_that_it_would_have_compiled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(numpy, "dtype", pytest.fail)
    with pytest.raises(ValueError, match="an array of what cannot be"):
        made_tables._of_numpy("(1,2)i8", bytes(16))


FRAMES: dict[str, Any] = {
    "a series of two names": (b"S", (RANGE, (None, None), INTS)),
    "a series of another length": (b"S", (("range", (None,), (0, 2, 1)), (None,), INTS)),
    "columns without names": (b"D", (RANGE, ("range", (None,), (0, 2, 1)), (INTS,))),
    "a column of another length": (b"D", (RANGE, RANGE, (("numpy", "<i8", bytes(16)),))),
    "a column of half a number": (b"D", (RANGE, RANGE, (("numpy", "<i8", bytes(4)),))),
    "a column of a structure": (b"D", (RANGE, RANGE, (("numpy", (("a", "<i8"),), bytes(8)),))),
    "a column that is a text": (b"D", (RANGE, RANGE, ("numpy",))),
    "a list": (b"D", [RANGE, RANGE, (INTS,)]),
    "no columns": (b"D", (RANGE, RANGE)),
    "another class": (b"G", (RANGE, RANGE, (INTS,))),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_table_of_parts_that_do_not_fit_is_not_read(name: str):
    letter, parts = FRAMES[name]
    with pytest.raises(Garbled):
        transfer.decode(b"Q" + letter + u32(100) + plain(parts))


def test_no_object_is_asked_while_a_table_is_read():
    """In a process of its own: whatever pandas would look at in an object ends it."""
    program = Path(__file__).with_name("asked_objects.py")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_of_pandas_where_it_is_not_loaded(monkeypatch: pytest.MonkeyPatch):
    value = VALUES["time"]
    monkeypatch.delitem(sys.modules, "pandas")
    assert tables.parts_of(value) is None


class Candidates:
    """Writes an object as a letter."""

    class_of_proxies, is_test = None, False

    def write(self, writer: Any, _value: object, _depth: int) -> None:
        writer.parts.append(b"o")

    def plain_base(self, kind: type) -> type | None:
        return tuple if issubclass(kind, tuple) else None


HELD: dict[str, Any] = {
    "a cell": lambda each: pandas.DataFrame({"a": [1, each]}),
    "a cell of a list": lambda each: pandas.Series([[1, {2: each}], None]),
    "an index": lambda each: pandas.Series([1, 2], index=[each, 1]),
    "an index alone": lambda each: pandas.Index([each, 1]),
    "names of columns": lambda each: pandas.DataFrame([[1, 2]], columns=[each, 1]),
    "a level": lambda each: pandas.MultiIndex.from_product([[1, 2], [each, None]]),
    "a category": lambda each: pandas.Series(pandas.Categorical.from_codes([0], pandas.Index([each], dtype=object))),
    "a name": lambda each: pandas.Series([1], name=each),
    "a table in a table": lambda each: pandas.Series([pandas.Series([each]), None], dtype=object),
    "an array of categories": lambda each: pandas.Categorical.from_codes([0], pandas.Index([each], dtype=object)),
    "an array of pandas' in a cell": lambda each: pandas.Series([HELD["an array of categories"](each), None]),
    "an array of objects": lambda each: pandas.Series([numpy.array([each, None])], dtype=object),
}


@pytest.mark.parametrize("name", HELD)
def test_a_table_with_an_object_of_the_candidates_is_an_object(name: str):
    def begin(each: object) -> bytes:
        writer = Writer(Containers(), Candidates())
        writer.value(HELD[name](each), 0)
        return writer.bytes(ROOM)[:1]

    assert begin(object()) == b"o"
    assert begin(Decimal(2)) in (b"Q", b"V")


class Tests:
    """The test's end."""

    class_of_proxies = remote.RemoteType

    def __init__(self, is_test: bool = True) -> None:
        self.is_test, self.named = is_test, frozenset[str]()

    def ask(self, operation: str, *_fields: object) -> int:
        if operation == "get":
            raise AttributeError
        return 2


@pytest.fixture
def connected() -> Iterator[None]:
    before = list(runs.connection)
    runs.connection[:] = [Tests()]
    yield
    runs.connection[:] = before


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("name", HELD)
def test_a_test_reads_no_table_with_what_answers_for_itself(name: str):
    """Whoever wrote it: a candidate can have its own half write what it likes. How a tuple is shown says nothing."""
    cls = make_class("Liar", 1, (), ["__len__"], [], None)
    row = make_class("Row", 2, (tuple,), [], ["__repr__"], None)
    short = make_class("Short", 3, (tuple,), [], ["__len__"], None)
    is_one_cell = name in ("a cell", "a cell of a list")  # elsewhere pandas takes a tuple apart
    for each in (object.__new__(cls), tuple.__new__(short, (1, 2)))[: 1 + is_one_cell]:
        with pytest.raises(ValueError, match="a table with objects of the program in it"):
            cells.refuse_theirs(Tests(), HELD[name](each))
        cells.refuse_theirs(Tests(is_test=False), HELD[name](each))
    table = HELD[name](tuple.__new__(row, (1, 2)) if is_one_cell else 3)
    assert cells.refuse_theirs(Tests(), table) is table
    assert cells.refuse_theirs(None, table) is table


@pytest.mark.usefixtures("connected")
def test_of_the_programs_objects_only_rows_are_in_a_table_that_a_test_reads():
    """One that has no methods is none."""
    bare, row = make_class("Bare", 1, (), [], [], None), make_class("Row", 2, (tuple,), [], ["__repr__"], None)
    with pytest.raises(ValueError, match="a table with objects of the program in it"):
        cells.refuse_theirs(Tests(), pandas.Series([object.__new__(bare)]))
    cell: list[Any] = [tuple.__new__(row, (1, 2))] * 2
    cell.append(cell)
    table = pandas.Series([cell], dtype=object)
    assert cells.refuse_theirs(Tests(), table) is table


HIDDEN = object()
INSIDE: dict[str, Any] = {
    "a tuple": (HIDDEN,),
    "a frozenset": frozenset([HIDDEN]),
    "a list": [HIDDEN],
    "a set": {HIDDEN},
    "a deque": deque([HIDDEN]),
    "a key": {HIDDEN: 1},
    "a value": {1: HIDDEN},
    "an array": numpy.array([HIDDEN]),
    "a name": pandas.Series([1], name=(HIDDEN,)),
    "an index": pandas.Index([HIDDEN]),
    "a name of levels": pandas.MultiIndex.from_tuples([(1, 2)], names=[HIDDEN, "b"]),
    "a level": pandas.MultiIndex.from_arrays([pandas.CategoricalIndex([1], categories=[1, HIDDEN]), [2]]),
    "a category": pandas.Categorical([1], categories=[1, HIDDEN]),
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_a_container_or_a_table_holds_is_found(name: str):
    pending = [INSIDE[name]]
    for each in pending:
        pending += cells._inside(each) or ()
    assert any(each is HIDDEN for each in pending)


def test_what_holds_no_objects_is_not_looked_through(monkeypatch: pytest.MonkeyPatch):
    for one in (numpy.arange(2), pandas.array(["a"], dtype="string"), pandas.array([1], dtype="Int64")):
        assert cells._inside(one) == []
    for other in (pandas.Timestamp(0), numpy.int64(1), HIDDEN):
        assert cells._inside(other) is None
    monkeypatch.delitem(sys.modules, "numpy")
    assert cells._inside([1]) == [1]
