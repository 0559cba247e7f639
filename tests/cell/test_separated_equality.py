"""When two objects of a class of the program's are equal to a test."""

from __future__ import annotations

import re
import threading
from collections import Counter, deque
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address, ip_network
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy
import pandas
import pytest
from cruxcell.jobs.separated.proxies import equality, facts, notes, placing
from cruxcell.jobs.separated.proxies.equality import hold_the_same
from cruxcell.jobs.separated.proxies.notes import Notes
from cruxcell.jobs.separated.proxies.readings import all_shown
from equal_objects import Candidate, connected, of_a_class  # noqa: F401 - a fixture among them

SOME = object()


def ring(*values: object) -> list[object]:
    """A list, and a dict in it, that hold the list."""
    made: list[object] = [*values]
    made += [made, {"itself": made}, {values[0]: 1}]
    return made


@pytest.mark.parametrize(
    ("says", "one", "another", "given", "are_equal"),
    [
        (True, {"a": [1]}, {"a": [1]}, (1,), True),
        (True, {"a": {"b": (1.0, "c")}}, {"a": {"b": (1.0, "c")}}, ([1], {"b": "c"}), True),
        (True, {"a": [1]}, {"a": [1]}, (), True),
        (True, {"a": [1]}, {"a": [1]}, (1, 2), False),
        (True, {"a": [1]}, {"a": [2]}, (1,), False),
        (False, {"a": [1]}, {"a": [1]}, (1,), False),
        (True, {}, {}, (), True),
        (True, {}, {}, (None,), False),
        (True, 8, 8, (), False),
        (True, {"a": date(2020, 1, 2)}, {"a": date(2020, 1, 2)}, (date(2020, 1, 2),), True),
        (True, {"a": Decimal(1)}, {"a": Decimal(1)}, (Decimal("1.0"),), True),
        (True, {"a": range(3)}, {"a": range(3)}, (range(3),), True),
        (True, {"a": range(3)}, {"a": range(3)}, (range(4),), False),
        (True, {"a": Counter([1, 2])}, {"a": Counter([1, 2])}, ([2, 1],), True),
        (True, {"a": deque("ab")}, {"a": deque("ab")}, ("b", ["a"]), True),
        (True, {"a": (1, 10)}, {"a": (1, 10)}, ("1.10",), True),
        (True, {"a": (1, 10)}, {"a": (1, 10)}, ("1.11",), False),
        (True, {"a": Decimal("3.00")}, {"a": Decimal("3.00")}, (3,), True),
        (True, {"a": Decimal("1.5")}, {"a": Decimal("1.5")}, (1.5, "1.50"), True),
        (True, {"a": Decimal("1.5")}, {"a": Decimal("1.5")}, (1.25,), False),
        (True, {"a": date(2020, 1, 2)}, {"a": date(2020, 1, 2)}, ("2020-01-02",), True),
        (True, {"a": date(2020, 1, 2)}, {"a": date(2020, 1, 2)}, ("2020-01-03",), False),
        (True, {"a": ["ann", "lee"]}, {"a": ["ann", "lee"]}, (" Ann Lee",), True),
        (True, {"a": (5, 3)}, {"a": (5, 3)}, ("-5,3",), False),
        (True, {"a": "x"}, {"a": "x"}, ("!",), False),
        (True, {"a": "x"}, {"a": "x"}, ("",), False),
        (True, {"a": "nan"}, {"a": "nan"}, (float("nan"),), False),
        (True, {"a": 2}, {"a": 2}, (True,), False),
        (True, {"a": "x" * 300}, {"a": "x" * 300}, ("x " * 150,), False),
        (True, {"a": SOME}, {"a": SOME}, (SOME,), True),
        (True, {"a": SOME}, {"a": SOME}, (object(),), False),
        (True, {"a": [SOME, 1]}, {"a": [SOME, 1]}, (numpy.array([[SOME, 1]], dtype=object),), True),
        (True, {"a": SOME}, {"a": SOME}, (numpy.array([object()], dtype=object),), False),
        (True, {"a": bytearray(b"1")}, {"a": bytearray(b"1")}, (bytearray(b"1"),), True),
        (True, {"a": ring(1)}, {"a": ring(1)}, (1,), True),
        (True, {"a": ring(1)}, {"a": ring(2)}, (1,), False),
        (True, {"a": ring(1, 2)}, {"a": ring(1)}, (1,), False),
        (True, {"a": ring("x")}, {"a": [*ring("x")[:-1], {"y": 1}]}, ("x",), False),
        (True, {"a": ring("x")}, {"a": [*ring("x")[:-1], "x"]}, ("x",), False),
    ],
)
def test_two_objects_of_a_class_that_the_script_knows_may_hold_the_same(
    other: Candidate, says: bool, one: object, another: object, given: tuple[object, ...], are_equal: bool
):
    cls = of_a_class(other)
    first, second = other.thing(cls, 5, one), cls(*given)
    other.states[facts.number_of(second)], other.equal = another, says
    for left, right in [(first, second), (second, first)]:
        other.notes.outlast(other, "get", [None, "x"], 0)
        other.asked[:], other.compared_by_identity = [], False
        assert (left == right) is are_equal
        # What they hold is asked for before the class is: its `__eq__` may make them the same.
        assert other.asked == [("states", None, left, right), ("special", left, "__eq__", right)]
        assert other.compared_by_identity is (says and not are_equal)
    assert bool(other.doubts.clear_up(other)) is (says and not are_equal)


