"""Members of enums that a script reads from their class: which questions ask a class, what an answer makes of them."""

from __future__ import annotations

from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import facts, members
from cruxcell.jobs.separated.proxies.facts import MADE
from other_half import Other, other_half  # noqa: F401 - a fixture among them


@pytest.mark.parametrize(
    ("operation", "of", "name", "is_asked"),
    [
        ("get", "class", "S", True),
        ("special", "class", "__getitem__", True),
        ("call", "class", "", True),
        ("special", "iterator", "__next__", True),
        ("call", "iterator", "", True),
        ("special", "class", "__next__", False),
        ("special", "class", "__iter__", False),
        ("set", "class", "S", False),
        ("get", "iterator", "S", False),
        ("special", "iterator", "__getitem__", False),
        ("get", "thing", "S", False),
        ("call", "thing", "", False),
        ("special", "thing", "__next__", False),
        ("call", "own", "", False),
        ("get", "own", "S", False),
        ("call", "function", "", False),
    ],
)
def test_which_questions_ask_a_class_for_what_it_has_or_makes(
    other: Other, operation: str, of: str, name: str, is_asked: bool
):
    cls, iterator = other.cls(), other.thing("__next__")
    facts.keep_owner(iterator, cls)
    target = {"class": cls, "iterator": iterator, "thing": other.thing("__next__"), "own": int, "function": len}[of]
    found = members.class_asked(operation, [target, name], lambda _: True)
    assert found is (cls if is_asked else None)
    meant = members.class_asked(operation, [target, name], lambda _: False)
    assert meant is (None if operation == "call" else found), "what the script calls by the name of a function"


def test_no_class_is_asked_by_a_question_without_one():
    for operation in ("names", "threads"):
        assert members.class_asked(operation, [], bool) is None
    assert members.class_asked("call", [None, ""], bool) is None


def test_a_member_is_one_as_long_as_it_comes_of_its_class_alone(other: Other):
    cls = other.cls(offers="<enum:Enum")
    for comes, is_one in [
        ([cls], True),
        ([cls, cls], True),
        ([None], False),
        ([cls, None, cls], False),
        ([int], False),
    ]:
        thing: Any = object.__new__(cls)
        facts.give_number(thing, 7)
        for each in comes:
            facts.has_come(thing, each)
        assert (members.is_read(thing), facts.was_handed_over(thing)) == (is_one, not is_one)
        assert members.are_read(thing, thing) is is_one
        facts.marked(thing, MADE, cls, 0)
        assert members.are_read(thing), "the script has made it"


def test_other_objects_are_no_members(other: Other):
    with_own = other.cls(offers="<enum:Enum __eq__")
    heir = other.cls(with_own, offers="<enum:Enum")
    for cls in (other.cls(), with_own, heir, other.cls(heir, offers="<enum:Enum")):
        thing: Any = object.__new__(cls)
        facts.give_number(thing, 7)
        facts.has_come(thing, cls)
        assert not members.is_read(thing)
    of_errors = other.cls(Exception, offers="<enum:Enum")
    assert not members.is_of_members(other.cls(int, offers="<enum:Enum")), "numbers say what is equal"
    for value in (8, of_errors.__new__(of_errors)):  # nobody notes how an error has come
        assert not members.is_read(value)
    assert not facts.was_handed_over(8)
