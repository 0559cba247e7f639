"""What a proxy of a separated script asks the other half, and what it decides here."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import operator
import sys
import unittest
from collections.abc import Callable, Container
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest.mock import Mock

import pytest
from cruxcell.jobs.separated import placing, remote, runs
from cruxcell.jobs.separated.asking import own_of_value
from cruxcell.jobs.separated.mocks import Mocks
from cruxcell.jobs.separated.remote import (
    DERIVED,
    HANDED_OVER,
    MADE,
    OF_MADE,
    OF_VALUES,
    RemoteBase,
    RemoteObject,
    RemoteType,
)
from other_half import Other, connected, either_half, other_half, own_dict  # noqa: F401 - fixtures among them

# ---- classes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "more", "members", "why"),
    [
        ("Mine", (), {"test_x": 1}, "has tests"),
        ("Mine", (unittest.TestCase,), {}, "does not have"),
        ("Mine", (type("Own", (), {}),), {}, "does not have"),
        ("TestMine", (), {}, "has tests"),  # where pytest is loaded, as here
        ("Mine", (), {}, "makes no class"),
    ],
)
def test_what_cannot_be_a_class_of_the_other_side(other: Other, name: str, more: tuple, members: dict, why: str):
    other.answers["derive"] = other.cls()
    with pytest.raises(TypeError, match=why):
        type(name, (*more, other.cls()), members)


def test_a_candidate_derives_from_no_class_of_the_test():
    with connected(Other(False)) as candidate, pytest.raises(TypeError, match="of the test cannot be subclassed"):
        type("Mine", (candidate.cls(),), {})


def test_what_the_script_defines_in_a_class_is_its_own(other: Other):
    base = other.cls(offers="__len__")
    other.answers["derive"] = made = other.cls(base, offers="__len__")
    members = {
        "__init__": len,
        "f": lambda _self: 5,
        "Make": lambda _self: 4,  # as some call their methods
        "__mine__": lambda _self: 3,
        "p": property(lambda _self: 6),
        "__len__": lambda _self: 7,
        "n": 9,
    }
    mine: Any = type("Mine", (base,), members)
    assert mine is made
    told = dict(other.asked[0][4])
    assert (told["n"], told["__init__"], "__classcell__" in told) == (9, len, False)
    other.answers["call"] = thing = object.__new__(made)
    remote.give_number(thing, 8)
    assert (thing.f(), thing.Make(), thing.p, len(thing), mine.n, mine() is thing) == (5, 4, 6, 7, 8, True)
    assert "__mine__" not in type.__getattribute__(made, "__dict__"), "what has no meaning to Python is over there"
    with pytest.raises(AttributeError):
        thing.p = 1
    thing.f = 1
    assert thing.f == 8, "what it was given since is over there"
    second = object.__new__(made)
    remote.give_number(second, 9)
    assert (second.f(), mine.f(thing)) == (5, 5), "and what others have is not"
    other.answers["call"] = other.thing()
    with pytest.raises(TypeError, match="a call of class A gives a A"):
        made()


def test_what_the_script_defines_is_found_before_what_a_class_of_the_program_has(other: Other):
    base = other.cls()
    other.answers["derive"] = other.cls(base)
    mine: Any = type("Mine", (base,), {"__len__": lambda _self: 7})
    both = other.cls(other.cls(offers="__len__"), mine)
    thing = object.__new__(both)
    remote.give_number(thing, 9)
    assert len(thing) == 7


def test_what_a_class_is_asked(either: Other):
    cls = either.cls()
    assert (cls.name, cls.__doc__, cls(1, a=2), list(zip([1], "a"))) == (8, 8, 8, [(1, "a")])
    cls.name = 3
    del cls.name
    assert either.asked == [
        ("get", cls, "name"), ("get", cls, "__doc__"), ("call", cls, (1,), {"a": 2}), ("set", cls, "name", 3),
        ("del", cls, "name"),
    ]  # fmt: skip
    assert (bool(cls), RemoteBase.__class__) == (True, RemoteType)
    for name in ("__array_struct__", "__array_interface__"):
        with pytest.raises(AttributeError, match=name):
            getattr(cls, name)
    assert len(either.asked) == 5


def test_a_class_is_asked_for_what_no_class_here_has(other: Other):
    cls = other.cls(other.cls(offers="__len__"))
    assert (callable(cls.__len__), other.asked) == (True, [])
    assert (cls.__iter__, other.asked) == (8, [("get", cls, "__iter__")])


def test_what_the_script_names_is_asked_for_whatever_it_is_called(other: Other):
    thing, cls = other.thing(), other.cls()
    assert (getattr(thing, "__secret"), getattr(cls, "__secret")) == (8, 8)
    assert not any(hasattr(thing, name) for name in ("__other", "__iter__", "__array_struct__"))
    assert not any(hasattr(cls, name) for name in ("__other", "__array_struct__"))
    assert other.asked == [("get", thing, "__secret"), ("get", cls, "__secret")]


def test_what_abc_notes_of_a_class_stays_here(other: Other):
    cls = other.cls()
    cls._abc_impl = 1
    cls.__abstractmethods__ = frozenset()
    assert (own_dict(cls)["_abc_impl"], other.asked) == (1, [])


def test_proxies_have_no_documentation_of_this_half(other: Other):
    assert (RemoteObject.__doc__, other.asked) == (None, [])


def test_fields_of_a_dataclass(either: Other, monkeypatch: pytest.MonkeyPatch):
    thing = either.thing()
    shared = ("c", "_FIELD_CLASSVAR", True, True, True)
    either.answers["fields"] = [[("a", "_FIELD", True, True, True), ("b", "nonsense", True, False, True), shared]] * 3
    found = {each.name: each.repr for each in dataclasses.fields(thing)}
    assert found == {"a": True, "b": False}
    for wrong in (None, 8, (("a", "_FIELD", True, True, True),)):
        either.answers["fields"] = wrong
        assert not dataclasses.is_dataclass(thing)
    asked = len(either.asked)
    assert not hasattr(RemoteObject, "__dataclass_fields__")
    monkeypatch.delitem(sys.modules, "dataclasses")  # nobody here wants to see them
    assert not hasattr(type(thing), "__dataclass_fields__")
    assert len(either.asked) == asked


# ---- objects ---------------------------------------------------------------------------------------------------------


def test_what_an_object_is_asked(either: Other):
    thing = either.thing("__len__ __call__ __str__ __getitem__ close")
    either.answers.update(special=3)
    thing.name = thing.__dict__
    del thing.name
    assert (len(thing), thing[0], thing(1), thing.close(2)) == (3, 3, 8, 8)
    kinds = [each[:1] + each[2:3] for each in either.asked]
    assert kinds == [
        ("get", "__dict__"), ("set", "name"), ("del", "name"), ("special", "__len__"), ("special", "__getitem__"),
        ("call", (1,)), ("get", "close"), ("call", (2,)),
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
        assert (thing == thing, thing == 8, {thing} == {thing}, thing != 8) == (True, False, True, True)
        for asks in _WITH_A_VALUE:
            with pytest.raises(TypeError, match=r"of a A is for the candidate to say"):
                asks(thing)
        assert either.asked == []
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
        remote.give_number(new, 9)
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


def test_what_comes_of_a_made_object_and_a_value_is_another_object(other: Other):
    new, before = made(other, "__add__ __abs__")
    with pytest.raises(TypeError, match="is for the candidate to say"):
        new + 8
    assert other.asked.pop()[2:] == ("__add__", 8)
    other.answers["special"] = before
    assert new + 8 is before
    with pytest.raises(TypeError, match="is for the candidate to say"):
        before + 8  # what was handed over stays that
    fresh = object.__new__(type(new))

    def call() -> object:
        remote.give_number(fresh, 10)
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
    began = remote.now()
    new, value = other.thing(), number(other, HANDED_OVER, "__add__")
    error = BaseException.__new__(other.cls(ValueError))
    remote.give_number(error, 9)
    for each in (old, new, value, error):
        assert remote.marked(each, MADE, type(each), began, "of") is each
        assert remote.marked(each, DERIVED, int, began, "of") is each  # is none
    assert [remote.standing_of(each) for each in (old, new, value, error, 8)] == [
        HANDED_OVER, MADE, MADE, HANDED_OVER, HANDED_OVER
    ]  # fmt: skip
    assert [remote.is_made_since(each, began) for each in (old, new)] == [False, True]
    assert [remote.is_made_since(each, remote.now()) for each in (old, new)] == [False, True]
    assert remote.made_of(new) == "of"


def test_what_came_of_made_objects_alone_is_the_test_s(other: Other):
    began = remote.now()
    things = [other.thing() for _ in range(3)]
    for each, standing, of in zip(things, (MADE, DERIVED, DERIVED), ((8,), (OF_MADE, 1), (OF_VALUES, 1))):
        remote.marked(each, standing, type(each), began, of)
    assert [remote.is_of_the_test(each) for each in (*things, other.thing(), 8)] == [True, True, False, False, False]
    assert list(map(remote.operands_of, (*things, 8))) == [(), (OF_MADE, 1), (OF_VALUES, 1), ()]
    value = number(other, DERIVED, "__add__")  # whose operands nobody has noted
    assert remote.operands_of(value) == ()


def test_a_method_keeps_its_object_and_only_an_alias_stands_for_a_class(other: Other):
    cls, owner = other.cls(offers="__call__"), other.thing()
    given, made = (object.__new__(cls) for _ in range(2))
    began = remote.now()
    for each in (given, made):
        remote.give_number(each, 8)
    remote.marked(made, MADE, cls, began, "of")
    for each in (given, made):
        remote._keep_owner(each, owner)
    assert [remote.made_of(each) for each in (given, made)] == [owner, "of"]
    alias = other.thing()
    remote._keep_owner(alias, cls)
    assert list(map(remote.class_of_alias, (alias, given, other.thing(), 8, cls))) == [cls, None, None, None, None]
    assert list(map(remote.is_remote, (cls, alias, 8, int))) == [True, True, False, False]


def test_what_a_class_gives_that_was_there_is_looked_at_again(other: Other):
    again: list[Any] = []
    other.note_again = lambda value, *_: again.append(value)  # type: ignore[method-assign]
    cls = other.cls()
    old = object.__new__(cls)
    remote.give_number(old, 7)
    other.answers["call"] = old
    assert (cls(1) is old, again) == (True, [old])

    def new() -> Any:
        made = object.__new__(cls)
        remote.give_number(made, 8)
        return made

    other.answers["call"] = new
    assert (remote.standing_of(cls(1)), again) == (MADE, [old])
    other.means = False
    assert (remote.standing_of(cls(1)), again) == (HANDED_OVER, [old])


def test_what_the_test_has_made_is_found_by_its_hash(other: Other):
    new, before = made(other, "__eq__ __hash__")
    assert (hash(new), hash(before)) == (8, 8)
    other.means = False
    assert (hash(new), hash(before)) == (8, object.__hash__(before))
    other.means = True
    new, _ = made(other, "__eq__")
    assert hash(new) == object.__hash__(new)
    with pytest.raises(TypeError, match="unhashable"):
        hash(other.thing("__eq__ -__hash__ -__dict__"))
    assert not callable(other.thing("-__call__").__call__)


def test_of_two_objects_their_class_says_what_differs_and_not_alone_what_does_not(other: Other):
    one = other.thing("__ne__")
    two = object.__new__(type(one))
    remote.give_number(two, 8)
    other.answers["special"] = [True, True, False, False]
    assert (one != two, one != one, one != one) == (True, True, False)
    with pytest.raises(TypeError, match="is for the candidate to say"):
        one != two
    assert [each[2:] for each in other.asked] == [("__ne__", two), ("__ne__", one), ("__ne__", one), ("__ne__", two)]
    other.means = False
    assert (one != two, one != one, one != 8, len(other.asked)) == (True, False, True, 4)


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
    # The class is told what is looked for where its items hold it.
    assert "".join(each[2][2] for each in either.asked) == "icicici" + "ic" + "i"
    assert [isinstance(each, Container) for each in (thing, iterable)] == [True, False]


def test_what_an_object_says_it_is_of(other: Other):
    thing = other.thing(stands=map)
    assert (isinstance(thing, map), isinstance(other.thing(), map), type(thing).__name__) == (True, False, "A")
    assert not hasattr(type(thing), "__get__")


def test_an_array_of_the_other_side_is_the_plain_one_that_it_is(other: Other):
    numpy = pytest.importorskip("numpy")
    thing = other.thing("__array__")
    other.answers["special"] = numpy.array([1, 2])
    assert numpy.asarray(thing).dtype == int
    assert numpy.asarray(thing, dtype=float).dtype == float
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
    remote.give_number(found, 9)

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


# ---- values and errors -----------------------------------------------------------------------------------------------


def test_a_value_answers_for_itself(either: Other):
    cls = either.cls(list, offers="__len__ __iter__ __eq__ __call__ __str__", overrides="append __reversed__ __init__")
    value = cls.__new__(cls)
    list.extend(value, [1])
    remote.give_number(value, 7)
    assert (value == [1], len(value), list(value), either.asked) == (True, 1, [1], [])
    either.answers["get"] = lambda: len
    assert (value.append([2]), cls.append, reversed(value)) == (1, len, 8)
    assert [each[0::2] for each in either.asked] == [("get", "append"), ("get", "append"), ("special", "__reversed__")]
    value.append = 3
    assert either.asked[-1][0::2] == ("set", "append")
    sub = either.cls(cls)
    assert (sub.__mro__[1], issubclass(sub, list)) == (cls, True)
    mixed = either.cls(either.cls(), list)
    assert (issubclass(mixed, RemoteObject), issubclass(mixed, list)) == (False, True)


def test_an_error_tells_what_it_told(either: Other):
    cls = either.cls(ValueError, offers="__str__ __repr__ __len__ __enter__", overrides="append")
    made: Any = cls.__new__(cls, 8)
    assert {"append", "__len__", "__enter__"} & set(own_dict(cls)) == {"__len__", "__enter__"}
    assert (str(made), repr(made)) == ("", "A(8)")
    BaseException.__setattr__(made, "_remote_text", "eight")
    BaseException.__setattr__(made, "_remote_repr", "<eight>")
    assert (str(made), repr(made), either.asked) == ("eight", "<eight>", [])
    made.__notes__ = ["a"]
    assert (vars(made)["__notes__"], either.asked) == (["a"], [])
    made.code = 3
    thing = either.thing()
    thing.__wrapped__ = 4
    assert [each[0::2] for each in either.asked] == [("set", "code"), ("set", "__wrapped__")]


def test_copies_are_the_other_side_s(either: Other):
    thing, own = either.thing(), either.thing("__copy__ __deepcopy__")
    assert not hasattr(thing, "__copy__")
    for each in (thing, own):
        assert (copy.copy(each), copy.deepcopy(each)) == (8, 8)
    assert [each[0::2] for each in either.asked] == [("copy", False), ("copy", True)] * 2


# ---- what a class of values has its own of ---------------------------------------------------------------------------


def number(other: Other, standing: int, overrides: str, value: int = 7) -> Any:
    cls = other.cls(int, overrides=overrides)
    found = cls.__new__(cls, value)
    remote.give_number(found, 7)
    return remote.marked(found, standing, cls, 0)


def test_what_a_function_returned_is_not_reckoned_with_a_value_of_the_test_s(other: Other):
    found = number(other, remote.HANDED_OVER, "__add__ __radd__ __lt__ __ne__ __neg__ __eq__ __hash__")
    for asks in (
        lambda: found + 1,
        lambda: 1 + found,
        lambda: found < 8,
        lambda: found != 8,
        lambda: found + Fraction(1),
    ):
        with pytest.raises(TypeError, match="is for the candidate to say;"):
            asks()
    assert (found == 7, found - 1, other.asked) == (True, 6, [])
    other.answers["special"] = [14, -7, True, 15, -8, NotImplemented]
    same = number(other, remote.HANDED_OVER, "")
    assert (found + same, -found) == (14, -7)
    with pytest.raises(TypeError, match="is not what the plain type gives"):
        found < same
    for asks in (lambda: found + same, lambda: -found):
        with pytest.raises(TypeError, match="is not what the plain type gives"):
            asks()
    other.answers["special"] = [thing := other.thing(), NotImplemented]
    assert found + same is thing  # which the plain type has nothing to say of
    assert (found + same, hash(found)) == (14, 7)  # what is equal to a number has its hash


def test_what_the_test_has_made_is_what_its_class_says(other: Other):
    new = number(other, remote.MADE, "__add__ __lt__ __round__")
    other.answers["special"] = [3, True, 9, 8, 5]
    assert (new + new, new < new, round(new, 2), new + 1) == (3, True, 9, 8)
    with pytest.raises(TypeError, match="is not what the plain type gives"):
        new + 1


def test_a_descriptor_of_the_program_s_is_in_no_class_of_the_script_s(other: Other):
    with pytest.raises(Exception, match=r"set_name|gives attribute") as caught:  # up to 3.11 another error says so
        type("Mine", (), {"name": other.thing("__get__")})
    why = str(caught.value.__cause__ or caught.value)
    assert why == "a A of the program gives attribute name of class Mine, which is the script's: require IN_PROCESS"


def test_a_class_of_values_has_its_own_of_what_the_plain_type_has():
    found = {name: own_of_value(name, int, True) for name in ("real", "more", "_real", "__eq__")}
    assert [name for name, method in found.items() if method is not None] == ["real"]


def test_what_is_looked_for_is_found_by_the_plain_type_and_by_the_class(other: Other):
    cls = other.cls(list, overrides="__contains__ count index")
    value = cls.__new__(cls)
    list.extend(value, [1])
    remote.give_number(value, 7)
    other.answers["special"] = [True, False]
    assert (2 in value, 1 in value, 1 in value, len(other.asked)) == (False, True, False, 2)
    other.answers["get"] = [lambda: lambda _: 1, lambda: lambda _: 2, lambda: lambda _: 0, lambda: lambda _: 3, 5]
    assert value.count(1) == 1
    for asks in (lambda: value.count(1), lambda: value.index(2)):
        with pytest.raises(TypeError, match="is not what the plain type gives"):
            asks()
    remote.marked(value, remote.MADE, cls, 0)
    assert (value.count(1), value.index) == (3, 5)
    other.answers["special"] = [True]
    assert 2 in value


def test_a_class_removes_only_what_the_plain_type_holds_and_compares_as_that_does(other: Other):
    cls = other.cls(set, overrides="remove discard difference union")
    value = cls.__new__(cls)
    set.update(value, [1, 2])
    remote.give_number(value, 7)
    other.answers["get"] = [lambda: lambda _: 8 for _ in range(3)]
    assert (value.discard(3), value.remove(2)) == (None, 8)
    with pytest.raises(KeyError):
        value.remove(3)
    other.answers["get"] = [lambda: lambda _: {1}, lambda: lambda _: {1}]
    assert value.difference({2}) == {1}
    with pytest.raises(TypeError, match="is not what the plain type gives"):
        value.union({7})


def test_nothing_is_asked_while_a_message_is_read(either: Other):
    thing, end = either.thing("__eq__ __hash__"), placing.Placing()
    equal = object.__new__(type(thing))
    remote.give_number(equal, 8)
    held: Any = set()
    table: Any = {}
    end.during(held.update, [thing, equal])
    end.during(table.update, {})
    assert (len(held), either.asked, placing.is_reading()) == (2, [], False)
    end.during(lambda: table.update(dict.fromkeys([thing, equal], 1)))
    assert (end.during(lambda: thing == equal), either.asked) == (False, [])
    either.answers["special"] = [5, 5, 5, ValueError(), 5]
    end.again([], [held, table, []])
    assert [each[2] for each in either.asked] == ["__hash__"] * 4
    either.answers["special"] = [5, 5]
    assert (thing in held, thing in table, len(held), len(table)) == (True, True, 2, 2)


# ---- what runs in steps ----------------------------------------------------------------------------------------------


def test_a_step_of_a_generator_is_a_call_and_one_of_an_awaitable_is_driven(either: Other):
    either.answers["get"] = either.cls()
    generator = either.thing("__iter__ __next__ send throw close")
    generator.send(1)
    assert [(each[0], each[2]) for each in either.asked] == [("get", "send"), ("call", (1,))]
    assert either.ended == [StopIteration]
    del either.asked[:]
    awaitable = either.thing("__await__ send")
    awaitable.send(1)
    assert [each[0] for each in either.asked] == (["drive"] if either.is_test else ["get", "call"])
    del either.asked[:]
    either.thing("send").send(1)
    assert ([each[0] for each in either.asked], len(either.ended)) == (["get", "call"], 2)


FAILED, MISSING = AssertionError("7 is expected"), KeyError("a")


def blamed(error: BaseException) -> BaseException:
    """That error as one that was raised here."""
    try:
        raise error
    except BaseException as raised:
        return raised


@pytest.mark.parametrize(
    ("is_own", "error", "says", "is_dealt_with"),
    [
        (True, MISSING, True, True),
        (True, MISSING, False, False),
        (False, MISSING, True, False),
        (False, FAILED, True, False),
        (True, None, True, False),
    ],
)
def test_a_context_manager_deals_with_what_the_script_raised_by_itself(
    either: Other, is_own: bool, error: BaseException | None, says: bool, is_dealt_with: bool
):
    manager = either.thing("__enter__ __exit__ __aexit__")
    either.is_own, either.answers["special"] = is_own, says
    assert manager.__exit__(type(error), error, None) is (is_dealt_with if either.is_test else says)
    told = either.asked[0][4]
    assert told is error if error is not FAILED or not either.is_test else told.args == ()

    async def waits() -> bool:
        return says

    if either.is_test:
        either.answers["special"] = waits()
        with pytest.raises(StopIteration) as info:
            manager.__aexit__(type(error), error, None).send(None)
        assert info.value.value is is_dealt_with


@pytest.mark.parametrize(
    ("is_own", "error", "goes_on"),
    [
        (True, blamed(KeyError("a")), False),
        (False, blamed(KeyError("a")), True),
        (False, KeyError("a"), False),
        (True, AssertionError("7 is expected"), True),
        (True, KeyError, False),
    ],
)
@pytest.mark.parametrize("ends", [False, True])
def test_what_is_thrown_into_a_generator_goes_on_unless_it_is_the_script_s(
    either: Other, is_own: bool, error: Any, goes_on: bool, ends: bool
):
    generator = either.thing("__next__ throw")
    either.is_own = is_own
    either.answers["call"] = StopIteration() if ends else 5
    expected: Any = type(error) if goes_on and either.is_test and not isinstance(error, type) else StopIteration
    if expected is not StopIteration or ends:
        with pytest.raises(expected) as info:
            generator.throw(error)
        assert expected is StopIteration or info.value is error
    else:
        assert generator.throw(error) == 5
    assert either.ended == [StopIteration]
    (told,) = either.asked[-1][2]
    assert told is error if type(error) is not AssertionError or not either.is_test else told.args == ()


def test_of_a_class_and_an_error_the_error_is_thrown(either: Other):
    generator, error = either.thing("__next__ throw"), KeyError("a")
    either.answers["call"] = 5
    assert generator.throw(KeyError, error) == 5
    assert either.asked[-1][2] == (error,)


@pytest.mark.parametrize("thrown", [GeneratorExit, GeneratorExit()])
def test_a_generator_that_is_closed_may_say_that_it_is(either: Other, thrown: Any):
    either.thing("__next__ throw").throw(thrown)
    assert either.ended == [(StopIteration, GeneratorExit)]


def test_what_is_awaited_is_stepped_until_its_end(other: Other):
    awaited = other.thing("__await__")
    other.answers["drive"] = [None, None, StopIteration(7)]

    async def waits() -> object:
        return await awaited

    assert asyncio.run(waits()) == 7
    assert [each[2:] for each in other.asked] == [("send", None)] * 3


def test_what_is_thrown_into_an_await_is_thrown_there(other: Other):
    run = runs.await_(other.thing("__await__"))
    other.answers["drive"] = [None, StopIteration(7)]
    run.send(None)
    with pytest.raises(StopIteration) as info:
        run.throw(KeyError("a"))
    assert (info.value.value, other.asked[-1][2]) == (7, "throw")
    run = runs.await_(other.thing("__await__"))
    other.answers["drive"] = [None]
    run.send(None)
    asked = len(other.asked)
    run.close()
    assert len(other.asked) == asked


def test_the_next_item_may_be_none(other: Other):
    step = other.thing("__anext__").__anext__().__await__()
    other.answers.update(special=other.thing("__await__"), drive=StopIteration(7))
    with pytest.raises(StopIteration):
        step.send(None)
    assert other.ended == [StopAsyncIteration, (StopIteration, StopAsyncIteration)]
