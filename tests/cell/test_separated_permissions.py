"""What a candidate may read, set and do of the test's objects, and by which operations."""

from __future__ import annotations

import abc
import ast
import asyncio
import collections
import contextlib
import functools
import http
import inspect
import logging
import math
import operator
import re
import string
import threading
import types
import unittest
from typing import Any
from unittest import mock

import pytest
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.proxies import marks, operations


def test_an_operator_is_done_by_its_own_method():
    class Number:
        def __sub__(self, other: object) -> object:
            return ("sub", other)

        def __rsub__(self, other: object) -> object:
            return ("rsub", other)

        def __isub__(self, other: object) -> object:
            return ("isub", other)

    forms = ("__sub__", "__rsub__", "__isub__")
    done = [operations.SPECIAL[name](Number(), 8) for name in forms]
    assert done == [("sub", 8), ("rsub", 8), ("isub", 8)]
    assert {*forms} == {*operations.offered(Number)}
    assert {"__and__", "__ror__", "__ixor__", "__neg__"} < {*operations.ARITHMETIC}


def test_what_a_class_offers_is_what_object_does_not_have():
    cls = type("C", (), {"__eq__": lambda _a, _b: True, "__len__": lambda _: 0, "send": 1, "__hash__": None})
    assert set(operations.offered(cls)) == {"__eq__", "__len__", "send", "-__hash__"}
    assert operations.offered(type("C", (), {"__add__": None})) == []
    assert operations.offered(object) == []


def test_what_has_items_but_no_length_cannot_be_iterated_unless_it_is_written_in_python():
    sequence = type("Sequence", (), {"__getitem__": lambda _, number: "ab"[number]})
    assert ["-__iter__" in operations.offered(each) for each in (re.Match, list, sequence)] == [True, False, False]


def test_what_says_that_it_is_an_array_or_shows_the_memory_of_one_is_asked_for_it():
    numpy = pytest.importorskip("numpy")
    says = type("Says", (), {"__array__": lambda self: numpy.array([1, 2])})
    shows = type("Shows", (), {"__array_interface__": property(lambda self: numpy.array([3]).__array_interface__)})
    both = type("Both", (says, shows), {})
    assert [operations.offered(each) for each in (says, shows, both)] == [["__array__"]] * 3
    assert operations.offered(type("No", (shows,), {"__array_interface__": None})) == []
    found = [operations.ASKED["__array__"](each()) for each in (says, shows, both)]
    assert [each.tolist() for each in found] == [[1, 2], [3], [1, 2]]


def test_what_a_package_asks_of_its_own_objects_is_asked_of_no_others():
    context = type("Context", (), {"__module__": "sklearn.callback", "_children_map": {}, "_other": 1})()
    assert operations.may_get(context, "_children_map")
    graph = type("Graph", (), {"__module__": "networkx.classes.graph", "_adj": {}, "_other": 1})()
    assert [operations.may_get(each, "_adj") for each in (graph, context)] == [True, False]
    assert not operations.may_get(graph, "_other")
    assert not operations.may_get(context, "_other")
    assert not operations.may_get(Mine(), "_children_map")
    model = type("Model", (), {"__module__": "sklearn.linear_model"})()
    assert operations.may_set(model, "_parent_callback_ctx", context)
    assert not operations.may_set(model, "_other", 1)
    node = ast.parse("f()").body[0]
    assert [operations.may_get(node, name) for name in ("_fields", "_attributes", "_other")] == [True, True, False]


Pair = collections.namedtuple("Pair", "x y")


class Mine:
    """Of the script."""

    shared = 1
    format = "{}"

    def __init__(self) -> None:
        self.data, self.gi_frame = 2, 3

    def method(self) -> None:
        pass

    def mine(self) -> int:
        return 1

    @property
    def computed(self) -> int:
        return 1

    @computed.setter
    def computed(self, _value: int) -> None:
        pass


class Called(Mine):
    def __call__(self) -> None:
        pass


class Text(str):
    __slots__ = ()


Abstract = abc.ABCMeta("Abstract", (), {"__module__": "__main__", "shared": 1})


Mine.__module__ = Called.__module__ = Text.__module__ = "__main__"


Library = type("Library", (), {"__module__": "library", "number": 1, "method": lambda _self: 1})


generator = (each for each in "a")


frame = inspect.currentframe()


try:
    raise ValueError
except ValueError as caught:
    raised = caught


class Case(unittest.TestCase):
    __module__ = "__main__"
    own = 1


with pytest.raises(ValueError) as raised_in_a_test:
    int("x")


def holding(cls: Any, value: object) -> object:
    made = cls()
    made.held, made.args = value, 1
    return made


