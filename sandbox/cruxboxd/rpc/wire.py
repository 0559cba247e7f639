"""Protobuf's wire format, as far as it is written by hand: fields with a length before them."""

from __future__ import annotations


def field(number: int, data: bytes) -> bytes:
    """A length-delimited field; `number` is at most 15."""
    size, head = len(data), bytearray([number << 3 | 2])
    while size > 0x7F:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    head.append(size)
    return bytes(head) + data
