"""The jobs that shared a worker: all of them wait for the audits of each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Company:
    """The jobs that shared a worker. `draw(count)` picks, of so many checks, the places of those to be audited.

    All samples are drawn when the worker's results arrive, before any job gets its own. So no result is released
    while an audit of another job is pending.
    """

    def __init__(self, draw: Callable[[int], tuple[int, ...]]) -> None:
        self._draw = draw
        self._audits = 0
        self._ended = asyncio.Event()
        self._ended.set()

    def draw(self, checks: int) -> tuple[int, ...]:
        """The places, among a job's checks, of those that are to be audited; `settle` ends the audit of the job."""
        places = self._draw(checks)
        if places:
            self._audits += 1
            self._ended.clear()
        return places

    def settle(self) -> None:
        """The audit of one job that had places drawn has ended, or will not take place."""
        self._audits -= 1
        if self._audits == 0:
            self._ended.set()

    async def settled(self) -> None:
        """Wait until every audit of the company has ended."""
        await self._ended.wait()
