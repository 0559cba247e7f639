"""What both ends of a connection keep of containers: their numbers, what changed in them, and their content anew."""

from __future__ import annotations

import gc
import re
import struct
import sys
from array import array
from collections import OrderedDict, UserDict, defaultdict, deque
from datetime import tzinfo
from typing import Any

import pytest
from cruxcell.values import containers, stdlib, transfer
from cruxcell.values import reader as readers
from cruxcell.values.canonical import NotPlain, TooLarge
from cruxcell.values.containers import MAX_DEPTH, Containers, Garbled, base_of, dict_base, dict_tags
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

numpy = pytest.importorskip("numpy")
ROOM = 1 << 20


class Ends:
    """Two ends of a connection: what one sends, the other one has."""

    def __init__(self) -> None:
        self.one, self.other = Containers(0), Containers(1)

    def send(self, value: Any) -> Any:
        writer = Writer(self.one)
        writer.value(value, 0)
        reader = Reader(writer.bytes(ROOM), self.other)
        again = reader.checked(reader.value, 0)
        reader.end()
        self.settle()
        return again

    def refresh(self) -> None:
        """Bring the other end up to date."""
        for number in self.one.changed():
            writer = Writer(self.one)
            writer.content(self.one.touch(number), 0)
            reader = Reader(writer.bytes(ROOM), self.other)
            reader.checked(reader.fill, self.other.touch(number), 0)
            reader.end()
        self.settle()

    def turned(self) -> Ends:
        """The same connection, seen from the other end."""
        ends = Ends()
        ends.one, ends.other = self.other, self.one
        return ends

    def settle(self) -> None:
        self.one.settle()
        self.other.settle()


def u32(number: int) -> bytes:
    return struct.pack("<I", number)


# ---- changes -------------------------------------------------------------------------


def swapped(value: set[object]) -> None:
    value.discard(1)
    value.add("b")


def equal_key(value: dict[object, object]) -> None:
    value.clear()
    value[True] = "a"


def reshaped(value: Any) -> None:
    value.shape = (3, 2)


CHANGES: dict[str, tuple[Any, Any]] = {
    "a list grows": ([1], lambda value: value.append(2)),
    "an item of a list": ([1, 2], lambda value: value.__setitem__(0, "a")),
    "a dict grows": ({1: 2}, lambda value: value.__setitem__(3, 4)),
    "an item of a dict": ({1: 2}, lambda value: value.__setitem__(1, "b")),
    "a key of a dict": ({1: "a"}, equal_key),
    "a set grows": ({1}, lambda value: value.add("b")),
    "a set shrinks": ({1, "b"}, lambda value: value.discard(1)),
    "an item of a set": ({1, "a"}, swapped),
    "a bytearray": (bytearray(b"ab"), lambda value: value.__setitem__(0, 0)),
    "a deque grows": (deque([1]), lambda value: value.append(2)),
    "an item of a deque": (deque([1, 2]), lambda value: value.__setitem__(0, "a")),
    "a number of numbers alone": (array("d", [1, 2]), lambda value: value.__setitem__(0, 0.5)),
    "numbers alone grow": (array("d", [1, 2]), lambda value: value.append(0.5)),
    "an order": (OrderedDict(a=1, b=2), lambda value: value.move_to_end("a")),
    "a number of an array": (numpy.arange(6).reshape(2, 3), lambda value: value.__setitem__((0, 0), 7)),
    "an object of an array": (numpy.array([1, None], dtype=object), lambda value: value.__setitem__(0, "a")),
    "the shape of an array": (numpy.arange(6).reshape(2, 3), reshaped),
}


def test_dicts_within_dicts_are_counted_one_by_one():
    value: Any = 1
    for at in range(20):  # far from as deep as may be
        value = {at: value}
    assert Ends().send([value]) == [value]


