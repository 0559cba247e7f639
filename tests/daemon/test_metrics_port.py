"""The metrics port: where it listens, and what is bounded for callers that nobody knows."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from cruxboxd.telemetry import exporter
from prometheus_client import CollectorRegistry
from support.daemons import Served
from support.waiting import free_port, until


def test_figures_are_on_loopback_unless_told_otherwise(tmp_path):
    with Served(tmp_path) as daemon:
        assert listens(daemon.metrics_port) == {"127.0.0.1"}
        page = urllib.request.urlopen(f"http://127.0.0.1:{daemon.metrics_port}/metrics", timeout=10)
        assert page.headers["Content-Type"].startswith("text/plain")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{daemon.metrics_port}/x", timeout=10)


def test_figures_may_be_served_elsewhere(tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "cruxboxd", "serve", "--exit-with-parent", "--workers=1"]
    process = subprocess.Popen(
        [*command, f"--listen=unix:{tmp_path}/s", f"--metrics-listen=0.0.0.0:{port}"], stderr=subprocess.DEVNULL
    )
    try:
        until(lambda: listens(port) == {"0.0.0.0"}, 60)
    finally:
        process.terminate()
        process.wait()


async def test_connections_to_the_figures_are_bounded(monkeypatch):
    """And whoever does not ask is not waited for."""
    monkeypatch.setattr(exporter, "ASK_S", 3600.0)
    serving, port = exporter.Exporter(CollectorRegistry()), free_port()
    await serving.start("127.0.0.1", port)
    ended = []

    async def hold() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /metrics")
        try:
            with contextlib.suppress(ConnectionError):
                await reader.read()
            ended.append(writer)
        finally:
            writer.close()

    held = [asyncio.ensure_future(hold()) for _ in range(3 * exporter.CONNECTIONS)]
    while len(ended) < 2 * exporter.CONNECTIONS:  # a test that waits too long fails
        await asyncio.sleep(0.01)
    assert serving.connections == exporter.CONNECTIONS
    for one in held:
        one.cancel()
    await asyncio.wait(held)
    while serving.connections:
        await asyncio.sleep(0.01)
    monkeypatch.setattr(exporter, "ASK_S", 0.1)
    await hold()
    assert serving.connections == 0
    serving.close()


@pytest.mark.parametrize("leaves", [False, True], ids=["reads nothing", "leaves in the middle"])
async def test_whoever_does_not_take_the_figures_is_not_waited_for(monkeypatch, caplog, leaves):
    monkeypatch.setattr(exporter, "ANSWER_S", 30.0 if leaves else 0.2)
    serving, port, seen = exporter.Exporter(CollectorRegistry()), free_port(), []
    monkeypatch.setattr(
        exporter, "generate_latest", lambda registry: seen.append(serving.connections) or bytes(32 << 20)
    )
    await serving.start("127.0.0.1", port)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 12)
    writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
    assert (await reader.read(1 << 12)).startswith(b"HTTP/1.1 200 OK")
    assert seen == [1]
    if leaves:
        writer.transport.abort()
    end = time.monotonic() + 20
    while serving.connections:
        assert time.monotonic() < end, "it is still waited for"
        await asyncio.sleep(0.01)
    writer.transport.abort()
    serving.close()
    assert caplog.records == []


def listens(port: int) -> set[str]:
    """The IPv4 addresses at which somebody listens on a port."""
    found = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        address, _, number = words[1].partition(":")
        if words[3] == "0A" and int(number, 16) == port:
            found.add(socket.inet_ntoa(bytes.fromhex(address)[::-1]))
    return found


async def test_the_metrics_port_answers_by_the_rules_of_http(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exporter, "generate_latest", lambda _registry: b"figures\n")
    serving = exporter.Exporter(CollectorRegistry())

    async def answer(method: str) -> tuple[bytes, list[bytes], bytes]:
        head, _, body = (await serving._answer(f"{method} /metrics HTTP/1.1\r\n\r\n".encode())).partition(b"\r\n\r\n")
        status, *fields = head.split(b"\r\n")
        return status, fields, body

    assert (await answer("GET"))[2] == b"figures\n"
    _, fields, body = await answer("HEAD")  # as long as the answer to GET, which it does not hold
    assert (b"Content-Length: 8" in fields, body) == (True, b"")
    status, fields, body = await answer("POST")
    assert (status, body) == (b"HTTP/1.1 405 Method Not Allowed", b"")
    assert b"Allow: GET, HEAD" in fields


async def test_a_page_of_figures_is_made_for_all_who_ask_meanwhile(monkeypatch: pytest.MonkeyPatch):
    """650 pages a second took the median check of a tenant from 25 ms to 53. None is older than who asks."""
    made, pauses = itertools.count(1), list[float]()
    serving = exporter.Exporter(CollectorRegistry())
    monkeypatch.setattr(exporter, "generate_latest", lambda _registry: b"%d" % next(made))
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await real(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(exporter, "PAUSE_S", 3600.0)
    for page in (b"1", b"2"):
        answers = await asyncio.gather(*[serving._answer(b"GET /metrics HTTP/1.1\r\n\r\n") for _ in range(50)])
        assert [answer.rpartition(b"\r\n")[2] for answer in answers] == [page] * 50
    assert pauses[0] == 0
    assert 0 < pauses[1] <= exporter.PAUSE_S
