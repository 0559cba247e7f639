"""Protobuf's wire format, as far as it is written by hand: fields with a length before them."""

from __future__ import annotations


def field(number: int, *parts: bytes) -> bytes:
    """A length-delimited field whose content is these parts, each of which is copied once."""
    return b"".join([_varint(number << 3 | 2), _varint(sum(map(len, parts))), *parts])


def head(number: int, size: int) -> bytes:
    """What stands before the content of such a field, where that is a part by itself."""
    return _varint(number << 3 | 2) + _varint(size)


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
