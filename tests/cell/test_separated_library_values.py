"""Objects of the program's that equal a library's value: of what they give, as it was when the script made another."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import pathlib
import types
import uuid
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import libraries, library_values, notes
from cruxcell.jobs.separated.proxies.notes import Notes

UTC = datetime.timezone.utc


@pytest.fixture(autouse=True)
def link(monkeypatch: pytest.MonkeyPatch) -> None:
    def value_of(value: Any, make: Any) -> Any:
        return make(value)

    link = types.SimpleNamespace(value_of=value_of, notes=Notes())
    monkeypatch.setattr(library_values, "LINK", [link])
    monkeypatch.setattr(library_values, "fixed_value", fixed_value)
    monkeypatch.setattr(notes, "number_of", id)


def fixed_value(value: Any, make: Any) -> Any:
    if "fixed" not in vars(value):
        vars(value)["fixed"] = make(value)
    return vars(value)["fixed"]


def stand(offers: list[str], compares: bool = True, **members: Any) -> Any:
    return type("Stand", (), {**members, **libraries.told(offers, compares)})


@pytest.mark.parametrize(
    ("owner", "value", "others"),
    [
        ("collections:Counter", collections.Counter("aab"), [collections.Counter("ab"), {"a": 2}]),
        (
            "collections:OrderedDict",
            collections.OrderedDict([(1, 2), (3, 4)]),
            [collections.OrderedDict([(3, 4), (1, 2)])],
        ),
        ("collections:deque", collections.deque([1, 2]), [collections.deque([2, 1]), [1, 2]]),
        ("datetime:date", datetime.date(2020, 1, 2), [datetime.date(2020, 2, 1)]),
        (
            "datetime:datetime",
            datetime.datetime(2020, 1, 2, 3, 4, 5, 6, UTC),
            [datetime.datetime(2020, 1, 2, 3, 4, 5, 6), datetime.datetime(2020, 1, 2, 3, 4, 5, 7, UTC)],
        ),
        ("datetime:timedelta", datetime.timedelta(1, 2, 3), [datetime.timedelta(1, 3, 2)]),
        ("decimal:Decimal", decimal.Decimal("-1.50"), [decimal.Decimal("1.5"), decimal.Decimal("-15")]),
        ("fractions:Fraction", fractions.Fraction(1, 2), [fractions.Fraction(2, 1)]),
        ("pathlib:PurePath", pathlib.PurePosixPath("/a/b"), [pathlib.PurePosixPath("a/b"), "/a/b"]),
        ("types:SimpleNamespace", types.SimpleNamespace(a=1), [types.SimpleNamespace(a=2), {"a": 1}]),
        ("uuid:UUID", uuid.UUID(int=7), [uuid.UUID(int=8)]),
    ],
)
def test_an_object_equals_what_its_value_equals(owner: str, value: Any, others: list[Any]):
    members = {name: getattr(value, name) for name in dir(value) if name[:1] != "_"}
    if hasattr(value, "__iter__"):
        members["__iter__"] = lambda self: iter(value)
    own = stand(["~" + owner], **members)()
    if owner.endswith("Namespace"):
        vars(own).update(vars(value))
    alike = stand(["~" + owner], **members)()
    vars(alike).update(vars(own))
    assert own == value
    assert value == own
    assert own == alike
    assert (own != value) is False
    assert [own == other for other in others] == [False] * len(others)


@pytest.mark.parametrize(("owner", "value"), [("collections:UserList", [1]), ("collections:UserString", "ab")])
def test_what_keeps_its_value_equals_that(owner: str, value: Any):
    own = stand(["~" + owner], data=value)()
    assert own == value
    assert own != value + value


@pytest.mark.parametrize(("owner", "value"), [("collections.abc:Mapping", {1: 2}), ("collections.abc:Set", {1})])
def test_so_does_what_is_abstract(owner: str, value: Any):
    members = {"items": value.items} if type(value) is dict else {"__iter__": lambda self: iter(value)}
    own = stand(["~" + owner], **members)()
    assert own == value
    assert own not in ({}, set(), 1)


def test_an_object_without_such_a_class_equals_itself_alone():
    for offers, compares in ((["~builtins:object"], True), (["~collections:UserList"], False)):
        own = stand(offers, compares, data=[1])()
        assert own == own
        assert own != [1]


def test_what_gives_another_of_its_class_is_asked_and_what_gives_a_value_is_reckoned():
    offers = ["~datetime:date", "+__add__", "+__sub__"]
    members = {**libraries.told(offers, True), "__add__": lambda *_: "asked", "__sub__": lambda *_: "asked"}
    day = type("Day", (), {**members, **library_values.reckoned(offers, members), "year": 2020, "month": 1, "day": 2})()
    assert day + datetime.timedelta(1) == "asked"
    assert day - datetime.date(2020, 1, 1) == datetime.timedelta(1)


def test_nothing_is_asked_while_a_message_is_read(monkeypatch):
    own = stand(["~collections:UserList"], data=property(lambda self: pytest.fail("it was asked")))()
    monkeypatch.setattr(library_values, "is_reading", lambda: True)
    assert own != [1]


def test_a_moment_in_a_zone_of_the_program_s_is_that_moment():
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 6)
    members = {name: getattr(moment, name) for name in library_values._CLOCK}
    for offset, value in ((datetime.timedelta(hours=2), moment.replace(hour=1, tzinfo=UTC)), (None, moment)):
        own = stand(["~datetime:datetime"], **members, tzinfo=object(), utcoffset=lambda _self, told=offset: told)()
        assert own == value


@pytest.mark.parametrize("zone", [None, UTC])
def test_what_a_zone_of_this_half_is_nobody_is_asked(zone: Any):
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 6, zone)
    members = {name: getattr(moment, name) for name in library_values._CLOCK}
    assert stand(["~datetime:datetime"], **members, tzinfo=zone)() == moment


def test_it_is_found_where_its_value_is(monkeypatch: pytest.MonkeyPatch):
    day = datetime.date(2020, 1, 2)
    own = stand(["~datetime:date", "__hash__"], year=2020, month=1, day=2)()
    assert hash(own) == hash(day)
    assert {day: 3}[own] == 3
    monkeypatch.setattr(library_values, "is_reading", lambda: True)
    monkeypatch.setattr(library_values, "hash_meanwhile", lambda value, instead: (value, instead))
    assert library_values._hash(own) == (own, object.__hash__(own))


def test_what_never_changes_is_what_it_was_when_it_was_fixed():
    day = stand(["~datetime:date", "^", "__le__"], year=2020, month=1, day=2)()
    items = stand(["~collections:UserList"], data=[1])()
    odd = stand(["~datetime:date"], year="none", month=1, day=2)()
    library_values.fix_values([day, items, 8, odd])
    type(day).year, type(items).data, type(odd).year = 2021, [2], 2020
    assert odd != datetime.date(2020, 1, 2)
    assert day == datetime.date(2020, 1, 2)
    assert day <= datetime.date(2020, 12, 1)
    assert items == [2]


def test_what_may_change_is_what_it_is_now_and_is_not_asked_before():
    own = stand(["~collections:UserList"], data=[1])()
    assert own == [1]
    type(own).data = [2]
    assert own == [2]
    type(own).data = property(lambda self: pytest.fail("it was asked"))
    library_values.fix_values([own])
    assert vars(own) == {}


def test_what_never_changes_gives_no_other_value_later():
    fixed, own = stand(["~decimal:Decimal"])(), stand(["~collections:UserList"])()
    assert [library_values.may_change(each) for each in (fixed, own, 1)] == [False, True, False]


def test_an_object_equals_itself_as_what_it_gives_does():
    kind = stand(["~collections:UserList"], data=float("nan"))
    own = kind()
    assert own != own
    kind.data = property(lambda self: [float("nan")])
    assert own == own  # asked once: they are the same items


def test_an_order_that_is_the_library_s_is_that_of_the_values():
    offers = ["~collections:UserList", "^", "__lt__", "__le__", "__gt__"]
    less, more = stand(offers, data=[1])(), stand(offers, data=[2])()
    assert [less < more, less < [1], more <= less, more > [1], less < [0]] == [True, False, False, True, False]
    with pytest.raises(TypeError):
        stand(["~collections:UserList", "__lt__"], data=[1])() < [2]
