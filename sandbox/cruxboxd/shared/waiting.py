"""`gather` and `wait_for` without the flaws of asyncio's.

`asyncio.gather` leaves the other tasks running when one fails; they would hold workers and report unused results.
`asyncio.wait_for` of Python 3.11 and earlier loses a cancellation that arrives together with the result, so the
cancelled task runs for ever. The linter refuses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Coroutine
from contextvars import Context
from typing import Any, TypeVar

_Found = TypeVar("_Found")


async def together(*work: Awaitable[_Found]) -> list[_Found]:
    """What comes of each, in order. If one fails, or nobody waits any more, the others are ended first."""
    running = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*running))
    except BaseException:
        await _end(*running)
        raise


async def done(running: Collection[asyncio.Future[_Found]]) -> None:
    """Wait until each is done, or one fails, which is raised. Who waits no more leaves them as they are."""
    if running:
        ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
        for one in ended:
            one.result()


async def within(seconds: float, work: Awaitable[_Found]) -> _Found:
    """What comes of `work`. Raises asyncio.TimeoutError after so many seconds; what is given up is ended first."""
    running = asyncio.ensure_future(work)
    try:
        await asyncio.wait({running}, timeout=seconds)
        if not running.done():
            raise asyncio.TimeoutError
        return running.result()
    finally:
        await _end(running)


def on_its_own(work: Coroutine[Any, Any, _Found]) -> asyncio.Task[_Found]:
    """Begin work that is of no request, whoever happens to begin it. All that it begins in turn, and every callback
    that it registers, would else run as that request's for as long as the daemon lives."""
    return Context().run(asyncio.get_running_loop().create_task, work)


async def _end(*running: asyncio.Future[_Found]) -> None:
    for one in running:
        one.cancel()
    await asyncio.gather(*running, return_exceptions=True)
