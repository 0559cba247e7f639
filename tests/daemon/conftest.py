"""Daemons that the core's tests share: one with the native helper, one with its pure twin, all interpreters in both.

And for tests that start none: a scheduler that counts its workers, and what was looked at of texts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from behaviours import runtimes
from counting_pool import CountingPool
from cruxbox import Client
from cruxboxd.settings.config import Config
from cruxboxd.shared.observer import Observer
from cruxboxd.zygotes import looks, zygote_process
from cruxboxd.zygotes.commands import Commands
from cruxboxd.zygotes.runtimes import ZygoteSetups, find_runtimes
from cruxboxd.zygotes.setup import ZygoteKinds


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


@pytest_asyncio.fixture
async def pool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CountingPool]:
    """With the parameter "pure": one without the native helper. A busy machine makes no worker one that stalls."""
    monkeypatch.setattr(zygote_process, "_STUCK_S", 3600.0)
    config = Config(workers=1, pure=getattr(request, "param", "") == "pure")
    kinds = ZygoteKinds(unsealed={"default"} if config.pure else ())
    made = CountingPool(config, ZygoteSetups(config, find_runtimes(config, Commands())), Observer(), kinds=kinds)
    made.asked_for, made.seen = [], []
    yield made
    await made.close()
