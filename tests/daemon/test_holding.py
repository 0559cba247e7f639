"""What waits for verdicts is counted from the moment it is here, until it leaves in them."""

from __future__ import annotations

import asyncio

import pytest
from cruxboxd.scheduling import fair_queue
from cruxboxd.scheduling.holding import Holding, current_holding, hold_more, is_awaited, leave
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Outlet, Result, current_outlet
from cruxboxd.zygotes.read_back import FilesRead
from made_up_zygotes import Daemon, job, made_up, settle  # noqa: F401 - a fixture

SIZE = 1 << 20
RESULT = Result(b"r" * SIZE, Exit(), streams=(b"o" * SIZE, b"e"), files=FilesRead((("f", b"123"),)))


def test_with_each_verdict_its_bytes_leave_and_with_the_last_all():
    holding = Holding(lambda _holding, size: changes.append(size), 3)
    changes: list[int] = []
    holding.add(100)
    holding.leave(30)
    holding.leave(90)
    assert holding.size == 0
    holding.add(5)
    holding.leave(1)
    holding.add(7)  # of a worker whose result nobody waits for any more
    holding.close()
    assert (changes, holding.size) == ([100, -30, -70, 5, -5], 0)


def test_a_holding_of_which_no_verdict_comes_holds_nothing():
    for verdicts, size in ((1, 9), (0, 0)):
        holding = Holding(lambda _holding, _size: None, 2)
        holding.add(9)
        holding.expect(verdicts)
        assert holding.size == size


def test_outside_of_one_nothing_is_held():
    assert current_holding.get() is None
    hold_more(1)
    leave(1)


def held_by(daemon: Daemon) -> int:
    return daemon.scheduler._queue._queue_of("a").results


async def test_a_result_waits_from_the_moment_its_worker_is_gone():
    """Its coroutine is told a pass later, and looks at it whenever others have come."""
    daemon = Daemon()
    with daemon.scheduler.holding("a") as holding:
        one = job("a")
        running = asyncio.ensure_future(daemon.scheduler.run(one))
        await asyncio.sleep(0)
        assert (held_by(daemon), list(holding.jobs)) == (0, [one])
        daemon.scheduler._queue.remove(one)
        one.finish(RESULT)
        assert held_by(daemon) == 2 * SIZE + 4
        await running
        assert not holding.jobs
        hold_more(1)
        assert held_by(daemon) == 2 * SIZE + 5
        leave(0)
        assert held_by(daemon) == 0
    assert current_holding.get() is None


async def test_results_count_of_the_call_too_and_what_was_put_aside_comes_back_when_they_have_left():
    daemon, outlet = await Daemon().open(), Outlet()
    current_outlet.set(outlet)
    with daemon.scheduler.holding("t", 2) as holding:
        holding.add(33 * SIZE)
        assert outlet.held == 33 * SIZE
    assert outlet.held == 0
    with daemon.scheduler.holding("t", 2) as holding:
        holding.add(33 * SIZE)
        with daemon.scheduler.holding("t"):
            await daemon.put(one := job())
        assert (daemon.running(), daemon.scheduler.depth) == ([[], []], 1)
        holding.leave(SIZE)
        await settle()
        assert [one] in daemon.running()


async def test_what_is_begun_where_results_wait_follows_upon_them():
    daemon = Daemon()
    jobs = [job("a"), job("a")]
    with daemon.scheduler.holding("a", 2):
        for one in jobs:
            running = asyncio.ensure_future(daemon.scheduler.run(one))
            await asyncio.sleep(0)
            daemon.scheduler._queue.remove(one)
            one.finish(RESULT)
            await running
    assert [one.follows for one in jobs] == [False, True]
    assert held_by(daemon) == 0


async def test_what_is_awaited_or_follows_already_follows_upon_results():
    daemon, jobs = Daemon(), [job("a"), job("a", follows=True), job("a")]
    for at, one in enumerate(jobs):
        is_awaited.set(at == 2)
        with daemon.scheduler.holding("a"):
            running = asyncio.ensure_future(daemon.scheduler.run(one))
            await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait([running])
    assert [one.follows for one in jobs] == [False, True, True]


async def test_a_job_that_nobody_waits_for_any_more_is_no_holdings():
    daemon = Daemon()
    with daemon.scheduler.holding("a") as holding:
        running = asyncio.ensure_future(daemon.scheduler.run(job("a")))
        await asyncio.sleep(0)
        assert len(holding.jobs) == 1
        running.cancel()
        await asyncio.wait([running])
        assert not holding.jobs


async def test_what_was_put_aside_comes_back_once_there_is_room_again(monkeypatch: pytest.MonkeyPatch):
    daemon, outlet, resumed = Daemon(), Outlet(), list[int]()
    monkeypatch.setattr(daemon.scheduler, "resume", lambda: resumed.append(outlet.held // SIZE))
    current_outlet.set(outlet)
    with daemon.scheduler.holding("t", 9) as holding:
        for size in (30, 10, -2, -10, -1, 1):
            (holding.add if size > 0 else holding.leave)(abs(size) * SIZE)
    assert resumed == [28]


async def test_what_is_behind_more_than_is_put_aside_in_one_go_begins_in_the_next(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fair_queue, "_MOST_ASIDE", 1)
    daemon, outlet = await Daemon().open(), Outlet()
    monkeypatch.setattr(Outlet, "is_full", property(lambda self: self is outlet))
    current_outlet.set(outlet)
    aside = [asyncio.ensure_future(daemon.scheduler.run(job())) for _ in range(3)]
    await asyncio.sleep(0)
    current_outlet.set(None)
    await daemon.put(free := job())
    assert (daemon.running(), daemon.scheduler.depth) == ([[free], []], 3)
    for one in aside:
        one.cancel()
