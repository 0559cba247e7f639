"""The process of the daemon: its memory, its parent, and what it needs of the host."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import gc
import logging
import mmap
import os
import resource
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

from cruxboxd import STARTED_BY
from cruxboxd.scheduling.fleet import most_zygotes
from cruxboxd.settings.config import Config
from cruxboxd.settings.host import usable_cpus
from cruxboxd.zygotes.launch import PRIORITY
from cruxboxd.zygotes.zygote_process import DESCRIPTORS

log = logging.getLogger(__name__)

# Objects that a young collection looks through; so many of these make a middle one, and of those a full one.
_YOUNG_OBJECTS, _YOUNG, _MIDDLE = 1_000, 10, 500
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _LARGE_BLOCK = -1, -3, 1 << 18
_THREADS = 16  # that gRPC and the executor start
_A_STACK = 8 << 20  # of a thread, in addresses, where the limit on stacks says nothing
_DESCRIPTORS = 64  # of everything but zygotes: addresses, a few connections, files that are read
_MOST_CONNECTIONS = 4_096
_CPU_MORE_S = 2  # than its limit has a worker, whose zygote ends it before
_STEP_FORWARD = 10  # in units of nice: beside one other process it gets nine tenths of a CPU
_AUTOGROUP = Path("/proc/self/autogroup")
_PR_SET_PDEATHSIG, _PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 1, 3, 4


class RefusedToServe(Exception):
    """The daemon refuses to serve; each line of the message is one reason."""


def spare_the_collector() -> None:
    """Have the garbage collector hold the event loop rarely and briefly (docs/decisions/memory.md). Objects that exist
    now are never freed, and next to nothing else is left to it: work in flight is looked through for cycles that are
    not there. A full collection looks through all of it, which takes a tenth of a second."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, _YOUNG, _MIDDLE)


def give_memory_back() -> None:
    """Have large blocks return to the system when they are freed. Left alone, the C library takes the size of the
    largest request so far as a sign that it pays to keep such blocks."""
    libc = ctypes.CDLL(None)
    for option in (_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD):
        if hasattr(libc, "mallopt"):
            libc.mallopt(option, _LARGE_BLOCK)


def fit_surroundings(config: Config) -> Config:
    """With no more zygotes than the host has descriptors for; CPU time, threads, processes and a folder it has to have.
    Raises RefusedToServe."""
    fitted = _fit_descriptors(config)
    _fit_cpu_time(config)
    _check_processes(fitted.zygotes)
    _check_folder()
    return fitted


def _fit_cpu_time(config: Config) -> None:
    """Each process ends where it has used so much CPU time: workers, zygotes, and this one, without a word."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
    if hard == resource.RLIM_INFINITY:
        return
    needed = config.maximum_limits.cpu_ms // 1000 + _CPU_MORE_S
    if hard < needed:
        raise RefusedToServe(
            f"a process may use {hard} s of CPU time here, and a check needs {needed}; raise the limit on CPU time "
            "(ulimit -t), or lower --maximum-cpu-ms"
        )
    log.warning("a limit on CPU time (ulimit -t) will end this process", extra={"seconds": hard})


def _check_processes(zygotes: int) -> None:
    """gRPC ends the process where it gets no thread, and a zygote that cannot fork judges nothing.

    The kernel counts threads and processes alike, so threads stand for both: gRPC's, and each zygote with its worker.
    """
    needed = _THREADS + 2 * zygotes
    end: SimpleQueue[None] = SimpleQueue()
    try:
        for _ in range(needed):
            _thread.start_new_thread(end.get, ())  # `threading` waits for ever for one that has no memory to begin
    except (RuntimeError, MemoryError):
        limit = "processes (ulimit -u, or pids of the container)" if _has_a_stack() else "memory (ulimit -v, ulimit -d)"
        raise RefusedToServe(
            f"{needed} processes and threads cannot be started, as many as {zygotes} zygotes with their workers "
            f"need; raise the limit on {limit}, or lower --workers"
        ) from None
    finally:
        for _ in range(needed):
            end.put(None)


def _has_a_stack() -> bool:
    """Is there room for the stack of one thread more?"""
    soft = resource.getrlimit(resource.RLIMIT_STACK)[0]
    try:
        size = _A_STACK if soft == resource.RLIM_INFINITY else max(soft, mmap.PAGESIZE)
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        return False
    return True


def _fit_descriptors(config: Config) -> Config:
    """Raise the limit as far as needed; what connections may take of it is `most_connections`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = sys.maxsize if hard == resource.RLIM_INFINITY else hard
    too_many = max(0, most_zygotes(config) - (most - _DESCRIPTORS) // DESCRIPTORS)
    fitted = replace(config, zygotes=max(config.workers, config.zygotes - too_many))
    needed = descriptors_needed(fitted)
    if most < needed:
        raise RefusedToServe(
            f"{needed} descriptors cannot be open, as many as {most_zygotes(fitted)} zygotes need; raise the limit on "
            "open files (ulimit -n), or lower --workers"
        )
    if soft != resource.RLIM_INFINITY and soft < needed + _MOST_CONNECTIONS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(needed + _MOST_CONNECTIONS, most), hard))
    return fitted


def descriptors_needed(config: Config) -> int:
    """So many does the daemon need beside connections, whatever is asked of it."""
    return _DESCRIPTORS + DESCRIPTORS * most_zygotes(config)


def most_connections(config: Config) -> int:
    """What zygotes and files leave of the descriptors."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    left = _MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else soft - descriptors_needed(config)
    return max(16, min(_MOST_CONNECTIONS, left))


def _check_folder() -> None:
    try:
        with tempfile.TemporaryDirectory(prefix="cruxbox-"):
            pass
    except OSError as error:
        raise RefusedToServe(
            f"there is no folder for temporary files ({error.strerror}); set TMPDIR to one that can be written to"
        ) from None


def step_forward() -> None:
    """Raise this process's priority above that of its zygotes and workers, where the host allows it.

    One event loop serves all tenants: while it waits for a CPU, every check waits. It takes about one CPU at the most.
    So on a single CPU it does not step forward: a flood of requests would leave the workers a tenth. Where Linux shares
    the CPUs between sessions first, the priority of the session counts. A daemon that a program embeds does without: it
    serves that program alone, and should not take its CPU.
    """
    if usable_cpus() < 2:
        return
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY - _STEP_FORWARD)
    if os.getsid(0) == os.getpid():  # else the session is also that of others
        with contextlib.suppress(OSError):
            _AUTOGROUP.write_text(str(-_STEP_FORWARD))


def protect_process(exit_with_parent: bool, parent_pid: int = 0) -> None:
    """Make this process's memory unreadable to others of its user; end it with its parent if that was asked.

    `parent_pid` is the number that the parent has given. Without it the parent is the one that this process had when it
    started, and a parent that ended before goes unnoticed.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise RefusedToServe(f"cannot become undumpable: {os.strerror(ctypes.get_errno())}")
    if libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise RefusedToServe("cannot become undumpable: the kernel took the call and did nothing")
    if exit_with_parent and libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0):
        raise RefusedToServe(f"cannot tie this process to its parent: {os.strerror(ctypes.get_errno())}")
    if exit_with_parent and os.getppid() != (parent_pid or STARTED_BY):
        raise RefusedToServe("the process that started this one is gone")
