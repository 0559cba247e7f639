"""What a class or an object of the other half has here, what it is asked for there, and what is noted of it."""

from __future__ import annotations

import inspect
import io
import types
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import facts, remote
from cruxcell.jobs.separated.proxies.facts import HANDED_OVER, MADE
from cruxcell.jobs.separated.proxies.remote import RemoteBase, RemoteObject
from other_half import Other, connected, either_half, other_half, own_dict  # noqa: F401 - fixtures among them


def test_what_a_class_holds_the_candidate_says_and_the_test_does_not(either: Other):
    cls = either.cls()
    either.answers["members"] = {"a": 1}
    if either.is_test:
        assert (cls.__dict__, type(cls.__dict__)) == ({"a": 1}, types.MappingProxyType)
        either.answers["derive"] = either.cls(cls)
        mine: Any = type("Mine", (cls,), {"f": len, "g": lambda _self: 1})
        assert set(mine.__dict__) == {"a", "g"}
        assert cls.__annotations__ == 8
    else:
        assert ("_remote_class" in cls.__dict__, either.asked) == (True, [])


@pytest.mark.parametrize("name", ["__setattr__", "__delattr__", "__dir__", "__reduce_ex__"])
def test_what_all_objects_have_a_class_has_where_it_has_none_of_its_own(either: Other, name: str):
    cls = either.cls()
    for has, found in [(0, getattr(object, name)), (1, 8)]:
        either.answers["members"] = has
        assert getattr(cls, name) == (found if either.is_test else own_dict(RemoteBase)[name])
    asked = [("members", cls, name), ("members", cls, name), ("get", cls, name)]
    assert either.asked == asked * either.is_test


def test_how_an_object_is_made_is_asked_for_where_the_script_names_that(either: Other):
    error, cls = either.cls(ValueError), either.cls()
    either.answers.update(members=0, outline=AttributeError())
    assert (error.__init__, cls.__init__) == (ValueError.__init__, object.__init__)
    del either.asked[:]
    for named in (False, True):
        either.named |= {"__new__"} if named else set()
        assert cls.__new__ == (8 if named and either.is_test else object.__new__)
    assert either.asked == [("get", cls, "__new__")] * either.is_test


def test_a_class_has_the_signature_of_its_own_init(either: Other):
    cls = either.cls()
    either.answers.update(members=1, get=lambda: lambda _self, a, b=1: (a, b))
    if not either.is_test:
        either.answers["outline"] = ((3, 0, 0, ("self", "a", "b"), 0), (1,), None, {"a": int})
        assert str(inspect.signature(cls)) == "(a: int, b=1)"
        assert inspect.isfunction(cls.__init__)
        assert inspect.getfullargspec(cls.__init__).args == ["self", "a", "b"]
        assert str(inspect.signature(cls.__init__)) == "(self, a: int, b=1)"
        assert cls.__init__(cls.__new__(cls)) is None
        either.answers["outline"] = ((0, 0, 0, (), 0), None, None, {})
        assert str(inspect.signature(cls)) == "()"
        assert cls.__init__ is object.__init__
        either.answers["outline"] = AttributeError()
        assert not hasattr(cls, "__signature__")
        return
    assert str(inspect.signature(cls)) == "(a, b=1)"
    either.answers["members"] = lambda: either.asked[-1][2] == "__new__"
    assert str(inspect.signature(cls)) == "(a, b=1)"
    assert either.asked[-1] == ("get", cls, "__new__")
    either.answers["members"] = 0
    plain = either.cls(offers="<abc:ABC <typing:Generic")
    assert [str(inspect.signature(each)) for each in (cls, plain)] == ["()", "()"]
    for each in (either.cls(offers="<threading:Thread"), either.cls(ValueError), either.cls(dict)):
        assert not hasattr(each, "__signature__"), "as the library has it"


def test_a_dataclass_of_the_script_s_is_none_of_the_program_s(other: Other):
    base = other.cls()
    other.answers["derive"] = other.cls(base)
    mine: Any = type("Mine", (base,), {})
    mine.x = mine.X = base.__dataclass_fields__ = {}
    with pytest.raises(TypeError, match="a dataclass of the script"):
        mine.__dataclass_fields__ = {}
    assert {each[2] for each in other.asked[1:]} == {"x", "X", "__dataclass_fields__"}


