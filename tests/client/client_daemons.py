"""Daemons in processes of their own, and waiting for facts."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import grpc
from cruxbox.channel import Address, is_serving, open_channel


class Daemon:
    """`cruxboxd serve` in a process of its own, on TCP or a unix socket."""

    def __init__(self, listen: str, *arguments: str, credentials: grpc.ChannelCredentials | None = None) -> None:
        self.target = listen
        command = [
            sys.executable,
            "-m",
            "cruxboxd",
            "serve",
            "--listen",
            listen,
            "--workers",
            "1",
            "--exit-with-parent",
            *arguments,
        ]
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
