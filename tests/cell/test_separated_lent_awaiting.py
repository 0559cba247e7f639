"""What the program awaits of a separated script: its steps, its end, and who may cancel it."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import loops
from cruxcell.jobs.separated.proxies.awaiting import Lent
from cruxcell.jobs.separated.proxies.operations import SPECIAL


def lent_until_done(lent: Lent, target: object) -> object:
    """Steps it as the other half does; so often that it has to have waited in between."""
    for _ in range(1000):
        try:
            assert lent.step(target, "send", None) is None
        except StopIteration as end:
            return end.value
    raise AssertionError("it comes to no end")


def test_what_is_awaited_of_this_half_waits_for_its_futures():
    lent = Lent()
    assert [lent_until_done(lent, asyncio.sleep(0.02, each)) for each in (1, 2)] == [1, 2]  # on a loop of its own

    async def beside_others() -> int:
        other, target = asyncio.create_task(asyncio.sleep(0, 3)), asyncio.sleep(0.1, 4)
        while True:
            try:
                assert lent.step(target, "send", None) is None
            except StopIteration as end:
                assert other.done()  # it has blocked nobody
                return await other + int(end.value)
            await asyncio.sleep(0)

    assert asyncio.run(beside_others()) == 7
    assert lent._places == {}


@pytest.mark.parametrize("delays", [(3, 2, 1), (1, 2, 3), (2, 3, 1), (2, 1, 3)])
def test_what_is_awaited_of_this_half_ends_in_its_order(delays: tuple[int, ...]):
    lent, found = Lent(), []
    targets = [asyncio.sleep(each / 100, each) for each in delays]

    async def step_in_turns() -> None:
        while targets:
            for target in list(targets):
                try:
                    assert lent.step(target, "send", None) is None
                except StopIteration as end:
                    targets.remove(target)
                    found.append(end.value)
            time.sleep(0.015)  # a host on which each turn takes so long
            await asyncio.sleep(0)

    asyncio.run(step_in_turns())
    assert found == sorted(delays)
    assert (lent._places, len(lent._ends)) == ({}, 0)


def test_what_is_begun_late_is_not_late():
    """Its time begins when that of the first does, in which the other half begins them all."""
    lent = Lent()
    targets = [asyncio.sleep(0.03, 1), asyncio.sleep(0.02, 2)]

    async def begin_slowly() -> None:
        loop, before = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        for target in targets:
            assert lent.step(target, "send", None) is None
            time.sleep(0.02)
        await asyncio.sleep(0)
        assert loop.time() - before < 0.02
        for target in targets:
            lent.step(target, "close")

    asyncio.run(begin_slowly())
    assert lent._places == {}


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
    [place] = lent._places.values()
    future = place.waits
    with pytest.raises(StopIteration) as end:
        lent.step(target, "throw", error())
    assert (end.value.value, heard, future.cancelled(), lent._places) == (2, [error], True, {})


def test_what_it_waits_for_may_go_on_when_it_is_cancelled():
    """As in a task. Of any other error it hears at once."""
    lent, heard = Lent(), []

    async def goes_on() -> str:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            await asyncio.sleep(0.02)
        return "went on"

    async def hears() -> object:
        try:
            return await asyncio.ensure_future(goes_on())
        except KeyError:  # which the task does not hear of
            heard.append(KeyError)
            return await asyncio.ensure_future(goes_on())

    target = hears()
    for _ in range(3):
        assert lent.step(target, "send", None) is None
    assert lent.step(target, "throw", KeyError) is None
    for _ in range(3):
        assert lent.step(target, "send", None) is None
    assert lent.step(target, "throw", asyncio.CancelledError()) is None
    assert (lent_until_done(lent, target), heard) == ("went on", [KeyError])
    left = hears()
    assert lent.step(left, "send", None) is lent.step(left, "close") is None
    assert lent._places == {}
    for task in asyncio.all_tasks(lent._loop):
        while not task.done():
            loops.run_for_a_while(lent._loop, task)


def test_each_has_a_task_of_its_own_which_may_be_cancelled():
    lent = Lent()
    tasks: list[Any] = []

    async def in_its_task(seconds: float) -> object:
        task: Any = asyncio.current_task()
        tasks.append(task)
        assert (task.get_loop(), task.done(), task.cancelled()) == (asyncio.get_running_loop(), False, False)
        task.set_name(seconds)
        asyncio.get_running_loop().call_later(seconds, task.cancel)
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            assert asyncio.current_task() is task
            assert (task.cancelling(), task.uncancel(), task.uncancel()) == (1, 0, 0)
        return task.get_name()

    async def cancels_itself() -> str:
        task: Any = asyncio.current_task()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(10)
        task.cancel()
        assert (task.uncancel(), task.uncancel()) == (1, 0)
        await asyncio.sleep(0)  # of which it is not cancelled
        for _ in range(2):
            asyncio.get_running_loop().call_soon(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(10)
        assert task.uncancel() == 1
        await asyncio.sleep(0)  # it has been, by both
        return "itself"

    async def beside_others() -> None:
        own = asyncio.current_task()
        left: list[Any] = [in_its_task(0.02), in_its_task(0.03), cancels_itself()]
        found: list[object] = []
        while left:
            for target in list(left):
                try:
                    assert lent.step(target, "send", None) is None
                except StopIteration as end:
                    found.append(end.value)
                    left.remove(target)
            assert asyncio.current_task() is own
            await asyncio.sleep(0)
        assert (sorted(map(str, found)), own.cancelled()) == (["0.02", "0.03", "itself"], False)

    asyncio.run(beside_others())
    assert len({id(task) for task in tasks}) == 2
    assert [tasks[0].get_coro().__name__, lent._places] == ["in_its_task", {}]
    assert lent_until_done(lent, in_its_task(0.01)) == "0.01"  # on a loop of its own, too


def test_steps_of_what_is_awaited_are_known_and_other_functions_called_as_they_are(monkeypatch: pytest.MonkeyPatch):
    lent, target = Lent(), asyncio.sleep(10, 5)
    steps = lent.stands_for(SPECIAL["__await__"])(target)
    assert steps.send(None) is next(iter(steps)) is None
    assert steps.close() is None
    assert lent.stands_for(target.send) != target.send
    generator = (each for each in "ab")
    for function in (len, [].append, generator.send, asyncio.sleep):
        assert lent.stands_for(function) == function
    monkeypatch.delitem(sys.modules, "asyncio")
    assert lent.stands_for(SPECIAL["__await__"]) is SPECIAL["__await__"]
