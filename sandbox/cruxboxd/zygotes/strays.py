"""Processes below the daemon: orphans that it inherits as process 1 of a container, and those that somebody stopped."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress


def reap(ours: Collection[int]) -> int:
    """Take the exit status of every dead child but `ours`, whose owners wait for them; how many there were."""
    if os.getpid() != 1:
        return 0
    found = 0
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in ours and _is_dead_child(entry):
            with suppress(ChildProcessError):
                found += os.waitpid(int(entry), os.WNOHANG)[0] != 0
    return found


def is_stopped(pid: int) -> bool:
    """Has a signal stopped this zygote? In namespaces it is the child of the process that the daemon started."""
    below = ""
    with suppress(OSError), open(f"/proc/{pid}/task/{pid}/children") as file:
        below = file.read()
    return any(_state(entry)[0] == b"T" for entry in (str(pid), *below.split()))


def _is_dead_child(entry: str) -> bool:
    state, parent = _state(entry)
    return state == b"Z" and parent == b"1"


def _state(entry: str) -> tuple[bytes, bytes]:
    """The state of a process and its parent; nothing if it is gone."""
    try:
        with open(f"/proc/{entry}/stat", "rb") as file:
            state, parent = file.read(512).rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return b"", b""
    return state, parent
