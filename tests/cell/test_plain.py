"""Plain data on its way from one worker to another: types kept, nothing else built."""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict, defaultdict

import pytest
from cruxcell.values import transfer
from cruxcell.values.canonical import NotPlain, TooLarge
from cruxcell.values.transfer import Garbled

ROOM = 1 << 20
VALUES = [
    None, Ellipsis, True, False, 0, -1, 2**64, -(2**64), 255, -128, 1.5, -0.0, float("inf"), 1 - 2j, "", "é\ud800",
    b"", b"\0\xff", bytearray(b"ab"), range(5), range(9, -3, -2), range(10**30), [], [1, [2]], (), (1, ("a",)), set(),
    {1, "a"}, frozenset([(1, 2)]), {}, {"a": 1, (2,): [3]}, OrderedDict(b=1, a=2), Counter("abca"),
    defaultdict(None, a=1), defaultdict(list, a=[1]), defaultdict(int),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=ascii)
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
    [object(), Meddler(), [lambda: 0], {"a": int}, defaultdict(lambda: 0), {1: range}, NotImplemented],
    ids=repr,
)
def test_what_is_not_plain_stays(value):
    with pytest.raises(NotPlain):
        transfer.encode(value, ROOM)


def test_size_and_depth_are_bounded():
    with pytest.raises(TooLarge):
        transfer.encode("x" * 100, 50)
    deep: list = []
    for _ in range(transfer.MAX_DEPTH - 1):
        deep = [deep]
    assert transfer.decode(transfer.encode(deep, ROOM)) == deep
    with pytest.raises(NotPlain, match="nested"):
        transfer.encode([[deep]], ROOM)


def u32(number: int) -> bytes:
    return struct.pack("<I", number)


NONE = b"N" + u32(0)
GARBLED = {
    "nothing": b"",
    "half a head": b"l\1",
    "an unknown tag": b"?" + u32(0),
    "more than there is": b"s" + u32(5) + b"abc",
    "bytes behind": NONE + b"x",
    "not UTF-8": b"s" + u32(1) + b"\xff",
    "a short float": b"f" + u32(3) + b"abc",
    "a range of nothing": b"r" + u32(0),
    "a range without a step": b"r" + u32(5) + b"0,9,0",
    "a set of a list": b"S" + u32(1) + b"l" + u32(0),
    "a dict with a list for a key": b"d" + u32(1) + b"l" + u32(0) + NONE,
    "a factory nobody knows": b"D" + u32(0) + b"?",
    "a factory that is missing": b"D" + u32(0),
    "too deep": (b"l" + u32(1)) * 5000 + NONE,
}


@pytest.mark.parametrize("name", GARBLED)
def test_anything_else_is_garbled(name):
    with pytest.raises(Garbled):
        transfer.decode(GARBLED[name])
