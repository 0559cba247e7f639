"""Clocks of workers. They live here, outside the candidate, and survive whatever it does to its own.

Watching has two phases. Most workers end within FAST_MS, or get a check done in each FAST_MS; meanwhile the zygote
sleeps on the hang-up of the progress pipe alone, so that dots do not wake it. After that it tells the daemon (SLOW:
drain the report pipe, give the CPU slot to others), lowers the worker's priority, and wakes for each dot to start the
clocks of the next check.

A single-threaded worker cannot use CPU time faster than wall time passes, so sleeping for the rest of the CPU budget
and looking again is exact.
"""

import os
import select
import time

from cruxcell.protocol import messages

FAST_MS = 4
NEXT_CHECK, LAST_CHECK = b".", b"!"
_MS = 1_000_000


class Clock:
    """One worker's CPU clock. `LAST_CHECK` on its progress pipe ends the giving of new time: what a worker says
    before it runs code that is not hermetic counts, what may come from that code does not."""

    __slots__ = ("_clock", "_limit", "_may_restart", "_started", "pid", "progress")

    def __init__(self, pid, progress, limit_ns):
        # type: (int, int, int) -> None
        self.pid, self.progress = pid, progress
        self._limit, self._started, self._may_restart = limit_ns, 0, True
        self._clock = (~pid << 3) | 2  # the kernel's number for a process's CPU clock (MAKE_PROCESS_CPUCLOCK)

    def left(self):
        # type: () -> int
        return self._started + self._limit - time.clock_gettime_ns(self._clock)

    def take(self, dots):
        # type: (bytes) -> bool
        """Read progress; True if a new check began, whose time begins now."""
        before, last, _ = dots.partition(LAST_CHECK)
        restarts = self._may_restart and bool(before)
        if restarts:
            self._started = time.clock_gettime_ns(self._clock)
        if last:
            self._may_restart = False
        return restarts


class Clocks:
    """The clocks of one order: a CPU clock for each worker, one wall clock for all. Times in ns."""

    def __init__(self, wall_ns, started_ns, clocks):
        # type: (int, int, list[Clock]) -> None
        self._wall_ns, self._started = wall_ns, started_ns
        self._clocks = {clock.progress: clock for clock in clocks}
        self.hung_up = False
        self.expired_pid = 0

    def expired(self):
        # type: () -> int
        """KILLED_CPU or KILLED_WALL if a clock has run out (`expired_pid` says whose), else NOT_KILLED."""
        for clock in self._clocks.values():
            if clock.left() <= 0:
                self.expired_pid = clock.pid
                return messages.KILLED_CPU
        if self._wall_left() <= 0:
            self.expired_pid = next(iter(self._clocks.values())).pid
            return messages.KILLED_WALL
        return messages.NOT_KILLED

    def ends_fast(self):
        # type: () -> bool
        """Sleep until the one worker hangs up, or gets nothing done for FAST_MS: then it is slow, and False."""
        [(progress, clock)] = self._clocks.items()
        while not hangs_up(progress, FAST_MS):
            if not _has_dots(progress) or not self._take(clock):
                return False
        return True

    def wait(self, control):
        # type: (int) -> bool
        """Sleep until something happens or a clock may have run out; True if the daemon has something to say."""
        poll = select.poll()
        poll.register(control, select.POLLIN)
        for progress in self._clocks:
            poll.register(progress, select.POLLIN)
        left = min([clock.left() for clock in self._clocks.values()] + [self._wall_left()])
        is_ordered = False
        for fd, event in poll.poll(max(left, 0) // _MS + 1):
            if fd == control:
                is_ordered = True
            elif event & select.POLLIN:
                self._take(self._clocks[fd])
            else:
                self.hung_up = True
        return is_ordered

    def _take(self, clock):
        # type: (Clock) -> bool
        """Read progress; True if a new check began. Dots that may be a candidate's own begin none."""
        begins = clock.take(os.read(clock.progress, 4096))
        if begins:
            self._started = time.monotonic_ns()
        return begins

    def _wall_left(self):
        # type: () -> int
        return self._started + self._wall_ns - time.monotonic_ns()


def hangs_up(progress, timeout_ms):
    # type: (int, int) -> bool
    """Does the other end of the progress pipe close within the time? Dots alone do not wake this process."""
    poll = select.poll()
    poll.register(progress, 0)
    return bool(poll.poll(timeout_ms))


def _has_dots(progress):
    # type: (int) -> bool
    poll = select.poll()
    poll.register(progress, select.POLLIN)
    return any(event & select.POLLIN for _, event in poll.poll(0))
