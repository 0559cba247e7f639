"""Passes of the loop: short, and shared between tenants by what each has used lately."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextvars import Context
from types import SimpleNamespace

import pytest
from cruxboxd.shared import fair_loop
from cruxboxd.shared.fair_loop import STRANGERS, Ready, current_tenant, share_loop


@pytest.fixture(name="clock")
def _clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock of the test's: a step that a busy machine draws out would count."""
    made = SimpleNamespace(now=0.0)
    made.perf_counter = lambda: made.now
    monkeypatch.setattr(fair_loop, "time", made)
    return made


def shared(test: Callable[..., object]) -> None:
    """Run a test on a loop of its own, which is shared."""

    async def begin() -> None:
        share_loop()
        await test()  # type: ignore[misc]

    asyncio.run(begin())


async def working(name: str | None, steps: int, step_s: float, clock: SimpleNamespace, log: list[str]) -> None:
    """Steps of a tenant, each a pass of the loop."""
    if name is not None:
        current_tenant.set(name)
        await asyncio.sleep(0)
    for _ in range(steps):
        log.append("-" if name is None else name or "?")
        clock.now += step_s
        await asyncio.sleep(0)


def test_who_has_much_to_do_does_not_hold_up_who_has_little(clock):
    """Three hundred steps are always ready; of each of the little one's one or two may come before it."""
    log: list[str] = []

    async def test() -> None:
        much = [asyncio.create_task(working("much", 100, 0.001, clock, log)) for _ in range(300)]
        for _ in range(40):
            await asyncio.sleep(0)
        before = log.count("much")
        await asyncio.create_task(working("little", 20, 0.0001, clock, log))
        assert log.count("much") - before <= 2 * fair_loop._STEPS * 20
        for one in much:
            one.cancel()
        await asyncio.gather(*much, return_exceptions=True)

    shared(test)


def test_tenants_have_equal_time(clock):
    """Whose steps take ten times as long gets a tenth of them."""
    log: list[str] = []

    async def test() -> None:
        tasks = [
            asyncio.create_task(working(name, 3000, step_s, clock, log))
            for name, step_s in (("long", 0.001), ("short", 0.0001))
            for _ in range(20)
        ]
        while len(log) < 4000:
            await asyncio.sleep(0)
        assert log.count("short") / log.count("long") == pytest.approx(10, rel=0.1)
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    shared(test)


@pytest.mark.parametrize(
    ("tenants", "most"), [(["a"], fair_loop._STEPS_ALONE), (["a", STRANGERS, "b"], fair_loop._STEPS)]
)
def test_what_is_nobodys_comes_after_few_steps_and_leaves_one(clock, tenants, most):
    """Nobody's work comes once in each pass at the least, and so does a tenant's."""
    log: list[str] = []

    async def test() -> None:
        tasks = [asyncio.create_task(working(name, 30, 0.001, clock, log)) for name in tenants for _ in range(100)]
        await working(None, 200, 0.0, clock, log)
        text = "".join(log).lstrip("-")
        assert max(map(len, text.split("-"))) <= most
        assert max(map(len, re.findall("-+", text))) <= most
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    shared(test)


def test_what_was_used_is_forgotten(clock):
    """Who has used much is behind for some seconds, not for ever."""
    for pause_s, first in ((0.5, "new"), (60.0, "old"), (1e6, "old")):
        log: list[str] = []

        async def test(pause_s: float = pause_s, log: list[str] = log) -> None:
            await asyncio.create_task(working("old", 100, 0.01, clock, log))
            clock.now += pause_s
            await asyncio.create_task(working("new", 2, 0.01, clock, []))
            log.clear()
            await asyncio.gather(*(asyncio.create_task(working(name, 1, 0.001, clock, log)) for name in ("new", "old")))

        shared(test)
        assert log[0] == first, pause_s


def test_many_tenants_that_are_gone_are_forgotten(clock):
    ready, loop = Ready(), asyncio.new_event_loop()
    with contextlib.closing(loop):
        for number in range(1_000):
            ready.append(step_of(f"tenant {number}", loop))
            ready.popleft()
            clock.now += 0.2
    assert len(ready._used) < 700
    assert not ready


def step_of(tenant: str, loop: asyncio.AbstractEventLoop) -> asyncio.Handle:
    context = Context()
    context.run(current_tenant.set, tenant)
    return asyncio.Handle(lambda: None, (), loop, context)


def test_nothing_is_lost_that_other_threads_and_signals_append():
    """Each is called once, whatever the loop is at in that moment."""
    called, expected = Counter[str](), 0
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    before = signal.getsignal(signal.SIGALRM)

    async def steps(name: str) -> None:
        current_tenant.set(name)
        while not threads_are_over.is_set():
            await asyncio.sleep(0)

    def append(loop: asyncio.AbstractEventLoop, tenant: str) -> None:
        current_tenant.set(tenant)
        for _ in range(3_000):
            loop.call_soon_threadsafe(called.update, [tenant])

    threads_are_over = threading.Event()

    async def test() -> None:
        nonlocal expected
        loop = asyncio.get_running_loop()
        heard = 0

        def hear(*_: object) -> None:
            nonlocal heard
            heard += 1
            loop.call_soon_threadsafe(called.update, ["signal"])

        signal.signal(signal.SIGALRM, hear)
        signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
        running = [asyncio.create_task(steps(name)) for name in "abc"]
        threads = [threading.Thread(target=Context().run, args=(append, loop, name)) for name in "abcd"]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            await asyncio.sleep(0.001)
        signal.setitimer(signal.ITIMER_REAL, 0)
        threads_are_over.set()
        await asyncio.gather(*running)
        while any(called[name] < 3_000 for name in "abcd") or called["signal"] < heard:
            await asyncio.sleep(0.001)
        expected = heard

    try:
        shared(test)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.setswitchinterval(switching)
    assert called == {**dict.fromkeys("abcd", 3_000), "signal": expected}


def test_nothing_that_was_ready_is_lost_when_the_loop_is_shared():
    log: list[int] = []

    async def test() -> None:
        loop = asyncio.get_running_loop()
        for number in range(100):
            loop.call_soon(log.append, number)
        share_loop()
        share_loop()
        for _ in range(10):
            await asyncio.sleep(0)

    asyncio.run(test())
    assert log == list(range(100))
