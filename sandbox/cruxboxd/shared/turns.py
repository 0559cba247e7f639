"""Time slices of the event loop for parsing requests: one at a time, shared between tenants by time used.

All requests share one event loop. Parsing a request of 16 MiB takes seconds. In slices, with a pass of the loop between
two slices, it delays other requests by a few milliseconds, however many such requests there are.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

# How long a slice may take; a step of what is cut must be much shorter.
SLICE_S = 0.003


class Turns:
    """Schedules slices of the event loop.

    Args:
        charge: told the tenant and the seconds of each slice.
        slice_s: how long a slice may take.
    """

    def __init__(self, charge: Callable[[str, float], None], slice_s: float = SLICE_S) -> None:
        self._charge, self._slice_s = charge, slice_s
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._used: dict[str, float] = {}
        self._is_taken = False

    async def run(self, tenant: str, steps: Iterator[None]) -> None:
        """Advance `steps` to their end, slice by slice; raises what they raise."""
        while True:
            await self._turn(tenant)
            began = time.perf_counter()
            end = began + self._slice_s
            try:
                for _ in steps:
                    if time.perf_counter() >= end:
                        break
                else:
                    return
            finally:
                self._over(tenant, time.perf_counter() - began)

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

    async def _turn(self, tenant: str) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if tenant not in self._waiting:
            # A tenant that joins starts at the least time that others have used: its absence gives it no advantage.
            least = min((self._used.get(name, 0.0) for name in self._waiting), default=0.0)
            self._used[tenant] = max(self._used.get(tenant, 0.0), least)
        self._waiting.setdefault(tenant, deque()).append(mine)
        try:
            await mine
        except BaseException:
            if mine.done() and not mine.cancelled():
                self._next()  # the turn was already given to this caller: pass it on
            raise

    def _over(self, tenant: str, seconds: float) -> None:
        self._used[tenant] = self._used.get(tenant, 0.0) + seconds
        self._charge(tenant, seconds)
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Give the turn to who has used the least, or to nobody."""
        for name in sorted(self._waiting, key=lambda name: self._used.get(name, 0.0)):
            line = self._waiting[name]
            while line:
                following = line.popleft()
                if not following.done():
                    if not line:
                        del self._waiting[name]
                    following.set_result(None)
                    return
            del self._waiting[name]
        self._is_taken = False
        self._used.clear()
