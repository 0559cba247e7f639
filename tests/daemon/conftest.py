"""Daemons that the core's tests share: one with the native helper, one with its pure twin, all interpreters in both."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cruxbox import Client

sys.path.append(str(Path(__file__).resolve().parents[1] / "cell"))

from interpreters import found_interpreters


def runtimes() -> dict[str, Path]:
    """Name -> interpreter; the one the tests run on is the default."""
    others = [(version, python) for version, python in found_interpreters() if version != sys.version_info[:2]]
    return {"default": Path(sys.executable), **{f"py{major}{minor}": python for (major, minor), python in others}}


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
