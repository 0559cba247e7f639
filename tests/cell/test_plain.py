"""Plain data on its way from one worker to another: types kept, nothing else built."""

from __future__ import annotations

import io
import ipaddress
import re
import struct
import sys
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from cruxcell.values import stdlib, transfer, writer
from cruxcell.values.canonical import NotPlain, TooLarge
from cruxcell.values.containers import MAX_DEPTH
from cruxcell.values.transfer import Garbled
from cruxcell.values.trees import encode_tree

ROOM = 1 << 20
VALUES = [
    None, Ellipsis, True, False, 0, -1, 2**64, -(2**64), 255, -128, 1.5, -0.0, float("inf"), 1 - 2j, "", "é\ud800",
    b"", b"\0\xff", bytearray(b"ab"), range(5), range(9, -3, -2), range(10**30), [], [1, [2]], (), (1, ("a",)), set(),
    {1, "a"}, frozenset([(1, 2)]), {}, {"a": 1, (2,): [3]}, OrderedDict(b=1, a=2), Counter("abca"),
    defaultdict(None, a=1), defaultdict(list, a=[1]), defaultdict(int), NotImplemented, slice(1, None), deque([1], 3),
    Decimal("1.50"), Fraction(1, 3), date(2020, 1, 2), time(1, 2, 3, fold=1), timedelta(1, 2, 3), UUID(int=7),
    datetime(2020, 1, 2, tzinfo=timezone.utc), timezone(timedelta(hours=2), "there"), {1: 2}.keys(), {1: 2}.items(),
    -(2**31), 2**31, 2**41, 2**31 - 1, frozenset(), [()], ["é\ud800" * 8192, "a" * 16384, 1],
    array("d", [1, -0.0, float("inf")]), array("f", [0.1]), array("b"), array("Q", [2**64 - 1]), array("u", "é😀"),
    ipaddress.ip_address("10.0.0.1"), ipaddress.ip_network("10.0.0.0/30"), ipaddress.ip_interface("10.0.0.1/8"),
    ipaddress.ip_address("fe80::1"), ipaddress.ip_network("fe80::/64"), ipaddress.ip_interface("fe80::1/64"),
    re.compile("a", re.I), re.compile(b"(?s)a."), re.compile("a b", re.A | re.X), re.compile(b"", re.L),
]  # fmt: skip
_NAMES = [f"{place}-{type(value).__name__}" for place, value in enumerate(VALUES)]  # a set's text changes with each run


@pytest.mark.parametrize("value", VALUES, ids=_NAMES)
def test_types_and_order_are_kept(value):
    again = transfer.decode(transfer.encode(value, ROOM))
    assert again == value
    assert type(again) is type(value)
    assert repr(again) == repr(value)
    if isinstance(value, defaultdict):
        assert again.default_factory is value.default_factory


@pytest.mark.parametrize("kept", [int, list, dict, set, str, float, bool, tuple])
def test_a_defaultdict_keeps_a_factory_of_a_plain_type(kept):
    assert transfer.decode(transfer.encode(defaultdict(kept), ROOM))["missing"] == kept()


class Meddler(list):
    pass


@pytest.mark.parametrize(
    "value",
    [object(), Meddler(), [lambda: 0], {"a": int}, defaultdict(lambda: 0), {1: range}],
    ids=["object", "meddler", "list", "dict", "defaultdict", "range"],
)
def test_what_is_not_plain_stays(value):
    with pytest.raises(NotPlain):
        transfer.encode(value, ROOM)


def test_a_name_is_one_object_wherever_it_stands():
    """As the compiler makes it of a constant."""
    assert transfer.decode(transfer.encode("".join(["ad", "d"]), ROOM)) is sys.intern("add")


def test_aliasing_is_kept():
    row = [0]
    again = transfer.decode(transfer.encode([row, (row,), {"a": row}], ROOM))
    assert again[0] is again[1][0] is again[2]["a"]
    circle: list = []
    circle.append({"me": circle})
    again = transfer.decode(transfer.encode(circle, ROOM))
    assert again[0]["me"] is again


