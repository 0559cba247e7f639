"""Messages about containers, made by hand."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from cruxcell.values import transfer
from cruxcell.values.containers import Containers
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

numpy = pytest.importorskip("numpy")
ROOM = 1 << 20


def u32(number: int) -> bytes:
    return struct.pack("<I", number)


class Ends:
    """Two ends of a connection: what one sends, the other one has."""

    def __init__(self) -> None:
        self.one, self.other = Containers(0), Containers(1)

    def send(self, value: Any) -> Any:
        writer = Writer(self.one)
        writer.value(value, 0)
        reader = Reader(writer.bytes(ROOM), self.other)
        again = reader.checked(reader.value, 0)
        reader.end()
        self.settle()
        return again

    def refresh(self) -> None:
        """Bring the other half up to date."""
        for number in self.one.changed():
            writer = Writer(self.one)
            writer.content(self.one.touch(number), 0)
            reader = Reader(writer.bytes(ROOM), self.other)
            reader.checked(reader.fill, self.other.touch(number), 0)
            reader.end()
        self.settle()

    def turned(self) -> Ends:
        """The same connection, seen from the other half."""
        ends = Ends()
        ends.one, ends.other = self.other, self.one
        return ends

    def settle(self) -> None:
        self.one.settle()
        self.other.settle()


class Objects:
    """Writes an object as a letter."""

    class_of_proxies, is_test = None, True

    def write(self, writer: Writer, _value: object, _depth: int) -> None:
        writer.parts.append(b"o")

    def read(self, _reader: Reader, tag: int, _depth: int) -> str:
        return chr(tag)

    def filled(self, _value: object) -> None:
        pass

    hear: Any = None


OPEN = b"TF"  # to writers, and row by row


def plain(value: object) -> bytes:
    return transfer.encode(value, ROOM)


ONE, EIGHT = b"b" + u32(4) + bytes(4), b"b" + u32(8) + bytes(8)


SHAPE = b"t" + u32(1) + b"j" + u32(1) + u32(2)