def test_objects_too_deep_within_each_other_end_the_check_and_are_not_compared_again_and_again(
    other: Candidate, monkeypatch: pytest.MonkeyPatch
):
    cls = of_a_class(other)
    first, second = [other.thing(cls, start, {"x": 1}) for start in (1000, 2000)]
    for number in range(1, 400):
        first = other.thing(cls, 1000 + number, {"x": first})
        second = other.thing(cls, 2000 + number, {"x": second})
    refused: list[str] = []

    def refuse(why: str) -> None:
        refused.append(why)
        raise SystemExit

    monkeypatch.setattr(other, "refuse", refuse)
    with pytest.raises(SystemExit):
        assert first == second
    assert len(refused) == 1
    assert "too deep" in refused[0]
    assert len(other.asked) < 500


@pytest.mark.parametrize(
    ("values", "held", "are"),
    [
        (["1.10"], [1, 10], True),
        (["1.10"], [1, 10, "b"], True),
        (["1.10"], [1, 11], False),
        ([Decimal("3.0"), "b"], [3, "B"], True),
        ([Decimal("3.0"), "b"], [3], False),
        ([object()], [1], False),
        ([], [], True),
        (["1" * 200], [int("1" * 200)], True),
        (["1" * 201], [int("1" * 201)], False),  # which none looks through
        ([2, 1.5, Decimal("0.1")], [Fraction(2), Fraction(3, 2), Fraction(1, 10)], True),
        ([Fraction(3, 2)], [3, 2], True),
        (["3/2", Fraction(5)], [Fraction(3, 2), 5], True),
        ([2], [Fraction(2, 3)], True),  # its numerator
        ([4], [Fraction(2, 3)], False),
        ([1, -2.5], [complex(1, -2.5)], True),
        ([complex(1, float("nan"))], [1], False),
        ([90], [timedelta(seconds=90)], True),
        ([date(2024, 5, 6)], [2024, 5, 6], True),
        ([date(2024, 5, 6)], [2024, 5], False),
        (["a/b c"], [Path("a/b c")], True),
        (["a/b c"], [Path("a/b")], False),
        ([Path("a")], [Path("a")], True),
        ([Path("/a")], ["/a"], True),
        ([r"\d+"], [re.compile(r"\d+")], True),
        ([r"\d+"], [re.compile(r"\d")], False),
        (["00000000-0000-0000-0000-000000000005"], [UUID(int=5)], True),
        (["::1", "10.0.0.0/8"], [ip_address("::1"), ip_network("10.0.0.0/8")], True),
        (["10.0.0.1"], [ip_address("10.0.0.2")], False),
        (["2024-05-06"], [pandas.Timestamp("2024-05-06")], True),
        (["2024-05-06"], [pandas.Timestamp("2024-05-07")], False),
        (["/a" * 150], [Path("/a" * 150)], False),  # which none looks through
    ],
)
def test_a_value_is_shown_by_no_more_than_what_it_is_in_another_form(values: list[Any], held: list[Any], are: bool):
    assert all_shown(values, held) is are


def test_objects_of_a_set_that_only_their_class_says_are_equal_are_not_unequal(other: Candidate):
    cls = of_a_class(other)
    first, second, made = other.thing(cls, 5, {"x": 1}), other.thing(cls, 6, {"x": 1}), cls(1)
    other.hashed = 6
    assert (made == second, other.refused) == (True, False)
    assert (first == second, other.refused) == (False, True)


def test_objects_that_a_script_has_not_made_or_whose_class_it_does_not_know_are_the_same_by_identity(other: Candidate):
    cls = of_a_class(other)
    first, second, made = other.thing(cls, 5, {"x": 1}), other.thing(cls, 6, {"x": 1}), cls(1)
    assert (first == second, first == made, first == first) == (False, True, True)
    other.known, other.asked[:] = (), []
    assert (first == made, first == 8, other.asked) == (False, False, [])


