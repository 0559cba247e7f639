"""Items of one kind cross in one pass, and as each of them would alone."""

from __future__ import annotations

from typing import Any

import pytest
from cruxcell.values.containers import Containers, Garbled
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

ROOM = 1 << 20

ITEMS = [
    [1, -2, 3, 0, 2**31 - 1, -(2**31)],
    [1, 2, 3, 4, 2**31],
    [-(2**31) - 1, 2, 3, 4, 5],
    [True, False, True, True],
    [1, True, 2, 3, 4],
    [1.5, -0.0, float("inf"), 1e-300, 2.0],
    [1.5, 2, 3.5, 4.5, 5.5],
    ["", "a", "é", "\udc80", "b" * 20_000],
    ["a" * 65_535, "b" * 65_536, "\udc80é" * 40_000],
    [b"a" * 65_535, b"b" * 65_536, 7],
    [1, 2, 3, 4, "j", 5],
]


@pytest.mark.parametrize("items", ITEMS)
def test_items_of_one_kind_are_written_and_read_as_each_of_them(items: list[Any]):
    alone = []
    for item in items:
        writer = Writer(Containers())
        writer.value(item, 0)
        alone.append(writer.bytes(ROOM))
    for whole in (items, tuple(items), items[:1], items[:3]):
        writer = Writer(Containers())
        writer.value(whole, 0)
        data = writer.bytes(ROOM)
        assert b"".join(alone[: len(whole)]) in data
        read = Reader(data, Containers(1)).value(0)
        assert (type(read), [type(item) for item in read], repr(read)) == (
            type(whole),
            [type(item) for item in whole],
            repr(whole),
        )


@pytest.mark.parametrize("items", [[1, 2, 3, 4, 5], [1.0, 2.0, 3.0, 4.0]])
def test_items_of_one_kind_that_are_cut_off_are_garbled(items: list[Any]):
    writer = Writer(Containers())
    writer.value(items, 0)
    data = writer.bytes(ROOM)
    for end in range(len(data)):
        reader = Reader(data[:end], Containers(1))
        with pytest.raises(Garbled):
            reader.checked(reader.value, 0)
