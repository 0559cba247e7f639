"""The event loop of the program's coroutines that a separated script awaits."""

from __future__ import annotations

import asyncio
import inspect
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import loops
from cruxcell.jobs.separated.proxies.awaiting import Awaited


@pytest.fixture
def awaited() -> Iterator[Awaited]:
    made = Awaited()
    yield made
    if made._loop is not None:
        made._loop.close()


async def sleeps() -> None:
    await asyncio.sleep(10)


def test_a_clock_shows_what_its_loop_s_did_but_where_it_stood():
    now = [5.0]
    clock = loops.Clock(SimpleNamespace(time=lambda: now[0]))
    assert clock() == 5
    clock.stand()
    now[0] = 8
    assert (clock(), clock.stands) == (5, True)
    clock.go_on()
    assert (clock(), clock.stands) == (5, False)
    now[0] = 9
    assert clock() == 6


def test_what_is_awaited_may_be_closed_or_thrown_into(awaited: Awaited):
    target = sleeps()
    assert awaited.step(target, "send", None) is None
    assert (awaited.step(target, "close"), awaited._runs) == (None, {})
    assert inspect.getcoroutinestate(target) == "CORO_CLOSED"
    target = sleeps()
    assert awaited.step(target, "send", None) is None
    with pytest.raises(KeyError, match="thrown"):
        awaited.step(target, "throw", KeyError("thrown"))
    assert awaited._runs == {}


def test_what_is_thrown_into_before_its_first_step_does_not_begin(awaited: Awaited):
    begun: list[int] = []

    async def begins() -> None:
        begun.append(1)

    thrown, closed = begins(), begins()
    with pytest.raises(KeyError, match="thrown"):
        awaited.step(thrown, "throw", KeyError("thrown"))
    assert awaited.step(closed, "close") is None
    assert begun == []
    thrown.close()
    closed.close()


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

    target = outer()
    assert awaited.step(target, "send", None) is None  # its first step ends where it waits
    assert [ended for ended, _ in ends_of(awaited, [target])] == [target]
    assert found == [None, 7]


def ends_of(awaited: Awaited, targets: list[Any]) -> list[tuple[Any, object]]:
    """Steps them in turns, as the test's loop does: (each, its value), in the order in which it hears of them."""
    found, left = [], list(targets)
    for _ in range(50):
        for target in list(left):
            try:
                assert awaited.step(target, "send", None) is None
            except StopIteration as end:
                left.remove(target)
                found.append((target, end.value))
    return found


def test_all_begin_before_one_goes_on_however_long_that_takes(awaited: Awaited):
    begun: list[int] = []

    async def nested(number: int) -> None:
        begun.append(-number)

    async def counts(number: int) -> int:
        begun.append(number)
        await asyncio.gather(nested(number))
        await asyncio.sleep(0.002)
        return len(begun)

    targets = [counts(number) for number in (1, 2, 3)]
    for target in targets:
        assert awaited.step(target, "send", None) is None
        time.sleep(0.01)  # a host on which each step takes so long
    assert begun == [1, 2, 3]
    assert [value for _, value in ends_of(awaited, targets)] == [6, 6, 6]
    assert begun == [1, 2, 3, -1, -2, -3]


@pytest.mark.parametrize("delays", [(3, 2, 1), (1, 2, 3), (2, 3, 1), (2, 1, 3)])
def test_the_ends_are_heard_in_their_order(awaited: Awaited, delays: tuple[int, ...]):
    targets = [asyncio.sleep(each / 100, each) for each in delays]
    for target in targets:
        assert awaited.step(target, "send", None) is None
    awaited._clock.go_on()
    time.sleep(0.05)  # all of them are due at once
    assert [value for _, value in ends_of(awaited, targets)] == sorted(delays)
    assert (awaited._runs, len(awaited._ends)) == ({}, 0)


def test_an_end_that_is_never_heard_of_holds_up_nobody_for_long(awaited: Awaited):
    dropped, target, sleeping = asyncio.sleep(0.001, 1), asyncio.sleep(0.002, 2), sleeps()
    for each in (dropped, target, sleeping):
        assert awaited.step(each, "send", None) is None
    awaited._clock.go_on()
    time.sleep(0.01)
    assert ends_of(awaited, [sleeping, target]) == [(target, 2)]
    assert len(awaited._ends) == 1
    awaited.step(sleeping, "close")


def test_the_current_loop_goes_on_where_locks_belong_to_it_unless_it_is_closed(monkeypatch: pytest.MonkeyPatch):
    """Up to 3.9: a lock that the program has made before would wait for a loop that never runs."""
    current, closed = asyncio.new_event_loop(), asyncio.new_event_loop()
    closed.close()

    def loop_after(version: tuple[int, int], there: asyncio.AbstractEventLoop | None) -> object:
        def get_event_loop() -> asyncio.AbstractEventLoop:
            if there is None:
                raise RuntimeError
            return there

        policy = SimpleNamespace(get_event_loop=get_event_loop)
        made = SimpleNamespace(get_event_loop_policy=lambda: policy, new_event_loop=lambda: "new")
        monkeypatch.setattr(loops, "sys", SimpleNamespace(version_info=version))
        return loops.loop_of(made)

    try:
        assert loop_after((3, 9), current) is current
        assert [loop_after((3, 9), closed), loop_after((3, 9), None), loop_after((3, 10), current)] == ["new"] * 3
    finally:
        current.close()


def test_without_asyncio_it_is_stepped_as_it_is(awaited: Awaited, monkeypatch: pytest.MonkeyPatch):
    async def plain() -> int:
        return 7

    monkeypatch.delitem(sys.modules, "asyncio")
    with pytest.raises(StopIteration) as info:
        awaited.step(plain(), "send", None)
    assert info.value.value == 7


def test_what_is_awaited_in_a_loop_that_the_program_runs_is_a_task_of_that():
    awaited: Any = Awaited()
    found: list[object] = []

    async def one() -> int:
        found.append(asyncio.get_running_loop())
        return 5

    async def main() -> object:
        target, steps = one(), 0
        while True:
            try:
                assert awaited.step(target, "send", None) is None
            except StopIteration as end:
                assert steps == 1
                return end.value
            steps += 1
            await asyncio.sleep(0)

    loop, wrong = asyncio.new_event_loop(), list[Any]()
    loop.set_exception_handler(lambda _, context: wrong.append(context))
    assert (loop.run_until_complete(main()), found) == (5, [loop])
    assert (awaited._loop, wrong) == (None, [])
    loop.close()
