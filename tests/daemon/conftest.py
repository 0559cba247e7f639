"""Daemons that the core's tests share: one with the native helper, one with its pure twin, all interpreters in both.

And what was looked at of texts, for tests that start none.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from behaviours import runtimes
from cruxbox import Client
from cruxboxd.zygotes import looks


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


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The texts that were looked through for what they name, in their order."""
    texts: list[bytes] = []
    look_at = looks.look_at

    def look(text: bytes, packages: tuple[str, ...]) -> looks.Look:
        texts.append(text)
        return look_at(text, packages)

    monkeypatch.setattr(looks, "look_at", look)
    return texts
