"""When zygotes start and end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from cruxboxd.scheduling import fleet as fleets
from cruxboxd.zygotes.setup import ZygoteKey
from made_up_zygotes import DONE, KEY, LIMITS, MIB, OTHER, Daemon, Told, Zygote, job, made_up, settle  # noqa: F401 - a fixture

# ---- zygotes -------------------------------------------------------------------------


async def test_another_kind_of_zygote_starts_when_there_is_work_for_it():
    daemon = await Daemon().open()
    one, two = job(key=OTHER), job(key=OTHER)
    await daemon.put(one, two)
    assert [zygote.key for zygote in daemon.zygotes] == [KEY, KEY, OTHER, OTHER]
    assert daemon.running()[2:] == [[one, two], []]
    busy = [zygote.key for zygote in daemon.zygotes if zygote.load]
    assert (busy, daemon.scheduler._fleet.idle_keys) == ([OTHER], {KEY, OTHER})
    await daemon.put(job(key=ZygoteKey("third", False, "0")))
    assert len(daemon.zygotes) == 5
    await daemon.put(job(key=ZygoteKey("fourth", False, "0")))
    assert len(daemon.zygotes) == 5  # all slots are taken


async def test_a_tenant_without_a_worker_finds_a_zygote_for_it():
    daemon = await Daemon().open()
    await daemon.put(job("a"), job("a"))
    await daemon.put(job("b"))
    assert [len(jobs) for jobs in daemon.running()] == [2, 1, 0]  # b's did not wait until a third had started
    theirs = job("c")
    await daemon.put(job("a"), theirs)
    assert daemon.running()[2] == [theirs]


async def test_who_asks_for_a_zygote_pays_for_it_and_for_nothing_that_the_daemon_starts(
    monkeypatch: pytest.MonkeyPatch,
):
    daemon, paid = Daemon(), list[tuple[str, float]]()
    monkeypatch.setattr(daemon.fleet, "_charge", lambda *charged: paid.append(charged))
    monkeypatch.setattr(fleets.launch, "cpu_ns", lambda _pid: 10**9)
    monkeypatch.setattr(fleets.Template, "take_cost_ns", lambda _self: 10**9)
    await daemon.open()
    assert paid == []
    await daemon.fleet.start(OTHER, "t")
    assert paid == [("t", 2.0)]


async def test_what_forks_zygotes_ends_with_them():
    daemon = await Daemon().open()
    templates: list[Any] = list(daemon.fleet._templates.values())
    assert [one.is_open for one in templates] == [True]
    await daemon.scheduler.close()
    assert [one.is_open for one in templates] == [False]


async def test_where_all_of_a_kind_are_slow_another_starts_after_a_moment(monkeypatch: pytest.MonkeyPatch):
    clock, calls = SimpleNamespace(now=0, monotonic_ns=lambda: clock.now), []
    monkeypatch.setattr(fleets, "time", clock)
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda *call: calls.append(call))
    daemon = await Daemon(zygotes=8).open()
    await daemon.put(job(), job())
    for zygote in daemon.zygotes:
        zygote.slow = True
    await daemon.put(job())
    assert (len(daemon.zygotes), daemon.fleet.starting) == (2, 0)
    [(pause_s, look)] = calls
    clock.now += int(pause_s * 1e9)
    look()
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
    daemon.fleet.start_soon(job(key=OTHER), 1, daemon.fleet.taken, is_ahead=False)
    assert daemon.fleet.starting == 1  # with it there are as many as may be
    more = ZygoteKey("more", False, "0")
    daemon.fleet.start_soon(job(key=more), 1, daemon.fleet.taken, is_ahead=False)  # the other may take long
    assert (daemon.fleet.starting, len(daemon.zygotes)) == (2, 6)
    await settle()
    assert (len(daemon.zygotes), first.killed, daemon.observer.said) == (8, "", [])
    assert [zygote.key for zygote in daemon.zygotes] == [*keys, OTHER, more]
    for zygote in daemon.zygotes:
        zygote.jobs, zygote.slow = [job()], True
    daemon.fleet.start_soon(job(key=ZygoteKey("late", False, "0")), 1, daemon.fleet.taken, is_ahead=False)
    assert daemon.fleet.starting == 0  # none is idle


@pytest.mark.parametrize(("is_ahead", "busy", "starting"), [(False, 3, 1), (False, 4, 0), (True, 4, 1), (True, 6, 0)])
async def test_though_all_slots_are_taken_so_many_zygotes_are_enough(is_ahead, busy, starting):
    daemon = await Daemon(zygotes=8).open()
    for _ in range(busy - 2):
        await daemon.fleet.start(KEY)
    for zygote in daemon.zygotes:
        zygote.jobs = [job()]
    daemon.fleet.start_soon(job(), lambda _: 9, daemon.fleet.taken, is_ahead=is_ahead)
    assert daemon.fleet.starting == starting
    await settle()


async def test_zygotes_that_start_count_as_those_there_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda *_call: None)
    daemon = await Daemon(zygotes=8).open()
    await daemon.fleet.start(OTHER)
    daemon.fleet._starting[OTHER] = 1
    daemon.fleet.start_soon(job(key=OTHER), lambda _: 9, daemon.fleet.taken, is_ahead=False)
    assert (daemon.fleet.starting, OTHER in daemon.fleet._lacking) == (1, True)
    daemon.fleet._starting[OTHER] = 0
    daemon.fleet.start_soon(job(key=OTHER), lambda _: 9, daemon.fleet.taken, is_ahead=False)
    assert daemon.fleet.starting == 1
    await settle()


async def test_a_kind_has_one_template_until_there_are_too_many():
    """Then those go that have no zygote, and will have none soon."""
    daemon = await Daemon(zygotes=2).open()
    keys = [ZygoteKey(str(at), False, "0") for at in range(7)]
    for key in keys:
        zygote = await daemon.fleet.start(key)
        zygote.kill("it died")
        daemon.fleet._on_zygote(zygote)
    made = dict(daemon.fleet._templates)
    assert [*made] == [KEY, *keys]  # as many as there may be zygotes
    daemon.fleet._starting = {keys[0]: 1, keys[2]: 0, KEY: 1}  # of that there is one, and one more starts
    for key in (keys[1], OTHER):
        await daemon.fleet.start(key)
    assert {*daemon.fleet._templates} == {KEY, keys[0], keys[1], OTHER}
    assert {key for key, one in made.items() if one.is_open} == {KEY, keys[0], keys[1]}  # type: ignore[attr-defined]
    assert daemon.fleet._templates[keys[1]] is made[keys[1]]


async def test_templates_are_watched_unless_the_daemon_was_away(monkeypatch: pytest.MonkeyPatch):
    daemon = await Daemon().open()
    [template] = daemon.fleet._templates.values()
    daemon.fleet._watched_ns -= 10_000_000_000
    for looks in (0, 1):
        daemon.fleet.watch()
        assert template.looks == looks  # type: ignore[attr-defined]


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
    hung.silence_s = 11
    daemon.fleet._watched_ns -= 10_000_000_000
    daemon.fleet.watch()
    assert (hung.killed, hung.pings, well.pings) == (None, 1, 1)
    daemon.fleet.watch()
    assert (hung.killed, well.killed, hung.pings, well.pings) == ("it hangs", None, 1, 2)
    assert daemon.observer.said == ["zygote_hung"]


@pytest.mark.parametrize(("silence_s", "stopped", "is_slow", "is_killed"), [
    (0.25, True, False, False), (0.3, True, False, True), (2, False, False, False), (3, False, True, False),
    (3, True, False, True), (10, False, True, False), (11, False, False, True),
])  # fmt: skip
async def test_a_zygote_that_is_silent_keeps_no_slot(silence_s, stopped, is_slow, is_killed, monkeypatch):
    monkeypatch.setattr(fleets.strays, "is_stopped", lambda _pid: stopped)
    daemon = await Daemon().open()
    silent = daemon.zygotes[0]
    silent.silence_s = silence_s
    for _ in range(2):
        daemon.fleet.watch()
        assert (silent.given_back, silent.killed) == (is_slow, "it hangs" if is_killed else None)


@pytest.mark.parametrize(("silence_s", "stopped", "slow", "away_s", "is_killed"), [
    (0.11, True, False, 0, True), (0.1, True, False, 0, False), (9, False, False, 0, False),
    (0.11, True, True, 0, False), (9, True, False, 0.3, False),
])  # fmt: skip
async def test_a_stopped_zygote_with_a_fast_worker_is_replaced_at_once(
    silence_s, stopped, slow, away_s, is_killed, monkeypatch
):
    monkeypatch.setattr(fleets.strays, "is_stopped", lambda _pid: stopped)
    daemon = await Daemon().open()
    await daemon.put(job())
    [busy] = [zygote for zygote in daemon.zygotes if zygote.jobs]
    busy.silence_s, busy.slow = silence_s, slow
    daemon.fleet._glanced_ns = fleets.time.monotonic_ns() - int(away_s * 1e9)
    daemon.fleet.glance()
    assert busy.killed == ("it hangs" if is_killed else None)


async def test_the_figures_of_what_runs():
    daemon = await Daemon().open()
    jobs = [job("a", may_share=True), job("a", may_share=True), job("b")]
    await daemon.put(*jobs)
    daemon.zygotes[0].slow = True
    assert (daemon.fleet.busy, daemon.fleet.slow) == (2, ["a"])
    assert daemon.fleet.carried >= set(jobs)
    assert (daemon.scheduler.queue_age_s, daemon.scheduler.stalled_s) == (0.0, 0.0)
