"""Whose job is next, and who may leave how much: the rules alone."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from cruxboxd.scheduling.fair_queue import FairQueue
from cruxboxd.scheduling.slow_share import SlowShare
from cruxboxd.tenancy.tenants import HOUSE, Tenant
from cruxboxd.zygotes.jobs import Job, Outlet
from hypothesis import given
from hypothesis import strategies as st
from queued_jobs import Full, drain, job, may, take


def test_tenants_take_turns_by_weight():
    queue = FairQueue(lambda name: Tenant(name, weight={"a": 1, "b": 3}[name]))
    for tenant in "ab":
        for _ in range(400):
            queue.put(job(tenant))
    first = Counter(one.tenant for one in drain(queue)[:400])
    assert first == {"a": 100, "b": 300}


def test_a_job_of_many_checks_counts_as_many():
    queue = FairQueue()
    for _ in range(64):
        queue.put(job("big", checks=64))
        queue.put(job("small"))
    taken = drain(queue)
    order = [one.tenant for one in taken]
    assert order.index("big", order.index("big") + 1) >= 64  # between two big jobs, as many checks of the other


def test_who_was_away_has_no_credit_and_no_debt():
    queue = FairQueue()
    for _ in range(1000):
        queue.put(job("busy"))
    for _ in range(500):
        take(queue)
    for _ in range(10):
        queue.put(job("late"))
    assert Counter(one.tenant for one in drain(queue)[:20]) == {"busy": 10, "late": 10}


def test_cpu_time_is_paid_for():
    queue = FairQueue()
    for tenant in ("burner", "modest"):
        for _ in range(100):
            queue.put(job(tenant))
    first = take(queue)
    queue.done(first, cpu_ns=50_000_000)  # fifty checks' worth
    assert [take(queue).tenant for _ in range(49)] == ["modest"] * 49


def test_interactive_before_bulk_and_retries_before_all():
    queue = FairQueue()
    bulk, urgent, again = job(), job(interactive=True), job(interactive=True)
    for one in (again, bulk, urgent):
        queue.put(one)
    assert take(queue) is again
    queue.put_first(again)
    assert drain(queue) == [again, urgent, bulk]


def test_what_comes_back_is_paid_for_once():
    queue = FairQueue()
    queue.put(job())
    first = take(queue)
    for one in (first, job()):  # the other was never handed out
        queue.put_first(one)
        assert queue._queues["a"].tag == 0


def test_who_is_held_back_keeps_its_place():
    queue = FairQueue(lambda name: Tenant(name, concurrent_checks=1 if name == "a" else 0))
    for tenant in "aab":
        queue.put(job(tenant))
    first = take(queue)
    for _ in range(9):
        queue.put(job("b"))
    assert [take(queue).tenant for _ in range(9)] == ["b"] * 9
    queue.put(job("a"))
    queue.done(first)
    assert queue._queues["a"].tag == 1


def test_a_tenant_is_present_for_a_while():
    queue = FairQueue()
    queue.put(job())
    one = take(queue)
    assert queue.present == 1
    queue.done(one)
    assert queue.present == 1
    queue._queues["a"].left_at -= 11
    assert queue.present == 0
    queue.put(one)
    one.outlet = Full()
    assert take(queue) is None
    assert queue.present == 1


def test_who_has_used_less_than_its_share_is_ahead(monkeypatch: pytest.MonkeyPatch):
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    queue = FairQueue(lambda name: Tenant(name, weight=4 if name == "heavy" else 1))

    def use(tenant: str, checks: int) -> Job:
        queue.put(one := job(tenant, checks=checks))
        queue.take(one)
        return one

    def ahead() -> str:
        waiting = [job(tenant) for tenant in ("a", "b", "c", "heavy")]
        for one in waiting:
            queue.put(one)
        names = "".join(one.tenant[0] for one in waiting if queue.is_ahead(one, queue.present))
        for one in waiting:
            queue.remove(one)
        return names

    use("a", 100)
    assert ahead() == "bch"  # who has used nothing
    for tenant, checks in [("b", 40), ("c", 100), ("heavy", 160)]:
        use(tenant, checks)
    assert ahead() == "bh"  # by weight
    queue.charge("b", 0.1)  # what the daemon does for it counts
    assert ahead() == "h"
    use(HOUSE, 10_000)  # canaries are nobody's measure
    assert ahead() == "h"
    now += 3  # half of it is forgotten each second, of all
    assert ahead() == "h"
    use("a", 20)
    assert ahead() == "ch"


def test_who_is_alone_is_not_ahead():
    queue = FairQueue()
    queue.put(one := job())
    queue.put(job())
    assert not queue.is_ahead(one, queue.present)
    queue.take(one)
    assert not queue.is_ahead(one, queue.present)


def test_what_comes_back_has_not_been_used():
    queue = FairQueue()
    for tenant in "ab":
        queue.put(one := job(tenant, checks=100))
        queue.take(one)
    assert not queue.is_ahead(one, queue.present)
    queue.put_first(one)
    assert queue.is_ahead(one, queue.present)


def test_quotas_hold_a_tenant_back_until_something_ends():
    queue = FairQueue(lambda name: Tenant(name, concurrent_checks=2 if name == "a" else 0))
    for tenant in "aaab":
        queue.put(job(tenant))
    taken = [take(queue) for _ in range(3)]
    assert Counter(one.tenant for one in taken) == {"a": 2, "b": 1}
    assert take(queue) is None
    queue.done(taken[0] if taken[0].tenant == "a" else taken[1])
    assert take(queue).tenant == "a"


def test_cpu_quota_is_spent_and_comes_back():
    queue = FairQueue(lambda name: Tenant(name, cpu_seconds_per_minute=60))
    queue.put(job())
    queue.put(job())
    queue.done(take(queue), cpu_ns=int(63e9))
    assert take(queue) is None
    assert 2.5 < queue.cpu_wait_s("a") <= 3
    queue._queues["a"].refilled_at -= 4
    assert take(queue) is not None
    assert queue.cpu_wait_s("a") == 0.0 == queue.cpu_wait_s("nobody")
    free = FairQueue()
    free.put(job())
    assert free.cpu_wait_s("a") == 0.0


def test_quotas_count_as_they_are_now():
    """What a tenant used while it had no quota is no debt, and it may be given another while it waits."""
    terms = {"a": Tenant("a")}
    queue = FairQueue(terms.__getitem__)
    for _ in range(3):
        queue.put(job())
    queue.done(take(queue), cpu_ns=int(6000e9))
    queue.charge("a", 50.0)
    terms["a"] = Tenant("a", cpu_seconds_per_minute=60)
    assert queue.cpu_wait_s("a") == 0.0
    queue.done(take(queue), cpu_ns=int(120e9))
    assert take(queue) is None
    assert 59 < queue.cpu_wait_s("a") <= 60
    terms["a"] = Tenant("a", cpu_seconds_per_minute=600)
    assert 5.9 < queue.cpu_wait_s("a") <= 6
    terms["a"] = Tenant("a", concurrent_checks=1)
    last = take(queue)
    queue.put(job())
    assert take(queue) is None
    terms["a"] = Tenant("a", concurrent_checks=2)
    assert last is not None
    assert take(queue) is not None


def test_lines_nobody_has_used_for_long_are_forgotten():
    """Tenants' names come from outside, so they must not add up; but whoever has work or debts stays known."""
    queue = FairQueue()
    for number in range(1_000):
        queue.put(job(f"t{number}"))
    running = [take(queue) for _ in range(998)]
    for one in running[2:]:
        queue.done(one)
    now = time.monotonic()
    for line in queue._queues.values():
        line.left_at = now - 61
    still, waiting = {one.tenant for one in running[:2]}, {"t998", "t999"}
    queue._queues["t500"].left_at = now - 59  # a moment ago
    queue._queues["t501"].held[job("t501")] = None
    queue._queues["t502"].results = 1  # waits for its verdict
    queue.put(job("new"))
    assert set(queue._queues) == still | waiting | {"t500", "t501", "t502", "new"}
    assert [one.tenant for one in drain(queue)] == ["t998", "t999", "new"]


