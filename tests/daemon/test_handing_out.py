"""The state machine of scheduler, fleet and zygotes' handles under seeded random events: nothing waits for want of a
wake-up. The zygotes run nothing: a test says what they would. Time is the test's own, and nobody sweeps."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from cruxboxd.scheduling import fair_queue, scheduler
from cruxboxd.scheduling import fleet as fleets
from cruxboxd.scheduling.memory_share import MemoryShare
from cruxboxd.zygotes import zygote_process
from cruxboxd.zygotes.jobs import Job, Outlet
from cruxboxd.zygotes.lane import Lane
from cruxboxd.zygotes.zygote_process import ZygoteProcess
from cruxcell.protocol import messages
from made_up_zygotes import KEY, OTHER, Daemon, Template, job, settle

_SECOND = 10**9


class Played(ZygoteProcess):
    """The daemon's handle of a zygote that is played by the test."""

    stopped_at = 0

    @property
    def is_stopped(self) -> bool:
        return self.stopped_at > 0

    async def start(self, *_setup: object) -> None:  # type: ignore[override]
        await asyncio.sleep(0.05)
        self._lanes = [Lane(), Lane()]
        for lane in self._lanes:
            lane.report_theirs = 0
        self.alive = True

    def _order(self, data: bytes, descriptors: object = ()) -> None:
        order = messages.ORDER.unpack(data)[0]
        if order == messages.PING and self.slow and not self.is_stopped:
            self._heard_ns = zygote_process.time.monotonic_ns()

    def say(self, kind: int) -> None:
        """What the zygote says of the worker in front."""
        self._heard_ns = zygote_process.time.monotonic_ns()
        lane = self._busy[0]
        event = (kind, self._lanes.index(lane), 0, 0, lane.seq, 0, 10**6, 10**6, 0)
        if kind == messages.SLOW:
            self._on_slow((), [])
        elif kind == messages.FORK_FAILED:
            self._on_fork_failed(event, [])
        else:
            self._end_job(event, -1)
            if self._busy and self._busy[0].job is not None and self._busy[0].job.is_partner:
                self.say(kind)


class Small(Outlet):
    is_full = False  # type: ignore[assignment]


