"""Which job goes to which zygote, when zygotes start and end, and what becomes of jobs that fail or are called off."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from cruxboxd.scheduling import fleet as fleets
from cruxboxd.scheduling import scheduler as schedulers
from cruxboxd.scheduling.bundles import Bundle
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.settings.config import DEFAULT_LIMITS, Config, check_config
from cruxboxd.shared.observer import Observer
from cruxboxd.tenancy.tenants import Tenant
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.launch import StartError
from cruxboxd.zygotes.setup import ZygoteKey, ZygoteSetup
from cruxcell.protocol import messages

MIB = 1 << 20
LIMITS = replace(DEFAULT_LIMITS, memory_bytes=10 * MIB)
KEY, OTHER = ZygoteKey("default", False, "0"), ZygoteKey("default", True, "0")
DONE = Result(report=b"done")


class Zygote:
    """A zygote that runs nothing: its jobs end when a test says so."""

    starts: Callable[[ZygoteKey], None] = lambda _key: None

    def __init__(self, key: ZygoteKey, on_change: Callable[[Any], None], requeue: Callable[[Job], None]) -> None:
        self.key, self.on_change, self.requeue = key, on_change, requeue
        self.slow = self.hung = False
        self.alive = True
        self.jobs: list[Job] = []
        self.cancelled: list[Job] = []
        self.killed: str | None = None
        self.pings, self.pid = 0, 0

    async def start(self, *_setup: object) -> None:
        await asyncio.sleep(0)
        type(self).starts(self.key)

    load = property(lambda self: len(self.jobs))
    memory_bytes = property(lambda self: sum(job.memory_bytes for job in self.jobs))
    tenant = property(lambda self: self.jobs[0].tenant if self.jobs else "")

    def run(self, job: Job) -> None:
        self.jobs.append(job)

    def end(self, result: Result = DONE) -> None:
        self.slow = False
        self.jobs.pop(0).finish(result)
        self.on_change(self)

    def lose(self) -> None:
        job = self.jobs.pop(0)
        job.attempts += 1
        self.requeue(job)

    def cancel(self, job: Job) -> None:
        self.cancelled.append(job)

    def kill(self, reason: str) -> None:
        self.killed, self.alive = reason, False

    def is_hung(self, _now_ns: int) -> bool:
        return self.hung

    def ping(self) -> None:
        self.pings += 1


class Told(Observer):
    def __init__(self) -> None:
        self.said: list[object] = []

    def seal_broken(self, what: tuple[str, ...]) -> None:
        self.said.append(what)

    def sandbox_error(self, reason: str) -> None:
        self.said.append(reason)

    def zygote_ended(self) -> None:
        self.said.append("ended")


class Daemon:
    """A scheduler of two slots with zygotes that run nothing."""

    def __init__(self, *, opened: Any = (), zygotes: int = 4, terms: dict[str, Any] | None = None) -> None:
        bounds = {"zygotes": zygotes, "worker_memory_bytes": 100 * MIB, "opened": opened}
        config = replace(check_config(Config(workers=2)), **bounds)
        self.observer = Told()
        self.scheduler = Scheduler(
            config, lambda _key: ZygoteSetup("", {}, []), self.observer, lambda name: Tenant(name, **terms or {}),
            draw=lambda checks: (0,) if checks else (),
        )  # fmt: skip
        self.fleet = self.scheduler._fleet

    @property
    def zygotes(self) -> list[Any]:
        return self.scheduler.zygotes  # type: ignore[return-value]

    async def open(self) -> Daemon:
        await self.fleet.open(KEY)
        return self

    async def put(self, *jobs: Job) -> list[asyncio.Task[Result]]:
        made = [asyncio.ensure_future(self.scheduler.run(job)) for job in jobs]
        await settle()
        return made

    def running(self) -> list[list[Job]]:
        return [list(zygote.jobs) for zygote in self.zygotes]


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


def job(tenant: str = "t", key: ZygoteKey = KEY, **changes: Any) -> Job:
    return Job(key=key, kind=b"", fields=[b""], limits=LIMITS, tenant=tenant, **changes)


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "ZygoteProcess", Zygote)
    monkeypatch.setattr(fleets.strays, "reap", lambda _pids: None)
    monkeypatch.setattr(Zygote, "starts", staticmethod(lambda _key: None))


# ---- where jobs go -------------------------------------------------------------------


async def test_a_job_goes_to_an_idle_zygote_of_its_kind():
    daemon = await Daemon().open()
    one, two = job(), job()
    first, second = await daemon.put(one, two)
    assert daemon.running() == [[one], [two]]
    daemon.zygotes[0].end()
    assert await first is DONE
    daemon.zygotes[1].end()
    assert await second is DONE


async def test_while_all_slots_are_taken_one_job_waits_behind_each():
    daemon = await Daemon().open()
    jobs = [job() for _ in range(5)]
    await daemon.put(*jobs)
    assert daemon.running() == [[jobs[0], jobs[2]], [jobs[1], jobs[3]]]
    assert daemon.scheduler.depth == 1


@pytest.mark.parametrize("changes", [{"was_called_back": True}, {"partner": True}, {"key": OTHER}])
async def test_who_may_not_wait_behind_another_waits_for_a_slot(changes: dict[str, Any]):
    daemon = await Daemon().open()
    if "partner" in changes:
        changes = {"partner": job(is_partner=True)}
    await daemon.put(job(), job(), job(**changes), job())
    assert [len(jobs) for jobs in daemon.running()] == [1, 1]  # nor does the one behind it


async def test_a_slow_worker_leaves_its_slot_and_nobody_waits_behind_it():
    daemon = await Daemon().open()
    await daemon.put(job(), job())
    daemon.zygotes[0].slow = True
    await daemon.put(job(), job())
    assert [len(jobs) for jobs in daemon.running()] == [1, 2]


async def test_so_many_zygotes_are_busy_and_no_more():
    daemon = await Daemon(zygotes=2).open()
    await daemon.put(job(), job())
    for zygote in daemon.zygotes:
        zygote.slow = True
    assert not daemon.fleet.has_room
    assert (await Daemon(zygotes=3).open()).fleet.has_room


async def test_what_is_large_is_not_overtaken():
    daemon = await Daemon().open()
    await daemon.put(job())
    large, small = job(), job()
    large.limits = replace(LIMITS, memory_bytes=95 * MIB)
    await daemon.put(large, small)
    assert (daemon.running()[1], daemon.scheduler.depth, daemon.scheduler._has_memory) == ([], 2, False)
    daemon.zygotes[0].end()
    await settle()
    assert daemon.running() == [[large], []]


async def test_what_is_large_is_overtaken_by_who_is_before_it():
    """Of several tenants the first that fits runs, if it is the large one's turn no sooner."""
    daemon = await Daemon().open()
    await daemon.put(job("a"))
    large, small = job("a"), job("b", key=OTHER)
    large.limits = replace(LIMITS, memory_bytes=95 * MIB)
    await daemon.put(small, large)  # the first waits for a zygote of its kind
    assert small in [one for jobs in daemon.running() for one in jobs]
    assert daemon.scheduler.depth == 1


