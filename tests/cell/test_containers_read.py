"""What a connection reads of containers: hostile bytes, and objects."""

from __future__ import annotations

import gc
import re
import sys
from array import array
from collections import OrderedDict, defaultdict, deque
from datetime import tzinfo
from typing import Any

import pytest
from containers_by_hand import EIGHT, ONE, OPEN, ROOM, SHAPE, Objects, numpy, plain, u32
from cruxcell.values import reader as readers
from cruxcell.values import stdlib, transfer
from cruxcell.values.canonical import NotPlain
from cruxcell.values.containers import MAX_DEPTH, Containers, Garbled
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

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


def dtype(text: str, shape: bytes, data: bytes) -> bytes:
    return b"A" + u32(0) + b"s" + u32(len(text)) + text.encode() + shape + data + OPEN


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


def test_what_is_in_what_cannot_change_is_a_level_below_it():
    reader = Reader(b"Vk" + u32(1) + b"l" + u32(1) + u32(0), Containers(0))
    with pytest.raises(Garbled, match="a depth"):
        reader.checked(reader.value, MAX_DEPTH + 20)


def test_a_time_zone_is_one_of_fixed_offset():
    with pytest.raises(ValueError, match="time zone"):
        stdlib._zoned([1, tzinfo(), 0])


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
