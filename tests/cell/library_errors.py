"""Errors of a library that both halves of a pair have; a candidate names them by their places."""

from __future__ import annotations

import json
import sys
import types

import pytest


class Signal(Exception):
    pass


class Part(Signal):
    pass


class Own(ValueError):
    pass


class _Hidden(ValueError):
    pass


Other = type("Match", (), {"__module__": "known_errors"})
Own.__module__ = Signal.__module__ = Part.__module__ = _Hidden.__module__ = "known_errors"


@pytest.fixture(name="known_errors")
def as_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library of them."""
    module = types.ModuleType("known_errors")
    module.__spec__ = json.__spec__
    vars(module).update(Signal=Signal, Part=Part, Own=Own, _Hidden=_Hidden, Match=Other, number=8)
    monkeypatch.setitem(sys.modules, "known_errors", module)
