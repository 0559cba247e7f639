"""Which job goes to which zygote, and what becomes of jobs that are called off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cruxboxd.scheduling.memory_share import MemoryShare
from cruxboxd.tenancy.tenants import HOUSE
from cruxcell.protocol import messages
from made_up_zygotes import DONE, KEY, LIMITS, MIB, OTHER, Daemon, Told, Zygote, job, made_up, settle  # noqa: F401 - a fixture

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


async def test_what_waits_behind_others_of_its_tenant_costs_no_look_at_the_zygotes(monkeypatch: pytest.MonkeyPatch):
    daemon = await Daemon().open()
    await daemon.put(*[job("a") for _ in range(5)])  # all that may run do, and one waits
    looks = []
    monkeypatch.setattr(daemon.scheduler, "_next_placed", lambda: looks.append(1))
    await daemon.put(job("a"))
    await daemon.put(job("a", key=OTHER))
    assert not looks
    await daemon.put(job("b"))
    assert len(looks) == 1


async def test_a_look_at_many_jobs_counts_what_is_taken_once(monkeypatch: pytest.MonkeyPatch):
    daemon = await Daemon(zygotes=8).open()
    for _ in range(4):
        await daemon.fleet.start(KEY)
    await daemon.put(*[job(name) for name in "abcdefgh" * 2])
    counted: list[Zygote] = []

    def memory_bytes(zygote: Zygote) -> int:
        counted.append(zygote)
        return 0

    monkeypatch.setattr(Zygote, "memory_bytes", property(memory_bytes))
    assert daemon.scheduler._next_placed() is None  # eight tenants wait
    assert len(counted) <= len(daemon.zygotes)


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


async def test_workers_beyond_the_slots_are_followed_by_nobody():
    """One was slow, so that another started, and is so no more: as after a job that was called back from behind it."""
    daemon = await Daemon().open()
    await daemon.fleet.start(KEY)
    await daemon.put(job(), job())
    daemon.zygotes[0].slow = True
    await daemon.put(job())
    daemon.zygotes[0].slow = False
    await daemon.put(*[job() for _ in range(4)])
    assert [len(jobs) for jobs in daemon.running()] == [1, 1, 1]
    daemon.zygotes[0].end()
    assert [len(jobs) for jobs in daemon.running()] == [0, 2, 2]


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
    assert daemon.fleet.fits(one, 1, daemon.fleet.taken)
    await daemon.put(one)
    assert not daemon.fleet.fits(job(), 1, daemon.fleet.taken)
    daemon.fleet._memory_share = MemoryShare(0, 0)  # not bounded
    assert daemon.fleet.fits(job(), 1, daemon.fleet.taken)


def sized(size: int, tenant: str) -> Any:
    made = job(tenant)
    made.limits = replace(LIMITS, memory_bytes=size * MIB - made.report_cap)
    return made


async def test_who_holds_much_memory_leaves_some_and_delays_nobody():
    daemon = await Daemon(zygotes=8).open()
    for _ in range(4):
        await daemon.fleet.start(KEY)
    much = [sized(30, "a") for _ in range(4)]
    await daemon.put(*much)
    for zygote in daemon.zygotes:
        zygote.slow = bool(zygote.jobs)  # they sleep
    await daemon.put(sized(15, "a"))
    running = [one for jobs in daemon.running() for one in jobs]
    assert (running, daemon.scheduler.depth) == (much[:2], 3)  # a quarter is for the next tenant
    small = [sized(20, "b"), sized(20, "b")]
    await daemon.put(*small)
    assert set(small) <= {one for jobs in daemon.running() for one in jobs}


async def test_a_large_job_of_a_tenant_that_holds_little_is_overtaken_only_by_who_keeps_to_its_share():
    daemon = await Daemon(zygotes=8).open()
    for _ in range(4):
        await daemon.fleet.start(KEY)
    await daemon.put(sized(45, "a"), sized(20, "b"))
    for zygote in daemon.zygotes:
        zygote.slow = bool(zygote.jobs)
    large, more, modest = sized(60, "c"), sized(25, "b"), sized(10, "b")
    await daemon.put(large, more)
    assert daemon.scheduler.depth == 2  # it would fit, but is beyond a third of 100
    await daemon.put(modest)
    assert daemon.scheduler.depth == 3  # of one tenant, what comes first goes first
    daemon.zygotes[0].end()
    await settle()
    assert large in [one for jobs in daemon.running() for one in jobs]


@pytest.mark.parametrize("is_large_first", [True, False])
@pytest.mark.parametrize("is_more_between", [True, False])
async def test_who_does_not_keep_to_its_share_waits_behind_a_large_job_of_who_does(
    is_large_first: bool, is_more_between: bool
):
    """Though it would fit, and whoever else has to wait between them."""
    daemon = await Daemon(zygotes=8).open()
    for _ in range(6):
        await daemon.fleet.start(KEY)
    await daemon.put(sized(10, "b"))
    await daemon.put(sized(8, "d"))
    await daemon.put(sized(8, "e"))
    for zygote in daemon.zygotes:
        zygote.slow = bool(zygote.jobs)
    waiting = [sized(90, "c")] * is_large_first + [sized(80, "d")] * is_more_between + [small := sized(25, "b")]
    daemon.scheduler._is_pumping = True
    await daemon.put(*waiting)
    assert [one.tenant for one in daemon.scheduler._queue.heads()] == [one.tenant for one in waiting]
    daemon.scheduler._is_pumping = False
    daemon.scheduler._pump()
    assert (small in [one for jobs in daemon.running() for one in jobs]) is not is_large_first


@pytest.mark.parametrize(
    ("need", "own", "others", "present", "fits", "is_within"),
    [
        (1000, 0, 0, 1, True, True),  # alone on an empty host
        (75, 0, 1, 1, True, True),
        (75, 25, 0, 1, False, True),  # the reserve
        (50, 25, 0, 1, True, True),
        (50, 0, 50, 2, True, True),  # whoever holds none may take the reserve
        (51, 0, 50, 2, False, True),
        (25, 25, 50, 2, True, True),  # its share
        (26, 25, 45, 2, False, False),
        (20, 40, 20, 2, False, False),
        (10, 10, 0, 9, True, False),  # as much as it leaves free
        (40, 10, 0, 9, True, False),
        (41, 10, 0, 9, False, False),
        (10, 10, 85, 2, False, True),  # its share, but there is no room
        (20, 25, 57, 2, False, True),
    ],
)
def test_how_much_memory_a_tenant_may_hold(need: int, own: int, others: int, present: int, fits: bool, is_within: bool):
    share = MemoryShare(100, 25)
    assert (share.fits(need, own, others, present), share.is_within(need, own, present)) == (fits, is_within)


async def test_who_holds_too_many_slow_workers_starts_nothing():
    daemon = await Daemon().open()
    await daemon.put(job("a"), job("a"))
    for zygote in daemon.zygotes:
        zygote.slow = True
    await daemon.put(job("a"))
    assert daemon.scheduler.depth == 1
    await daemon.put(job(HOUSE), job(HOUSE))
    where = daemon.scheduler.where()
    assert (where["held_back"], where["has_memory"], where["has_room"]) == (["a"], True, True)
    assert where["canaries"] == {"waiting": 2, "out": 0, "held": 0}


async def test_a_pair_has_a_place_of_its_own_and_no_other_job_has(monkeypatch: pytest.MonkeyPatch):
    daemon = await Daemon().open()
    monkeypatch.setattr(daemon.fleet, "seat", lambda: 7)
    pair, alone = job(partner=job(is_partner=True)), job()
    await daemon.put(pair, alone)
    assert (daemon.running(), pair.seat, alone.seat) == ([[pair], [alone]], 7, 0)


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
    large = [job(may_share=True, checks=32), job(may_share=True, checks=32)]
    await daemon.put(*large)
    assert daemon.running()[1] == [large[0]]


@pytest.mark.parametrize(("others", "shared"), [([], 2), (["b"], 0)])
async def test_beside_other_tenants_fewer_share_a_worker(others: list[str], shared: int):
    daemon = await Daemon().open()
    await daemon.put(*[job("a", may_share=True, checks=16) for _ in range(2)], *[job(other) for other in others])
    assert len(daemon.running()[0][0].carried) == shared


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
    works = await daemon.put(job())
    zygotes = daemon.zygotes
    await daemon.scheduler.close()
    assert [(await work).error for work in works] == ["the server is shutting down"]
    assert [zygote.killed for zygote in zygotes] == ["", ""]
    for again in (daemon.scheduler._requeue, daemon.scheduler._run_again):
        late = job()
        again(late)
        assert (late.future.result().error, daemon.scheduler.depth) == ("cancelled", 0)
    daemon.scheduler._queue.put(job())
    daemon.scheduler._pump()
    assert [len(zygote.jobs) for zygote in zygotes] == [1, 0]
