"""Objects that the program's classes make themselves: two that hold such are compared by what these hold."""

from __future__ import annotations

import re
from array import array
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from cruxcell.jobs.separated.crossing.numbered import Shown
from cruxcell.jobs.separated.crossing.told_states import ToldStates
from cruxcell.jobs.separated.proxies import facts, notes
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from equal_objects import Candidate, connected, of_a_class  # noqa: F401 - a fixture among them


def node_class(number: int = 8) -> Any:
    return make_class("Node", number, (), [], [], None)


def pair(other: Candidate, noted: object, late: object, kinds: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
    """What a function has returned and what the script makes then, each with a node; what these hold, when noted and
    when compared (None: it is not told)."""
    cls, (kind, its) = of_a_class(other), kinds or (node_class(),) * 2
    node = other.part(kind, 60)
    result = other.thing(cls, 5, {"head": [node]})
    other.parts = [] if noted is None else [node, noted]
    expected = cls(2)
    late_node = object.__new__(its)
    other.states[facts.number_of(expected)] = {"head": [late_node]}
    other.parts = [] if late is None else [late_node, late]
    asked = other.ask

    def ask(operation: str, *fields: Any) -> Any:
        if operation == "states":  # the node comes with the answer
            facts.give_number(late_node, 61)
        return asked(operation, *fields)

    other.ask = ask  # type: ignore[method-assign]
    return result, expected


@pytest.mark.parametrize(
    ("noted", "late", "is_equal"),
    [
        ({"v": 2}, {"v": 2}, True),
        ({"v": 2, "next": None}, {"v": 2}, False),
        ({"v": 3}, {"v": 2}, False),
        ({"v": 3}, {"v": 3}, False),  # which is not what the script made it of
        ({}, {}, False),
        (None, {"v": 2}, False),
        ({"v": 2}, None, False),
        (8, {"v": 2}, False),
        ({"v": 2}, 8, False),
    ],
)
def test_two_objects_are_equal_by_what_the_objects_hold_that_they_have_made(
    other: Candidate, noted: object, late: object, is_equal: bool
):
    result, expected = pair(other, noted, late)
    assert (result == expected) is is_equal


@pytest.mark.parametrize(
    ("hold", "its", "is_equal"),
    [
        (lambda node: deque([node]), None, True),
        (lambda node: deque([node]), lambda node: [node], False),
        (lambda node: deque([node]), lambda node: deque([node, 2]), False),
        (lambda node: defaultdict(list, {2: [node]}), lambda node: {2: [node]}, True),
        (lambda node: {2: node}, lambda node: {3: node}, False),
        (lambda node: OrderedDict({2: node}), None, True),
        (lambda node: OrderedDict({2: node, 3: 4}), lambda node: OrderedDict({3: 4, 2: node}), False),
        (lambda node: OrderedDict({2: node}), lambda node: {2: node}, False),
        (lambda node: (node,), lambda node: [node], False),
        (lambda node: frozenset([node]), None, True),
        (lambda node: frozenset([node]), lambda node: {node}, False),
        (lambda node: {node, 3}, lambda node: {3, node}, True),
        (lambda node: {node}, lambda node: {node, 3}, False),
        (lambda node: {(node, 1): 3}, None, True),
        (lambda node: {node: 3}, lambda node: {node: 4}, False),
        (lambda node: Counter([node]), None, True),
    ],
)
def test_what_containers_hold_is_compared_item_by_item(other: Candidate, hold: Any, its: Any, is_equal: bool):
    cls, kind = of_a_class(other), node_class()
    one, two = other.part(kind, 60), other.part(kind, 61)
    result = other.thing(cls, 5, {"nodes": hold(one), "made of": 2})
    other.parts = [one, {"v": 2}, two, {"v": 2}]
    expected = cls(2)
    other.states[facts.number_of(expected)] = {"nodes": (its or hold)(two), "made of": 2}
    assert (result == expected) is is_equal


def at(hours: int) -> datetime:
    """One moment, as it is called where clocks are so far ahead."""
    return datetime(2024, 1, 1, 12 + hours, tzinfo=timezone(timedelta(hours=hours)))


@pytest.mark.parametrize(
    ("one", "its"),
    [
        (Counter(), Counter({2: 0})),
        (Counter({"a": 1}), Counter({"a": 1, 2: 0})),
        (range(0), range(2, 2)),
        (range(5, 6), range(5, 6, 2)),
        (at(1), at(-10)),
        ([at(1)], [at(-10)]),
        (numpy.timedelta64(24, "M"), numpy.timedelta64(2, "Y")),
    ],
)
def test_what_equals_that_in_which_the_script_s_value_is_does_not_show_it(other: Candidate, one: object, its: object):
    cls = of_a_class(other)
    result, expected = other.thing(cls, 5, {"x": one}), cls(2)
    other.states[facts.number_of(expected)] = {"x": its}
    assert one == its
    assert result != expected


def test_what_holds_a_value_in_another_form_shows_it(other: Candidate):
    cls = of_a_class(other)
    result, expected = other.thing(cls, 5, {"x": at(1)}), cls(at(2))
    other.states[facts.number_of(expected)] = {"x": at(2)}
    assert result == expected


SOME = object()


@pytest.mark.parametrize(
    ("given", "one", "its", "is_equal"),
    [
        (2, [2], [2], True),
        (2, [], [], False),
        (SOME, [SOME], [SOME], True),
        (SOME, [], [], False),
        (SOME, [Counter([SOME])], [Counter([SOME])], True),
        (SOME, [Counter()], [Counter({SOME: 0})], False),
        (SOME, [OrderedDict({SOME: 0})], [OrderedDict({SOME: 0})], True),
    ],
)
def test_what_is_in_an_object_that_is_compared_by_an_equality_of_its_own_shows_nothing(
    other: Candidate, given: object, one: list[Any], its: list[Any], is_equal: bool
):
    cls, kind = of_a_class(other), node_class()
    type.__setattr__(kind, "__eq__", lambda _one, _other: True)
    nodes = other.part(kind, 60), other.part(kind, 61)
    other.shown.show(SOME)  # which the program has by that
    result, expected = other.thing(cls, 5, {"x": [nodes[0], *one]}), cls(given)
    other.states[facts.number_of(expected)] = {"x": [nodes[1], *its]}
    other.parts = [nodes[1], {"y": given}]
    assert (result == expected) is is_equal


def test_what_holds_the_same_is_of_one_class(other: Candidate):
    result, expected = pair(other, {"v": 2}, {"v": 2}, (node_class(), node_class(9)))
    assert result != expected


def test_what_was_there_before_and_not_noted_may_have_become_what_is_expected(other: Candidate):
    cls, node = of_a_class(other), other.part(node_class(), 60)
    result = other.thing(cls, 5, {"head": node})
    expected = cls(2)
    other.states[facts.number_of(expected)] = {"head": node}
    other.parts = [node, {"v": 2}]
    assert result != expected  # they hold the same one, of which nothing shows what the script has made
    other.notes.outlast(other, "get", [None, "x"], 0)
    cls(5)
    assert result == expected


def test_what_was_noted_of_an_object_counts_and_not_what_is_told_of_it_later(other: Candidate):
    cls, node = of_a_class(other), other.part(node_class(), 60)
    held = [0]
    result = other.thing(cls, 5, {"head": node})
    other.parts = [node, {"v": held}]
    expected = cls(2)
    held[0] = 2
    other.states[facts.number_of(expected)] = {"head": node}
    assert result != expected


def test_objects_that_lead_to_each_other_are_compared_once(other: Candidate):
    cls, kind = of_a_class(other), node_class()
    one, two = other.part(kind, 60), other.part(kind, 61)
    result = other.thing(cls, 5, {"head": one})
    other.parts = [one, {"v": 2, "next": two}, two, {"v": 2, "next": one}]
    expected, ring = cls(2), object.__new__(kind)
    other.states[facts.number_of(expected)] = {"head": ring}
    other.parts, asked = [ring, {"v": 2, "next": ring}], other.ask

    def ask(operation: str, *fields: Any) -> Any:
        if operation == "states":
            facts.give_number(ring, 62)
        return asked(operation, *fields)

    other.ask = ask  # type: ignore[method-assign]
    assert result == expected


def test_objects_that_lead_back_to_the_two_that_are_compared_are_compared_once(other: Candidate):
    cls, kind = of_a_class(other), node_class()
    one, two = other.part(kind, 60), other.part(kind, 61)
    result = other.thing(cls, 5, {"v": 2, "of": [one]})
    other.parts = [one, {"owner": result}, two, {}]
    expected = cls(2)
    other.states[facts.number_of(expected)] = {"v": 2, "of": [two]}
    assert result != expected
    other.parts[3]["owner"] = expected
    other.notes.forget_from(0)
    cls(5)
    assert result == expected
    assert [each[0] for each in other.asked].count("special") == 2


def test_so_many_parts_are_noted(other: Candidate, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notes, "_MOST_NOTED", 1)
    other.notes = notes.Notes()
    cls, kind = of_a_class(other), node_class()
    first, second = other.part(kind, 60), other.part(kind, 61)
    other.thing(cls, 5, {"head": first})
    other.parts = [first, {"v": 2}, second, {"v": 3}]
    cls(2)
    assert set(other.notes._held) == {5, 60}
    other.notes.forget_from(0)
    cls(2)
    assert 60 not in other.notes._held


# ---- what the program's half tells -----------------------------------------------------------------------------------


class Node:
    def __init__(self, **held: Any) -> None:
        vars(self).update(held)


class Compared(Node):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Failure(Exception):
    pass


class Items(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise AssertionError


def parts_of(*values: Any, modules: frozenset[str] = frozenset([__name__])) -> list[Any]:
    return ToldStates(Shown(False)).parts_of([*values], [dict(vars(each)) for each in values], modules)


def test_objects_within_are_told_with_what_they_hold_each_once():
    last = Node(v=1, of=[date(2024, 1, 1), Decimal(1), Path("a")])
    last.next = last
    inner = Node(next=last, of={"a": (last, [2])})
    one = Compared(head=inner, again=Items([deque([inner])]))
    one.itself = one
    assert parts_of(one) == [inner, vars(inner), last, vars(last)]
    assert parts_of(one, modules=frozenset(["another"])) == []
    assert parts_of(Node(head=inner)) == []  # it is equal to itself alone


@pytest.mark.parametrize(
    "held",
    [
        "a" * 2_000, [0] * 2_000, 1 << 10_000, b"a" * 2_000, ["a" * 600, "b" * 600], bytearray(2_000), Failure(),
        memoryview(b"a"), array("b", b"a" * 2_000), numpy.zeros(200), numpy.zeros(3)[1:], numpy.array([Failure()]),
        numpy.zeros(2, "M8[s]"), object(),
    ],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
def test_objects_that_hold_much_or_what_may_be_much_are_not_told(held: object):
    assert parts_of(Compared(x=Node(v=held))) == []


@pytest.mark.parametrize(
    "held",
    [
        Node,
        print,
        range(3),
        slice(1),
        re.compile("a"),
        bytearray(b"a"),
        array("b", b"a"),
        numpy.zeros(3),
        date(1, 2, 3),
    ],
    ids=lambda each: type(each).__name__,
)
def test_objects_that_hold_little_are_told(held: object):
    inner = Node(v=held)
    assert parts_of(Compared(x=inner)) == [inner, vars(inner)]


@pytest.mark.parametrize("make", [UserDict, UserList, lambda items: SimpleNamespace(a=items)])
def test_what_equals_what_it_gives_is_told_as_objects_of_the_program_s(make: Any):
    inner = Node(v=1)
    held = make({1: inner} if make is UserDict else [inner])
    found = parts_of(Compared(x=held))
    assert found[0] is held
    assert found[2:] == [inner, vars(inner)]


def test_errors_and_values_with_a_class_of_the_program_s_are_no_such_objects():
    assert parts_of(Compared(x=Items([1]), y=Failure(), z=Node, w=1)) == []


def test_so_much_is_looked_at_and_told():
    many = [Node(v=at) for at in range(5_000)]
    assert parts_of(Compared(x=many)) == []
    told = ToldStates(Shown(False))
    one = Compared(x=many[:3_000])
    lengths = [len(told.parts_of([one], [vars(one)], frozenset([__name__]))) for _ in range(4)]
    assert lengths == [6_000, 6_000, 2 * (8_192 - 6_000), 0]
    told, large = ToldStates(Shown(False)), Compared(x=[Node(v="a" * 2_000) for _ in range(3_000)])
    for _ in range(3):  # which are not told, and looked at
        assert told.parts_of([large], [vars(large)], frozenset([__name__])) == []
    assert told.parts_of([one], [vars(one)], frozenset([__name__])) == []
