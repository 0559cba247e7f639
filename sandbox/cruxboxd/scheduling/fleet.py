"""The zygotes: starts them when there is work of their kind, watches them, and knows what they have room for.

A zygote is *busy* while it has a job, and holds a CPU slot while it is busy and not *slow* (the job has run for some
milliseconds). Slots, busy zygotes, zygotes in all and the memory of the workers are bounded, each by a figure of its
own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from cruxboxd.scheduling.loading import Loading, NextOf
from cruxboxd.scheduling.memory_share import MemoryShare
from cruxboxd.scheduling.taken import Taken
from cruxboxd.settings.config import Config, reserve_of
from cruxboxd.shared.observer import Observer
from cruxboxd.shared.waiting import on_its_own
from cruxboxd.zygotes import launch, strays
from cruxboxd.zygotes.jobs import Job
from cruxboxd.zygotes.launch import Hung, StartError
from cruxboxd.zygotes.retry import RETRY
from cruxboxd.zygotes.setup import ZygoteKey, ZygoteSetup
from cruxboxd.zygotes.template import Template
from cruxboxd.zygotes.zygote_process import ZygoteProcess

log = logging.getLogger(__name__)

_AWAY_NS = 3_000_000_000
# After which a zygote that says nothing may have been stopped. With a fast worker it would have said something within
# some 20 ms, had it a CPU.
_STOPPED_NS, _STOPPED_FAST_NS = 250_000_000, 100_000_000
_SILENT_NS = 2_000_000_000  # a zygote that says nothing for so long keeps no CPU slot
_HUNG_NS = 10_000_000_000  # and cannot be well
# Zygotes that may wait for work of their kind, beside all that may have work at once: they hold little memory, and to
# start another costs as much as twenty forks.
_SPARE_A_SLOT = 3
_WORTH_A_WAIT_NS = 100_000_000  # most slow workers are done by then
# Fast workers a slot at the most, and where the next is one of a tenant that has used less than its share.
_MOST_FAST, _MOST_FAST_AHEAD = 2, 3


# Is told which kinds of zygote do not start, and why.
GiveUp = Callable[[Callable[[ZygoteKey], bool], str], None]


def most_zygotes(config: Config) -> int:
    """How many there may be, idle ones too; and as many templates."""
    return _most_busy(config) + _SPARE_A_SLOT * config.workers


def _most_busy(config: Config) -> int:
    """How many may have work at once."""
    return max(config.zygotes, config.workers)


class Fleet:
    """All zygotes of the daemon.

    Args:
        on_change: called when a zygote has become free, has started or has ended.
        requeue: takes a job that a zygote could not finish.
        give_up: called with what tells the kinds of zygote that do not start, and the reason.
        charge: called with the name of a tenant and the CPU time, in seconds, of what was started for it.
    """

    def __init__(
        self, config: Config, setup_of: Callable[[ZygoteKey], ZygoteSetup], observer: Observer, *,
        on_change: Callable[[], None], requeue: Callable[[Job], None], give_up: GiveUp,
        charge: Callable[[str, float], None],
    ) -> None:  # fmt: skip
        self.slots = config.workers
        self.most_busy = _most_busy(config)
        self._most_zygotes = most_zygotes(config)
        self._memory_share = MemoryShare(config.worker_memory_bytes, reserve_of(config))
        self._cpus = len(os.sched_getaffinity(0))
        self._setup_of, self._observer = setup_of, observer
        self._on_change, self._requeue, self._give_up, self._charge = on_change, requeue, give_up, charge
        self._zygotes: list[ZygoteProcess] = []
        self._templates: dict[ZygoteKey, Template] = {}
        self._loading = Loading()
        self._starting: dict[ZygoteKey, int] = {}
        self._start_failures: dict[ZygoteKey, int] = {}
        self._lacking: dict[ZygoteKey, int] = {}  # since when all of a kind have been busy while a slot was free
        self._starts: set[asyncio.Task[None]] = set()
        self._watched_ns = self._glanced_ns = time.monotonic_ns()

    def __len__(self) -> int:
        return len(self._zygotes)

    def __iter__(self) -> Iterator[ZygoteProcess]:
        return iter(list(self._zygotes))

    # ---- room --------------------------------------------------------------------------------------------------

    @property
    def busy(self) -> int:
        """Zygotes that have a job."""
        return sum(1 for zygote in self._zygotes if zygote.load)

    @property
    def starting(self) -> int:
        """Zygotes and templates that are about to be ready."""
        return sum(self._starting.values()) + len(self._loading)

    @property
    def _zygotes_soon(self) -> int:
        return len(self._zygotes) + sum(self._starting.values())

    @property
    def slow(self) -> list[str]:
        """The tenant of each slow worker."""
        return [zygote.tenant for zygote in self._zygotes if zygote.slow]

    @property
    def carried(self) -> set[Job]:
        """The jobs that zygotes have, and those that these carry."""
        return {one for zygote in self._zygotes for job in zygote.jobs for one in (job, *job.carried)}

    @property
    def taken(self) -> Taken:
        """What is taken now. Ask once for a look at many jobs: to count costs more than all else of it."""
        return Taken(self._zygotes)

    @property
    def has_room(self) -> bool:
        """Is a CPU slot free, and a zygote more allowed to be busy?"""
        return self._has_room(self.taken)

    def _has_room(self, taken: Taken) -> bool:
        return len(taken.fast) < self.slots and taken.busy < self.most_busy

    def has_room_for(self, tenant: str, taken: Taken, *, is_ahead: bool) -> bool:
        """Is there room, or, though all slots are taken, none of them by this tenant?

        Then it gets one more than there are: its worker shares a CPU with those of the others from the start, rather
        than wait until one of them ends. So what the others have started delays nobody's first job. Nor any job of a
        tenant that has used less than its share (`is_ahead`): it may have as many workers as there are slots, and a
        part of those beyond the slots is for such tenants alone.
        """
        if self._has_room(taken):
            return True
        if taken.busy >= self.most_busy:
            return False
        own, fast = taken.fast_of[tenant], len(taken.fast)
        if is_ahead:
            return own < self.slots and fast < _MOST_FAST_AHEAD * self.slots
        return not own and fast < _MOST_FAST * self.slots

    def fits(self, job: Job, present: int, taken: Taken) -> bool:
        """Would all workers fit into memory together with this job's, each at its limit, and leave room for other
        tenants? `present` counts those that have work here."""
        own = taken.memory_of[job.tenant]
        return self._memory_share.fits(job.memory_bytes, own, taken.memory - own, present)

    def is_within_share(self, job: Job, present: int, taken: Taken) -> bool:
        """Does the job's tenant keep to its equal share of the memory with it?"""
        return self._memory_share.is_within(job.memory_bytes, taken.memory_of[job.tenant], present)

    def idle(self, key: ZygoteKey) -> ZygoteProcess | None:
        """A zygote of this kind that has nothing to do."""
        found = self._idle(key)
        if found is not None:
            self._lacking.pop(key, None)
        return found

    def has_idle(self, key: ZygoteKey) -> bool:
        """Has a zygote of this kind nothing to do?"""
        return self._idle(key) is not None

    def _idle(self, key: ZygoteKey) -> ZygoteProcess | None:
        return next((zygote for zygote in self._zygotes if zygote.load == 0 and zygote.key == key), None)

    @property
    def idle_keys(self) -> set[ZygoteKey]:
        """The kinds of which a zygote has nothing to do."""
        return {zygote.key for zygote in self._zygotes if zygote.load == 0}

    def behind(self, key: ZygoteKey, taken: Taken) -> ZygoteProcess | None:
        """A zygote of this kind with a job that is not slow, behind which another may wait.

        None while more workers take a slot than there are: what waits behind one of them follows upon it without a
        slot, and they would stay too many for ever.
        """
        if len(taken.fast) > self.slots:
            return None
        return next((zygote for zygote in taken.fast if zygote.load == 1 and zygote.key == key), None)

    def seat(self) -> int:
        """The CPU for the next pair, by its place among those the daemon may use: any of those that have the fewest.

        At random, as other daemons on this host choose, too.
        """
        taken = Counter(job.seat for zygote in self._zygotes for job in zygote.jobs if job.partner is not None)
        return min(random.sample(range(self._cpus), self._cpus), key=taken.__getitem__)

    # ---- starting and ending -----------------------------------------------------------------------------------

    async def open(self, key: ZygoteKey) -> ZygoteProcess:
        """Start one zygote per slot for `key`; raises StartError if the first cannot be confined."""
        started = await asyncio.gather(*[self.start(key) for _ in range(self.slots)], return_exceptions=True)
        for one in started:
            if isinstance(one, BaseException):
                raise one
        self._watched_ns = time.monotonic_ns()
        return self._zygotes[0]

    async def start(self, key: ZygoteKey, tenant: str | None = None) -> ZygoteProcess:
        """Start one zygote for `key`; raises StartError if it cannot be confined. The `tenant` that asks for it pays
        for its start, and for its template's; what the daemon starts by itself is nobody's."""
        zygote, template = ZygoteProcess(key, self._on_zygote, self._requeue), self._template_of(key)
        try:
            await zygote.start(template)
        except BaseException:
            zygote.kill("")
            raise
        self._zygotes.append(zygote)
        cost_ns = template.take_cost_ns() + launch.cpu_ns(zygote.pid)
        if tenant is not None:
            self._charge(tenant, cost_ns / 1e9)
        return zygote

    def start_soon(self, job: Job, jobs_of: Callable[[ZygoteKey], int], taken: Taken, *, is_ahead: bool) -> None:
        """Start one zygote more for `job`, unless there will be one for each job of its kind that waits (`jobs_of`) or
        for each free slot, or too many in all. Its tenant pays: each kind has a template, and a text chooses the kind.

        Where there is one for each slot, and their workers are slow, this waits for them a moment first: most are
        only a little slow, and each zygote more is kept.
        """
        key = job.key
        starting = self._starting.get(key, 0)
        if starting >= max(1, self.slots - len(taken.fast)) or (starting and starting >= jobs_of(key)):
            return
        now = time.monotonic_ns()
        # Where all slots are taken it is for a tenant that gets one more (`has_room_for`). That needs a zygote, too.
        enough = self.slots if self._has_room(taken) else (_MOST_FAST_AHEAD if is_ahead else _MOST_FAST) * self.slots
        if starting + sum(zygote.key == key for zygote in self._zygotes) >= enough:
            if key not in self._lacking:
                self._lacking[key] = now
                asyncio.get_running_loop().call_later(_WORTH_A_WAIT_NS / 1e9, self._on_change)
            if now < self._lacking[key] + _WORTH_A_WAIT_NS:
                return
        self._begin(key, job.tenant)

    def start_beside(self, head: Job, next_of: NextOf) -> None:
        """Where the template that a tenant's next job needs is late, begin one that a job behind it needs."""
        if not self._loading.is_late(head.key.template):
            return
        there = {zygote.key for zygote in self._zygotes} | {key for key, count in self._starting.items() if count}
        well = {kind.runtime for kind, template in self._templates.items() if template.is_ready}
        job = self._loading.next_beside(head, there, well, next_of)
        if job is not None:
            self._begin(job.key, job.tenant)

    def _begin(self, key: ZygoteKey, tenant: str) -> None:
        """Start a zygote if there is a place for it, once its template is ready."""
        if not self._template_of(key).is_ready:
            has_place = self._zygotes_soon < self._most_zygotes or any(not zygote.load for zygote in self._zygotes)
            if has_place and self._loading.begin(key.template, tenant):
                self._do(self._load(key, tenant))
            return
        self._make_room(key)
        if self._zygotes_soon < self._most_zygotes:
            self._starting[key] = self._starting.get(key, 0) + 1
            self._do(self._start_or_give_up(key, tenant))

    def _do(self, start: Coroutine[Any, Any, None]) -> None:
        doing = on_its_own(start)
        self._starts.add(doing)
        doing.add_done_callback(self._starts.discard)

    async def _load(self, key: ZygoteKey, tenant: str) -> None:
        template = self._template_of(key)
        try:
            await template.get_ready()
            self._loading.is_well(key.runtime)
        except (StartError, OSError) as error:
            await self._failed(key, error, lambda one: one.template == key.template)
        finally:
            self._loading.end(key.template)
        if template.is_ready and not self._starting.get(key):  # a job may have come since, and begun one
            self._begin(key, tenant)
        self._on_change()

    async def _start_or_give_up(self, key: ZygoteKey, tenant: str) -> None:
        try:
            await self.start(key, tenant)
            self._start_failures[key] = 0
        except (StartError, OSError) as error:
            await self._failed(key, error, lambda one: one == key)
        finally:
            self._starting[key] -= 1
        self._on_change()

    async def _failed(self, key: ZygoteKey, error: Exception, is_of_it: Callable[[ZygoteKey], bool]) -> None:
        """After several starts that failed in a row, or one that hung, what waits for such a zygote ends as our
        failure: for any of the runtime, if that has hung before. Where there is one, it waits for that."""
        log.error("zygote did not start", extra={"reason": str(error)})
        self._observer.sandbox_error("zygote_start")
        await asyncio.sleep(RETRY.pause_s)
        self._start_failures[key] = self._start_failures.get(key, 0) + 1
        is_hung = isinstance(error, Hung)
        if is_hung or RETRY.is_spent(self._start_failures[key]):
            self._start_failures[key] = 0
            is_all = is_hung and self._loading.hung(key.runtime)
            there = {zygote.key for zygote in self._zygotes}
            self._give_up(
                lambda one: one not in there and (one.runtime == key.runtime if is_all else is_of_it(one)), str(error)
            )

    def _make_room(self, key: ZygoteKey) -> None:
        """Too many zygotes, with those that start, for one of this kind: end an idle one, of the kind there are most
        of, so that no kind has to be started again and again."""
        idle = [zygote for zygote in self._zygotes if zygote.load == 0]
        if self._zygotes_soon >= self._most_zygotes and idle:
            count = Counter(zygote.key for zygote in self._zygotes)
            victim = max(idle, key=lambda zygote: count[zygote.key])
            self._zygotes.remove(victim)  # asked for, so it does not count as a restart
            victim.kill("")
            self._let_templates_go(key)

    def _template_of(self, kind: ZygoteKey) -> Template:
        key = kind.template
        if key not in self._templates:
            if len(self._templates) >= self._most_zygotes:  # some of which have lost all that they forked
                self._let_templates_go(key)
            self._templates[key] = Template(self._setup_of(key))
        return self._templates[key]

    def _let_templates_go(self, wanted: ZygoteKey) -> None:
        """Those of kinds of which there is no zygote, and will be none soon."""
        needed = {zygote.key for zygote in self._zygotes} | {key for key, count in self._starting.items() if count}
        for key in self._templates.keys() - {key.template for key in (*needed, *self._loading, wanted)}:
            self._templates.pop(key).close()

    def _on_zygote(self, zygote: ZygoteProcess) -> None:
        if not zygote.alive and zygote in self._zygotes:
            self._zygotes.remove(zygote)
            self._observer.zygote_ended()
        self._on_change()

    def cancel(self, job: Job) -> None:
        """Kill the job's worker, wherever it is."""
        for zygote in self._zygotes:
            zygote.cancel(job)

    def glance(self) -> None:
        """Kill zygotes that are stopped while somebody waits for what a fast worker does. To be called many times a
        second; if it was not, all may have been stopped, and this daemon be the first to go on."""
        now = time.monotonic_ns()
        was_away, self._glanced_ns = now - self._glanced_ns > _STOPPED_NS, now
        for zygote in () if was_away else self.taken.fast:
            if zygote.silence_ns(now) > _STOPPED_FAST_NS and strays.is_stopped(zygote.pid):
                self._give_up_on(zygote)

    def _give_up_on(self, zygote: ZygoteProcess) -> None:
        self._observer.sandbox_error("zygote_hung")
        zygote.kill("it hangs")

    def watch(self) -> None:
        """Kill zygotes that do not answer or are stopped; their jobs run elsewhere. To be called a few times a second.

        Those that have been silent for a moment give their CPU slot back: a zygote that cannot run says SLOW of nobody.
        """
        now = time.monotonic_ns()
        was_away = now - self._watched_ns > _AWAY_NS  # stopped or starved itself: it has heard nobody
        self._watched_ns = now
        for zygote in self:
            silence_ns = 0 if was_away else zygote.silence_ns(now)
            if silence_ns > _HUNG_NS or (silence_ns > _STOPPED_NS and strays.is_stopped(zygote.pid)):
                self._give_up_on(zygote)
                continue
            if silence_ns > _SILENT_NS and not zygote.slow:
                zygote.give_slot_back()
            zygote.ping()
        for template in () if was_away else self._templates.values():
            template.watch(now)

    def reap(self) -> None:
        """Take the exit statuses of orphans: a look at all processes of a container, so not as often as `watch`."""
        templates = {template.pid for template in self._templates.values()}
        strays.reap(templates | {zygote.pid for zygote in self._zygotes})

    async def close(self) -> None:
        """Kill every zygote and what it runs."""
        for start in list(self._starts):
            start.cancel()
        for zygote in self:
            zygote.kill("")
        for template in self._templates.values():
            template.close()
        await asyncio.gather(*self._starts, return_exceptions=True)
