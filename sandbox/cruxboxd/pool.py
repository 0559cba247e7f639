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
from collections.abc import Callable
from dataclasses import dataclass, replace

from cruxcell import messages

from cruxboxd.config import Config
from cruxboxd.fair import FairQueue
from cruxboxd.jobs import Job, Result, ZygoteKey
from cruxboxd.keeper import Keeper, StartError

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
_SWEEP_S = 1.0
_RESTART_PAUSE_S = 0.2
_WIDE_WALL = 4  # a starved wall timeout is run again with this many times the wall limit


@dataclass(frozen=True)
class ZygoteSetup:
    """How zygotes of one key are started: interpreter, environment, setup datagram."""

    python: str
    environment: dict[str, str]
    fields: list[bytes]


class Pool:
    """Jobs in, results out. Infrastructure failures are retried here, so a Result with `error` is final."""

    def __init__(self, config: Config, setup_of: Callable[[ZygoteKey], ZygoteSetup], observer: PoolObserver) -> None:
        self._slots = config.workers
        self._max_keepers = 4 * config.workers
        self._setup_of, self._observer = setup_of, observer
        self._queue = FairQueue()
        self._keepers: list[Keeper] = []
        self._starting: dict[ZygoteKey, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: set[Job] = set()
        self._is_closed = False
        self._start_failures: dict[ZygoteKey, int] = {}

    # ---- for the judge -----------------------------------------------------------------------------------------

    async def run(self, job: Job) -> Result:
        """Queue the job and wait for its result. Cancelling the caller kills the worker."""
        self._running.add(job)
        self._queue.put(job)
        self._pump()
        try:
            result = await job.future
            if self._was_starved(result):
                result = await self._run_wider(job)
            return result
        except asyncio.CancelledError:
            self._cancel(job)
            raise
        finally:
            self._running.discard(job)

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
        try:
            return await again.future
        except asyncio.CancelledError:
            self._cancel(again)
            raise

    def _cancel(self, job: Job) -> None:
        job.is_cancelled = True
        if self._queue.remove(job):
            return
        for keeper in self._keepers:
            keeper.cancel(job)

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

    @property
    def busy(self) -> int:
        return sum(1 for keeper in self._keepers if keeper.load)

    @property
    def keepers(self) -> list[Keeper]:
        return list(self._keepers)

    # ---- life --------------------------------------------------------------------------------------------------

    async def open(self, key: ZygoteKey) -> Keeper:
        """Start one keeper per slot for `key`; raises StartError if the first cannot be confined."""
        keepers = await asyncio.gather(*[self._start(key) for _ in range(self._slots)])
        self._spawn(self._sweep())
        return keepers[0]

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
        task = asyncio.get_running_loop().create_task(work)  # type: ignore[arg-type]
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
            self._pump()

    # ---- scheduling --------------------------------------------------------------------------------------------

    def _on_change(self, keeper: Keeper) -> None:
        if not keeper.alive and keeper in self._keepers:
            self._keepers.remove(keeper)
            self._observer.zygote_ended()
        if not self._is_closed:
            self._pump()

    def _requeue(self, job: Job) -> None:
        """A job that a keeper could not finish: again, or our failure when it was tried often enough."""
        if job.is_cancelled or self._is_closed:
            job.finish(Result(error="cancelled", attempts=job.attempts))
        elif job.attempts >= MAX_ATTEMPTS:
            self._observer.sandbox_error("gave_up")
            job.finish(Result(error=f"the sandbox failed {job.attempts} times", attempts=job.attempts))
        else:
            self._queue.put_first(job)

    def _pump(self) -> None:
        """Hand out jobs while there is somewhere to run them."""
        while self._queue.checks:
            if not (self._fill_slot() or self._fill_second_lane()):
                return

    def _fill_slot(self) -> bool:
        """Start the next job on an idle zygote, if a CPU slot is free; start such a zygote if there is none."""
        taken = sum(1 for keeper in self._keepers if keeper.load and not keeper.slow)
        if taken >= self._slots:
            return False
        job = self._queue.peek()
        idle = [keeper for keeper in self._keepers if keeper.load == 0]
        for keeper in idle:
            if keeper.key == job.key:
                keeper.run(self._queue.get())
                return True
        if self._starting.get(job.key, 0) + taken < self._slots:
            self._make_room(idle)
            if len(self._keepers) + sum(self._starting.values()) < self._max_keepers:
                self._starting[job.key] = self._starting.get(job.key, 0) + 1
                self._spawn(self._start_more(job.key))
        return False

    def _make_room(self, idle: list[Keeper]) -> None:
        """Too many zygotes: end an idle one of another kind."""
        if len(self._keepers) >= self._max_keepers and idle:
            idle[0].kill("")

    def _fill_second_lane(self) -> bool:
        """All slots are taken: let the next job wait ready behind a running one of its kind."""
        job = self._queue.peek()
        for keeper in self._keepers:
            if keeper.load == 1 and not keeper.slow and keeper.key == job.key:
                keeper.run(self._queue.get())
                return True
        return False


class PoolObserver:
    """What the pool tells whoever keeps figures; this one listens to nothing."""

    def zygote_ended(self) -> None:
        pass

    def sandbox_error(self, reason: str) -> None:
        pass
