"""Views of arrays that no honest end writes, and views of dicts and bytes."""

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
from containers_by_hand import ROOM, Ends, numpy, plain, u32
from cruxcell.values import owned, transfer, views
from cruxcell.values.canonical import NotPlain
from cruxcell.values.containers import MAX_DEPTH, Containers, Garbled
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer
from views_by_hand import BASES, RECORDS, VIEWS, All, Shown, told

ROUNDS = 20 * int(os.environ.get("CRUXBOX_EXAMPLES", "40"))
READ_ONLY = [OrderedDict(a=1), Counter("ab"), {"a": [1]}]


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


@pytest.mark.parametrize(
    ("data", "depth"),
    [(b"I", MAX_DEPTH + 20), (b"ININ", MAX_DEPTH + 19), (b"J" + u32(3) + u32(0), MAX_DEPTH + 20)],
    ids=["an array", "what is written behind arrays", "a view"],
)
def test_what_is_in_a_view_is_a_level_below_it(data: bytes, depth: int):
    containers = Containers(0)
    containers.add([])
    reader = Reader(data + b"l" + u32(1) + u32(0), containers)
    with pytest.raises(Garbled, match="a depth"):
        reader.checked(reader.value, depth)


def test_nothing_is_within_that_begins_before_or_ends_behind():
    """numpy refuses some of these by itself."""
    places = [
        (0, (8,), (6,)),
        (40, (8,), (1,)),
        (40, (-8,), (6,)),
        (48, (8,), (1,)),
        (41, (8,), (1,)),
        (32, (-8,), (6,)),
    ]
    assert [views._is_within(*each, 8, 48) for each in places] == [True] * 3 + [False] * 3


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
# a view; how it is written: by a test, by a test where the other half has the owner, by a candidate
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
