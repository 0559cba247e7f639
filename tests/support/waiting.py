"""Waiting for facts, not for times."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

# Who waits leaves the CPUs to what is waited for: a look at all processes takes milliseconds.
_LEAST_S, _MOST_S, _PAUSES_A_LOOK = 0.005, 0.05, 4


def comes_true(fact: Callable[[], bool], seconds: float) -> bool:
    """True as soon as `fact` holds; False if it still does not after `seconds`."""
    began = time.monotonic()
    end = began + seconds
    while not fact():
        now = time.monotonic()
        if now > end:
            return False
        time.sleep(min(_MOST_S, max(_LEAST_S, _PAUSES_A_LOOK * (now - began))))
        began = time.monotonic()
    return True


def until(fact: Callable[[], bool], seconds: float = 30.0) -> None:
    """Return when `fact` holds; fail after `seconds`."""
    assert comes_true(fact, seconds), "it did not come true"


async def until_true(fact: Callable[[], object], seconds: float = 30.0) -> None:
    """As `until`, with the event loop free meanwhile."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not come true"
        await asyncio.sleep(0.01)


_handed_out: set[int] = set()


def free_port() -> int:
    """A TCP port of the loopback address that was free a moment ago; never the same twice, and none that the kernel
    gives to whoever connects meanwhile."""
    while True:
        port = random.choice(_ports_for_servers())
        if port in _handed_out:
            continue
        _handed_out.add(port)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _ports_for_servers() -> range:
    lowest, highest = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    return range(max(1 << 13, lowest - (1 << 14)), lowest) or range(highest + 1, 1 << 16)


def is_alive(pid: int) -> bool:
    """Whether process `pid` runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def still_there(processes: Sequence[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Those that have not ended within the time. `psutil.wait_procs` asks the kernel for handles, and does not know the
    error (ENOENT, on newer kernels) with which that fails where a process ends meanwhile."""
    comes_true(lambda: not any(is_alive(each.pid) for each in processes), seconds)
    return [each for each in processes if is_alive(each.pid)]
