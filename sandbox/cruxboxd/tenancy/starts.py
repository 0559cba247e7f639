"""How many requests of a tenant are begun at the same time, and in a second. The others wait, unread.

Judging a request costs the event loop more than taking an RPC over, and an RPC that is cancelled costs it as much as
one that is answered. So a tenant has so many places. A request takes one when it is read, and frees it

* at once if it is answered,
* `REFUSED_S` after it began if it is refused,
* `LEFT_S` after it began if it is cancelled, or runs longer: checks that hang keep no other request waiting.

A question about the daemon, or an RPC of a method that there is not, costs nothing but the event loop, which nobody is
charged for. So its place is free no sooner than `QUESTION_S` after it began, also if it is answered. The same holds for
callers whom nobody knows, who all together have places to be refused (`rpc/strangers.py`).

What a tenant's callers open and leave beyond that is cancelled while it waits, which costs little.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict

PLACES_A_WORKER, LEAST_PLACES = 4, 16
QUESTIONS = 4  # places of a tenant for what is no work
QUESTION_S = 0.1  # for which one of these is taken at least
REFUSED_S, LEFT_S = 0.1, 1.0


class Start:
    """One request that has begun."""

    def __init__(self, starts: Starts, tenant: str) -> None:
        self._starts, self._tenant, self._began = starts, tenant, time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(LEFT_S, self._free)

    def answered(self) -> None:
        """All of its verdicts are known."""
        self._end(self._starts.least_s)

    def refused(self) -> None:
        """It got none."""
        self._end(REFUSED_S)

    def _end(self, taken_s: float) -> None:
        """Its place is free when it has been taken for so long."""
        if self._timer.cancelled():
            return
        self._timer.cancel()
        left_s = self._began + taken_s - time.monotonic()
        if left_s > 0:
            self._timer = asyncio.get_running_loop().call_later(left_s, self._free)
        else:
            self._free()

    def _free(self) -> None:
        self._timer.cancel()
        self._starts.free(self._tenant)


class Starts:
    """The places of all tenants.

    Args:
        most: places of each tenant; 0 for no bound, where all callers are one tenant.
        least_s: for how long what is answered takes its place at least; up to `LEFT_S`.
    """

    def __init__(self, most: int, least_s: float = 0.0) -> None:
        self._most, self.least_s = most, least_s
        self._begun: dict[str, int] = {}
        self._waiting: dict[str, OrderedDict[asyncio.Future[None], None]] = {}

    async def begin(self, tenant: str) -> Start:
        """Wait for a place and take it."""
        if self._most and self._begun.get(tenant, 0) >= self._most:
            line = self._waiting.setdefault(tenant, OrderedDict())
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            line[mine] = None
            try:
                await mine
            except BaseException:
                if mine.done() and not mine.cancelled():
                    self.free(tenant)  # it was ours already; the next one's now
                self._leave(tenant, mine)
                raise
        else:
            self._begun[tenant] = self._begun.get(tenant, 0) + 1
        return Start(self, tenant)

    def free(self, tenant: str) -> None:
        """A place is free: the next request of the tenant has it, or nobody."""
        while line := self._waiting.get(tenant):
            mine = next(iter(line))
            self._leave(tenant, mine)
            if not mine.done():
                mine.set_result(None)
                return
        self._begun[tenant] -= 1
        if not self._begun[tenant]:
            del self._begun[tenant]

    def lift(self) -> None:
        """There is no bound any more: whatever waits begins."""
        self._most = 0
        waiting, self._waiting = self._waiting, {}
        for tenant, line in waiting.items():
            for mine in line:
                if not mine.done():
                    self._begun[tenant] += 1
                    mine.set_result(None)

    def _leave(self, tenant: str, mine: asyncio.Future[None]) -> None:
        line = self._waiting.get(tenant)
        if line is not None:
            line.pop(mine, None)
            if not line:
                del self._waiting[tenant]
