"""How objects, classes and exceptions cross between the halves of a separated script."""

from __future__ import annotations

import collections
import decimal
import enum
import gc
import http
import inspect
import math
import re
import signal
import statistics
import types
from typing import Any

import pytest
from cruxcell.jobs.separated.crossing import numbered, objects
from cruxcell.jobs.separated.proxies import facts
from cruxcell.values import reader, writer
from cruxcell.values.canonical import TooLarge
from cruxcell.values.containers import Garbled
from link_messages import text, u32
from objects_by_hand import INT, End, candidates_end, described, shared, small, tests_end  # noqa: F401 - fixtures among them


class Plain:
    pass


class Numbers(list):  # type: ignore[type-arg]
    def append(self, value: object) -> None:
        list.append(self, value)


class More(Numbers):
    pass


class Frozen(frozenset):  # type: ignore[type-arg]
    pass


class Pair(tuple):  # type: ignore[type-arg]
    __slots__ = ()


class Kind(enum.IntEnum):
    ONE = 1


class Mishap(ValueError):
    pass


for each in (Plain, Numbers, More, Frozen, Pair, Kind, Mishap):
    each.__module__ = "__main__"  # of the program, not of what was imported


@pytest.mark.parametrize(
    ("value", "of_test", "of_candidate"),
    [
        (len, b"G", b"G"),
        (eval, b"G", b"o"),
        (str.upper, b"G", b"o"),
        ([].append, b"o", b"o"),
        (statistics.mean, b"o", b"o"),
        (decimal.setcontext, b"G", b"o"),
        (UnicodeDecodeError, b"G", b"K"),
        (math, b"M", b"o"),
        (dict, b"G", b"G"),
        (classmethod, b"G", b"K"),
        (Plain, b"K", b"K"),
        (Plain(), b"o", b"o"),
        (Numbers(), b"h", b"h"),
        (Kind.ONE, b"h", b"h"),
        (KeyError("a"), b"X", b"X"),
    ],
)
def test_how_a_thing_is_written(test: End, candidate: End, value: object, of_test: bytes, of_candidate: bytes):
    assert (test.sends(value)[:1], candidate.sends(value)[:1]) == (of_test, of_candidate)


def test_values_with_a_class_of_their_own_are_that_value(test: End, candidate: End):
    for value in (Numbers([1, 2]), More([1]), Frozen([1, 2]), Pair((1, 2)), Kind.ONE):
        found = test.reads(candidate.sends(value))
        assert (found, type(found).__name__) == (value, type(value).__name__)
    first, other = test.reads(candidate.sends([Numbers([1]), More([2])]))
    assert isinstance(other, type(first))
    assert not isinstance(first, type(other))


def test_an_object_is_one_proxy_as_long_as_there_is_one(test: End, candidate: End):
    thing = Plain()
    first = test.reads(candidate.sends(thing))
    assert test.reads(candidate.sends([thing, thing])) == [first, first]
    assert candidate.reads(test.sends(first)) is thing
    assert candidate.reads(test.sends(type(first))) is Plain


def test_what_is_let_go_of_is_told_once(test: End, candidate: End):
    things = [Plain() for _ in range(3)]
    found = test.reads(candidate.sends(things))
    numbers = [facts.number_of(each) for each in found]
    del found
    test.containers.sweep()
    test.containers.gone.clear()
    gc.collect()
    assert sorted(test.objects.held.dead) == numbers
    again = test.reads(candidate.sends(things[1]))
    assert sorted(test.objects.held.dead) == [numbers[0], numbers[2]]
    test.objects.held._died(numbers[1])
    test.objects.held._died(10_000)
    assert sorted(test.objects.held.dead) == [numbers[0], numbers[2]]
    candidate.objects.shown.release([numbers[0], numbers[2], 10_000])
    shows = [each in candidate.objects.shown for each in things]
    assert (shows, facts.number_of(again)) == ([False, True, False], numbers[1])


def test_which_objects_have_changed_their_class_is_looked_up_where_a_program_changes_one(candidate: End):
    one, other, shown = Plain(), Plain(), candidate.objects.shown
    candidate.sends(one)
    assert shown.of_other_classes() == ()
    shown.kinds = {}
    candidate.sends([one, other])
    assert shown.of_other_classes() == ()
    one.__class__ = type("Another", (Plain,), {})
    assert shown.of_other_classes() == (one,)
    candidate.sends(one)
    assert (shown.of_other_classes(), len(shown.kinds)) == ((), 2)
    shown.release([number for number in shown.kinds if shown.values[number] is one])
    assert list(shown.kinds.values()) == [Plain]


def test_a_value_that_was_shown_is_the_same_again(test: End, candidate: End):
    kept = [Pair((1, 2)), Kind.ONE, Mishap("a")]
    first = [test.reads(candidate.sends(each)) for each in kept]
    assert all(test.reads(candidate.sends(each)) is before for each, before in zip(kept, first))


def test_only_a_value_of_the_test_names_any_class_of_the_library(test: End, candidate: End):
    """Of a candidate's the test believes no such name."""
    value = re.I | re.M
    assert b"\0\0\0re:RegexFlag" in test.sends(value)  # a text by itself
    assert test.reads(candidate.sends(value)).__class__ is not re.RegexFlag


