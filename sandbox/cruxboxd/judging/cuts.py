"""Cuts work into parts of a bounded size. docs/design/scheduling.md has the table of all sizes and why each is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


def cut(
    items: Sequence[_Item], most: int, room: int = 0, weigh: Callable[[_Item], int] = lambda _item: 0
) -> Iterator[Sequence[_Item]]:
    """The items in order, in parts.

    Args:
        items: what is cut.
        most: items in a part.
        room: what the items of a part weigh together at most; one that is heavier by itself is a part of its own.
        weigh: the weight of an item; without it only their number counts.
    """
    begin = weight = 0
    for at, item in enumerate(items):
        weight += weigh(item)
        if at > begin and (at - begin >= most or weight > room):
            yield items[begin:at]
            begin, weight = at, weigh(item)
    if begin < len(items):
        yield items[begin:]
