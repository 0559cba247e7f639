"""What is told again of objects that were noted before: what has changed, and how much of it is looked at."""

from __future__ import annotations

from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import notes
from cruxcell.jobs.separated.proxies.notes import Notes
from equal_objects import Candidate, connected, of_a_class  # noqa: F401 - a fixture among them


def test_what_holds_plain_data_is_told_anew_where_it_has_changed(other: Candidate):
    cls = of_a_class(other)
    one, two = other.thing(cls, 5, {"x": 0}), other.thing(cls, 6, {"x": [0]})
    three = other.thing(cls, 7, {"x": one})
    other.notes.take(other, 0)
    for later in ([1], [1, 2]):
        other.notes.outlast(other, "get", [None, "x"], 0)
        other.states[6], other.asked[:] = {"x": later}, []
        other.notes.take(other, 0)
        assert other.asked == [("states", 0, three), ("states", None, two)]
        other.asked[:] = []
        assert other.notes.held(other, one, two) == [{"x": 0}, {"x": later}]
        assert other.asked == []


@pytest.mark.parametrize("answer", [None, [], [{"x": 0}], [[]], [["0"]], [[0, "5"]], [[0, 5.0]], ([0],)])
def test_who_does_not_say_what_has_changed_is_asked_for_all(other: Candidate, answer: Any):
    thing = other.thing(of_a_class(other), 5, {"x": 0})
    other.notes.take(other, 0)
    other.notes.outlast(other, "get", [None, "x"], 0)
    asks, other.states[5] = other.ask, {"x": 1}
    other.asked[:] = []

    def ask(operation: str, *fields: Any) -> Any:
        found = asks(operation, *fields)
        return answer if fields[0] is not None else found

    other.ask = ask  # type: ignore[method-assign]
    other.notes.take(other, 0)
    assert other.asked == [("states", 0), ("states", None, thing)]
    assert other.notes.held(other, thing) == [{"x": 1}]


def test_what_has_changed_within_a_question_is_not_as_before_when_that_is_answered(other: Candidate):
    cls = of_a_class(other)
    outside, inside = other.thing(cls, 5, {"x": 0}), other.thing(cls, 6, {"x": 0})
    other.notes.take(other, 0)
    other.states[5] = {"x": 1}
    other.notes.outlast(other, "call", [cls, "", inside], 1)
    other.thing(cls, 7, {"x": 0})
    other.notes.take(other, 1)
    other.notes.outlast(other, "get", [None, "x"], 1)
    other.time = 1
    other.notes.take(other, 1)
    assert other.notes.held(other, outside) == [{"x": 0}]
    other.notes.outlast(other, "get", [None, "x"], 0)
    other.notes.take(other, 0)
    assert other.notes.held(other, outside) == [{"x": 1}]


def test_a_script_may_make_as_many_objects_as_it_likes_if_it_keeps_few(
    other: Candidate, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(notes, "_MOST_NOTED", 8)
    other.notes = Notes()
    cls, result = of_a_class(other), None
    for number in range(100):
        other.here[:] = []
        result = other.thing(cls, number, {"x": number})
        other.notes.outlast(other, "get", [None, "x"], 0)
        other.notes.take(other, 0)
    other.states[99] = {"x": 8}
    assert other.notes.held(other, result) == [{"x": 99}]


def test_how_much_is_looked_at_is_bounded(other: Candidate, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notes, "_MOST_LOOKED_AT", 4)
    other.notes = Notes()
    cls = of_a_class(other)
    here = [other.thing(cls, 5 + at, {"x": 0}) for at in range(2)]
    for _ in range(4):
        other.notes.outlast(other, "get", [None, "x"], 0)
        other.notes.take(other, 0)
    assert other.asked == [("states", None, *here), ("states", 0), ("states", 0), ("states", None, *here)]


def test_what_has_come_to_hold_an_object_is_let_go_of_when_the_candidate_goes_on(other: Candidate):
    """Or the program would find an object that it has dropped."""
    cls = of_a_class(other)
    one, two = other.thing(cls, 5, {"x": 0}), other.thing(cls, 6, {"x": 0})
    other.notes.take(other, 0)
    other.notes.outlast(other, "call", [cls, "", one], 0)
    other.states[5] = {"x": two}
    other.notes.take(other, 0)
    assert other.notes.held(other, one) == [{"x": two}]
    other.notes.outlast(other, "get", [None, "x"], 0)
    assert [note[1] for note in other.notes._before.values()] == [{"x": 0}]
