"""What no candidate may say of objects, classes and exceptions, and what the script makes of what it may."""

from __future__ import annotations

import collections
import types
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import facts, remote
from cruxcell.values.containers import MAX_DEPTH, Garbled
from link_messages import text, u32
from objects_by_hand import ERROR, INT, LIST, OPAQUE, End, described, error, nested_bases, shared, small, tests_end  # noqa: F401 - fixtures among them

own_dict: Any = vars(type)["__dict__"].__get__  # of a proxy's class: `vars` asks the other half


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"?", None),
        (shared("math", "fractions"), "a module"),
        (shared("eval"), "a name that may not"),
        (b"k" + u32(9), None),
        (described(1, count=small(-1)), "a class that cannot be"),
        (described(1, *[shared("ValueError")] * 65), "a class that cannot be"),
        (described(1, count=text("a")), None),
        (described(1, small(8)), None),
        (described(1, shared("map")), "a base that cannot be"),
        (described(1, shared("bool")), "a base that cannot be"),
        (described(1, shared("object")), "a base that cannot be"),
        (b"l" + u32(101, 2) + described(1) + described(1), "a class that cannot be"),
        (nested_bases(321), "a depth that cannot be"),
        (b"o" + u32(1) + shared("int"), "a class that cannot be"),
        (b"o" + u32(1) + INT, "a class that cannot be"),
        (b"o" + u32(1) + ERROR, "a class that cannot be"),
        (b"h" + u32(1) + OPAQUE + small(8), "a class that cannot be"),
        (b"h" + u32(1) + shared("OrderedDict", "collections") + b"+" + u32(101, 0), "a class that cannot be"),
        (b"h" + u32(1) + INT + text("a"), "not what its class says"),
        (b"h" + u32(1) + INT + b"T", "not what its class says"),
        (b"h" + u32(1) + LIST + b"-" + u32(101, 0), "a value that cannot be"),
        (b"l" + u32(101, 2) + b"h" + u32(1) + LIST + b"+" + u32(103, 0) + b"h" + u32(1) + b"k" + u32(51) + b"+"
            + u32(105, 0), "a value that cannot be"),
        (b"l" + u32(101, 2) + b"o" + u32(1) + OPAQUE + b"o" + u32(1) + described(54, offers="__lt__"),
            "of another class"),
        (error(small(8)), None),
        (error(shared("int")), "an exception that cannot be"),
        (error(OPAQUE), "an exception that cannot be"),
        (error(shared("ValueError"), count=small(-1)), "an exception that cannot be"),
        (error(shared("ValueError"), count=small(1 << 17)), "an exception that cannot be"),
        (error(shared("ValueError"), count=text("a")), None),
        (error(shared("OSError"), made_of=small(8)), "an exception that cannot be"),
        (error(shared("OSError"), made_of=b"t" + u32(1) + b"f" + bytes(8) + u32(101)), "an exception that cannot be"),
    ],
)  # fmt: skip
def test_what_no_candidate_may_say(test: End, data: bytes, why: str | None):
    with pytest.raises(Garbled, match=why):
        test.reads(data)


def test_what_the_test_has_passed_by_name_comes_back_as_that(test: End):
    candidate = End(False)
    for end in (test, candidate):
        end.sends(len)
    passed = b"P" + text("builtins") + text("len")
    assert test.reads(passed).what is len
    with pytest.raises(Garbled):
        candidate.reads(passed)


def test_a_class_that_came_along_is_noted_where_a_message_names_it(test: End):
    shown, own, along = test.objects.shown, types.SimpleNamespace(), types.SimpleNamespace()
    shown.along.add(shown.show(along))
    for value in (own, along):
        assert test.reads(b"." + u32(shown.show(value))) is value
    assert test.objects.named == [along]


def test_a_class_is_a_level_below_its_object(test: End):
    with pytest.raises(Garbled, match="a depth"):
        test.reads(b"o" + u32(1) + OPAQUE, MAX_DEPTH + 20)


def test_a_value_keeps_its_class_and_changes_with_a_new_one(test: End):
    value = test.reads(b"h" + u32(1) + INT + small(8))
    assert test.reads(b"h" + u32(1) + b"k" + u32(50) + small(9)) is value
    other = test.reads(b"h" + u32(1) + described(60, shared("int")) + small(9))
    assert (other, type(other) is type(value)) == (9, False)


