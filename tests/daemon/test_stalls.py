"""Work that waits although nothing holds it back, and what the scheduler does every second."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from cruxboxd.scheduling import scheduler as schedulers
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.settings.config import Config, check_config
from cruxboxd.zygotes.setup import ZygoteKinds
from made_up_zygotes import KEY, LIMITS, MIB, OTHER, Daemon, Told, job, made_up, settle  # noqa: F401 - a fixture


class Stalled(Daemon):
    """Its scheduler hands nothing out, as if it had lost count, and its clock stands still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.clock = SimpleNamespace(now=5.0, monotonic=lambda: self.clock.now)
        monkeypatch.setattr(schedulers, "time", self.clock)
        self.scheduler._pump = lambda: None  # type: ignore[method-assign]

    def look(self) -> float:
        """Look for a stall, two seconds after the last time."""
        self.clock.now += 2
        self.scheduler._look_for_a_stall()
        return self.scheduler.stalled_s


async def test_a_stall_lasts_until_something_is_handed_out(monkeypatch: pytest.MonkeyPatch):
    daemon = Stalled(monkeypatch)
    await daemon.open()
    assert daemon.look() == 0  # nothing waits
    waiting = job()
    await daemon.put(waiting)
    assert [daemon.look() for _ in range(3)] == [0, 2, 4]
    daemon.scheduler._take(waiting, is_ahead=False)
    assert daemon.look() == 0


async def test_who_waits_for_room_stalls_nothing(monkeypatch: pytest.MonkeyPatch):
    daemon = Stalled(monkeypatch)
    await daemon.open()
    await daemon.put(job())
    for zygote in daemon.zygotes:
        zygote.jobs = [job()]
    assert [daemon.look() for _ in range(3)] == [0, 0, 0]
    daemon.zygotes[0].jobs = []
    daemon.zygotes[1].jobs[0].limits = replace(LIMITS, memory_bytes=95 * MIB)
    assert [daemon.look() for _ in range(3)] == [0, 0, 0]
    daemon.zygotes[1].jobs = []
    assert [daemon.look() for _ in range(3)] == [0, 2, 4]


async def test_while_work_is_handed_out_or_a_zygote_starts_nothing_stalls(monkeypatch: pytest.MonkeyPatch):
    daemon = Stalled(monkeypatch)
    await daemon.open()
    await daemon.put(job())
    daemon.fleet._starting[OTHER] = 1
    assert [daemon.look() for _ in range(3)] == [0, 0, 0]
    daemon.fleet._starting.clear()
    for _ in range(3):
        daemon.scheduler._handed_out += 1
        assert daemon.look() == 0
    assert [daemon.look() for _ in range(2)] == [0, 2]


async def test_with_nothing_that_waits_there_is_memory():
    daemon = await Daemon().open()
    await daemon.put(job())
    assert daemon.scheduler.depth == 0
    assert daemon.scheduler._has_memory


# ---- handing out ---------------------------------------------------------------------


async def test_it_hands_out_while_nobody_else_does():
    daemon = await Daemon().open()
    daemon.scheduler._is_pumping = True
    await daemon.put(job())
    assert daemon.running() == [[], []]


async def test_who_keeps_to_its_share_passes_what_does_not_fit():
    for first in ("large", "waiting"):
        daemon = await Daemon().open()
        await daemon.put(job("a"))
        large, small = job("c"), job("d")
        large.limits = replace(LIMITS, memory_bytes=95 * MIB)
        waiting = job("b", key=OTHER)
        daemon.scheduler._is_pumping = True
        await daemon.put(*([large, small] if first == "large" else [waiting, large, small]))
        daemon.scheduler._is_pumping = False
        heads = list(daemon.scheduler._queue.heads())
        daemon.scheduler._pump()
        assert (heads[0] is large, daemon.running()[1]) == (first == "large", [small])


