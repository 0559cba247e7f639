"""Short passes of the event loop, shared between tenants by the time they have used.

All requests share one event loop. asyncio runs what is ready in the order in which it became ready, and looks for what
has come from outside once all of that is done. A check takes about thirteen passes. Beside a tenant that always has
hundreds of steps ready, a check of another one would wait for all of them in each.

Here a pass is for what is of no tenant, which comes from outside and is short, and then for a few steps of tenants. The
next step is one of the tenant that has lately used the least time. So a tenant that uses little does not wait for
others. Strangers together are one tenant more.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextvars import ContextVar

# Steps of tenants in a pass, where several have some ready, and where one has. A step takes 0.1 to 1 ms; to look for
# what has come takes some 30 µs in each pass.
_STEPS, _STEPS_ALONE = 4, 16
# What a tenant has used counts half after so many seconds.
_HALF_LIFE_S = 1.0
# Who comes is ahead of who has used the most by so much at the most: else one that had the loop to itself would not run
# at all until those who come have used as much, for seconds.
_MOST_AHEAD_S = 0.02
# After so many of these the sums, which grow as time goes on, are put in proportion again.
_MOST_HALVINGS = 100.0

STRANGERS = ""
# Whose work this is. What has no value here is nobody's.
current_tenant: ContextVar[str] = ContextVar("current_tenant")


def share_loop() -> None:
    """Have the running event loop be shared in this way. A loop that is not asyncio's own stays as it is."""
    loop = asyncio.get_running_loop()
    ready = getattr(loop, "_ready", None)
    if isinstance(ready, deque):
        shared = Ready()
        loop._ready = shared  # type: ignore[attr-defined]  # first: a thread may add to it at any moment
        while ready:
            shared.append(ready.popleft())


class Ready:
    """What is ready to run, in place of the deque in which asyncio's loop keeps it.

    asyncio asks for the length before each pass, and then takes out as many and runs each at once.
    """

    def __init__(self) -> None:
        self._of_nobody: deque[asyncio.Handle] = deque()
        # What is left of the pass that runs.
        self._of_nobody_left = self._steps_left = 0
        # Tenants' steps as they came, which stand in no line yet.
        self._came: deque[tuple[str, asyncio.Handle]] = deque()
        self._lines: dict[str, deque[asyncio.Handle]] = {}
        self._in_lines = 0
        # Seconds used by each tenant. What is added later counts more, by the factor that it would have halved since
        # `_began`: so the sums need not be touched to be compared.
        self._used: dict[str, float] = {}
        self._most_used = 0.0
        self._began = time.perf_counter()
        self._running: str | None = None  # whose step runs, if it is a tenant's
        self._since = 0.0

    def append(self, handle: asyncio.Handle) -> None:
        """Also called by other threads, and by handlers of signals, which begin wherever this thread happens to be. So
        it changes one deque, by one call, and nothing else."""
        tenant = handle._context.get(current_tenant)  # type: ignore[attr-defined]
        if tenant is None:
            self._of_nobody.append(handle)
        else:
            self._came.append((tenant, handle))

    def _line_up(self) -> None:
        """Each that came stands in the line of its tenant now."""
        while self._came:
            tenant, handle = self._came.popleft()
            self._in_lines += 1
            if tenant not in self._lines:
                self._lines[tenant] = deque()
                least = self._most_used - _MOST_AHEAD_S * self._worth(time.perf_counter())
                self._used[tenant] = max(self._used.get(tenant, 0.0), least)
            self._lines[tenant].append(handle)

    def popleft(self) -> asyncio.Handle:
        self._note_used()
        if self._of_nobody and self._of_nobody_left:
            self._of_nobody_left -= 1
            return self._of_nobody.popleft()
        # What of nobody's has become ready in this pass takes the place of a tenant's step, but not of the last: an RPC
        # that arrives goes through several before it is anybody's.
        is_last, self._steps_left = self._steps_left == 1, self._steps_left - 1
        if self._lines and (is_last or not self._of_nobody):
            return self._next()
        return self._of_nobody.popleft()

    def _next(self) -> asyncio.Handle:
        """The next step of the tenant that has used the least."""
        self._line_up()
        tenant = min(self._lines, key=lambda name: self._used.get(name, 0.0))
        line = self._lines[tenant]
        handle = line.popleft()
        if not line:
            del self._lines[tenant]
        self._in_lines -= 1
        self._running, self._since = tenant, time.perf_counter()
        return handle

    def _note_used(self) -> None:
        """The step that was handed out last is over."""
        if self._running is None:
            return
        now = time.perf_counter()
        worth = self._worth(now)
        used = self._used.get(self._running, 0.0) + (now - self._since) * worth
        self._used[self._running], self._running = used, None
        self._most_used = max(self._most_used, used)

    def _worth(self, now: float) -> float:
        """What a second counts that is used now."""
        halvings = (now - self._began) / _HALF_LIFE_S
        if halvings > _MOST_HALVINGS:
            self._begin_anew(now, halvings)
            halvings = 0.0
        return float(2.0**halvings)

    def _begin_anew(self, now: float, halvings: float) -> None:
        """What is left of the sums counts on; those who have used nothing lately are forgotten."""
        left = {tenant: used * 0.5**halvings for tenant, used in self._used.items()}
        self._used = {tenant: used for tenant, used in left.items() if used > 1e-9}
        self._most_used *= 0.5**halvings
        self._began = now

    def __len__(self) -> int:
        """How many run in the next pass, which begins now."""
        self._line_up()
        self._of_nobody_left = len(self._of_nobody)
        self._steps_left = min(self._in_lines, _STEPS if len(self._lines) > 1 else _STEPS_ALONE)
        return self._of_nobody_left + self._steps_left

    def __bool__(self) -> bool:
        self._note_used()  # asyncio asks before it sleeps
        return bool(self._of_nobody or self._came or self._lines)

    def clear(self) -> None:
        self._of_nobody.clear()
        self._came.clear()
        self._lines.clear()
        self._in_lines = 0