@pytest.mark.parametrize("name", CHANGES)
def test_the_other_end_gets_what_changed_and_nothing_else(name: str):
    value, change = CHANGES[name]
    ends = Ends()
    again = ends.send([value, [0], (0,)])[0]
    assert ends.one.changed() == []
    change(value)
    number = ends.one.numbers[id(value)]
    assert ends.one.changed() == [number]
    ends.refresh()
    assert ends.one.changed() == ends.other.changed() == []
    assert type(again) is type(value)
    assert again == value if type(value) is set else repr(again) == repr(value)


class Rows(list):  # type: ignore[type-arg]
    """What the other end calls a list."""

    def __iter__(self) -> Any:
        raise AssertionError

    def __len__(self) -> int:
        raise AssertionError

    def clear(self) -> None:
        raise AssertionError


class Kept(OrderedDict):  # type: ignore[type-arg]
    def clear(self) -> None:
        raise AssertionError


class Plain(dict):  # type: ignore[type-arg]
    clear = Kept.clear


def test_of_a_subclass_only_the_base_is_asked():
    assert [base_of(kind) for kind in (Rows, Kept, Plain, deque, array, numpy.ndarray)] == [
        list, dict, dict, "deque", "array", "ndarray",
    ]  # fmt: skip
    assert (base_of(tuple), base_of(frozenset), base_of(int)) == (None, None, None)
    assert (dict_base(Kept), dict_base(Plain), dict_base(dict)) == (OrderedDict, dict, dict)
    writer, own = Writer(Containers()), Rows([1, 2])
    writer.sequence(own, 0)
    assert transfer.decode(writer.bytes(ROOM)) == [1, 2]
    reader = Reader(u32(1) + b"N", Containers(1))
    assert list.__getitem__(reader.fill(own, 0), slice(None)) == [None]
    kept = Kept(a=1)
    reader = Reader(u32(1) + b"s" + u32(1) + b"b" + b"N", Containers(1))
    reader.fill(kept, 0)
    assert list(kept.items()) == [("b", None)]


def test_names_alone_make_no_container_of_another_module():
    assert stdlib.base_name(UserDict) == stdlib.base_name(numpy.float64) == ""
    for name in ("deque", "array", "ndarray"):
        assert stdlib.base_name(type(name, (), {"__module__": "elsewhere"})) == ""
        assert base_of(type(name, (list,), {"__module__": "collections"})) is list


def test_the_dicts_of_collections_are_known_before_anything_imports_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "collections")
    assert sorted(kind.__name__ for kind in dict_tags()) == ["Counter", "OrderedDict", "defaultdict"]


# ---- numbers -------------------------------------------------------------------------


def test_the_containers_of_a_connection_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(containers, "MAX_CONTAINERS", 2)
    with pytest.raises(TooLarge):
        transfer.encode([[], []], ROOM)
    assert transfer.encode([[]], ROOM)
    table = Containers()
    table.adopt(1, [])
    table.adopt(3, [])
    with pytest.raises(Garbled):
        table.adopt(5, [])


def test_a_number_belongs_to_one_end_and_one_container():
    table = Containers()
    table.adopt(1, [])
    for number in (0, 1, 2):
        with pytest.raises(Garbled):
            table.adopt(number, [])


def test_what_is_forgotten_has_no_number():
    table, kept = Containers(), [[], []]
    for each in kept:
        table.add(each)
    table.forget([0, 8])
    assert (list(table.entries), list(table.numbers)) == ([2], [id(kept[1])])
    table.settle()
    assert table.changed() == []
    table.add([])
    table.undo()
    assert list(table.entries) == [2]


