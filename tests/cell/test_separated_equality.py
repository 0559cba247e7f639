"""When two objects of a class of the program's are equal to a test: what is noted of them, and when that counts."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from cruxcell.jobs.separated import equality, placing, remote, runs
from cruxcell.jobs.separated.doubts import Doubts
from cruxcell.jobs.separated.equality import Notes, hold_the_same
from cruxcell.jobs.separated.proxy_classes import make_class
from cruxcell.jobs.separated.readings import all_shown

SOME = object()


class Candidate:
    """The other half: it says what objects hold, and that all are equal."""

    is_test = True

    def __init__(self) -> None:
        self.named: frozenset[str] = frozenset()
        self.notes = Notes()
        self.objects = self.held = self
        self.here: list[Any] = []
        self.values: list[Any] = []
        self.known: tuple[type, ...] = ()
        self.states: dict[int, Any] = {}
        self.asked: list[tuple[Any, ...]] = []
        self.equal = True
        self.compared_by_identity = False
        self.doubts = Doubts()
        self.hashed, self.refused = 0, False
        self.garbled: Any = None
        self.gives: Any = None
        self.becomes: dict[int, Any] = {}
        self.clears = False
        self.changed: list[bool] = []

    def present(self, with_values: bool = False) -> list[Any]:
        return self.here + self.values * with_values

    def means_a_class(self, cls: type) -> bool:
        return cls in self.known

    def refuse(self, _why: str) -> None:
        self.refused = True

    def alone_since(self, time: int) -> int:
        return time

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
        return [self.states[remote.number_of(each)] for each in fields[1:]] if self.garbled is None else self.garbled

    def thing(self, cls: Any, number: int, state: object) -> Any:
        made = object.__new__(cls)
        remote.give_number(made, number)
        self.states[number] = state
        self.here.append(made)
        return made


@pytest.fixture
def other() -> Iterator[Candidate]:
    before, runs.connection[:] = list(runs.connection), [Candidate()]
    yield runs.connection[0]
    runs.connection[:] = before


def of_a_class(other: Candidate, offers: str = "__eq__") -> Any:
    cls = make_class("P", 1 + len(other.known), (), offers.split(), [], None)
    other.known = (*other.known, cls)
    return cls


@pytest.mark.parametrize(
    ("says", "one", "another", "given", "are_equal"),
    [
        (True, {"a": [1]}, {"a": [1]}, (1,), True),
        (True, {"a": {"b": (1.0, "c")}}, {"a": {"b": (1.0, "c")}}, ([1], {"b": "c"}), True),
        (True, {"a": [1]}, {"a": [1]}, (), True),
        (True, {"a": [1]}, {"a": [1]}, (1, 2), False),
        (True, {"a": [1]}, {"a": [2]}, (1,), False),
        (False, {"a": [1]}, {"a": [1]}, (1,), False),
        (True, {}, {}, (), False),
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
    ],
)
def test_two_objects_of_a_class_that_the_script_knows_may_hold_the_same(
    other: Candidate, says: bool, one: object, another: object, given: tuple[object, ...], are_equal: bool
):
    cls = of_a_class(other)
    first, second = other.thing(cls, 5, one), cls(*given)
    other.states[remote.number_of(second)], other.equal = another, says
    for left, right in [(first, second), (second, first)]:
        other.notes.outlast(other, "get", [None, "x"], 0)
        other.asked[:], other.compared_by_identity = [], False
        assert (left == right) is are_equal
        # What they hold is asked for before the class is: its `__eq__` may make them the same.
        assert other.asked == [("states", None, left, right), ("special", left, "__eq__", right)]
        assert other.compared_by_identity is (says and not are_equal)


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


def test_what_is_noted_has_containers_of_its_own(other: Candidate):
    cls = of_a_class(other)
    shared: dict[str, Any] = {"x": [0, {1: set()}]}
    result = other.thing(cls, 5, shared)
    expected = cls(2)
    shared["x"] += [2]
    other.states[remote.number_of(expected)] = shared
    assert result != expected


@pytest.mark.parametrize(
    ("base", "held", "later"),
    [(list, [0], [2]), (dict, {1: 0}, {1: 2}), (set, {0}, {2}), (tuple, ([0],), ([2],)), (bytearray, b"0", b"2")],
)
def test_what_is_noted_has_plain_containers_for_those_of_a_class(other: Candidate, base: Any, held: Any, later: Any):
    cls, kind = of_a_class(other), make_class("L", 8, (base,), [], [], None)  # type: Any, Any
    items = kind.__new__(kind, held) if base is tuple else kind.__new__(kind)
    if base is not tuple:
        base.__init__(items, held)
    remote.give_number(items, 70)
    other.values.append(items)
    result = other.thing(cls, 5, {"x": items, "raw": [2]})
    expected = cls(2)
    if base is tuple:
        items[0][:] = [2]
    else:
        base.__init__(items, later)
    other.states[remote.number_of(expected)] = {"x": later, "raw": [2]}
    assert result != expected
    assert other.notes.held(other, result) == [{"x": held if base is not tuple else ([0],), "raw": [2]}]
    other.notes.outlast(other, "get", [None, "x"], 0)
    assert result == expected


def test_what_cannot_be_copied_is_equal_to_nothing(other: Candidate):
    cls = of_a_class(other)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    result, expected = other.thing(cls, 5, {"x": deep}), cls(2)
    assert (other.notes.held(other, result), result == expected) == ([None], False)


def test_what_is_noted_is_noted_once_and_with_what_it_leads_to(other: Candidate):
    cls, unknown, without = of_a_class(other), make_class("Q", 8, (), ["__eq__"], [], None), of_a_class(other, "")
    other.thing(unknown, 10, {"x": 1})
    handed_over = other.thing(without, 11, {"x": 1})
    inner = object.__new__(cls)
    remote.give_number(inner, 6)
    other.states[6] = {"x": 0}
    outer = other.thing(cls, 5, {"x": inner})

    # The inner one has not crossed before anybody asked what the outer one holds.
    def present(with_values: bool = False) -> list[Any]:
        return [*other.here, *([inner] if other.asked else [])]

    other.present = present  # type: ignore[method-assign]
    part = cls(1)
    assert other.asked == [("states", None, handed_over, outer), ("states", None, inner)]
    expected = cls(part)
    assert len(other.asked) == 2  # nothing was asked that could have changed them
    other.states[6] = {"x": 1}
    assert outer != expected
    other.notes.outlast(other, "get", [None, "x"], 0)
    assert outer == expected


def test_what_comes_with_what_an_object_holds_is_noted_before_the_next_is_made(other: Candidate):
    cls = of_a_class(other)
    first, made = other.thing(cls, 5, {"x": 1}), cls(1)
    late = other.thing(cls, 6, {"x": 0})
    other.asked[:] = []
    assert first == made
    cls(2)
    assert other.asked[-1] == ("states", None, made, late)


def test_what_a_class_gives_that_is_no_new_object_of_it_is_noted(other: Candidate):
    cls, factory = of_a_class(other), of_a_class(other)
    cls(1)
    other.gives = other.thing(cls, 50, {"x": 0})
    result = factory(1)
    other.gives = None
    expected = cls(2)
    other.states[50] = {"x": 2}
    assert (result is other.here[1], result == expected) == (True, False)


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
    monkeypatch.setattr(equality, "_MOST_NOTED", 1)
    other.notes = Notes()
    cls = of_a_class(other)
    noted, began = other.thing(cls, 5, {"x": 0}), remote.now()
    other.notes.take(other, 0)
    unknown = other.thing(cls, 6, {"x": 0})
    made = remote.marked(other.thing(cls, 7, {"x": 0}), remote.MADE, cls, began, None)
    later = remote.now()

    def is_another(value: object, *given: object, since: int = later) -> bool:
        return other.notes.is_another(other, value, equality.shown_by(given), since)

    assert [is_another(unknown, each) for each in (0, None)] == [True, True]
    assert not is_another(unknown, 0, since=began)
    assert (is_another(unknown), is_another(made, 3), is_another(noted, 0), is_another(noted, 3)) == (
        False, False, False, True
    )  # fmt: skip


def test_what_never_changes_is_fixed_once_for_all_that_is_noted(other: Candidate, monkeypatch: pytest.MonkeyPatch):
    fixed: list[list[Any]] = []

    def fix(values: list[Any]) -> None:
        fixed.append(values)
        assert other.notes.outlast(other, "get", [None, "year"], 0)  # it only asks for them

    monkeypatch.setattr(equality, "fix_values", fix)
    monkeypatch.setattr(equality, "_MOST_NOTED", 2)
    other.notes = Notes()
    cls = of_a_class(other)
    one, two = other.thing(cls, 5, {"x": 0}), other.thing(cls, 6, {"x": 0})
    for _ in range(2):
        other.notes.take(other, 0)
    assert fixed == [[one, two]] * 2  # there is room for no more notes, so there may be more
    other.notes = Notes()
    other.here.pop()
    for _ in range(2):
        other.notes.take(other, 0)
    assert fixed[2:] == [[one]]


def test_what_another_thread_may_have_changed_is_noted_anew(other: Candidate):
    one = other.thing(of_a_class(other), 5, {"x": 0})
    other.notes.take(other, 0)
    other.states[5], other.notes.is_old = {"x": 2}, True
    assert other.notes.held(other, one) == [{"x": 0}]
    other.notes.take(other, 0)
    assert (other.notes.held(other, one), other.notes.is_old) == ([{"x": 2}], False)


def test_what_is_asked_of_one_object_leaves_others_to_be_noted(other: Candidate):
    cls = of_a_class(other)
    one, two = other.thing(cls, 5, {"x": 0}), other.thing(cls, 6, {"x": 0})
    other.notes.take(other, 0)
    other.notes.outlast(other, "call", [cls, "", one], 0)
    other.asked[:] = []
    assert (other.notes.held(other, two), other.asked) == ([{"x": 0}], [])
    other.notes.take(other, 0)
    assert other.asked == [("states", None, one)]


def test_objects_without_an_equality_take_no_room_from_those_with_one(
    other: Candidate, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(equality, "_MOST_NOTED", 2)
    other.notes = Notes()
    with_one, without = of_a_class(other), of_a_class(other, "")
    remote.marked(made := other.thing(without, 4, {}), remote.MADE, without, -1)
    others = [other.thing(without, 5 + at, {"x": 0}) for at in range(3)]
    other.notes.take(other, 0)
    assert other.asked == [("states", None, *others[:2])]
    assert remote.standing_of(made) == remote.MADE  # equal to itself alone, and not given out again as another
    equals = [other.thing(with_one, 10 + at, {"x": 0}) for at in range(2)]
    other.notes.outlast(other, "get", [None, "x"], 0)
    other.notes.take(other, 0)
    assert other.asked[1:] == [("states", None, *equals)]


def test_what_is_in_a_value_is_found_whatever_its_class_says():
    itself: list[Any] = [1]
    itself.append(itself)
    hidden = type("Hidden", (list,), {"__iter__": lambda _: iter(())})([2])
    assert equality._parts([itself, hidden]) == [1, 2]


def test_a_list_that_holds_itself_is_noted(other: Candidate):
    cls, kind = of_a_class(other), make_class("L", 8, (list,), [], [], None)  # type: Any, Any
    items = kind.__new__(kind)
    list.__init__(items, [items])
    remote.give_number(items, 70)
    other.values.append(items)
    result = other.thing(cls, 5, {"x": items})
    other.notes.take(other, 0)
    ((held,),) = [each["x"] for each in other.notes.held(other, result)]
    assert type(held) is list


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
        given.append(remote.marked(operand, remote.MADE, of, -1, (others, set(others or [2]))))
    for each in result:
        remote.marked(each, remote.DERIVED, cls, -1, (remote.OF_MADE, *given))
    assert equality._count(other, [{"sum": 5}] * 2, *result) is counts
    assert not equality._count(other, [{}] * 2, *result)
    lone = other.thing(cls, 9, {"sum": 5})
    assert not any(equality._count(other, [{"sum": 5}] * 2, *pair) for pair in [(result[0], lone), (lone, result[1])])


def test_what_was_noted_before_a_question_holds_after_what_is_asked_while_it_is_open(other: Candidate):
    cls = of_a_class(other)
    outside = other.thing(cls, 5, {"x": 0})
    other.notes.take(other, 0)
    inside = other.thing(cls, 6, {"x": 0})
    other.notes.outlast(other, "get", [None, "x"], 1)
    other.notes.take(other, 1)
    assert [each[2:] for each in other.asked] == [(outside,), (inside,)]
    other.states.update({5: {"x": 2}, 6: {"x": 2}})
    other.notes.outlast(other, "get", [None, "x"], 1)
    other.states[6] = {"x": 3}
    assert other.notes.held(other, outside, inside) == [{"x": 0}, {"x": 3}]
    other.states[6] = {"x": 2}
    other.notes.outlast(other, "get", [None, "x"], 0)
    assert other.notes.held(other, outside, inside) == [{"x": 2}, {"x": 2}]


def test_how_much_is_noted_is_bounded(other: Candidate, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(equality, "_MOST_NOTED", 3)
    other.notes = Notes()
    cls = of_a_class(other)
    for number in range(5):
        other.thing(cls, number, {"x": number})
    other.notes.take(other, 0)
    assert [len(each) - 2 for each in other.asked] == [3]
    other.states[0] = {"x": 8}
    assert other.notes.held(other, *other.here[:4:3]) == [{"x": 0}, None]
    other.notes.outlast(other, "get", [None, "x"], 0)
    other.notes.take(other, 0)
    assert len(other.asked) == 1
    made = cls(3)
    assert other.here[3] != made  # by then it may have become that
    assert other.notes.held(other, other.here[3], made) == [None, {"x": 3}]


@pytest.mark.parametrize("garbled", [8, [], [{"x": 2}] * 3, ({"x": 2}, {"x": 2})])
def test_who_does_not_say_what_objects_hold_has_none_that_are_equal(other: Candidate, garbled: object):
    cls = of_a_class(other)
    result, expected = other.thing(cls, 5, {"x": 2}), cls(2)
    other.notes.outlast(other, "get", [None, "x"], 0)
    other.garbled = garbled
    assert not hold_the_same(other, result, expected)


@pytest.mark.parametrize(
    ("operation", "fields", "noted"),
    [
        ("call", ["class", "", 1, [2]], 3),
        ("call", ["class", "x", 1], 3),
        ("states", [None, "outer"], 3),
        ("special", ["outer", "__eq__", "inner"], 3),
        ("call", ["class", "", "inner"], 2),  # it may change what it is given
        ("call", ["class", "x", [{1: ("outer",)}]], 1),  # and what that leads to
        ("call", ["outer", "", 1], 0),
        ("special", ["outer", "__repr__"], 3),
        ("special", ["outer", "__format__", ""], 3),
        ("special", ["outer", "__len__"], 0),
        ("get", ["outer", "x"], 0),
        ("set", ["outer", "x", 1], 0),
        ("call", ["unknown", "", 1], 0),  # a class that the script has no name for is called as a function is
        ("call", ["alias", "", 1], 3),
        ("call", [None, "", 1], 0),
        ("call", ["class", "", "later"], 3),  # of which nothing was noted
        ("get", ["outer", "__eq__"], 0),
    ],
)
def test_which_questions_may_change_what_is_noted(other: Candidate, operation: str, fields: list[Any], noted: int):
    cls = of_a_class(other)
    inner = other.thing(cls, 5, {"x": 1})
    outer = other.thing(cls, 6, {"x": [inner], "itself": inner})
    names = {"class": cls, "outer": outer, "inner": inner, "unknown": make_class("Q", 9, (), [], [], None)}
    for name, kind in [("later", cls), ("alias", make_class("Alias", 10, (), [], [], None))]:
        names[name] = object.__new__(kind)
        remote.give_number(names[name], 8)
    remote.marked(names["alias"], remote.MADE, type(names["alias"]), -1, cls)
    other.known = (*other.known, None)  # type: ignore[assignment]  # the program has bound the name of a class to None

    def named(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(named(each) for each in value)
        return {1: named(value[1])} if isinstance(value, dict) else names.get(value, value)

    other.thing(cls, 7, {"x": 1})
    other.notes.take(other, 0)
    other.notes.outlast(other, operation, named(fields), 0)
    other.asked[:] = []
    other.notes.take(other, 0)
    assert sum(len(each) - 2 for each in other.asked) == 3 - noted


def test_a_set_that_the_program_gives_holds_no_two_equal_objects(monkeypatch: pytest.MonkeyPatch):
    gone: list[str] = []
    monkeypatch.setattr(placing, "connection", [SimpleNamespace(gone=gone.append)])
    same, other = [Always(), Always()], [object(), object()]
    cases: list[tuple[list[Any], bool]] = [(other, False), (same[:1], False), (same, True)]
    for values, is_gone in cases:
        gone.clear()
        placing._look_for_equals(values, dict.fromkeys(map(id, values), 7), [values])
        assert bool(gone) is is_gone


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
    containers = SimpleNamespace(held=lambda *_: list(range(len(held))), entries=[[each] for each in held])
    objects = SimpleNamespace(held=SimpleNamespace(present=lambda **_: []))
    link = SimpleNamespace(containers=containers, objects=objects)
    assert equality.hold_what_was_made(link, [0], [], value, 0) is may


@pytest.mark.parametrize(
    ("offers", "is_new", "may"), [("__eq__", True, True), ("__eq__", False, False), ("", True, False)]
)
def test_what_the_program_changes_may_become_an_object_that_came_meanwhile(
    other: Candidate, offers: str, is_new: bool, may: bool
):
    began = remote.now()
    held = other.thing(of_a_class(other, offers), 5, {})
    link = SimpleNamespace(
        containers=SimpleNamespace(held=lambda numbers, _apart: numbers, entries=[[[held]]]),
        objects=SimpleNamespace(held=SimpleNamespace(present=lambda **_: [])),
    )
    began = began if is_new else remote.now()
    assert equality.hold_what_was_made(link, [0], [], None, began) is may


def test_what_was_taken_for_different_is_asked_about_when_the_script_is_through(other: Candidate):
    cls = of_a_class(other)
    one, foreign = other.thing(cls, 5, {"x": 1}), other.thing(of_a_class(other), 6, {"x": 1})
    other.equal = False
    assert all(one != each for each in (8, foreign, "x" * 5000, [object()]))
    assert [one] != [None]
    assert other.asked == []
    other.doubts.clear_up(other)
    pairs = [(one, 8), (one, foreign), (foreign, one), (one, None)]  # Python asks either operand
    assert other.asked == [("special", each, "__eq__", another) for each, another in pairs]
    assert not other.refused
    other.asked[:] = []
    other.doubts.clear_up(other)  # once is enough
    assert other.asked == []


@pytest.mark.parametrize("number", [0, 63, 64])
def test_so_many_comparisons_are_asked_about(other: Candidate, number: int):
    one = other.thing(of_a_class(other), 5, {"x": 1})
    other.equal = False
    assert all(one != each for each in range(number))
    other.equal = True
    assert one != number
    other.ask = lambda _operation, *fields: fields[2] == number  # type: ignore[method-assign]
    other.doubts.clear_up(other)
    assert other.refused is (number < 64)


def test_who_cannot_compare_has_not_said_that_they_are_different(other: Candidate, monkeypatch: pytest.MonkeyPatch):
    assert other.thing(of_a_class(other), 5, {"x": 1}) != 8
    monkeypatch.delattr(Candidate, "ask")
    other.doubts.clear_up(other)
    assert other.refused


@pytest.mark.parametrize(
    ("one", "another", "is_made", "is_doubtful"),
    [({"x": 1}, {"x": 2}, False, True), ({"x": 1}, {"x": 1}, False, False), (8, {"x": 1}, False, False),
     ({"x": 1}, 8, False, False), ({"x": 1}, {"x": 1}, True, True), (8, 8, True, True)],
)  # fmt: skip
def test_what_a_class_alone_says_is_equal_is_doubtful(
    other: Candidate, one: object, another: object, is_made: bool, is_doubtful: bool
):
    cls = of_a_class(other)
    first = other.thing(cls, 5, one)
    second = cls(3) if is_made else other.thing(cls, 6, another)
    other.states[remote.number_of(second)] = another
    assert first != second
    other.doubts.clear_up(other)
    assert other.refused is is_doubtful


def test_of_several_that_are_doubtful_the_first_is_named():
    doubts, whys = Doubts(), list[str]()
    for one in (5, "text"):
        doubts.says_equal(one, SimpleNamespace(f_globals={}))
    doubts.clear_up(SimpleNamespace(refuse=whys.append))
    assert ["class int" in why for why in whys] == [True]


def test_what_the_harness_compares_is_nothing_to_the_script(other: Candidate):
    one, two = [other.thing(of_a_class(other), number, {"x": 1}) for number in (5, 6)]
    names = {"__name__": "cruxcell.values.x", "one": one, "two": two}
    exec("found = (one != 8, one == two)", names)
    assert names["found"] == (True, False)
    other.doubts.clear_up(other)
    assert not other.refused
