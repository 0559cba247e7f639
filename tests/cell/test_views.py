"""What shows the memory of another: views of arrays, of dicts, memoryviews. Both ends see the same through each."""

from __future__ import annotations

import gc
import os
import random
import struct
import sys
from array import array
from collections import Counter, OrderedDict, UserDict
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from cruxcell.values import owned, transfer, views
from cruxcell.values.canonical import NotPlain
from cruxcell.values.containers import Containers, Garbled
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer
from test_containers import ROOM, Ends, numpy, plain, u32

ROUNDS = 20 * int(os.environ.get("CRUXBOX_EXAMPLES", "40"))
READ_ONLY = [OrderedDict(a=1), Counter("ab"), {"a": [1]}]
RECORDS = [("a", "<i4"), ("b", "<f8")]
VIEWS: dict[str, Any] = {
    "rows": lambda a: a[:2],
    "columns": lambda a: a[:, 1:],
    "every other": lambda a: a[::2, ::2],
    "backwards": lambda a: a[::-1, ::-1],
    "turned": lambda a: a.T,
    "one item": lambda a: a[1, 1:2],
    "no dimension": lambda a: a[1, 1, ...],
    "flat": lambda a: a.reshape(-1),
    "more dimensions": lambda a: a[None, :, None],
    "a diagonal": lambda a: numpy.einsum("ii->i", a[:3, :3]),
    "one row many times": lambda a: numpy.broadcast_to(a[0], (5, 4)),
    "windows": lambda a: numpy.lib.stride_tricks.sliding_window_view(a, (2, 2)),
    "read only": lambda a: read_only(a[1:]),
    "all of it": lambda a: a[:],
    "of a view": lambda a: a[1:][:, 1:],
}
BASES: dict[str, Any] = {
    "of numbers": lambda: numpy.arange(12).reshape(3, 4).copy(),
    "in the other order": lambda: numpy.asfortranarray(numpy.arange(12.0).reshape(3, 4)),
    "of objects": lambda: numpy.array([[[n], n, None, "a"] for n in range(3)], dtype=object),
    "of times": lambda: numpy.arange(12).reshape(3, 4).copy().view("<M8[ns]").copy(),
    "of structures": lambda: numpy.zeros((3, 4), RECORDS),
    "with an order of its own": lambda: numpy.arange(12).reshape(4, 3).copy().T.copy("K"),
}


def read_only(value: Any) -> Any:
    value.flags.writeable = False
    return value


class All:
    """What a candidate has for objects: it shows all that is behind what it sends."""

    class_of_proxies, is_test = None, False

    def write(self, _writer: Writer, value: object, _depth: int) -> None:
        raise AssertionError(type(value))

    def plain_base(self, _kind: object) -> None:
        return None


class Shown(Ends):
    """Two ends, of which one shows all."""

    def send(self, value: Any) -> Any:
        writer = Writer(self.one, All())
        writer.value(value, 0)
        data = writer.bytes(ROOM)
        reader = Reader(data, self.other)
        again = reader.checked(reader.value, 0)
        reader.end()
        self.settle()
        return again


def same(one: Any, other: Any) -> bool:
    return bool(one.shape == other.shape and one.dtype == other.dtype and one.tolist() == other.tolist())


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("of", BASES)
@pytest.mark.parametrize("are_both_new", [True, False])
def test_a_view_is_one_of_the_same_memory(name: str, of: str, are_both_new: bool):
    base, ends = BASES[of](), Shown()
    value = VIEWS[name](base)
    if not numpy.shares_memory(value, base):
        return
    if are_both_new:
        again, root = ends.send([value, base])
    else:
        root = ends.send(base)
        again = ends.send(value)
    assert same(again, value)
    assert numpy.shares_memory(again, root)
    assert again.base is root
    assert again.flags.writeable == value.flags.writeable
    root.reshape(-1, order="A")[...] = base.reshape(-1, order="A")[-1]
    ends.turned().refresh()
    assert same(root, base)
    assert same(again, value)
    if again.flags.writeable:
        again[...] = base.copy()[1, 0]
        ends.turned().refresh()
        assert same(root, base)
        assert same(again, value)
    base[...] = base.copy()[0, 0]
    ends.refresh()
    assert same(again, value)
    assert ends.one.changed() == ends.other.changed() == []
    assert ends.send(value) is again


