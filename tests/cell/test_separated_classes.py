"""Classes of the other half that stand for abstract ones, and which modules are nobody's making."""

from __future__ import annotations

import abc
import ast
import builtins
import collections.abc
import dataclasses
import enum
import fractions
import json
import math
import sys
import types
from typing import Any

import pytest
from cruxcell.jobs.separated.crossing import classes, exceptions
from cruxcell.jobs.separated.proxies import shared_names
from cruxcell.jobs.separated.proxies.remote import RemoteType


def test_a_module_that_a_program_made_was_not_imported(monkeypatch: pytest.MonkeyPatch):
    made = types.ModuleType("made")
    monkeypatch.setitem(sys.modules, "made", made)
    cls = type("Own", (), {"__module__": "made"})
    vars(made).update(Own=cls)
    assert (shared_names.imported("made"), shared_names.imported("nowhere"), shared_names.imported("json")) == (
        None,
        None,
        json,
    )
    assert (shared_names.is_stdlib(cls), shared_names.is_stdlib(json.JSONDecoder)) == (False, True)


def test_a_class_of_the_script_shows_its_public_attributes():
    body = {"__module__": "__main__", "a": 1, "B": 2, "_c": 3, "__call__": 4, 5: 6}
    assert sorted(classes.public_names(type("Own", (), body))) == [".B", ".a"]
    assert classes.public_names(type("Own", (), {"a": 1})) == []


def test_only_builtins_has_types_without_a_name():
    assert [shared_names.found_at(each, "ellipsis") for each in (builtins, math)] == [type(Ellipsis), None]
    assert [shared_names.found_at(builtins, each) for each in ("len", "no")] == [len, None]


@pytest.mark.parametrize(
    ("base", "names"),
    [
        (collections.abc.MutableMapping, ["MutableMapping", "Mapping", "isinstance"]),  # which its class decides
        (collections.abc.Iterator, ["isinstance"]),
        (type("Sequence", (), {"__module__": "collections.abc"}), []),
        (ast.Set, []),
    ],
)
def test_the_abstract_classes_that_a_class_is_derived_from(base: type, names: list[str]):
    assert classes.abstract_bases(types.new_class("Own", (base,))) == names


def test_a_class_made_here_is_one_of_the_abstract_classes_that_are_asked_for():
    cls = type("Own", (), {"__hash__": None})
    classes.register(cls, ["Mapping", "Hashable", "nonsense"])
    assert issubclass(cls, collections.abc.Mapping)
    assert not issubclass(cls, (collections.abc.Sequence, collections.abc.Hashable))


