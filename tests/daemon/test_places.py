"""So many requests of a tenant are begun at the same time, and tenants take turns at beginning."""

from __future__ import annotations

import asyncio
import time

import pytest
from cruxboxd.judging.judge import Judge
from cruxboxd.judging.tasks import StepCount, Task
from cruxboxd.settings.config import DEFAULT_LIMITS, Config
from cruxboxd.shared.fair_loop import current_tenant, share_loop
from cruxboxd.tenancy import starts
from cruxboxd.tenancy.admission import Admission
from cruxboxd.tenancy.starts import Starts


async def test_a_place_is_free_as_soon_as_its_request_has_earned_it(monkeypatch):
    assert 0.05 <= starts.REFUSED_S < starts.LEFT_S
    monkeypatch.setattr(starts, "REFUSED_S", 0.05)
    places = Starts(1)
    for end, least_s, left_s in (("answered", 0.0, 1000), ("refused", 0.05, 1000), ("", 0.2, 0.2)):
        monkeypatch.setattr(starts, "LEFT_S", left_s)
        began = time.monotonic()
        first = await places.begin("a")
        following = asyncio.create_task(places.begin("a"))
        (await places.begin("b")).answered()
        assert not following.done()
        for _ in range(2 if end else 0):
            getattr(first, end)()  # twice is once
        second = await following
        assert time.monotonic() - began >= least_s
        second.answered()
        first.answered()
        first.refused()
        assert (places._begun, places._waiting) == ({}, {})
    third = await places.begin("a")
    await asyncio.sleep(0.1)  # nothing frees it for who was refused after the answer
    assert places._begun == {"a": 1}
    third.answered()


@pytest.mark.parametrize(("workers", "places"), [(1, 16), (4, 16), (5, 20), (64, 256)])
async def test_a_tenant_has_four_places_a_worker_and_at_least_sixteen(workers, places):
    starts_of = Admission(Config(workers=workers), True, lambda: 0.0, lambda _: 0.0).starts
    for _ in range(places):
        await asyncio.wait_for(starts_of.begin("a"), 5)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(starts_of.begin("a"), 0.05)


async def test_without_a_bound_nobody_waits():
    places = Starts(0)
    begun = [await asyncio.wait_for(places.begin("a"), 5) for _ in range(3)]
    for one in begun:
        one.answered()
    assert places._begun == {}


async def test_who_waits_for_a_place_and_leaves_takes_none():
    places = Starts(1)
    first = await places.begin("a")
    waiting = [asyncio.create_task(places.begin("a")) for _ in range(4)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    first.answered()
    waiting[1].cancel()  # whose place it was already
    for each in waiting[2:]:
        (await asyncio.wait_for(each, 5)).answered()
    assert (places._begun, places._waiting) == ({}, {})


async def test_the_last_that_waits_may_leave_too():
    places = Starts(1)
    first = await places.begin("a")
    last = asyncio.create_task(places.begin("a"))
    await asyncio.sleep(0)
    first.answered()
    last.cancel()  # whose place it was already
    with pytest.raises(asyncio.CancelledError):
        await last
    assert (places._begun, places._waiting) == ({}, {})


async def test_who_is_dropped_while_it_waits_frees_no_place():
    places = Starts(1)
    first = await places.begin("a")
    dropped = places.begin("a")
    dropped.send(None)
    dropped.close()
    assert (places._begun, places._waiting) == ({"a": 1}, {})
    ahead = asyncio.create_task(places.begin("a"))
    await asyncio.sleep(0)
    dropped = places.begin("a")
    dropped.send(None)
    dropped.close()
    await asyncio.sleep(0)
    assert not ahead.done()
    first.answered()
    (await ahead).answered()


async def test_who_has_many_tasks_to_begin_does_not_hold_up_who_has_few():
    judge, begun = Judge(None, "0"), []

    async def judge_task(task: Task, *_: object) -> None:
        begun.append(task.tenant)

    def some(tenant: str, count: int) -> list[Task]:
        return [Task("", b"", [], DEFAULT_LIMITS, "python", True, None, 1, StepCount.INSTRUCTIONS, tenant)] * count

    async def judged(tenant: str, count: int) -> None:
        current_tenant.set(tenant)
        await judge.judge(some(tenant, count), None)

    judge._judge_task = judge_task
    share_loop()
    much = [asyncio.create_task(judged("much", 21)) for _ in range(50)]
    await asyncio.sleep(0)
    await asyncio.create_task(judged("little", 1))
    assert begun.index("little") < 100
    await asyncio.gather(*much)
    assert begun.count("much") == 50 * 21