def test_a_member_of_an_enum_of_the_library_is_found_by_its_name(test: End, candidate: End):
    class Own(enum.Enum):
        A = 1

    for value in (http.HTTPStatus.OK, signal.Signals.SIGINT, inspect.Parameter.KEYWORD_ONLY, re.I):
        assert test.reads(candidate.sends(value)) is value
        assert candidate.reads(test.sends(value)) is value
    assert test.reads(candidate.sends(Own.A)) is not Own.A
    for path in (
        "HTTPStatus.mro",
        "HTTPStatus.OK.phrase",
        "HTTPStatus",
        "HTTPStatus.",
        "HTTPStatus._member_map_",
        "x.y",
    ):
        with pytest.raises(Garbled):
            test.reads(shared(path, "http"))


def test_a_list_that_is_nested_too_deep_is_an_object(test: End, candidate: End, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer, "MAX_DEPTH", 5)
    deep: Any = []
    for _ in range(10):
        deep = [deep]
    found = test.reads(candidate.sends(deep))
    while isinstance(found, list):
        (found,) = found
    assert facts.number_of(found)


def test_a_value_of_a_class_is_read_as_deep_as_it_is_written(
    test: End, candidate: End, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "MAX_DEPTH", 20)
    monkeypatch.setattr(reader, "MAX_DEPTH", 5)  # which reads 20 more
    deep: Any = ()
    cls: Any = type("Own", (tuple,), {"__module__": "__main__"})
    for _ in range(10):
        deep = cls([deep])
    found, depth = test.reads(candidate.sends(deep)), 0
    while found:
        (found,), depth = found, depth + 1
    assert depth == 10


def test_the_name_of_a_class_is_a_text(test: End, candidate: End):
    name = type("Name", (str,), {})("A")
    assert type(test.reads(candidate.sends(type(name, (), {"__module__": "__main__"})()))).__name__ == "?"


def test_modules_cross_to_the_candidate_alone(test: End, candidate: End):
    data = test.sends(math)
    assert candidate.reads(data) is math
    with pytest.raises(Garbled, match="a module"):
        test.reads(data)


def test_the_program_s_module_is_that_of_the_candidate_and_one_that_the_script_made_an_object(test: End):
    program, made = types.ModuleType("f"), types.ModuleType("math")
    test.objects.by_name.program = program.__dict__
    assert test.sends(program) == b"M" + text("__candidate__")
    assert test.sends(made)[:1] == b"o"


def test_the_test_may_name_what_the_candidate_may_not_and_gets_that_back(test: End, candidate: End):
    for value, named in [(eval, shared("eval")), (decimal.setcontext, shared("setcontext", "decimal"))]:
        assert candidate.objects.by_name.answered(value) is value
        assert candidate.reads(named) is value
        assert candidate.objects.by_name.answered(value).what[0] is value
    test.reads(shared("len"))
    assert test.objects.by_name.answered(len) is len


def test_the_numbers_of_objects_and_classes_are_bounded(test: End, candidate: End, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(numbered, "MAX_OBJECTS", 2)
    monkeypatch.setattr(objects, "MAX_CLASSES", 2)
    things = [Plain()]
    candidate.sends(things[0])
    with pytest.raises(TooLarge):
        candidate.sends(Plain())
    assert candidate.sends(things[0])
    test.reads(described(1))
    test.reads(described(2))
    with pytest.raises(Garbled, match="a class that cannot be"):
        test.reads(described(3))
    kept = [test.reads(b"o" + u32(number) + b"k" + u32(1)) for number in (1, 2)]
    with pytest.raises(Garbled, match="more objects"):
        test.reads(b"o" + u32(3) + b"k" + u32(1))
    assert test.reads(b"o" + u32(2) + b"k" + u32(1)) is kept[1]


def test_values_with_a_class_of_their_own_count_beside_objects(test: End, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(numbered, "MAX_OBJECTS", 2)
    kept = [test.reads(b"o" + u32(1) + described(1)), test.reads(b"h" + u32(2) + INT + small(8))]
    with pytest.raises(Garbled, match="more objects"):
        test.reads(b"h" + u32(3) + b"k" + u32(50) + small(9))
    assert kept[1] == 8


class Says(type):
    """Its classes say that they equal whatever they are compared with, and have no hash."""

    def __eq__(cls, other: object) -> bool:
        raise SystemExit("it was asked")

    __hash__ = None  # type: ignore[assignment]


def of_bases(*bases: type) -> Any:
    return Says("Odd", bases, {"__module__": __name__, "__call__": lambda self: 1})


ODD = of_bases()
ODD_ERROR = of_bases(Exception)


def _in_builtins() -> Any:
    cls = of_bases()
    cls.__module__ = "builtins"
    return cls()


def _in_collections() -> Any:
    cls = of_bases(dict)
    cls.__module__ = "collections"
    return cls({1: 2})


@pytest.mark.parametrize(
    "value",
    [
        ODD, ODD(), [ODD(), ODD()], {1: ODD}, _in_builtins(), _in_collections(), ODD_ERROR("text"), ValueError(ODD()),
        OSError(2, ODD()), collections.defaultdict(ODD, {1: 2}), collections.defaultdict(ODD(), {1: 2}),
        *[of_bases(base)() for base in (int, float, str, bytes, tuple, list, dict, set, frozenset, bytearray)],
        of_bases(collections.Counter)("ab"),
    ],
)  # fmt: skip
def test_no_metaclass_is_asked_what_its_classes_equal(test: End, candidate: End, value: Any):
    found = test.reads(candidate.sends(value))
    back = candidate.reads(test.sends(found))
    assert back is value or (isinstance(value, (ValueError, OSError)) and str(back) == str(value))  # which is made anew
    candidate.sends([value])  # and what has changed of it since
    test.sends([value])
