"""What values and errors with classes of the other half's answer for themselves, and what they ask."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import facts, placing
from cruxcell.jobs.separated.proxies.asking import own_of_value
from cruxcell.jobs.separated.proxies.remote import RemoteObject
from other_half import (  # noqa: F401 - fixtures among them
    Other,
    connected,
    either_half,
    number,
    other_half,
    own_dict,
)


def test_a_value_answers_for_itself(either: Other):
    cls = either.cls(list, offers="__len__ __iter__ __eq__ __call__ __str__", overrides="append __reversed__ __init__")
    value = cls.__new__(cls)
    list.extend(value, [1])
    facts.give_number(value, 7)
    assert (value == [1], len(value), list(value), either.asked) == (True, 1, [1], [])
    either.answers["get"] = lambda: len
    assert (value.append([2]), cls.append, reversed(value)) == (1, len, 8)
    assert [each[0::2] for each in either.asked] == [("get", "append"), ("get", "append"), ("special", "__reversed__")]
    value.append = 3
    assert either.asked[-1][0::2] == ("set", "append")
    sub = either.cls(cls, list)
    assert (sub.__mro__[1], issubclass(sub, list)) == (cls, True)
    assert either.cls(cls).__mro__[1:] == (object,), "objects of a class that no plain type is told of are none"
    mixed = either.cls(either.cls(), list)
    assert (issubclass(mixed, RemoteObject), issubclass(mixed, list)) == (False, True)


def test_a_class_may_give_a_hash_to_what_has_none(either: Other):
    """The hash of a value that has one is that of what it equals, where the test finds it."""
    for base, hashes in ((list, 8), (int, 7 if either.is_test else 8)):
        cls = either.cls(base, overrides="__hash__")
        value = cls.__new__(cls, *[7] * (base is int))
        facts.give_number(value, 7)
        assert hash(value) == hashes


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


def test_copies_are_the_other_half_s(either: Other):
    thing, own = either.thing(), either.thing("__copy__ __deepcopy__")
    assert not hasattr(thing, "__copy__")
    either.answers["copy"] = [8, (9, None)] * 2
    for each in (thing, own):
        assert (copy.copy(each), copy.deepcopy(each)) == (8, 9)
    assert [each[0:3:2] for each in either.asked] == [("copy", False), ("copy", True)] * 2


def test_what_a_function_returned_is_not_reckoned_with_a_value_of_the_test_s(other: Other):
    found = number(other, facts.HANDED_OVER, "__add__ __radd__ __lt__ __ne__ __neg__ __eq__ __hash__")
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
    same = number(other, facts.HANDED_OVER, "")
    assert (found + same, -found) == (14, -7)
    with pytest.raises(TypeError, match="is not what the plain type gives"):
        found < same
    for asks in (lambda: found + same, lambda: -found):
        with pytest.raises(TypeError, match="is not what the plain type gives"):
            asks()
    other.answers["special"] = [thing := other.thing(), NotImplemented, 5]
    assert found + same is thing  # which the plain type has nothing to say of
    assert (found + same, hash(found)) == (14, 7)  # what is equal to a number has its hash


def test_what_the_test_has_made_is_what_its_class_says(other: Other):
    new = number(other, facts.MADE, "__add__ __lt__ __round__ __sub__")
    other.answers["special"] = [3, True, 9, 5, 6, 5]
    assert (new + new, new < new, round(new, 2), new + 1, new - 1) == (3, True, 9, 5, 6)
    with pytest.raises(TypeError, match="is not what the plain type gives"):
        new - 1


def test_what_came_of_values_that_the_test_has_made_and_plain_data_is_what_their_class_says(other: Other):
    new, came, given = (number(other, each, "__add__ __sub__") for each in (facts.MADE, facts.DERIVED, facts.DERIVED))
    facts.marked(came, facts.DERIVED, type(came), 0, (facts.OF_VALUES,))
    other.answers["special"] = [3, 4, 5]
    assert (came + 1, came + new, new + came) == (3, 4, 5)
    for asks in (lambda: came - 1, lambda: given + 1, lambda: new + given, lambda: came + given):
        other.answers["special"] = [5]
        with pytest.raises(TypeError, match="is not what the plain type gives"):
            asks()


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
    facts.give_number(value, 7)
    other.answers["special"] = [True, False]
    assert (2 in value, 1 in value, 1 in value, len(other.asked)) == (False, True, False, 2)
    other.answers["get"] = [lambda: lambda _: 1, lambda: lambda _: 2, lambda: lambda _: 0, lambda: lambda _: 3, 5]
    assert value.count(1) == 1
    for asks in (lambda: value.count(1), lambda: value.index(2)):
        with pytest.raises(TypeError, match="is not what the plain type gives"):
            asks()
    facts.marked(value, facts.MADE, cls, 0)
    assert (value.count(1), value.index) == (3, 5)
    other.answers["special"] = [True]
    assert 2 in value
    texts = other.cls(str, overrides="__contains__")
    named = str.__new__(texts, "a")
    facts.give_number(named, 8)
    with pytest.raises(TypeError, match="__contains__ of a A is for the candidate to say"):
        _ = 1 in named  # no error of the plain type's, which a script may expect


def test_a_class_removes_only_what_the_plain_type_holds_and_compares_as_that_does(other: Other):
    cls = other.cls(set, overrides="remove discard difference union")
    value = cls.__new__(cls)
    set.update(value, [1, 2])
    facts.give_number(value, 7)
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
    facts.give_number(equal, 8)
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


@pytest.mark.parametrize("are_equal", [True, False])
@pytest.mark.parametrize("kind", [set, dict.fromkeys])
def test_the_candidate_gives_no_set_or_dict_that_holds_two_equal_objects(either: Other, kind: Any, are_equal: bool):
    class Same:
        """Its hash, and what it equals, is the candidate's to say, who is not asked while a message is read."""

        def __hash__(self) -> int:
            return 5

        def __eq__(self, other: object) -> bool:
            return are_equal and type(other) is Same and not placing.is_reading()

    end, one, two = placing.Placing(), Same(), Same()
    held = end.during(kind, [one, 1, two])
    assert len(held) == 3
    if either.is_test and are_equal:
        with pytest.raises(TypeError, match="holds two equal objects"):
            end.again([one, two], [held])
    else:
        end.again([one, two], [held])


