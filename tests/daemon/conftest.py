"""Daemons that the core's tests share: one with the native helper, one with its pure twin, all interpreters in both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from behaviours import runtimes
from cruxbox import Client


def _serve(*arguments: str) -> Iterator[Client]:
    flags = [f"--runtime={name}={python}" for name, python in runtimes().items()]
    with Client(workers=2, server_args=[*flags, "--canary-s=0", *arguments]) as client:
        client.info()
        yield client


@pytest.fixture(scope="session")
def native() -> Iterator[Client]:
    """A client of a daemon with the native helper."""
    yield from _serve()


@pytest.fixture(scope="session")
def pure() -> Iterator[Client]:
    """A client of a daemon with the pure twin."""
    yield from _serve("--pure")
