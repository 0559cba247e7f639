"""What is noted of the objects that a script compares: what, when, how often, and for how long it holds."""

from __future__ import annotations

import copyreg
from array import array
from collections import Counter, OrderedDict
from collections.abc import Container
from types import MappingProxyType
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import equality, facts, notes
from cruxcell.jobs.separated.proxies.notes import Notes
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from equal_objects import Candidate, connected, of_a_class  # noqa: F401 - a fixture among them


def test_what_is_noted_has_containers_of_its_own(other: Candidate):
    cls = of_a_class(other)
    shared: dict[str, Any] = {"x": [0, {1: set()}]}
    result = other.thing(cls, 5, shared)
    expected = cls(2)
    shared["x"] += [2]
    other.states[facts.number_of(expected)] = shared
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
    facts.give_number(items, 70)
    other.values.append(items)
    result = other.thing(cls, 5, {"x": items, "raw": [2]})
    expected = cls(2)
    if base is tuple:
        items[0][:] = [2]
    else:
        base.__init__(items, later)
    other.states[facts.number_of(expected)] = {"x": later, "raw": [2]}
    assert result != expected
    assert other.notes.held(other, result) == [{"x": held if base is not tuple else ([0],), "raw": [2]}]
    other.notes.outlast(other, "get", [None, "x"], 0)
    assert result == expected


def test_what_cannot_be_copied_is_equal_to_nothing_and_the_others_to_what_they_were(other: Candidate):
    cls = of_a_class(other)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    shared = [1]
    first, result = other.thing(cls, 5, {"x": [shared, deep]}), other.thing(cls, 6, {"x": [shared, 2]})
    expected = cls(2)
    assert other.notes.held(other, first, result) == [None, {"x": [[1], 2]}]
    other.states[facts.number_of(expected)] = {"x": [[1], 2]}
    shared[:] = [0]
    assert (first == expected, result == expected) == (False, True)


@pytest.mark.parametrize(
    "kind",
    [
        dict.keys, dict.items, MappingProxyType, lambda held: OrderedDict(held).keys(), lambda _: memoryview(b"ab"),
        lambda _: memoryview(bytearray(b"ab")).toreadonly(), lambda _: memoryview(array("i", [3])),
    ],
)  # fmt: skip
def test_views_that_objects_hold_are_copied_with_what_they_show(other: Candidate, kind: Any):
    cls, owner, script_s = of_a_class(other), {2: [1]}, dict(copyreg.dispatch_table)
    result, expected = other.thing(cls, 5, {"x": 2, "view": kind(owner)}), cls(2)
    other.states[facts.number_of(expected)] = {"x": 2, "view": kind({2: [1]})}
    owner[2][0] = owner[3] = 5  # type: ignore[assignment]
    assert result == expected
    assert copyreg.dispatch_table == script_s


