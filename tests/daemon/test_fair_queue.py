"""Whose job is next, and who may leave how much: the rules alone."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import pytest
from cruxboxd.scheduling.fair_queue import FairQueue
from cruxboxd.scheduling.holding import Holding
from cruxboxd.scheduling.slow_share import SlowShare
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.tenancy.tenants import HOUSE, Tenant
from cruxboxd.zygotes.jobs import Job, Outlet
from cruxboxd.zygotes.setup import ZygoteKey
from hypothesis import given
from hypothesis import strategies as st

KEY = ZygoteKey("python", False, "0")
MIB = 1 << 20


def job(tenant: str = "a", interactive: bool = False, checks: int = 1) -> Job:
    return Job(
        key=KEY, kind=b"", fields=[b"x"], limits=DEFAULT_LIMITS, tenant=tenant, interactive=interactive, checks=checks,
        future=None,
    )  # fmt: skip


def take(queue: FairQueue, **options) -> Job | None:
    head = next(queue.heads(**options), None)
    return head and queue.take(head)


def drain(queue: FairQueue) -> list[Job]:
    taken = []
    while (one := take(queue)) is not None:
        taken.append(one)
    return taken


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


def test_who_is_put_in_behind_another_lets_nobody_go_unless_that_waits_for_its_reader():
    queue, unread, first = FairQueue(), FairQueue(), replace(job(), outlet=Full())
    assert [queue.put(job()) for _ in range(2)] == [True, False]
    assert [unread.put(one) for one in (first, job())] == [True, True]


def test_crowders_are_passed_over():
    queue = FairQueue()
    queue.put(job("a"))
    queue.put(job("b"))
    assert take(queue, may_start=lambda tenant: tenant != "a").tenant == "b"


class Full(Outlet):
    """Where verdicts leave, for as long as somebody reads them."""

    is_full = True
    is_unread = False

    def __init__(self, is_unread: bool = False) -> None:
        self.is_unread = is_unread


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
    assert queue.next_of(jobs[0], {KEY, other}) is jobs[4]
    assert queue.next_of(jobs[0], {KEY, third}) is jobs[3]
    assert queue.next_of(jobs[0], {KEY}) is None


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


def may(tenant: str) -> bool:
    return True


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


def test_more_is_handed_out_with_a_head_up_to_the_quota():
    queue = FairQueue(lambda name: Tenant(name, concurrent_checks=3))
    jobs = [job() for _ in range(5)]
    for one in jobs:
        queue.put(one)
    head = take(queue)
    assert queue.take_more(head, lambda one: one is not jobs[1]) == [jobs[2], jobs[3]]
    assert take(queue) is None


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


# ---- what follows upon a result ------------------------------------------------------------------------------------


def following(interactive: bool = False) -> Job:
    return replace(job(interactive=interactive), follows=True)


def test_what_a_verdict_waits_for_goes_before_what_has_not_begun():
    """Else everything would be begun first, and what it printed be held until then."""
    queue = FairQueue()
    plain, quick, back = job(), job(interactive=True), job()
    later, quick_later = following(), following(interactive=True)
    for one in (plain, later, quick, quick_later):
        queue.put(one)
    queue.put_first(back)
    assert drain(queue) == [quick_later, quick, later, back, plain]


class _Told(Holding):
    """Says of each change whether it lets jobs go."""

    def __init__(self, queue: FairQueue, tenant: str) -> None:
        self.lets_go: list[bool] = []
        super().__init__(lambda _holding, size: self.lets_go.append(queue.hold(tenant, self, size)), 1)


def test_a_tenant_begins_nothing_while_much_of_its_waits_for_its_verdict():
    queue = FairQueue()
    plain, quick, later = job(), job(interactive=True), following()
    other = job("b")
    for one in (plain, quick, later, other):
        queue.put(one)
    holding = _Told(queue, "a")
    for size in (MIB, 128 * MIB):
        holding.add(size)
    assert queue.next_of(quick, {KEY, replace(KEY, preloaded=True)}) is None
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
    begun, other, new = _Told(queue, "a"), _Told(queue, "a"), _Told(queue, "a")
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
    holding = _Told(queue, "a")
    follows, begun = [following(), following()], [replace(job(), is_begun=True) for _ in range(2)]
    for one in (*follows, *begun):
        queue.put(one)
    holding.jobs.update({follows[0]: None, begun[0]: None})
    holding.add(129 * MIB)
    assert (holding.lets_go, follows[0].is_begun, drain(queue)) == ([False], False, [*follows, *begun])


def test_what_no_result_waits_for_goes_before_nobody():
    """Verdicts may be found elsewhere, and what was asked for here is no more than what has not begun."""
    queue = FairQueue()
    holding, jobs = _Told(queue, "a"), [job(), job()]
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
    holding = _Told(queue, "a")
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


def put_aside_and_back(count: int) -> tuple[FairQueue, list[Job]]:
    """So many jobs of an outlet that was full and is not any more; the first of them are in their line again."""
    queue, outlet = FairQueue(), Full()
    jobs = [replace(job(), outlet=outlet) for _ in range(count)]
    for one in jobs:
        queue.put(one)
    assert take(queue) is None
    outlet.is_full = False
    queue.resume()
    return queue, jobs


def test_what_was_put_aside_is_hastened_too():
    queue, jobs = put_aside_and_back(70)
    holding = _Told(queue, "a")
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
    assert queue.next_of(replace(new, key=other.key), {KEY}) is later
    assert drain(queue) == [later, other]
    assert not queue.is_stalled((), True, may)
    queue.resume()
    assert take(queue) is None
    loud.held = 32 * MIB
    queue.resume()
    assert queue.is_stalled((), True, may)
    assert drain(queue) == [new]


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


def test_behind_one_that_waits_for_a_zygote_nothing_begins_then_either():
    queue = FairQueue()
    head, new, later, begun = following(), job(), following(), replace(job(), is_begun=True)
    new.key = later.key = begun.key = replace(KEY, preloaded=True)
    for one in (head, new, later, begun):
        queue.put(one)
    holding = _Told(queue, "a")
    holding.add(129 * MIB)
    for one in (later, begun):
        assert queue.next_of(head, {new.key}) is one
        queue.take(one)
    assert queue.next_of(head, {new.key}) is None
    holding.close()
    assert queue.next_of(head, {new.key}) is new


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