PARTS = {
    "the real part": (numpy.zeros((2, 2), "<c16"), lambda a: a.real),
    "the imaginary part": (numpy.zeros((2, 2), "<c16"), lambda a: a.imag[1]),
    "a field": (numpy.zeros(3, RECORDS), lambda a: a["b"]),
    "bytes": (numpy.arange(3), lambda a: a.view("u1")),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_items_are_views(name: str):
    base, part = PARTS[name]
    ends = Shown()
    root, again = ends.send([base, part(base)])
    again[...] = 7
    ends.turned().refresh()
    assert base.tolist() == root.tolist()
    assert again.tolist() == part(base).tolist()


def test_a_view_that_nothing_else_shows_is_an_array_of_its_own():
    value = numpy.arange(6).reshape(2, 3)
    ends, data = Shown(), plain(value)
    assert data == plain(value.copy())
    again = ends.send(value)
    assert again.base is None
    row = ends.send(value[1])
    assert row.base is again
    row[0] = 9
    ends.turned().refresh()
    assert value.tolist() == [[0, 1, 2], [9, 4, 5]]


def test_of_a_large_array_only_the_view_crosses():
    base = numpy.zeros((1000, 1000))
    ends, column = Shown(), base[:, 1]
    again, tail = ends.send([column, column[990:]])
    assert again.base is None
    assert tail.base is again
    tail[0] = 7
    ends.turned().refresh()
    assert base[990, 1] == column[990] == 7


def test_of_a_test_only_the_view_crosses():
    base = numpy.arange(12).reshape(3, 4).copy()
    ends, given = Ends(), base[:, :3]
    again = ends.send(given)
    assert again.base is None
    back = ends.turned()
    part = back.send(again[1:, ::2])
    assert part.tolist() == [[4, 6], [8, 10]]
    assert part.base is base
    part[0, 0] = 99
    ends.refresh()
    assert again.tolist() == [[0, 1, 2], [99, 5, 6], [8, 9, 10]]
    assert base[1].tolist() == [99, 5, 6, 7]
    flat = back.send(again.reshape(-1))  # at this end no view has these items
    assert flat.tolist() == again.reshape(-1).tolist()
    assert not numpy.shares_memory(flat, base)


def test_what_is_not_of_the_array_is_not_read():
    """What the test has not shown stands between the items of what it has."""
    base = numpy.arange(12).reshape(3, 4).copy()
    ends = Ends()
    ends.send(base[:, :1])
    for place in ((0, (8,)), (8, (8,))):
        data = b"J" + u32(1) + u32(0) + told("<i8", (2,), *place)
        reader = Reader(data, ends.one)
        assert reader.checked(reader.value, 0).tolist() == base[:, 0].tolist()[place[0] // 8 :][:2]
        ends.one.forget([number for number in ends.one.entries if number & 1])
    reader = Reader(b"J" + u32(1) + u32(0) + told("<i8", (4,), 0, (8,)), ends.one)
    with pytest.raises(Garbled):
        reader.checked(reader.value, 0)


@pytest.mark.parametrize("stride", [0, -8])
def test_an_array_that_shows_its_items_twice_or_backwards_has_no_places(stride: int):
    assert views._index(8, numpy.arange(4), (stride,)) == ([0], -1)


def test_what_a_view_is_of_is_remembered_as_long_as_the_view():
    ends = Shown()
    value = numpy.arange(6).reshape(2, 3)
    ends.send(value)
    row = value[1]
    other = ends.send(row)
    number = ends.one.numbers[id(value)]
    del value
    assert number not in ends.one.sweep()
    row[0] = 9
    ends.refresh()
    assert other.tolist() == [9, 4, 5]
    del row
    swept = []
    for _ in range(3):  # a view, then what it is of: between messages what was swept is let go
        swept += ends.one.sweep()
        del ends.one.gone[:]
    assert number in swept


def test_a_view_may_get_another_shape():
    ends, base = Shown(), numpy.arange(6)
    value = base[:4]
    _root, again = ends.send([base, value])
    value.shape = (2, 2)
    ends.refresh()
    assert again.tolist() == [[0, 1], [2, 3]]


def test_a_view_is_where_it_is_in_its_array():
    base = numpy.arange(6)
    assert views.state_of(base[2::2], base) == ((2,), (16,), 16, True)
    _root, again = transfer.decode(transfer.encode([base, base[6:]], ROOM))  # type: ignore[misc]
    assert (again.size, again.base) == (0, None)  # of what shows nothing


def test_a_view_and_its_array_refuse_writers_apart():
    ends, base = Shown(), numpy.arange(6)
    view = base[:2]
    root, again = ends.send([base, view])
    for of_base, of_view in [(False, True), (True, False), (False, False), (True, True)]:
        base.flags.writeable = True
        view.flags.writeable = of_view
        base.flags.writeable = of_base
        ends.refresh()
        assert (root.flags.writeable, again.flags.writeable) == (of_base, of_view)
    base.flags.writeable = False
    assert [each.flags.writeable for each in Shown().send([base, view])] == [False, True]


def test_an_array_that_leads_to_its_view_crosses():
    ends, base = Shown(), numpy.array([None, 1, 2], dtype=object)
    base[0] = inner = [base[1:]]
    again = ends.send([inner, base])
    assert again[1][0] is again[0]
    assert again[0][0].base is again[1]


# ---- hostile ---------------------------------------------------------------------------------------------------------


def told(name: object, shape: object, offset: object, strides: object, is_writeable: object = True) -> bytes:
    """As items that stand side by side, with numbers that nothing else has."""
    found = b""
    for at, each in enumerate((name, shape, offset, strides, is_writeable)):
        found += plain_with(each, 101 + 20 * at)
    return found


def plain_with(value: object, number: int) -> bytes:
    writer = Writer(Containers(number))
    writer.value(value, 0)
    return writer.bytes(ROOM)


HOSTILE = {
    "before it": ("<i8", (1,), -8, (8,)),
    "behind it": ("<i8", (1,), 48, (8,)),
    "too long": ("<i8", (7,), 0, (8,)),
    "backwards out of it": ("<i8", (3,), 8, (-8,)),
    "a step out of it": ("<i8", (2,), 0, (1 << 62,)),
    "steps that go round": ("<i8", (1 << 33,), 0, (1 << 31,)),
    "sizes that go round": ("u1", (1 << 32, 1 << 32), 0, (0, 0)),
    "two steps out of it": ("<i8", (3, 3), 0, (16, 16)),
    "half of an item behind": ("<i8", (1,), 44, (8,)),
    "a size below zero": ("<i8", (-1,), 0, (8,)),
    "no items": ("<i8", (0,), 0, (8,)),
    "no strides": ("<i8", (1,), 0, ()),
    "an offset that is true": ("<i8", (1,), True, (8,)),
    "a size that is true": ("<i8", (True,), 0, (8,)),
    "an offset of a float": ("<i8", (1,), 0.0, (8,)),
    "a list for a shape": ("<i8", [1], 0, (8,)),
    "objects": ("|O", (1,), 0, (8,)),
    "no type": ("<q", (1,), 0, (8,)),
    "texts of no bytes": ("<U0", (1,), 0, (8,)),
    "many dimensions": ("|u1", (1,) * 33, 0, (0,) * 33),
    "writeable by a number": ("<i8", (1,), 0, (8,), 1),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("order", "CF")
def test_no_view_leads_out_of_its_array(name: str, order: Any):
    containers = Containers(0)
    containers.add(numpy.zeros((2, 3), dtype="<i8", order=order))
    reader = Reader(b"J" + u32(1) + u32(0) + told("<i8", (1,), 40, (8,)), containers)
    assert reader.checked(reader.value, 0).tolist() == [0]
    containers.forget([number for number in containers.entries if number & 1])
    reader = Reader(b"J" + u32(1) + u32(0) + told(*HOSTILE[name]), containers)
    with pytest.raises(Garbled):
        reader.checked(reader.value, 0)


@pytest.mark.parametrize("place", [(1, (8,)), (0, (4,)), (0, (-8,)), (8, (9,))])
def test_no_view_shows_parts_of_objects(place: Any):
    containers = Containers(0)
    containers.add(numpy.array([None, "a", 1]))
    for name in ("|O", "<i8"):
        reader = Reader(b"J" + u32(1) + u32(0) + told(name, (2,), *place), containers)
        with pytest.raises(Garbled):
            reader.checked(reader.value, 0)


@pytest.mark.parametrize("value", [[], bytearray(8), array("d", [1]), numpy.zeros(1, RECORDS)[0]], ids=repr)
def test_only_an_array_has_views(value: Any):
    containers = Containers(0)
    containers.add(value)
    for number in (0, 7):
        reader = Reader(b"J" + u32(1) + u32(number) + told("|u1", (1,), 0, (1,)), containers)
        with pytest.raises(Garbled):
            reader.checked(reader.value, 0)


def test_whatever_is_written_of_views_is_within_their_arrays_or_garbled():
    """Encodings of views with bytes changed, and views of numbers drawn at random."""
    draw = random.Random(5)
    kinds = ["<i8", "|u1", "<f4", "|O", "<c16", "<U1", "|b1"]
    for _ in range(ROUNDS):
        containers = Containers(0)
        bases = [BASES[of]() for of in draw.sample(sorted(BASES), 2)]
        bases.append(numpy.arange(24).reshape(4, 6)[::2, 1:4])
        for base in bases:
            containers.add(base)
        if draw.random() < 0.6:
            count = draw.randrange(4)
            shape = tuple(draw.choice([1, 2, 3, 4, 12, 1 << 40]) for _ in range(count))
            strides = tuple(draw.choice([0, 1, 8, 24, 32, -8, 16, 1 << 61, draw.randrange(-99, 99)]) for _ in shape)
            offset = draw.choice([0, 8, 64, 88, draw.randrange(-9, 120)])
            data = told(draw.choice(kinds), shape, offset, strides, draw.random() < 0.5)
            data = b"J" + u32(1) + u32(2 * draw.randrange(3)) + data
        else:
            ends = Shown()
            ends.one = Containers(1)
            writer = Writer(ends.one, All())
            base = BASES[draw.choice(sorted(BASES))]()
            writer.value([base, *[VIEWS[each](base) for each in draw.sample(sorted(VIEWS), 3)]], 0)
            data = writer.bytes(ROOM)
        for _ in range(draw.randrange(4)):
            at = draw.randrange(len(data))
            data = data[:at] + draw.choice([bytes([draw.randrange(256)]), b"", struct.pack("<i", -1)]) + data[at + 1 :]
        reader = Reader(data, containers)
        try:
            found = reader.checked(reader.value, 0)
        except (Garbled, MemoryError):
            continue
        for each in found if type(found) is list else [found]:
            if isinstance(each, numpy.ndarray) and 0 < each.nbytes < 1 << 20:
                check_is_within(each)


def check_is_within(view: Any) -> None:
    """All of its items can be read, and stand in what they are of."""
    base = view
    while isinstance(base.base, numpy.ndarray):
        base = base.base
    low, high = (
        numpy.lib.array_utils.byte_bounds(view) if hasattr(numpy.lib, "array_utils") else numpy.byte_bounds(view)
    )
    start = base.__array_interface__["data"][0]
    assert start <= low <= high <= start + base.nbytes
    if view.dtype.kind != "U":  # which holds whatever its bytes are
        view.tolist()


# ---- of dicts and of bytes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("owner", [{"a": 1}, Counter("a"), OrderedDict(a=1)], ids=repr)
@pytest.mark.parametrize("view", ["keys", "values", "items"])
def test_a_view_of_a_dict_shows_what_the_dict_comes_to_hold(owner: Any, view: str):
    owner, ends = owner.copy(), Shown()
    again = ends.send(getattr(owner, view)())
    assert type(again) is type(getattr(owner, view)())
    owner["b"] = 2
    if isinstance(owner, OrderedDict):
        owner.move_to_end("a")
    ends.refresh()
    assert list(again) == list(getattr(owner, view)())
    assert len(again) == 2


def test_of_a_test_the_dict_of_a_view_is_not_shown():
    ends, owner = Ends(), {"a": "what is expected"}
    data = plain(owner.keys())
    assert b"expected" not in data
    other, again = ends.send([owner, owner.keys()])
    other["b"] = 2
    assert list(again) == ["a", "b"]


@pytest.mark.parametrize("owner", [bytearray(b"abc"), array("i", [1, 2])], ids=repr)
def test_a_memoryview_shows_what_its_bytes_come_to_be(owner: Any):
    ends = Shown()
    again, same_one, of_it = ends.send([memoryview(owner), memoryview(owner).toreadonly(), owner])
    owner[0] = 122
    ends.refresh()
    assert again.tolist() == same_one.tolist() == list(owner)
    again[1] = 120
    assert of_it[1] == 120
    assert not again.readonly
    assert same_one.readonly
    ends.turned().refresh()
    assert owner[1] == 120


def test_a_memoryview_of_every_other_item_does_not_cross():
    items = numpy.arange(6)[::2]
    with pytest.raises(NotPlain):
        transfer.encode([items, memoryview(items)], ROOM)


def test_bytes_that_are_shown_keep_their_number():
    ends, owner = Ends(), bytearray(b"abc")
    again = ends.send([owner, memoryview(owner)])
    owner2 = bytearray(b"abcd")
    writer = Writer(Containers())
    writer.content(owner2, 0)
    reader = Reader(writer.bytes(ROOM), Containers(1))
    with pytest.raises(Garbled, match="re-size"):
        reader.checked(reader.fill, again[0], 0)


@pytest.mark.parametrize("letter", [b"K", b"X", b"Y", b"M"])
@pytest.mark.parametrize("parts", [[], [1], [[1]], [{1: 2}, 1], [b"abc", True], [bytearray(b"a"), 1], [{1}, {1: 2}]])
def test_what_shows_nothing_is_not_read(letter: bytes, parts: list[object]):
    with pytest.raises(Garbled):
        transfer.decode(b"V" + letter + u32(len(parts)) + plain(parts)[9:])


@pytest.mark.parametrize("owner", READ_ONLY, ids=str)
def test_a_read_only_dict_shows_the_dict_whatever_becomes_of_it(owner: Any):
    ends = Ends()
    again, shown = ends.send([owner, MappingProxyType(owner)])
    assert (type(shown), shown, type(again)) == (MappingProxyType, owner, type(owner))
    owner["b"] = 2
    ends.refresh()
    assert shown["b"] == 2 == again["b"]


def test_of_a_read_only_dict_a_test_shows_a_copy_and_of_the_dict_of_a_class_nothing():
    ends, owner = Ends(), {"a": 1}
    shown = ends.send(MappingProxyType(owner))
    owner["b"] = 2
    ends.refresh()
    assert shown == {"a": 1}
    for other in (vars(Ends), MappingProxyType(UserDict())):
        with pytest.raises(NotPlain):
            ends.send(other)
    with pytest.raises(ValueError, match="read-only"):
        owned.read_only([[]])


class OwnDict(dict[object, object]):
    pass


BYTES, DICT, OWN = bytearray(b"abcd"), {"a": 1}, OwnDict(a=1)
# a view; how it is written: by a test, by a test whose other end has the owner, by a candidate
WRITTEN: dict[str, tuple[object, bytes, bytes, bytes]] = {
    "no view": (1, b"", b"", b""),
    "keys": (DICT.keys(), b"k", b"K", b"K"),
    "keys of a dict of its own": (OWN.keys(), b"k", b"K", b""),
    "a read-only dict": (MappingProxyType(DICT), b"R", b"R", b"R"),
    "one of a dict of its own": (MappingProxyType(OWN), b"", b"", b""),
    "one of a class": (vars(OwnDict), b"", b"", b""),
    "all bytes": (memoryview(BYTES), b"M", b"M", b"M"),
    "all bytes, read-only": (memoryview(BYTES).toreadonly(), b"m", b"M", b"M"),
    "some bytes": (memoryview(BYTES)[:2], b"m", b"m", b""),
    "bytes that stay": (memoryview(b"abcd"), b"m", b"M", b"m"),
    "every second of them": (memoryview(b"abcd")[::2], b"", b"", b""),
    "a table of them": (memoryview(b"abcd").cast("B", (2, 2)), b"", b"", b""),
    "numbers": (memoryview(array("b", [1])).toreadonly(), b"", b"M", b"M"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_test_shows_what_its_view_does_and_a_candidate_what_it_shows(name: str):
    view, *letters = WRITTEN[name]
    owner = view.obj if isinstance(view, memoryview) else gc.get_referents(view)[0] if letters[1] else None
    for letter, shows_all, numbers in zip(letters, (False, False, True), ({}, {id(owner): 0}, {})):
        writer = SimpleNamespace(shows_all=shows_all, containers=SimpleNamespace(numbers=numbers))
        written = owned.parts_of(writer, view)
        assert (written[0] if written else b"") == letter
        if letter == b"R":
            assert written == (b"R", (DICT,))
            assert (written[1][0] is DICT) is (shows_all or bool(numbers))


def test_what_a_memoryview_may_be_of(monkeypatch: pytest.MonkeyPatch):
    assert owned.memory([numpy.arange(2), True]).readonly
    with pytest.raises(ValueError, match="a memoryview that cannot be"):
        owned.memory([numpy.array([None]), False])
    monkeypatch.delitem(sys.modules, "numpy")
    assert owned.memory([bytearray(b"a"), False]) == b"a"