class Asked:
    """The candidate, which is asked what is one of its class."""

    def __init__(self, is_test: bool, answer: object) -> None:
        self.is_test, self.answer = is_test, answer
        self.asked: list[tuple[str, object]] = []

    def ask(self, check: str, value: object, _cls: type) -> object:
        self.asked.append((check, value))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Meta(RemoteType):
    """Of the classes that stand for the program's, without what these ask."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        return type.__new__(cls, name, bases, namespace)

    __call__ = type.__call__
    __getattribute__, __setattr__ = type.__getattribute__, type.__setattr__  # type: ignore[assignment]


class Other(metaclass=Meta):
    pass


THING, OWN = Other(), type("Own", (), {"__module__": "__main__"})()


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        (8, ("issubclass", int)), ("a", ("issubclass", str)), (THING, ("isinstance", THING)),
        (Other, ("isinstance", Other)), (OWN, ("isinstance", OWN)), (ValueError(), None),
        (type("OwnError", (ValueError,), {"__module__": "__main__"})(), None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("answer", [True, False, 1, TypeError()])
def test_what_is_one_of_a_protocol_the_candidate_says_but_of_no_error(
    value: object, asked: Any, answer: object, monkeypatch: pytest.MonkeyPatch
):
    candidate = Asked(True, answer)
    monkeypatch.setattr(classes, "LINK", [candidate])
    protocol = type("Meta", (Meta,), {})("Protocol", (), {})
    protocol_of = type(protocol)
    kind = protocol_of("Kind", (), {})
    classes.register(protocol, ["isinstance"])
    value = kind() if value is THING else kind if value is Other else value
    asked = (asked[0], value) if asked and asked[0] == "isinstance" else asked
    assert isinstance(value, protocol) is (answer is True and asked is not None)
    assert candidate.asked == ([asked] if asked else [])
    assert isinstance(protocol(), protocol)
    candidate.asked.clear()
    of = type(value)
    assert issubclass(of, protocol) is (answer is True and not issubclass(of, BaseException))
    assert candidate.asked == ([] if issubclass(of, BaseException) else [("issubclass", of)])


def test_a_metaclass_with_a_check_of_its_own_is_heard_and_shown_no_value(monkeypatch: pytest.MonkeyPatch):
    candidate = Asked(True, False)
    candidate.refuse = pytest.fail  # type: ignore[attr-defined]
    monkeypatch.setattr(classes, "LINK", [candidate])
    cls = type("Meta", (Meta,), {})("Kind", (), {})
    below = type(cls)("Below", (cls,), {})
    classes.register(cls, ["isinstance", "type.__instancecheck__", "type.__subclasscheck__"])
    value = below()
    assert (isinstance(value, cls), issubclass(below, cls)) == (False, False)
    candidate.answer = True
    assert (isinstance(value, cls), issubclass(below, cls), isinstance(OWN, cls), issubclass(int, cls)) == (True,) * 4
    asked = [("isinstance", value), ("issubclass", below)]
    assert candidate.asked == [*asked, *asked, ("isinstance", OWN), ("issubclass", int)]
    with pytest.raises(pytest.fail.Exception, match="a metaclass says what is one of class Kind"):
        isinstance(3, cls)
    classes.register(below, ["isinstance"])
    assert isinstance(below(), below)
    assert len(candidate.asked) == 6


@pytest.mark.parametrize(("is_test", "bases", "names"), [
    (False, (), ["isinstance"]), (True, (ValueError,), ["isinstance"]), (True, (), ["Mapping"]),
])  # fmt: skip
def test_who_has_no_say_is_not_asked(
    is_test: bool, bases: tuple[type, ...], names: list[str], monkeypatch: pytest.MonkeyPatch
):
    candidate = Asked(is_test, True)
    monkeypatch.setattr(classes, "LINK", [candidate])
    cls = type("Meta", (Meta,), {})("Protocol", bases, {})
    decides = type(cls)("Decides", (), {})
    classes.register(decides, ["isinstance"])  # by which their class has a check of its own
    classes.register(cls, names)
    assert (isinstance(8, cls), isinstance(OWN, cls), issubclass(int, cls), candidate.asked) == (
        False,
        False,
        False,
        [],
    )


def test_a_class_made_here_is_one_of_what_says_what_a_class_is_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(classes, "_marked", [])
    before = {name: getattr(type(abc.ABC), name) for name in classes.CHECKS}
    for name in classes.CHECKS:  # which are taken back behind the test
        monkeypatch.setattr(type(enum.Enum), name, getattr(type, name), raising=False)
    cls, derived = type("Color", (), {}), type("Other", (), {})
    classes._mark(cls, None)  # of an older interpreter's library
    for number, each in enumerate((cls, derived)):
        classes.register(each, ["Enum", "ABC"] if number == 0 else ["IntFlag"])
    assert [issubclass(each, enum.Enum) for each in (cls, derived, int)] == [True, False, False]
    assert [isinstance(each(), enum.Enum) for each in (cls, derived, int)] == [True, False, False]
    assert [issubclass(each, enum.IntFlag) for each in (cls, derived)] == [False, True]
    assert issubclass(type("Below", (cls,), {}), enum.Enum)
    assert isinstance(enum.Enum("E", "a").a, enum.Enum)  # type: ignore[attr-defined]
    assert issubclass(cls, abc.ABC)
    assert {name: getattr(type(abc.ABC), name) for name in classes.CHECKS} == before
    assert issubclass(enum.IntEnum, enum.Enum)


def test_a_number_with_a_class_of_its_own_is_the_plain_one_and_what_python_has_stays():
    one = enum.IntEnum("One", "A").A  # type: ignore[attr-defined]
    name = type("Name", (str,), {})("a")
    given = [one, True, 8, name, [one], None]
    assert list(map(type, map(classes.without_class, given))) == [int, bool, int, type(name), list, type(None)]
    assert classes.without_class(one) == 1


def test_a_value_is_of_a_class_that_keeps_the_equality_of_a_plain_type():
    keeps = type("Keeps", (int,), {})
    own = type("Own", (int,), {"__eq__": int.__eq__, "__hash__": int.__hash__})
    found = [classes.plain_base(each) for each in (int, keeps, own, type("Below", (own,), {}), object)]
    assert found == [int, int, None, None, None]


def test_operators_are_told_of_the_class_that_has_them():
    def add(self: object, _other: object) -> object:
        return self

    base = type("Base", (), {"__add__": add, "__len__": len})
    below = type("Below", (base,), {"__sub__": add})
    of_library = type("Ratio", (fractions.Fraction,), {})
    names = {"__add__", "__sub__", "__len__"}
    for cls, told in [
        (base, {"__add__", "__len__"}), (below, {"__sub__", "__len__"}), (of_library, {"__add__", "__sub__"}),
        (type("Further", (of_library,), {}), set()),
    ]:  # fmt: skip
        assert names.intersection(classes.told_of(cls)) == told
    assert classes.overridden(base, None) == []


def test_what_a_class_has_of_the_library_is_not_its_own():
    number: Any = enum.IntEnum("Number", "A")
    assert {"__format__", "__new__"} <= set(vars(number)), "which an enumeration takes from its bases"
    own = {"__format__": lambda *_: "", "upper": lambda self: self, "other": 1, "_hidden": 2, "__init__": None}
    assert [classes.overridden(each, base) for each, base in [(number, int), (type("Own", (str,), own), str)]] == [
        [],
        ["__format__", "upper"],
    ]


def test_the_fields_of_a_dataclass_and_of_nothing_else():
    made = dataclasses.make_dataclass("Made", [("a", int)])
    assert classes.fields_of(made) == [("a", "_FIELD", True, True, True)]
    assert [classes.fields_of(each) for each in (type("Odd", (), {"__dataclass_fields__": 8}), int)] == [None, None]


def test_an_error_is_made_as_its_class_makes_it():
    def init(error: BaseException, *_arguments: object) -> None:
        vars(error)["was_made"] = True

    cls = type("Own", (ValueError,), {"__init__": init})
    assert vars(exceptions.make_exception(cls, ["a"], "a")) == {"was_made": True}
    assert vars(exceptions.make_exception(ValueError, ["a"], "a")) == {}


def test_an_error_that_wants_other_arguments_is_made_without_them():
    class Own(OSError):
        def __init__(self, first: object, second: object) -> None:
            raise NotImplementedError

    found = exceptions.make_exception(Own, ["a"], "a")
    assert (found.args, found.errno) == (("a",), None)

    class Bare(Exception):
        def __new__(cls) -> Bare:
            return super().__new__(cls)

    assert exceptions.make_exception(Bare, ["a"], "a").args == ("a",)
    if hasattr(builtins, "ExceptionGroup"):
        group = exceptions.make_exception(builtins.ExceptionGroup, ["a"], "a")
        assert group.args == ("a",)


@pytest.mark.parametrize("error", [StopIteration(), StopAsyncIteration(), GeneratorExit()], ids=repr)
def test_what_would_end_an_iteration_is_caught_as_widely_as_it_was_and_ends_none(error: BaseException):
    given = exceptions.answered(error, (), lambda _names: False)
    assert not isinstance(given, type(error))
    assert isinstance(given, Exception) is isinstance(error, Exception)


def test_a_class_of_the_program_does_not_say_what_its_errors_are_made_of_nor_show_their_attributes():
    class Own(OSError):
        def __reduce__(self) -> tuple[object, tuple[str]]:
            raise NotImplementedError

    own, plain = Own("a"), FileNotFoundError(2, "no", "a")
    own.code = plain.code = plain._code = 7  # type: ignore[attr-defined]
    plain.other = object()  # type: ignore[attr-defined]
    assert (exceptions.constructor_arguments(own), exceptions.constructor_arguments(plain)) == (None, (2, "no", "a"))
    assert (exceptions.more_of(own), exceptions.more_of(plain)) == (None, (None, [], (("code", 7), ("_code", 7))))


def test_an_object_holds_what_is_in_its_slots_and_its_dict():
    slotted = type("Slotted", (), {"__slots__": ("a", "b", "__weakref__")})
    open_one = type("Open", (slotted,), {"c": 1, "d": property(lambda _self: 1)})
    one = open_one()
    assert classes.state_of(one) == {}
    one.a, one.e = 2, 3
    assert classes.state_of(one) == {"a": 2, "e": 3}
    assert classes.state_of(object()) == {}
    lying = type("Lying", (), {"__getattribute__": lambda _self, _name: {"x": 1}})()
    assert classes.state_of(lying) == {}


@pytest.mark.parametrize("value", [{"a": 1}, [1], (1,), {1}, frozenset([1]), 8, 0.5, 1j, "a", b"a"])
def test_an_object_holds_what_it_is_at_bottom(value: Any):
    lies = dict.fromkeys(["__iter__", "items", "__int__", "__str__", "__eq__", "__hash__"], lambda *_: 7)
    made = type("Own", (type(value),), lies)(value)
    made.x = 1
    state = classes.state_of(made)
    assert (state[""], type(state[""]), state["x"]) == (value, type(value), 1)
