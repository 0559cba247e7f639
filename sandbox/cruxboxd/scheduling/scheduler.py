"""The scheduler: which job runs next, on which zygote. The zygotes are those of the `fleet`.

There are as many CPU slots as CPUs the daemon may use. A job takes a slot while its worker is in the fast phase; once
it has run for some milliseconds it is *slow*: it gives its slot back and its priority is lowered, so a long check never
holds up a short one. Slow workers are bounded in number, and their limits are CPU time, so sharing a CPU changes no
verdict. While all slots are taken, each busy zygote gets one job more of its kind, to be ready when the first ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from functools import partial

from cruxcell.protocol import messages

from cruxboxd.scheduling import starvation
from cruxboxd.scheduling.bundles import Bundle, bundle, checks_of_a_worker, companions
from cruxboxd.scheduling.fair_queue import FairQueue
from cruxboxd.scheduling.fleet import Fleet
from cruxboxd.scheduling.holding import Holding, current_holding, is_awaited, size_of
from cruxboxd.scheduling.slow_share import SlowShare
from cruxboxd.scheduling.taken import Taken
from cruxboxd.settings.config import Config
from cruxboxd.shared.fair_loop import current_tenant
from cruxboxd.shared.observer import Observer
from cruxboxd.tenancy.tenants import HOUSE, Tenant, TenantOf
from cruxboxd.zygotes.jobs import Job, Outlet, Result, current_outlet
from cruxboxd.zygotes.retry import RETRY
from cruxboxd.zygotes.setup import ZygoteKey, ZygoteKinds, ZygoteSetup
from cruxboxd.zygotes.zygote_process import LANES, ZygoteProcess

log = logging.getLogger(__name__)

_SWEEP_S = 1.0
_WATCHES = 4  # in that time: zygotes that are stopped are found so soon
_LOOKS = 5  # between two of these: how late is the event loop, and is one stopped that somebody waits for?


class Scheduler:
    """Jobs in, results out. Infrastructure failures are retried here, so a Result with `error` is final."""

    def __init__(
        self, config: Config, setup_of: Callable[[ZygoteKey], ZygoteSetup], observer: Observer,
        tenant_of: TenantOf = Tenant, kinds: ZygoteKinds | None = None, *,
        draw: Callable[[int], tuple[int, ...]] = lambda _checks: (),
    ) -> None:  # fmt: skip
        """`draw` picks, of so many checks that shared a worker, the places of those to be audited."""
        self.kinds = kinds or ZygoteKinds()
        self.scratch_bytes = config.scratch_bytes
        self._observer, self._draw = observer, draw
        self._is_unsealed = "seal" in config.opened
        self._queue = queue = FairQueue(tenant_of)
        self.cpu_wait_s, self.charge, self.is_held_up = queue.cpu_wait_s, queue.charge, queue.is_held_up
        self._fleet = Fleet(
            config, setup_of, observer, on_change=self._pump, requeue=self._requeue, give_up=self._give_up,
            charge=queue.charge,
        )  # fmt: skip
        self._slow_share = SlowShare(self._fleet.slots, self._fleet.most_busy)
        self._sweeping: asyncio.Task[None] | None = None
        self._lateness = starvation.Lateness()
        self._running: set[Job] = set()
        self._is_closed = self._is_pumping = False
        self._pumps_due: set[str | None] = set()  # by whom
        self._handed_out = self._handed_out_before = 0
        self._stalled_since = 0.0

    # ---- for the judge -----------------------------------------------------------------------------------------

    async def run(self, job: Job) -> Result:
        """Queue the job and wait for its result. Cancelling the caller kills the worker."""
        return (await self._run(job))[0]

    async def run_pair(self, job: Job) -> tuple[Result, Result]:
        """Run a job and its partner side by side; the results of both."""
        assert job.partner is not None
        candidate, test = await self._run(job)
        return candidate, test

    async def _run(self, job: Job) -> list[Result]:
        """The result of the job, and of its partner if it has one. A wall timeout that may be the host's, or ours, is
        run again with more wall time; if that ends in the same way on a host as crowded, it is a SANDBOX_ERROR."""
        job.outlet = current_outlet.get()
        results = await self._run_once(job)
        if not any(map(starvation.is_unsure, results)):
            return results
        if starvation.is_to_run_again(results, self._fleet.slots):
            _leave_company(job)
            results = await self._run_once(starvation.wider(job))
        return starvation.decided(results, self._fleet.slots)

    async def _run_once(self, job: Job) -> list[Result]:
        jobs = [job, job.partner] if job.partner else [job]
        holding = current_holding.get()
        for one in jobs:
            one.on_over = partial(self._over, holding=holding)
        if holding is not None:
            job.follows = job.follows or holding.size > 0 or is_awaited.get()
            holding.jobs[job] = None
        self._running.add(job)
        # Behind others of its tenant it changes nothing, unless it can pass them by. To look costs as much as a job.
        if self._queue.put(job) or self._fleet.has_idle(job.key):
            self._pump_soon()
        try:
            results = [await job.future]
            broken = results[0].unsealed
            if broken:
                log.warning("a seal broke", extra={"what": ",".join(broken), "tenant": job.tenant})
                self._observer.seal_broken(broken)
            if job.partner is not None:
                results.append(results[0] if results[0].error else await job.partner.future)
            return [self._lateness.noted(job, result) for result in results]
        except asyncio.CancelledError:
            self._cancel(job)
            _leave_company(job)
            raise
        finally:
            self._running.discard(job)
            if holding is not None:
                holding.jobs.pop(job, None)

    @contextlib.contextmanager
    def holding(self, tenant: str, verdicts: int = 1) -> Iterator[Holding]:
        """What comes of jobs meanwhile waits for so many verdicts (`Holding`). Where an RPC or a tenant has much of
        that, it begins nothing: what is handed out is what such verdicts wait for."""
        holding = Holding(partial(self._hold, tenant, current_outlet.get()), verdicts)
        before = current_holding.set(holding)
        try:
            yield holding
        finally:
            current_holding.reset(before)
            holding.close()

    def _hold(self, tenant: str, outlet: Outlet | None, holding: Holding, size: int) -> None:
        if self._queue.hold(tenant, holding, size):
            self._pump_soon()
        if outlet is not None:
            had_room, outlet.held = outlet.takes(is_due=False), outlet.held + size
            if not had_room and outlet.takes(is_due=False):
                self.resume()

    def stop(self, job: Job) -> None:
        """Kill the job's worker, if it has one. Its result is an error, and holds what was reported until then."""
        job.is_cancelled = True
        self._fleet.cancel(job)

    def _over(self, job: Job, result: Result, holding: Holding | None = None) -> None:
        """Its worker is gone: the tenant pays for what it cost, holds what came of it, and may have its next one."""
        if holding is not None:
            holding.add(size_of(result))
        self._queue.done(job, result.cpu_ns + job.spent_ns)
        self._pump_soon()

    def _cancel(self, job: Job) -> None:
        """Nobody wants it any more. What runs is killed, and counts and is charged until it is gone."""
        job.is_cancelled = True
        if self._queue.remove(job):
            job.finish(Result(error="cancelled", attempts=job.attempts))
            return
        carrier: Job = job
        if job.carrier is not None:
            if job.carrier.is_wanted:
                return  # others go on; what becomes of this one, nobody waits for
            carrier = job.carrier
            carrier.is_cancelled = True
        self._fleet.cancel(carrier)

    # ---- figures -----------------------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """Checks that wait."""
        return self._queue.checks

    @property
    def queue_age_s(self) -> float:
        """How long the oldest waiting job has waited."""
        return self._queue.age_s

    @property
    def stalled_s(self) -> float:
        """For how long work has waited that nothing holds back, with room to run it; 0 is as it should be."""
        return time.monotonic() - self._stalled_since if self._stalled_since else 0.0

    def where(self) -> dict[str, object]:
        """What there is to do and who is at it, for a log line about something that did not come."""
        return {
            "queue_depth": self.depth,
            "queue_age_s": round(self.queue_age_s, 3),
            "stalled_s": round(self.stalled_s, 3),
            "zygotes": len(self._fleet),
            "starting": self._fleet.starting,
            "busy": self.busy,
            "slow": len(self._fleet.slow),
            "has_room": self._fleet.has_room,
            "has_memory": self._has_memory,
            "canaries": self._queue.of(HOUSE),
            "held_back": sorted(self._crowders(self._queue.present)),
        }

    def resume(self) -> None:
        """Verdicts have left somewhere: hand out what was waiting for that."""
        self._queue.resume()
        self._pump_soon()

    @property
    def busy(self) -> int:
        return self._fleet.busy

    @property
    def zygotes(self) -> list[ZygoteProcess]:
        return list(self._fleet)

    # ---- life --------------------------------------------------------------------------------------------------

    async def open(self, key: ZygoteKey) -> ZygoteProcess:
        """Start one zygote per slot for `key`; raises StartError if the first cannot be confined."""
        first = await self._fleet.open(key)
        self._sweeping = asyncio.create_task(self._sweep())
        return first

    async def start(self, key: ZygoteKey) -> None:
        """Start one zygote more, for `key`; raises StartError if it cannot be confined."""
        await self._fleet.start(key)

    async def close(self) -> None:
        """Kill everything; queued jobs end as our failure."""
        self._is_closed = True
        for job in list(self._running):
            job.is_cancelled = True
            job.finish(Result(error="the server is shutting down", attempts=job.attempts))
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])
        await self._fleet.close()

    async def _sweep(self) -> None:
        """Check periodically that zygotes answer and that work is handed out."""
        while not self._is_closed:
            for _ in range(_WATCHES):
                for _ in range(_LOOKS):
                    await self._lateness.sleep(_SWEEP_S / _WATCHES / _LOOKS)
                    self._fleet.glance()
                self._fleet.watch()
            self._fleet.reap()
            self._pump()
            self._look_for_a_stall()

    def _look_for_a_stall(self) -> None:
        """A quota or a slot that is never given back shows as work that waits although nothing is in its way."""
        if self._queue.checks and self._handed_out == self._handed_out_before and not self._fleet.starting:
            crowders = self._crowders(self._queue.present)
            has_room = self._fleet.has_room and self._has_memory
            if self._queue.is_stalled(self._fleet.carried, has_room, lambda tenant: tenant not in crowders):
                self._stalled_since = self._stalled_since or time.monotonic()
                return
        self._handed_out_before, self._stalled_since = self._handed_out, 0.0

    # ---- scheduling --------------------------------------------------------------------------------------------

    def _requeue(self, job: Job) -> None:
        """Queue again a job that a zygote could not finish; after enough attempts it fails as a sandbox error."""
        if isinstance(job, Bundle):
            for member in reversed(job.put_down()):
                member.attempts += job.attempts
                self._requeue(member)
            return
        if RETRY.is_spent(job.attempts) and not self._is_unwanted(job):
            self._observer.sandbox_error("gave_up")
            job.finish(Result(error=f"the sandbox failed {job.attempts} times", attempts=job.attempts))
        else:
            self._run_again(job)

    def _give_up(self, does_not_start: Callable[[ZygoteKey], bool], reason: str) -> None:
        """Zygotes of such kinds do not start: the jobs that wait for one end as a failure of the sandbox."""
        for job in self._queue.take_all(lambda job: does_not_start(job.key)):
            job.finish(Result(error=f"no zygote: {reason}", attempts=job.attempts + 1))

    def _pump_soon(self) -> None:
        """Hand out jobs once everything that this tenant is about to queue has been: then what can share a worker
        shows. Each tenant has that done as a step of its own, so that none waits for what another has to queue."""
        tenant = current_tenant.get(None)
        if tenant not in self._pumps_due:
            self._pumps_due.add(tenant)
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        """Hand out jobs while there is somewhere to run them."""
        self._pumps_due.discard(current_tenant.get(None))
        if self._is_pumping or self._is_closed:  # ending a zygote to make room for another comes back here
            return
        self._is_pumping = True
        self._queue.begin_round()
        try:
            while self._queue.checks and (placed := self._next_placed()) is not None:
                job, zygote, is_ahead = placed
                zygote.run(self._take(job, is_ahead))
        finally:
            self._is_pumping = False
        if self._queue.begin_round():
            self._pump_soon()

    def _next_placed(self) -> tuple[Job, ZygoteProcess, bool] | None:
        """The first job, in the order of fairness, that has somewhere to go, and where; whether its tenant is ahead."""
        present, taken = self._queue.present, self._fleet.taken
        crowders = self._crowders(present)
        is_first, is_awaited = True, False
        for job in self._queue.heads(lambda tenant: tenant not in crowders):
            is_modest = self._fleet.is_within_share(job, present, taken)
            if not self._fleet.fits(job, present, taken):
                is_awaited = is_awaited or is_modest  # room for it: what is small would overtake it for ever
                continue
            if is_awaited and not is_modest:
                continue
            # Only the first may wait behind a running one: else the work of later tenants would follow upon itself for
            # ever, and no slot become free for the kind of zygote that the first one needs.
            is_ahead = self._queue.is_ahead(job, present)
            found = self._in_a_slot(job, is_ahead, taken) or (self._in_a_second_lane(job, taken) if is_first else None)
            if found is not None:
                return (*found, is_ahead)
            is_first = False
        return None

    @property
    def _has_memory(self) -> bool:
        """Does the job that is next fit?"""
        first = next(self._queue.heads(), None)
        return first is None or self._fleet.fits(first, self._queue.present, self._fleet.taken)

    def _crowders(self, present: int) -> frozenset[str]:
        slow = self._fleet.slow
        return self._slow_share.crowders(slow, present) if slow else frozenset()

    def _in_a_slot(self, job: Job, is_ahead: bool, taken: Taken) -> tuple[Job, ZygoteProcess] | None:
        """The job with an idle zygote, if a CPU slot is free; start such a zygote if there is none."""
        if not self._fleet.has_room_for(job.tenant, taken, is_ahead=is_ahead):
            return None
        zygote = self._fleet.idle(job.key)
        if zygote is None:
            self._fleet.start_soon(job, self._queue.jobs_of, taken, is_ahead=is_ahead)
            self._fleet.start_beside(job, self._queue.next_of)
            return self._passing_by(job, taken)
        return job, zygote

    def _passing_by(self, head: Job, taken: Taken) -> tuple[Job, ZygoteProcess] | None:
        """While its tenant's next job waits for a zygote, one of those behind it that need another kind."""
        idle = self._fleet.idle_keys
        job = self._queue.next_of(head, idle.__contains__) if idle else None
        if job is None or not self._fleet.fits(job, self._queue.present, taken):
            return None
        zygote = self._fleet.idle(job.key)
        assert zygote is not None
        return job, zygote

    def _in_a_second_lane(self, job: Job, taken: Taken) -> tuple[Job, ZygoteProcess] | None:
        """If all slots are taken, the job with a busy zygote of its kind, behind whose job it waits. A job that was
        called back from there is not put there again: if workers take slightly longer than the fast phase, that could
        repeat for ever."""
        zygote = None if job.was_called_back or job.partner is not None else self._fleet.behind(job.key, taken)
        return None if zygote is None else (job, zygote)

    def _take(self, job: Job, is_ahead: bool) -> Job:
        """Take the job out of the queue; if it may share a worker, with as many others as leave work for all slots."""
        self._handed_out += 1
        is_alone = self._queue.present <= 1
        if not is_alone:
            job.flags |= messages.MODEST
        share = checks_of_a_worker(self._queue.checks // (LANES * self._fleet.slots), is_alone)
        jobs = [self._queue.take(job)]
        if job.may_share and share > job.checks:
            jobs += self._queue.take_more(job, companions(job, share))
        for one in jobs:
            one.late_before_ns = self._lateness.ns
        carrier = bundle(jobs, self._run_again, self._draw)
        carrier.is_ahead = is_ahead
        if carrier.partner is not None:
            carrier.seat = self._fleet.seat()
        if self._is_unsealed:
            carrier.seals = 0
        return carrier

    def _run_again(self, job: Job) -> None:
        """Queue it again, before others of its tenant, unless nobody wants it any more."""
        if self._is_unwanted(job):
            job.finish(Result(error="cancelled", attempts=job.attempts))
        else:
            self._queue.put_first(job)
            self._pump_soon()  # it may come after a pause, when nothing else happens

    def _is_unwanted(self, job: Job) -> bool:
        return job.is_cancelled or self._is_closed


def _leave_company(job: Job) -> None:
    """The result of the job is not used, so nobody waits for its audit."""
    if job.future.done() and not job.future.cancelled():
        job.future.result().leave()
