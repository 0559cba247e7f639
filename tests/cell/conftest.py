"""What jobs that run in the tests' own process leave behind."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator

import pytest

_CONNECTING = ("Connection", "connect")


@pytest.fixture(autouse=True)
def own_connections() -> Iterator[None]:
    """A job may guard the connections of its process to sqlite; those of the next test are no job's."""
    modules = [sys.modules[name] for name in ("_sqlite3", sqlite3.__name__, "sqlite3.dbapi2")]
    before = [{name: vars(module)[name] for name in _CONNECTING} for module in modules]
    yield
    for module, own in zip(modules, before):
        vars(module).update(own)
