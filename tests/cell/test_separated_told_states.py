"""What the test was told that objects of the candidate hold, and which of it is another by now."""

from __future__ import annotations

from array import array
from typing import Any

import numpy
import pytest
from cruxcell.jobs.separated.crossing.numbered import Shown
from cruxcell.jobs.separated.crossing.told_states import ToldStates, unshared


class Thing:
    def __init__(self, **held: Any) -> None:
        vars(self).update(held)


class Slotted(Thing):
    __slots__ = ("a", "b")


class Text(bytes):
    pass


class Items(list):  # type: ignore[type-arg]
    pass


def told(*values: object) -> tuple[Shown, ToldStates]:
    shown = Shown(False)
    states = ToldStates(shown)
    for each in values:
        shown.show(each)
        states.tell(each)
    return shown, states


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("x", 1, 2),
        ("x", 1, True),
        ("x", 0.0, -0.0),
        ("x", [1, [2]], [1, [3]]),
        ("x", (1,), [1]),
        ("x", {"a": {1}}, {"a": {2}}),
        ("x", None, "None"),
        ("x", b"a", "a"),
        ("y", 1, 1),
    ],
)
def test_what_holds_something_else_has_changed_since(name: str, before: object, after: object):
    one, other = Thing(x=before), Thing(x=1)
    _, states = told(one, other)
    time, *changed = states.changed(0)
    assert changed == []
    setattr(one, name, after)
    later, *changed = states.changed(time)
    assert changed == [1]
    assert states.changed(time)[1:] == [1]  # for who has not heard it
    assert states.changed(later)[1:] == []


@pytest.mark.parametrize(
    "after",
    [
        bytearray(b"a"),
        array("b", b"a"),
        memoryview(b"a"),
        numpy.frombuffer(b"a", numpy.uint8),
        Text(b"a"),
        [array("b", b"a")],
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_shows_the_memory_of_bytes_is_not_those_bytes(after: object):
    one = Thing(x=[b"a"] if type(after) is list else b"a", s="s")
    _, states = told(one)
    time, *changed = states.changed(0)
    assert changed == []
    one.x = after  # type: ignore[attr-defined]
    later, *changed = states.changed(time)
    assert changed == [1]
    assert states.changed(later)[1:] == [1]  # which may be another at any time


def test_what_is_changed_in_place_or_in_a_slot_has_changed():
    one, two = Thing(x=[1]), Slotted(c=1)
    two.a, two.b = 1, [2]
    _, states = told(one, two)
    one.x.append(2)  # type: ignore[attr-defined]
    assert states.changed(0)[1:] == [1]
    time = states.changed(0)[0]
    two.b.append(2)
    assert states.changed(time)[1:] == [2]


def test_what_is_no_plain_data_or_much_of_it_may_always_have_changed():
    itself: list[Any] = []
    itself.append(itself)
    unset = Slotted()
    held = [Thing(), Items(), itself, "a" * 2000, 1 + 1j, range(3), {1: print}, Items]
    things = [*[Thing(x=each) for each in held], unset, Items([1])]
    shown = Shown(False)
    states = ToldStates(shown)
    for each in things:
        shown.show(each)
    assert [at for at, each in enumerate(things) if states.tell(each)] == [4]
    time, *changed = states.changed(0)
    assert changed == states.changed(time)[1:] == [1, 2, 3, 4, 6, 7, 8, 9, 10]


def test_what_stands_at_many_places_is_much_and_not_written_at_each():
    held: list[Any] = [0]
    for _ in range(60):
        held = [held, held]
    one = Thing(x=held, y=1)
    shown = Shown(False)
    shown.show(one)
    states = ToldStates(shown)
    assert not states.tell(one)
    assert states.changed(0)[1:] == [1]


def test_what_the_test_has_let_go_of_is_forgotten():
    thing = Thing(x=1)
    shown, states = told(thing)
    shown.release([1])
    thing.x = 2  # type: ignore[attr-defined]
    assert (states.changed(0)[1:], states.tell(thing), states._told) == ([], True, {})


def test_what_was_told_anew_to_another_thread_has_changed_for_this_one():
    thing, time = Thing(x=1), 0
    _, states = told(thing)
    thing.x = 2  # type: ignore[attr-defined]
    assert states.tell(thing)
    assert states.changed(time)[1:] == [1]


def test_no_code_of_the_program_s_looks():
    class Meta(type):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(cls, other: object) -> bool:
            raise AssertionError

    class Own(metaclass=Meta):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    _, states = told(Own(), Own())
    assert states.changed(0) == [1]


def test_plain_data_is_told_in_containers_of_its_own():
    held = {"a": [1, ({2},)], "b": frozenset([3]), "c": (nan := float("nan"))}
    found = unshared(held)
    assert (found, found["a"] is held["a"], found["c"] is nan) == (held, False, True)
    found["a"][1][0].add(5)
    assert held["a"] == [1, ({2},)]