# A file of one time zone without offset, which has no name.
NAMELESS = b"TZif" + bytes(16) + struct.pack(">6l", 0, 0, 0, 0, 1, 4) + bytes(6) + b"UTC\0"


NANS = [
    float("nan"),
    -float("nan"),
    complex(0, float("nan")),
    complex(float("nan"), 1),
    Decimal("nan"),
    Decimal("-nan7"),
]


@pytest.mark.parametrize("nan", NANS)
def test_a_nan_is_the_same_object_or_another(nan: Any):
    """So it is in a list, as a key, and beside itself: what is no number equals nothing else."""
    other = nan + 0
    again: Any = transfer.decode(transfer.encode([nan, [nan] * 5, (1, nan), {nan: 1}, other, [0.0, other]], ROOM))
    first, second = again[0], again[4]
    assert repr(first) == repr(nan)
    assert again == [first, [first] * 5, (1, first), {first: 1}, second, [0.0, second]]
    assert first is not second
    assert type(first) is type(nan)


def test_a_nan_that_may_not_be_compared_is_the_same_object():
    nan = Decimal("snan")
    again: Any = transfer.decode(transfer.encode([nan, nan, Decimal("snan")], ROOM))
    first, second, other = again
    assert (repr(first), first is second, first is other) == (repr(nan), True, False)


def test_infinities_alone_are_no_nan():
    again = transfer.decode(transfer.encode([float("inf"), -float("inf"), 1.0, 2.0], ROOM))
    assert again == [float("inf"), -float("inf"), 1.0, 2.0]


def test_a_time_zone_crosses_by_its_name():
    zoneinfo = pytest.importorskip("zoneinfo")
    zone, nameless = zoneinfo.ZoneInfo("UTC"), zoneinfo.ZoneInfo.from_file(io.BytesIO(NAMELESS))
    other = type("Zone", (tzinfo,), {"utcoffset": lambda *_: None, "key": "UTC"})()
    assert transfer.decode(transfer.encode(zone, ROOM)) is zone
    for each in (datetime(2020, 1, 2, tzinfo=zone), time(1, tzinfo=zone)):
        assert transfer.decode(transfer.encode(each, ROOM)).tzinfo is zone
        for bad in (nameless, other):
            with pytest.raises(NotPlain, match=type(each).__name__):
                transfer.encode(each.replace(tzinfo=bad), ROOM)
    with pytest.raises(NotPlain):
        transfer.encode(nameless, ROOM)


def test_values_that_do_not_show_what_they_are():
    view = transfer.decode(transfer.encode(memoryview(b"ab"), ROOM))
    assert (type(view), bytes(view)) == (memoryview, b"ab")
    view.release()
    with pytest.raises(NotPlain, match="memoryview"):
        transfer.encode(view, ROOM)
    with pytest.raises(NotPlain, match="Pattern"):
        transfer.encode(re.compile(type("Own", (str,), {})("ab")), ROOM)
    assert list(transfer.decode(transfer.encode({1: [2]}.values(), ROOM))) == [[2]]
    assert repr(transfer.decode(transfer.encode(Decimal("NaN"), ROOM))) == "Decimal('NaN')"


numpy = pytest.importorskip("numpy")
ARRAYS = [numpy.arange(6).reshape(2, 3), numpy.array([1.5, 2]), numpy.array(["a", None], dtype=object), numpy.zeros(0)]


@pytest.mark.parametrize("value", [*ARRAYS, numpy.float64(1.5), numpy.int32(7), numpy.bool_(True)], ids=repr)
def test_arrays_keep_shape_and_type(value):
    again = transfer.decode(transfer.encode(value, ROOM))
    assert type(again) is type(value)
    assert again.dtype == value.dtype
    assert numpy.array_equal(again, value)
    assert again.shape == value.shape


