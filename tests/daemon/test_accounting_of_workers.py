"""Work is charged to its tenant and counts in its quota until its worker is gone; and a quota never deadlocks."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import psutil
import pytest
from cruxboxd.scheduling import scheduler
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.settings.config import DEFAULT_LIMITS, Config, check_config
from cruxboxd.shared.observer import Observer
from cruxboxd.tenancy.tenants import Tenant
from cruxboxd.zygotes.commands import Commands
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.runtimes import ZygoteSetups, find_runtimes
from cruxboxd.zygotes.setup import ZygoteKey
from cruxboxd.zygotes.zygote_process import ZygoteProcess
from cruxcell.confinement.clocks import FAST_MS, SLOW_LOOKS
from cruxcell.protocol import messages, payloads
from support.waiting import until_true

pytestmark = pytest.mark.kernel

CONFIG = check_config(Config(workers=2))
SETUPS = ZygoteSetups(CONFIG, find_runtimes(CONFIG, Commands()))
KEY = ZygoteKey("default", False, "0")
SPIN_ON = "def f(x):\n    while True: pass"
SPIN, NAP = "def f():\n    while True: pass", "import time\ndef f():\n    time.sleep(1000)"


def job(program: str, call: str = "f()", **changes) -> Job:
    fields = [payloads.CALLS_FLAGS.pack(0), program.encode(), b"", call.encode()]
    made = Job(key=KEY, kind=messages.JOB_CALLS, fields=fields, limits=DEFAULT_LIMITS, tenant="t")
    return replace(made, future=made.future, **changes)


def pair(candidate: str, script: str, **changes) -> Job:
    limits = changes.pop("limits", DEFAULT_LIMITS)
    made = job("", kind=messages.JOB_SERVE, flags=messages.PAIR, limits=limits, **changes)
    made.fields = [candidate.encode(), b""]
    made.partner = Job(
        key=KEY,
        kind=messages.JOB_TEST,
        fields=[script.encode(), b"f", b"", b"", b"\0", b"", b""],
        limits=limits,
        tenant="t",
        is_partner=True,
    )
    return made


class Opened:
    """A pool of one tenant with these terms."""

    def __init__(self, **terms) -> None:
        self.terms, self.charged = terms, 0

    async def __aenter__(self) -> Scheduler:
        self.pool = Scheduler(CONFIG, SETUPS, Observer(), lambda name: Tenant(name, **self.terms))
        await self.pool.open(KEY)
        done = self.pool._queue.done

        def count(one: Job, cpu_ns: int = 0) -> None:
            self.charged += cpu_ns
            done(one, cpu_ns)

        self.pool._queue.done = count  # type: ignore[assignment,method-assign]
        return self.pool

    async def __aexit__(self, *_: object) -> None:
        await self.pool.close()


def out(pool: Scheduler) -> int:
    line = pool._queue._queues.get("t")
    return len(line.out) if line else 0


@pytest.mark.parametrize("what", [lambda: job(SPIN), lambda: pair(SPIN_ON, "candidate(1)")])
async def test_what_is_cancelled_is_charged_and_counts_until_it_is_gone(what):
    opened = Opened(concurrent_checks=1)
    async with opened as pool:
        work = asyncio.ensure_future((pool.run_pair if what().partner else pool.run)(what()))
        await until_true(lambda: any(zygote.slow for zygote in pool.zygotes))
        await asyncio.sleep(0.5)
        work.cancel()
        await asyncio.wait([work])
        if pool.busy:  # its worker is still there
            assert out(pool) == 1
        await until_true(lambda: pool.busy == 0 and out(pool) == 0)
        assert opened.charged > 0
        assert (await asyncio.wait_for(pool.run(job("", "1")), 20)).error == ""


async def test_both_halves_of_a_pair_are_charged():
    opened = Opened()
    burn = "n = 0\nfor i in range(10**6): n += i\n"
    async with opened as pool:
        results = await pool.run_pair(pair(burn + "def f(x): return x", burn + "assert candidate(1) == 1"))
        assert opened.charged == sum(result.facts.cpu_ns for result in results) > 0


async def test_the_halves_of_a_pair_that_is_slow_share_a_cpu():
    """Two pairs do not where there are two."""

    def seats() -> list[set[int]]:
        with suppress(psutil.NoSuchProcess, ProcessLookupError):  # who is looked at may end meanwhile
            below = [psutil.Process(zygote.pid).children(recursive=True) for zygote in pool.zygotes if zygote.slow]
            halves = [[each for each in some if not each.children()] for some in below]
            return [set.union(*[os.sched_getaffinity(each.pid) for each in pair]) for pair in halves if len(pair) == 2]
        return []

    def are_seated() -> bool:
        found[:] = seats()
        return [len(each) for each in found] == [1, 1]

    found: list[set[int]] = []
    async with Opened(concurrent_checks=4) as pool:
        work = [asyncio.ensure_future(pool.run_pair(pair(SPIN_ON, "candidate(1)"))) for _ in range(2)]
        await until_true(are_seated)
        assert len(set.union(*found)) == min(2, len(os.sched_getaffinity(0)))
        for each in work:
            each.cancel()
        await asyncio.wait(work)


async def test_workers_that_are_a_little_slow_are_handed_out_twice_at_the_most(monkeypatch):
    """A job called back from behind a slow worker does not wait behind another: where all workers are a little slower
    than fast, each hand-over would be taken back, and what it costs would keep them so."""
    handed: Counter[Job] = Counter()
    run = ZygoteProcess.run
    monkeypatch.setattr(ZygoteProcess, "run", lambda zygote, one: (handed.update([one]), run(zygote, one))[1])
    nap = f"import time\ndef f():\n    time.sleep({(SLOW_LOOKS + 2) * FAST_MS / 1000})"
    async with Opened() as pool:
        results = await asyncio.wait_for(asyncio.gather(*[pool.run(job(nap)) for _ in range(40)]), 60)
    assert [result.error for result in results] == [""] * 40
    assert {result.attempts for result in results} == {1}
    assert len(handed) == 40
    assert max(handed.values()) <= 2


async def test_for_one_job_one_zygote_is_started():
    """However often it is looked at meanwhile; and for more jobs, one for each slot."""
    async with Opened() as pool:
        one, more = (replace(KEY, hash_seed=seed) for seed in ("1", "2"))
        alone = asyncio.ensure_future(pool.run(job("", "1", key=one)))
        while not alone.done():
            await pool.run(job("", "1"))
        await asyncio.gather(*[pool.run(job("", "1", key=more)) for _ in range(4)])
        await until_true(lambda: not pool._fleet.starting)
        assert Counter(zygote.key for zygote in pool.zygotes) == {KEY: 2, one: 1, more: 2}


async def test_a_cancelled_job_that_waits_costs_nothing_and_holds_nothing():
    opened = Opened(concurrent_checks=1)
    async with opened as pool:
        first = asyncio.ensure_future(pool.run(job(NAP)))
        await until_true(lambda: any(zygote.slow for zygote in pool.zygotes))
        second = asyncio.ensure_future(pool.run(job(NAP)))
        await until_true(lambda: pool.depth == 1)
        second.cancel()
        await asyncio.wait([second])
        assert (pool.depth, out(pool), opened.charged) == (0, 1, 0)
        first.cancel()
        await until_true(lambda: out(pool) == 0)


@pytest.mark.parametrize("what", [lambda: job(NAP), lambda: pair(NAP.replace("()", "(x)", 1), "candidate(1)")])
async def test_a_wider_run_waits_for_no_slot_of_its_own(monkeypatch, what):
    """Where it cannot be measured what a worker waited for a CPU: with a quota of one, an interactive job that is run
    again takes the place it had; and what is late again on a host as crowded is nobody's failure."""
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0, 99.0, 99.0))
    unmeasured = scheduler_without_figures(monkeypatch)
    seen = []
    async with Opened(concurrent_checks=1) as pool:
        put = pool._queue.put
        pool._queue.put = lambda one: (seen.append(one), put(one))[1]
        slow = what()
        slow.interactive = True
        slow.limits = replace(DEFAULT_LIMITS, wall_ms=200)
        if slow.partner:
            slow.partner.limits = slow.limits
        running = pool.run_pair(slow) if slow.partner else pool.run(slow)
        result = await asyncio.wait_for(running, 60)
        assert all(facts.killed == messages.KILLED_STARVED for facts in facts_of(result)), facts_of(result)
        assert [one.interactive for one in seen] == [True, True]
        assert [one.limits.wall_ms for one in seen] == [200, 800]
        assert unmeasured
        monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
        result = await asyncio.wait_for(pool.run(job(NAP, limits=replace(DEFAULT_LIMITS, wall_ms=200))), 60)
        assert result.facts.killed == messages.KILLED_WALL