def test_what_an_object_held_before_the_expected_one_was_made_counts(other: Candidate):
    cls = of_a_class(other)
    result = other.thing(cls, 5, {"x": 0})
    expected = cls(2)
    other.states[5] = {"x": 2}  # the class has changed it: now it knows
    assert result != expected
    assert [each[0] for each in other.asked] == ["states", "states", "special"]
    other.notes.outlast(
        other, "get", [None, "x"], 0
    )  # the candidate was asked for something, which may have changed it
    assert result == expected


@pytest.mark.parametrize(
    ("offers", "held", "later", "given", "is_another"),
    [
        ("__eq__", {"x": 2}, {"x": 2}, (2,), False),
        ("__eq__", {"x": 2}, {"x": 3}, (2,), True),
        ("__eq__", {"x": 0}, {"x": 0}, (2,), True),
        ("__eq__", {"x": 0}, {"x": 2}, (2,), True),
        ("__eq__", {"x": 0}, {"x": 0}, (), False),
        ("__eq__", {"x": 0}, {"x": 2}, (), True),
        ("", {"x": [2]}, {"x": 3}, (2,), False),
        ("", {"x": 0}, {"x": 2}, (2,), True),
        ("", {}, {}, (2,), True),
        ("", {"x": 0}, {"x": 2}, (), False),
        ("__eq__", {"x": 0}, {"x": 0}, (None,), True),
    ],
)
def test_an_object_that_a_class_gives_out_again_is_as_it_was_and_shows_what_it_is_made_of(
    other: Candidate, offers: str, held: object, later: object, given: tuple[object, ...], is_another: bool
):
    cls = of_a_class(other, offers)
    other.gives, other.becomes = other.thing(cls, 50, held), {50: later}
    assert cls(*given) is other.gives
    other.gives = 8
    assert cls(2) == 8
    assert other.changed == [is_another, False]


def test_what_a_class_changes_in_what_it_is_given_is_not_what_its_object_is_made_of(other: Candidate):
    cls = of_a_class(other)
    result = other.thing(cls, 5, {"x": []})
    other.clears = True
    assert result != cls([2])


@pytest.mark.parametrize("offers", ["__eq__", ""])
def test_nor_is_it_where_an_object_is_given_out_again(other: Candidate, offers: str):
    cls = of_a_class(other, offers)
    other.gives, other.clears = other.thing(cls, 50, {"x": 0}), True
    cls([2])
    assert other.changed == [True]


