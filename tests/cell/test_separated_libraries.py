"""What an object of the program's has of a library's class: what a script hears of it, and when it equals a value."""

from __future__ import annotations

import collections
import collections.abc
import csv
import datetime
import decimal
import fractions
import pathlib
import sys
import threading
import types
import unittest.case
import uuid
from typing import Any, Union

import pytest
from cruxcell.jobs.separated.proxies import libraries


class Bag(collections.Counter):
    __module__ = "of a program"


class Equal(Bag):
    __module__ = "of a program"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Other(Bag):
    __module__ = "of a program"

    def __ne__(self, other: object) -> bool:
        return False


DICT, COUNTER = "<builtins:dict", "<collections:Counter"
OWNER = "~collections:Counter" if sys.version_info >= (3, 10) else "~builtins:dict"


@pytest.mark.parametrize(
    ("cls", "found"),
    [
        (Bag, [COUNTER, DICT, OWNER, "^"]),
        (Equal, [COUNTER, DICT, "^"]),
        (Other, [COUNTER, DICT]),
        (type("Ordered", (Bag,), {"__le__": None, "__module__": "of a program"}), [COUNTER, DICT, OWNER]),
        (threading.Timer, ["=threading:Timer", "<threading:Thread", "~builtins:object", "^"]),
        (type("Own", (), {}), ["~builtins:object", "^"]),
        (type(threading.Lock()), ["=_thread:lock", "~builtins:object", "^"]),
        (type(csv.reader([])), ["=_csv:reader", "~builtins:object", "^"]),
        (type("lock", (), {"__module__": "_thread"}), ["~builtins:object", "^"]),
        (type("Thread", (), {"__module__": "threading"}), ["~builtins:object", "^"]),
    ],
)
def test_the_classes_that_a_class_is_derived_from(cls: type, found: list[str]):
    assert libraries.of_libraries(cls) == found


@pytest.fixture(autouse=True)
def link(monkeypatch: pytest.MonkeyPatch) -> None:
    def value_of(value: Any, make: Any) -> Any:
        return make(value)

    monkeypatch.setattr(libraries, "connection", [types.SimpleNamespace(value_of=value_of)])
    monkeypatch.setattr(libraries, "fixed_value", fixed_value)


def fixed_value(value: Any, make: Any) -> Any:
    if "fixed" not in vars(value):
        vars(value)["fixed"] = make(value)
    return vars(value)["fixed"]


def stand(offers: list[str], compares: bool = True, **members: Any) -> Any:
    return type("Stand", (), {**members, **libraries.told(offers, compares)})


WORKER = stand(["__eq__", "<threading:Thread", "~builtins:object"])
THREAD = stand(["=threading:Thread", "~builtins:object"])
BAG = stand([COUNTER, DICT])


@pytest.mark.parametrize(
    ("cls", "of", "is_one"),
    [
        (WORKER, threading.Thread, True),
        (WORKER, threading.Timer, False),
        (WORKER, WORKER, True),
        (WORKER, THREAD, True),
        (THREAD, threading.Thread, True),
        (THREAD, WORKER, False),
        (WORKER, BAG, False),
        (BAG, dict, True),
        (BAG, (list, (str, dict)), True),
        (BAG, (list, (str, set)), False),
        (BAG, type("Counter", (), {"__module__": "collections"}), False),
        (type("Own", (), {}), threading.Thread, False),
        (bool, int, True),
    ],
)
def test_a_script_hears_of_them(cls: Any, of: Any, is_one: bool):
    assert libraries.is_subclass(cls, of) is is_one
    assert libraries.is_instance(cls(), of) is is_one


LIST = "~collections:UserList"


@pytest.mark.parametrize(
    ("offers", "names"),
    [
        (["__eq__", "__lt__"], []),
        (["__eq__", COUNTER], [libraries._TOLD]),
        (["<enum:IntFlag"], [libraries._TOLD, "__contains__"]),
        (["<enum:IntEnum"], [libraries._TOLD]),
        (["=collections:UserList"], [libraries._TOLD]),
        ([LIST], [libraries._MAKES, "__eq__", "__ne__"]),
        ([LIST, "__hash__"], [libraries._MAKES, "__eq__", "__ne__", "__hash__"]),
        ([LIST, "__lt__"], [libraries._MAKES, "__eq__", "__ne__"]),
        ([LIST, "__lt__", "^"], [libraries._MAKES, "__eq__", "__ne__", "__lt__"]),
    ],
)
def test_what_a_class_has_of_what_was_told(offers: list[str], names: list[str]):
    found = libraries.told(offers, True)
    assert list(found) == names
    assert found.get(libraries._TOLD, set()) == {each for each in offers if each[0] in "=<"}