async def test_alone_a_job_always_fits():
    daemon = await Daemon().open()
    one = job()
    one.limits = replace(LIMITS, memory_bytes=1000 * MIB)
    assert daemon.fleet.fits(one)
    await daemon.put(one)
    assert not daemon.fleet.fits(job())
    daemon.fleet._memory_bytes = 0  # not bounded
    assert daemon.fleet.fits(job())


async def test_who_holds_too_many_slow_workers_starts_nothing():
    daemon = await Daemon().open()
    await daemon.put(job("a"), job("a"))
    for zygote in daemon.zygotes:
        zygote.slow = True
    await daemon.put(job("a"))
    assert daemon.scheduler.depth == 1
    assert daemon.scheduler.where()["held_back"] == ["a"]


async def test_beside_other_tenants_a_worker_is_modest():
    daemon = await Daemon().open()
    alone, beside = job("a"), job("b")
    await daemon.put(alone)
    await daemon.put(beside)
    assert (alone.flags & messages.MODEST, beside.flags & messages.MODEST) == (0, messages.MODEST)


@pytest.mark.parametrize(("opened", "seals"), [((), 4), (("seal",), 0)])
async def test_jobs_that_may_share_a_worker_do(opened: tuple[str, ...], seals: int):
    daemon = await Daemon(opened=opened).open()
    jobs = [job(may_share=True, seals=2) for _ in range(2)]
    await daemon.put(*jobs)
    (carrier,) = daemon.running()[0]
    assert (carrier.carried, daemon.running()[1], carrier.seals) == (jobs, [], seals)
    large = [job(may_share=True, checks=16), job(may_share=True, checks=16)]
    await daemon.put(*large)
    assert daemon.running()[1] == [large[0]]


