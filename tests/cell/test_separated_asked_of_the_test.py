"""What the candidate may ask of the test's objects, and which of its messages the test does not hear."""

from __future__ import annotations

import logging
import operator
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.crossing.numbered import Shown
from cruxcell.jobs.separated.exchange import permissions
from cruxcell.jobs.separated.exchange.link import VALUE
from cruxcell.jobs.separated.exchange.one_thread import QUESTION
from cruxcell.jobs.separated.rules.by_libraries import CLASS_GIVEN, FORMAT_GIVEN, NAME_GIVEN, GivenBack, Served
from cruxcell.values import transfer

KEY, FORM, LOG = operator.attrgetter, logging.Formatter, logging.getLogger("a")


class Generator:
    """As one of numpy's."""

    state = 1


Generator.__module__ = "numpy.random._mt19937"


class Own:
    """Of the script."""

    label = "own"

    def method(self) -> None:
        pass


OWN, SHOWN, GENERATOR = Own(), Own(), Generator()


@pytest.mark.parametrize(
    ("operation", "target", "rest", "may"),
    [
        ("fields", KEY, [], True),
        ("get", KEY, ["__name__"], True),
        ("get", KEY, ["__init__"], False),
        ("get", KEY, ["__init__", "__name__"], False),
        ("call", KEY, [["x"]], False),
        ("special", KEY, ["__name__"], False),
        ("get", OWN.method, ["__self__"], False),
        ("get", SHOWN.method, ["__self__"], True),
        ("get", SHOWN.method, ["__func__"], False),
        ("call", SHOWN.method, ["__self__"], True),
        ("get", SHOWN, ["__self__"], False),
        ("get", [].append, ["__self__"], False),
        ("get", GENERATOR, ["set_state"], False),
        ("get", GENERATOR, ["state"], True),
        ("set", GENERATOR, ["state", {"state": 1}], True),
        ("set", GENERATOR, ["state", {"pos": 625}], False),
    ],
)
def test_what_it_may_ask(operation: str, target: Any, rest: list[Any], may: bool):
    objects = SimpleNamespace(shown=Shown(False))
    objects.shown.along.add(objects.shown.show(KEY))
    objects.shown.show(SHOWN)
    objects.shown.show(target)
    assert permissions.may(objects, operation, target, rest) is may


class Odd:
    """Equals nothing, and may not be asked."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    __hash__ = None  # type: ignore[assignment]


def why(values: list[Any], named: list[Any], held: object, kind: bytes = QUESTION) -> str:
    """The reason against a message of these values, in which `named` classes are named, and which holds this text."""
    shown = Shown(False)
    shown.show(FORM)
    objects = SimpleNamespace(named=named, shown=shown)
    return permissions.reason_against(objects, transfer.encode(held, 1 << 10), (kind, 1, values))


@pytest.mark.parametrize(
    ("values", "named", "kind", "is_given"),
    [
        (["get", KEY, "x"], [KEY], QUESTION, False),
        ([3, "get", KEY, "x"], [KEY], QUESTION, False),
        (["get", KEY, "x"], [], QUESTION, False),
        (["call", len, [KEY]], [KEY], QUESTION, True),
        (["get", KEY, [KEY]], [KEY, KEY], QUESTION, True),
        ([KEY], [KEY], VALUE, True),
        ([8, KEY], [KEY], VALUE, True),
        ([8], [], VALUE, False),
    ],
)
def test_a_class_that_came_along_is_given_to_nobody(values: list[Any], named: list[Any], kind: bytes, is_given: bool):
    assert why(values, named, "", kind) == (CLASS_GIVEN % "attrgetter" if is_given else "")


@pytest.mark.parametrize(
    ("values", "kind", "is_given"),
    [
        (["call", LOG.info, ["__setattr__", "x"]], QUESTION, True),
        ([3, "call", LOG.info, ["__setattr__", "x"]], QUESTION, True),
        (["call", LOG.info, ["info"]], QUESTION, False),
        (["get", LOG.info, "__setattr__"], QUESTION, False),
        ([Odd(), Odd(), "__setattr__"], QUESTION, False),
        (["call", LOG.info, ["__setattr__", "x"]], VALUE, False),
    ],
)
def test_no_method_is_told_a_special_name(values: list[Any], kind: bytes, is_given: bool):
    assert why(values, [], values[-1], kind) == (NAME_GIVEN if is_given else "")


@pytest.mark.parametrize(
    ("values", "text", "kind", "is_given"),
    [
        (["call", FORM, ["{x.__globals__}"]], "{x.__globals__}", QUESTION, True),
        ([3, "call", FORM, ["{x.__globals__}"]], "{x.__globals__}", QUESTION, True),
        (["call", FORM, ["{x.real}"]], "{x.real}", QUESTION, False),
        (["call", logging.StreamHandler, ["{x.__globals__}"]], "{x.__globals__}", QUESTION, False),
        (["call", "{}".format, ["{x.__globals__}"]], "{x.__globals__}", QUESTION, False),
        ([8, FORM], "{x.__globals__}", VALUE, False),
    ],
)
def test_nothing_of_a_library_is_given_a_format_that_reaches_what_is_not_public(
    values: list[Any], text: str, kind: bytes, is_given: bool
):
    assert why(values, [], text, kind) == (FORMAT_GIVEN if is_given else "")


def test_what_it_gives_back_is_that_in_an_answer_alone_and_is_served_where_it_is_an_argument():
    back, served = GivenBack(KEY), Served(len, None)
    for values, kind, expected in [
        ([back, served], VALUE, [KEY, served]),
        ([served, back], VALUE, [len, KEY]),
        ([3, "call", served, [back], served], QUESTION, [3, "call", len, [back], served]),
        (["call", served, back], QUESTION, ["call", len, back]),
    ]:
        assert why(values, [], "", kind) == ""
        assert [*map(id, values[:3])] == [*map(id, expected[:3])]
        assert len(values) == len(expected)
        assert values[-1] is expected[-1]
