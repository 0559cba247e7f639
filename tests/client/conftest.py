"""A real daemon for the client's tests, and ways to start more."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest
from cruxbox.channel import Address, is_serving, open_channel
from cruxbox.embedded import EmbeddedServer


class Daemon:
    """`cruxboxd serve` in a process of its own, on TCP or a unix socket."""

    def __init__(self, listen: str, *arguments: str, credentials: grpc.ChannelCredentials | None = None) -> None:
        self.target = listen
        command = [sys.executable, "-m", "cruxboxd", "serve", "--listen", listen, "--workers", "1", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        address = Address(listen, credentials=credentials)
        with open_channel(address, grpc.insecure_channel, grpc.secure_channel) as channel:
            wait_until(lambda: self.process.poll() is not None or is_serving(channel, timeout_s=0.5), 60)
        assert self.process.poll() is None, "the daemon did not start"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_alive(pid: int) -> bool:
    """Whether process `pid` runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(fact, seconds: float = 20.0) -> None:
    """Wait for a fact, not for a time."""
    until = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.01)


@pytest.fixture(scope="session")
def server():
    """The target of a daemon that all tests share; they must not harm it."""
    embedded = EmbeddedServer(workers=2)
    target, _ = embedded.ensure()
    yield target
    assert embedded.pid is not None, f"the shared daemon died: {embedded._last_words()}"
    embedded.stop()


@pytest.fixture
def daemons():
    """A function that starts a daemon on TCP; all are stopped in the end."""
    started = []

    def start(*arguments: str, credentials: grpc.ChannelCredentials | None = None) -> Daemon:
        started.append(Daemon(f"127.0.0.1:{free_port()}", *arguments, credentials=credentials))
        return started[-1]

    yield start
    for daemon in started:
        daemon.kill()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with CRUXEval's public data."""
    folder = os.environ.get("CRUXBOX_DATA")
    if not folder:
        pytest.skip("CRUXBOX_DATA does not name the folder with the public data")
    return Path(folder) / "cruxeval"
