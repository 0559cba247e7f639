"""Daemons on TCP, with their figures."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import grpc
from cruxbox.channel import is_serving


@contextlib.contextmanager
def daemons(count: int) -> Iterator[tuple[list[str], list[int]]]:
    """`count` daemons: their addresses, and the ports of their figures."""
    processes, addresses, metrics = [], [], []
    try:
        for _ in range(count):
            addresses.append(f"127.0.0.1:{_free_port()}")
            metrics.append(_free_port())
            command = [
                sys.executable,
                "-m",
                "cruxboxd",
                "serve",
                "--workers",
                "1",
                "--exit-with-parent",
                "--listen",
                addresses[-1],
            ]
            processes.append(
                subprocess.Popen([*command, "--metrics-port", str(metrics[-1])], stderr=subprocess.DEVNULL)
            )
        for address, process in zip(addresses, processes):
            _wait(address, process)
        yield addresses, metrics
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    with grpc.insecure_channel(address) as channel:
        while not is_serving(channel, timeout_s=0.5):
            assert process.poll() is None, "the daemon did not start"
            assert time.monotonic() < until, "the daemon did not serve"
            time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