def test_flags_are_in_flags_as_numbers_are():
    flags = type("Flags", (int,), libraries.told(["<enum:IntFlag"], True))(6)
    assert [4 in flags, 6 in flags, 1 in flags, 5 in flags] == [True, True, False, False]
    with pytest.raises(TypeError, match="'str' and 'Flags'"):
        "a" in flags


@pytest.mark.skipif(sys.version_info < (3, 10), reason="unions of classes came with Python 3.10")
def test_of_a_union_too():
    assert libraries.is_instance(BAG(), Union[str, dict])
    assert not libraries.is_subclass(BAG, Union[str, set])


def test_what_is_no_class_is_an_error_as_ever():
    with pytest.raises(TypeError):
        libraries.is_instance(BAG(), 5)


@pytest.mark.parametrize(
    ("named", "provided", "is_unittest_told"),
    [
        ({"isinstance", "assertEqual"}, ["isinstance"], False),
        ({"issubclass"}, ["issubclass"], False),
        ({"assertNotIsInstance"}, [], True),
    ],
)
def test_only_a_script_that_asks_does(monkeypatch, named: set[str], provided: list[str], is_unittest_told: bool):
    for name in ("isinstance", "issubclass"):
        monkeypatch.setattr(unittest.case, name, getattr(unittest.case, name, None), raising=False)
    before = unittest.case.isinstance  # type: ignore[attr-defined]
    namespace: dict[str, Any] = {}
    libraries.provide(namespace, frozenset(named))
    assert list(namespace) == provided
    assert (unittest.case.isinstance is not before) == is_unittest_told  # type: ignore[attr-defined]


def test_the_script_s_own_stays():
    namespace = {"isinstance": 1}
    libraries.provide(namespace, frozenset(["isinstance"]))
    assert namespace == {"isinstance": 1}


UTC = datetime.timezone.utc


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


def test_nothing_is_asked_while_a_message_is_read(monkeypatch):
    own = stand(["~collections:UserList"], data=property(lambda self: pytest.fail("it was asked")))()
    monkeypatch.setattr(libraries, "is_reading", lambda: True)
    assert own != [1]


def test_a_moment_in_a_zone_of_the_program_s_is_that_moment():
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 6)
    members = {name: getattr(moment, name) for name in libraries._CLOCK}
    for offset, value in ((datetime.timedelta(hours=2), moment.replace(hour=1, tzinfo=UTC)), (None, moment)):
        own = stand(["~datetime:datetime"], **members, tzinfo=object(), utcoffset=lambda _self, told=offset: told)()
        assert own == value


@pytest.mark.parametrize("zone", [None, UTC])
def test_what_a_zone_of_this_side_is_nobody_is_asked(zone: Any):
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 6, zone)
    own = stand(["~datetime:datetime"], **{name: getattr(moment, name) for name in libraries._CLOCK}, tzinfo=zone)()
    assert own == moment


def test_it_is_found_where_its_value_is(monkeypatch: pytest.MonkeyPatch):
    day = datetime.date(2020, 1, 2)
    own = stand(["~datetime:date", "__hash__"], year=2020, month=1, day=2)()
    assert hash(own) == hash(day)
    assert {day: 3}[own] == 3
    monkeypatch.setattr(libraries, "is_reading", lambda: True)
    monkeypatch.setattr(libraries, "hash_meanwhile", lambda value, instead: (value, instead))
    assert libraries._hash(own) == (own, object.__hash__(own))


def test_what_never_changes_is_what_it_was_when_it_was_fixed():
    day = stand(["~datetime:date", "^", "__le__"], year=2020, month=1, day=2)()
    items = stand(["~collections:UserList"], data=[1])()
    odd = stand(["~datetime:date"], year="none", month=1, day=2)()
    libraries.fix_values([day, items, 8, odd])
    type(day).year, type(items).data, type(odd).year = 2021, [2], 2020
    assert odd != datetime.date(2020, 1, 2)
    assert day == datetime.date(2020, 1, 2)
    assert day <= datetime.date(2020, 12, 1)
    assert items == [2]


def test_what_may_change_is_what_it_is_now_and_is_not_asked_before():
    own = stand([LIST], data=[1])()
    assert own == [1]
    type(own).data = [2]
    assert own == [2]
    type(own).data = property(lambda self: pytest.fail("it was asked"))
    libraries.fix_values([own])
    assert vars(own) == {}


def test_an_object_is_itself_whatever_it_gives():
    own = stand([LIST], data=float("nan"))()
    assert own == own


def test_an_order_that_is_the_library_s_is_that_of_the_values():
    offers = ["~collections:UserList", "^", "__lt__", "__le__", "__gt__"]
    less, more = stand(offers, data=[1])(), stand(offers, data=[2])()
    assert [less < more, less < [1], more <= less, more > [1], less < [0]] == [True, False, False, True, False]
    with pytest.raises(TypeError):
        stand(["~collections:UserList", "__lt__"], data=[1])() < [2]