@pytest.mark.parametrize("what", [lambda: job(SPIN), lambda: pair(SPIN_ON, "candidate(1)")])
async def test_a_worker_that_somebody_stopped_is_nobodys_failure(what):
    async with Opened() as pool:
        held = what()
        for one in [held, held.partner]:
            if one is not None:
                one.limits = replace(DEFAULT_LIMITS, wall_ms=600)
        running = asyncio.ensure_future(pool.run_pair(held) if held.partner else pool.run(held))
        await until_true(lambda: any(zygote.slow for zygote in pool.zygotes))
        [zygote] = [zygote for zygote in pool.zygotes if zygote.slow]
        psutil.Process(zygote.pid).children(recursive=True)[-1].suspend()
        assert messages.KILLED_STARVED in [facts.killed for facts in facts_of(await asyncio.wait_for(running, 60))]


def facts_of(result) -> list:
    return [one.facts for one in (result if isinstance(result, tuple) else (result,))]


def scheduler_without_figures(monkeypatch) -> list[int]:
    """A host on which /proc does not show what another process waited."""
    from contextlib import contextmanager

    from cruxboxd.zygotes import zygote_process

    asked = []

    @contextmanager
    def none(handle: int):
        asked.append(handle)
        yield []

    monkeypatch.setattr(zygote_process, "figures_of", none)
    return asked


