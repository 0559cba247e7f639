"""What becomes of jobs that fail or are late, and when zygotes start and end."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from cruxboxd.scheduling import fleet as fleets
from cruxboxd.scheduling import scheduler as schedulers
from cruxboxd.scheduling import starvation
from cruxboxd.scheduling.bundles import Bundle
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.launch import Hung, StartError
from cruxboxd.zygotes.retry import RETRY, RetryPolicy
from cruxboxd.zygotes.setup import ZygoteKey
from cruxcell.protocol import messages
from made_up_zygotes import DONE, KEY, LIMITS, MIB, OTHER, Daemon, Told, Zygote, job, made_up, settle  # noqa: F401 - a fixture

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
    monkeypatch.setattr(RETRY.__class__, "pause_s", 0)
    daemon = await Daemon().open()
    (other,) = await daemon.put(job(key=OTHER))
    result = await asyncio.wait_for(other, 20)
    assert (result.error, result.attempts) == ("no zygote: broken", 1)
    assert daemon.observer.said == ["zygote_start"] * 3
    with pytest.raises(StartError):
        await daemon.fleet.start(OTHER)
    with pytest.raises(StartError):
        await daemon.fleet.open(OTHER)


@pytest.mark.parametrize("kind", [KEY, OTHER])
async def test_one_start_that_hangs_is_enough_where_there_is_no_zygote_of_its_kind(kind, monkeypatch):
    """To try again takes as long. Where there is one, what waits is for that."""

    def fail(_key: ZygoteKey) -> None:
        raise Hung("python")

    monkeypatch.setattr(fleets, "RETRY", RetryPolicy(pause_s=0))
    daemon = await Daemon(zygotes=8).open()
    busy = await daemon.put(*[job() for _ in range(2)])
    monkeypatch.setattr(Zygote, "starts", staticmethod(fail))
    for zygote in daemon.zygotes:
        zygote.slow = True
    daemon.fleet._lacking[KEY] = 0
    (waiting,) = await daemon.put(job(key=kind))
    if kind == OTHER:
        assert (await waiting).error == "no zygote: python was not ready within 30 s"
        assert daemon.observer.said == ["zygote_start"]
    else:
        for _ in range(100):
            await settle()
        assert len(daemon.observer.said) > RETRY.attempts
        assert not waiting.done()
        daemon.zygotes[0].end()
        await settle()
        daemon.zygotes[0].end()
        assert (await waiting) == (await busy[0]) == DONE


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
        assert pair.partner.on_over is not None, "what the test's half cost is paid for, too"  # type: ignore[union-attr]
        daemon.zygotes[0].end(result)
        if not result.error:
            await settle()
            assert not work.done()
            pair.partner.finish(Result(report=b"test"))  # type: ignore[union-attr]
        candidate, test = await work
        assert (candidate is test) is bool(result.error)


# ---- wall time that may be the host's ------------------------------------------------

UNSURE = Result(facts=Exit(9, killed=messages.KILLED_UNSURE))


@pytest.mark.parametrize(("charged_ns", "paid_ns"), [(None, 907), (675, 682)])
async def test_a_tenant_pays_for_its_share_of_a_worker(charged_ns, paid_ns: int, monkeypatch: pytest.MonkeyPatch):
    daemon, paid = await Daemon().open(), list[int]()
    monkeypatch.setattr(daemon.scheduler._queue, "done", lambda _job, cpu_ns: paid.append(cpu_ns))
    daemon.scheduler._over(job(spent_ns=7), Result(facts=Exit(cpu_ns=900), charged_ns=charged_ns))
    assert paid == [paid_ns]


def test_only_what_is_unsure_of_a_pair_is_decided():
    first, second = starvation.decided([DONE, UNSURE], 1 << 20)
    assert (first, second.facts.killed) == (DONE, messages.KILLED_WALL)


LATE = Result(facts=Exit(9, wall_ns=100, killed=messages.KILLED_WALL), is_held_up=True)


@pytest.mark.parametrize(
    ("late_ns", "again", "wall_ns", "killed"),
    [
        (0, None, 100, messages.KILLED_WALL),
        (1, 0, 100, messages.KILLED_WALL),
        (1, 50, 100, messages.KILLED_WALL),
        (1, 51, 100, messages.KILLED_STARVED),
    ],
)
async def test_a_timeout_of_a_worker_that_waited_for_a_late_event_loop_is_run_again(
    late_ns: int, again: int | None, wall_ns: int, killed: int, monkeypatch: pytest.MonkeyPatch
):
    """On a host that is not crowded: the daemon held its own loop, and a worker waited for its standard input."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0, 0))
    daemon = await Daemon().open()
    late = daemon.scheduler._lateness
    (work,) = await daemon.put(job())
    late._late_ns += late_ns
    daemon.zygotes[0].end(LATE)
    await settle()
    assert work.done() is (again is None)
    if again is not None:
        assert daemon.zygotes[0].jobs[0].limits.wall_ms == messages.WIDEST * LIMITS.wall_ms
        late._late_ns += again
        daemon.zygotes[0].end(replace(LATE, facts=replace(LATE.facts, wall_ns=wall_ns)))
    assert (await work).facts.killed == killed


async def test_late_is_what_comes_later_than_it_was_due(monkeypatch: pytest.MonkeyPatch):
    clock = SimpleNamespace(now=1, monotonic_ns=lambda: clock.now)
    monkeypatch.setattr(starvation, "time", clock)
    late = starvation.Lateness()
    found = []
    for held in (50, 51, 2000):
        sleeping = asyncio.ensure_future(late.sleep(0))
        await asyncio.sleep(0)
        clock.now += held * 10**6
        found.append(late.ns // 10**6)
        await sleeping
        assert late.ns == found[-1] * 10**6
    assert found == [0, 51, 2051]


@pytest.mark.parametrize(
    ("killed", "is_held_up", "late_ns"),
    [
        (messages.KILLED_WALL, True, 7), (messages.KILLED_UNSURE, True, 7),
        (messages.KILLED_WALL, False, 0), (messages.KILLED_CPU, True, 0),
    ],
)  # fmt: skip
async def test_lateness_counts_where_a_worker_may_have_waited_for_it(killed: int, is_held_up: bool, late_ns: int):
    late = starvation.Lateness()
    late._late_ns = 9
    result = Result(facts=Exit(9, killed=killed), is_held_up=is_held_up)
    assert late.noted(job(late_before_ns=2), result).late_ns == late_ns


def test_only_such_an_end_of_a_worker_is_unsure():
    assert starvation.is_unsure(UNSURE)
    assert not starvation.is_unsure(replace(UNSURE, error="no zygote"))
    for killed in range(messages.KILLED_PARTNER + 1):
        result = Result(facts=Exit(9, killed=killed))
        assert starvation.is_unsure(result) is (killed == messages.KILLED_UNSURE)
        late = replace(result, late_ns=1)
        assert starvation.is_unsure(late) is (killed in (messages.KILLED_UNSURE, messages.KILLED_WALL))


def test_a_crowded_host_is_no_excuse_for_a_wall_timeout_that_is_known(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (9.0, 0.0, 0.0))
    ends = [replace(each, late_ns=1) for each in (LATE, replace(LATE, facts=UNSURE.facts))]
    decided = [each.facts.killed for each in starvation.decided(ends, 2)]
    assert decided == [messages.KILLED_WALL, messages.KILLED_STARVED]


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