def test_what_comes_of_two_flags_is_a_flag_where_it_is_the_number(other: Other):
    """A program's class may say otherwise. With a number it is not asked."""
    cls = other.cls(int, offers="IntFlag __or__ __and__ __xor__ __invert__ __iter__ __len__")
    one, two, three = (cls.__new__(cls, each) for each in (1, 2, 3))
    for each in (one, two, three):
        facts.give_number(each, int(each))
    other.answers["special"] = lambda: three
    assert (one | two) is three
    assert (one | 2, 4 | one, one & 3, type(one | 2)) == (3, 5, 1, int)
    assert [each[0] for each in other.asked] == ["special"]
    assert (~one, type(~one)) == (-2, int), "it has what it may not have"
    other.answers["special"] = lambda: two
    assert ~one is two
    with pytest.raises(Exception, match="is not what the plain type gives"):
        assert one | two
    assert len(three) == 2
    assert "__and__" not in own_dict(other.cls(int, offers="IntFlag __or__"))


def test_a_candidate_asks_what_comes_of_flags_of_the_test_s():
    other = connected(Other(is_test=False))
    cls = other.cls(int, offers="IntFlag __or__ __contains__")
    one = cls.__new__(cls, 1)
    facts.give_number(one, 7)
    assert (one | 2, one | one, 1 in one, "__and__" in own_dict(cls)) == (8, 8, True, False)
    assert [each[2] for each in other.asked] == ["__or__", "__or__", "__contains__"]


def test_only_objects_look_for_methods_that_every_object_has_and_only_in_the_test(either: Other):
    either.named = frozenset(["__init__"])
    has = ["__getattribute__" in own_dict(each) for each in (either.cls(), either.cls(int))]
    assert has == [either.is_test, False]
    thing = either.thing()
    assert (thing.__class__, either.asked) == (type(thing), [])
