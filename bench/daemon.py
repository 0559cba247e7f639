"""The daemon under measurement: a process of its own, and what it and its children weigh."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench import folders

START_SECONDS = 60.0
STOP_SECONDS = 15.0
SETTLED_SECONDS = 2.0
MB = 1 << 20
OPENED = Path(__file__).resolve().parent.parent / "tests" / "support" / "opened.py"


@dataclass(frozen=True)
class Daemon:
    """A running daemon: where it listens, and its process."""

    target: str
    process: subprocess.Popen[bytes]

    def weight(self) -> tuple[float, float | None]:
        """(RSS, PSS) of the daemon and all its children, in MB; PSS counts a shared page once.

        PSS is None where the kernel does not tell: zygotes are undumpable, so only root may look at their pages.
        """
        rss, pss = 0, 0.0
        may_look = True
        for process in self._family():
            with contextlib.suppress(psutil.NoSuchProcess):
                rss += process.memory_info().rss
                try:
                    pss += process.memory_full_info().pss
                except psutil.AccessDenied:
                    may_look = False
        return rss / MB, pss / MB if may_look else None

    def settled_rss(self) -> float:
        """Sum of RSS of the daemon and the zygotes, in MB: of all that lives longer than a worker does."""
        total = 0
        oldest_worker = time.time() - SETTLED_SECONDS
        for process in self._family():
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.create_time() < oldest_worker:
                    total += process.memory_info().rss
        return total / MB

    def rss(self) -> float:
        """RSS of the daemon's own process, in MB."""
        return float(psutil.Process(self.process.pid).memory_info().rss) / MB

    def children(self) -> int:
        return len(self._family()) - 1

    def cpu(self) -> dict[str, float]:
        """CPU seconds so far: of the daemon itself, of its zygotes, and of all workers that have ended.

        What a zygote that has been replaced used counts with the workers, most of whose it is.
        """
        parts = {"daemon": 0.0, "zygotes": 0.0, "workers": 0.0}
        for process in self._family():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                own, ended = times.user + times.system, times.children_user + times.children_system
                if process.pid == self.process.pid:
                    parts["daemon"] += own
                else:
                    parts["zygotes"] += own
                parts["workers"] += ended
        return parts

    def _family(self) -> list[psutil.Process]:
        return family(self.process.pid)


def family(pid: int) -> list[psutil.Process]:
    """The process and all its descendants."""
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def family_cpu(pid: int) -> float:
    """CPU seconds of a process, its living descendants, and all of theirs that have been waited for."""
    total = 0.0
    for process in family(pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])
    return total


@contextlib.contextmanager
def running(listen: str = "", *flags: str, opened: str = "") -> Iterator[Daemon]:
    """A daemon that serves, for as long as the block lasts.

    Args:
        listen: `unix:PATH` or `HOST:PORT`; empty is a unix socket in a temporary folder.
        flags: more arguments of `cruxboxd serve`.
        opened: layers between checks that share a worker, not to be there (see OPENED).

    Raises:
        RuntimeError: it did not come up; with its own last words.
    """
    with folders.folder() as folder:
        target = listen or f"unix:{folder}/s.sock"
        log = folder / "log"
        program = [str(OPENED), opened] if opened else ["-m", "cruxboxd"]
        command = [sys.executable, *program, "serve", "--exit-with-parent", "--listen", target, *flags]
        with log.open("wb") as sink:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
        try:
            _wait_until_serving(target, process, log)
            yield Daemon(target, process)
        finally:
            _stop(process)


def _wait_until_serving(target: str, process: subprocess.Popen[bytes], log: Path) -> None:
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    deadline = time.monotonic() + START_SECONDS
    with grpc.insecure_channel(target) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(grpc.RpcError):
                answer = health.Check(health_pb2.HealthCheckRequest(), timeout=2, wait_for_ready=True)
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    return
            time.sleep(0.05)
    last = log.read_text(errors="replace").strip().rpartition("\n")[2]
    raise RuntimeError(f"the daemon does not serve on {target}: {last or 'it said nothing'}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
