"""What a proxy of an object asks the other half, and what it decides here."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Container
from datetime import date
from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import pytest
from cruxcell.jobs.separated.proxies import asking, facts, remote
from cruxcell.jobs.separated.proxies.facts import (
    DERIVED,
    HANDED_OVER,
    MADE,
    OF_MADE,
    OF_VALUES,
)
from cruxcell.jobs.separated.state.mocks import Mocks
from other_half import Other, either_half, number, other_half, own_dict  # noqa: F401 - fixtures among them


def test_what_an_object_is_asked(either: Other):
    thing = either.thing("__len__ __call__ __str__ __getitem__ close")
    either.answers.update(special=3)
    thing.name = thing.__dict__
    del thing.name
    if either.is_test:  # which is given what has that name
        either.answers.update(get=lambda: lambda value: value + 6)
    assert (len(thing), thing[0], thing(1), thing.close(2)) == (3, 3, 8, 8)
    kinds = [each[:1] + each[2:3] for each in either.asked]
    assert kinds == [
        ("get", "__dict__"), ("set", "name"), ("del", "name"), ("special", "__len__"), ("special", "__getitem__"),
        ("call", (1,)), ("get", "close"), *([] if either.is_test else [("call", (2,))]),
    ]  # fmt: skip
    with pytest.raises(AttributeError, match="__array__"):
        thing.__array__
    assert thing != 8
    assert len({thing, thing}) == 1


def test_the_test_asks_no_question_that_holds_the_answer(either: Other):
    offers = "__eq__ __lt__ __contains__ __hash__ __ne__ __radd__ __add__ __iadd__ __abs__ __round__ __neg__"
    thing = either.thing(offers + " nonsense")
    names = set(offers.split())
    assert names <= set(own_dict(type(thing)))
    if either.is_test:
        either.means = False
        assert (thing == 8, {thing} == {thing}, thing != 8) == (False, True, True)
        assert [each[2:] for each in either.asked] == [("__hash__",)] * 2
        either.asked.clear()
        for asks in _WITH_A_VALUE:
            with pytest.raises(TypeError, match=r"of a A is for the candidate to say"):
                asks(thing)
        assert either.asked == []
        assert (thing == thing, either.asked[-1][2:]) == (8, ("__eq__", thing))  # as it likes
    else:
        assert (thing + 8, either.asked[-1][2:]) == (8, ("__add__", 8))
        assert (8 - either.thing("__rsub__"), either.asked[-1][2:]) == (8, ("__rsub__", 8))
    assert "nonsense" not in own_dict(type(thing))


_WITH_A_VALUE: list[Any] = [
    lambda thing: thing + 8,
    lambda thing: 8 + thing,
    lambda thing: operator.iadd(thing, [8]),
    lambda thing: thing < 8,
    lambda thing: sorted([thing, thing]),
    abs,
    lambda thing: round(thing, 2),
]


def test_who_has_an_answer_of_its_own_to_an_object_is_asked(other: Other):
    thing = other.thing("__lt__ __add__")
    own = type("Own", (), {"__gt__": lambda _self, _other: True, "__radd__": lambda _self, _other: "added"})()
    assert (thing < own, thing + own, other.asked) == (True, "added", [])
    silent = type("Silent", (), {"__gt__": lambda _self, _other: NotImplemented})()
    for each in (type("Other", (), {})(), silent, Decimal(1), date(2020, 1, 1)):
        with pytest.raises(TypeError, match="is for the candidate to say"):
            thing < each
        with pytest.raises(TypeError, match="is for the candidate to say"):
            thing + each


def test_that_an_object_is_another_is_noted_where_the_other_operand_has_no_say(other: Other):
    thing, own = other.thing("__eq__"), type("Own", (), {"__eq__": lambda _self, _other: True})()
    assert (thing == own, other.compared_by_identity) == (True, False)
    for each in (8, "a", other.thing()):
        other.compared_by_identity = False
        assert (thing == each, other.compared_by_identity) == (False, True)


def test_an_object_that_was_made_here_has_no_number(other: Other):
    with pytest.raises(TypeError, match=r"class A was made in the test's process, by object\.__new__"):
        facts.number_of(object.__new__(other.cls()))


def test_arithmetic_is_between_objects_and_gives_one(other: Other):
    one, two = other.thing("__add__ __iadd__ __neg__"), other.thing("__add__")
    for give in (operator.add, operator.iadd):
        with pytest.raises(TypeError, match="is for the candidate to say"):
            give(one, two)
    other.answers["special"] = two
    assert (one + two, -one, other.asked[-1][2:]) == (two, two, ("__neg__",))
    assert (operator.iadd(one, two), other.asked[-1][2:]) == (two, ("__iadd__", two))
    other.answers["special"] = NotImplemented
    with pytest.raises(TypeError, match="unsupported operand"):
        one + two


def made(other: Other, offers: str, given: tuple[object, ...] = ()) -> tuple[Any, Any]:
    """An object that the test has made by calling its class, and one of the same class that was there before."""
    before = other.thing(offers)
    new = object.__new__(type(before))

    def call() -> object:
        facts.give_number(new, 9)
        return new

    other.calls = call
    assert type(before)(*given) is new
    other.answers["special"], other.asked[:] = 8, []
    return new, before


_OF_MADE: dict[str, Callable[[Any], object]] = {
    "__abs__": abs,
    "__round__": lambda thing: round(thing, 2),
    "__lt__": lambda thing: thing < thing,
    "__add__": lambda thing: thing + thing,
}


def test_what_the_test_has_made_is_tested_by_what_its_class_says(other: Other):
    new, before = made(other, "__lt__ __add__ __contains__ __iter__ " + " ".join(_OF_MADE))
    for name, asks in _OF_MADE.items():
        assert (asks(new), other.asked.pop()[2]) == (8, name)
        with pytest.raises(TypeError, match="is for the candidate to say"):
            asks(before)
    assert (3 in new, other.asked.pop()[2:]) == (True, ("__contains__", 3))
    for mixed in (lambda: new < 8, lambda: new < before, lambda: before < new, lambda: new + before):
        with pytest.raises(TypeError, match="is for the candidate to say"):
            mixed()


def test_where_code_looks_only_whether_a_comparison_raises():
    found: list[bool] = []

    class Noting:
        def __lt__(self, _other: object) -> bool:
            found.append(asking.is_dropped(sys._getframe(1)))
            return True

        __call__ = __getitem__ = __lt__

    noting = Noting()
    noting < 1
    assert (noting < 1, noting < 1 < 2) == (True, True)
    noting(1)
    noting[1]
    assert found == [True, False, False, False, False]


def test_what_comes_of_a_made_object_and_a_value_is_another_object(other: Other):
    new, before = made(other, "__add__ __abs__ __sub__ __rmul__")
    with pytest.raises(TypeError, match="is for the candidate to say"):
        new - 8  # which would be the same for all that are equal
    assert other.asked.pop()[2:] == ("__sub__", 8)
    answer = other.answers["special"]
    assert (new + 8, 2 * new) == (answer, answer)
    other.answers["special"] = before
    assert new + 8 is before
    with pytest.raises(TypeError, match="is for the candidate to say"):
        before + 8  # what was handed over stays that
    fresh = object.__new__(type(new))

    def call() -> object:
        facts.give_number(fresh, 10)
        return fresh

    other.calls = call
    other.answers["special"] = call
    assert (new + 8, fresh + 8) == (fresh, fresh)
    with pytest.raises(TypeError, match="is for the candidate to say"):
        abs(fresh)  # it has seen values of the test
    other.answers["special"] = 8
    with pytest.raises(TypeError, match="is for the candidate to say"):
        fresh + fresh


def test_an_object_that_was_there_is_not_made_by_calling_its_class(other: Other):
    before = other.thing("__abs__")
    other.calls = lambda: before
    assert type(before)() is before
    with pytest.raises(TypeError, match="is for the candidate to say"):
        abs(before)


def test_a_class_that_is_called_like_a_function_makes_no_object(other: Other):
    other.means = False
    new, _ = made(other, "__abs__")
    with pytest.raises(TypeError, match="is for the candidate to say"):
        abs(new)


def test_how_the_test_came_by_an_object_is_noted_once_and_of_no_other(other: Other):
    old = other.thing()
    began = facts.now()
    new, value = other.thing(), number(other, HANDED_OVER, "__add__")
    error = BaseException.__new__(other.cls(ValueError))
    facts.give_number(error, 9)
    for each in (old, new, value, error):
        assert facts.marked(each, MADE, type(each), began, "of") is each
        assert facts.marked(each, DERIVED, int, began, "of") is each  # is none
    assert [facts.standing_of(each) for each in (old, new, value, error, 8)] == [
        HANDED_OVER, MADE, MADE, HANDED_OVER, HANDED_OVER
    ]  # fmt: skip
    assert [facts.is_made_since(each, began) for each in (old, new)] == [False, True]
    assert [facts.is_made_since(each, facts.now()) for each in (old, new)] == [False, True]
    assert facts.made_of(new) == "of"


def test_what_came_of_made_objects_alone_is_the_test_s(other: Other):
    began = facts.now()
    things = [other.thing() for _ in range(3)]
    for each, standing, of in zip(things, (MADE, DERIVED, DERIVED), ((8,), (OF_MADE, 1), (OF_VALUES, 1))):
        facts.marked(each, standing, type(each), began, of)
    assert [facts.is_of_the_test(each) for each in (*things, other.thing(), 8)] == [True, True, False, False, False]
    assert list(map(facts.operands_of, (*things, 8))) == [(), (OF_MADE, 1), (OF_VALUES, 1), ()]
    value = number(other, DERIVED, "__add__")  # whose operands nobody has noted
    assert facts.operands_of(value) == ()


def test_a_method_keeps_its_object_and_only_an_alias_stands_for_a_class(other: Other):
    cls, owner = other.cls(offers="__call__"), other.thing()
    given, made = (object.__new__(cls) for _ in range(2))
    began = facts.now()
    for each in (given, made):
        facts.give_number(each, 8)
    facts.marked(made, MADE, cls, began, "of")
    for each in (given, made):
        facts.keep_owner(each, owner)
    assert [facts.made_of(each) for each in (given, made)] == [owner, "of"]
    alias = other.thing()
    facts.keep_owner(alias, cls)
    assert list(map(remote.class_of_alias, (alias, given, other.thing(), 8, cls))) == [cls, None, None, None, None]
    assert list(map(remote.is_remote, (cls, alias, 8, int))) == [True, True, False, False]


def test_what_a_class_gives_that_was_there_is_looked_at_again(other: Other):
    again: list[Any] = []
    other.note_again = lambda value, *_: again.append(value)  # type: ignore[method-assign]
    cls = other.cls()
    old = object.__new__(cls)
    facts.give_number(old, 7)
    other.answers["call"] = old
    assert (cls(1) is old, again) == (True, [old])

    def new() -> Any:
        made = object.__new__(cls)
        facts.give_number(made, 8)
        return made

    other.answers["call"] = new
    assert (facts.standing_of(cls(1)), again) == (MADE, [old])
    other.means = False
    assert (facts.standing_of(cls(1)), again) == (HANDED_OVER, [old])


def test_every_hash_is_asked_for(either: Other):
    either.means = False
    assert hash(either.thing("__eq__ __hash__")) == 8


def test_what_the_test_has_made_is_found_by_its_hash(other: Other):
    new, before = made(other, "__eq__ __hash__")
    assert (hash(new), hash(before)) == (8, 8)
    new, _ = made(other, "__eq__")
    assert hash(new) == object.__hash__(new)
    with pytest.raises(TypeError, match="unhashable"):
        hash(other.thing("__eq__ -__hash__ -__dict__"))
    assert not callable(other.thing("-__call__").__call__)


def test_of_two_objects_their_class_says_what_differs_and_not_alone_what_does_not(other: Other):
    one = other.thing("__ne__")
    two = object.__new__(type(one))
    facts.give_number(two, 8)
    other.answers["special"] = [True, True, False, False]
    assert (one != two, one != one, one != one) == (True, True, False)
    with pytest.raises(TypeError, match="is for the candidate to say"):
        one != two
    assert [each[2:] for each in other.asked] == [("__ne__", two), ("__ne__", one), ("__ne__", one), ("__ne__", two)]
    other.means = False
    other.answers["special"] = [True, True, False]
    assert (one != two, one != one, one != one, one != 8, len(other.asked)) == (True, True, False, True, 7)


def test_a_class_has_the_bases_that_it_has_over_there(other: Other):
    base = other.cls()
    derived, value = other.cls(base), other.cls(int)
    assert (derived.__mro__, derived.__bases__) == ((derived, base, object), (base,))
    assert derived.mro() == [derived, base, object]
    assert (base.__mro__, base.__bases__) == ((base, object), (object,))
    assert (value.__mro__, value.__bases__) == ((value, int, object), (int,))


def test_what_is_in_an_object_is_found_here(either: Other):
    equal = type("Equal", (), {"__eq__": lambda _self, other: other == 2, "__hash__": None})()
    nan = float("nan")
    thing = either.thing("__iter__ __contains__")
    if not either.is_test:
        either.answers["special"] = True
        assert (7 in thing, either.asked) == (True, [("special", thing, "__contains__", 7)])
        return
    either.answers["special"] = [[1, 2], True, [1, 2], True, [nan], True, [1], [2], False, [1]]
    assert [each in thing for each in (2, equal, nan, 2, 2)] == [True, True, True, False, False]
    iterable = either.thing("__iter__")
    assert 1 in iterable
    with pytest.raises(TypeError, match="__contains__ of a A is for the candidate to say"):
        _ = 1 in either.thing("__contains__")
    # The class is told what is looked for where its items hold it.
    assert "".join(each[2][2] for each in either.asked) == "icicici" + "ic" + "i"
    assert [isinstance(each, Container) for each in (thing, iterable)] == [True, False]


def test_what_an_object_says_it_is_of(other: Other):
    thing = other.thing(stands=map)
    assert (isinstance(thing, map), isinstance(other.thing(), map), type(thing).__name__) == (True, False, "A")
    assert not hasattr(type(thing), "__get__")


def test_an_array_of_the_other_half_is_the_plain_one_that_it_is(other: Other):
    numpy = pytest.importorskip("numpy")
    thing = other.thing("__array__")
    other.answers["special"] = numpy.array([1, 2])
    assert numpy.asarray(thing).dtype == int
    assert numpy.asarray(thing, dtype=float).dtype == float
    assert numpy.asarray(thing) is other.answers["special"]
    assert thing.__array__(copy=True) is not other.answers["special"]
    other.answers["special"] = [1, 2]
    with pytest.raises(TypeError, match="lives in the other process"):
        numpy.asarray(thing)


def test_a_function_is_a_method_of_a_class_that_has_it(other: Other):
    function = other.thing("__call__", stands=type(lambda: 0))
    cls = type("Of", (), {"method": function})
    made: Any = cls()
    made.method(1)
    assert (other.asked, cls.method) == ([("call", function, (made, 1), {})], function)  # type: ignore[attr-defined]


def test_the_candidate_awaits_by_the_methods_of_the_test_s(either: Other):
    thing = either.thing("__await__ __anext__ __aexit__")
    if not either.is_test:
        assert [thing.__await__(), thing.__anext__(), thing.__aexit__(None, None, None)] == [8, 8, 8]
        assert [each[2] for each in either.asked] == ["__await__", "__anext__", "__aexit__"]
    else:
        assert type(thing.__anext__()) is not int


def test_an_iterator_is_its_own(other: Other):
    iterator, iterable = other.thing("__iter__ __next__"), other.thing("__iter__")
    other.answers["special"] = [iterator, [1, 2]]
    assert iter(iterable) is iterator
    assert list(iterable) == [1, 2]


def test_what_a_mock_tells_is_asked_of_the_script_s_own(other: Other):
    mocks, target, found, cls = Mocks({"Mock"}), other.thing(), other.thing(), other.cls()
    facts.give_number(found, 9)

    def asks(of: object, name: str) -> str:
        return mocks.hinder("get", [of, name])

    def told(operation: str, value: object, name: str = "db") -> bool:
        mocks.got(operation, (target, name), value)
        return bool(asks(value, "called"))

    assert asks(target, "called_with") == Mocks({"f"}).hinder("get", [target, "call_args"]) == ""
    assert "call_args of a A" in asks(target, "call_args")
    assert not told("get", found)  # the script has put none there
    for put in ("set", [target, "db", 5]), ("set", [target, "db", Mock()]), ("special", [target, "db"]):
        assert mocks.hinder(*put) == ""
        assert not told("call", found)
        assert not told("get", found, "other")
        assert told("get", found) is (put[0] == "special" or put[1][2] != 5)
        mocks._instead.clear()
    mocks.got("get", (target, "db"), 5)
    assert told("get", cls)
    assert (told("get", found), asks(found, "count"), asks(target, "called")) == (True, "", "")
    mocks._instead.clear()
    mocks.hinder("del", [target, "db"])
    assert not told("get", found)
