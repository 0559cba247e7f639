"""Bytes that go into a pipe as fast as its reader takes them, beside everything else on the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

SET_PIPE_SIZE, GET_PIPE_SIZE = 1031, 1032  # F_SETPIPE_SZ and F_GETPIPE_SZ, which fcntl names from Python 3.10 on
_BYTES_A_STEP = 1 << 18  # a reader that keeps up would else hold the loop until it has all


class PipeWriter:
    """Writes `data` into `pipe`, in steps of the event loop, and holds it no longer than that.

    Args:
        pipe: the writing end, which does not block. It stays the caller's.
        data: all of it.
        ended: called once, unless it is stopped: with None when all is written, or with why it cannot be.
    """

    def __init__(self, pipe: int, data: bytes, ended: Callable[[OSError | None], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._pipe, self._ended = pipe, ended
        self._rest = memoryview(data)  # of which parts are no copies
        self._is_watched = False
        self.has_waited = False  # did the pipe not take all at once?

    def write(self) -> None:
        """What the pipe takes now. To be called once; the rest follows by itself."""
        try:
            self._rest = self._rest[os.write(self._pipe, self._rest[:_BYTES_A_STEP]) :]
        except BlockingIOError:
            pass
        except OSError as error:
            self._end(error)
            return
        if not self._rest:
            self._end(None)
        elif not self._is_watched:
            self._is_watched = self.has_waited = True
            self._loop.add_writer(self._pipe, self.write)

    def _end(self, error: OSError | None) -> None:
        ended = self._ended
        self.stop()
        ended(error)

    def stop(self) -> None:
        """Write no more. It is called before the pipe is closed."""
        self._ended = _of_nobody  # who waits for it holds it
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_writer(self._pipe)
        self._rest = memoryview(b"")


def _of_nobody(_error: OSError | None) -> None:
    pass
