"""A real daemon for the daemon's own tests: certificates, tokens, metrics, and ways to disturb it."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import grpc
import psutil
import pytest
from cruxbox import CallCheck, Client, Limits, Task, Tls
from cruxbox.channel import is_serving

SPIN = "def f(x):\n    while True:\n        pass\n"
NAP = "import time\ndef f(x):\n    time.sleep(x)\n    return x\n"
HARMLESS = "def f(x):\n    return x + 1\n"


def until(fact: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for a fact, not for a time."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def sums(count: int, salt: int = 0, **options: object) -> list[Task]:
    """Tasks that all pass, each different from all others."""
    return [
        Task(f"def f(x):\n    return x + {salt} + {number}", [CallCheck("f(1)", str(1 + salt + number))], **options)
        for number in range(count)
    ]


def spins(count: int, cpu_ms: int = 500) -> list[Task]:
    """Tasks that hang, and burn CPU time until it is used up."""
    limits = Limits(cpu_ms=cpu_ms, steps=10**12)
    return [Task(f"{SPIN}# {number}", [CallCheck("f(1)", "1")], limits=limits) for number in range(count)]


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
        daemon = [str(Path(__file__).parent / "opened.py"), opened] if opened else ["-m", "cruxboxd"]
        command = [*prefix, sys.executable, *daemon, "serve", "--exit-with-parent", "--listen", self.target]
        command += ["--listen", f"unix:{self._socket}", "--workers", str(workers), "--canary-s", "0"]
        command += ["--metrics-port", str(self.metrics_port), *arguments]
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=folder
            )
        until(lambda: self.process.poll() is not None or self.healthy(), 60)
        assert self.process.poll() is None, self.log

    def healthy(self) -> bool:
        with grpc.insecure_channel(f"unix:{self._socket}") as channel:
            return is_serving(channel, timeout_s=0.5)

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
        """Its zygotes and their workers."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    def workers(self) -> list[psutil.Process]:
        """Its slow workers: the zygotes have lowered their priority."""
        found = []
        for child in self.children():
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.nice() > psutil.Process(self.process.pid).nice():
                    found.append(child)
        return found

    def zygotes(self) -> list[psutil.Process]:
        """The processes it started; each has a zygote in it or is one."""
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
        psutil.wait_procs(below, timeout=10)

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Authority:
    """A certificate authority for a test, made with the openssl command."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("the openssl command is not there")
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.ca = folder / "ca.crt"
        self._openssl("req", "-x509", *_NEW_KEY, "-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=ca")

    def issue(self, name: str, alternative: str = "DNS:localhost,IP:127.0.0.1") -> tuple[Path, Path]:
        """(certificate, key) in files called `name`; issued again, they are replaced."""
        self._openssl("req", *_NEW_KEY, "-keyout", f"{name}.key", "-out", "request", "-subj", f"/CN={name}")
        (self.folder / "extensions").write_text(f"subjectAltName={alternative}\n")
        self._openssl(
            "x509", "-req", "-in", "request", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "extensions", "-out", f"{name}.crt",
        )  # fmt: skip
        return self.folder / f"{name}.crt", self.folder / f"{name}.key"

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
