"""The event loop of the program's coroutines that a separated script awaits."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import pytest
from cruxcell.jobs.separated.awaiting import Awaited, Lent
from cruxcell.jobs.separated.operations import SPECIAL


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


def lent_until_done(lent: Lent, target: object) -> object:
    """Steps it as the other side does; so often that it has to have waited in between."""
    for _ in range(1000):
        try:
            assert lent.step(target, "send", None) is None
        except StopIteration as end:
            return end.value
    raise AssertionError("it comes to no end")


async def slept(result: int, seconds: float) -> int:
    await asyncio.sleep(seconds)
    return result


def test_what_is_awaited_of_this_side_waits_for_its_futures():
    lent = Lent()
    assert [lent_until_done(lent, slept(each, 0.02)) for each in (1, 2)] == [1, 2]  # on a loop of its own

    async def beside_others() -> int:
        other, target = asyncio.create_task(slept(3, 0)), slept(4, 0.1)
        while True:
            try:
                assert lent.step(target, "send", None) is None
            except StopIteration as end:
                assert other.done()  # it has blocked nobody
                return await other + int(end.value)
            await asyncio.sleep(0)

    assert asyncio.run(beside_others()) == 7
    assert lent._waits == {}


@pytest.mark.parametrize("error", [asyncio.CancelledError, KeyError])
def test_what_waits_hears_of_an_error_and_waits_no_more(error: type[BaseException]):
    lent, heard = Lent(), []

    async def hears() -> int:
        try:
            return await asyncio.sleep(10, 1)
        except error:
            heard.append(error)
            return 2

    target = hears()
    assert lent.step(target, "send", None) is None
    [(_, future)] = lent._waits.values()
    with pytest.raises(StopIteration) as end:
        lent.step(target, "throw", error())
    assert (end.value.value, heard, future.cancelled(), lent._waits) == (2, [error], True, {})


def test_steps_of_what_is_awaited_are_known_and_other_functions_called_as_they_are(monkeypatch: pytest.MonkeyPatch):
    lent, target = Lent(), slept(5, 10)
    steps = lent.stands_for(SPECIAL["__await__"])(target)
    assert steps.send(None) is next(iter(steps)) is None
    assert steps.close() is None
    assert lent.stands_for(target.send) != target.send
    generator = (each for each in "ab")
    for function in (len, [].append, generator.send, slept):
        assert lent.stands_for(function) == function
    monkeypatch.delitem(sys.modules, "asyncio")
    assert lent.stands_for(SPECIAL["__await__"]) is SPECIAL["__await__"]
