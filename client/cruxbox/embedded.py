"""The embedded server on a unix socket, used when no target is named: started, monitored, restarted once, stopped.

The kernel ties a child that asked for it (`--exit-with-parent`) to the *thread* that started it, so the daemon is
started by a thread that does nothing else and lives as long as the daemon does.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from cruxbox import channel
from cruxbox.errors import EmbeddedServerError
from cruxbox.scratch import ScratchFolder

_MISSING = "There is no server here to start: `pip install 'cruxbox[server]'`, or name a running one as target."
# What the daemon imports beside its own package; `cruxbox[server]` brings it.
_NEEDS = ("cruxboxd", "psutil", "prometheus_client", "grpc_health", "grpc_reflection", "pyseccomp")


class EmbeddedServer:
    """One daemon process.

    Args:
        workers: how many workers it runs side by side; None leaves it to the daemon.
        arguments: more arguments of `cruxboxd serve`.
        start_timeout_s: how long it may take until it calls itself healthy. The first start compiles a helper for
            each runtime: seconds of CPU time, which a crowded host draws out.
        stop_timeout_s: how long it may take to stop before it is killed.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        arguments: Sequence[str] = (),
        start_timeout_s: float = 120.0,
        stop_timeout_s: float = 10.0,
    ) -> None:
        self._arguments = [*([] if workers is None else ["--workers", str(workers)]), *arguments]
        self._start_timeout_s = start_timeout_s
        self._stop_timeout_s = stop_timeout_s
        self._lock = threading.Lock()
        self._owner = 0
        self._scratch: ScratchFolder | None = None
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._restarts_left = 1

    @property
    def pid(self) -> int | None:
        """Process id of the daemon, None when it is not running."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    def ensure(self) -> tuple[str, bool]:
        """The target of a daemon that is serving, started if need be, and whether this was a restart.

        Raises EmbeddedServerError when it cannot be started, or died more than once.
        """
        if self._folder is not None and self._owner != os.getpid():
            # A fork of the process that started it: use its daemon, which is not ours to mend. (And no lock: the
            # thread that held it at the fork, if any, does not exist here.)
            return self._target(self._folder), False
        with self._lock:
            if self._process is not None and self._process.poll() is None and self._folder is not None:
                return self._target(self._folder), False
            return self._start()

    def stop(self) -> None:
        """Stop the daemon and remove its folder. Does nothing in a fork, and nothing the second time."""
        if self._owner != os.getpid():
            return
        with self._lock:
            if self._process is not None:
                self._end(self._process)
                self._process = None
            if self._scratch is not None:
                self._scratch.remove()
                self._scratch = self._folder = None
            self._restarts_left = 1

    @staticmethod
    def _target(folder: Path) -> str:
        return f"unix:{folder}/s.sock"

    def _start(self) -> tuple[str, bool]:
        restarting = self._process is not None
        if restarting:
            if self._restarts_left <= 0:
                raise EmbeddedServerError(f"The embedded server died again: {self._last_words()}")
            self._restarts_left -= 1
        elif any(importlib.util.find_spec(name) is None for name in _NEEDS):
            raise EmbeddedServerError(_MISSING)
        if self._folder is None:
            try:
                self._scratch = ScratchFolder("cruxbox-embedded-")
            except OSError as error:
                where = error.filename or "the folder for temporary files"
                raise EmbeddedServerError(
                    f"There is no place for the embedded server: {where}: {error.strerror}."
                ) from None
            self._folder = self._scratch.path
            self._owner = os.getpid()
        target = self._target(self._folder)
        self._process = self._spawn(target, self._folder / "log")
        self._wait_until_serving(target, self._process)
        return target, restarting

    def _spawn(self, target: str, log: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "cruxboxd", "serve", "--listen", target]
        command += ["--exit-with-parent", "--parent-pid", str(os.getpid())]
        command += ["--log-level", "warning"]  # a line for each call would fill the folder, and nobody reads it
        started: list[subprocess.Popen[bytes]] = []
        ready = threading.Event()

        def live_and_die_with_it() -> None:
            try:
                with log.open("wb") as stderr:
                    started.append(
                        subprocess.Popen(
                            [*command, *self._arguments],
                            stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL,
                            stderr=stderr,
                            start_new_session=True,
                        )
                    )
            finally:
                ready.set()
            # WNOWAIT: only wait for its end; the exit code stays for Popen to collect.
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, started[0].pid, os.WEXITED | os.WNOWAIT)

        threading.Thread(target=live_and_die_with_it, name="cruxbox-embedded", daemon=True).start()
        ready.wait()
        if not started:
            raise EmbeddedServerError("The embedded server could not be started: no process could be made.")
        return started[0]

    def _wait_until_serving(self, target: str, process: subprocess.Popen[bytes]) -> None:
        import grpc

        until = time.monotonic() + self._start_timeout_s
        with channel.open_channel(channel.Address(target), grpc.insecure_channel, grpc.secure_channel) as probe:
            while process.poll() is None and time.monotonic() < until:
                if channel.is_serving(probe, timeout_s=0.25):
                    return
        if process.poll() is not None:
            raise EmbeddedServerError(f"The embedded server did not start: {self._last_words()}")
        self._end(process)
        raise EmbeddedServerError(f"The embedded server was not ready within {self._start_timeout_s:g} s.")

    def _last_words(self) -> str:
        """The last thing it wrote on stderr, else how it ended."""
        assert self._process is not None
        code = self._process.poll()
        words = _last_sentence(self._folder / "log") if self._folder is not None else ""
        return words or (f"it was ended by signal {-code}." if code is not None and code < 0 else f"exit code {code}.")

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is not None:
                return
            process.send_signal(sign)
            try:
                process.wait(self._stop_timeout_s)
            except subprocess.TimeoutExpired:
                continue


def _last_sentence(log: Path) -> str:
    """The last thing in `log` that is a fault: plain text, or the message of a structured line that says so."""
    try:
        lines = log.read_bytes()[-4096:].decode(errors="replace").split("\n")
    except OSError:
        return ""
    told = (_fault_in(line.strip()) for line in reversed(lines))
    return next((fault for fault in told if fault), "")


def _fault_in(line: str) -> str:
    try:
        record = json.loads(line)
        return str(record["message"]) if record["level"] == "error" else ""
    except (ValueError, TypeError, LookupError):
        return line