def test_what_is_done_to_a_container_while_it_is_written_is_one_more_change():
    """By another thread, say."""

    class Objects:
        class_of_proxies, is_test = None, True

        def write(self, writer: Writer, _value: object, depth: int) -> None:
            change(each)
            writer.value(None, depth)

    kept: list[tuple[Any, Any]] = [
        ([object()], lambda each: each.append(1)),
        ({1: object()}, lambda each: each.update({len(each) + 1: object()})),
        ({object()}, lambda each: each.add(object())),
        (deque([object()]), lambda each: each.append(1)),
    ]
    for is_known in (False, True):
        table = Containers()
        for each, change in kept:
            writer = Writer(table, Objects())
            if is_known:
                writer.content(table.touch(table.add(each)), 0)
            else:
                writer.value(each, 0)
        table.settle()
        assert table.changed() == [0, 2, 4, 6]
        for number in table.changed():
            table.write(table.touch(number))
        assert table.changed() == []
        table.undo()
        assert table.changed() == [0, 2, 4, 6]


def test_what_changes_while_it_is_looked_at_has_changed(monkeypatch: pytest.MonkeyPatch):
    class Busy(deque):  # type: ignore[type-arg]
        left = 3

        def __iter__(self) -> Any:
            self.left -= 1
            if self.left >= 0:
                raise RuntimeError("deque mutated during iteration")
            return super().__iter__()

    busy = Busy([1])
    assert containers.items_of("deque", busy) == (1,)
    busy.left = 1 << 20
    with pytest.raises(TooLarge):
        containers.items_of("deque", busy)
    table, kept = Containers(), {1}
    table.add(kept)
    table.settle()
    monkeypatch.setattr(containers, "_differs", lambda *_: busy.__iter__())
    assert table.changed() == [0]


def test_a_sweep_forgets_what_nobody_else_has():
    table, kept = Containers(), {1}
    assert table.sweep() == []
    table.add(kept)
    table.add([2])
    table.settle()
    assert table.sweep() == [2]
    assert (list(table.entries), list(table.numbers)) == ([0], [id(kept)])


def test_what_is_held_is_what_more_than_the_table_refers_to():
    table, kept, named = Containers(), [[1]], [2]
    for make in (lambda: kept, lambda: kept[0], lambda: named, lambda: [4], lambda: {"a": named}, lambda: {(5,)}):
        table.add(make())
    table.add([table.entries[6][0], named])
    table.settle()
    every = [0, 2, 4, 6, 8, 10, 12]
    assert table.held(every, []) == [0, 2, 4]
    assert table.held(every, [id(named)]) == [0, 2]  # its name here does not count
    assert table.held([4, 6, 2], []) == [4, 2]
    inner, kept = kept[0], []
    assert table.held(every, []) == [2, 4]
    inner.append(table.entries[12][0])
    assert table.held(every, []) == [2, 4, 6, 12]  # with what they hold


# ---- what is not plain ---------------------------------------------------------------


def forged(name: str, module: str, *bases: type, **attributes: object) -> Any:
    """An object whose class has the name of another."""
    return type(name, bases, {"__module__": module, "__str__": lambda _self: "1", **attributes})()


ODD: dict[str, Any] = {
    "a decimal by name": forged("Decimal", "decimal"),
    "a deque by name": forged("deque", "collections", deque),
    "numbers alone by name": forged("array", "array", typecode="d"),
    "a dict by name": forged("OrderedDict", "collections", OrderedDict),
    "an array by name": forged("ndarray", "numpy", dtype=numpy.dtype(int), tobytes=lambda _self: b""),
    "a number of a class of its own": forged("float64", "__main__", numpy.float64),
    "every second byte": memoryview(b"abcd")[::2],
    "numbers in memory": memoryview(array("i", [1, 2]))[1:],
    "a table of bytes": memoryview(b"abcd").cast("B", (2, 2)),
    "a matrix": numpy.zeros((1, 1)).view(numpy.matrix),
    "records of objects": numpy.zeros(2, dtype="i4,O"),
    "a record of objects": numpy.zeros(2, dtype="i4,O")[0],
    "a function of numpy": numpy.add,
    "a long pattern": re.compile("a" * 1025),
    "a pattern of a class of its own": re.compile(type("Text", (str,), {})("a")),
    "a pattern by name": forged("Pattern", "re", pattern="a", flags=32),
}


