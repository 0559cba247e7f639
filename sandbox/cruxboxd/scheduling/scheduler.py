"""The pool: which job runs next, on which zygote.

There are as many CPU slots as CPUs the daemon may use. A job takes a slot while its worker is in the fast phase; once
it has run for some milliseconds it is *slow*: it gives its slot back and its priority is lowered, so a long check never
holds up a short one. Slow workers are bounded in number, and their limits are CPU time, so sharing a CPU does not
change a verdict. While all slots are taken, one job more is handed to each busy zygote of its kind, to be ready the
moment the first ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from cruxcell.protocol import messages

from cruxboxd.scheduling.bundles import Bundle, bundle, companions
from cruxboxd.scheduling.fair_queue import FairQueue
from cruxboxd.scheduling.slow_share import SlowShare
from cruxboxd.settings.config import Config
from cruxboxd.tenancy.tenants import Tenant, TenantOf
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.setup import ZygoteKey, ZygoteKinds, ZygoteSetup
from cruxboxd.zygotes.zygote_process import Keeper, StartError

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
_SWEEP_S = 1.0
_RESTART_PAUSE_S = 0.2
_WORTH_A_FORK = 16  # checks; fewer are not worth a worker of their own, even if one could start at once
# Zygotes that may wait for work of their kind, beside all that may have work at once: they hold little memory, and to
# start another costs as much as a hundred forks.
_SPARE_A_SLOT = 3
_LANES = 2  # of a zygote: jobs it has at the same time
_WIDE_WALL = 4  # a starved wall timeout is run again with this many times the wall limit


class Pool:
    """Jobs in, results out. Infrastructure failures are retried here, so a Result with `error` is final."""

    def __init__(
        self, config: Config, setup_of: Callable[[ZygoteKey], ZygoteSetup], observer: PoolObserver,
        terms_of: TenantOf = Tenant, kinds: ZygoteKinds | None = None, *,
        draw: Callable[[int], tuple[int, ...]] = lambda checks: (),
    ) -> None:  # fmt: skip
        """`draw` picks, of so many checks that shared a worker, the places of those to be audited."""
        self.kinds = kinds or ZygoteKinds()
        self._slots = config.workers
        self._most_busy = max(config.zygotes, config.workers)
        self._most_keepers = self._most_busy + _SPARE_A_SLOT * config.workers
        self._setup_of, self._observer, self._draw = setup_of, observer, draw
        self._queue = FairQueue(terms_of)
        self._slow_share = SlowShare(config.workers, self._most_busy)
        self._keepers: list[Keeper] = []
        self._starting: dict[ZygoteKey, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: set[Job] = set()
        self._is_closed = False
        self._is_pumping = self._is_pump_due = False
        self._start_failures: dict[ZygoteKey, int] = {}

    # ---- for the judge -----------------------------------------------------------------------------------------

    async def run(self, job: Job) -> Result:
        """Queue the job and wait for its result. Cancelling the caller kills the worker."""
        self._running.add(job)
        self._queue.put(job)
        self._pump_soon()
        result = Result()
        try:
            result = await job.future
            if job.partner is None and self._was_starved(result):
                _leave_company(job)
                result = await self._run_wider(job)
            return result
        except asyncio.CancelledError:
            self._cancel(job)
            _leave_company(job)
            raise
        finally:
            self._running.discard(job)
            self._over(job, result)

    async def run_pair(self, job: Job) -> tuple[Result, Result]:
        """Run a job and its partner side by side; the results of both."""
        assert job.partner is not None
        result = await self.run(job)
        return (result, result) if result.error else (result, await job.partner.future)

    def _was_starved(self, result: Result) -> bool:
        """A wall timeout on a crowded machine says little about the candidate."""
        return result.facts.killed == messages.KILLED_WALL and not result.error and os.getloadavg()[0] > self._slots

    async def _run_wider(self, job: Job) -> Result:
        limits = replace(job.limits, wall_ms=job.limits.wall_ms * _WIDE_WALL)
        again = Job(
            key=job.key, kind=job.kind, fields=job.fields, limits=limits, tenant=job.tenant, checks=job.checks,
            flags=job.flags, attempts=job.attempts,
        )  # fmt: skip
        self._queue.put(again)
        self._pump()
        result = Result()
        try:
            result = await again.future
            return result
        except asyncio.CancelledError:
            self._cancel(again)
            raise
        finally:
            self._over(again, result)

    def _over(self, job: Job, result: Result) -> None:
        """The tenant pays for what the job cost; if that makes room under its quota, its next job may start."""
        self._queue.done(job, result.facts.cpu_ns if result.charged_ns is None else result.charged_ns)
        self._pump_soon()

    def _cancel(self, job: Job) -> None:
        job.is_cancelled = True
        if self._queue.remove(job):
            return
        carrier: Job = job
        if job.carrier is not None:
            if job.carrier.is_wanted:
                return  # others go on; what becomes of this one, nobody waits for
            carrier = job.carrier
            carrier.is_cancelled = True
        for keeper in self._keepers:
            keeper.cancel(carrier)

    # ---- figures -----------------------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """Checks that wait."""
        return self._queue.checks

    @property
    def queued_bytes(self) -> int:
        return self._queue.bytes

    @property
    def queue_age_s(self) -> float:
        """How long the oldest waiting job has waited."""
        return self._queue.age_s

    def cpu_wait_s(self, tenant: str) -> float:
        """Seconds until a tenant that has used up its CPU time may start something again; 0 if it may now."""
        return self._queue.cpu_wait_s(tenant)

    def charge(self, tenant: str, cpu_s: float) -> None:
        """Have a tenant pay for CPU time that the daemon itself spent on it."""
        self._queue.charge(tenant, cpu_s)

    @property
    def busy(self) -> int:
        return sum(1 for keeper in self._keepers if keeper.load)

    @property
    def keepers(self) -> list[Keeper]:
        return list(self._keepers)

    # ---- life --------------------------------------------------------------------------------------------------

    async def open(self, key: ZygoteKey) -> Keeper:
        """Start one keeper per slot for `key`; raises StartError if the first cannot be confined."""
        started = await asyncio.gather(*[self._start(key) for _ in range(self._slots)], return_exceptions=True)
        for one in started:
            if isinstance(one, BaseException):
                raise one
        self._spawn(self._sweep())
        return self._keepers[0]

    async def close(self) -> None:
        """Kill everything; queued jobs end as our failure."""
        self._is_closed = True
        for job in list(self._running):
            job.is_cancelled = True
            job.finish(Result(error="the server is shutting down", attempts=job.attempts))
        for task in list(self._tasks):
            task.cancel()
        for keeper in list(self._keepers):
            keeper.kill("")
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _start(self, key: ZygoteKey) -> Keeper:
        keeper = Keeper(key, self._on_change, self._requeue)
        setup = self._setup_of(key)
        try:
            await keeper.start(setup.python, setup.environment, setup.fields)
        except BaseException:
            keeper.kill("")
            raise
        self._keepers.append(keeper)
        return keeper

    def _spawn(self, work: object) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start_more(self, key: ZygoteKey) -> None:
        try:
            await self._start(key)
            self._start_failures[key] = 0
        except (StartError, OSError) as error:
            log.error("zygote did not start", extra={"reason": str(error)})
            self._observer.sandbox_error("zygote_start")
            await asyncio.sleep(_RESTART_PAUSE_S)
            self._fail_if_hopeless(key, str(error))
        finally:
            self._starting[key] -= 1
        self._pump()

    def _fail_if_hopeless(self, key: ZygoteKey, reason: str) -> None:
        """After several starts that failed in a row, what waits for such a zygote ends as our failure."""
        self._start_failures[key] = self._start_failures.get(key, 0) + 1
        if self._start_failures[key] >= MAX_ATTEMPTS:
            self._start_failures[key] = 0
            for job in self._queue.take_all(lambda job: job.key == key):
                job.finish(Result(error=f"no zygote: {reason}", attempts=job.attempts + 1))

    async def _sweep(self) -> None:
        """Watch the watchers: a zygote that does not answer is killed, its jobs run elsewhere."""
        while not self._is_closed:
            await asyncio.sleep(_SWEEP_S)
            now = time.monotonic_ns()
            for keeper in self.keepers:
                if keeper.is_hung(now):
                    self._observer.sandbox_error("zygote_hung")
                    keeper.kill("it hangs")
                else:
                    keeper.ping()
            self._pump()

    # ---- scheduling --------------------------------------------------------------------------------------------

    def _on_change(self, keeper: Keeper) -> None:
        if not keeper.alive and keeper in self._keepers:
            self._keepers.remove(keeper)
            self._observer.zygote_ended()
        self._pump()

    def _requeue(self, job: Job) -> None:
        """A job that a keeper could not finish: again, or our failure when it was tried often enough."""
        if isinstance(job, Bundle):
            for member in reversed(job.put_down()):
                member.attempts += job.attempts
                self._requeue(member)
            return
        if job.is_cancelled or self._is_closed:
            job.finish(Result(error="cancelled", attempts=job.attempts))
        elif job.attempts >= MAX_ATTEMPTS:
            self._observer.sandbox_error("gave_up")
            job.finish(Result(error=f"the sandbox failed {job.attempts} times", attempts=job.attempts))
        else:
            self._queue.put_first(job)

    def _pump_soon(self) -> None:
        """Hand out jobs once everything that is about to be queued has been: then what can share a worker shows."""
        if not self._is_pump_due:
            self._is_pump_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        """Hand out jobs while there is somewhere to run them."""
        self._is_pump_due = False
        if self._is_pumping or self._is_closed:  # ending a zygote to make room for another comes back here
            return
        self._is_pumping = True
        try:
            while self._queue.checks and self._place_one():
                pass
        finally:
            self._is_pumping = False

    def _place_one(self) -> bool:
        """Place the first job, in the order of fairness, that has somewhere to go."""
        crowders = self._crowders()
        is_first = True
        for job in self._queue.heads(lambda tenant: tenant not in crowders):
            # Only the first may wait behind a running one: else the work of later tenants would follow upon itself for
            # ever, and no slot become free for the kind of zygote that the first one needs.
            if self._fill_slot(job) or (is_first and self._fill_second_lane(job)):
                return True
            is_first = False
        return False

    def _crowders(self) -> frozenset[str]:
        slow = [keeper.tenant for keeper in self._keepers if keeper.slow]
        return self._slow_share.crowders(slow, self._queue.present) if slow else frozenset()

    def _fill_slot(self, job: Job) -> bool:
        """Start the job on an idle zygote, if a CPU slot is free; start such a zygote if there is none."""
        busy = [keeper for keeper in self._keepers if keeper.load]
        taken = sum(not keeper.slow for keeper in busy)
        if taken >= self._slots or len(busy) >= self._most_busy:
            return False
        idle = [keeper for keeper in self._keepers if keeper.load == 0]
        for keeper in idle:
            if keeper.key == job.key:
                keeper.run(self._take(job))
                return True
        if self._starting.get(job.key, 0) + taken < self._slots:
            self._make_room(idle)
            if len(self._keepers) + sum(self._starting.values()) < self._most_keepers:
                self._starting[job.key] = self._starting.get(job.key, 0) + 1
                self._spawn(self._start_more(job.key))
        return False

    def _make_room(self, idle: list[Keeper]) -> None:
        """Too many zygotes: end an idle one, of the kind there are most of, so that no kind has to be started again and
        again."""
        if len(self._keepers) >= self._most_keepers and idle:
            count = Counter(keeper.key for keeper in self._keepers)
            victim = max(idle, key=lambda keeper: count[keeper.key])
            self._keepers.remove(victim)  # asked for, so it does not count as a restart
            victim.kill("")

    def _fill_second_lane(self, job: Job) -> bool:
        """All slots are taken: let the job wait ready behind a running one of its kind."""
        for keeper in self._keepers:
            if keeper.load == 1 and not keeper.slow and keeper.key == job.key and job.partner is None:
                keeper.run(self._take(job))
                return True
        return False

    def _take(self, job: Job) -> Job:
        """Take the job out of the queue; if it may share a worker, with as many others as leave work for all slots."""
        share = max(_WORTH_A_FORK, self._queue.checks // (_LANES * self._slots))
        if self._queue.present > 1:
            job.flags |= messages.MODEST
        jobs = [self._queue.take(job)]
        if job.may_share and share > job.checks:
            jobs += self._queue.take_more(job, companions(job, share))
        return bundle(jobs, self._run_again, self._draw)

    def _run_again(self, job: Job) -> None:
        """A job that shared a worker and has to run once more, through no fault of anybody."""
        if job.is_cancelled or self._is_closed:
            job.finish(Result(error="cancelled", attempts=job.attempts))
        else:
            self._queue.put_first(job)
            self._pump_soon()


def _leave_company(job: Job) -> None:
    """What came of the job is not used: nobody shall wait for its audit."""
    if job.future.done() and not job.future.cancelled():
        job.future.result().leave()


class PoolObserver:
    """What the pool tells whoever keeps figures; this one listens to nothing."""

    def zygote_ended(self) -> None:
        pass

    def sandbox_error(self, reason: str) -> None:
        pass
