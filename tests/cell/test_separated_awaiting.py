"""The event loop of the program's coroutines that a separated script awaits."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import pytest
from cruxcell.jobs.separated.awaiting import Awaited


@pytest.fixture
def awaited() -> Iterator[Awaited]:
    made = Awaited()
    yield made
    if made._loop is not None:
        made._loop.close()


async def sleeps() -> None:
    await asyncio.sleep(10)


def test_what_is_awaited_may_be_closed_or_thrown_into(awaited: Awaited):
    target = sleeps()
    assert awaited.step(target, "send", None) is None
    assert (awaited.step(target, "close"), awaited._runs) == (None, {})
    target = sleeps()
    assert awaited.step(target, "send", None) is None
    with pytest.raises(KeyError, match="thrown"):
        awaited.step(target, "throw", KeyError("thrown"))
    assert awaited._runs == {}


def test_what_cancels_itself_was_cancelled(awaited: Awaited):
    async def cancels() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        awaited.step(cancels(), "send", None)


def test_a_step_within_a_step_waits(awaited: Awaited):
    found: list[object] = []

    async def inner() -> int:
        return 7

    async def outer() -> None:
        target = inner()
        found.append(awaited.step(target, "send", None))
        await asyncio.sleep(0)
        with pytest.raises(StopIteration) as info:
            awaited.step(target, "send", None)
        found.append(info.value.value)

    with pytest.raises(StopIteration):
        awaited.step(outer(), "send", None)
    assert found == [None, 7]


def test_without_asyncio_it_is_stepped_as_it_is(awaited: Awaited, monkeypatch: pytest.MonkeyPatch):
    async def plain() -> int:
        return 7

    monkeypatch.delitem(sys.modules, "asyncio")
    with pytest.raises(StopIteration) as info:
        awaited.step(plain(), "send", None)
    assert info.value.value == 7