@pytest.mark.parametrize("name", ODD)
def test_what_only_looks_like_plain_data_stays(name: str):
    with pytest.raises(NotPlain):
        transfer.encode(ODD[name], ROOM)


def test_without_numpy_nothing_is_of_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "numpy")
    with pytest.raises(NotPlain):
        transfer.encode(ODD["an array by name"], ROOM)


# ---- hostile bytes -------------------------------------------------------------------


OPEN = b"TF"  # to writers, and row by row


def dtype(text: str, shape: bytes, data: bytes) -> bytes:
    return b"A" + u32(0) + b"s" + u32(len(text)) + text.encode() + shape + data + OPEN


def plain(value: object) -> bytes:
    return transfer.encode(value, ROOM)


ONE, EIGHT = b"b" + u32(4) + bytes(4), b"b" + u32(8) + bytes(8)
SHAPE = b"t" + u32(1) + b"j" + u32(1) + u32(2)
GARBLED = {
    "a deque as long as True": b"Vq" + u32(0) + b"T" + u32(0),
    "numbers alone of an unknown kind": b"Vy" + u32(0) + plain("?") + u32(0),
    "numbers alone of a kind that is a number": b"Vy" + u32(0) + plain(5) + u32(0),
    "numbers alone of a text": b"Vy" + u32(0) + plain("d") + u32(1) + plain("a"),
    "numbers alone that are too large": b"Vy" + u32(0) + plain("b") + u32(1) + plain(300),
    "a fraction of one number": b"Vf" + u32(1) + plain(1),
    "an interval of floats": b"Ve" + u32(3) + plain(1.0) * 3,
    "memory that is a list": b"Vm" + u32(1) + b"l" + u32(0) + u32(0),
    "an array of nothing known": dtype("|V4", SHAPE, ONE),
    "an array of arrays": dtype("2i4", SHAPE, EIGHT),
    "an array of records": dtype("<i4,<i4", SHAPE, EIGHT),
    "an array of a list of fields": dtype("<i4,(1,)i4", SHAPE, EIGHT),
    "another name of numbers": dtype("<i04", SHAPE, ONE),
    "another name of days": dtype("<08[D]", SHAPE, EIGHT),
    "a number that is none": dtype("08", SHAPE, EIGHT),
    "the order of this machine": dtype("=i4", SHAPE, ONE),
    "an array of a number": b"A" + u32(0) + plain(4) + SHAPE + ONE + OPEN,
    "an array of bytes": b"A" + u32(0) + b"b" + u32(3) + b"<i4" + SHAPE + ONE + OPEN,
    "a shape that is a list": dtype("<i4", b"l" + u32(2) + u32(1) + plain(1), ONE),
    "a shape of True": dtype("<i4", b"t" + u32(1) + b"T" + u32(2), ONE),
    "a shape of whatever there is": dtype("<i4", b"t" + u32(1) + plain(-1) + u32(2), ONE),
    "a shape of too many dimensions": dtype("<i4", b"t" + u32(33) + plain(1) * 33 + u32(2), ONE),
    "objects in a tuple": dtype("|O", SHAPE, b"t" + u32(1) + b"N" + u32(4)),
    "an array that is open to a number": dtype("<i4", SHAPE, ONE)[:-1] + plain(1),
    "numbers in a list": dtype("|u1", SHAPE, b"l" + u32(4) + u32(1) + plain(1)),
}


@pytest.mark.parametrize("name", GARBLED)
def test_what_no_writer_writes_is_garbled(name: str):
    with pytest.raises(Garbled):
        transfer.decode(GARBLED[name])


@pytest.mark.parametrize("library", ["numpy", "pandas"])
def test_what_a_library_makes_that_is_not_there_is_garbled(library: str, monkeypatch: pytest.MonkeyPatch):
    moment = b"VP" + u32(3) + plain("Timestamp") + b"Va" + u32(3) + plain("<M8[us]") + plain(()) + EIGHT
    made = dtype("<i4", SHAPE, ONE) if library == "numpy" else moment + plain(None)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(Garbled, match=f"import of {library}"):
        transfer.decode(made)