def test_what_the_script_has_copied_in_its_own_way_stays_so(other: Candidate, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(copyreg.dispatch_table, memoryview, repr)
    cls = of_a_class(other)
    result, expected = other.thing(cls, 5, {"x": 2, "view": memoryview(b"ab")[1:]}), cls(2)
    assert other.notes.held(other, result, expected)[0] is None  # of a part
    assert copyreg.dispatch_table[memoryview] is repr


def test_what_is_noted_is_noted_once_and_with_what_it_leads_to(other: Candidate):
    cls, unknown, without = of_a_class(other), make_class("Q", 8, (), ["__eq__"], [], None), of_a_class(other, "")
    other.thing(unknown, 10, {"x": 1})
    handed_over = other.thing(without, 11, {"x": 1})
    inner = object.__new__(cls)
    facts.give_number(inner, 6)
    other.states[6] = {"x": 0}
    outer = other.thing(cls, 5, {"x": inner})

    # The inner one has not crossed before anybody asked what the outer one holds.
    def present(with_values: bool = False, but: Container[int] = ()) -> list[Any]:
        here = [*other.here, *([inner] if other.asked else [])]
        return [each for each in here if facts.number_of(each) not in but]

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


def test_what_never_changes_is_fixed_once_for_all_that_is_noted(other: Candidate, monkeypatch: pytest.MonkeyPatch):
    fixed: list[list[Any]] = []

    def fix(values: list[Any]) -> None:
        fixed.append(values)
        assert other.notes.outlast(other, "get", [None, "year"], 0)  # it only asks for them

    monkeypatch.setattr(notes, "fix_values", fix)
    monkeypatch.setattr(notes, "_MOST_NOTED", 2)
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
    monkeypatch.setattr(notes, "_MOST_NOTED", 2)
    other.notes = Notes()
    with_one, without = of_a_class(other), of_a_class(other, "")
    facts.marked(made := other.thing(without, 4, {}), facts.MADE, without, -1)
    others = [other.thing(without, 5 + at, {"x": 0}) for at in range(3)]
    other.notes.take(other, 0)
    assert other.asked == [("states", None, *others[:2])]
    assert facts.standing_of(made) == facts.MADE  # equal to itself alone, and not given out again as another
    equals = [other.thing(with_one, 10 + at, {"x": 0}) for at in range(2)]
    other.notes.outlast(other, "get", [None, "x"], 0)
    other.notes.take(other, 0)
    assert other.asked[1:] == [("states", 0, *equals)]  # and whether the others hold what they held


def test_what_is_in_a_value_is_found_whatever_its_class_says():
    itself: list[Any] = [1]
    itself.append(itself)
    hidden = type("Hidden", (list,), {"__iter__": lambda _: iter(())})([2])
    assert equality.parts_of([itself, hidden]) == [1, 2]


def test_a_list_that_holds_itself_is_noted(other: Candidate):
    cls, kind = of_a_class(other), make_class("L", 8, (list,), [], [], None)  # type: Any, Any
    items = kind.__new__(kind)
    list.__init__(items, [items])
    facts.give_number(items, 70)
    other.values.append(items)
    result = other.thing(cls, 5, {"x": items})
    other.notes.take(other, 0)
    ((held,),) = [each["x"] for each in other.notes.held(other, result)]
    assert type(held) is list


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
    monkeypatch.setattr(notes, "_MOST_NOTED", 3)
    monkeypatch.setattr(notes, "_MORE_FOR_EACH", 0)
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
        facts.give_number(names[name], 8)
    facts.marked(names["alias"], facts.MADE, type(names["alias"]), -1, cls)
    other.known = (*other.known, None)  # type: ignore[assignment]  # the program has bound the name of a class to None

    def named(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(named(each) for each in value)
        return {1: named(value[1])} if isinstance(value, dict) else names.get(value, value)

    other.thing(cls, 7, {"x": 1})
    other.tells_changes = False  # all may have
    other.notes.take(other, 0)
    other.notes.outlast(other, operation, named(fields), 0)
    other.asked[:] = []
    other.notes.take(other, 0)
    assert sum(len(each) - 2 for each in other.asked) == 3 - noted


@pytest.mark.parametrize(
    ("value", "content", "asks", "is_equal"),
    [
        ({"a": 1}, {"": {"a": 1}, "x": 2}, "sc", True),
        ([1], {"": [1]}, "", False),
        ({"a": 1}, {"": {"a": 2}}, "s", False),
        ({"a": 1}, {"": [("a", 1)]}, "s", False),
        ({"a": 1}, {"a": 1}, "s", False),
        ({"a": 1}, [{"a": 1}], "s", False),
        (Counter("a"), {"": {"a": 1}}, "", False),
    ],
)
def test_an_object_that_derives_from_a_container_equals_what_it_is_at_bottom(
    other: Candidate, value: object, content: object, asks: str, is_equal: bool
):
    first = other.thing(of_a_class(other, "__eq__ __ne__ <builtins:dict"), 5, content)
    for answer in (True, False):
        other.equal = answer
        assert (first == value) is (is_equal and answer)
        other.equal = not answer
        assert (first != value) is not (is_equal and answer)
        asked = {"s": ("states", None, first), "c": ("special", first, "__eq__", value)}
        assert other.asked[: len(asks)] == [asked[each] for each in asks]
        other.asked.clear()
        other.notes.forget_from(0)


def test_what_equals_a_library_s_value_gives_what_it_gave_before_the_script_made_another(other: Candidate):
    cls, made = of_a_class(other, "~collections:UserList"), of_a_class(other)
    rows: dict[int, list[Any]] = {5: [1, [2]], 6: [3]}
    asked: list[int] = []

    def value_of(value: Any, _make: object) -> Any:
        asked.append(facts.number_of(value))
        other.notes.outlast(other, "get", [value, "data"], 0)  # which is no time for others to change
        return rows[facts.number_of(value)]

    other.value_of = value_of  # type: ignore[attr-defined]
    first, second = other.thing(cls, 5, None), other.thing(cls, 6, None)
    made(1)
    assert asked == [5, 6]
    rows[5][1].append(7)
    rows[6] = [4]
    assert first == [1, [2]]
    assert second == [3]
    made(2)
    assert asked == [5, 6]
    other.notes.outlast(other, "get", [first, "x"], 0)
    assert second == [4]
    assert asked == [5, 6, 6]
    made(2)
    assert asked[3:] == [5, 6]
    rows[5], rows[6] = [8], [9]
    other.notes.outlast(other, "call", [made, "", [first]], 0)  # which may change what it is given
    assert first == [8]
    assert second == [4]
    rows.clear()
    other.notes.outlast(other, "get", [first, "x"], 0)
    made(3)
    assert first not in ([], [8])  # it did not say


def test_what_equals_a_library_s_value_and_was_not_noted_equals_nothing(
    other: Candidate, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(notes, "_MOST_NOTED", 1)
    other.notes = Notes()
    cls, made = of_a_class(other, "~collections:UserList"), of_a_class(other)
    other.value_of = lambda value, _make: [facts.number_of(value)]  # type: ignore[attr-defined]
    first, second = other.thing(cls, 5, None), other.thing(cls, 6, None)
    assert second == [6]
    other.notes = Notes()
    made(1)
    assert first == [5]
    assert second != [6]  # by now it may be what was made
    assert other.thing(cls, 7, None) == [7]
