"""Values of builtin types as bytes for a `Reader`, without what a `Writer` notes of them.

What stands in several places is written in each: nothing that reads it may change it, or ask for its identity. No
object is asked for its address, which the seal of a shared worker would hear.
"""

import struct

from cruxcell.values.canonical import NotPlain, TooLarge, type_name
from cruxcell.values.containers import MAX_DEPTH
from cruxcell.values.sets import order_of
from cruxcell.values.writer import write_bits, write_complex, write_float, write_int, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_type, _len = type, len
_sized, _u32 = struct.Struct("<cI").pack, struct.Struct("<I").pack


def encode_tree(value, budget):
    # type: (object, int) -> bytes
    """`value` as bytes, for `transfer.decode`. Raises NotPlain where it holds a NaN, which equals itself where it is
    the same object, or anything of another type; TooLarge beyond `budget` bytes."""
    tree = _Tree(budget)
    try:
        tree.write(value, 1)  # as what a pair's message holds
    except RecursionError:
        raise NotPlain("a value nested too deep") from None
    return b"".join(tree.parts)


class _Tree:
    """What is written so far, and how many bytes and containers more than that there may be."""

    __slots__ = ("_left", "_number", "parts")

    def __init__(self, budget):
        # type: (int) -> None
        self._left, self._number = budget, 0
        self.parts = []  # type: list[bytes]

    def write(self, value, depth):
        # type: (Any, int) -> None
        kind = _type(value)
        atom = _ATOMS.get(kind) if _type(kind) is _type else None
        if atom is not None:
            data = atom(value)
            if data is None:
                raise NotPlain("NaN")
            self._add(data)
            return
        tag = _CONTAINERS.get(kind) if _type(kind) is _type else None
        if tag is None:
            raise NotPlain(type_name(value))
        if depth > MAX_DEPTH:
            raise NotPlain("a value nested more than %d deep" % MAX_DEPTH)
        items, order = value, b""
        if tag == b"d":
            items = [each for pair in value.items() for each in pair]
        elif tag in (b"S", b"Z") and (value or tag == b"S"):
            bits, items = order_of(value)
            order = write_bits(bits)
        if tag in (b"t", b"Z"):  # what cannot change has its number behind it, and the empty one has none
            self._add(_sized(tag, _len(value)) + order)
        else:
            self._add(_sized(tag, self._next()) + _u32(_len(value)) + order)
        for item in items:
            self.write(item, depth + 1)
        if tag in (b"t", b"Z") and value:
            self._add(_u32(self._next()))

    def _add(self, data):
        # type: (bytes) -> None
        self._left -= _len(data)
        if self._left < 0:
            raise TooLarge("the value")
        self.parts.append(data)

    def _next(self):
        # type: () -> int
        self._number += 2
        return self._number - 2


# As a Writer writes them; None of a NaN.
_ATOMS = {
    _type(None): lambda _value: b"N",
    bool: lambda value: b"T" if value else b"F",
    int: write_int,
    float: write_float,
    complex: write_complex,
    str: lambda value: written(b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: written(b"b", value),
}  # type: dict[type, Any]
_CONTAINERS = {list: b"l", tuple: b"t", dict: b"d", set: b"S", frozenset: b"Z"}  # type: dict[type, bytes]