def test_few_lines_are_not_worth_forgetting():
    queue = FairQueue()
    for number in range(999):
        queue.done(_put_and_take(queue, f"t{number}"))
    for line in queue._queues.values():
        line.left_at -= 1_000
    queue.put(job("new"))
    assert len(queue._queues) == 1_000


def _put_and_take(queue: FairQueue, tenant: str) -> Job:
    queue.put(job(tenant))
    taken = take(queue)
    assert taken is not None
    return taken


def test_the_daemons_own_checks_are_nobodys_work():
    """Slow workers keep off some CPUs where another tenant is present: a canary is none."""
    queue = FairQueue()
    queue.put(job("a"))
    queue.put(job(HOUSE))
    queue.put(job(""))
    assert queue.present == 1
    queue.put(job("b"))
    assert queue.present == 2


def test_crowders_are_passed_over():
    queue = FairQueue()
    queue.put(job("a"))
    queue.put(job("b"))
    assert take(queue, may_start=lambda tenant: tenant != "a").tenant == "b"


def test_work_that_nothing_holds_back_is_a_stall():
    queue = FairQueue(lambda name: Tenant(name, concurrent_checks=1 if name == "q" else 0))
    assert not queue.is_stalled([], True, may)
    queue.put(job("a"))
    assert queue.is_stalled([], True, may)
    assert not queue.is_stalled([], False, may)  # no room
    assert not queue.is_stalled([], True, lambda tenant: tenant != "a")
    next(queue.heads()).outlet = Full()
    assert not queue.is_stalled([], True, may)  # nobody reads its verdicts
    next(queue._queues["a"].waiting).outlet = Outlet()
    assert queue.is_stalled([], True, may)
    next(queue.heads()).outlet = Full()
    for _ in range(2):
        queue.put(job("q"))
    out = next(one for one in queue.heads() if one.tenant == "q")
    queue.take(out)
    assert not queue.is_stalled([out], True, may)  # at its quota, and a worker has it
    assert queue.is_stalled([], False, may)  # at its quota, and nobody has it: that waits for ever
    queue.done(out)
    assert queue.is_stalled([], True, may)


