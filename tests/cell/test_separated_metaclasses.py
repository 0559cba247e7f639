"""What the class of a class says of it: told by one half, and had by the class that the other makes of it."""

from __future__ import annotations

import abc
import enum
import operator
from collections.abc import Callable
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies.metaclasses import is_said, metaclass_for, said_by_metaclass
from cruxcell.jobs.separated.proxies.remote import RemoteType
from other_half import Other, connected, either_half, other_half  # noqa: F401 - fixtures among them


class Meta(type):
    def __add__(cls, other: object) -> int:
        return 1

    def __eq__(cls, other: object) -> bool:
        return True

    def __len__(cls) -> int:
        return 1

    def __call__(cls, *given: object) -> int:
        return 1

    def __deepcopy__(cls, memo: object) -> int:
        return 1


class More(Meta):
    def __lt__(cls, other: object) -> bool:
        return True

    def __instancecheck__(cls, value: object) -> bool:
        return True

    __module__ = "a_program"


def test_what_is_told_of_the_class_of_a_class():
    assert said_by_metaclass(int) == []
    assert sorted(said_by_metaclass(Meta("A", (), {}))) == [
        "type.-__hash__",
        "type.__add__",
        "type.__eq__",
        "type.__len__",
    ]
    said = said_by_metaclass(More("A", (), {}))
    assert {"type.__add__", "type.__lt__", "type.__instancecheck__"} < set(said)
    assert (is_said(said, "__instancecheck__"), is_said(said, "__subclasscheck__")) == (True, False)
    assert "type.__contains__" in said_by_metaclass(enum.Enum)
    assert said_by_metaclass(abc.ABC) == []  # what is one of it, the library says


def test_a_class_is_of_a_class_that_has_what_is_told_and_nothing_else(either: Other):
    plain, long = either.cls(), either.cls(offers="type.__len__ type.__nonsense__ type.__call__")
    assert (type(plain), type(either.cls(plain))) == (RemoteType, RemoteType)
    assert (type(long) is RemoteType, type(long) is type(either.cls(offers="type.__len__"))) == (False, True)
    assert (type(either.cls(long)), type(either.cls(long, offers="type.__len__"))) == (type(long), type(long))
    more = either.cls(long, offers="type.__len__ type.__add__")
    assert issubclass(type(more), type(long))
    other = either.cls(offers="type.__neg__")
    both = either.cls(more, other, plain)
    assert type(both).__mro__[1:5] == (type(more), type(long), type(other), RemoteType)
    assert (metaclass_for((long, more), []), metaclass_for((more, long), [])) == (type(more), type(more))
    assert [hasattr(type(each), "__neg__") for each in (more, both)] == [False, True]
    assert bool(plain) is True
    either.answers["special"] = False
    assert bool(long) is False
    assert either.asked == [("special", long, "__bool__")]


@pytest.mark.parametrize(
    ("name", "does"),
    [
        ("__add__", lambda cls: cls + 1), ("__radd__", lambda cls: 1 + cls), ("__lt__", lambda cls: cls < 1),
        ("__neg__", operator.neg), ("__abs__", abs),
    ],
)  # fmt: skip
def test_what_would_tell_it_a_value_is_refused(other: Other, name: str, does: Callable[[Any], object]):
    with pytest.raises(TypeError, match=r"^((bad operand|unsupported)|'<' not)"):
        does(other.cls())
    with pytest.raises(TypeError, match="of a class is for the candidate to say"):
        does(other.cls(offers="type." + name))
    assert [each for each in other.asked if name not in each] == []


def test_of_a_class_of_the_script_s_all_is_asked():
    other = connected(Other(False))
    cls = other.cls(offers="type.__add__ type.__eq__ type.__hash__ type.__str__ type.__contains__")
    assert (cls + 1, cls == 2, hash(cls)) == (8, 8, 8)
    other.answers["special"] = "text"
    assert (str(cls), 3 in cls) == ("text", True)
    assert [each[2:] for each in other.asked] == [
        ("__add__", 1), ("__eq__", 2), ("__hash__",), ("__str__",), ("__contains__", 3),
    ]  # fmt: skip


def test_two_classes_are_different_and_that_is_asked_about(other: Other):
    one, two = [other.cls(offers="type.__eq__ type.__ne__ type.__hash__") for _ in range(2)]
    assert (one == one, one != one) == (8, 8)
    assert other.asked == [("special", one, "__eq__", one), ("special", one, "__ne__", one)]
    other.asked.clear()
    assert (one == two, one != two, int in [one], one != 3, other.asked) == (False, True, False, True, [])
    other.answers["special"] = [False, False, True, False, True]
    other.doubts.clear_up(other)
    assert [each[1:] for each in other.asked] == [
        (one, "__eq__", two), (two, "__eq__", one), (one, "__ne__", two), (one, "__eq__", int), (one, "__ne__", 3),
    ]  # fmt: skip


@pytest.mark.parametrize(("how", "says"), [("__eq__", True), ("__ne__", False), ("__eq__", ValueError())])
def test_a_script_that_took_classes_for_different_does_not_pass_where_they_are_equal(
    other: Other, how: str, says: object
):
    one, two = other.cls(offers="type." + how), other.cls()
    assert one != two
    other.answers["special"] = says
    (why,) = other.doubts.clear_up(other).values()
    assert why.startswith("the script took a class and a RemoteType for different")


def test_a_class_of_a_library_is_what_it_stands_for(other: Other):
    class Figure:
        pass

    one = other.cls(offers="type.__eq__ type.__ne__ type.__hash__", stands=Figure)
    assert (one == Figure, one != Figure, other.asked) == (True, False, [])


def test_a_hash_is_asked_for_and_the_text_is_one(other: Other):
    one = other.cls(offers="type.__hash__ type.__str__")
    assert (hash(one), {one: 1}[one]) == (8, 1)
    other.answers["special"] = [TypeError("unhashable"), 3, "shown", "text"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert (str(one), str(one)) == ("shown", "text")
    none = other.cls(offers="type.-__hash__")
    other.answers["special"] = TypeError("none")
    with pytest.raises(TypeError, match="none"):
        hash(none)


def test_a_class_that_says_what_is_in_it_gives_items(other: Other):
    cls = other.cls(offers="type.__contains__")
    other.answers["special"] = [iter([1, 2]), iter([1, 2]), True, TypeError("no items")]
    assert 1 in cls
    with pytest.raises(TypeError, match="gives no items, and says what is in it"):
        _ = 1 in cls


def test_a_class_is_no_descriptor_in_a_class_of_the_script_s(other: Other):
    cls = other.cls(offers="type.__get__")
    with pytest.raises((TypeError, RuntimeError)) as raised:
        type("Mine", (), {"x": cls})
    told = raised.value.__cause__ or raised.value
    assert str(told).startswith("class A of the program gives attribute x of class Mine")
