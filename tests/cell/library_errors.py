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


class OfData(ValueError):
    """As pydantic's: no constructor, and no `args`."""

    lines: list[object]

    def __new__(cls, *_arguments: object) -> OfData:
        raise TypeError("no constructor defined")

    @classmethod
    def from_exception_data(cls, title: str, lines: list[object]) -> OfData:
        made = ValueError.__new__(cls)
        made.title, made.lines = title, lines  # type: ignore[attr-defined]
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return OfData.from_exception_data, (vars(self)["title"], self.lines)


class Custom(ValueError):
    """As pydantic's, which the library makes without `args`."""

    def __init__(self, kind: str, context: dict[str, int]) -> None:
        self._made_of = (kind, context)
        self.args = ()

    def __reduce__(self) -> tuple[object, ...]:
        return Custom, self._made_of


Other = type("Match", (), {"__module__": "known_errors"})
for each in (Own, Signal, Part, OfData, Custom, _Hidden):
    each.__module__ = "known_errors"


@pytest.fixture(name="known_errors")
def as_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library of them."""
    module = types.ModuleType("known_errors")
    module.__spec__ = json.__spec__
    vars(module).update(Signal=Signal, Part=Part, Own=Own, OfData=OfData, Custom=Custom, _Hidden=_Hidden)
    vars(module).update(Match=Other, number=8)
    monkeypatch.setitem(sys.modules, "known_errors", module)
