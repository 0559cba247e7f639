"""The log, and whoever reads it: nobody, somebody slow, or a disk that is full."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cruxbox import Client
from cruxboxd.telemetry.logs import Beside, JsonFormatter, configure_logging
from support.tasks import sums
from support.waiting import free_port, until

PAGE = 4096


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe that holds a page: the end to read from, and the one to write to."""
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, PAGE)
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


def lines_of(said: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines()]


def test_a_daemon_whose_log_nobody_reads_serves_and_ends(pipe: tuple[int, int]):
    port = free_port()
    command = [sys.executable, "-m", "cruxboxd", "serve", "--exit-with-parent", "--workers", "1"]
    daemon = subprocess.Popen([*command, "--listen", f"127.0.0.1:{port}"], stdin=subprocess.DEVNULL, stderr=pipe[1])
    os.close(pipe[1])
    try:
        with Client(f"127.0.0.1:{port}", deadline=60, retries=100) as client:
            for task in sums(40):  # each is a call, and a line
                assert client.check([task])[0].passed
        daemon.terminate()
        assert daemon.wait(20) == 0
    finally:
        daemon.kill()
        daemon.wait()
    assert lines_of(os.read(pipe[0], PAGE).rpartition(b"\n")[0])[-1]["message"] == "call ended"


def logger_to(descriptor: int) -> tuple[logging.Logger, Beside]:
    handler, logger = Beside(descriptor), logging.Logger("test")
    handler.setFormatter(JsonFormatter())
    logger.addHandler(handler)
    return logger, handler


def test_what_nobody_takes_is_dropped_and_counted(pipe: tuple[int, int]):
    logger, handler = logger_to(pipe[1])
    for number in range(5_000):
        logger.warning("w" * 200, extra={"number": number})
    said = b""
    while b"dropped" not in said:
        said += os.read(pipe[0], PAGE)
    logger.warning("after")
    handler.close()
    os.close(pipe[1])
    with open(pipe[0], "rb", closefd=False) as rest:
        lines = lines_of(said + rest.read())
    numbers = [line["number"] for line in lines if "number" in line]
    (dropped,) = [line["lines"] for line in lines if "lines" in line]
    assert numbers[:1_000] == list(range(1_000))  # the pipe takes some while the others come: there is room again then
    assert numbers == sorted(set(numbers))
    assert dropped == 5_000 - len(numbers)
    assert lines[-1]["message"] == "after"


def test_the_end_waits_a_moment_for_the_last_lines(pipe: tuple[int, int]):
    logger, handler = logger_to(pipe[1])
    logger.warning("x" * 300)
    logger.warning("last")
    handler.close()
    assert [line["message"] for line in lines_of(os.read(pipe[0], PAGE))] == ["x" * 300, "last"]


def test_a_full_disk_ends_nothing():
    full = os.open("/dev/full", os.O_WRONLY)
    logger, handler = logger_to(full)
    logger.warning("lost")
    room = os.memfd_create("log")
    os.dup2(room, full)
    until(lambda: (logger.warning("there") or Path(f"/proc/self/fd/{room}").stat().st_size) > 0, 10)
    handler.close()
    os.close(full)
    os.close(room)


def test_what_a_caller_did_to_its_own_call_is_no_error(capsys: pytest.CaptureFixture[str]):
    """Anybody could fill the log with tracebacks: a caller that leaves as it is answered needs no token."""
    gone = importlib.import_module("grpc._cython.cygrpc").ExecuteBatchError("Failed")  # whose name is looked for
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        configure_logging("info")
        log = logging.getLogger("grpc._cython.cygrpc")
        for error in (gone, UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), ValueError("ours")):
            log.error("raised", exc_info=error)
        logging.getLogger("other").error("raised", exc_info=gone)
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    said = lines_of(capsys.readouterr().err.encode())
    assert [(line["logger"], line["exception"].rpartition("\n")[2]) for line in said] == [
        ("grpc._cython.cygrpc", "ValueError: ours"),
        ("other", "grpc._cython.cygrpc.ExecuteBatchError: Failed"),
    ]
