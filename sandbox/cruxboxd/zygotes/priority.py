"""The priority of a zygote and its workers: a step above that of all, for zygotes and for who is ahead in its share.

A template has the higher priority once it has started, as that takes as much CPU time as hundreds of checks, and its
zygotes inherit it. A worker gives it up at once unless its job is ahead. That counts where all processes compete with
each other, as in a container. Where Linux shares the CPUs between sessions first (`sched_autogroup`), the priority of
the session counts, and only the daemon may raise that: it does so while the job in front is ahead and its worker fast.
"""

from __future__ import annotations

import contextlib
import os

from cruxcell.protocol import messages

from cruxboxd.zygotes import launch


def step_forward(pid: int) -> bool:
    """Give the processes of a session of ours the higher priority; did they get it?

    All of its group, as a zygote may be the child of the process that leads it. None of them has a worker yet.
    """
    raised = launch.PRIORITY - messages.ZYGOTE_AHEAD
    if os.getpriority(os.PRIO_PROCESS, 0) > raised:  # no zygote comes before the daemon
        return False
    with contextlib.suppress(OSError):  # it has just ended, or the host refuses
        os.setpriority(os.PRIO_PGRP, pid, raised)
        return True
    return False


class Priority:
    """That of one zygote. Where the host refuses to raise it, all have the same."""

    def __init__(self) -> None:
        self._is_raised = self._is_ahead = False
        self._session = -1

    def begin(self, pid: int) -> None:
        """Once it has started, in a session of its own."""
        self._is_raised = step_forward(pid)
        if not self._is_raised:
            return
        with contextlib.suppress(OSError):  # there are no such sessions
            self._session = os.open(f"/proc/{pid}/autogroup", os.O_RDWR)
        # Who is no administrator may change it ten times a second, and could not lower it in time: then it stays.
        for _ in range(2):
            self._write(0)

    def end(self) -> None:
        if self._session >= 0:
            os.close(self._session)
            self._session = -1

    def flags(self, is_ahead: bool) -> int:
        """Of the order for such a job."""
        return messages.BEHIND if self._is_raised and not is_ahead else 0

    def put(self, is_ahead: bool) -> None:
        """Have the session of the worker in front come before others, or not."""
        if is_ahead != self._is_ahead:
            self._is_ahead = is_ahead
            self._write(-messages.ZYGOTE_AHEAD if is_ahead else 0)

    def _write(self, nice: int) -> None:
        if self._session >= 0:
            try:
                os.write(self._session, b"%d" % nice)
            except OSError:
                self.end()