class World:
    """A daemon, and a clock that goes when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seed: int, zygotes: int = 0) -> None:
        self.random = random.Random(seed)
        self.now = 1_000 * _SECOND
        clock = SimpleNamespace(monotonic_ns=lambda: self.now, monotonic=lambda: self.now / _SECOND)
        for module in (fleets, scheduler, fair_queue, zygote_process):
            monkeypatch.setattr(module, "time", clock)
        self.timers: list[tuple[int, asyncio.TimerHandle, Callable[[], None]]] = []
        self.loop = asyncio.get_running_loop()
        monkeypatch.setattr(self.loop, "call_later", self._later)
        monkeypatch.setattr(fleets, "ZygoteProcess", Played)
        monkeypatch.setattr(fleets, "Template", Template)
        self.daemon = Daemon(zygotes=zygotes or self.random.choice([3, 8, 32]))
        self.fleet, self.scheduler = self.daemon.fleet, self.daemon.scheduler
        self.fleet._memory_share = MemoryShare(0, 0)  # what waits for memory is another matter
        self.works: list[asyncio.Future[Any]] = []
        self.outlets = [Small() for _ in range(3)]
        self.watched = self.now

    def _later(self, delay_s: float, call: Callable[..., None], *arguments: Any) -> Any:
        entry = (self.now + int(delay_s * 1e9), None, lambda: call(*arguments))
        self.timers.append(entry)  # type: ignore[arg-type]
        return SimpleNamespace(cancel=lambda: self.timers.remove(entry) if entry in self.timers else None)

    async def open(self) -> World:
        opening = asyncio.ensure_future(self.fleet.open(KEY))
        while not opening.done():
            await self.pass_time(50)
        return self

    async def pass_time(self, ms: int) -> None:
        """Let the clock go, as timers are due, and zygotes be watched each second."""
        until = self.now + ms * 10**6
        await settle()
        while True:
            due = min([at for at, _, _ in self.timers] + [self.watched + _SECOND, until])
            self.now = max(self.now, due)
            for entry in [entry for entry in self.timers if entry[0] <= self.now]:
                self.timers.remove(entry)
                entry[2]()
            if self.now >= self.watched + _SECOND:
                self.watched = self.now
                self.fleet.watch()
            await settle()
            self.check()
            if self.now >= until:
                return

    # ---- events ------------------------------------------------------------------------------------------------

    def put(self, tenant: str = "") -> None:
        one = job(tenant or self.random.choice("aaaabc"), self.random.choice([KEY, KEY, OTHER]))
        one.may_share, one.interactive = self.random.random() < 0.4, self.random.random() < 0.2
        one.follows = self.random.random() < 0.2
        one.outlet = self.random.choice([None, None, *self.outlets])
        run: Callable[[Job], Any] = self.scheduler.run
        if not one.may_share and self.random.random() < 0.2:
            one.partner, run = job(one.tenant, one.key, is_partner=True), self.scheduler.run_pair
        self.works.append(asyncio.ensure_future(run(one)))

    def answering(self) -> list[Any]:
        return [zygote for zygote in self.daemon.zygotes if zygote.load and not zygote.is_stopped]

    def step(self) -> None:
        what = self.random.choices(
            ["put", "done", "slow", "cancel", "kill", "fork", "stop", "outlet"], [30, 30, 12, 4, 1, 2, 1, 4]
        )[0]
        busy = self.answering()
        if what == "put":
            for _ in range(self.random.choice([1, 1, 2, 8])):
                self.put()
        elif what == "cancel" and self.works:
            self.random.choice(self.works).cancel()
        elif what == "outlet":
            outlet = self.random.choice(self.outlets)
            outlet.is_full = not outlet.is_full
            if not outlet.is_full:
                self.scheduler.resume()
        elif busy:
            zygote = self.random.choice(busy)
            if what == "kill":
                zygote.kill("killed")
            elif what == "stop":
                zygote.stopped_at = self.now
            elif what == "done" or (what == "slow" and zygote.slow):
                zygote.say(messages.DONE)
            elif zygote._busy[0].job is not None and not (what == "fork" and zygote.slow):
                zygote.say(messages.SLOW if what == "slow" else messages.FORK_FAILED)

    # ---- what holds after each ----------------------------------------------------------------------------------

    def check(self) -> None:
        fleet, zygotes = self.fleet, self.daemon.zygotes
        fast = [zygote for zygote in zygotes if zygote.load and not zygote.slow]
        with_job = [zygote for zygote in fast if zygote._busy[0].job is not None]
        assert len(with_job) <= 3 * fleet.slots
        silent = [zygote for zygote in fast if zygote.is_stopped and self.now - zygote.stopped_at > 4 * _SECOND]
        assert not silent, "a slot is held by who says nothing"
        if sum(1 for zygote in zygotes if zygote.load) >= fleet.most_busy:
            return
        crowders = self.scheduler._crowders(self.scheduler._queue.present)
        for name, queue in self.scheduler._queue._queues.items():
            has_room = len(fast) < fleet.slots or (
                len(fast) < 2 * fleet.slots and all(one.tenant != name for zygote in fast for one in zygote.jobs)
            )
            if name in crowders or not has_room:
                continue
            waiting = [one for one in queue.waiting if not (one.outlet and one.outlet.is_full)]
            for one in waiting[:64]:
                assert not any(z.load == 0 and z.key == one.key for z in zygotes), f"{name} waits beside an idle zygote"
            if waiting:
                key = waiting[0].key
                is_coming = fleet._starting.get(key) or (key in fleet._lacking and self.timers)
                assert is_coming or len(zygotes) + fleet.starting >= fleet._most_zygotes, f"{name} waits for nothing"

    async def drain(self) -> None:
        """All that is under way ends."""
        for outlet in self.outlets:
            outlet.is_full = False
        self.scheduler.resume()
        for _ in range(2_000):
            await self.pass_time(20)
            if all(work.done() for work in self.works) and not self.answering():
                break
            for zygote in self.answering():
                zygote.say(messages.DONE)
        await self.pass_time(15_000)  # those that were stopped end
        for zygote in self.answering():
            zygote.say(messages.DONE)
        await settle()


@pytest.mark.parametrize("seed", range(12))
async def test_no_job_waits_while_a_slot_is_free_and_a_zygote_idle(seed: int, monkeypatch: pytest.MonkeyPatch):
    world = await World(monkeypatch, seed).open()
    for _ in range(150):
        world.step()
        await settle()
        world.check()
        if world.random.random() < 0.3:
            await world.pass_time(world.random.choice([1, 30, 120, 1_500]))
    await world.drain()
    assert all(work.done() for work in world.works)
    assert (world.fleet.busy, world.fleet.taken.fast, world.scheduler.depth) == (0, [], 0)
    assert not any(queue.out or queue.held for queue in world.scheduler._queue._queues.values())
    await world.scheduler.close()


async def test_a_job_that_comes_back_after_a_pause_wakes_the_scheduler(monkeypatch: pytest.MonkeyPatch):
    world = await World(monkeypatch, 1).open()
    await world.daemon.put(job())
    world.daemon.zygotes[0].say(messages.FORK_FAILED)
    await world.pass_time(100)
    assert world.fleet.busy == 0
    await world.pass_time(150)
    assert (world.fleet.busy, world.scheduler.depth) == (1, 0)
    await world.scheduler.close()


async def test_what_half_a_pair_has_reported_is_not_read_as_the_next_jobs(monkeypatch: pytest.MonkeyPatch):
    """It was forked, and ran, and for the other half there was no process."""
    world = await World(monkeypatch, 1).open()
    (work,) = await world.daemon.put(job())
    zygote = world.daemon.zygotes[0]
    with open(f"/proc/self/fd/{zygote._busy[0].report}", "wb", buffering=0) as worker:
        worker.write(b"forged")
    zygote.say(messages.FORK_FAILED)
    await world.pass_time(250)
    assert zygote.load == 1  # it has the job again
    zygote.say(messages.DONE)
    await settle()
    assert work.result().report == b""
    await world.scheduler.close()


async def test_a_zygote_that_is_stopped_while_it_passes_a_job_over_is_replaced(monkeypatch: pytest.MonkeyPatch):
    """What was called back from it left nobody's job there, but a slot that is taken."""
    world = await World(monkeypatch, 1).open()
    await world.daemon.put(*[job() for _ in range(4)])
    stopped = world.daemon.zygotes[0]
    stopped.say(messages.SLOW)
    stopped.say(messages.DONE)
    assert (stopped.load, stopped.jobs, stopped.slow) == (1, [], False)
    stopped.stopped_at = world.now
    await world.pass_time(4_000)
    assert stopped.slow
    await world.pass_time(8_000)
    assert not stopped.alive
    await world.scheduler.close()


async def test_no_tenant_starves_beside_one_that_always_has_work(monkeypatch: pytest.MonkeyPatch):
    """However its workers end, each second one of them slow. It may need a zygote, which takes two rounds or three."""
    world = await World(monkeypatch, 2, zygotes=8).open()
    for _ in range(40):
        for _ in range(20):
            world.put("a")
        theirs = job("b", OTHER)
        await world.daemon.put(theirs)
        rounds = 0
        while not theirs.attempts:
            rounds += 1
            assert rounds <= 5
            await world.pass_time(60)
            for zygote in world.answering():
                is_slow = world.random.random() < 0.5 and not zygote.slow and zygote.jobs
                zygote.say(messages.SLOW if is_slow else messages.DONE)
            await settle()
            world.check()
    await world.drain()
    assert (world.fleet.busy, world.scheduler.depth) == (0, 0)
    await world.scheduler.close()
