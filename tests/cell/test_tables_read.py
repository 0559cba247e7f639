"""Tables of pandas that are read: from parts that no honest end writes, too."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from containers_by_hand import ROOM, numpy, plain, u32
from cruxcell.jobs.separated.proxies import remote, runs
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from cruxcell.values import cells, made_tables, tables, transfer
from cruxcell.values.containers import MAX_DEPTH, Containers, Garbled
from cruxcell.values.writer import Writer
from tables_by_hand import VALUES, pandas

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
    for items in ([Text("a")], ("a",), ["a", 1]):
        with pytest.raises(ValueError, match="items that cannot be"):
            made_tables._items(items, str)

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


def test_what_is_in_a_table_is_a_level_below_it():
    writer = Writer(Containers(0), Candidates())
    writer.value(VALUES["texts"], MAX_DEPTH)
    assert writer.parts[1:] == [b"o"]


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
    """The test's half."""

    class_of_proxies = remote.RemoteType

    def __init__(self, is_test: bool = True) -> None:
        self.is_test, self.named = is_test, frozenset[str]()

    def ask(self, operation: str, *_fields: object) -> int:
        if operation == "get":
            raise AttributeError
        return 2


@pytest.fixture
def connected() -> None:
    runs.LINK[:] = [Tests()]


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
