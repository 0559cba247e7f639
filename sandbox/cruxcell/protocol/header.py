"""The C header of the protocol: what the native helper has to know of it, written from these modules.

`python -m cruxcell.protocol.header` writes `native/src/protocol.h`, which is committed; a test says when it is stale.
"""

import os
import struct

from cruxcell.protocol import frames, messages, records

HEADER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "native", "src", "protocol.h")

_KINDS = ("VALUE", "RAISED", "ENDED", "SEAL", "UNSEALED", "VIOLATED", "OUTPUT_LIMIT")
_ENCODINGS = ("PLAIN", "HOLDS_NAN")
_EXITS = ("STEPS", "OUTPUT", "HARNESS", "VIOLATION", "UNSEALED")
_NUMBERS = ("INDEX", "STEPS", "CPU_NS", "WALL_NS", "FLAGS")


def text():
    # type: () -> str
    """The header's text."""
    layout = records.NUMBERS.format.lstrip("<")
    defines = [("REPORT_DESCRIPTOR", messages.REPORT_DESCRIPTOR, "of a worker")]
    defines += [("PROGRESS_DESCRIPTOR", messages.PROGRESS_DESCRIPTOR, "")]
    defines += [("MOST_DESCRIPTORS", messages.MOST_DESCRIPTORS, "that it may have open")]
    defines += [("MAX_FIELDS", frames.MAX_FIELDS, "of a frame"), ("TOKEN_BYTES", messages.TOKEN_BYTES, "of a seal")]
    defines += [("KIND_AT", records.KIND_AT, "in a record: its letter")]
    defines += [("INDEX_AT", records.INDEX_AT, "in an answer: the number of its check")]
    defines += [("NUMBERS_SIZE", records.NUMBERS.size, "the numbers of an answer, and where each of them is")]
    defines += [
        ("%s_IN_NUMBERS" % name, struct.calcsize("<" + layout[:place]), "") for place, name in enumerate(_NUMBERS)
    ]
    lines = ["#define %s %s%s" % (name, value, " /* %s */" % why if why else "") for name, value, why in defines]
    parts = [
        "/* Written by `make header` from cruxcell/protocol: change that. Everything is little-endian. */",
        "#ifndef CRUXCELL_PROTOCOL_H",
        "#define CRUXCELL_PROTOCOL_H",
        "",
        *lines,
        "",
        _enum("The letters of records.", [("RECORD_" + name, _letter(name)) for name in _KINDS]),
        _enum("How a value is encoded.", [("ENCODED_" + name, _letter(name)) for name in _ENCODINGS]),
        _enum(
            "With which status a worker ends itself.",
            [("EXIT_" + name, str(getattr(messages, "EXIT_" + name))) for name in _EXITS],
        ),
        _enum(
            "The places of what a seal compares.",
            [("PLACE_" + name.upper(), str(place)) for place, name in enumerate(messages.SEAL_NAMES)],
        ),
        "#endif",
    ]
    return "\n".join(parts) + "\n"


def _letter(name):
    # type: (str) -> str
    return "'%s'" % getattr(messages, name).decode()


def _enum(why, members):
    # type: (str, list[tuple[str, str]]) -> str
    return "/* %s */\nenum {\n%s};\n" % (why, "".join(["    %s = %s,\n" % member for member in members]))


if __name__ == "__main__":
    with open(HEADER, "w", encoding="ascii") as file:
        file.write(text())
