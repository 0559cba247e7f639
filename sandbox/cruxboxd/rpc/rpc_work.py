"""One RPC's work, in slices: none so large that it holds up the loop, few enough at a time to keep memory bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from cruxboxd.judging.judge import Emit, Judge
from cruxboxd.judging.tasks import Task
from cruxboxd.tenancy.admission import Ticket

CHECKS_A_SLICE = 256
# A task's calls get their verdicts together, and their output is held until then. A task whose calls may produce more
# bytes than this is cut.
BYTES_A_PART = 128 << 20
# A task of more checks is cut as well: the event loop begins one in a pass, and ends one in a pass.
CHECKS_A_TASK = 64
SLICES_AN_RPC = 16


def slices(tasks: Sequence[Task], most: int = CHECKS_A_SLICE) -> Iterator[list[Task]]:
    """The tasks in groups of at most `most` checks; a larger task is cut, as its checks know nothing of each other."""
    group: list[Task] = []
    room = most
    for task in tasks:
        largest = max(1, min(CHECKS_A_TASK, BYTES_A_PART // task.limits.output_bytes))
        begin = 0
        while begin < len(task.checks):
            part = task.checks[begin : begin + min(room, largest)]
            group.append(task if len(part) == len(task.checks) else replace(task, checks=part))
            begin, room = begin + len(part), room - len(part)
            if room == 0:
                yield group
                group, room = [], most
    if group:
        yield group


class RpcWork:
    """The slices of one RPC that are being judged.

    What a slice holds is given back by a callback of its task, and what has no slice yet by `add`, both without
    waiting: an RPC may be cancelled again at each `await` of its own end.
    """

    def __init__(self, judge: Judge, emit: Emit) -> None:
        self._judge, self._emit = judge, emit
        self._room = asyncio.Semaphore(SLICES_AN_RPC)
        self._running: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None
        self._is_ending = False

    def has_work(self) -> bool:
        """Is anything of this RPC still without a verdict?"""
        return bool(self._running)

    async def add(self, tasks: Sequence[Task], ticket: Ticket) -> None:
        """Start on the tasks that `ticket` was given for; waits while enough is under way."""
        everything = left = sum(len(task.checks) for task in tasks)
        try:
            for part in slices(tasks):
                await self._room.acquire()
                self._raise()
                work = asyncio.create_task(self._judge.judge(part, self._emit))
                self._running.add(work)
                checks = sum(len(task.checks) for task in part)
                work.add_done_callback(partial(self._ended, ticket, checks))
                left -= checks
        finally:
            if left or not everything:
                ticket.give_back(left)

    async def finish(self) -> None:
        """Wait until everything has its verdict; raises what went wrong."""
        while self._running and self._error is None:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_EXCEPTION)
            await asyncio.sleep(0)  # the callbacks that take the error
        self._raise()

    def fail(self, error: Exception) -> None:
        """No more is wanted; who adds or finishes hears why."""
        self._error = self._error or error
        self._end()

    async def cancel(self) -> None:
        """Nobody waits any more: kill the workers. Does nothing after `finish`."""
        self._end()
        if self._running:
            await asyncio.wait(self._running)

    def _end(self) -> None:
        """Each slice once: one that is told again ends all that it has under way in one pass of the event loop."""
        if not self._is_ending:
            self._is_ending = True
            for work in self._running:
                work.cancel()

    def _ended(self, ticket: Ticket, checks: int, work: asyncio.Task[None]) -> None:
        """A slice has its verdicts, or will have none. Called even if it was cancelled before it began."""
        self._running.discard(work)
        self._room.release()
        error = None if work.cancelled() else work.exception()
        self._error = self._error or error
        if ticket.give_back(checks) and error is None and not work.cancelled():
            ticket.answered()

    def _raise(self) -> None:
        """Raise what went wrong, and hold it no longer: its frames hold this."""
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error
