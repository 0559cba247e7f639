"""What a script took for different, and the program is asked about when the script is through."""

from __future__ import annotations

import re
from collections import deque
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest
from cruxcell.jobs.separated.proxies import facts
from cruxcell.jobs.separated.proxies.doubts import Doubts, _may_cross_alone, has_nothing_to_say, is_bare
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from equal_objects import Candidate, connected, of_a_class  # noqa: F401 - a fixture among them


def clear_up(other: Candidate) -> None:
    other.refused = bool(other.doubts.clear_up(other)) or other.refused


def test_what_was_taken_for_different_is_asked_about_when_the_script_is_through(other: Candidate):
    cls = of_a_class(other)
    one, foreign = other.thing(cls, 5, {"x": 1}), other.thing(of_a_class(other), 6, {"x": 1})
    other.equal = False
    bare = [object()]
    assert all(one != each for each in (8, foreign, "x" * 5000, [len], bare, [8] * 99 + bare))
    assert [one] != [None]
    assert other.asked == []
    clear_up(other)
    pairs = [(one, 8), (one, foreign), (foreign, one), (one, bare), (one, None)]  # Python asks either operand
    assert other.asked == [("special", each, "__eq__", another) for each, another in pairs]
    assert not other.refused
    other.asked[:] = []
    clear_up(other)  # once is enough
    assert other.asked == []


@pytest.mark.parametrize(
    ("value", "is_asked"),
    [(date(2024, 1, 2), True), (Decimal(1), True), (deque([1]), True),
     (deque([len]), False), (Path("a"), False), ([[8], (None, {object()})], True),
     ({1: "a", "b": object()}, True), ({1: len}, False), ({len: 1}, False), ([int], True), ([Doubts], False),
     ([object()] * 63, True), ([object()] * 64, False), ([8] * 99, True), ([8] * 9999, False)],
    ids=map(str, range(30)),
)  # fmt: skip
def test_what_it_is_asked_about_leaves_it_to_other_classes_what_equals_it(
    other: Candidate, value: object, is_asked: bool
):
    one = other.thing(of_a_class(other), 5, {"x": 1})
    other.equal = False
    assert one != value
    clear_up(other)
    assert other.asked == ([("special", one, "__eq__", value)] if is_asked else [])


def test_a_class_is_asked_about_other_classes(other: Candidate):
    one, another = of_a_class(other), of_a_class(other)
    other.doubts.are_different(one, another, SimpleNamespace(f_globals={}))
    other.doubts.clear_up(other)
    assert other.asked == [("special", one, "__eq__", another)]


@pytest.mark.parametrize("number", [0, 63, 64])
def test_so_many_comparisons_are_asked_about(other: Candidate, number: int):
    one = other.thing(of_a_class(other), 5, {"x": 1})
    other.equal = False
    assert all(one != each for each in range(number))
    other.equal = True
    assert one != number
    other.ask = lambda _operation, *fields: fields[2] == number  # type: ignore[method-assign]
    clear_up(other)
    assert other.refused is (number < 64)


def test_who_cannot_compare_has_not_said_that_they_are_different(other: Candidate, monkeypatch: pytest.MonkeyPatch):
    assert other.thing(of_a_class(other), 5, {"x": 1}) != 8
    monkeypatch.delattr(Candidate, "ask")
    clear_up(other)
    assert other.refused


def test_nor_has_one_whose_answer_is_neither_true_nor_false(other: Candidate):
    assert other.thing(of_a_class(other), 5, {"x": 1}) != 8
    other.equal = numpy.array([False, False])
    clear_up(other)
    assert other.refused


@pytest.mark.parametrize(
    ("one", "another", "is_made"),
    [({"x": 1}, {"x": 2}, False), ({"x": 1}, {"x": 1}, False), (8, {"x": 1}, False), ({"x": 1}, 8, False),
     ({"x": 1}, {"x": 1}, True), (8, 8, True)],
)  # fmt: skip
@pytest.mark.parametrize("says", [True, False])
def test_what_a_class_alone_says_is_equal_is_doubtful(
    other: Candidate, one: object, another: object, is_made: bool, says: bool
):
    cls = of_a_class(other)
    first = other.thing(cls, 5, one)
    second = cls(3) if is_made else other.thing(cls, 6, another)
    other.states[facts.number_of(second)] = another
    other.equal = says
    assert first != second
    clear_up(other)
    assert other.refused is says


