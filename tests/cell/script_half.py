"""The test's half of a separated script, whose candidate answers what a test says."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.exchange.link import VALUE, Link
from cruxcell.jobs.separated.proxies import facts
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from cruxcell.jobs.separated.script_link import ScriptLink
from cruxcell.protocol import frames, records

RAISED = b"e"


class Left(Exception):
    """The script is ended; with its reason."""


class Refused(Exception):
    """The check is over; with its reason."""


class RefusingLink:
    """A link of the test, as far as it refuses what only the candidate could do."""

    def refuse(self, why: str) -> Any:
        raise Refused(why)

    decline = refuse


class Context:
    """Of a worker; what it sends stands in `sent`."""

    def __init__(self) -> None:
        self.stdout, self.stderr = sys.stdout, sys.stderr
        self.helper = SimpleNamespace(hear=None)
        self.scratch_bytes, self.memory_bytes, self.has_files = 0, 0, False
        self.sent: list[bytes] = []
        self.said: list[list[bytes]] = []

    def send(self, record: bytes) -> None:
        self.said += frames.split(record)[0]
        self.sent.append(self.said[-1][0])

    def send_raised(self, error: BaseException, flags: int = 0) -> None:
        self.sent.append(type(error).__name__.encode())

    def refuse(self, sentence: str) -> None:
        self.sent.append(sentence.encode())

    def start(self, kind: bytes, between: int) -> None:
        pass

    def numbers(self, flags: int = 0) -> bytes:
        return records.NUMBERS.pack(0, 0, 0, 0, flags)

    def output(self) -> tuple[bytes, bytes]:
        return b"", b""


class Half(ScriptLink):
    """The test's half; `answers` says what the candidate answers, the next one of a list."""

    def __init__(self, **program: Any) -> None:
        ScriptLink.__init__(self, Context(), dict(program))  # type: ignore[arg-type]
        self.answers: dict[str, Any] = {}
        self.asked: list[Any] = []
        self.namespace = self._namespace

    def leave(self, kind: bytes, text: str) -> None:
        raise Left(kind)


def answer(half: Half, operation: str, fields: list[Any]) -> tuple[bytes, Any]:
    half.asked.append((operation, *fields[1:]))
    found = half.answers.get(operation, (VALUE, None))
    found = found.pop(0) if isinstance(found, list) else found
    if isinstance(found, Exception):
        raise found
    return found if isinstance(found, tuple) else (VALUE, found)


@pytest.fixture(name="half")
def connected_half(monkeypatch: pytest.MonkeyPatch) -> Half:
    monkeypatch.setattr(Link, "exchange", answer)
    return Half()


def thing(kind: str = "A") -> Any:
    """An object of the candidate."""
    made = object.__new__(make_class(kind, 1, (), [], [], None))
    facts.give_number(made, 1)
    return made


def callable_thing() -> Any:
    """A function of the candidate."""
    made = object.__new__(make_class("function", 1, (), ["__call__"], [], None))
    facts.give_number(made, 1)
    return made