# ---- calling off ---------------------------------------------------------------------


async def test_a_job_that_is_called_off_leaves_the_queue_or_its_worker():
    daemon = await Daemon().open()
    jobs = [job() for _ in range(5)]
    works = await daemon.put(*jobs)
    for work in (works[4], works[0]):
        work.cancel()
    await settle()
    assert (daemon.scheduler.depth, jobs[4].is_over, jobs[0].is_over) == (0, True, False)
    assert [zygote.cancelled for zygote in daemon.zygotes] == [[jobs[0]]] * 2
    assert all(work.cancelled() for work in (works[4], works[0]))


async def test_who_shares_a_worker_is_killed_with_the_last_that_wants_it():
    daemon = await Daemon().open()
    jobs = [job(may_share=True) for _ in range(2)]
    works = await daemon.put(*jobs)
    (carrier,) = daemon.running()[0]
    works[0].cancel()
    await settle()
    assert (daemon.zygotes[0].cancelled, carrier.is_cancelled) == ([], False)
    works[1].cancel()
    await settle()
    assert (daemon.zygotes[0].cancelled, carrier.is_cancelled) == ([carrier], True)


async def test_at_the_end_everything_ends_as_our_failure_and_nothing_begins():
    daemon = await Daemon().open()
    works = await daemon.put(job(), job(), job())
    zygotes = daemon.zygotes
    lost = zygotes[0].jobs[0]
    await daemon.scheduler.close()
    assert {(await work).error for work in works} == {"the server is shutting down"}
    assert [zygote.killed for zygote in zygotes] == ["", ""]
    for again in (daemon.scheduler._requeue, daemon.scheduler._run_again):
        again(lost)
        assert daemon.scheduler.depth <= 1
    daemon.scheduler._pump()
    assert [len(zygote.jobs) for zygote in zygotes] == [2, 1]


# ---- our failures --------------------------------------------------------------------


async def test_a_job_that_a_zygote_lost_is_tried_again_so_often():
    daemon = await Daemon().open()
    (work,) = await daemon.put(job())
    for _ in range(3):
        assert not work.done()
        daemon.zygotes[0].lose()
        daemon.scheduler._pump()
        await settle()
    result = await work
    assert (result.error, daemon.observer.said) == ("the sandbox failed 3 times", ["gave_up"])


async def test_of_jobs_that_shared_a_worker_that_was_lost_each_is_tried_again():
    daemon = await Daemon().open()
    jobs = [job(may_share=True) for _ in range(3)]
    works = await daemon.put(*jobs)
    (carrier,) = daemon.running()[0]
    assert isinstance(carrier, Bundle)
    works[1].cancel()
    await settle()
    daemon.zygotes[0].lose()
    assert [one.attempts for one in jobs] == [1, 1, 1]
    daemon.scheduler._pump()
    assert daemon.running()[0][0].carried == [jobs[0], jobs[2]]
    assert jobs[1].is_over


