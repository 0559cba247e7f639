"""What stands at the same place in two containers that hold objects of the program's."""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict, deque
from decimal import Decimal
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import facts
from cruxcell.jobs.separated.proxies.matching import Forms, base_of_items, pairs_at
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from equal_objects import Candidate, connected  # noqa: F401 - a fixture among them


class Told:
    """Objects of a class of the candidate's, and what is known of what they hold."""

    def __init__(self, other: Candidate) -> None:
        self._other, self._cls, self._states = other, make_class("Node", 8, (), [], [], None), {}  # type: ignore[var-annotated]

    def node(self, state: object) -> Any:
        made = self._other.part(self._cls, 60 + len(self._states))
        self._states[facts.number_of(made)] = state
        return made

    def of(self, value: Any) -> Any:
        return self._states[facts.number_of(value)]


@pytest.fixture
def told(other: Candidate) -> Told:
    return Told(other)


def pairs(told: Told, one: object, other: object) -> Any:
    base = base_of_items(one)
    assert base is base_of_items(other)
    return pairs_at(base, one, other, Forms(told.of))


def test_items_of_sets_stand_at_one_place_if_they_hold_the_same(told: Told):
    ones, others = ([told.node({"v": each}) for each in some] for some in ([1, 2, 3], [3, 1, 2]))
    found = pairs(told, {*ones}, {*others})
    assert {(told.of(one)["v"], told.of(other)["v"]) for one, other in found} == {(1, 1), (2, 2), (3, 3)}
    assert pairs(told, {*ones[:2]}, {*others}) is None
    assert pairs(told, {*ones}, {*others[:2], told.node({"v": 4})}) is None
    assert pairs(told, {ones[0], told.node({"v": 1})}, {ones[0], told.node({"v": 3})}) is None


@pytest.mark.parametrize(
    ("held", "its"),
    [
        ({"x": 1, "y": 2}, {"y": 1, "x": 2}),
        ({"x": [1, 2]}, {"x": [2, 1]}),
        ({"x": (1,)}, {"x": [1]}),
        ({"x": {1}}, {"x": frozenset([1])}),
        ({"x": OrderedDict(a=1, b=2)}, {"x": OrderedDict(b=2, a=1)}),
        ({"x": deque([1])}, {"x": [1]}),
        ({"x": array("i", [1, 2])}, {"x": array("i", [2, 1])}),
        ({"x": "1"}, {"x": 1}),
        ({"x": None}, {}),
        (None, None),
    ],
)
def test_what_holds_something_else_or_is_not_known_stands_elsewhere(told: Told, held: object, its: object):
    assert pairs(told, {(told.node(held), 1): 2}, {(told.node(its), 1): 2}) is None


@pytest.mark.parametrize(
    ("held", "its"),
    [
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}),
        ({"x": {1: {2, 3}}}, {"x": {1: {3, 2}}}),
        ({"x": True}, {"x": 1.0}),
        ({"x": Decimal("1.0")}, {"x": Decimal("1.00")}),
        ({"x": array("i", [1, 2])}, {"x": array("i", [1, 2])}),
    ],
)
def test_what_holds_the_same_in_another_order_stands_at_the_same_place(told: Told, held: object, its: object):
    left, right = told.node(held), told.node(its)
    assert pairs(told, {left: 2}, {right: 3}) == [(left, right), (2, 3)]


def test_of_keys_that_hold_the_same_those_are_matched_whose_values_do(told: Told):
    ones, others = ({told.node({}): value for value in some} for some in ([1, 2], [2, 1]))
    found = pairs(told, ones, others)
    assert sorted(each for each in found if type(each[0]) is int) == [(1, 1), (2, 2)]


def test_a_counter_need_not_say_what_it_has_none_of(told: Told):
    one, other, none = (told.node({"v": each}) for each in (1, 1, 2))
    assert pairs(told, Counter({one: 2, none: 0}), Counter({other: 2})) == [(one, other), (2, 2)]
    assert pairs(told, Counter(a=1, b=0), Counter(a=1)) == [("a", "a"), (1, 1)]
    assert pairs(told, {one: 2, none: 0}, {other: 2}) is None


def test_an_order_counts_where_the_class_says_so(told: Told):
    one, other = told.node({"v": 1}), told.node({"v": 1})
    assert pairs(told, OrderedDict({1: one}), OrderedDict({1: other})) == [((1, one), (1, other))]


def test_what_leads_back_to_itself_has_a_form_as_well(told: Told):
    ones, others = [told.node({"v": 1}), told.node({"v": 2})], [told.node({"v": 1}), told.node({"v": 2})]
    for some in (ones, others):
        told.of(some[0])["next"] = some[1]
        told.of(some[1])["next"] = some[0]
    assert pairs(told, {ones[0]: 1}, {others[0]: 1}) == [(ones[0], others[0]), (1, 1)]
