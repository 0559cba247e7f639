"""Slices of the loop: what takes long leaves a pass to others between any two."""

from __future__ import annotations

import asyncio
import gc
import weakref
from contextvars import ContextVar
from types import SimpleNamespace

import pytest
from cruxboxd.shared import turns as shared_turns
from cruxboxd.shared.turns import Turns


def work(name: str, steps: int, log: list[str], clock: SimpleNamespace | None = None) -> object:
    """Steps of half a millisecond by `clock`."""
    for _ in range(steps):
        log.append(name)
        if clock is not None:
            clock.now += 0.0005
        yield


async def test_a_pass_of_the_loop_between_any_two_slices():
    charged: dict[str, float] = {}
    turns, log = Turns(lambda name, seconds: charged.update({name: charged.get(name, 0) + seconds}), slice_s=0), []
    running = [asyncio.create_task(turns.run(name, work(name, 20, log))) for name in "abcd"]

    async def other() -> None:
        while not all(task.done() for task in running):
            log.append("-")
            await asyncio.sleep(0)

    await asyncio.gather(other(), *running)
    text = "".join(log)
    assert all(len(set(run)) == len(run) for run in text.split("-"))
    assert {name: text.count(name) for name in "abcd"} == dict.fromkeys("abcd", 20)
    assert sorted(charged) == list("abcd")


@pytest.mark.parametrize(("steps", "slices"), [(2, 1), (3, 2), (20, 10)])
async def test_a_slice_is_one_of_time(monkeypatch, steps, slices):
    """A step takes half a millisecond by a clock of the test's, and a slice one."""
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)
    monkeypatch.setattr(shared_turns, "time", clock)
    charged: list[float] = []
    await Turns(lambda name, seconds: charged.append(seconds)).run("a", work("a", steps, [], clock))
    assert len([seconds for seconds in charged if seconds]) == slices
    assert sum(charged) == pytest.approx(steps / 2000)


async def test_what_waited_runs_as_who_began_it():
    name, seen = ContextVar("name", default=""), []

    def steps() -> object:
        seen.append(name.get())
        yield
        seen.append(name.get())

    turns = Turns(lambda name, seconds: None, slice_s=0)

    async def begin(who: str) -> None:
        name.set(who)
        await turns.run(who, steps())

    await asyncio.gather(begin("a"), begin("b"))
    assert sorted(seen) == ["a", "a", "b", "b"]


async def test_an_error_holds_nothing_until_a_collection():
    class Held:
        pass

    def wrong(held: object) -> object:
        yield
        raise ValueError

    turns = Turns(lambda name, seconds: None, slice_s=0)
    held = Held()
    gone = weakref.ref(held)
    gc.disable()
    try:
        first = asyncio.create_task(turns.run("a", iter(range(3))))  # which keeps the other from its turn
        try:
            await turns.run("b", wrong(held))
        except ValueError:
            del held
        await first
        assert gone() is None
    finally:
        gc.enable()


async def test_what_goes_wrong_is_heard_and_the_turn_goes_on():
    turns, log = Turns(lambda name, seconds: None, slice_s=0), []

    def wrong() -> object:
        yield
        raise ValueError("wrong")

    first = asyncio.create_task(turns.run("a", wrong()))
    gone = asyncio.create_task(turns.run("b", work("b", 5, log)))
    last = asyncio.create_task(turns.run("c", work("c", 5, log)))
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(ValueError, match="wrong"):
        await first
    await last
    assert log.count("c") == 5
    await turns.run("d", work("d", 5, log))
