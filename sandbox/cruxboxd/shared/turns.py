"""Time slices of the event loop for what takes long, as parsing a request does.

All requests share one event loop. Parsing a request of 16 MiB takes seconds. In slices it delays others by one of them
at the most: between two slices there is a pass of the loop, which is shared between tenants (`fair_loop`). A slice is
one of time: what many short steps need is done in one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

# How long a slice may take; a step of what is cut must be much shorter.
SLICE_S = 0.001


class Turns:
    """Cuts work into slices.

    Args:
        charge: told the tenant and the seconds of each slice.
        slice_s: how long a slice may take; 0 for one step.
    """

    def __init__(self, charge: Callable[[str, float], None], slice_s: float = SLICE_S) -> None:
        self._charge, self._slice_s = charge, slice_s

    async def run(self, tenant: str, steps: Iterator[None]) -> None:
        """Advance `steps` to their end, slice by slice; raises what they raise."""
        while not self._advance(tenant, steps):
            await asyncio.sleep(0)

    def _advance(self, tenant: str, steps: Iterator[None]) -> bool:
        """Take a slice, or less; were these all steps?"""
        began = time.perf_counter()
        try:
            return all(time.perf_counter() < began + self._slice_s for _ in steps)
        finally:
            self._charge(tenant, time.perf_counter() - began)

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
