"""What an object of the program's has of a library's class: what a script hears of it, and when it equals a value."""

from __future__ import annotations

import collections
import collections.abc
import csv
import sys
import threading
import unittest.case
from types import SimpleNamespace
from typing import Any, Union

import pytest
from cruxcell.jobs.separated.proxies import libraries, library_values


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
        (["__eq__", COUNTER], [libraries.LIBRARIES]),
        (["<enum:IntFlag"], [libraries.LIBRARIES, "__contains__"]),
        (["<enum:IntFlag", "<enum:Flag"], [libraries.LIBRARIES, "__contains__"]),
        (["<enum:Flag"], [libraries.LIBRARIES, "__contains__"]),
        (["<enum:IntEnum"], [libraries.LIBRARIES]),
        (["=collections:UserList"], [libraries.LIBRARIES]),
        ([LIST], [library_values._MAKES, "__eq__", "__ne__"]),
        ([LIST, "__hash__"], [library_values._MAKES, "__eq__", "__ne__", "__hash__"]),
        ([LIST, "__lt__"], [library_values._MAKES, "__eq__", "__ne__"]),
        ([LIST, "__lt__", "^"], [library_values._MAKES, "__eq__", "__ne__", "__lt__"]),
    ],
)
def test_what_a_class_has_of_what_was_told(offers: list[str], names: list[str]):
    found = libraries.told(offers, True)
    assert list(found) == names
    assert found.get(libraries.LIBRARIES, set()) == {each for each in offers if each[0] in "=<"}


def test_flags_are_in_flags_by_their_numbers():
    has = libraries.told(["<enum:Flag"], True)["__contains__"]
    found = [has(SimpleNamespace(value=6), SimpleNamespace(value=each)) for each in (2, 6, 1, 3)]
    assert found == [True, True, False, False]
    for each in (2, object()):
        with pytest.raises(TypeError, match="unsupported operand"):
            has(SimpleNamespace(value=6), each)


def test_flags_are_in_flags_as_numbers_are():
    flags = type("Flags", (int,), libraries.told(["<enum:IntFlag"], True))(6)
    assert [4 in flags, 6 in flags, 1 in flags, 5 in flags] == [True, True, False, False]
    assert [-2 in flags, -8 in type(flags)(-4)] == [False, True]
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
