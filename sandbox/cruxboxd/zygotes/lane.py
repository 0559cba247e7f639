"""A lane of a zygote: a payload pipe, a report pipe, and the job that uses them."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import struct
import termios
from collections.abc import Callable
from contextlib import ExitStack

from cruxboxd.zygotes.jobs import Job
from cruxboxd.zygotes.pipe_writer import GET_PIPE_SIZE, SET_PIPE_SIZE, PipeWriter
from cruxboxd.zygotes.streams import Streams

log = logging.getLogger(__name__)

_PIPE_BYTES = 1 << 20
REST_S, _LITTLE = 0.005, 1 << 15


class Lane:
    """The daemon keeps the payload's reading end too, to clear it."""

    def __init__(self) -> None:
        """Raises OSError, and then holds nothing."""
        with ExitStack() as undo:
            self.payload_theirs, self.payload = _pipe(undo)
            self.report, self.report_theirs = _pipe(undo)
            for fd in (self.payload, self.report):
                os.set_blocking(fd, False)
                try:
                    fcntl.fcntl(fd, SET_PIPE_SIZE, _PIPE_BYTES)
                except OSError:  # the user's pipe budget is used up: smaller pipes work, with more turns
                    log.debug("pipe size stays at its default")
            self._report_room = fcntl.fcntl(self.report, GET_PIPE_SIZE)
            undo.pop_all()
        self.streams: Streams | None = None
        self.job: Job | None = None
        self.seq = 0
        self.sending: PipeWriter | None = None  # the payload that goes out
        self.received: list[bytes] = []
        self.received_bytes = 0
        self.is_over_cap = False
        self._watch: _Watch | None = None

    @property
    def is_held_up(self) -> bool:
        """May the worker have waited for the event loop? Its input did not go into a pipe at once, or its report may
        not have."""
        is_sent_late = self.sending is not None and self.sending.has_waited
        is_fed_late = self.streams is not None and self.streams.has_waited
        return is_sent_late or is_fed_late or 2 * self.received_bytes > self._report_room

    def watch(self, drain: Callable[[Lane], None]) -> None:
        """Have the report drained while it comes, until the lane is cleared or closed."""
        self._watch = self._watch or _Watch(self, drain)

    def close(self) -> None:
        self._unwatch()
        if self.sending is not None:
            self.sending.stop()
        if self.streams is not None:
            self.streams.close()
        for fd in (self.payload, self.payload_theirs, self.report):
            os.close(fd)

    def clear(self) -> None:
        """Drop what a worker that was killed early left of its payload, which the next one must not read; and what it
        has reported, which must not be read as the next one's: one half of a pair may have run when there is no process
        for the other."""
        self._unwatch()
        if self.sending is not None:
            self.sending.stop()
            self.sending = None
        if self.streams is not None:
            self.streams.close()
            self.streams = None
        for pipe in (self.payload_theirs, self.report):
            while waiting := struct.unpack("<i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0]:
                os.read(pipe, waiting)

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.end()
            self._watch = None


class _Watch:
    """Has a lane's report drained when something can be read, but REST_S after it was little at the earliest. To hear
    of every byte of a worker that writes one by one is work of the event loop's that nobody is charged with."""

    def __init__(self, lane: Lane, drain: Callable[[Lane], None]) -> None:
        self._lane, self._drain = lane, drain
        self._loop = asyncio.get_running_loop()
        self._rest: asyncio.TimerHandle | None = None
        self._begin()

    def _begin(self) -> None:
        self._loop.add_reader(self._lane.report, self._read)

    def _read(self) -> None:
        before = self._lane.received_bytes
        self._drain(self._lane)
        if self._lane.received_bytes - before < _LITTLE:
            self._loop.remove_reader(self._lane.report)
            self._rest = self._loop.call_later(REST_S, self._begin)

    def end(self) -> None:
        self._loop.remove_reader(self._lane.report)
        if self._rest is not None:
            self._rest.cancel()


def _pipe(undo: ExitStack) -> tuple[int, int]:
    ends = os.pipe2(os.O_CLOEXEC)
    for end in ends:
        undo.callback(os.close, end)
    return ends
