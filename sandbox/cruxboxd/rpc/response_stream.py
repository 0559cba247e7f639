"""Verdicts on their way out of one stream: bounded in bytes, for a client that reads slowly or not at all."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from cruxboxd.settings.config import MIB

# Verdicts that are ready at the same time travel together, up to so many a message and so many bytes.
_VERDICTS_A_MESSAGE = 256
_BYTES_A_MESSAGE = 4 * MIB
_BYTES = 8 * MIB
_LINGER_S = 0.002
_VERDICTS = 4 * _VERDICTS_A_MESSAGE


class Outbox:
    """A queue of verdicts. Whoever puts one in waits while it is full; that stops the workers, and in the end the
    reading of requests, so a client that does not read holds a bounded amount of memory."""

    def __init__(self) -> None:
        self._verdicts: deque[bytes] = deque()
        self._bytes = 0
        self._is_closed = False
        self._ready, self._room = asyncio.Event(), asyncio.Event()

    async def put(self, verdict: bytes) -> None:
        """Add a verdict, written as a field of CheckResponse."""
        size = len(verdict)
        while self._verdicts and (self._bytes + size > _BYTES or len(self._verdicts) >= _VERDICTS):
            self._room.clear()
            await self._room.wait()
        self._verdicts.append(verdict)
        self._bytes += size
        self._ready.set()

    def close(self) -> None:
        """Nothing more will come."""
        self._is_closed = True
        self._ready.set()

    async def responses(self) -> AsyncIterator[bytes]:
        """Messages of what is there, until `close`."""
        while True:
            while not self._verdicts:
                if self._is_closed:
                    return
                self._ready.clear()
                await self._ready.wait()
            if len(self._verdicts) < _VERDICTS_A_MESSAGE and not self._is_closed:
                await asyncio.sleep(_LINGER_S)  # what becomes ready in a moment travels along
            yield b"".join(self._take())

    def _take(self) -> list[bytes]:
        """As many verdicts as go into one message; at least one."""
        taken: list[bytes] = []
        size = 0
        while self._verdicts and len(taken) < _VERDICTS_A_MESSAGE:
            if taken and size + len(self._verdicts[0]) > _BYTES_A_MESSAGE:
                break
            taken.append(self._verdicts.popleft())
            size += len(taken[-1])
        self._bytes -= size
        self._room.set()
        return taken