def test_who_has_spent_its_cpu_time_does_not_stall():
    queue = FairQueue(lambda name: Tenant(name, cpu_seconds_per_minute=60))
    queue.put(job())
    queue.put(job())
    assert queue.is_stalled([], True, may)
    queue.done(take(queue), cpu_ns=int(90e9))
    assert not queue.is_stalled([], True, may)


def test_what_shares_a_worker_counts_as_one_in_a_quota():
    """It is one of workers: a bundle of checks would otherwise take all of it, and the other workers stay idle."""
    queue = FairQueue(lambda name: Tenant(name, concurrent_checks=2))
    jobs = [job() for _ in range(6)]
    for one in jobs:
        queue.put(one)
    head = take(queue)
    assert queue.take_more(head, lambda one: one in jobs[2:4]) == jobs[2:4]
    other = take(queue)
    assert other is jobs[1]
    assert take(queue) is None
    for one in (head, jobs[2]):  # the worker goes on with the third
        queue.done(one)
        assert take(queue) is None
    queue.put_first(jobs[3])
    assert take(queue) is jobs[3]
    assert take(queue) is None
    for one in (other, jobs[3]):
        queue.done(one)
    assert [take(queue), take(queue), take(queue)] == [jobs[4], jobs[5], None]


def test_what_was_not_handed_out_costs_its_tenant_all_the_same():
    """Of a pair the half that was not queued by itself; and nothing of a tenant that is not known."""
    queue = FairQueue()
    queue.done(job("nobody"), cpu_ns=10**9)
    for _ in range(3):
        queue.put(job("a"))
    first = take(queue)
    queue.done(job("a"), cpu_ns=5_000_000)
    queue.done(first)
    assert queue._queues["a"].tag == 6
    assert not queue.remove(job("nobody"))


@given(st.lists(st.tuples(st.sampled_from("pfgrt"), st.sampled_from("abc"), st.booleans()), max_size=80))
def test_nothing_is_lost_or_given_twice(steps):
    """p: put, f: take and put first, g: take, r: remove the oldest, t: take all of a tenant."""
    queue, inside, given_out = FairQueue(), [], []
    for step, tenant, interactive in steps:
        if step == "p":
            inside.append(job(tenant, interactive))
            queue.put(inside[-1])
        elif step in "fg" and (one := take(queue)) is not None:
            inside.remove(one)
            given_out.append(one)
            if step == "f":
                queue.put_first(given_out.pop())
                inside.append(one)
        elif step == "r" and inside:
            assert queue.remove(inside[0])
            assert not queue.remove(inside.pop(0))
        elif step == "t":
            taken = queue.take_all(lambda one, tenant=tenant: one.tenant == tenant)
            assert set(taken) == {one for one in inside if one.tenant == tenant}
            inside = [one for one in inside if one not in taken]
        assert queue.checks == len(inside)
        assert set(queue._waiting) == {one.tenant for one in inside}
        assert (queue.age_s > 0) == bool(inside)
    assert set(drain(queue)) == set(inside)


@pytest.mark.parametrize(
    ("slow", "present", "held_back"),
    [
        ([], 1, set()),
        (["a"] * 5, 1, set()),
        (["a"] * 5, 0, set()),
        (["a"] * 6, 0, {"a"}),
        (["a"] * 6, 1, {"a"}),
        (["a"] * 2, 2, set()),
        (["a"] * 3 + ["b"], 2, {"a"}),
        (["a"] * 3 + ["b"], 4, {"a"}),
        (["a"] * 2 + ["b"], 4, set()),
        (["a"] * 2 + ["b"] * 3, 2, {"b"}),
        (["a", "b"], 9, set()),
        (list("abcdef"), 9, set("abcdef")),
    ],
)
def test_slow_workers_are_shared(slow, present, held_back):
    assert SlowShare(slots=2, zygotes=8).crowders(slow, present) == held_back


def test_what_a_tenant_has_is_told():
    queue = FairQueue()
    queue.put(job())
    assert queue.of("a") == {"waiting": 1, "out": 0, "held": 0}
    queue.put(job(interactive=True))
    assert take(queue) is not None
    assert queue.of("a") == {"waiting": 1, "out": 1, "held": 0}
    assert queue.of("nobody") == {"waiting": 0, "out": 0, "held": 0}
