"""Weighted fair queueing between tenants.

Theory of operation. Each tenant has a queue, and each queue a *tag*: the work it has been given, divided by its weight.
The tenant with the smallest tag goes next. Work is counted in checks when a job is handed out, and what it cost beyond
a millisecond of CPU time a check is added when it is over: so a tenant pays for checks that hang. A tenant that comes
back from a pause starts where the others are, without credit for the time it was away (start-time fair queueing).

Inside a queue interactive jobs go before bulk ones. Of a priority, jobs that follow upon a result go before all others,
as it is held so long; then those whose verdict has results that wait for it; and of others those that come back (a
zygote died). A tenant at its quota is passed over; what it holds back is handed out when something of its own has
ended.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from cruxboxd.scheduling.holding import Holding
from cruxboxd.scheduling.lines import LOOK_AHEAD, Lines, has_outlet, place_of
from cruxboxd.tenancy.tenants import HOUSE, Tenant, TenantOf
from cruxboxd.zygotes.jobs import Job
from cruxboxd.zygotes.setup import ZygoteKey

# What a check is taken to cost when it is handed out; the rest of its CPU time is charged when it is over.
_CHECK_S = 0.001
# A tenant is ahead if it has lately used less than this part of what tenants use on average. What one used counts half
# after so many seconds.
_LESS, _HALF_LIFE_S = 0.75, 1.0
# How long a tenant that has nothing to do still counts as present.
_PRESENT_S = 10.0
# Bytes that came of a tenant's checks and wait for their verdicts; over that none of its checks begins.
_HELD = 128 << 20
# The tenant of the daemon's own checks: canaries, and the probes before it serves.
_NOBODY = (HOUSE, "")
# How many whose verdicts nobody takes are put aside before others get a turn on the event loop.
_MOST_ASIDE = 1024


@dataclass
class Lately:
    """A sum in which what was added counts less and less."""

    _sum: float = 0.0
    _at: float = 0.0

    def add(self, amount: float, now: float) -> None:
        self._sum, self._at = self.at(now) + amount, now

    def at(self, now: float) -> float:
        return self._sum * math.pow(0.5, (now - self._at) / _HALF_LIFE_S)


@dataclass
class TenantQueue(Lines):
    """One tenant's jobs: those that wait, and those handed out."""

    ask_tenant: Callable[[], Tenant] = field(default=lambda: Tenant(""))
    out: dict[Job, object] = field(default_factory=dict)  # each with its worker: those that share one have the same
    workers: Counter[object] = field(default_factory=Counter)  # of how many of these jobs
    results: int = 0  # bytes that wait for their verdicts
    tag: float = 0.0
    used: Lately = field(default_factory=Lately)  # in checks by its weight
    cpu_left_s: float = 0.0
    quota_s: float = 0.0  # a minute, when that was last asked
    refilled_at: float = field(default_factory=time.monotonic)
    left_at: float = 0.0

    @property
    def tenant(self) -> Tenant:
        """Its weight and quotas as they are now: an operator may change them while it waits."""
        return self.ask_tenant()

    @property
    def first(self) -> Job | None:
        """The one to go next. Where much waits for its verdicts, it is one that a verdict waits for."""
        return self.head if self.results <= _HELD else next(self.due, None)

    def may_begin(self, job: Job) -> bool:
        return job.follows or job.is_begun or self.results <= _HELD

    def refill(self, now: float) -> float:
        """Give the CPU time that has accrued; a minute's worth may be saved up. The quota, in seconds a minute.

        What was used while there was no quota is no debt: one that is new begins with a minute's worth.
        """
        a_minute = self.tenant.cpu_seconds_per_minute
        if self.quota_s:
            self.cpu_left_s = min(a_minute, self.cpu_left_s + (now - self.refilled_at) * a_minute / 60)
        else:
            self.cpu_left_s = a_minute
        self.quota_s, self.refilled_at = a_minute, now
        return a_minute

    def spend(self, cpu_s: float) -> None:
        self.refill(time.monotonic())
        self.cpu_left_s -= cpu_s

    def hand_out(self, job: Job, worker: object) -> None:
        self.out[job] = worker
        self.workers[worker] += 1

    def is_back(self, job: Job) -> bool:
        """It has no worker any more; False if it had none."""
        if job not in self.out:
            return False
        worker = self.out.pop(job)
        self.workers[worker] -= 1
        if not self.workers[worker]:
            del self.workers[worker]
        return True

    @property
    def is_at_quota(self) -> bool:
        return self.is_full or self.is_overspent

    @property
    def is_full(self) -> bool:
        """Does it have as many workers as it may?"""
        return 0 < self.tenant.concurrent_checks <= len(self.workers)

    @property
    def is_overspent(self) -> bool:
        return self.refill(time.monotonic()) > 0 and self.cpu_left_s <= 0


