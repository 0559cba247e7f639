"""A real daemon started for the suite, watched from outside: its process tree, descriptors, threads and memory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc
import psutil
from grpc_health.v1 import health_pb2, health_pb2_grpc
from support.daemons import is_template, serve
from support.waiting import comes_true, free_port, still_there

START_S = 60.0
STOP_S = 20.0
# Four zygotes at work and three that wait, a worker, of two processes each; and one that is just being replaced.
ZYGOTES_A_WORKER = 16
KINDS = 8  # of zygotes that the cases need, each with a template
SERVICE = "cruxbox.v1.Sandbox"


class DaemonError(Exception):
    """The daemon did not do what the suite needs; says what it said."""


def filters_of(pid: int) -> int:
    """How many system-call filters a process has; 0 when it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as lines:
        return next((int(line.split()[1]) for line in lines if line.startswith("Seccomp_filters:")), 0)
    return 0


def health_of(channel: grpc.Channel, timeout_s: float = 2.0) -> str:
    """The standard health service's word for the sandbox service, or the gRPC code's name."""
    try:
        stub = health_pb2_grpc.HealthStub(channel)
        reply = stub.Check(health_pb2.HealthCheckRequest(service=SERVICE), timeout=timeout_s)
    except grpc.RpcError as error:
        return str(error.code().name)
    return str(health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status))


@dataclass(frozen=True)
class Footprint:
    """What the daemon holds. `descriptors` is None where the kernel does not let us look.

    `zygotes` are the processes below the daemon that are neither workers nor templates: their number grows with slow
    work, to a bound.
    """

    workers: int
    zygotes: int
    templates: int
    zombies: int
    descriptors: int | None
    threads: int
    memory_bytes: int


class Daemon:
    """`cruxboxd serve` in a process of its own; stopped, with its scratch folder, by `close`.

    Args:
        environment: added to the daemon's environment.
        options: more command-line options.
        prefix: a command to start the daemon with (a fault launcher).
        workers: workers of the daemon.
    """

    def __init__(
        self,
        environment: dict[str, str] | None = None,
        options: Sequence[str] = (),
        prefix: Sequence[str] = (),
        workers: int = 2,
        wait: bool = True,
    ) -> None:
        self.port = free_port()
        self.target = f"127.0.0.1:{self.port}"
        self.folder = Path(tempfile.mkdtemp(prefix="cruxbox-daemon-"))
        self.log_path = self.folder / "log"
        surroundings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(self.folder), **(environment or {})}
        self.process = serve(
            "--listen", self.target, *options,
            workers=workers, log=self.log_path, prefix=prefix, environment=surroundings, folder=self.folder,
        )  # fmt: skip
        self.pid = self.process.pid
        self.most_zygotes = ZYGOTES_A_WORKER * workers
        self.watched = psutil.Process(self.pid)
        self.channel = grpc.insecure_channel(self.target, options=[("grpc.enable_retries", 0)])
        if wait:
            self.wait_until_serving()

    def wait_until_serving(self) -> None:
        """Return once health says SERVING; DaemonError with the log when it ends or stays silent."""
        if (
            not comes_true(lambda: not self.alive or health_of(self.channel, 1.0) == "SERVING", START_S)
            or not self.alive
        ):
            text = self.log.decode(errors="replace")[-2000:]
            code = self.process.poll()
            self.close()
            raise DaemonError(f"the daemon is not serving (exit code {code}); it said:\n{text}")

    @property
    def alive(self) -> bool:
        """Is it the process we started, and does it run?"""
        return self.process.poll() is None

    @property
    def log(self) -> bytes:
        """All it wrote to stdout and stderr so far."""
        return self.log_path.read_bytes()

    def descendants(self) -> list[psutil.Process]:
        """Every process below it."""
        try:
            return self.watched.children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def workers(self) -> list[psutil.Process]:
        """The descendants that run a task: they carry a system-call filter more than the daemon does."""
        return self._confined(self.descendants())

    def _confined(self, processes: list[psutil.Process]) -> list[psutil.Process]:
        own = filters_of(self.pid)
        return [process for process in processes if filters_of(process.pid) > own]

    def footprint(self) -> Footprint:
        """What it holds at this moment."""
        below = self.descendants()  # one look at all processes of the host
        workers, templates = len(self._confined(below)), sum(map(is_template, below))
        zombies = 0
        for process in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                zombies += process.status() == psutil.STATUS_ZOMBIE
        return Footprint(
            workers=workers,
            zygotes=max(0, len(below) - workers - templates),
            templates=templates,
            zombies=zombies,
            descriptors=self._descriptors(),
            threads=self.watched.num_threads(),
            memory_bytes=self.watched.memory_info().rss,
        )

    def _descriptors(self) -> int | None:
        try:
            return int(self.watched.num_fds())
        except psutil.AccessDenied:
            return None  # undumpable, and we are not root: its /proc/PID/fd is closed to us, as it should be

    def close(self) -> None:
        """SIGTERM, then SIGKILL; waits for it and for everything below it."""
        below = self.descendants()
        self.channel.close()
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for process in still_there(below, 5):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        subprocess.run(["rm", "-rf", str(self.folder)], check=False)

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
