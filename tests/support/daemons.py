"""Real daemons for the tests: each is a process of its own, and there are ways to watch and disturb it."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import grpc
import psutil
from cruxbox import Client, Tls
from cruxbox.channel import Address, is_serving, open_channel

from support.waiting import free_port, still_there, until


def serve(
    *arguments: str, workers: int, log: Path | None = None, prefix: Sequence[str] = (),
    environment: dict[str, str] | None = None, folder: Path | None = None, opened: str = "",
) -> subprocess.Popen[bytes]:  # fmt: skip
    """Start `cruxboxd serve`, which ends with this process.

    Args:
        arguments: its options.
        workers: how many workers it may have.
        log: the file for what it says; None drops that.
        prefix: a command to start it with.
        environment: all of its environment, if not ours.
        folder: its working folder, if not ours.
        opened: layers between checks that share a worker, not to be there (see `opened.py`).
    """
    daemon = [str(Path(__file__).parent / "opened.py"), opened] if opened else ["-m", "cruxboxd"]
    command = [*prefix, sys.executable, *daemon, "serve", "--exit-with-parent", "--workers", str(workers), *arguments]
    with open(log or "/dev/null", "wb") as said:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment, cwd=folder
        )


class Daemon:
    """A daemon with one worker on TCP or a unix socket, for tests that look at it through a client only.

    Args:
        listen: its address.
        arguments: more options.
        credentials: how its health is asked; None is plain text.
    """

    def __init__(self, listen: str, *arguments: str, credentials: grpc.ChannelCredentials | None = None) -> None:
        self.target = listen
        self.process = serve("--listen", listen, *arguments, workers=1)
        address = Address(listen, credentials=credentials)
        with open_channel(address, grpc.insecure_channel, grpc.secure_channel) as channel:
            until(lambda: self.process.poll() is not None or is_serving(channel, timeout_s=0.5), 60)
        assert self.process.poll() is None, "the daemon did not start"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@contextlib.contextmanager
def several(count: int) -> Iterator[tuple[list[str], list[int]]]:
    """`count` daemons: their addresses, and the ports of their figures."""
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(count)]
    figures = [free_port() for _ in range(count)]
    started: list[Daemon] = []
    try:
        for address, port in zip(addresses, figures):
            started.append(Daemon(address, "--metrics-port", str(port)))
        yield addresses, figures
    finally:
        for daemon in started:
            daemon.stop()


class Served:
    """`cruxboxd serve` in a process of its own, on a loopback port.

    Args:
        folder: where its log and scratch files go.
        arguments: more options.
        tls: how a client speaks to it; None is plain text.
        prefix: a command to start it with.
        environment: all of its environment, if not ours.
        opened: layers between checks that share a worker, not to be there (see `opened.py`).
    """

    def __init__(
        self, folder: Path, *arguments: str, workers: int = 2, tls: Tls | None = None, prefix: tuple[str, ...] = (),
        environment: dict[str, str] | None = None, port: int = 0, opened: str = "",
    ) -> None:  # fmt: skip
        self.port, self.metrics_port = port or free_port(), free_port()
        self.target = f"127.0.0.1:{self.port}"
        self.tls = tls
        folder.mkdir(parents=True, exist_ok=True)
        self._socket = folder / "health.sock"
        self.log_path = folder / "log"
        self.process = serve(
            "--listen", self.target, "--listen", f"unix:{self._socket}", "--canary-s", "0",
            "--metrics-port", str(self.metrics_port), *arguments,
            workers=workers, log=self.log_path, prefix=prefix, environment=environment, folder=folder, opened=opened,
        )  # fmt: skip
        until(lambda: self.process.poll() is not None or self.healthy(), 60)
        assert self.process.poll() is None, self.log

    def healthy(self, timeout_s: float = 0.5) -> bool:
        with grpc.insecure_channel(f"unix:{self._socket}") as channel:
            return is_serving(channel, timeout_s)

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def client(self, **options: object) -> Client:
        """A client of it; `tls` and `token` as the server wants them."""
        return Client(self.target, **{"tls": self.tls, **options})

    def metric(self, name: str, **labels: str) -> float:
        """The value of a figure; 0 if it is not there."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        for line in text.splitlines():
            found = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if found and found[1] == name:
                seen = dict(re.findall(r'(\w+)="([^"]*)"', found[2] or ""))
                if all(seen.get(key) == value for key, value in labels.items()):
                    return float(found[3])
        return 0.0

    def children(self) -> list[psutil.Process]:
        """Its templates, its zygotes and their workers."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    def workers(self) -> list[psutil.Process]:
        """Its slow workers: the zygotes have lowered their priority."""
        found = []
        started = self._started()
        for child in self.children():
            if child in started:  # of these, those that are just starting have no priority yet
                continue
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.nice() > min(zygote.nice() for zygote in self.zygotes()):
                    found.append(child)
        return found

    def zygotes(self) -> list[psutil.Process]:
        """Of its processes, those that have a zygote in them or are one."""
        return [process for process in self._started() if not is_template(process)]

    def templates(self) -> list[psutil.Process]:
        """The processes that its zygotes are forked from."""
        return [process for process in self._started() if is_template(process)]

    def _started(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children()
        return []

    def memory_bytes(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        self.process.terminate()
        return self.process.wait(60)

    def kill(self) -> None:
        """SIGKILL; its zygotes and workers end with it."""
        below = self.children()
        self.process.kill()
        self.process.wait()
        still_there(below, 10)

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def is_template(process: psutil.Process) -> bool:
    """Is this what zygotes are forked from, by its name?"""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.name() == "zygote-template"
    return False
