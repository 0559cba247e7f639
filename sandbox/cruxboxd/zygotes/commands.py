"""Commands that the daemon runs before it serves, to hear what interpreters say of themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence


class TooSlow(Exception):
    """A command did not end in its time."""


class Over(Exception):
    """The commands were ended."""


class Commands:
    """Runs commands, in any thread, until `end`: a daemon that is to end before it serves waits for none of them.

    Each leads a process group, and whatever it has started ends with it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()  # by their process numbers
        self._is_over = False

    def run(self, command: Sequence[str], timeout_s: float, environment: Mapping[str, str]) -> bytes:
        """What it prints. Raises OSError, TooSlow and Over.

        It prints into a file: of a pipe nobody would know the end, while what it has started holds it, too.
        """
        with open(os.memfd_create("said", os.MFD_CLOEXEC), "r+b") as said:
            process = self._begin(command, said.fileno(), environment)
            is_late = threading.Event()
            timer = threading.Timer(timeout_s, self._kill, (process.pid, is_late))
            timer.start()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            timer.cancel()
            self._kill(process.pid)  # what it has started
            with self._lock:
                self._running.remove(process.pid)
                process.wait()
            if self._is_over:
                raise Over
            if is_late.is_set():
                raise TooSlow
            said.seek(0)
            return said.read()

    def end(self) -> None:
        """End those that run, and begin none."""
        with self._lock:
            self._is_over, running = True, list(self._running)
        for pid in running:
            self._kill(pid)

    def _begin(self, command: Sequence[str], said: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_over:
                raise Over
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.DEVNULL, env=environment, cwd="/",
                start_new_session=True,
            )  # fmt: skip
            self._running.add(process.pid)
        return process

    def _kill(self, pid: int, is_late: threading.Event | None = None) -> None:
        """While the status of its leader is not taken, the group's number is nobody else's."""
        with self._lock:
            if pid in self._running:
                if is_late is not None:
                    is_late.set()
                os.killpg(pid, signal.SIGKILL)
