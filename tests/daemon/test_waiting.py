"""Nothing outlives what it belongs to, and no cancellation is lost."""

from __future__ import annotations

import asyncio

import pytest
from cruxbox.aio import _woken
from cruxboxd.shared.waiting import together, within


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_what_belongs_together_ends_together(is_cancelled):
    """One fails, or nobody waits: the others are over before that is heard."""
    ended = []

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    async def fail() -> None:
        await asyncio.sleep(60 if is_cancelled else 0)
        raise ValueError("one")

    running = asyncio.ensure_future(together(wait(), fail(), wait()))
    for _ in range(3):
        await asyncio.sleep(0)
    if is_cancelled:
        running.cancel()
    with pytest.raises(asyncio.CancelledError if is_cancelled else ValueError):
        await running
    assert len(ended) == 2


async def test_what_comes_in_time_and_what_does_not():
    ended = []

    async def late() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    assert await within(10, asyncio.sleep(0, "value")) == "value"
    with pytest.raises(asyncio.TimeoutError):
        await within(0.01, late())
    assert ended == [True]
    with pytest.raises(ZeroDivisionError):
        await within(10, fails())


async def fails() -> None:
    await asyncio.sleep(0)
    raise ZeroDivisionError


async def wait_client(event: asyncio.Event) -> None:
    await _woken(event, 60)


async def wait_server(event: asyncio.Event) -> None:
    await within(60, event.wait())


@pytest.mark.parametrize("waits", [wait_client, wait_server])
async def test_a_cancellation_in_the_moment_of_the_result_is_heard(waits):
    """`asyncio.wait_for` loses it in Python 3.11 and before, at one of these moments."""
    heard = []
    for steps in range(6):
        event = asyncio.Event()
        waiting = asyncio.ensure_future(waits(event))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        event.set()
        for _ in range(steps):
            await asyncio.sleep(0)
        if waiting.cancel():
            await asyncio.wait({waiting})
            heard.append(waiting.cancelled())
    assert all(heard), heard
    assert len(heard) > 1
