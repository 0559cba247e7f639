"""Processes of zygotes: how a template is executed, a zygote's ready message, and how one is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cruxcell.protocol import frames, messages

from cruxboxd.zygotes import scratch
from cruxboxd.zygotes.tied import tied, why_not

TIMEOUT_S = 30.0
# Of workers, and of zygotes where the daemon has no higher one: that with which the daemon was started. A lower one
# that somebody gives it is handed down.
PRIORITY = os.getpriority(os.PRIO_PROCESS, 0)
_ROOT = str(Path(__file__).resolve().parents[2])
# Bytecode of the harness is kept beside it, where that may be written. To compile it is two fifths of a start.
_BOOT = """import sys
sys.path[:] = [p for p in sys.path if p] + [sys.argv.pop(1)]
sys.dont_write_bytecode = sys.argv.pop(1) == "True"
from cruxcell import own_names
own_names.give()
from cruxcell.boot import main
main()"""


class StartError(Exception):
    """A template or zygote did not start; the message names the step that failed."""


class Hung(StartError):
    """It was not ready in its time."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} was not ready within {TIMEOUT_S:.0f} s")


@dataclass(frozen=True)
class Started:
    """The ready message of a zygote."""

    layers: tuple[tuple[str, bool, str], ...]


def execute(python: str, environment: dict[str, str], number: int) -> subprocess.Popen[bytes]:
    """Execute a template, in a session of its own; it gets the descriptor of this number. Raises OSError."""
    command = [python, "-S", "-s", "-c", _BOOT, _ROOT, str(sys.dont_write_bytecode), str(number)]
    process = subprocess.Popen(
        tied(command, environment, number),
        cwd=scratch.empty_folder(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[number],
        start_new_session=True,
    )
    os.setpriority(os.PRIO_PROCESS, process.pid, max(PRIORITY, os.getpriority(os.PRIO_PROCESS, 0)))
    return process


def cpu_ns(pid: int) -> int:
    """CPU time that a process has used, by its clock (`clock_getcpuclockid(3)`); 0 of one that is gone, or
    where the host does not tell."""
    if not pid:  # that would be this one
        return 0
    with suppress(OSError):
        return time.clock_gettime_ns((~pid << 3) | 2)  # its kernel's number (MAKE_PROCESS_CPUCLOCK)
    return 0


def end(pid: int) -> None:
    """Kill a child and take its exit status. Nothing happens if somebody has taken that: the number is nobody's."""
    with suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def end_group(pid: int) -> None:
    """The same for a child that leads a process group, and all children in it."""
    with suppress(ProcessLookupError, ChildProcessError):
        os.waitid(os.P_PGID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # is any of it still ours?
        os.killpg(pid, signal.SIGKILL)
        while True:
            os.waitpid(-pid, 0)


def read_ready(answer: bytes, python: str) -> Started:
    """What the zygote's first datagram says. Raises StartError with the step that failed."""
    if answer[:1] != bytes([messages.READY]):
        raise why_not_ready(answer, python)
    fields = [field.decode("utf-8", "replace") for field in frames.unpack(answer[1:])]
    triples = zip(fields[::3], fields[1::3], fields[2::3])
    return Started(tuple((name, active == "1", detail) for name, active, detail in triples))


def why_not_ready(answer: bytes, python: str) -> StartError:
    """By the last datagram of a process that does not get ready; nothing if it said nothing."""
    if answer[:1] == bytes([messages.FAILED_TO_START]):
        return StartError(answer[1:].decode("utf-8", "replace"))
    if error := why_not(answer, python):
        return StartError(f"cannot execute {python}: {error.strerror}")
    return StartError(f"{python} ended before it was ready; is it a CPython from 3.8 on?")