async def test_a_job_that_has_to_run_once_more_does_unless_nobody_wants_it():
    daemon = await Daemon().open()
    jobs = [job(may_share=True) for _ in range(2)]
    works = await daemon.put(*jobs)
    works[0].cancel()
    await settle()
    daemon.zygotes[0].end(Result(facts=Exit(11)))  # a crash that is nobody's
    await settle()
    assert daemon.running() == [[jobs[1]], []]


async def test_a_zygote_that_does_not_start_is_our_failure(monkeypatch: pytest.MonkeyPatch):
    def fail(key: ZygoteKey) -> None:
        if key == OTHER:
            raise StartError("broken")

    monkeypatch.setattr(Zygote, "starts", staticmethod(fail))
    monkeypatch.setattr(fleets.RETRY.__class__, "pause_s", 0)
    daemon = await Daemon().open()
    (other,) = await daemon.put(job(key=OTHER))
    result = await asyncio.wait_for(other, 20)
    assert (result.error, result.attempts) == ("no zygote: broken", 1)
    assert daemon.observer.said == ["zygote_start"] * 3
    with pytest.raises(StartError):
        await daemon.fleet.start(OTHER)
    with pytest.raises(StartError):
        await daemon.fleet.open(OTHER)


async def test_a_seal_that_broke_is_told():
    daemon = await Daemon().open()
    (work,) = await daemon.put(job())
    daemon.zygotes[0].end(Result(unsealed=("sys",)))
    await work
    (work,) = await daemon.put(job())
    daemon.zygotes[0].end()
    await work
    assert daemon.observer.said == [("sys",)]


async def test_of_a_pair_that_failed_both_halves_did():
    daemon = await Daemon().open()
    for result in (Result(error="lost"), DONE):
        pair = job(partner=job(is_partner=True))
        work = asyncio.ensure_future(daemon.scheduler.run_pair(pair))
        await settle()
        daemon.zygotes[0].end(result)
        if not result.error:
            await settle()
            assert not work.done()
            pair.partner.finish(Result(report=b"test"))  # type: ignore[union-attr]
        candidate, test = await work
        assert (candidate is test) is bool(result.error)


# ---- wall time that may be the host's ------------------------------------------------

UNSURE = Result(facts=Exit(9, killed=messages.KILLED_UNSURE))


