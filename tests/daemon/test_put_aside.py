"""Jobs whose verdicts have nowhere to go: they are put aside until somebody reads."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from cruxboxd.scheduling.fair_queue import FairQueue
from cruxboxd.scheduling.holding import Holding
from cruxboxd.zygotes.jobs import Outlet
from cruxboxd.zygotes.setup import ZygoteKey
from queued_jobs import KEY, MIB, Full, drain, job, put_aside_and_back, take


def test_who_is_put_in_behind_another_lets_nobody_go_unless_that_waits_for_its_reader():
    queue, unread, first = FairQueue(), FairQueue(), replace(job(), outlet=Full())
    assert [queue.put(job()) for _ in range(2)] == [True, False]
    assert [unread.put(one) for one in (first, job())] == [True, True]


def test_work_whose_verdicts_nobody_reads_is_put_aside_until_somebody_does():
    queue = FairQueue()
    outlet = Full()
    jobs = [job() for _ in range(5)]
    jobs[0].outlet = jobs[1].outlet = outlet
    jobs[3].outlet = Outlet()
    for one in jobs[:3]:
        queue.put(one)
    assert take(queue) is jobs[2]
    assert take(queue) is None
    assert (queue.checks, queue.present) == (2, 1)
    queue.resume()
    assert take(queue) is None  # it is full still
    outlet.is_full = False
    queue.resume()
    assert take(queue) is jobs[0]  # although nothing else of its tenant has come meanwhile
    outlet.is_full = True
    assert take(queue) is None
    queue.put(jobs[3])
    outlet.is_full = False
    queue.put(jobs[4])
    queue.resume()
    assert drain(queue) == [jobs[1], jobs[3], jobs[4]]  # in front of what came later
    assert queue.checks == 0


def test_who_passes_by_needs_another_zygote_and_has_room_for_its_verdicts():
    queue, other, third = FairQueue(), ZygoteKey("other", False, "0"), ZygoteKey("third", False, "0")
    jobs = [job() for _ in range(5)]
    for one, key in zip(jobs, [KEY, KEY, other, third, other]):
        one.key = key
        queue.put(one)
    jobs[2].outlet, jobs[4].outlet = Full(), Outlet()
    assert queue.next_of(jobs[0], {KEY, other}.__contains__) is jobs[4]
    assert queue.next_of(jobs[0], {KEY, third}.__contains__) is jobs[3]
    assert queue.next_of(jobs[0], {KEY}.__contains__) is None


def test_work_that_was_put_aside_can_be_called_off():
    queue = FairQueue()
    jobs = [job(), job()]
    for one in jobs:
        one.outlet = Full()
        queue.put(one)
    assert take(queue) is None
    queue.resume()
    assert (take(queue), queue._waiting) == (None, {})
    assert queue.remove(jobs[0])
    assert not queue.remove(jobs[0])
    assert queue.take_all(lambda one: True) == [jobs[1]]
    queue.resume()
    assert (queue.checks, queue.present, queue._waiting) == (0, 0, {})


def test_work_waits_for_streams_to_be_read_if_it_is_not_their_own():
    queue, unread, read = FairQueue(), Full(is_unread=True), Outlet()
    for outlet in (unread, unread, read):
        one = job()
        one.outlet = outlet
        queue.put(one)
    asked = [(queue.is_held_up("b", True), queue.is_held_up("a", True))]
    assert asked == [(False, False)]  # nothing was put aside
    holding = Holding(lambda *_: None, 2)
    queue.hold("a", holding, 129 * MIB)
    assert queue.is_held_up("a", False)
    queue.hold("a", holding, -129 * MIB)
    assert not queue.is_held_up("a", False)


@pytest.mark.parametrize(("is_unread", "is_held_up"), [(True, False), (False, True)])
def test_what_was_put_aside_waits_for_streams_to_be_read(is_unread: bool, is_held_up: bool):
    queue, one = FairQueue(), job()
    one.outlet = Full(is_unread)
    queue.put(one)
    assert take(queue) is None
    assert (queue.is_held_up("a", True), queue.is_held_up("a", False)) == (is_held_up, False)


@pytest.mark.parametrize("is_full", [False, True])
def test_who_waits_for_its_own_reader_gathers_no_credit(is_full: bool):
    """Else whoever does not read for a minute would have the machine to itself for as long."""
    queue, outlet, holding = FairQueue(), Full(), Holding(lambda each, size: queue.hold("a", each, size), 1)
    outlet.is_full = is_full
    holding.add(0 if is_full else 129 * MIB)
    for _ in range(20):
        queue.put(replace(job("a"), outlet=outlet))
        queue.put(job("b"))
        queue.put(job("b"))
    assert [take(queue).tenant for _ in range(20)] == ["b"] * 20
    outlet.is_full = False
    holding.close()
    queue.resume()
    assert Counter(take(queue).tenant for _ in range(20))["a"] in (10, 11)


def test_what_has_nowhere_to_go_is_put_aside_a_part_at_a_time_and_comes_back_in_parts():
    """Of a stream that is full again and again: with each message, thousands of jobs went there and back."""
    queue, outlet, free = FairQueue(), Full(), job()
    jobs = [replace(job(), outlet=outlet) for _ in range(1500)]
    for one in (*jobs, free):
        queue.put(one)
    assert take(queue) is None
    assert queue.of("a")["held"] == 1024
    assert queue.begin_round()
    assert not queue.begin_round()
    assert take(queue) is free
    assert queue.of("a") == {"waiting": 0, "out": 1, "held": 1500}
    assert not queue.begin_round()
    queue.resume()
    assert queue.of("a")["waiting"] == 0
    outlet.is_full = False
    for _ in range(2):
        queue.resume()
        assert queue.of("a")["waiting"] == 64
    assert [take(queue) for _ in range(100)] == jobs[:100]
    outlet.is_full = True
    assert take(queue) is None
    assert queue.of("a")["held"] == 1400
    assert queue.remove(jobs[-1])
    assert not queue.remove(jobs[-1])
    outlet.is_full = False
    queue.resume()
    assert len(drain(queue)) == 1399
    assert queue.checks == 0


def test_what_is_cancelled_lets_the_next_of_its_outlet_come_back():
    queue, jobs = put_aside_and_back(100)
    for one in jobs[:64]:
        assert queue.remove(one)
    assert drain(queue) == jobs[64:]