def test_what_looks_at_names_and_derived_classes_asks_the_candidate_alone(either: Other):
    cls, thing = either.cls(), either.thing()
    below = either.cls(cls)
    either.answers.update(dir=lambda: ["a", "b"], subclasses=lambda: [below, cls])
    found = [dir(cls), dir(thing), cls.__subclasses__()]
    if either.is_test:
        assert found == [["a", "b"], ["a", "b"], [below, cls]]
        assert [each[0] for each in either.asked] == ["dir", "dir", "subclasses"]
    else:
        assert ("__reduce_ex__" in found[0], "__reduce_ex__" in found[1], found[2]) == (True, True, [below])
        assert [each[0] for each in either.asked] == ["get"], "as `object.__dir__` looks into its __dict__"


@pytest.mark.parametrize("said", [None, ("a",), ["a", 1]])
def test_a_candidate_that_says_no_names_is_refused(other: Other, said: object):
    other.answers.update(dir=lambda: said, subclasses=lambda: said)
    for asks in (lambda: dir(other.thing()), other.cls().__subclasses__):
        with pytest.raises(TypeError, match=r"the candidate does not say what '(A|RemoteType)' has"):
            asks()


@pytest.mark.parametrize("means", [True, False])
def test_what_is_between_brackets_behind_a_class_stands_for_it(other: Other, means: bool):
    cls, old = other.cls(), other.thing()
    other.means = means
    for found in (8, int, old):
        other.answers["special"] = lambda found=found: found
        assert cls[int] is found
    other.answers["special"] = other.thing
    assert remote.class_of_alias(cls[int]) is (cls if means else None)
    assert remote.class_of_alias(old) is None, "a function that was returned before, perhaps"


def test_a_method_keeps_what_the_test_has_made(other: Other):
    began, owner, given = facts.now(), other.thing(), other.thing()
    facts.marked(owner, MADE, type(owner), began)
    for whose, what, is_kept in [(owner, "__call__", True), (owner, "__len__", False), (given, "__call__", False)]:
        method = other.thing(what)
        other.answers["get"] = lambda method=method: method
        assert whose.where is method
        if is_kept:
            assert facts.made_of(method) is whose
        else:
            with pytest.raises(AttributeError):
                facts.made_of(method)
    other.answers["get"] = lambda: len
    assert owner.where is len


def test_a_signature_that_a_library_notes_is_not_told_to_the_test(either: Other):
    thing = either.thing()
    thing.__signature__ = thing.x = 1
    assert [each[2] for each in either.asked] == ["__signature__", "x"][not either.is_test :]


def test_of_an_object_that_is_pickled_its_half_says_what_that_is(other: Other):
    thing = other.thing()
    assert thing.__reduce_ex__(4) == ("reduced", thing, 4)


def test_a_function_makes_nothing_that_the_test_has_made(other: Other):
    again: list[Any] = []
    other.note_again = lambda value, *_: again.append(value)  # type: ignore[method-assign]
    thing = other.thing()
    other.answers["call"] = thing
    assert remote.make(None, len, (1,), {"a": 2}) is thing
    assert (other.asked, again, facts.standing_of(thing)) == ([("call", len, (1,), {"a": 2})], [], HANDED_OVER)


def test_a_value_that_was_there_is_not_what_the_test_has_made(other: Other):
    cls = other.cls(int, offers="__add__")
    old, new, unknown = (cls.__base__.__new__(cls, 3) for _ in range(3))
    facts.give_number(old, 7)
    began = facts.now()
    facts.give_number(new, 8)
    for each in (old, new, unknown):
        facts.marked(each, MADE, cls, began)
    assert list(map(facts.standing_of, (old, new, unknown))) == [HANDED_OVER, MADE, HANDED_OVER]


def test_an_object_that_has_come_since_is_new_whoever_made_it(other: Other):
    old, began = other.thing(), facts.now()
    new = other.thing()
    assert [facts.is_made_since(each, began) for each in (old, new)] == [False, True]
    assert issubclass(type(new), RemoteObject)


def test_the_program_makes_its_own_objects_of_a_class_of_the_library_that_came_with_an_object(either: Other):
    either.means = False
    made = either.cls(stands=io.StringIO)("a")
    assert (type(made) is io.StringIO) is not either.is_test
    assert len(either.asked) == either.is_test
