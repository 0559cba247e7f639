"""How arrays of numpy cross: what an array keeps when it is filled, and which names of types are read."""

from __future__ import annotations

import sys
from array import array
from typing import Any

import pytest
from containers_by_hand import EIGHT, OPEN, ROOM, SHAPE, Ends, numpy, plain, u32
from cruxcell.values import arrays, transfer
from cruxcell.values.canonical import NotPlain, canon
from cruxcell.values.containers import MAX_DEPTH, Containers, Garbled
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer


def test_arrays_stand_in_each_other_half_as_deep_as_lists():
    value: Any = 1
    for _ in range(MAX_DEPTH // 2):
        value = numpy.array([value, None], dtype=object)
    assert transfer.decode(transfer.encode(value, ROOM))[1] is None  # type: ignore[index]
    with pytest.raises(NotPlain, match="nested"):
        transfer.encode(numpy.array([value, None], dtype=object), ROOM)


@pytest.mark.parametrize("now", [numpy.arange(7), numpy.arange(1), numpy.arange(6.0), numpy.array([None] * 6)])
def test_an_array_keeps_size_and_type(now: Any):
    value = numpy.arange(6)
    writer = Writer(Containers())
    writer.content(now, 0)
    reader = Reader(writer.bytes(ROOM), Containers(1))
    with pytest.raises(Garbled, match="another size or type"):
        reader.checked(reader.fill, value, 0)
    assert list(value) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("place", [0, 4])
def test_no_structure_has_objects(place: int):
    """A view of an array of objects would show their addresses, or take what lies between two of them for one."""
    of_objects = ("b", "|O")
    written = (("a", f"|S{place or 8}"), of_objects, ("c", f"|S{8 - place}"))
    for each in ((of_objects,), written, (("f", written),)):
        with pytest.raises(ValueError, match="an array of what cannot be"):
            arrays.read_type(each)


@pytest.mark.parametrize("kind", [int, object, "S0"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_lies_in_memory_as_it_does_at_the_other_end(kind: Any, order: Any):
    value = numpy.array([[1, 2, 3], [4, 5, 6]], kind, order=order)
    ends = Ends()
    again, column = ends.send([value, value[:, 1]])
    assert (again.flags.fnc, again.base, again.tolist()) == (order == "F", None, value.tolist())
    assert again.strides == value.strides
    assert numpy.shares_memory(again, column) is bool(value.itemsize)
    value[1, 1] = 9
    ends.refresh()
    assert (again.tolist(), column.tolist()) == (value.tolist(), value[:, 1].tolist())
    assert ends.send([value[:1]])[0].flags.fnc is False  # what lies in both orders


@pytest.mark.parametrize("value", [numpy.arange(3), numpy.array([None, 1, 2]), numpy.eye(2)[0]], ids=repr)
def test_an_array_that_refuses_writers_is_one_at_the_other_end(value: Any):
    ends = Ends()
    value.flags.writeable = False
    again = ends.send([value])[0]
    assert not again.flags.writeable
    value.flags.writeable = True
    ends.refresh()
    assert again.flags.writeable
    value.flags.writeable = False
    ends.refresh()
    again.flags.writeable = True
    again[1] = 7
    again.flags.writeable = False
    ends.turned().refresh()
    assert (value[1], value.flags.writeable) == (7, False)


@pytest.mark.parametrize(
    "value", [numpy.str_(""), numpy.bytes_(b""), numpy.zeros((2, 0)), numpy.zeros((1, 2), "U1")[:0]]
)
def test_what_has_no_bytes_crosses(value: Any):
    found: Any = transfer.decode(transfer.encode(value, ROOM))
    assert type(found) is type(value)
    assert (found.shape, found.dtype) == (value.shape, value.dtype)


@pytest.mark.parametrize("text", ["", "a", "\0", "a\0", "a\0b\0\0", "\ud800", "🙂\0"])
def test_texts_and_bytes_of_numpy_keep_the_zeros_at_their_end(text: str):
    for value in (numpy.str_(text), numpy.bytes_(text.encode("utf-8", "surrogatepass"))):
        found: Any = transfer.decode(transfer.encode(value, ROOM))
        assert (type(found), found, len(found), found.dtype) == (type(value), value, len(value), value.dtype)
        plain_one = text if isinstance(value, str) else text.encode("utf-8", "surrogatepass")
        assert canon(value, ROOM) == canon(plain_one, ROOM)


@pytest.mark.parametrize(
    "parts", [("<U2", (), b"a\0\0\0"), ("|S2", (), b"a"), ("<U1", (), b"\0\0\x11\0"), ("<U1", [], b"a\0\0\0")]
)
def test_a_text_of_numpy_is_made_of_no_other_bytes(parts: tuple[Any, ...]):
    with pytest.raises((ValueError, TypeError)):
        arrays.made_scalar(list(parts))


NAMES = {"text": plain("<i4,(1,)i4"), "tuple": b"t" + u32(1) + plain("<") + u32(2), "list": plain(["<", "f"])}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_numpy_parses_no_list_of_fields(name: bytes, monkeypatch: pytest.MonkeyPatch):
    def parse(_text: object) -> None:
        raise AssertionError

    monkeypatch.setattr(numpy, "dtype", parse)
    with pytest.raises(Garbled):
        transfer.decode(b"A" + u32(0) + name + SHAPE + EIGHT + OPEN)


@pytest.mark.parametrize(
    "name", ["|b1", "<i8", ">u2", "<f8", "<c16", "|S3", "<U2", "<M8[25s]", "<m8[ns]", "<M8[D]", "<m8", "|O"]
)
def test_the_types_of_arrays_are_read_by_the_names_that_numpy_gives(name: str):
    value = numpy.zeros(2, dtype=name)
    assert value.dtype.str == name
    again: Any = transfer.decode(plain(value))
    assert again.dtype == value.dtype


@pytest.mark.parametrize("name", ["=i4", "<i1", ">i1", "<S3", "<f", "<d", "<U", "|i4", "<b1", "<M8[1s]"])
def test_no_array_has_a_type_by_another_name_of_it(name: str):
    assert numpy.dtype(name).str != name
    with pytest.raises(ValueError, match="cannot be"):
        arrays.read_type(name)


STRUCTURED = [("a", "<i4"), ("b", ">f8"), ("c", [("d", "<U2"), ("e", "|S0")])]
WITH_GAPS = numpy.dtype({"names": ["a", "b"], "formats": ["u1", "<f8"], "offsets": [0, 8]})
UNREAD = [numpy.dtype([("a", "O")]), numpy.dtype([("a", "u1", (2,))]), WITH_GAPS, numpy.dtype("V3")]


@pytest.mark.parametrize("value", [numpy.zeros(2, STRUCTURED), numpy.ones((1, 2), STRUCTURED[:1])], ids=repr)
def test_structured_arrays_cross(value: Any):
    found: Any = transfer.decode(transfer.encode(value, ROOM))
    assert type(found) is type(value)
    assert found.dtype == value.dtype
    assert found.tobytes() == value.tobytes()


@pytest.mark.parametrize("kind", [numpy.void, numpy.record])
def test_a_record_crosses_and_what_changes_in_it(kind: Any):
    values = numpy.zeros(2, numpy.dtype((kind, STRUCTURED)))
    ends = Ends()
    again = ends.send([values[0]])[0]
    assert type(again) is kind
    assert again == values[0]
    again["a"], again["c"]["d"] = 7, "x"
    assert again != values[0]
    assert ends.other.changed() != []
    ends.turned().refresh()
    assert again == values[0]
    assert values.tolist() == [(7, 0.0, ("x", b"")), (0, 0.0, ("", b""))]


RECORD = (("a", "<i4"),)


@pytest.mark.parametrize("data", [b"", b"abc", b"abcde", b"abcdabcd", "abcd", None])
def test_a_record_of_another_size_is_none(data: object):
    head = b"A" + u32(8) + plain(RECORD) + plain("void")
    assert transfer.decode(head + plain(b"abcd") + OPEN).tobytes() == b"abcd"  # type: ignore[attr-defined]
    with pytest.raises(Garbled):
        transfer.decode(head + plain(data) + OPEN)


@pytest.mark.parametrize("how", [b"T" + plain(1), plain(1) + b"F"])
def test_how_an_array_lies_and_is_written_is_said_by_truth_values(how: bytes):
    with pytest.raises(Garbled):
        transfer.decode(b"A" + u32(0) + plain("<i8") + SHAPE + EIGHT + how)


def test_a_record_has_fields():
    with pytest.raises(Garbled):
        transfer.decode(b"A" + u32(0) + plain("<i4") + plain("void") + plain(b"abcd") + OPEN)


@pytest.mark.parametrize("dtype", UNREAD, ids=repr)
def test_what_would_be_read_as_another_type_does_not_cross(dtype: Any):
    with pytest.raises(NotPlain):
        transfer.encode(numpy.zeros(2, dtype), ROOM)
    with pytest.raises(NotPlain):
        transfer.encode(numpy.zeros(2, dtype)[0], ROOM)


@pytest.mark.parametrize(
    "fields", [(("a", "|O"),), (("a", "<i4"), ("a", "<i4")), (("a",),), ((1, "<i4"),), (("a", "|V3"),)]
)
def test_fields_that_cannot_be_are_not_read(fields: object):
    head, shape = b"A" + u32(80), b"t" + u32(1) + plain(1) + u32(82)
    assert transfer.decode(head + plain((("a", "<i8"),)) + shape + EIGHT + OPEN).size == 1  # type: ignore[attr-defined]
    with pytest.raises(Garbled):
        transfer.decode(head + plain(fields) + shape + EIGHT + OPEN)


def test_no_metaclass_is_asked_whether_its_class_is_an_array():
    class Meta(type):
        __hash__ = type.__hash__

        def __eq__(cls, other: object) -> bool:
            return True

    class Other(metaclass=Meta):
        __module__ = "numpy"

    with pytest.raises(NotPlain):
        transfer.encode(Other(), ROOM)


def test_which_arrays_hold_objects():
    kinds = (numpy.array([None]), numpy.array([1.5]), array("d"), [None])
    assert [arrays.is_array_of_objects(each) for each in kinds] == [True, False, False, False]


def test_an_item_at_the_place_in_memory_of_the_one_before_is_another():
    ends, value = Ends(), numpy.array([None, 1], dtype=object)
    value[0] = object.__new__(type("First", (), {}))
    writer = ends.one
    writer.add(value)
    writer.settle()
    for at in range(64):
        value[0] = None  # what stood here is freed, and its place in memory is taken again
        value[0] = f"{at:09}"
        assert writer.changed() != []
        writer.touch(0)
        writer.settle()


FIELD = (("a", "<i4"),)


@pytest.mark.parametrize(
    ("name", "shape", "data", "why"),
    [
        ("<i4", (1,), bytearray(4), "an array of what"),
        ("<i4", (1,), "abcd", "an array of what"),
        ((("a", "|O"),), (1,), b"\0" * 8, "an array of what"),
        (FIELD, "ndarray", b"\0" * 4, "a shape"),  # a name that would be looked for in numpy
        (FIELD, "void", bytearray(4), "a record"),
        ((("a", "<U0"),), "void", b"", "a record"),
        ((5,), (1,), b"", "an array of what"),
        ((("a",),), (1,), b"", "an array of what"),
        ((("a", "<i4", 2),), (1,), b"\0" * 8, "an array of what"),
        (((5, "<i4"),), (1,), b"\0" * 4, "an array of what"),
        (((("title", "a"), "<i4"),), (1,), b"\0" * 4, "an array of what"),
        ((["a", "<i4"],), (1,), b"\0" * 4, "an array of what"),
    ],
)
def test_of_what_the_other_end_says_no_array_is_made_that_none_would_write(
    name: object, shape: object, data: object, why: str
):
    assert arrays.made([FIELD, "void", b"\0" * 4])["a"] == 0
    with pytest.raises(ValueError, match=why):
        arrays.made([name, shape, data])


def test_where_numpy_is_not_loaded_nothing_is_an_array(monkeypatch: pytest.MonkeyPatch):
    assert arrays.is_array_of_objects(numpy.array([None]))
    monkeypatch.delitem(sys.modules, "numpy")
    assert not arrays.is_array_of_objects([None])


WHOLE = ["i8", ">i4", "U5", "S3", "M8[ns]", "m8[D]", "?", "c16", "f2", "O", [("a", "i4"), ("b", [("c", "U2")])]]
OPEN_TYPES = ["V8", ("i8", (2,)), [("a", "O")], {"names": ["a"], "formats": ["i4"], "itemsize": 8}]


@pytest.mark.parametrize("name", WHOLE, ids=repr)
def test_a_type_of_numpy_crosses(name: Any):
    dtype = numpy.dtype(name)
    again: Any = transfer.decode(transfer.encode(dtype, ROOM))
    assert again == dtype
    assert (type(again), again.names) == (type(dtype), dtype.names)


@pytest.mark.parametrize("name", OPEN_TYPES, ids=repr)
def test_a_type_of_what_does_not_cross_is_an_object(name: Any):
    for dtype in (numpy.dtype(name), numpy.dtype("i4", metadata={"of": name})):
        with pytest.raises(NotPlain):
            transfer.encode(dtype, ROOM)


@pytest.mark.parametrize("parts", [[], ["<i8", "<i8"], ["1<i8"], [("a",)], [(("a", "|O"),)], ["i,i"], [None]], ids=repr)
def test_what_is_no_type_is_not_read(parts: list[Any]):
    with pytest.raises(ValueError):
        arrays.made_type(parts)