def test_what_a_class_gives_out_is_another_only_if_it_was_there_and_may_have_become_it(
    other: Candidate, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(notes, "_MOST_NOTED", 1)
    other.notes = Notes()
    cls = of_a_class(other)
    noted, began = other.thing(cls, 5, {"x": 0}), facts.now()
    other.notes.take(other, 0)
    unknown = other.thing(cls, 6, {"x": 0})
    made = facts.marked(other.thing(cls, 7, {"x": 0}), facts.MADE, cls, began, None)
    later = facts.now()

    def is_another(value: object, *given: object, since: int = later) -> bool:
        return other.notes.is_another(other, value, equality.shown_by(given), since)

    assert [is_another(unknown, each) for each in (0, None)] == [True, True]
    assert not is_another(unknown, 0, since=began)
    assert (is_another(unknown), is_another(made, 3), is_another(noted, 0), is_another(noted, 3)) == (
        False, False, False, True
    )  # fmt: skip


@pytest.mark.parametrize(
    ("others", "held", "counts"),
    [([2], {"x": 2}, True), ([2], {"x": 3}, False), ([2], {}, False), (None, {"x": 2}, False)],
)
def test_two_results_of_operators_are_equal_where_their_operands_show_what_they_are_made_of(
    other: Candidate, others: list[int] | None, held: dict[str, int], counts: bool
):
    """Of one that a function gave nothing is known, and an operand without an equality shows nothing."""
    cls = of_a_class(other, "__eq__ __add__")
    of = of_a_class(other, "__add__" if others is None else "__eq__")
    result, given = [other.thing(cls, number, {"sum": 5}) for number in (5, 6)], []
    for number in (7, 8):
        operand = other.thing(of, number, held)
        given.append(facts.marked(operand, facts.MADE, of, -1, (others, set(others or [2]))))
    for each in result:
        facts.marked(each, facts.DERIVED, cls, -1, (facts.OF_MADE, *given))

    def count(state: dict[str, int], *pair: object) -> bool:
        return equality._count(other, state, lambda: [[*state.values()]] * 2, *pair)

    assert count({"sum": 5}, *result) is counts
    assert not count({}, *result)
    lone = other.thing(cls, 9, {"sum": 5})
    for pair in [(result[0], lone), (lone, result[1])]:
        assert not count({"sum": 5}, *pair)


@pytest.mark.parametrize("garbled", [8, [], [{"x": 2}] * 3, ({"x": 2}, {"x": 2})])
def test_who_does_not_say_what_objects_hold_has_none_that_are_equal(other: Candidate, garbled: object):
    cls = of_a_class(other)
    result, expected = other.thing(cls, 5, {"x": 2}), cls(2)
    other.notes.outlast(other, "get", [None, "x"], 0)
    other.garbled = garbled
    assert not hold_the_same(other, result, expected)


def test_a_set_that_the_program_gives_holds_no_two_equal_objects(monkeypatch: pytest.MonkeyPatch):
    gone: list[str] = []
    monkeypatch.setattr(placing, "LINK", [SimpleNamespace(gone=gone.append)])
    same, other = [Always(), Always()], [object(), object()]
    cases: list[tuple[list[Any], bool]] = [(other, False), (same, True), ([(1, each) for each in same], True)]
    for values, is_gone in cases:
        gone.clear()
        placing._look_for_equals(values)
        assert bool(gone) is is_gone
        assert placing.LINK[0].hashed == 0


def test_those_are_looked_at_that_have_one_hash_by_what_was_told(other: Candidate):
    """It is not asked for again: another may be told."""
    cls = of_a_class(other, "__eq__ __hash__")
    one, two, three = [other.thing(cls, number, {}) for number in (5, 6, 7)]
    place = placing.Placing()
    place._hashes = {id(one): 4, id(two): 4, id(three): 9}
    for held in ([one, two, three, 4], [(one, 1), (two, 1), (three, 1)]):
        for kind in (set, dict.fromkeys):
            holder: Any = place.during(kind, held)
            found = place.during(placing._of_one_hash, holder)
            assert [len(some) for some in found] == [3 if held[-1] == 4 else 2]
    assert [each[0] for each in other.asked] == []


def test_two_that_only_their_class_says_are_equal_are_so_where_sets_are_read(other: Candidate):
    cls = of_a_class(other)
    first, second = [other.thing(cls, number, {"x": 1}) for number in (5, 6)]
    other.hashed = placing.ALL
    assert (first == second, other.refused) == (False, True)


def test_while_one_thread_reads_a_message_others_may_ask():
    heard: list[bool] = []

    def look() -> None:
        thread = threading.Thread(target=lambda: heard.append(placing.is_reading()))
        thread.start()
        thread.join()
        heard.append(placing.is_reading())

    placing.Placing().during(look)
    look()
    assert heard == [False, True, False, False]


class Always:
    def __eq__(self, _other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("held", "value", "may"),
    [([], 5, False), ([[1]], 5, True), ([[1]], None, False), ([[1]], KeyError(), False)],
)
def test_what_the_program_changes_may_become_a_plain_value_that_was_made(held: list[Any], value: object, may: bool):
    entries = {number: [each] for number, each in enumerate(held)}
    containers = SimpleNamespace(held=lambda *_: list(entries), entries=entries)
    objects = SimpleNamespace(held=SimpleNamespace(present=lambda **_: []))
    link = SimpleNamespace(containers=containers, objects=objects)
    assert equality.hold_what_was_made(link, list(entries.items()), [], value, 0) is may


@pytest.mark.parametrize(
    ("offers", "is_new", "may"), [("__eq__", True, True), ("__eq__", False, False), ("", True, False)]
)
def test_what_the_program_changes_may_become_an_object_that_came_meanwhile(
    other: Candidate, offers: str, is_new: bool, may: bool
):
    began = facts.now()
    held = other.thing(of_a_class(other, offers), 5, {})
    link = SimpleNamespace(
        containers=SimpleNamespace(held=lambda numbers, _apart: numbers, entries={0: [[held]]}),
        objects=SimpleNamespace(held=SimpleNamespace(present=lambda **_: [])),
    )
    began = began if is_new else facts.now()
    assert equality.hold_what_was_made(link, list(link.containers.entries.items()), [], None, began) is may


@pytest.mark.parametrize("again", [{}, {0: [[]]}])
def test_so_may_what_it_has_let_go_where_the_script_has_it(other: Candidate, again: dict[int, list[Any]]):
    """`again`: another container that has the number since."""
    began = facts.now()
    entry = [[other.thing(of_a_class(other, "__eq__"), 5, {})]]
    link = SimpleNamespace(
        containers=SimpleNamespace(held=lambda numbers, _apart: numbers, entries=again),
        objects=SimpleNamespace(held=SimpleNamespace(present=lambda **_: [])),
    )
    assert not equality.hold_what_was_made(link, [(0, entry), (0, entry)], [], None, began)
    kept = entry[0]
    assert equality.hold_what_was_made(link, [(0, entry), *again.items()], [], None, began)
    assert kept
