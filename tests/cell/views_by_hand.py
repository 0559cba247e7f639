"""Views, and what both ends see through them."""

from __future__ import annotations

from typing import Any

from containers_by_hand import ROOM, Ends, numpy
from cruxcell.values.containers import Containers
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

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
