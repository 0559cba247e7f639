"""The hidden tests of LiveCodeBench's files: JSON in a pickled string, compressed, in base64.

Nothing is unpickled: a pickle is a program. The bytes of a pickled string are read as a format, and any other pickle is
refused.
"""

from __future__ import annotations

import base64
import binascii
import zlib

from cruxbox.problems.records import BadRow

MAX_BYTES = 256 << 20

_PROTO, _FRAME, _STOP = 0x80, 0x95, 0x2E
# Opcode of a string -> bytes of its length.
_LENGTHS = {0x8C: 1, 0x58: 4, 0x8D: 8}
# Opcode that notes down what was made -> bytes of its argument.
_MEMOS = {0x94: 0, 0x71: 1, 0x72: 4}


def unpacked(packed: str) -> str:
    """The text in such a field. BadRow if it is anything but one string."""
    try:
        compressed = base64.b64decode(packed, validate=True)
        reader = zlib.decompressobj()
        data = reader.decompress(compressed, MAX_BYTES)
    except (binascii.Error, ValueError, zlib.error):
        raise BadRow("is neither JSON nor compressed text in base64") from None
    if reader.unconsumed_tail or not reader.eof:
        raise BadRow(f"holds more than {MAX_BYTES >> 20} MiB, or was cut short")
    try:
        return pickled_string(data)
    except (IndexError, UnicodeDecodeError):
        raise BadRow("is not a pickled string; other pickles are not read, for they are programs") from None


def pickled_string(data: bytes) -> str:
    """The string that a pickle of protocol 2 to 5 is; BadRow, IndexError or UnicodeDecodeError if it is not one."""
    is_known = data[0] == _PROTO and 2 <= data[1] <= 5
    at, found = 2, None
    while is_known:
        code, at = data[at], at + 1
        if code == _FRAME:
            at += 8
        elif code in _LENGTHS and found is None:
            width = _LENGTHS[code]
            start = at + width
            at = start + int.from_bytes(data[at:start], "little")
            if at > len(data):
                break
            found = data[start:at].decode("utf-8", "surrogatepass")
        elif code in _MEMOS and found is not None:
            at += _MEMOS[code]
        elif code == _STOP and found is not None and at == len(data):
            return found
        else:
            break
    raise BadRow("is not a pickled string; other pickles are not read, for they are programs")