async def test_what_cannot_be_told_is_late_on_an_idle_host_and_measured_here():
    async with Opened() as pool:
        result = await pool.run(job(NAP, limits=replace(DEFAULT_LIMITS, wall_ms=300)))
        assert result.facts.killed == messages.KILLED_WALL


async def test_work_that_waits_for_nothing_is_seen(monkeypatch):
    """As if a slot had never been given back."""
    monkeypatch.setattr(scheduler, "_SWEEP_S", 0.05)
    async with Opened(concurrent_checks=1) as pool:
        lost = job("", "1")
        pool._queue.put(lost)
        pool._queue.take(lost)
        waiting = asyncio.ensure_future(pool.run(job("", "1")))
        await until_true(lambda: pool.stalled_s > 0)
        assert pool.where()["queue_depth"] == 1
        lost.finish(Result(error="cancelled"))
        pool._queue.done(lost)
        pool._pump()
        assert (await asyncio.wait_for(waiting, 20)).error == ""
        await until_true(lambda: pool.stalled_s == 0)


async def test_work_that_waits_for_its_quota_is_no_stall(monkeypatch):
    monkeypatch.setattr(scheduler, "_SWEEP_S", 0.05)
    async with Opened(concurrent_checks=1) as pool:
        running = asyncio.ensure_future(pool.run(job(NAP)))
        waiting = asyncio.ensure_future(pool.run(job(NAP)))
        await until_true(lambda: any(zygote.slow for zygote in pool.zygotes))
        await asyncio.sleep(0.5)
        assert pool.stalled_s == 0
        for one in (running, waiting):
            one.cancel()
