"""Processes that are sessions of their own, as if each had a machine of its own."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

_PR_SET_PDEATHSIG = 1


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes, each a session: where Linux shares the CPUs between sessions first, who attacks, who measures
    and each daemon have a share each. They hear no Ctrl-C, so they are killed where the block fails, and end with this
    process."""
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_begin) as pool:
        try:
            yield pool
        except BaseException:
            for process in multiprocessing.active_children():
                process.kill()
            raise


def _begin() -> None:
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
