"""The daemon's handle of a template: the process that zygotes are forked from (`cruxcell/template.py`).

It is executed when the first zygote is asked for, and again when it was killed, stopped or hangs: its zygotes live on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

from cruxcell.protocol import frames, messages

from cruxboxd.shared.waiting import within
from cruxboxd.zygotes import launch, priority, scratch, strays
from cruxboxd.zygotes.launch import Hung, StartError
from cruxboxd.zygotes.setup import ZygoteSetup

log = logging.getLogger(__name__)

_HUNG_NS = 5_000_000_000  # a fork takes milliseconds
# What it may be asked for at once. A socket takes some 250 datagrams with descriptors, and a large host has more slots.
_MOST_ASKED = 64


_T = TypeVar("_T")


class _Gone(Exception):
    """The template is gone, and another one may do what it was asked for."""


class Template:
    """That of the kinds of zygote that differ in their scratch folders alone."""

    def __init__(self, setup: ZygoteSetup) -> None:
        self._setup, self.python = setup, setup.python
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._room = asyncio.Semaphore(_MOST_ASKED)
        self._asked: deque[asyncio.Future[int]] = deque()  # in the order in which it answers
        self._heard_ns = 0  # when it answered, or was asked for something after that
        self._is_warm = False  # it has answered
        self._is_asked_for = False  # somebody's order had it executed, and its start is not paid for
        self._loop = asyncio.get_running_loop()
        self._readiness = self._not_ready()

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def take_cost_ns(self) -> int:
        """The CPU time of its start, once, if an order had it executed; 0 of one that replaces another."""
        cost_ns = launch.cpu_ns(self.pid) if self._is_asked_for else 0
        self._is_asked_for = False
        return cost_ns

    # ---- forking -----------------------------------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Can it fork a zygote at once?"""
        return self._is_warm or self._has_said_so

    @property
    def _has_said_so(self) -> bool:
        return self._readiness.done()

    def _not_ready(self) -> asyncio.Future[StartError | None]:
        """Of one process: done when it has said that it is ready, or with why it never will."""
        return self._loop.create_future()

    async def get_ready(self) -> None:
        """Have it executed, if it is not, and wait until it can fork zygotes. Raises StartError."""
        self._be_there()
        failed = await self._in_time(asyncio.shield(self._readiness))
        if failed is not None:
            raise failed

    async def fork(self, descriptors: Sequence[int], *, scratch: bool) -> int:
        """Have a zygote forked.

        Args:
            descriptors: what it gets: control, and the ends of its lanes.
            scratch: its workers have a scratch folder each.

        Returns:
            Its process number; it is a child of this process. Raises StartError.
        """
        async with self._room:
            return await self._forked(descriptors, messages.WITH_SCRATCH if scratch else messages.PLAIN)

    async def _forked(self, descriptors: Sequence[int], order: bytes) -> int:
        while True:
            answer = self._ask(descriptors, order)
            try:
                return await self._in_time(answer)
            except _Gone:
                continue
            except asyncio.CancelledError:
                if not answer.cancelled() and answer.exception() is None:  # both at once
                    launch.end(answer.result())
                raise

    async def _in_time(self, answer: asyncio.Future[_T]) -> _T:
        """What it says, or its end where it says nothing for too long."""
        try:
            return await within(launch.TIMEOUT_S, answer)
        except asyncio.TimeoutError:
            self._end("it hangs")
            raise Hung(self.python) from None

    def _be_there(self) -> None:
        """Have it executed, if it is not, for somebody's order. Raises StartError."""
        if self._channel is None:
            self._execute()
            self._is_asked_for = True

    def _ask(self, descriptors: Sequence[int], order: bytes) -> asyncio.Future[int]:
        self._be_there()
        assert self._channel is not None
        try:
            socket.send_fds(self._channel, [order], list(descriptors))
        except ConnectionError:
            pass  # what it said last is still to be read
        except OSError as error:
            raise StartError(f"no zygote can be asked for: {error.strerror}") from None
        if not self._asked:
            self._heard_ns = time.monotonic_ns()
        self._asked.append(self._loop.create_future())
        return self._asked[-1]

    def _on_answer(self) -> None:
        try:
            data = self._received()
        except BlockingIOError:
            return
        kind, pid, error = messages.ANSWER.unpack(data) if len(data) == messages.ANSWER.size else (0, 0, 0)
        if kind == messages.READY:
            if not self._has_said_so:
                self._readiness.set_result(None)
            return
        if kind != messages.FORKED or not self._asked:
            self._end("it died", data)
            return
        if not self._is_warm:
            priority.step_forward(self.pid)
        self._heard_ns, self._is_warm = time.monotonic_ns(), True
        answer = self._asked.popleft()
        if error:
            _fail(answer, StartError(f"no zygote could be forked: {os.strerror(error)}"))
        elif answer.done():  # whoever asked has given up
            launch.end(pid)
        else:
            answer.set_result(pid)

    def _received(self) -> bytes:
        """A datagram, or nothing if it is gone. One that ends with orders unread is said to have reset the connection,
        and what it said last comes behind that."""
        assert self._channel is not None
        for _ in range(2):
            with suppress(ConnectionError):
                return self._channel.recv(1 << 16)
        return b""

    # ---- beginning and end -------------------------------------------------------------------------------------

    def _execute(self) -> None:
        """Raises StartError."""
        try:
            self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._channel.setblocking(False)
                self._channel.send(frames.pack([*self._setup.fields, os.fsencode(scratch.empty_folder())]))
                self._process = launch.execute(self.python, self._setup.environment, theirs.fileno())
        except OSError as error:
            self.close()
            raise StartError(f"cannot execute {self.python}: {error.strerror}") from None
        self._loop.add_reader(self._channel.fileno(), self._on_answer)

    def watch(self, now_ns: int) -> None:
        """Replace it if it is stopped, or does not answer. To be called several times a second."""
        if self.pid and strays.is_stopped(self.pid):
            self._end("it is stopped")
        elif self._is_warm and self._asked and now_ns - self._heard_ns > _HUNG_NS:
            self._end("it hangs")

    def _end(self, reason: str, last: bytes = b"") -> StartError:
        """End the process. If it was well before, another one takes its place: it has answered, or nobody has asked it
        since it was ready.

        One that was not well is one failure, and the first who asked it hears of it. The others ask again, unless it
        has said at `last` why it cannot serve.

        Returns:
            What the first hears.
        """
        was_well, pid = self._is_warm or (self._has_said_so and not self._asked), self.pid
        why = launch.why_not_ready(last, self.python)
        if self._asked and not was_well:
            _fail(self._asked.popleft(), why)
        self._close(why if last else _Gone(), why)
        if was_well:
            log.warning("template ended", extra={"reason": reason, "pid": pid})
            with suppress(StartError):  # as whoever asks next will hear
                self._execute()
        return why

    def close(self) -> None:
        """End the process, and what it has forked that nobody knows of."""
        closed = StartError("it is closed")
        self._close(closed, closed)

    def _close(self, why: Exception, why_not_ready: StartError) -> None:
        if self._channel is not None:
            self._loop.remove_reader(self._channel.fileno())
            self._channel.close()
            self._channel = None
        if self._process is not None:
            launch.end_group(self._process.pid)
            self._process.wait()
            self._process = None
        self._is_warm = self._is_asked_for = False
        if not self._has_said_so:
            self._readiness.set_result(why_not_ready)
        self._readiness = self._not_ready()
        asked, self._asked = self._asked, deque()
        for answer in asked:
            _fail(answer, why)


def _fail(answer: asyncio.Future[int], why: Exception) -> None:
    if not answer.done():
        answer.set_exception(why)
