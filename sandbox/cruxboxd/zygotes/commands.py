"""Commands that the daemon runs before it serves, to hear what interpreters say of themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from cruxboxd.zygotes.tied import tied, why_not


class TooSlow(Exception):
    """A command did not end in its time."""


class Over(Exception):
    """The commands were ended."""


class Commands:
    """Runs commands, in any thread, until `end`: a daemon that is to end before it serves waits for none of them.

    Each leads a process group, and whatever it has started ends with it. It ends with the thread that runs it, which
    waits for it, and so with the daemon.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()  # by their process numbers
        self._is_over = False

    def run(self, command: Sequence[str], timeout_s: float, environment: Mapping[str, str]) -> bytes:
        """What it prints. Raises OSError, TooSlow and Over.

        It prints into a file: of a pipe nobody would know the end, while what it has started holds it, too.
        """
        with _file() as said:
            self._run_to_its_end(command, timeout_s, (said.fileno(), subprocess.DEVNULL), environment)
            said.seek(0)
            return said.read()

    def complete(self, command: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        """The same with what `subprocess.run` would have of it: its exit status and both streams, as text. It has this
        process's environment."""
        with _file() as said, _file() as complained:
            status = self._run_to_its_end(command, timeout_s, (said.fileno(), complained.fileno()), None)
            texts = []
            for file in (said, complained):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace"))
            return subprocess.CompletedProcess(list(command), status, *texts)

    def _run_to_its_end(
        self, command: Sequence[str], timeout_s: float, outputs: tuple[int, int], environment: Mapping[str, str] | None
    ) -> int:
        with _file() as told:
            process = self._begin(tied(command, environment, told.fileno()), outputs, told.fileno())
            status = self._wait(process, timeout_s)
            told.seek(0)
            if error := why_not(told.read(), command[0]):
                raise error
        return status

    def _wait(self, process: subprocess.Popen[bytes], timeout_s: float) -> int:
        is_late = threading.Event()
        timer = threading.Timer(timeout_s, self._kill, (process.pid, is_late))
        timer.start()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        timer.cancel()
        self._kill(process.pid)  # what it has started
        with self._lock:
            self._running.remove(process.pid)
            status = process.wait()
        if self._is_over:
            raise Over
        if is_late.is_set():
            raise TooSlow
        return status

    def end(self) -> None:
        """End those that run, and begin none."""
        with self._lock:
            self._is_over, running = True, list(self._running)
        for pid in running:
            self._kill(pid)

    def _begin(self, command: Sequence[str], outputs: tuple[int, int], told: int) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_over:
                raise Over
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=outputs[0], stderr=outputs[1], pass_fds=[told], cwd="/",
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


def _file() -> BinaryIO:
    return open(os.memfd_create("said", os.MFD_CLOEXEC), "r+b")