@pytest.mark.parametrize("nan", [
    numpy.float64("nan"), numpy.float32("nan"), numpy.complex128(complex(0, float("nan"))), numpy.datetime64("NaT"),
], ids=repr)  # fmt: skip
def test_a_nan_of_numpy_s_is_the_same_object_or_another(nan: Any):
    again: Any = transfer.decode(transfer.encode([nan, nan, nan.copy()], ROOM))
    first, second, other = again
    assert (repr(first), first is second, first is other) == (repr(nan), True, False)


def test_size_and_depth_are_bounded():
    with pytest.raises(TooLarge):
        transfer.encode("x" * 100, 50)
    deep: list = []
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert transfer.decode(transfer.encode(deep, ROOM)) == deep
    with pytest.raises(NotPlain, match="nested"):
        transfer.encode([deep], ROOM)


@pytest.mark.parametrize("kind", [list, tuple, frozenset, deque])
def test_what_is_read_is_no_deeper_than_it_may_be(kind: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer, "MAX_DEPTH", 2 * MAX_DEPTH)  # as no honest half writes it
    levels = [kind()]
    while len(levels) < MAX_DEPTH + 30:
        levels.append(kind([levels[-1]]))
    assert transfer.decode(transfer.encode(levels[MAX_DEPTH], ROOM)) == levels[MAX_DEPTH]
    with pytest.raises(Garbled):
        transfer.decode(transfer.encode(levels[-1], ROOM))


TREES = {type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset}


@pytest.mark.parametrize("value", VALUES, ids=_NAMES)
def test_a_tree_of_builtin_types_reads_as_what_it_was(value: Any):
    if type(value) not in TREES:
        with pytest.raises(NotPlain):
            encode_tree([1, value], ROOM)
        return
    data = encode_tree(value, ROOM)
    assert data == transfer.encode(value, ROOM)
    again = transfer.decode(data)
    assert (repr(again), type(again)) == (repr(value), type(value))
    assert encode_tree(value, len(data)) == data
    with pytest.raises(TooLarge):
        encode_tree(value, len(data) - 1)


def test_a_tree_holds_nothing_that_only_says_what_it_is():
    class Says(type):
        __hash__, __eq__ = lambda cls: cls.hash(), lambda *_: True  # type: ignore[assignment, attr-defined]

    deep: list[Any] = []
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    assert transfer.decode(encode_tree(deep, ROOM)) == deep
    odd: list[Any] = [Says("Odd", (), {"hash": partial(hash, each)}) for each in (int, list)]
    for value in (odd[0](), odd[1](), float("nan"), complex(0, float("nan")), [deep]):
        with pytest.raises(NotPlain):
            encode_tree(value, ROOM)


@pytest.mark.parametrize("odd", [7, 0.5, 10**20, None, "a", [1]], ids=repr)
def test_a_list_of_numbers_may_hold_something_else_anywhere(odd: object):
    for like in (1, 2.5):
        for place in (0, 1, 5, 9):
            mixed = [like] * place + [odd] + [like] * (9 - place)
            assert transfer.decode(transfer.encode(mixed, ROOM)) == mixed


def u32(number: int) -> bytes:
    return struct.pack("<I", number)


def text(value: str) -> bytes:
    return b"s" + u32(len(value)) + value.encode()


def new(tag: bytes, *counts: int) -> bytes:
    """The head of a container of the other half, with number 0 and so many items."""
    return tag + u32(0) + b"".join(map(u32, counts))