def test_want_of_memory_is_not_garbled(monkeypatch: pytest.MonkeyPatch):
    def raising(_reader: Reader) -> None:
        raise MemoryError

    monkeypatch.setitem(readers._READERS, ord("N"), raising)
    with pytest.raises(MemoryError):
        transfer.decode(b"N")


def test_a_length_is_never_more_than_there_is():
    for read in (lambda reader: reader.take(3), Reader.count):
        with pytest.raises(Garbled, match="length"):
            read(Reader(u32(9)[:2] if read is not Reader.count else u32(9), Containers(1)))
    assert Reader(u32(1) + b"N", Containers(1)).count() == 1


def test_what_is_read_is_as_deep_as_what_is_written_and_not_much_deeper():
    def nested(depth: int) -> bytes:
        return b"".join(b"l" + u32(2 * place) + u32(1) for place in range(depth)) + b"N"

    assert transfer.decode(nested(MAX_DEPTH + 21))
    with pytest.raises(Garbled, match="depth"):
        transfer.decode(nested(MAX_DEPTH + 22))


def test_a_time_zone_is_one_of_fixed_offset():
    with pytest.raises(ValueError, match="time zone"):
        stdlib._zoned([1, tzinfo(), 0])


# ---- objects -------------------------------------------------------------------------


class Objects:
    """Writes an object as a letter."""

    class_of_proxies, is_test = None, True

    def write(self, writer: Writer, _value: object, _depth: int) -> None:
        writer.parts.append(b"o")

    def read(self, _reader: Reader, tag: int, _depth: int) -> str:
        return chr(tag)

    def filled(self, _value: object) -> None:
        pass

    hear: Any = None


def test_bytes_that_are_read_are_told():
    heard: list[bytes] = []
    objects = Objects()
    writer = Writer(Containers(), objects)
    writer.value([b"a1", {"b": (b"c2", bytearray(b"d3"))}, "e4"], 0)
    assert Reader(writer.bytes(ROOM), Containers(1), objects).value(0)[0] == b"a1"
    objects.hear = heard.append
    found = Reader(writer.bytes(ROOM), Containers(1), objects).value(0)
    assert heard == [b"a1", b"c2"]
    assert heard[1] is found[1]["b"][0], "the very object"


def test_where_objects_cross_so_do_factories():
    writer = Writer(Containers(), Objects())
    writer.value([object(), defaultdict(object), defaultdict(int)], 0)
    reader = Reader(writer.bytes(ROOM), Containers(1), Objects())
    first, own, plain = reader.checked(reader.value, 0)
    assert (first, own.default_factory, plain.default_factory) == ("o", "o", int)


@pytest.mark.parametrize("step", ["write", "settle"])
def test_a_list_that_a_finalizer_changes_while_it_is_taken_down(step: str):
    """Up to 3.11 a finalizer may run while memory for a tuple is being made."""
    before = gc.get_threshold()
    texts = [f"{place}x" for place in range(1000)]

    class Last:
        def __init__(self) -> None:
            self.circle = self

        def __del__(self) -> None:
            changing.clear()
            rest.extend([f"{place}y"] for place in range(1500))

    gc.freeze()  # else each collection looks through all that the tests hold
    try:
        for threshold in range(1, 30):
            rest: list[list[str]] = []
            changing = list(texts)
            table = Containers(0)
            if step == "settle":
                table.add(changing)
            gc.collect()
            gc.disable()
            Last()
            gc.set_threshold(threshold, 0, 0)
            gc.enable()
            Writer(table, Objects()).value(changing, 0) if step == "write" else table.settle()
            gc.disable()
            assert [*table.entries[0][1]] in ([], texts)
    finally:
        gc.set_threshold(*before)
        gc.enable()
        gc.unfreeze()
