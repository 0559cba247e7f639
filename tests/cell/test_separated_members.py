"""Members of the program's enums: which objects a script has read from their class, and until when they are that."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import facts, members
from other_half import Other, other_half  # noqa: F401 - a fixture among them

ENUM = "<enum:Enum"


def member_of(cls: Any, number: int = 9) -> Any:
    made = object.__new__(cls)
    facts.give_number(made, number)
    return made


@pytest.mark.parametrize(
    ("offers", "is_one"),
    [(ENUM, True), ("<enum:IntFlag", False), ("", False), (f"{ENUM} __lt__", True), (f"{ENUM} __eq__", False)],
)
def test_whose_members_are_read(other: Other, offers: str, is_one: bool):
    cls = other.cls(offers=offers)
    assert members.is_of_members(cls) is is_one
    assert members.read_from(cls, lambda: member_of(cls)) is not None
    assert members.is_read(members.read_from(cls, lambda: member_of(cls))) is is_one


def test_a_base_that_says_what_is_equal_is_asked_about_its_members(other: Other):
    plain, with_equal = other.cls(), other.cls(offers="__eq__")
    assert members.is_of_members(other.cls(plain, offers=ENUM))
    assert not members.is_of_members(other.cls(with_equal, offers=ENUM))


def test_what_was_here_before_it_was_read_is_no_member(other: Other):
    cls = other.cls(offers=ENUM)
    given = member_of(cls)
    assert members.read_from(cls, lambda: given) is given
    assert not members.is_read(given)
    read = members.read_from(cls, lambda: member_of(cls))
    assert members.read_from(cls, lambda: read) is read
    assert members.is_read(read)


def test_only_an_object_of_that_class_itself_is_its_member(other: Other):
    cls = other.cls(offers=ENUM)
    another, derived = other.cls(offers=ENUM), other.cls(cls, offers=ENUM)
    for give in (lambda: member_of(another), lambda: member_of(derived), lambda: 5, lambda: cls, lambda: [1]):
        assert not members.is_read(members.read_from(cls, give))


def test_a_class_whose_objects_are_values_has_none(other: Other):
    cls = other.cls(int, offers=ENUM)
    assert not members.is_of_members(cls)
    made = cls.__new__(cls, 5)
    facts.give_number(made, 3)
    assert members.read_from(cls, lambda: made) is made
    assert not members.is_read(made)


def test_an_error_is_no_member(other: Other):
    cls = other.cls(ValueError, offers=ENUM)
    made = cls()
    assert members.is_of_members(cls)
    assert members.read_from(cls, lambda: made) is made
    assert not members.is_read(made)


def test_what_comes_again_while_nothing_is_read_is_none_any_more(other: Other):
    cls = other.cls(offers=ENUM)

    def read() -> Any:
        return members.read_from(cls, lambda: member_of(cls))

    first, second, third = read(), read(), read()
    members.has_come_back(first, False)  # a function of the program has returned it
    assert [members.is_read(each) for each in (first, second)] == [False, True]

    def ask(is_question: bool, value: Any) -> Any:
        members.has_come_back(value, is_question)
        return value

    members.read_from(cls, lambda: ask(False, second))
    assert members.is_read(second), "its class gave it again"
    members.read_from(cls, lambda: ask(True, second))
    assert not members.is_read(second), "the program handed it over in a question while its class was asked"

    def give_another_thread() -> None:
        thread = threading.Thread(target=members.has_come_back, args=(third, False))
        thread.start()
        thread.join()

    members.read_from(cls, give_another_thread)
    assert not members.is_read(third), "another thread got it meanwhile"


def test_a_question_that_fails_reads_no_longer(other: Other):
    cls = other.cls(offers=ENUM)
    read = members.read_from(cls, lambda: member_of(cls))

    def fail() -> Any:
        raise KeyError("XL")

    with pytest.raises(KeyError):
        members.read_from(cls, fail)
    members.has_come_back(read, False)
    assert not members.is_read(read)


def test_reading_within_a_reading_ends_with_the_outer_one(other: Other):
    cls = other.cls(offers=ENUM)
    read = members.read_from(cls, lambda: member_of(cls))

    def outer() -> Any:
        members.read_from(cls, lambda: None)
        members.has_come_back(read, False)

    members.read_from(cls, outer)
    assert members.is_read(read)


def test_what_has_come_back_and_is_no_member_stays_what_it_is(other: Other):
    given = member_of(other.cls(offers=ENUM))
    members.has_come_back(given, True)
    assert not members.is_read(given)


def test_members_and_what_the_script_has_made_are_asked_of_each_other(other: Other):
    cls = other.cls(offers=ENUM)
    read = members.read_from(cls, lambda: member_of(cls))
    made, given = facts.marked(member_of(cls), facts.MADE, cls, 0), member_of(cls)
    assert members.are_read(read, made)
    assert members.are_read()
    for others in [(read, given), (given, read), (given,), (read, 5), (read, cls)]:
        assert not members.are_read(*others)


def test_the_candidate_s_half_reads_none_of_the_script_s(other: Other):
    """There a class is asked in the same way, and nothing is compared by it."""
    other.is_test = False
    cls = other.cls(offers=ENUM)
    assert members.read_from(cls, lambda: 5) == 5


def test_each_way_a_script_reads_a_member(other: Other):
    cls = other.cls(offers=ENUM)
    other.answers.update(get=lambda: member_of(cls), special=lambda: member_of(cls), call=lambda: member_of(cls))
    assert all(map(members.is_read, (cls.S, cls["S"], cls(1))))
    iterator = member_of(other.cls(offers="__iter__ __next__"))
    found = [member_of(cls, 11), member_of(cls, 12)]
    for go_through in (iter, reversed):
        other.answers["special"] = [iterator, *found, StopIteration()]
        assert all(one is other for one, other in zip(go_through(cls), found))
    assert [members.is_read(each) for each in found] == [False, False], "these were here before"
    other.answers["special"] = [iterator, lambda: member_of(cls), lambda: member_of(cls), StopIteration()]
    assert [members.is_read(each) for each in reversed(cls)] == [True, True]
