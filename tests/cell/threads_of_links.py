"""A link that several threads ask over, and the other half, which takes part in the turns."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cruxcell.jobs.separated.exchange import link as links
from cruxcell.jobs.separated.exchange.link import VALUE, Link
from cruxcell.jobs.separated.exchange.one_thread import QUESTION
from cruxcell.protocol import frames
from link_messages import EIGHT, message

GIVES, WANTS = b"g", b"w"
WAIT_S = 4  # for what comes at once; less than a change of the module may take


def whole(number: int) -> bytes:
    """A number as a value of a message."""
    return EIGHT[:1] + number.to_bytes(4, "little", signed=True)


class Far:
    """The other half, which takes part in the turns."""

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", WAIT_S, 0))
        self._incoming = frames.Incoming(line.fileno(), 1 << 20)

    def send(self, *messages: bytes) -> None:
        self.line.sendall(b"".join(messages))

    def got(self) -> tuple[bytes, int, bytes]:
        """(kind, number of the question, body) of the next message."""
        kind, head, body = frames.unpack(self._incoming.frame()[4:])
        return kind, int.from_bytes(head[:4], "little"), body

    def asked(self) -> int:
        """The next question; who asked for the turn meanwhile has got it by a message."""
        kind, number, _ = self.got()
        while kind == WANTS:
            kind, number, _ = self.got()
        assert kind == QUESTION
        return number

    def gives(self) -> None:
        assert self.got()[0] == WANTS
        self.send(message(GIVES, 0))

    def answers_two(self, *order: int) -> None:
        """Questions, each by its number, when both are there."""
        assert self.asked() == 1
        self.gives()
        assert self.asked() == 2
        self.send(message(VALUE, order[0], whole(order[0])), frames.frame([WANTS, bytes(8), bytes(8)]))
        assert self.got()[0] == GIVES
        self.send(message(VALUE, order[1], whole(order[1])))


@pytest.fixture(name="ends")
def started_ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], tuple[Link, Far]]]:
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(links, "CHANNEL", ours.fileno())
    started: list[Link] = []

    def start(is_test: bool) -> tuple[Link, Far]:
        link = Link(is_test, lambda function, arguments, keywords: function(*arguments, **keywords))
        with link.line:
            assert link.share()
        started.append(link)
        return link, Far(theirs)

    with ours:
        with theirs:
            yield start
        for link in started:  # its reader has ended before the descriptor is another's
            link.threads._wants = True
            until = time.monotonic() + WAIT_S
            while link.threads._over is None and time.monotonic() < until:
                link.threads._open_gate()
                time.sleep(0.001)
            assert link.threads._over is not None


class Asking(threading.Thread):
    def __init__(self, link: Link) -> None:
        super().__init__(daemon=True)
        self.link, self.found = link, None  # type: Link, Any
        self.start()

    def run(self) -> None:
        try:
            self.found = self.link.ask("names", None)
        except BaseException as error:
            self.found = error

    def result(self) -> Any:
        self.join(WAIT_S)
        assert not self.is_alive()
        return self.found


def two_asking(link: Link, far: Any) -> tuple[Asking, Asking]:
    """Two threads whose questions, 1 and 2, are open."""
    first = Asking(link)
    assert far.asked() == 1
    second = Asking(link)
    far.gives()
    assert far.asked() == 2
    return first, second
