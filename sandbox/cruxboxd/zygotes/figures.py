"""Opens a worker's /proc files for its zygote, because a confined zygote has no /proc."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

# In the order that `cruxcell.confinement.clocks.Clock` reads them: how long it ran and waited for a CPU; its state.
_FILES = ("schedstat", "stat")


@contextmanager
def figures_of(handle: int) -> Iterator[list[int]]:
    """Open files about the process behind a pidfd, closed in the end; none where this host does not show them."""
    with ExitStack() as held:
        try:
            pid = _pid_of(handle)
            files = []
            for name in _FILES:
                files.append(os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC))
                held.callback(os.close, files[-1])
            _check_same(handle)
        except (OSError, ValueError):
            files = []
        yield files


def _pid_of(handle: int) -> int:
    """Its number as this process sees it. Raises OSError or ValueError."""
    with open(f"/proc/self/fdinfo/{handle}", encoding="ascii") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name == "Pid" and int(value) > 0:
                return int(value)
    raise ValueError("this kernel does not tell the number")


def _check_same(handle: int) -> None:
    """Raises ProcessLookupError if the process is gone: its number may be another's by now."""
    with suppress(PermissionError):  # it is there, and another user's
        signal.pidfd_send_signal(handle, 0)
