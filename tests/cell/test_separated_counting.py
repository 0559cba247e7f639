"""Counters of a class of the program's, which the test's half compares and reckons with by what they hold."""

from __future__ import annotations

import operator
import sys
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import counting, facts
from other_half import Other, connected, own_dict

COMPARISONS = ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]
OPERATORS = ["add", "sub", "and", "or"]
COPIES = ["copy", "__copy__", "__or__", "__ror__"]


def counter_of(other: Other, items: dict[str, int], *, base: type = Counter, own: str = "") -> Any:
    """A counter of a class of the other half's, which overrides these methods."""
    found = dict.__new__(other.cls(base, overrides=own))
    facts.give_number(found, 7)
    dict.update(found, items)
    return found


@pytest.fixture(name="other")
def test_s_half() -> Iterator[Other]:
    """In a process whose counters are as they were afterwards."""
    before = dict(vars(Counter))
    yield connected(Other())
    for name, value in before.items():
        if vars(Counter)[name] is not value:
            setattr(Counter, name, value)


def test_only_classes_of_counters_have_them_and_only_in_the_test_s_half(other: Other):
    names = {*COMPARISONS, *(f"__{kind}{each}__" for each in OPERATORS for kind in ("", "r"))}
    found = counting.operators(Counter)
    assert set(found) == {each for each in {*names, *COPIES} if hasattr(Counter, each) or each[3:-2] in OPERATORS}
    assert set(counting.operators(OrderedDict)) == {each for each in COPIES if each in vars(OrderedDict)}
    assert [counting.operators(each) for each in (dict, type("Mine", (Counter,), {}))] == [{}, {}]
    other.is_test = False
    assert [counting.operators(each) for each in (Counter, OrderedDict)] == [{}, {}]


def test_where_nobody_has_imported_collections_there_are_none(other: Other, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "collections")
    assert counting.operators(Counter) == {}
    ours = counter_of(other, {"a": 2})
    assert counting.plain_of(ours) is ours


def test_what_it_holds_is_a_counter_of_the_library_s(other: Other):
    plain = counting.plain_of(counter_of(other, {"b": 2, "a": 0, "c": -1}))
    assert (type(plain), list(plain.items())) == (Counter, [("b", 2), ("a", 0), ("c", -1)])
    ordinary = counter_of(other, {"a": 1}, base=dict)
    own = type("Own", (Counter,), {})("aab")
    for value in (ordinary, own, Counter("a"), {"a": 1}, 5, "a", Counter):
        assert counting.plain_of(value) is value
    assert other.asked == []


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("expected", [{"a": 2}, {"a": 2, "b": 0}, {"a": 1}, {"a": 2, "b": 1}, {"b": 1}, {}])
def test_it_compares_as_what_it_holds(other: Other, name: str, expected: dict[str, int]):
    def said(value: object, against: object) -> object:
        """As the operator: a class that is derived from the other's is asked first. There is no order before 3.10."""
        try:
            return getattr(operator, name)(value, against)
        except TypeError:
            return None

    ours = counter_of(other, {"a": 2}, own="__getitem__ __missing__ __len__ __iter__")
    for given in (Counter(expected), counter_of(other, expected)):
        assert said(ours, given) == said(Counter({"a": 2}), Counter(expected))
        assert said(given, ours) == said(Counter(expected), Counter({"a": 2}))
    assert other.asked == []


def test_a_plain_dict_is_compared_as_the_library_s_counter_would_be(other: Other):
    ours = counter_of(other, {"a": 2, "b": 0})
    assert (ours == {"a": 2, "b": 0}, ours == {"a": 2}, ours != {"a": 2}) == (True, False, True)
    assert (ours == 5, ours == [("a", 2)], ours != None) == (False, False, True)  # noqa: E711


@pytest.mark.parametrize("name", OPERATORS)
def test_it_reckons_as_what_it_holds(other: Other, name: str):
    first, second = {"a": 2, "b": 1, "c": -1}, {"a": 1, "b": 3, "d": 2}
    expected = getattr(Counter(first), f"__{name}__")(Counter(second))
    ours, theirs = counter_of(other, first), counter_of(other, second)
    for found in (
        getattr(ours, f"__{name}__")(Counter(second)),
        getattr(ours, f"__{name}__")(theirs),
        getattr(theirs, f"__r{name}__")(Counter(first)),
    ):
        assert (type(found), dict(found), list(found)) == (Counter, dict(expected), list(expected))
    assert getattr(theirs, f"__r{name}__")(first) is NotImplemented  # a dict has no such operator, or another one
    assert getattr(theirs, f"__r{name}__")(type("Own", (Counter,), {})(first)) is NotImplemented
    assert other.asked == []


def test_a_comparison_from_here_is_told_from_any_other(other: Other):
    found = counting.operators(Counter)
    assert [counting.is_ours(found[each]) for each in COMPARISONS if each in found] == [True] * 6

    def method(self: object, other: object) -> bool:
        return self is other

    for each in (method, Counter.__eq__, dict.__eq__, None, found["__radd__"]):
        assert not counting.is_ours(each)
    assert counting.is_ours(own_dict(other.cls(Counter))["__eq__"])


@pytest.mark.parametrize("name", COMPARISONS)
def test_counters_of_the_script_s_own_classes_compare_with_it_by_what_it_holds(other: Other, name: str):
    own = type("Own", (Counter,), {})
    ours = counter_of(other, {"a": 2, "b": 0}, own="__getitem__ __missing__ __len__ __iter__ keys")
    for holds in ({"a": 2}, {"a": 1}, {"b": 1}):
        assert getattr(operator, name)(own(holds), ours) is getattr(operator, name)(Counter(holds), Counter(a=2))
    assert other.asked == []


def test_counters_are_wrapped_once(other: Other):
    counting.operators(Counter)
    wrapped = {name: vars(Counter).get(name) for name in COMPARISONS}
    counting.operators(Counter)
    assert {name: vars(Counter).get(name) for name in COMPARISONS} == wrapped
    assert [vars(Counter)[name].__name__ for name in COMPARISONS if name in vars(Counter)] == [
        name for name in COMPARISONS if name in vars(Counter)
    ]


@pytest.mark.parametrize("base", [Counter, OrderedDict])
@pytest.mark.parametrize("standing", [facts.MADE, facts.HANDED_OVER])
def test_a_copy_is_the_test_s_as_far_as_what_is_copied_is(other: Other, base: type, standing: int):
    ours = counter_of(other, {"a": 2}, base=base)
    vars(ours)["_remote_standing"] = standing
    given: list[Any] = []

    def give() -> Any:
        given.append(dict.__new__(type(ours)))
        facts.give_number(given[-1], 9)
        return given[-1]

    other.calls = give
    assert type(ours).copy(ours) is given[0]
    assert facts.standing_of(given[0]) == standing
