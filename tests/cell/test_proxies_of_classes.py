"""What a proxy of a class of the other half's asks that half, and what it decides here."""

from __future__ import annotations

import dataclasses
import sys
import threading
import unittest
from types import FunctionType, MethodType
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import facts
from cruxcell.jobs.separated.proxies.remote import RemoteBase, RemoteObject, RemoteType
from other_half import Other, connected, either_half, other_half, own_dict  # noqa: F401 - fixtures among them


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
def test_what_cannot_be_a_class_of_the_other_half(other: Other, name: str, more: tuple, members: dict, why: str):
    other.answers["derive"] = other.cls()
    with pytest.raises(TypeError, match=why):
        type(name, (*more, other.cls()), members)


def test_a_descriptor_of_the_program_s_learns_where_the_test_has_it_if_it_is_no_function(either: Other):
    kinds = [either.cls(), either.cls(offers="__get__"), either.cls(offers="__get__", stands=FunctionType)]
    assert ["__set_name__" in own_dict(each) for each in kinds] == [False, either.is_test, False]


def test_a_candidate_derives_from_no_class_of_the_test():
    candidate = connected(Other(False))
    with pytest.raises(TypeError, match="of the test cannot be subclassed"):
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
    facts.give_number(thing, 8)
    assert (thing.f(), thing.Make(), thing.p, len(thing), mine.n, mine() is thing) == (5, 4, 6, 7, 8, True)
    assert "__mine__" not in type.__getattribute__(made, "__dict__"), "what has no meaning to Python is over there"
    with pytest.raises(AttributeError):
        thing.p = 1
    thing.f = 1
    assert thing.f == 8, "what it was given since is over there"
    second = object.__new__(made)
    facts.give_number(second, 9)
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
    facts.give_number(thing, 9)
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


def test_the_test_prints_a_class_as_it_is_over_there(other: Other):
    cls = other.cls()
    other.answers["special"] = "<class 'library.Thing'>"
    assert (str(cls), f"{cls}", other.asked) == ("<class 'library.Thing'>",) * 2 + ([("special", cls, "__repr__")] * 2,)
    for said in (8, ""):
        other.answers["special"] = said
        assert repr(cls) == type.__repr__(cls)
    assert repr(RemoteObject) == type.__repr__(RemoteObject)


def test_a_class_equals_the_one_of_a_library_that_it_stands_for(either: Other):
    cls = either.cls(stands=threading.Thread)
    assert (cls == threading.Thread) is (threading.Thread == cls) is either.is_test
    assert cls not in [threading.Timer, either.cls(), either.cls(stands=threading.Thread), 1]
    assert (either.cls(stands=FunctionType) == FunctionType) is either.is_test
    assert either.cls(stands=FunctionType) not in [MethodType, None]


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


def test_a_method_leads_the_program_alone_to_its_function(either: Other):
    """What the script has leads to nothing that the program has not handed out."""
    assert ("__func__" in own_dict(type(either.thing(stands=MethodType)))) is not either.is_test
    assert "__func__" not in own_dict(type(either.thing(stands=FunctionType)))
