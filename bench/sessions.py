"""Processes that are sessions of their own, as if each had a machine of its own."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from cruxboxd.server.process import step_forward

_PR_SET_PDEATHSIG = 1


@contextmanager
def processes(count: int, first: bool = False) -> Iterator[ProcessPoolExecutor]:
    """So many processes, each a session: where Linux shares the CPUs between sessions first, who attacks, who measures
    and each daemon have a share each. `first`: they come before others, as the daemons do, where this process may raise
    priorities; for who measures, whose own wait for a CPU says nothing of a daemon. They hear no Ctrl-C, so they are
    killed where the block fails, and end with this process."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, spawn, initializer=_begin, initargs=(first,)) as pool:
        try:
            yield pool
        except BaseException:
            for process in multiprocessing.active_children():
                process.kill()
            raise


def _begin(first: bool) -> None:
    os.setsid()
    if first:
        step_forward()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
