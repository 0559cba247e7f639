"""How long the garbage collector may hold the event loop."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from cruxboxd.server.process import spare_the_collector


def test_what_a_collection_looks_through_is_little_unless_it_is_a_full_one(monkeypatch: pytest.MonkeyPatch):
    """An object takes up to two microseconds, and every tenant waits meanwhile."""
    done: list[Any] = []
    monkeypatch.setattr(gc, "collect", lambda: done.append("collect"))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    monkeypatch.setattr(gc, "set_threshold", lambda *thresholds: done.append(thresholds))
    spare_the_collector()
    assert done[:2] == ["collect", "freeze"]
    young, middle, full = done[2]
    assert young * (middle + 1) <= 20_000
    assert 2_000_000 <= young * middle * full <= 5_000_000  # rarely, and cycles are found before they are a gigabyte