class FairQueue:
    """Jobs of many tenants, bounded by whoever puts them in. `checks` says how many wait.

    Args:
        tenant_of: the weight and quotas of a tenant by name, asked whenever they count.
    """

    def __init__(self, tenant_of: TenantOf = Tenant) -> None:
        self._tenant_of = tenant_of
        self._queues: dict[str, TenantQueue] = {}
        self._waiting: dict[str, TenantQueue] = {}
        self._clock = 0.0  # the tag of the queue served last
        self._used = Lately()  # by all
        self._asides_left = _MOST_ASIDE
        self.checks = 0

    # ---- in ----------------------------------------------------------------------------------------------------

    def put(self, job: Job) -> bool:
        """Add a job at the end of its tenant's queue. False if it stands there behind one that waits for anything but
        room for its verdict: then nobody goes next who did not before."""
        queue = self._join(job.tenant)
        queue.enter(job)
        self._count(job, 1)
        first = queue.first
        return first is None or first is job or not has_outlet(first)

    def put_first(self, job: Job) -> None:
        """A job that was handed out and comes back: it goes before the others of its priority."""
        queue = self._join(job.tenant)
        if queue.is_back(job):
            self._pay(queue, -job.checks)
        queue.enter(job, first=True)
        self._count(job, 1)

    def _join(self, name: str) -> TenantQueue:
        """The tenant's queue; one that was empty takes its place among the others."""
        queue = self._queue_of(name)
        if queue.head is None:
            queue.tag = max(queue.tag, self._clock)
            self._waiting[name] = queue
        return queue

    def _queue_of(self, name: str) -> TenantQueue:
        queue = self._queues.get(name)
        if queue is None:
            self._forget_absent()
            queue = self._queues[name] = TenantQueue(ask_tenant=lambda: self._tenant_of(name))
        return queue

    # ---- out ---------------------------------------------------------------------------------------------------

    def heads(self, may_start: Callable[[str], bool] | None = None) -> Iterator[Job]:
        """The next job of each tenant that may have one now, in the order of fairness. Take one, then ask again."""
        queues = self._waiting.values()
        for queue in sorted(queues, key=lambda queue: queue.tag) if len(queues) > 1 else list(queues):
            job = self._startable(queue)
            if job is None:
                queue.tag = max(queue.tag, self._clock)  # it waits for itself, which earns no credit
            if job is not None and not queue.is_at_quota and (may_start is None or may_start(job.tenant)):
                yield job

    def begin_round(self) -> bool:
        """Begin to hand out; was the last round cut short, as there was more to be put aside than is in one go?"""
        was_cut, self._asides_left = self._asides_left < 0, _MOST_ASIDE
        return was_cut

    def _startable(self, queue: TenantQueue) -> Job | None:
        """The head of a queue, after those whose verdicts nobody takes were put aside."""
        while (job := queue.first) is not None and job.outlet is not None and not has_outlet(job):
            self._asides_left -= 1
            if self._asides_left < 0:
                return None
            queue.put_aside(job, job.outlet)
            if queue.head is None:
                del self._waiting[job.tenant]
        return job

    def resume(self) -> None:
        """Verdicts have left: what was put aside because there was no room for them goes back to the front."""
        for name, queue in self._queues.items():
            for outlet, place in reversed(list(queue.held)):
                if queue.may_come_back(outlet, place):
                    self._join(name).put_back(outlet, place)

    def take(self, job: Job, worker: object = None) -> Job:
        """Hand a head out, for a worker of its own if not for this one; its tenant pays for it."""
        queue = self._queues[job.tenant]
        self._clock = max(self._clock, queue.tag)
        self._pay(queue, job.checks)
        queue.hand_out(job, worker or object())
        self._drop(queue, job)
        return job

    def is_ahead(self, job: Job, present: int) -> bool:
        """Has its tenant lately used less than its share, beside others that have used more? `present` counts those
        that have work here. It then waits for nobody who has used more: see `Fleet.has_room_for` and the priority of
        its workers."""
        now = time.monotonic()
        return self._queues[job.tenant].used.at(now) * present < _LESS * self._used.at(now)

    def take_more(self, head: Job, goes_along: Callable[[Job], bool]) -> list[Job]:
        """Hand out jobs that are to share the worker of `head`, which was taken: of its tenant and priority, in their
        order."""
        queue = self._queues[head.tenant]
        taken = []
        for job in list(islice(queue.lines[place_of(head)], LOOK_AHEAD)):
            if goes_along(job):
                taken.append(self.take(job, queue.out[head]))
        return taken

    def next_of(self, head: Job, is_one: Callable[[ZygoteKey], bool]) -> Job | None:
        """The first job behind this head, of the same tenant, that needs such a kind of zygote."""
        queue = self._queues[head.tenant]
        for job in islice(queue.waiting, LOOK_AHEAD):
            if job.key != head.key and is_one(job.key) and queue.may_begin(job) and has_outlet(job):
                return job
        return None

    def done(self, job: Job, cpu_ns: int = 0) -> None:
        """A job is over, whether it was handed out or not; `cpu_ns` is what it really cost."""
        queue = self._queues.get(job.tenant)
        if queue is None:
            return
        queue.spend(cpu_ns / 1e9)
        if not queue.is_back(job):
            self._pay(queue, cpu_ns / 1e9 / _CHECK_S)  # of a pair the half that was not handed out itself
            return
        queue.left_at = time.monotonic()
        self._pay(queue, max(0.0, cpu_ns / 1e9 / _CHECK_S - job.checks))

    def hold(self, name: str, holding: Holding, size: int) -> bool:
        """`holding` has grown by so many bytes, or is smaller; does that let jobs go that could not? Where a tenant has
        much, what its verdicts wait for goes first, also what was put in before there was any of it."""
        queue = self._queue_of(name)
        was, queue.results = queue.results, queue.results + size
        is_hastened = size > 0 and self._hasten(holding)
        return is_hastened if queue.results > _HELD else was > _HELD

    def _hasten(self, holding: Holding) -> bool:
        """The rest of these jobs, each of them once, as results wait for them. Are there any to be handed out?"""
        jobs = [job for job in holding.jobs if not (job.follows or job.is_begun)]
        holding.jobs.clear()
        waiting = [job for job in jobs if self.remove(job)]
        for job in jobs:
            job.is_begun = True
        for job in waiting:
            self.put(job)
        return bool(waiting)

    def _pay(self, queue: TenantQueue, checks: float) -> None:
        """A tenant's share of work of so many checks."""
        cost = checks / queue.tenant.weight
        queue.tag += cost
        if queue.tenant.name not in _NOBODY:
            now = time.monotonic()
            queue.used.add(cost, now)
            self._used.add(cost, now)

    def charge(self, name: str, cpu_s: float) -> None:
        """CPU time that was spent for a tenant outside of its jobs: by the daemon, on its requests."""
        queue = self._queue_of(name)
        queue.tag = max(queue.tag, self._clock)
        self._pay(queue, cpu_s / _CHECK_S)
        queue.spend(cpu_s)

    def remove(self, job: Job) -> bool:
        """Take a job out wherever it stands; False if it is not here."""
        queue = self._queues.get(job.tenant)
        if queue is None:
            return False
        if job in queue.lines[place_of(job)]:
            self._drop(queue, job)
            return True
        if not queue.take_from_aside(job):
            return False
        self._count(job, -1)
        return True

    def take_all(self, matches: Callable[[Job], bool]) -> list[Job]:
        """Take out every waiting job that `matches`."""
        queues = self._queues.values()
        waiting = [job for queue in queues for job in chain(queue.waiting, *queue.held.values())]
        return [job for job in waiting if matches(job) and self.remove(job)]

    def _drop(self, queue: TenantQueue, job: Job) -> None:
        queue.leave(job)
        self._count(job, -1)
        if job.outlet is not None and queue.may_come_back(job.outlet, place_of(job)):
            queue.put_back(job.outlet, place_of(job))
        if queue.head is None:
            del self._waiting[job.tenant]

    # ---- figures -----------------------------------------------------------------------------------------------

    def jobs_of(self, key: ZygoteKey) -> int:
        """How many jobs wait for this kind of zygote, among those of each tenant that are next."""
        queues = self._waiting.values()
        following = [job for queue in queues for job in islice(queue.waiting, LOOK_AHEAD)]
        return sum(job.key == key for job in following)

    def of(self, name: str) -> dict[str, int]:
        """A tenant's jobs: how many wait, have been handed out, or have nowhere to put their verdicts."""
        queue = self._queues.get(name) or TenantQueue(ask_tenant=lambda: Tenant(name))
        waiting = sum(map(len, queue.lines.values()))
        return {"waiting": waiting, "out": len(queue.out), "held": sum(map(len, queue.held.values()))}

    @property
    def age_s(self) -> float:
        """How long the oldest waiting job has waited."""
        queues = self._waiting.values()
        heads = [next(iter(jobs)) for queue in queues for jobs in queue.lines.values() if jobs]
        return (time.monotonic_ns() - min(job.queued_at for job in heads)) / 1e9 if heads else 0.0

    @property
    def present(self) -> int:
        """Tenants that have work here, or had some a moment ago; the daemon's own checks of itself are none of them."""
        since = time.monotonic() - _PRESENT_S
        queues = [queue for name, queue in self._queues.items() if name not in _NOBODY]
        return sum(1 for queue in queues if queue.out or queue.head or queue.held or queue.left_at > since)

    def is_stalled(self, carried: Container[Job], has_room: bool, may_start: Callable[[str], bool]) -> bool:
        """Does work wait that nothing holds back? `carried` are the jobs that workers have: a tenant that has as much
        out as it may, and none of it with a worker, would wait for ever."""
        for name, queue in self._waiting.items():
            head = queue.first
            if head is None or not has_outlet(head):
                continue  # nobody reads its verdicts, or they are yet to be found
            if queue.is_overspent or not may_start(name):
                continue
            if not any(job in carried for job in queue.out) if queue.is_full else has_room:
                return True
        return False

    def is_held_up(self, name: str, are_streams_full: bool) -> bool:
        """Does work of a tenant wait for verdicts to leave, of whoever: other work than that of RPCs nobody reads?"""
        queue = self._queues.get(name)
        if queue is None:
            return False
        waiting = chain(queue.held, queue.lined if queue.results > _HELD else ())
        is_stopped = are_streams_full or queue.results > _HELD
        return is_stopped and any(not outlet.is_unread for outlet, _place in waiting)

    def cpu_wait_s(self, name: str) -> float:
        """Seconds until a tenant that has used up its CPU time may start something again; 0 if it may now."""
        queue = self._queues.get(name)
        if queue is None:
            return 0.0
        a_minute = queue.refill(time.monotonic())
        return max(0.0, -queue.cpu_left_s * 60 / a_minute) if a_minute else 0.0

    def _forget_absent(self) -> None:
        """Drop queues nobody has used for so long that forgetting changes nothing."""
        if len(self._queues) < 1_000:
            return
        since = time.monotonic() - 60
        for name, queue in list(self._queues.items()):
            if not (queue.out or queue.held or queue.head or queue.results) and queue.left_at < since:
                del self._queues[name]

    def _count(self, job: Job, sign: int) -> None:
        self.checks += sign * job.checks
