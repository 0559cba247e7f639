"""Turns on the loop: one slice at a time, between tenants by what each has used."""

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


async def test_one_slice_a_pass_of_the_loop():
    """However many have work, what else the loop has to do comes between any two slices."""
    charged: dict[str, float] = {}
    turns, log = Turns(lambda name, seconds: charged.update({name: charged.get(name, 0) + seconds}), slice_s=0), []
    running = [asyncio.create_task(turns.run(name, work(name, 20, log))) for name in "abcd"]

    async def other() -> None:
        while not all(task.done() for task in running):
            log.append("-")
            await asyncio.sleep(0)

    await asyncio.gather(other(), *running)
    text = "".join(log)
    assert all(len(run) <= 1 for run in text.split("-"))
    assert {name: text.count(name) for name in "abcd"} == dict.fromkeys("abcd", 20)
    assert sorted(charged) == list("abcd")


async def test_who_has_much_to_read_does_not_hold_up_who_has_little(monkeypatch):
    """By a clock of the test's: a step that a busy machine draws out would be charged."""
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)
    monkeypatch.setattr(shared_turns, "time", clock)
    turns, log = Turns(lambda name, seconds: None, slice_s=0), []
    much = [asyncio.create_task(turns.run("much", work("m", 200, log, clock))) for _ in range(5)]
    await asyncio.sleep(0)
    await turns.run("little", work("l", 5, log, clock))
    assert log.count("m") < 20
    await asyncio.gather(*much)
    assert (log.count("m"), log.count("l")) == (1000, 5)


@pytest.mark.parametrize(("count", "passes"), [(5, 1), (12, 2), (30, 5)])
async def test_what_is_short_shares_a_slice(monkeypatch, count, passes):
    """Each takes half a millisecond, and a slice three; who has to wait is woken in the pass after."""
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)
    monkeypatch.setattr(shared_turns, "time", clock)
    turns, log = Turns(lambda name, seconds: None), []
    running = [asyncio.create_task(turns.run(f"{n % 3}", work("x", 1, log, clock))) for n in range(count)]
    gone = 0
    while len(log) < count:
        await asyncio.sleep(0)
        gone += 1
    assert gone == passes
    await asyncio.gather(*running)


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