def test_an_object_is_of_the_class_that_it_was_told_of_last(test: End):
    found = test.reads(b"o" + u32(1) + described(53))
    facts.marked(found, facts.MADE, type(found), 0)
    assert test.reads(b"o" + u32(1) + b"k" + u32(53)) is found
    assert (facts.standing_of(found), facts.was_handed_over(found)) == (facts.MADE, True)
    assert test.reads(b"o" + u32(1) + described(54, offers="__len__")) is found
    assert (type(found) is test.objects.classes[54], len(found)) == (True, 8)
    assert facts.standing_of(found) == facts.HANDED_OVER
    type.__setattr__(test.objects.classes[54], "_remote_own", set())  # the script has made the class
    with pytest.raises(Garbled, match="of another class"):
        test.reads(b"o" + u32(1) + b"k" + u32(53))
    assert type(found) is test.objects.classes[54]


def test_a_class_has_the_methods_that_it_may_have_and_no_others(test: End):
    number = test.reads(b"h" + u32(1) + described(1, shared("int"), offers="__eq__", overrides="__eq__\0__class__")
                        + small(8))  # fmt: skip
    assert (number == 8, number == 9, type(number).__class__, test.asked) == (True, False, remote.RemoteType, [])
    row = test.reads(b"h" + u32(2) + described(2, shared("list"), overrides="append\0__eq__") + b"+" + u32(101, 0))
    assert row == []
    assert (row.append == [], [each[0] for each in test.asked]) == (False, ["get"])
    thing = test.reads(b"o" + u32(3) + described(3, offers="__len__\0send\0__eq__\0__hash__\0__init__\0nonsense"))
    assert sorted(set(own_dict(type(thing))) & {"send", "__len__", "__eq__", "__hash__", "__init__", "nonsense"}) == [
        "__eq__", "__hash__", "__len__",
    ]  # fmt: skip
    assert (thing == 8, len(test.asked)) == (False, 1)  # it is the test's own answer


@pytest.mark.parametrize(("offers", "found"), [("__next__\0send", True), ("__await__\0send", True), ("send", False)])
def test_what_no_generator_or_coroutine_has_by_such_a_name_is_asked_for(test: End, offers: str, found: bool):
    thing = test.reads(b"o" + u32(3) + described(3, offers=offers))
    assert ("send" in own_dict(type(thing))) == found


def test_what_a_class_stands_for(test: End):
    assert test.reads(described(1, stands="builtins:KeyError")) is KeyError
    thing = test.reads(b"o" + u32(1) + described(2, stands="map"))
    assert isinstance(thing, map)
    assert type(thing) is not map
    assert not isinstance(test.reads(b"o" + u32(2) + described(3, stands="int")), int)


def test_an_object_that_holds_values_stands_for_no_class(test: End):
    """What is compared with it would take its word for them."""
    said = [test.sends(each) for each in (collections.UserDict(), types.SimpleNamespace())]
    assert [each.endswith(name) for each, name in zip(said, (b"UserDict", b"types:SimpleNamespace"))] == [False, True]


def test_bases_that_do_not_go_together_are_but_the_first(test: End):
    found = test.reads(described(1, described(2, name="B"), shared("int"), name="C" + "x" * 300))
    assert ([each.__name__ for each in type.mro(found)[1:3]], found.__bases__) == (["RemoteBase", "int"], (int,))
    assert (found.__name__[:3], len(found.__name__)) == ("Cxx", 200)
    odd = test.reads(described(3, shared("ValueError"), shared("int")))
    assert (issubclass(odd, ValueError), issubclass(odd, int)) == (True, False)


@pytest.mark.parametrize(
    ("told", "name", "qualified"),
    [("C", "C", "C"), ("C\0A.C", "C", "A.C"), ("C\0A\0.C", "C", "A.C"), ("C\0" + "x" * 500, "C", "x" * 400)],
)
def test_a_class_has_its_qualified_name(test: End, told: str, name: str, qualified: str):
    found = test.reads(described(1, name=told))
    assert (found.__name__, found.__qualname__) == (name, qualified)


def test_an_error_of_a_candidate(test: End):
    found = test.reads(error(ERROR, 1, args=small(7), said="seven", cause=error(shared("KeyError"), args=small(8))))
    assert (isinstance(found, ValueError), found.args, str(found)) == (True, (7,), "seven")
    assert found.__cause__.args == found.__context__.args == (8,)
    assert test.reads(error(b"k" + u32(52), 1, said="other")) is found
    alone = test.reads(error(shared("KeyError"), cause=small(8), context=text("a")))
    assert (alone.__cause__, alone.__context__) == (None, None)
    made = test.reads(error(shared("OSError"), made_of=b"t" + u32(3) + small(2) + text("no") + text("a") + u32(101),
                            said="[Errno 2] no: 'a'"))  # fmt: skip
    assert (made.errno, made.filename) == (2, "a")
    named = test.reads(error(shared("KeyError"), 7))
    assert test.reads(error(shared("KeyError"), 7)) is named
