"""The texts of tasks that have to be read before they are judged: what is expected of calls, and scripts.

All texts of a batch are read together, as a worker takes many, while the programs already run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat

from cruxcell.protocol.payloads import EXPECTED, SCRIPT

from cruxboxd.judging.expected import Kind, Reader, Reading
from cruxboxd.judging.known_scripts import KnownScripts
from cruxboxd.judging.scripts import read_as
from cruxboxd.judging.tasks import CallCheck, Check, Kept, ScriptCheck, Task
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.shared.turns import Turns
from cruxboxd.shared.waiting import together
from cruxboxd.zygotes.setup import ZygoteKey

_AT_ONCE = 1 << 18  # characters that are looked at before others get a turn

Texts = dict[Check, tuple[bytes, Kept]]  # of the checks of a task that have a text to be read
Readings = Mapping[Check, Reading]  # of those


async def texts_of_all(tasks: Sequence[Task]) -> AsyncIterator[Texts]:
    """The texts of each task that have to be read; others get a turn on the event loop behind each part of them."""
    seen = 0
    for task in tasks:
        texts: Texts = {}
        for check, text in texts_of(task):
            texts[check] = text
            seen += len(text[1])
            if seen > _AT_ONCE:
                seen = 0
                await asyncio.sleep(0)
        yield texts


def texts_of(task: Task) -> Iterator[tuple[Check, tuple[bytes, Kept]]]:
    """The texts of a task that have to be read, with their checks: what is expected of calls, and scripts."""
    for check in task.checks:
        if isinstance(check, CallCheck) and check.expected is not None:
            yield check, (EXPECTED, check.expected)
        elif isinstance(check, ScriptCheck) and (kind := read_as(task, check)):
            yield check, (kind, check.script)


class TextReader:
    """Reads the texts of batches in workers that run no program."""

    def __init__(self, scheduler: Scheduler, hash_seed: str, turns: Turns) -> None:
        self._scheduler, self._hash_seed, self._turns = scheduler, hash_seed, turns
        self._scripts = KnownScripts(scheduler, hash_seed)

    def read_all(
        self, tasks: Sequence[Task], texts: Sequence[Texts]
    ) -> tuple[list[asyncio.Future[Readings]], list[asyncio.Future[list[Reading]]]]:
        """For each task, a future of the readings of its checks that have a text to be read; and the work."""
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Readings]] = [loop.create_future() for _ in tasks]
        by_runtime: dict[tuple[str, str, bool], list[int]] = {}
        for at, task in enumerate(tasks):
            if texts[at]:
                by_runtime.setdefault((task.runtime, task.tenant, task.interactive), []).append(at)
            else:
                futures[at].set_result({})
        works: list[asyncio.Future[list[Reading]]] = []
        for (runtime, tenant, interactive), places in by_runtime.items():
            wanted = [text for at in places for text in texts[at].values()]
            work = asyncio.ensure_future(self._read(wanted, runtime, tenant, interactive))
            works.append(work)
            work.add_done_callback(_deal([texts[at] for at in places], [futures[at] for at in places]))
        return futures, works

    async def _read(
        self, texts: list[tuple[bytes, Kept]], runtime: str, tenant: str, interactive: bool
    ) -> list[Reading]:
        """What is expected may be a candidate's, so no script is read beside it."""
        reader = Reader(self._scheduler, ZygoteKey(runtime, False, self._hash_seed), tenant, interactive, self._turns)
        scripts = [text for text in texts if text[0] != EXPECTED]
        if not scripts:
            return await reader.read(texts)
        known, read = await together(
            self._scripts.read(scripts, runtime, tenant, interactive),
            reader.read([text for text in texts if text[0] == EXPECTED]),
        )
        sides = {True: iter(read), False: iter(known)}
        return [next(sides[kind == EXPECTED]) for kind, _ in texts]

    async def read_script(self, task: Task, check: ScriptCheck) -> Reading:
        """A script of which nothing is known once it has been run."""
        texts = [(SCRIPT, check.script)]
        return (await self._scripts.read(texts, task.runtime, task.tenant, task.interactive))[0]


def _deal(
    checks: Sequence[Iterable[Check]], futures: Sequence[asyncio.Future[Readings]]
) -> Callable[[asyncio.Future[list[Reading]]], None]:
    """A callback that hands the readings of a whole batch, one for each check in turn, to the tasks they belong to."""

    def deal(done: asyncio.Future[list[Reading]]) -> None:
        if done.cancelled():  # nobody waits any more, and these are about to hear that
            for future in futures:
                future.cancel()
            return
        is_read = done.exception() is None
        read = iter(done.result() if is_read else repeat(Reading(Kind.UNREAD, text="the texts could not be read")))
        for ours, future in zip(checks, futures):
            future.set_result({check: next(read) for check in ours})

    return deal