def with_a_property() -> object:
    made = mock.MagicMock()
    type(made).anything = mock.PropertyMock(return_value=1)
    return made


@pytest.mark.parametrize(
    ("target", "name", "may"),
    [
        (Mine(), "data", True),
        (Mine(), "gi_frame", True),
        (Mine(), "format", True),
        (logging.Formatter(), "format", True),  # told a record, by a text of its own
        (logging.Formatter(), "format_map", False),
        (string.Formatter(), "format", False),
        (Mine(), "f_none", True),
        (Mine, "shared", True),
        (Mine, "f_none", False),
        (Mine, "mro", False),
        (Mine, "__name__", True),
        (Mine, "__dict__", False),
        (Mine(), "__dict__", True),
        (Mine.method, "__dict__", True),  # what it has set itself
        (Library(), "__dict__", True),
        (Library, "__dict__", False),
        (functools.partial(max, 1), "__dict__", False),
        (mock.Mock(), "__dict__", False),
        (Mine(), "_data", False),
        (Called(), "data", True),
        (Text("{}"), "format", False),
        (Library(), "number", True),
        (Library(), "f_none", False),
        ("{}", "format", False),
        ("{}", "upper", True),
        (generator, "gi_frame", False),
        (generator, "gi_running", False),
        (generator, "send", True),
        (frame, "clear", False),
        (raised.__traceback__, "clear", False),
        (raised, "args", True),
        (math, "pi", False),
        (Mine.method.__code__, "replace", False),
        (Mine.method, "attribute", False),
        (Mine().method, "attribute", False),
        (functools.partial(max, 1), "args", False),
        (functools.partial(max, 1), "func", False),
        (type("Partial", (functools.partial,), {"__module__": "library"})(max, 1), "args", False),
        (type("Curried", (Called,), {"__module__": "library", "args": 1})(), "args", True),
        (holding(type("Curried", (Called,), {"__module__": "library"}), max), "args", False),
        (functools.lru_cache(max), "cache_info", False),
        (operator.attrgetter("a"), "args", False),
        (contextlib.contextmanager(iter)([1]), "args", False),
        (with_a_property(), "anything", True),
        (mock.Mock(), "anything", True),
        (mock.Mock(), "assert_called_with", False),
        (mock.Mock(), "call_args", False),
        (mock.Mock(), "method_calls", False),
        (mock.NonCallableMock(), "method_calls", False),
        (mock.NonCallableMock(), "anything", True),
        (mock.Mock(items=[1]), "items", True),
        (type("frame", (), {"__module__": "__main__", "data": 1})(), "data", True),
        (type("Own", (), {"__module__": "__main__", "format": 1}), "format", True),
        (Pair(1, 2), "_replace", True),
        (Pair, "_fields", True),
        (Pair(1, 2), "_data", False),
        (Mine(), "_replace", False),
        (Mine, "_fields", False),
        (Case(), "assertEqual", True),
        (Case(), "failureException", True),
        (Case(), "own", True),
        (Case(), "addTypeEqualityFunc", False),
        (Case, "addClassCleanup", False),
        (raised_in_a_test, "value", False),
        (pytest.MonkeyPatch(), "setattr", False),
    ],
)
def test_what_a_candidate_may_read_of_the_test_s(target: object, name: str, may: bool):
    assert operations.may_get(target, name) is may


@pytest.mark.parametrize(
    ("target", "name", "may"),
    [
        (Mine(), "data", True),
        (Mine(), "new", True),
        (Mine(), "shared", True),
        (Mine(), "computed", True),
        (Mine(), "method", False),
        (Mine(), "_data", False),
        (Mine, "shared", False),
        (Abstract, "shared", False),
        (Mine.method, "__doc__", False),
        (math, "pi", False),
        (raised, "args", False),
        (raised, "new", False),
        (mock.Mock(), "anything", False),  # an object
        (mock.Mock(spec=["send"], send=1), "send", False),
        (Library(), "number", True),
        (Library(), "new", True),
        (Library(), "method", False),
    ],
)
def test_what_a_candidate_may_set_of_the_test_s(target: object, name: str, may: bool):
    assert operations.may_set(target, name, object()) is may