@pytest.mark.parametrize(
    ("load", "runs", "killed"), [(0.0, 1, messages.KILLED_WALL), (9.0, 2, messages.KILLED_STARVED)]
)
async def test_a_timeout_that_may_be_the_hosts_is_run_again_on_a_crowded_one(load, runs, killed, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    daemon = await Daemon().open()
    (work,) = await daemon.put(job(may_share=True))
    for at in range(runs):
        (running,) = daemon.running()[0]
        assert running.limits.wall_ms == LIMITS.wall_ms * (messages.WIDEST if at else 1)
        daemon.zygotes[0].end(UNSURE)
        await settle()
    assert (await work).facts.killed == killed


@pytest.mark.parametrize("result", [DONE, replace(UNSURE, error="lost"), Result(facts=Exit(9, killed=1))])
async def test_nothing_else_is_run_again(result: Result, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (9.0, 0.0, 0.0))
    daemon = await Daemon().open()
    (work,) = await daemon.put(job())
    daemon.zygotes[0].end(result)
    assert (await work) is result


async def test_whose_result_is_not_used_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    left: list[Result] = []
    monkeypatch.setattr(Result, "leave", lambda result: left.append(result))
    one = job()
    schedulers._leave_company(one)
    one.future.set_result(DONE)
    schedulers._leave_company(one)
    called_off = job()
    called_off.future.cancel()
    schedulers._leave_company(called_off)
    assert left == [DONE]


# ---- zygotes -------------------------------------------------------------------------


async def test_another_kind_of_zygote_starts_when_there_is_work_for_it():
    daemon = await Daemon().open()
    one, two = job(key=OTHER), job(key=OTHER)
    await daemon.put(one, two)
    assert [zygote.key for zygote in daemon.zygotes] == [KEY, KEY, OTHER, OTHER]
    assert daemon.running()[2:] == [[one, two], []]
    await daemon.put(job(key=ZygoteKey("third", False, "0")))
    assert len(daemon.zygotes) == 5
    await daemon.put(job(key=ZygoteKey("fourth", False, "0")))
    assert len(daemon.zygotes) == 5  # all slots are taken


async def test_where_all_of_a_kind_are_slow_another_starts_after_a_moment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fleets, "_WORTH_A_WAIT_NS", 30_000_000)
    daemon = await Daemon(zygotes=8).open()
    await daemon.put(job(), job())
    for zygote in daemon.zygotes:
        zygote.slow = True
    await daemon.put(job())
    assert (len(daemon.zygotes), daemon.fleet.starting) == (2, 0)
    while len(daemon.zygotes) < 3:  # a test that waits too long fails
        await asyncio.sleep(0.01)
    await settle()
    assert [len(jobs) for jobs in daemon.running()] == [1, 1, 1]
    assert daemon.fleet.idle(KEY) is None
    daemon.zygotes[2].end()
    assert daemon.fleet.idle(KEY) is daemon.zygotes[2]
    assert daemon.fleet._lacking == {}


async def test_too_many_zygotes_make_room_the_commonest_first():
    daemon = await Daemon(zygotes=2).open()
    keys = [ZygoteKey(str(at), False, "0") for at in range(6)]
    for key in keys:
        await daemon.fleet.start(key)
    first = daemon.zygotes[0]
    daemon.fleet.start_soon(OTHER, 1)
    await settle()
    assert (len(daemon.zygotes), first.killed, daemon.observer.said) == (8, "", [])
    assert [zygote.key for zygote in daemon.zygotes] == [KEY, *keys, OTHER]
    for zygote in daemon.zygotes:
        zygote.jobs, zygote.slow = [job()], True
    daemon.fleet.start_soon(ZygoteKey("late", False, "0"), 1)
    assert daemon.fleet.starting == 0  # none is idle


async def test_a_zygote_that_ended_is_counted_once():
    daemon = await Daemon().open()
    zygote = daemon.zygotes[0]
    zygote.on_change(zygote)
    assert len(daemon.zygotes) == 2
    zygote.alive = False
    for _ in range(2):
        zygote.on_change(zygote)
    assert (len(daemon.zygotes), daemon.observer.said) == (1, ["ended"])


async def test_zygotes_that_hang_are_killed_unless_the_daemon_was_away():
    daemon = await Daemon().open()
    hung, well = daemon.zygotes
    hung.hung = True
    daemon.fleet._watched_ns -= 10_000_000_000
    daemon.fleet.watch()
    assert (hung.killed, hung.pings, well.pings) == (None, 1, 1)
    daemon.fleet.watch()
    assert (hung.killed, well.killed, hung.pings, well.pings) == ("it hangs", None, 1, 2)
    assert daemon.observer.said == ["zygote_hung"]


async def test_the_figures_of_what_runs():
    daemon = await Daemon().open()
    jobs = [job("a", may_share=True), job("a", may_share=True), job("b")]
    await daemon.put(*jobs)
    daemon.zygotes[0].slow = True
    assert (daemon.fleet.busy, daemon.fleet.slow) == (2, ["a"])
    assert daemon.fleet.carried >= set(jobs)
    assert (daemon.scheduler.queue_age_s, daemon.scheduler.stalled_s) == (0.0, 0.0)
