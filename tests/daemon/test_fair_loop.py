"""Passes of the loop: short, and shared between tenants by what each has used lately."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections import deque
from collections.abc import Callable
from contextvars import Context
from types import FrameType, SimpleNamespace

import pytest
from cruxboxd.rpc.interceptor import Interceptor
from cruxboxd.rpc.methods import letting_go
from cruxboxd.rpc.tracing import Tracer
from cruxboxd.shared import fair_loop
from cruxboxd.shared.fair_loop import STRANGERS, Ready, current_tenant, share_loop
from cruxboxd.shared.observer import Observer
from cruxboxd.tenancy.identity import Unidentified
from cruxboxd.tenancy.tenants import Tenant
from hypothesis import given
from hypothesis import strategies as st


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
    """Who has used much is behind for a moment, not for ever."""
    for pause_s, first in ((0.5, "new"), (60.0, "old"), (1e6, "old")):
        log: list[str] = []

        async def test(pause_s: float = pause_s, log: list[str] = log) -> None:
            await asyncio.create_task(working("old", 100, 0.01, clock, log))
            clock.now += pause_s
            await asyncio.create_task(working("new", 1, 0.01, clock, []))
            log.clear()
            await asyncio.gather(*(asyncio.create_task(working(name, 1, 0.001, clock, log)) for name in ("new", "old")))

        shared(test)
        assert log[0] == first, pause_s


@pytest.mark.parametrize("others", [1, 8])
def test_who_was_alone_is_not_held_up_for_long_when_others_come(clock, others):
    """It has used much, they nothing: until they have used as much it would not run at all."""
    ran: list[float] = []

    async def heavy(name: str, until_s: float) -> None:
        current_tenant.set(name)
        await asyncio.sleep(0)
        while clock.now < until_s:
            if name == "old":
                ran.append(clock.now)
            clock.now += 0.001
            await asyncio.sleep(0)

    async def test() -> None:
        old = asyncio.create_task(heavy("old", 10.0))
        while clock.now < 5.0:
            await asyncio.sleep(0)
        await asyncio.gather(old, *(asyncio.create_task(heavy(f"new {number}", 10.0)) for number in range(others)))

    shared(test)
    assert max(after - before for before, after in zip(ran, ran[1:])) < (others + 1) * fair_loop._MOST_AHEAD_S


def test_the_first_step_after_a_long_silence_runs(clock):
    """What a second counts grows with time, beyond all numbers."""
    ready, loop = Ready(), asyncio.new_event_loop()
    with contextlib.closing(loop):
        clock.now += 1e6
        ready.append(step_of("a", loop))
        assert [ready.popleft() for _ in range(len(ready))]
    assert not ready


def test_many_tenants_that_are_gone_are_forgotten(clock):
    ready, loop = Ready(), asyncio.new_event_loop()
    with contextlib.closing(loop):
        for number in range(1_000):
            ready.append(step_of(f"tenant {number}", loop))
            assert len(ready) == 1
            ready.popleft()
            clock.now += 0.2
    assert len(ready._used) < 700
    assert not ready


def step_of(tenant: str | None, loop: asyncio.AbstractEventLoop) -> asyncio.Handle:
    context = Context()
    if tenant is not None:
        context.run(current_tenant.set, tenant)
    return asyncio.Handle(lambda: None, (), loop, context)


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


@pytest.mark.parametrize("tenant", ["a", "b", STRANGERS, None])
def test_what_comes_in_between_any_two_steps_of_the_interpreter_is_not_lost(tenant):
    """As from another thread, or from the handler of a signal: a step comes at every opcode of a pass in turn."""
    loop = asyncio.new_event_loop()
    with contextlib.closing(loop):
        at, was_reached = 0, True
        while was_reached:
            was_reached, found = interrupted(step_of(tenant, loop), [step_of(name, loop) for name in "aab"], at)
            assert found == 4, f"after {at} opcodes"
            at += 1
        assert at > 100


def interrupted(coming: asyncio.Handle, others: list[asyncio.Handle], at: int) -> tuple[bool, int]:
    """A pass of `others`, where `coming` comes after so many opcodes: (did it come, how many have run in the end)."""
    ready, seen, run = Ready(), 0, list[asyncio.Handle]()

    def count(frame: FrameType, event: str, _: object) -> Callable[..., object]:
        nonlocal seen
        frame.f_trace_opcodes = frame.f_code.co_filename == fair_loop.__file__
        seen += event == "opcode"
        if event == "opcode" and seen == at + 1:
            sys.settrace(None)
            ready.append(coming)
        return count

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # else Python 3.12 traces none at all
    sys.settrace(count)
    try:
        for other in others:
            ready.append(other)
        run += [ready.popleft() for _ in range(len(ready))]
    finally:
        sys.settrace(before)
    if seen <= at:
        ready.append(coming)
    for _ in range(3):
        run += [ready.popleft() for _ in range(len(ready))]
    return seen > at, len(run)


@given(st.lists(st.lists(st.sampled_from(["", "a", "b", "c", None]), max_size=40), max_size=20), st.integers(0, 3))
def test_each_runs_once_in_the_order_of_its_tenant(coming, more):
    """Some come before a pass, and for a while more come in each step of it."""
    ready, loop = Ready(), asyncio.new_event_loop()
    waiting: dict[str | None, deque[asyncio.Handle]] = {name: deque() for name in ("", "a", "b", "c", None)}

    def come(names: list[str | None]) -> None:
        for name in names:
            waiting[name].append(step_of(name, loop))
            ready.append(waiting[name][-1])

    def one_pass(names: list[str | None]) -> None:
        of_nobody = len(waiting[None])
        count = len(ready)
        assert count >= of_nobody + any(waiting[name] for name in waiting if name is not None)
        for number in range(count):
            handle = ready.popleft()
            name = handle._context.get(current_tenant)  # type: ignore[attr-defined]
            assert waiting[name].popleft() is handle
            assert name is None or number >= of_nobody
            come(names[:more])

    with contextlib.closing(loop):
        for names in coming:
            come(names)
            one_pass(names)
        while any(waiting.values()):
            assert ready
            one_pass([])
    assert not ready
    assert len(ready) == 0


def test_an_rpc_is_strangers_work_until_it_is_known_whose():
    seen: list[str | None] = []

    async def behave() -> None:
        seen.append(current_tenant.get(None))
        current_tenant.set("a")

    async def test() -> None:
        await asyncio.create_task(letting_go(behave)())
        seen.append(current_tenant.get(None))

    asyncio.run(test())
    assert seen == [STRANGERS, None]


@pytest.mark.parametrize(("known", "name"), [(True, "alice"), (False, STRANGERS)])
def test_an_rpc_of_no_method_is_its_callers_work(known, name):
    """It was work of nobody, which comes before that of tenants."""
    seen: list[str | None] = []

    async def abort(*_: object) -> None:
        seen.append(current_tenant.get(None))

    def tenant_of(_: object) -> Tenant:
        if known:
            return Tenant("alice")
        raise Unidentified("who?")

    identity, admission = SimpleNamespace(tenant_of=tenant_of), SimpleNamespace(holds_too_much=None)
    context = SimpleNamespace(
        invocation_metadata=tuple, auth_context=dict, peer=lambda: "unix:", abort=abort
    )  # fmt: skip

    async def test() -> None:
        interceptor = Interceptor(identity, admission, Observer(), Tracer())  # type: ignore[arg-type]
        await letting_go(interceptor.refuse_unknown)(context)

    asyncio.run(test())
    assert seen == [name]