async def test_what_passes_by_fits_into_memory_too():
    daemon = await Daemon().open()
    await daemon.put(job())
    waiting, large, small = job(key=OTHER), job(), job()
    large.limits = replace(LIMITS, memory_bytes=95 * MIB)
    daemon.fleet._starting[OTHER] = 9
    await daemon.put(waiting, large)
    assert (daemon.running()[1], daemon.scheduler.depth) == ([], 2)
    large.limits = LIMITS
    await daemon.put(small)
    assert large in daemon.running()[1]


async def test_only_the_first_waits_behind_a_running_one():
    daemon = await Daemon().open()
    daemon.fleet._most_zygotes = 2  # so none of another kind starts
    await daemon.put(job("a"), job("a"))
    other = job("b", key=OTHER)
    other.was_called_back = True
    await daemon.put(other, job("c"))
    assert [len(jobs) for jobs in daemon.running()[:2]] == [1, 1]


async def test_who_has_as_many_checks_as_are_worth_a_worker_shares_none():
    daemon = await Daemon().open()
    many, few = job(may_share=True, checks=32), job(may_share=True)
    await daemon.put(many, few)
    assert daemon.running() == [[many], [few]]
    await daemon.put(job(), job(may_share=True))
    assert [len(jobs) for jobs in daemon.running()] == [2, 2]


async def test_though_all_slots_are_taken_another_tenant_has_room_within_bounds():
    daemon = await Daemon(zygotes=8).open()
    for _ in range(2):
        await daemon.fleet.start(KEY)
    taken = daemon.zygotes[:2]
    for zygote in taken:
        zygote.jobs = [job("a")]
    assert [daemon.fleet.has_room_for(tenant, daemon.fleet.taken, is_ahead=False) for tenant in ("a", "b")] == [
        False,
        True,
    ]
    daemon.fleet.most_busy = 2
    assert not daemon.fleet.has_room_for("b", daemon.fleet.taken, is_ahead=False)
    daemon.fleet.most_busy = 100
    for zygote in daemon.zygotes:
        zygote.jobs = [job("a")]
    assert not daemon.fleet.has_room_for("b", daemon.fleet.taken, is_ahead=False)


async def test_no_more_zygotes_start_than_there_are_jobs_and_slots_for():
    for busy, jobs, starting in ((0, 1, 1), (0, 5, 2), (2, 5, 1)):
        daemon = await Daemon(zygotes=8).open()
        for zygote in daemon.zygotes[:busy]:
            zygote.jobs = [job()]
        daemon.fleet._starting[OTHER] = 1
        daemon.fleet.start_soon(job(key=OTHER), lambda _key, jobs=jobs: jobs, daemon.fleet.taken, is_ahead=False)  # type: ignore[misc]
        assert daemon.fleet.starting == starting
        await settle()


# ---- life ----------------------------------------------------------------------------


async def test_every_second_zygotes_are_asked_until_the_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(schedulers, "_SWEEP_S", 0)
    daemon = Daemon()
    await daemon.scheduler.open(KEY)
    first: Any = daemon.zygotes[0]
    await settle()
    assert first.pings > 1
    waits: list[float] = []
    lateness, sleep = daemon.scheduler._lateness, daemon.scheduler._lateness.sleep

    async def noted(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr(lateness, "sleep", noted)
    monkeypatch.setattr(schedulers, "_SWEEP_S", 1.0)
    await settle()
    assert set(waits[1:]) == {0.05}  # twenty times
    sweeping = daemon.scheduler._sweeping
    monkeypatch.setattr(schedulers, "_SWEEP_S", 1000)
    await asyncio.sleep(0.01)
    await daemon.scheduler.close()
    assert sweeping is not None
    assert sweeping.done()


def test_it_knows_the_kinds_of_zygotes_that_it_is_given():
    kinds, config = ZygoteKinds(), check_config(Config())
    assert Scheduler(config, lambda _key: None, Told(), kinds=kinds).kinds is kinds  # type: ignore[arg-type, return-value]
    assert isinstance(Scheduler(config, lambda _key: None, Told()).kinds, ZygoteKinds)  # type: ignore[arg-type, return-value]
