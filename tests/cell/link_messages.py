"""Messages of a link as bytes, one half in this process, and the other."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from cruxcell.jobs.separated.exchange import link as links
from cruxcell.jobs.separated.exchange.link import Link
from cruxcell.protocol import frames


def u32(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def text(data: str) -> bytes:
    return b"s" + u32(len(data)) + data.encode()


EIGHT = b"j" + struct.pack("<i", 8)
LEN = b"G" + text("builtins") + text("len")


def message(kind: bytes, number: int, *values: bytes, changed: bytes = b"", gone: bytes = u32(0)) -> bytes:
    body = (changed or u32(0)) + u32(len(values)) + b"".join(values)
    return frames.frame([kind, u32(number) + gone, body])


class Other:
    """The other half: a socket."""

    def __init__(self, line: socket.socket) -> None:
        self.line = line

    def send(self, *messages: bytes, last: bool = True) -> None:
        self.line.sendall(b"".join(messages))
        if last:
            self.line.shutdown(socket.SHUT_WR)

    def got(self) -> list[list[bytes]]:
        """The messages that came until now."""
        self.line.setblocking(False)
        data = b""
        try:
            while more := self.line.recv(1 << 20):
                data += more
        except BlockingIOError:
            pass
        return frames.split(data)[0]


@pytest.fixture(name="other")
def other_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[Other]:
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(links, "CHANNEL", ours.fileno())
    with ours, theirs:
        yield Other(theirs)


def do(function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return function(*arguments, **keywords)


def end(is_test: bool = True, **changes: Any) -> Link:
    return Link(is_test, do, **changes)
