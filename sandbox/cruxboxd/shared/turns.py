"""Time slices of the event loop for parsing requests: one a pass, shared between tenants by time used.

All requests share one event loop. Parsing a request of 16 MiB takes seconds. In slices, with a pass of the loop between
two slices, it delays other requests by a few milliseconds, however many such requests there are. A slice is one of time
and not of a request: what many small ones need is done in one. Each pass more would cost them what else there is to do.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

# How long a slice may take; a step of what is cut must be much shorter.
SLICE_S = 0.003


@dataclass(eq=False)
class _Work:
    """What waits for the next slice, whose it is, and whoever waits for its end."""

    tenant: str
    steps: Iterator[None]
    context: Context
    end: asyncio.Future[None]


class Turns:
    """Schedules slices of the event loop.

    Args:
        charge: told the tenant and the seconds of each slice.
        slice_s: how long a slice may take.
    """

    def __init__(self, charge: Callable[[str, float], None], slice_s: float = SLICE_S) -> None:
        self._charge, self._slice_s = charge, slice_s
        self._waiting: dict[str, deque[_Work]] = {}
        self._used: dict[str, float] = {}
        self._spent_s = 0.0  # of the slice of this pass
        self._has_begun = False  # has anything run in this pass?

    async def run(self, tenant: str, steps: Iterator[None]) -> None:
        """Advance `steps` to their end, slice by slice; raises what they raise."""
        if not self._waiting and self._has_time and self._advance(tenant, steps):
            return
        work = _Work(tenant, steps, copy_context(), asyncio.get_running_loop().create_future())
        self._enter(work)
        try:
            await work.end
        finally:
            del work  # else an error, the frames on its way and this one hold each other

    async def cancel(
        self, tenant: str, running: Sequence[asyncio.Future[None]], others: Iterable[asyncio.Future[Any]] = ()
    ) -> None:
        """Cancel each, one at a step; all at once if that is not waited for. Wait for these and `others` to end."""

        def one_by_one() -> Iterator[None]:
            for one in running:
                if one.cancel():
                    yield

        try:
            await self.run(tenant, one_by_one())
        except BaseException:
            for one in running:
                one.cancel()
            raise
        await asyncio.gather(*running, *others, return_exceptions=True)

    @property
    def _has_time(self) -> bool:
        return not self._has_begun or self._spent_s < self._slice_s

    def _advance(self, tenant: str, steps: Iterator[None]) -> bool:
        """Take what is left of the slice, or less; were these all steps?"""
        if not self._has_begun:
            self._has_begun = True
            asyncio.get_running_loop().call_soon(self._next)
        began = time.perf_counter()
        end = began + self._slice_s - self._spent_s
        try:
            return all(time.perf_counter() < end for _ in steps)
        finally:
            seconds = time.perf_counter() - began
            self._spent_s += seconds
            self._used[tenant] = self._used.get(tenant, 0.0) + seconds
            self._charge(tenant, seconds)

    def _enter(self, work: _Work) -> None:
        if work.tenant not in self._waiting:
            # A tenant that joins starts at the least time that others have used: its absence gives it no advantage.
            least = min((self._used.get(name, 0.0) for name in self._waiting), default=0.0)
            self._used[work.tenant] = max(self._used.get(work.tenant, 0.0), least)
        self._waiting.setdefault(work.tenant, deque()).append(work)

    def _next(self) -> None:
        """A pass of the loop: its slice is for those that have used the least."""
        self._spent_s, self._has_begun = 0.0, False
        while self._waiting and self._has_time:
            self._go_on(min(self._waiting, key=lambda name: self._used.get(name, 0.0)))
        if not self._has_begun:
            self._used.clear()

    def _go_on(self, tenant: str) -> None:
        line = self._waiting[tenant]
        work = line.popleft()
        if not line:
            del self._waiting[tenant]
        try:
            if work.end.done():  # nobody waits any more
                return
            if work.context.run(self._advance, tenant, work.steps):
                work.end.set_result(None)
            else:
                self._enter(work)
        except Exception as error:
            work.end.set_exception(error)
        finally:
            del work  # as in `run`
