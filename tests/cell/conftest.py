"""What jobs that run in the tests' own process leave behind, and the files of both halves of a script."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cruxcell.jobs.separated.proxies import runs
from halves_by_hand import Halves

_CONNECTING = ("Connection", "connect")


@pytest.fixture(autouse=True)
def own_connections() -> Iterator[None]:
    """A job may guard the connections of its process to sqlite; those of the next test are no job's."""
    modules = [sys.modules[name] for name in ("_sqlite3", sqlite3.__name__, "sqlite3.dbapi2")]
    before = [{name: vars(module)[name] for name in _CONNECTING} for module in modules]
    yield
    for module, own in zip(modules, before):
        vars(module).update(own)


@pytest.fixture(autouse=True)
def own_connection() -> Iterator[None]:
    """The link of this process is the test's own; the next one has none of it."""
    before = list(runs.LINK)
    yield
    runs.LINK[:] = before


@pytest.fixture
def halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Halves:
    """The working folder is that of the script's half."""
    made = Halves(tmp_path)
    monkeypatch.chdir(made.test)
    return made
