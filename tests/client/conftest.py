"""A real daemon for the client's tests, and ways to start more."""

from __future__ import annotations

import os
from pathlib import Path

import grpc
import pytest
from cruxbox.embedded import EmbeddedServer
from support.daemons import Daemon
from support.waiting import free_port


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