@pytest.mark.parametrize(
    ("name", "value", "may"),
    [
        ("anything", 1, True),
        ("anything", None, True),
        ("counted", [1], True),
        ("anything", len, False),  # it would be called in the place of a mock
        ("anything", http.HTTPStatus.OK, False),
        ("configured", 1, False),
        ("method_calls", [], False),
        ("call_count", 1, False),
        ("return_value", 1, False),
        ("_mock_name", "a", False),
    ],
)
@pytest.mark.parametrize("kind", [mock.Mock, mock.MagicMock, mock.NonCallableMock])
def test_what_a_candidate_may_set_of_a_mock(kind: Any, name: str, value: object, may: bool):
    target = kind(counted=1)
    target.__dict__["configured"] = mock.Mock()
    assert operations.may_set(target, name, value) is may
    assert operations.may_set(target, name) is False  # nor take away


def test_what_the_test_s_objects_look_like():
    for target in (functools.partial(max, 7), Mine().method, [7].append, functools.lru_cache()(Mine.mine)):
        is_builtin = type(target) is type(len)
        assert operations.shown(target) == ("" if is_builtin else object.__repr__(target))
    for target in (Mine, Mine.method, len, Mine(), Called(), 8, raised):
        assert operations.shown(target) == ""


def test_what_holds_others_of_its_library_stands_for_no_function():
    """As a tag of bs4 does, which can be called and knows the one that it is in."""
    tag = type("Tag", (), {"__module__": "library.tags", "__call__": len})
    page, command = type("Page", (tag,), {"__module__": "library"}), type("Command", (), dict(vars(tag)))
    for holder, held in [(tag(), page()), (page(), tag()), (page(), page)]:
        holder.parent = held
        assert operations.may_get(holder, "parent")
        assert operations.shown(holder) == ""
    for held in (command(), functools.partial(max, 7), len, Mine().method, Called(), mock.Mock()):
        holder = tag()
        holder.parent = held
        assert not operations.may_get(holder, "parent")
        assert operations.shown(holder) == object.__repr__(holder)


class Stack(contextlib.ExitStack):
    pass


@pytest.mark.parametrize(
    ("target", "name", "may"),
    [
        (Stack(), "push", False),
        (contextlib.ExitStack(), "push_async_exit", False),
        (contextlib.AsyncExitStack(), "push_async_exit", False),
        (type("Stack", (contextlib.ExitStack,), {"__module__": "__main__"})(), "push", False),
        (contextlib.ExitStack(), "enter_context", True),
        (Mine(), "push", True),
        (contextlib.ExitStack, "push", False),
        (contextlib.ExitStack(), "callback", True),
        (threading.Timer(1, len), "args", False),
        (threading.Timer(1, len), "name", True),
        (types.SimpleNamespace(args=1), "args", True),
        (object.__new__(asyncio.BaseEventLoop), "set_task_factory", False),
        (object.__new__(asyncio.BaseEventLoop), "call_soon", True),
    ],
)
def test_a_candidate_decides_nothing_for_the_script(target: Any, name: str, may: bool):
    assert operations.may_get(target, name) is may


def test_what_a_candidate_may_set_of_a_function():
    made: dict[str, Any] = {}
    exec(compile("def one(): pass\none.count = 0\nclass C:\n    def two(self): pass", CHECK, "exec"), made)
    one, two = made["one"], made["C"].two
    marks.keep_unmarked(["expected"])
    for name in ("count", "expected", "pytestmark", "_own", "__doc__", "f_code"):
        assert not operations.may_set(one, name, 1)
    assert not operations.may_set(Mine.method, "mark", 1), "no function of the script's"
    assert not operations.may_set(one, "mark")
    for function in (one, two):
        assert not operations.may_get(function, "mark")
        mark = object()
        assert operations.may_set(function, "mark", mark)
        function.mark = mark
        assert operations.may_get(function, "mark")
        assert operations.data_of(function)["mark"] is mark
    assert operations.may_get(made["C"]().two, "mark")
    two.mark = 8
    assert not operations.may_set(two, "mark", 1), "somebody else has set it since"
    assert operations.may_set(one, "mark")
    del one.mark
    assert not operations.may_get(one, "mark")
    assert operations.may_set(one, "mark", 9)


def test_a_candidate_reads_what_the_script_has_set_of_a_function():
    made: dict[str, Any] = {}
    exec(compile("def one(): pass\nclass C:\n    def two(self): pass\n    two.count = 0", CHECK, "exec"), made)
    one, two = made["one"], made["C"]().two
    for name in ("count", "patchings", "_own", "f_code"):
        setattr(one, name, 0)
    assert [name for name in vars(one) if operations.may_get(one, name)] == ["count"]
    assert operations.data_of(one) == {"count": 0}
    assert operations.may_get(two, "count")
    assert not operations.may_get(two, "other")
    Mine.method.count = 0  # type: ignore[attr-defined]
    assert not operations.may_get(Mine.method, "count"), "no function of the script's"
    assert not operations.may_set(one, "count", 1)
