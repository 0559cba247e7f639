"""Processes that are sessions of their own, as if each had a machine of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes, each a session: where Linux shares the CPUs between sessions first, who attacks, who measures
    and each daemon have a share each. They hear no Ctrl-C, so they are killed where the block fails."""
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=os.setsid) as pool:
        try:
            yield pool
        except BaseException:
            for process in multiprocessing.active_children():
                process.kill()
            raise
