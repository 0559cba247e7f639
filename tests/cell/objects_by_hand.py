"""Objects, classes and exceptions as bytes, and the two ends that write and read them."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from cruxcell.jobs.separated.crossing.objects import Objects
from cruxcell.jobs.separated.proxies import runs
from cruxcell.jobs.separated.proxies.doubts import Doubts
from cruxcell.values.containers import Containers
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer
from link_messages import text, u32


class End:
    """One half; in the place of its connection, as far as making proxies needs one."""

    def __init__(self, is_test: bool) -> None:
        self.is_test = is_test
        self.objects, self.containers = Objects(is_test), Containers(0 if is_test else 1)
        self.doubts = Doubts()
        self.has_cancelled, self.named = False, frozenset[str]()
        self.asked: list[tuple[Any, ...]] = []

    def ask(self, *question: object) -> object:
        self.asked.append(question)
        return 8

    def means_a_class(self, _cls: object) -> bool:
        return False

    def alone_since(self, time: int) -> int:
        return time

    def call(self, target: object, arguments: object, keywords: object) -> object:
        return self.ask("call", target, arguments, keywords)

    def sends(self, value: object) -> bytes:
        runs.LINK[:] = [self]
        written = Writer(self.containers, self.objects)
        written.value(value, 0)
        self.containers.settle()
        return written.bytes(1 << 20)

    def reads(self, data: bytes, depth: int = 1) -> Any:
        runs.LINK[:] = [self]
        reader = Reader(data, self.containers, self.objects)
        value = reader.checked(reader.value, depth)
        reader.end()
        self.containers.settle()
        return value


@pytest.fixture(name="test")
def tests_end() -> End:
    return End(True)


@pytest.fixture(name="candidate")
def candidates_end() -> End:
    return End(False)


def small(number: int) -> bytes:
    return b"j" + struct.pack("<i", number)


def shared(name: str, module: str = "builtins") -> bytes:
    return b"G" + text(module) + text(name)


def described(
    number: int, *bases: bytes, name: str = "A", offers: str = "", overrides: str = "", stands: str = "",
    count: bytes = b"",
) -> bytes:  # fmt: skip
    head = b"K" + u32(number) + text(name) + (count or small(len(bases)))
    return head + b"".join(bases) + text(offers) + text(overrides) + text(stands)


def nested_bases(depth: int) -> bytes:
    """A class that is derived from one that is derived from one, each described where it is first named."""
    found = shared("ValueError")
    for number in range(depth):
        found = described(1 + number, found)
    return found


def error(cls: bytes, number: int = 0, *, args: bytes = b"", made_of: bytes = b"N", cause: bytes = b"N",
          context: bytes = b"N", said: str = "", count: bytes = b"") -> bytes:  # fmt: skip
    count = count or small(1 if args else 0)
    return b"X" + u32(number) + cls + text(said) + count + args + made_of + b"N" + cause + context


INT = described(50, shared("int"))
LIST = described(51, shared("list"))
ERROR = described(52, shared("ValueError"))
OPAQUE = described(53)