def test_of_several_that_are_doubtful_the_first_of_each_test_is_named():
    tests = ["a", "a", "b"]
    doubts = Doubts(lambda: tests.pop(0))
    doubts.says_equal(None, SimpleNamespace(f_globals={"__name__": "cruxcell.values.x"}))
    for one in (5, "text", None):
        doubts.says_equal(one, SimpleNamespace(f_globals={}))
    whys = doubts.clear_up(SimpleNamespace())
    assert [(test, why.partition("class ")[2].partition(" ")[0]) for test, why in whys.items()] == [
        ("a", "int"),
        ("b", "NoneType"),
    ]
    assert doubts.clear_up(SimpleNamespace()) == {}


def test_each_test_of_a_suite_has_room_for_as_many(other: Candidate):
    one, tests = other.thing(of_a_class(other), 5, {"x": 1}), [""]
    other.doubts = Doubts(lambda: tests[0])
    other.equal = False
    for tests[0] in "abcdefghijklmnopqrst":
        assert all(one != each for each in range(100))
    whys = other.doubts.clear_up(other)
    assert (len(other.asked), whys) == (1024, {})


def test_what_the_harness_compares_is_nothing_to_the_script(other: Candidate):
    one, two = [other.thing(of_a_class(other), number, {"x": 1}) for number in (5, 6)]
    names = {"__name__": "cruxcell.values.x", "one": one, "two": two}
    exec("found = (one != 8, one == two)", names)
    assert names["found"] == (True, False)
    clear_up(other)
    assert not other.refused


@pytest.mark.parametrize("offers", ["__eq__", "__eq__ __ne__"])
@pytest.mark.parametrize("differs", [True, False])
def test_whether_two_results_differ_their_class_is_asked_at_once(other: Candidate, offers: str, differs: bool):
    cls = of_a_class(other, offers)
    other.known = ()  # the script has no name for it
    one, two = [other.thing(cls, number, {"x": 1}) for number in (5, 6)]
    other.equal = differs
    assert (one == two, two in [one, two], other.asked) == (False, True, [])
    assert one != two
    assert other.asked == [("special", one, "__ne__", two)]
    clear_up(other)
    assert other.refused is not differs


def test_nor_is_it_asked_by_the_harness_or_of_what_is_another_s(other: Candidate):
    cls = of_a_class(other)
    other.known = ()
    one, two = [other.thing(cls, number, {"x": 1}) for number in (5, 6)]
    names = {"__name__": "cruxcell.values.x", "one": one, "two": two}
    exec("found = one != two", names)
    assert names["found"]
    assert one != other.thing(of_a_class(other), 7, {"x": 1})
    assert other.asked == []
    other.equal = True
    assert (one != one) is False


OF_THE_SCRIPT = {"__module__": "__main__"}
SAYS = {"__eq__": lambda _one, _other: True}


@pytest.mark.parametrize(
    ("kind", "is_so"),
    [
        (object, True),
        (type("Own", (), OF_THE_SCRIPT), True),
        (type("Own", (type("Base", (), OF_THE_SCRIPT),), OF_THE_SCRIPT), True),
        (type("Own", (), {**OF_THE_SCRIPT, **SAYS}), False),
        (type("Own", (type("Base", (), {**OF_THE_SCRIPT, **SAYS}),), OF_THE_SCRIPT), False),
        (type("Own", (), {"__module__": "elsewhere"}), False),
        (type("Own", (type("Base", (), {"__module__": "elsewhere"}),), OF_THE_SCRIPT), False),
        (type("Meta", (type,), {})("Own", (), OF_THE_SCRIPT), False),
    ],
)
def test_a_class_of_the_script_s_that_says_nothing_of_equality_is_bare(kind: type, is_so: bool):
    assert (is_bare(kind()), has_nothing_to_say(kind())) == (is_so, is_so)


@pytest.mark.parametrize(
    ("value", "has_nothing"),
    [
        (date(2024, 1, 2), True), (deque([1]), True), (deque([len]), False), (8, False), (re.ASCII, False),
        (type("date", (), {"__module__": "datetime"})(), False),
    ],
)  # fmt: skip
def test_values_of_the_library_have_nothing_to_say(value: object, has_nothing: bool):
    assert has_nothing_to_say(value) is has_nothing


def test_what_the_other_half_knows_may_be_compared_there(other: Candidate):
    cls = of_a_class(other)
    known = [cls, int, other.thing(cls, 5, None), object(), 8]
    assert [_may_cross_alone(each) for each in (*known, Doubts, Doubts(), len)] == [True] * 5 + [False] * 3
    value = list.__new__(make_class("A", 7, (list,), [], [], None))
    assert _may_cross_alone(value)
