"""Which worker is slow, and who may start one where all slots are taken: the rules, without workers."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import pytest
from cruxboxd.scheduling.fleet import Fleet
from cruxboxd.settings.config import Config
from cruxboxd.shared.observer import Observer
from cruxboxd.zygotes.setup import ZygoteSetup
from cruxcell.confinement import clocks
from cruxcell.confinement.clocks import FAST_IN_ALL_MS, FAST_MS, SLOW_LOOKS
from cruxcell.protocol import messages

MS = 1_000_000


@pytest.mark.parametrize(
    ("used_ms", "dots_at", "ends_at", "is_fast"),
    [
        ([1], (), 1, True),
        ([0] * (SLOW_LOOKS - 1), (), SLOW_LOOKS, True),  # it had no CPU
        ([0] * SLOW_LOOKS, (), 99, False),  # or sleeps
        ([FAST_MS], (), 99, False),
        ([0, FAST_MS - 1, FAST_MS], (), 99, False),
        ([0] * 3 * SLOW_LOOKS, (3, 7, 11), 12, True),  # it gets checks done
        ([0] * 3 * SLOW_LOOKS, (3,), 99, False),
    ],
)
def test_a_worker_is_slow_when_it_has_used_the_time(monkeypatch, used_ms, dots_at, ends_at, is_fast):
    """`used_ms`: CPU time since its check began at each look; `dots_at`: the looks at which a check is done;
    `ends_at`: at which it hangs up."""
    looks = 0

    def hangs_up(_progress: int, _timeout_ms: int) -> bool:
        nonlocal looks
        looks += 1
        return looks == ends_at

    clock = SimpleNamespace(progress=7, used=lambda: used_ms[looks - 1] * MS)
    watched = clocks.Clocks(1, 0, [clock])
    monkeypatch.setattr(clocks, "hangs_up", hangs_up)
    monkeypatch.setattr(clocks, "_has_dots", lambda _progress: looks in dots_at)
    monkeypatch.setattr(watched, "_take", lambda _clock: True)
    assert watched.ends_fast() is is_fast
    assert looks <= max(ends_at if is_fast else len(used_ms), 1)


_LAST = FAST_IN_ALL_MS // 2  # the look after 2 ms a look at which it is too late


@pytest.mark.parametrize(("modest", "ends_at", "is_fast"), [(0, 99, True), (8, _LAST, True), (8, 99, False)])
def test_beside_others_a_worker_is_slow_after_a_time_however_much_it_gets_done(monkeypatch, modest, ends_at, is_fast):
    looks = 0

    def hangs_up(_progress: int, _timeout_ms: int) -> bool:
        nonlocal looks
        looks += 1
        return looks == ends_at

    watched = clocks.Clocks(1, 0, [SimpleNamespace(progress=7, used=lambda: 0, used_in_all=lambda: looks * 2 * MS)])
    monkeypatch.setattr(clocks, "hangs_up", hangs_up)
    monkeypatch.setattr(clocks, "_has_dots", lambda _progress: True)
    monkeypatch.setattr(watched, "_take", lambda _clock: True)
    assert watched.ends_fast(modest) is is_fast
    assert looks == (ends_at if is_fast else _LAST)


def test_dots_that_no_longer_count_wake_nobody():
    control, control_end = os.pipe()
    progress, progress_end = os.pipe()
    wall_ns = 200 * MS
    watched = clocks.Clocks(wall_ns, time.monotonic_ns(), [clocks.Clock(os.getpid(), progress, 10**15)])
    os.write(progress_end, b".!")
    assert watched.wait(control) is False  # at once: this dot counts
    watched.clock(progress).is_asked = True
    began = time.monotonic_ns()
    os.write(progress_end, b"." * 9_000)
    assert watched.wait(control) is False
    assert time.monotonic_ns() - began >= wall_ns // 2
    assert not watched.hung_up
    os.close(progress_end)
    watched.wait(control)
    assert watched.hung_up == {progress}
    for end in (control, control_end, progress):
        os.close(end)


@pytest.mark.parametrize("stands_still_ms", [0, 5_000, 100_000])
def test_time_in_which_everything_stood_still_is_nobodys(monkeypatch, stands_still_ms):
    """As of a container that is paused: who watches cannot look then, and a worker cannot run."""
    now = 1_000_000 * MS
    monkeypatch.setattr(
        clocks, "time", SimpleNamespace(monotonic_ns=lambda: now, clock_gettime_ns=lambda _clock: 10 * MS)
    )
    clock = clocks.Clock(os.getpid(), 7, 10**15)
    watched = clocks.Clocks(1_000 * MS, now, [clock])
    clock.equip(())
    for _ in range(4):
        now += 200 * MS
        assert watched.expired() == messages.NOT_KILLED
    now += stands_still_ms * MS
    assert watched.expired() == messages.NOT_KILLED
    now += 150 * MS
    assert watched.expired() == messages.NOT_KILLED
    now += 250 * MS + 100 * MS
    assert watched.expired() == messages.KILLED_UNSURE


@pytest.mark.parametrize(
    ("waited_ms", "others_ms", "killed"),
    [
        (0, 0, messages.KILLED_WALL),
        (500, 0, messages.NOT_KILLED),
        (500, 200, messages.NOT_KILLED),
        (500, 500, messages.KILLED_WALL),
        (500, 5_000, messages.KILLED_WALL),
        (3_500, 0, messages.KILLED_STARVED),
        (3_500, 3_500, messages.KILLED_WALL),
    ],
)
@pytest.mark.parametrize("before_ms", [0, 300])
def test_what_its_own_threads_ran_a_worker_has_not_waited(
    monkeypatch, tmp_path, waited_ms, others_ms, killed, before_ms
):
    """Or a program whose threads keep its first one from a CPU would be a failure of the host, which is masked."""
    now, ran_ms = 1_000_000 * MS, 100
    told = {"clock": before_ms, "stat": f"{before_ms * MS} {before_ms * MS} 1"}
    monkeypatch.setattr(
        clocks,
        "time",
        SimpleNamespace(monotonic_ns=lambda: now, clock_gettime_ns=lambda _clock: told["clock"] * MS),
    )
    monkeypatch.setattr(clocks.Clock, "_state", lambda _clock: b"S")
    clock = clocks.Clock(os.getpid(), 7, 10**15)
    path = tmp_path / "schedstat"
    path.write_text(told["stat"])
    clock.equip((os.open(path, os.O_RDONLY), os.open(path, os.O_RDONLY)))
    assert clock.take(b".")
    path.write_text(f"{(before_ms + ran_ms) * MS} {(before_ms + waited_ms) * MS} 1")
    told["clock"] = before_ms + ran_ms + others_ms
    watched = clocks.Clocks(1_000 * MS, now, [clock])
    monkeypatch.setattr(watched, "_look", lambda: None)
    now += 1_001 * MS if waited_ms < 3_000 else 4_000 * MS
    assert watched.expired() == killed
    clock.close()


def test_a_watched_worker_is_looked_at_often():
    control, control_end = os.pipe()
    progress, progress_end = os.pipe()
    began = time.monotonic_ns()
    watched = clocks.Clocks(10**13, began, [clocks.Clock(os.getpid(), progress, 10**15)])
    assert watched.wait(control) is False
    assert time.monotonic_ns() - began < 5_000 * MS
    for end in (control, control_end, progress, progress_end):
        os.close(end)


def _fleet(zygotes: list[SimpleNamespace]) -> Fleet:
    fleet = Fleet(
        Config(workers=2, zygotes=8), lambda _: ZygoteSetup("", {}, []), Observer(),
        on_change=lambda: None, requeue=lambda _: None, give_up=lambda *_: None, charge=lambda *_: None,
    )  # fmt: skip
    fleet._zygotes = zygotes  # type: ignore[assignment]
    return fleet


def _zygote(*tenants: str, slow: bool = False) -> SimpleNamespace:
    return SimpleNamespace(load=len(tenants), slow=slow, jobs=[SimpleNamespace(tenant=name) for name in tenants])


@pytest.mark.parametrize(
    ("zygotes", "may_start"),
    [
        ([_zygote("a")], {"a", "b", "c"}),
        ([_zygote("a"), _zygote("a")], {"b", "c"}),
        ([_zygote("a"), _zygote("a", "b")], {"c"}),  # b's comes next
        ([_zygote("a"), _zygote("a"), _zygote("b")], {"c"}),
        ([_zygote("a"), _zygote("a"), _zygote("b"), _zygote("d")], set()),
        ([_zygote("a"), _zygote("a"), _zygote("b", slow=True), _zygote()], {"b", "c"}),
        ([_zygote("a"), _zygote("a"), *[_zygote("b", slow=True)] * 6], set()),  # as many as may be busy
    ],
)
def test_who_has_no_worker_gets_one_where_all_slots_are_taken(zygotes, may_start):
    fleet = _fleet(zygotes)
    assert {name for name in "abc" if fleet.has_room_for(name, fleet.taken, is_ahead=False)} == may_start


_TAKEN = [_zygote("b"), _zygote("b"), _zygote("c"), _zygote("d")]  # all that those may have who are not ahead


@pytest.mark.parametrize(
    ("zygotes", "may_start"),
    [
        (_TAKEN, True),
        ([*_TAKEN, _zygote("a")], True),
        ([*_TAKEN, _zygote("b", "a")], True),
        ([*_TAKEN, _zygote("a", slow=True), _zygote("a")], True),
        ([*_TAKEN, _zygote("a"), _zygote("b", "a")], False),
        ([_zygote("a"), _zygote("b", "a"), _zygote("b")], False),  # as many as there are slots
        ([*_TAKEN, _zygote("e"), _zygote("e")], False),  # that others have who are ahead
        ([*_TAKEN, *[_zygote("b", slow=True)] * 4], False),  # as many as may be busy
    ],
)
def test_who_is_ahead_waits_for_nobody_who_is_not(zygotes, may_start):
    fleet = _fleet(zygotes)
    assert fleet.has_room_for("a", fleet.taken, is_ahead=True) is may_start
    assert not fleet.has_room_for("a", fleet.taken, is_ahead=False)


@pytest.mark.parametrize(("taken", "left"), [([], {0, 1, 2}), ([0, 2], {1}), ([0, 1, 1, 2], {0, 2})])
def test_a_pair_gets_a_cpu_that_the_fewest_have(monkeypatch, taken, left):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {4, 5, 7})
    halves = [[SimpleNamespace(partner=True, seat=seat), SimpleNamespace(partner=None, seat=0)] for seat in taken]
    alone = [SimpleNamespace(partner=None, seat=0)]  # it has no CPU of its own
    fleet = _fleet([SimpleNamespace(jobs=jobs) for jobs in [*halves, alone, []]])
    assert {fleet.seat() for _ in range(100)} == left


@pytest.mark.parametrize(
    ("modest", "seat", "left"),
    [
        (0, None, None), (1, None, {5, 7, 9}), (0, 2, {7}), (0, 5, {5}), (1, 2, {9}), (1, 3, {5}),
    ],
)  # fmt: skip
def test_a_slow_worker_leaves_cpus_to_others_and_a_pair_has_one(monkeypatch, modest, seat, left):
    given = {}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {4, 5, 7, 9})
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cpus: given.update({pid: set(cpus)}))
    monkeypatch.setattr(os, "setpriority", lambda *_: None)
    monkeypatch.setattr(os, "getpriority", lambda *_: 0)
    clocks.step_back(1234, modest, seat)
    assert given.get(1234) == left


@pytest.mark.parametrize(
    ("zygotes", "workers", "lowered"),
    [
        (0, 0, 10), (-5, 0, 10), (-5, -5, 10), (0, 10, 10),
        (5, 5, 11), (5, 10, 11), (10, 10, 16), (10, 15, 16), (10, 16, 16), (19, 19, 19),
    ],
)  # fmt: skip
def test_a_slow_worker_comes_behind_all_that_are_fast(monkeypatch, zygotes, workers, lowered):
    """However low the daemon's priority is: workers have that, or come before it with their zygote."""
    given = []
    monkeypatch.setattr(os, "getpriority", lambda _, pid: workers if pid else zygotes)
    monkeypatch.setattr(os, "setpriority", lambda *asked: given.append(asked))
    clocks.step_back(1234, 0)
    assert given == [(os.PRIO_PROCESS, 1234, lowered)]
