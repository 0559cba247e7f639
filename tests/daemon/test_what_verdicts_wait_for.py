"""Where much of a tenant's waits for its verdict, what that waits for goes first, and nothing else begins."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cruxboxd.scheduling.fair_queue import FairQueue
from cruxboxd.zygotes.jobs import Outlet
from queued_jobs import KEY, MIB, Full, Told, drain, following, job, may, put_aside_and_back, take


def test_what_a_verdict_waits_for_goes_before_what_has_not_begun():
    """Else everything would be begun first, and what it printed be held until then."""
    queue = FairQueue()
    plain, quick, back = job(), job(interactive=True), job()
    later, quick_later = following(), following(interactive=True)
    for one in (plain, later, quick, quick_later):
        queue.put(one)
    queue.put_first(back)
    assert drain(queue) == [quick_later, quick, later, back, plain]


def test_a_tenant_begins_nothing_while_much_of_its_waits_for_its_verdict():
    queue = FairQueue()
    plain, quick, later = job(), job(interactive=True), following()
    other = job("b")
    for one in (plain, quick, later, other):
        queue.put(one)
    holding = Told(queue, "a")
    for size in (MIB, 128 * MIB):
        holding.add(size)
    assert queue.next_of(quick, {KEY, replace(KEY, preloaded=True)}.__contains__) is None
    assert queue.is_stalled((), True, lambda tenant: True)  # what follows may go
    assert drain(queue) == [later, other]
    assert not queue.is_stalled((), True, lambda tenant: True)
    for size in (-MIB, -MIB):
        holding.add(size)
    assert holding.lets_go == [False, False, True, False]
    assert drain(queue) == [quick, plain]


def test_what_the_verdicts_that_wait_wait_for_is_begun_whatever_else_waits():
    """A task's calls get their verdicts together: those that have not begun would wait for the results of the others,
    and these for them."""
    queue = FairQueue()
    begun, other, new = Told(queue, "a"), Told(queue, "a"), Told(queue, "a")
    jobs = [job() for _ in range(5)]
    for one, holding in zip(jobs, [new, begun, begun, other, other]):
        holding.jobs[one] = None
        queue.put(one)
    jobs[4].outlet = Full()
    begun.add(MIB)
    assert (begun.lets_go, begun.jobs, take(queue)) == ([False], {}, jobs[1])  # looked at once, however many there are
    other.add(128 * MIB)
    assert other.lets_go == [True]
    assert [one.is_begun for one in jobs] == [False, True, True, True, True]
    assert drain(queue) == jobs[2:4]
    new.add(MIB)
    assert drain(queue) == jobs[:1]


def test_what_goes_before_others_already_keeps_its_place():
    """It may be one of several verdicts' work: each of them would put it behind the others."""
    queue = FairQueue()
    holding = Told(queue, "a")
    follows, begun = [following(), following()], [replace(job(), is_begun=True) for _ in range(2)]
    for one in (*follows, *begun):
        queue.put(one)
    holding.jobs.update({follows[0]: None, begun[0]: None})
    holding.add(129 * MIB)
    assert (holding.lets_go, follows[0].is_begun, drain(queue)) == ([False], False, [*follows, *begun])


def test_what_no_result_waits_for_goes_before_nobody():
    """Verdicts may be found elsewhere, and what was asked for here is no more than what has not begun."""
    queue = FairQueue()
    holding, jobs = Told(queue, "a"), [job(), job()]
    for one in jobs:
        queue.put(one)
    holding.jobs[jobs[1]] = None
    holding.expect(0)
    assert (jobs[1].is_begun, drain(queue)) == (False, jobs)


@pytest.mark.parametrize("is_first_aside", [False, True])
def test_what_much_waits_for_comes_back_whatever_else_of_its_stream_may_not_begin(is_first_aside: bool):
    """Else nobody's verdict would ever be known: what may not begin waits until there is less."""
    queue, outlet = FairQueue(), Full()
    new, later, more = [replace(one, outlet=outlet) for one in (job(), following(), job())]
    holding = Told(queue, "a")
    queue.put(new)
    if is_first_aside:
        assert take(queue) is None
    holding.add(129 * MIB)
    for one in (later, more):
        queue.put(one)
    assert take(queue) is None
    outlet.is_full = False
    queue.resume()
    assert drain(queue) == [later]
    holding.close()
    assert set(drain(queue)) == {new, more}


def test_what_was_put_aside_is_hastened_too():
    queue, jobs = put_aside_and_back(70)
    holding = Told(queue, "a")
    holding.jobs[jobs[-1]] = None
    holding.add(129 * MIB)
    assert (holding.lets_go, drain(queue)) == ([True], [jobs[-1]])
    assert (queue.checks, queue.of("a")) == (69, {"waiting": 64, "out": 1, "held": 5})


@pytest.mark.parametrize("interactive", [False, True])
def test_a_call_begins_nothing_while_much_of_its_waits_and_others_of_its_tenant_go_on(interactive: bool):
    """Whoever does not read holds up nobody else of the tenant, who may be everybody."""
    queue, loud, quiet = FairQueue(), Outlet(), Outlet()
    new, later = replace(job(interactive=interactive), outlet=loud), replace(following(interactive), outlet=loud)
    other = replace(job(interactive=interactive), outlet=quiet, key=replace(KEY, preloaded=True))
    loud.held = 33 * MIB
    for one in (new, later, other):
        queue.put(one)
    assert queue.next_of(replace(new, key=other.key), {KEY}.__contains__) is later
    assert drain(queue) == [later, other]
    assert not queue.is_stalled((), True, may)
    queue.resume()
    assert take(queue) is None
    loud.held = 32 * MIB
    queue.resume()
    assert queue.is_stalled((), True, may)
    assert drain(queue) == [new]


def test_behind_one_that_waits_for_a_zygote_nothing_begins_then_either():
    queue = FairQueue()
    head, new, later, begun = following(), job(), following(), replace(job(), is_begun=True)
    new.key = later.key = begun.key = replace(KEY, preloaded=True)
    for one in (head, new, later, begun):
        queue.put(one)
    holding = Told(queue, "a")
    holding.add(129 * MIB)
    for one in (later, begun):
        assert queue.next_of(head, {new.key}.__contains__) is one
        queue.take(one)
    assert queue.next_of(head, {new.key}.__contains__) is None
    holding.close()
    assert queue.next_of(head, {new.key}.__contains__) is new