NONE = b"N"
GARBLED = {
    "nothing": b"",
    "half a head": b"l\1",
    "an unknown tag": b"?" + u32(0),
    "more text than there is": b"s" + u32(5) + b"abc",
    "much more text than there is": b"s" + u32(2**31) + b"abc",
    "much that is not UTF-8": b"s" + u32(1 << 14) + b"\xff" * (1 << 14),
    "more items than there are bytes": new(b"l", 2**31) + NONE,
    "an item too few": new(b"l", 2) + NONE,
    "bytes behind": NONE + b"x",
    "not UTF-8": b"s" + u32(1) + b"\xff",
    "a short float": b"fabc",
    "a NaN that is none": b"u" + struct.pack(">dd", 1.0, 0.0) + u32(0),
    "a short NaN": b"u" + struct.pack(">d", float("nan")),
    "a NaN with a number of this half": b"u" + struct.pack(">dd", float("nan"), 0.0) + u32(1),
    "a decimal NaN that is none": b"Wd" + u32(1) + b"s" + u32(1) + b"1" + u32(0),
    "a decimal NaN without a number": b"Wd" + u32(1) + b"s" + u32(3) + b"nan",
    "a NaN of a fraction": b"Wf" + u32(2) + b"j\1\0\0\0" * 2 + u32(0),
    "a NaN of a deque": b"Wq" + u32(0) + NONE + u32(0) + u32(2),
    "a range of nothing": b"r" + u32(0),
    "a range without a step": b"r" + u32(5) + b"0,9,0",
    "a set of a list": new(b"S", 1) + b"\0" + b"l" + u32(2) + u32(0),
    "a dict with a list for a key": new(b"d", 1) + b"l" + u32(2) + u32(0) + NONE,
    "a factory nobody knows": b"D" + u32(0) + b"?" + u32(0),
    "a factory that is missing": b"D" + u32(0),
    "a factory that is an object": b"D" + u32(0) + b"=" + b"o" + u32(1) + u32(0),
    "a number twice": new(b"l", 1) + new(b"l", 0),
    "a number of this half": b"l" + u32(1) + u32(0),
    "a number nobody gave": b"@" + u32(8),
    "an object where there is no connection": b"o" + u32(1) + NONE,
    "too deep": b"".join(b"l" + u32(2 * depth) + u32(1) for depth in range(5000)) + NONE,
    "a deque as long as a text": b"Vq" + u32(0) + b"s" + u32(1) + b"3" + u32(0),
    "a time zone that is a number": b"Vt" + u32(6) + b"j\1\0\0\0" * 6,
    "a fraction of nothing": b"Vf" + u32(2) + b"j\1\0\0\0" + b"j\0\0\0\0",
    "a decimal that is none": b"Vd" + u32(1) + b"s" + u32(1) + b"?",
    "a date that cannot be": b"VD" + u32(3) + b"j\0\1\0\0" * 3,
    "values nobody knows": b"V?" + u32(0),
    "a pattern that is none": b"Vp" + u32(2) + text("(") + b"j" + u32(32),
    "a pattern of a number": b"Vp" + u32(2) + b"j" + u32(32) * 2,
    "a pattern with flags of another": b"Vp" + u32(2) + text("a") + b"j" + u32(0),
    "a pattern with flags that cannot be": b"Vp" + u32(2) + text("a") + b"j" + u32(32 | 256),
    "a pattern that says what it is": b"Vp" + u32(2) + text("a") + b"j" + u32(32 | 128),
    "a long pattern": b"Vp" + u32(2) + text("a" * 1025) + b"j" + u32(32),
    "an array of objects in bytes": b"A" + u32(0) + text("|O") + b"t" + u32(0) + b"b" + u32(0) + b"T",
    "an array of another size": b"A" + u32(0) + text("<i8") + b"t" + u32(0) + b"b" + u32(3) + b"abc" + b"T",
    "an array of what numpy does not know": b"A" + u32(0) + text("<i9") + b"t" + u32(0) + b"b" + u32(0) + b"T",
}


@pytest.mark.parametrize("name", GARBLED)
def test_anything_else_is_garbled(name):
    with pytest.raises(Garbled):
        transfer.decode(GARBLED[name])


@pytest.mark.parametrize(("length", "is_small"), [(1024, True), (1025, False)])
def test_a_pattern_crosses_up_to_a_length(length: int, is_small: bool):
    assert stdlib._is_small("a" * length, 0) is stdlib._is_small(b"a" * length, 0) is is_small


def test_only_a_short_text_is_written_at_once():
    """One that is long has its room counted first."""
    assert writer._write_text("\u00e9\ud800") == b"s" + struct.pack("<I", 5) + b"\xc3\xa9\xed\xa0\x80"
    assert writer._write_text("a" * writer._LONG) is None
