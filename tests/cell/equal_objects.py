"""The other half of a pair, played: it says what objects hold, and that all are equal."""

from __future__ import annotations

from collections.abc import Container
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.crossing.numbered import Shown
from cruxcell.jobs.separated.proxies import equality, facts, runs
from cruxcell.jobs.separated.proxies.doubts import Doubts
from cruxcell.jobs.separated.proxies.notes import Notes
from cruxcell.jobs.separated.proxies.proxy_classes import make_class


class Candidate:
    """The other half: it says what objects hold, and that all are equal."""

    is_test = True

    def __init__(self) -> None:
        self.named: frozenset[str] = frozenset()
        self.notes = Notes()
        self.objects = self.held = self
        self.shown, self.ran = Shown(True), 0
        self.containers = SimpleNamespace(changed=list)  # none is changed
        self.here: list[Any] = []
        self.values: list[Any] = []
        self.known: tuple[type, ...] = ()
        self.states: dict[int, Any] = {}
        self.parts: Any = []  # objects within those that are asked about, each with what it holds
        self.asked: list[tuple[Any, ...]] = []
        self.equal: Any = True
        self.compared_by_identity = False
        self.doubts = Doubts()
        self.hashed, self.refused = 0, False
        self.garbled: Any = None
        self.gives: Any = None
        self.becomes: dict[int, Any] = {}
        self.clears = False
        self.changed: list[bool] = []
        self.time, self.told, self.tells_changes = 0, dict[int, str](), True

    def present(self, with_values: bool = False, but: Container[int] = ()) -> list[Any]:
        return [each for each in self.here if facts.number_of(each) not in but] + self.values * with_values

    def numbers(self) -> list[int]:
        return list(map(facts.number_of, self.here))

    def means_a_class(self, cls: type) -> bool:
        return cls in self.known

    def refuse(self, _why: str) -> None:
        self.refused = True

    decline = refuse

    def alone_since(self, time: int) -> int:
        return time

    def depth(self) -> int:
        return 0

    def note(self, values: tuple[object, ...]) -> Any:
        self.notes.take(self, 0)
        return equality.shown_by(values)

    def note_again(self, value: object, shown: Any, began: int) -> None:
        self.notes.is_complete = False
        self.changed.append(self.notes.is_another(self, value, shown, began))

    def call(self, _cls: object, arguments: Any, _keywords: object) -> Any:
        for each in arguments if self.clears else ():
            each.clear()
        if self.gives is not None:
            self.states.update(self.becomes)
            return self.gives
        return self.thing(_cls, 100 + len(self.here), {"x": arguments[0] if arguments else None})

    def ask(self, operation: str, *fields: Any) -> Any:
        self.asked.append((operation, *fields))
        if operation == "special":
            return self.equal
        if self.garbled is not None:
            return self.garbled
        numbers = list(map(facts.number_of, fields[1:]))
        told = [self.states[each] for each in numbers]
        changed = [self.time, *[each for each in self.told if self.said(each) != self.told[each]]]
        heard = [] if fields[0] is None else changed[1:]
        self.told.update({each: self.said(each) for each in {*numbers, *heard}})
        told += [self.parts] if self.parts else []
        return told if fields[0] is None else [*told, changed]

    def said(self, number: int) -> str:
        if not self.tells_changes:
            self.time += 1
            return str(self.time)
        try:
            return repr(self.states[number])
        except RecursionError:
            return "deep"

    def part(self, cls: Any, number: int) -> Any:
        made = object.__new__(cls)
        facts.give_number(made, number)
        self.values.append(made)
        return made

    def thing(self, cls: Any, number: int, state: object) -> Any:
        made = object.__new__(cls)
        facts.give_number(made, number)
        self.states[number] = state
        self.here.append(made)
        return made


@pytest.fixture(name="other")
def connected() -> Candidate:
    candidate = Candidate()
    runs.LINK[:] = [candidate]
    return candidate


def of_a_class(other: Candidate, offers: str = "__eq__") -> Any:
    cls = make_class("P", 1 + len(other.known), (), offers.split(), [], None)
    other.known = (*other.known, cls)
    return cls
