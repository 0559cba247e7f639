"""By which rules a separated script is run: what a name means, what a candidate may do, who raised what."""

from __future__ import annotations

import _operator
import abc
import asyncio
import collections
import concurrent.futures
import contextlib
import decimal
import enum
import functools
import http
import importlib
import inspect
import json
import math
import operator
import re
import struct
import sys
import threading
import types
import typing
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from cruxcell.jobs.separated import (
    classes,
    exceptions,
    looking,
    objects,
    operations,
    remote,
    runs,
    shared_names,
    signatures,
)
from cruxcell.protocol import records
from cruxcell.values.containers import Garbled

# ---- what a name that the candidate gives means ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "name", "may"),
    [
        ("builtins", "len", True),
        ("builtins", "ValueError", True),
        ("builtins", "eval", False),
        ("builtins", "classmethod", False),
        ("builtins", "x", False),
        ("math", "sqrt", True),
        ("math", "len", True),
        ("math", "__loader__", False),
        ("math", "a.b", False),
        ("math", "a b", False),
        ("os", "system", False),
        ("_operator", "add", True),
        ("typing", "_GenericAlias", False),
        ("typing", "_", False),
        ("builtins", "NoneType", True),
        ("builtins", "mappingproxy", True),
        ("http", "HTTPStatus.OK", True),
        ("http", "HTTPStatus.OK.phrase", False),
        ("http", "HTTPStatus.", False),
        ("http", "HTTPStatus", False),
        ("ssl", "TLSVersion.TLSv1", False),
        ("array", "array", True),
        ("array", "_array_reconstructor", False),
        ("re", "compile", False),
        ("builtins", "type", False),
        ("enum", "Enum", False),
        ("enum", "EnumMeta", False),
    ],
)
def test_few_names_may_be_asked_for(module: str, name: str, may: bool):
    assert shared_names.may_be_named(module, name) is may


@pytest.mark.parametrize(
    ("module", "name", "found", "is_shared"),
    [
        ("_operator", "add", _operator.add, True),
        ("_operator", "attrgetter", operator.attrgetter, False),
        ("_operator", "methodcaller", operator.methodcaller, False),
        ("math", "pi", math.pi, False),
        ("collections", "Counter", collections.Counter, True),
        ("collections", "namedtuple", collections.namedtuple, False),
        ("decimal", "setcontext", decimal.setcontext, False),
        ("decimal", "Decimal", decimal.Decimal, True),
        ("builtins", "len", len, True),
        ("http", "HTTPStatus.OK", http.HTTPStatus.OK, True),
        ("http", "HTTPStatus.mro", http.HTTPStatus.mro, False),
    ],
)
def test_what_is_named_of_a_module_is_what_makes_values(module: str, name: str, found: object, is_shared: bool):
    """A function of the script's may call it on what the candidate gives: it reaches and sets nothing of the test's."""
    assert shared_names.is_shared(module, name, found) is is_shared


def test_no_class_that_makes_classes_and_no_function_of_python_s_own_may_be_named():
    for module in [*shared_names._SHARED_MODULES, "array", "enum", "pathlib", "re", "uuid", "builtins"]:
        for name in [*vars(importlib.import_module(module)), *shared_names._UNNAMED]:
            found = shared_names.found_at(sys.modules[module], name)
            if shared_names.may_be_named(module, name) and shared_names.is_shared(module, name, found):
                assert not (isinstance(found, type) and issubclass(found, (type, enum.Enum))), name
                assert not isinstance(found, types.FunctionType), name


def test_a_class_of_enums_that_the_program_imports_is_told_by_its_place():
    assert [shared_names.told_class(each) for each in (enum.IntFlag, enum.EnumMeta, int, Mode, 8, type)] == [
        "enum.IntFlag", "", "", "", "", ""
    ]  # fmt: skip
    for kind in (type, abc.ABCMeta):
        made = types.new_class("Enum", (), {"metaclass": kind}, lambda body: body.update(__module__="enum"))
        assert shared_names.told_class(made) == ""
    assert shared_names.own_class("enum.IntFlag") is enum.IntFlag
    assert [shared_names.own_class(each) for each in ("enum.EnumMeta", "math", None, 8, [])] == [None] * 5


def test_what_both_sides_have_is_found_at_its_place():
    for value, module, path in [
        (http.HTTPStatus.OK, "http", "HTTPStatus.OK"), (str.upper, "builtins", "str.upper"), (len, "builtins", "len"),
        (re.Match, "re", "Match"), (8, None, None),
    ]:  # fmt: skip
        assert shared_names.path_of(value) == (module, path)


def test_an_object_of_re_is_a_match_or_a_pattern_and_others_are_of_their_class():
    for module, name, cls, is_known in [
        ("re", "Match", re.Match, True), ("re", "Scanner", object, False), ("logging", "Logger", object, True),
        ("argparse", "Namespace", object, True), ("decimal", "Context", object, False), ("queue", "Own", int, False),
    ]:  # fmt: skip
        assert shared_names._is_known(module, name, cls) is is_known, (module, name)


class Mode(enum.IntEnum):
    NONE = 0


class Signal(Exception):
    pass


class Own(ValueError):
    pass


class _Hidden(ValueError):
    pass


Other = type("Match", (), {"__module__": "known_errors"})


Own.__module__ = Signal.__module__ = _Hidden.__module__ = "known_errors"


@pytest.fixture
def known_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("known_errors")
    module.__spec__ = json.__spec__
    vars(module).update(Signal=Signal, Own=Own, _Hidden=_Hidden, Match=Other, number=8)
    monkeypatch.setitem(sys.modules, "known_errors", module)


@pytest.mark.parametrize(
    ("text", "cls"),
    [
        ("map", map),
        ("generator", types.GeneratorType),
        ("int", None),
        ("re:Match", re.Match),
        ("re:Pattern", re.Pattern),
        ("re:Scanner", None),
        ("re:compile", None),
        ("decimal:Match", None),
        ("json.decoder:JSONDecodeError", json.JSONDecodeError),
        ("known_errors:Own", Own),
        ("known_errors:_Hidden", None),
        ("known_errors:Signal", None),
        ("known_errors:number", None),
        ("known_errors:Match", None),
        ("builtins:StopIteration", None),
        ("struct:error", struct.error),
        ("re:error", re.error),
        ("unittest.case:SkipTest", None),
        ("builtins:KeyboardInterrupt", None),
        ("builtins:Exception", None),
        ("builtins:ValueError", ValueError),
        ("collections:OrderedDict", None),
        ("nowhere:Match", None),
    ],
)
def test_what_an_object_may_say_it_is_of(known_errors: None, text: str, cls: type | None):
    assert shared_names.stand_in(text) is cls


def test_the_test_may_name_any_class_to_a_candidate(known_errors: None):
    assert shared_names.stand_in("collections:OrderedDict", is_test=False) is collections.OrderedDict
    assert shared_names.stand_in("builtins:KeyboardInterrupt", is_test=False) is None
    assert shared_names.stand_in("math:pi", is_test=False) is None
    assert shared_names.stands_for(collections.OrderedDict, is_given=True) == "collections:OrderedDict"
    assert shared_names.stands_for(type("OrderedDict", (), {"__module__": "collections"}), is_given=True) == ""


def test_a_package_has_classes_that_an_object_may_be_of(monkeypatch: pytest.MonkeyPatch):
    figure = types.ModuleType("matplotlib.figure")
    figure.__spec__ = json.__spec__
    cls = type("Figure", (), {"__module__": "matplotlib.figure"})
    vars(figure).update(Figure=cls, number=8)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", figure)
    assert shared_names.stands_for(cls) == "matplotlib.figure:Figure"
    assert shared_names.stand_in("matplotlib.figure:Figure") is cls
    assert shared_names.stand_in("matplotlib.figure:number") is None


def test_what_a_class_says_its_objects_are_of(known_errors: None):
    fake = type("map", (), {})
    found = [shared_names.stands_for(each) for each in (map, fake, re.Match, Own, _Hidden, collections.OrderedDict)]
    assert found == ["map", "", "re:Match", "known_errors:Own", "known_errors:_Hidden", ""]
    mine = type("Own", (ValueError,), {"__module__": "known_errors"})
    assert shared_names.stands_for(mine) == ""
    assert shared_names.stands_for(type("Match", (), {"__module__": "re"})) == ""


def test_a_text_is_a_text():
    class Reader:
        def __init__(self, value: object) -> None:
            self.value = lambda _depth: value

    assert objects._text(Reader("a")) == "a"
    for value in (8, b"a", type("Text", (str,), {})("a")):
        with pytest.raises(Garbled, match="not a text"):
            objects._text(Reader(value))


def test_which_methods_of_a_plain_base_are_overridden():
    def other(self: object, *_: object) -> None:
        pass

    base = type("Base", (list,), {"append": other, "add": other, "index": other})
    assert classes.overridden(type("Sub", (base,), {"pop": other}), list) == ["pop", "append", "index"]
    assert classes.overridden(type("Sub", (base,), {}), None) == []
    beside = type("Beside", (), {"clear": other, "__sub__": other})
    assert classes.overridden(type("Sub", (list, beside), {}), list) == ["__sub__"]


def test_operators_are_told_of_the_class_of_values_that_has_them_and_not_those_of_the_library():
    def other(self: object, *_: object) -> None:
        pass

    base = type("Base", (int,), {"__add__": other, "__bool__": other, "__reduce__": other, "_own": other, "own": other})
    assert classes.overridden(base, int) == ["__add__", "__bool__"]
    assert classes.overridden(type("Sub", (base,), {"__sub__": other}), int) == ["__sub__", "__bool__"]
    assert classes.overridden(enum.IntFlag("Flag", "A B"), int) == []
    assert classes.overridden(type("Count", (int,), {"__add__": int.__add__, "__mul__": int.__sub__}), int) == [
        "__mul__"
    ]


# ---- exceptions ------------------------------------------------------------------------------------------------------


def test_what_an_error_is_made_of():
    missing, decoding = OSError(2, "no", "a"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")
    with pytest.raises(json.JSONDecodeError) as info:
        json.loads("{")
    broken = info.value
    assert exceptions.constructor_arguments(missing) == (2, "no", "a")
    assert exceptions.constructor_arguments(decoding) is None
    assert exceptions.constructor_arguments(ValueError("a")) is None
    assert exceptions.constructor_arguments(broken) == (broken.msg, "{", 1)

    class Odd(OSError):
        def __reduce__(self) -> Any:
            return (Own, ("a",))

    assert exceptions.constructor_arguments(Odd(1)) is None
    assert exceptions.constructor_arguments(OSError(2, "no", Own())) is None


@pytest.mark.parametrize(
    "reduced", [lambda _: "a name", lambda _: (Own, ("a",)), lambda error: (type(error), error.args)]
)
def test_an_error_that_is_made_of_its_args_says_no_more(
    known_errors: None, monkeypatch: pytest.MonkeyPatch, reduced: Callable[[Any], Any]
):
    monkeypatch.setattr(Signal, "__reduce__", reduced, raising=False)
    assert exceptions.constructor_arguments(Signal("a")) is None


def test_notes_and_how_an_error_is_shown():
    plain, noted = ValueError("a"), ValueError("a")
    noted.__dict__["__notes__"] = ["one", 2, "three"]
    assert exceptions.more_of(plain) is None
    assert exceptions.more_of(noted) == (None, ["one", "three"], ())
    noted.__dict__["__notes__"] = "a"
    assert exceptions.more_of(noted) is None
    shown = type("Shown", (ValueError,), {"__repr__": lambda _self: "<shown>"})
    assert exceptions.more_of(shown("a")) == ("<shown>", [], ())


@pytest.mark.parametrize(
    "more",
    [
        8, [None, ["a"], ()], (None, ["a"]), (None, ["a"], (), 8), (None, ["a", 8], ()), (None, "a", ()),
        (None, [], ()),
        (8, [], ()), (None, [], [("a", 1)]), (None, [], (8, ("a",), (1, 2), ("_a", 3), ["a", 1], ("b", len))),
        (None, [], 8),
    ],
)  # fmt: skip
def test_what_is_told_of_an_error_wrongly_is_left_out(more: object):
    error = exceptions.make_exception(ValueError, ["a"], "a", None, more)
    exceptions.add_more(error, more)
    assert vars(error) == {}


def test_attributes_of_an_error_that_hold_no_object_are_told():
    error = OSError(2, "no")
    items = [(1.5, {"a": None, 1: {True}})]
    vars(error).update({"code": 1, "items": items, "_own": 1, "itself": error, "deep": [[[[[[1]]]]]], "n": [OSError]})
    told = exceptions.more_of(error)
    assert told == (None, [], (("code", 1), ("items", items)))
    vars(error)["response"] = response = object()
    assert exceptions.more_of(error) == told
    own = exceptions.more_of(error, of_the_test=True)
    assert own == (None, [], (("code", 1), ("items", items), ("response", response)))
    made = [exceptions.make_exception(OSError, [2, "no"], "", None, own, each) for each in (False, True)]
    assert [vars(each).get("response") for each in made] == [None, response]
    for text in str(error), "another":
        made = exceptions.make_exception(OSError, [2, "no"], text, None, told)
        assert (str(made), made.errno, made.code, made.items) == (text, 2, 1, items)
    vars(error).update({f"a{number}": number for number in range(100)})
    assert len(exceptions.more_of(error)[2]) == 64


def test_what_is_told_of_an_error():
    error = ValueError("a")
    exceptions.add_more(error, ("<a>", ["note"], ()))
    assert vars(error) == {"__notes__": ["note"]}, "only an error of the program is shown as it says"


def test_how_an_error_of_the_program_is_shown_is_a_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(remote, "RemoteType", type)
    for shown, has in [("<a>", True), (8, False)]:
        error = ValueError()
        exceptions.add_more(error, (shown, [], ()))
        assert ("_remote_repr" in records.dict_of(error)) is has


@pytest.mark.parametrize(
    ("error", "may_stop", "kind"),
    [
        (StopIteration(), (), exceptions._Ended),
        (StopIteration(), StopIteration, StopIteration),
        (StopAsyncIteration(), StopIteration, exceptions._Ended),
        (GeneratorExit(), (), exceptions._Exited),
        (GeneratorExit(), GeneratorExit, GeneratorExit),
        (KeyError(), (), KeyError),
        (SystemExit(0), (), SystemExit),
    ],
)
def test_what_a_candidate_raises_ends_no_iteration_of_the_test_s(error: BaseException, may_stop: Any, kind: type):
    raised = exceptions.answered(error, may_stop, lambda _: False)
    assert type(raised) is kind
    assert (exceptions.ANSWERED in vars(raised)) is (kind is SystemExit)


class Cancelled(asyncio.CancelledError):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (asyncio.CancelledError(), exceptions._Exited),
        (Cancelled(), exceptions._Exited),
        (concurrent.futures.CancelledError(), exceptions._Ended),
        (asyncio.TimeoutError(), asyncio.TimeoutError),
    ],
)
def test_a_candidate_says_that_it_was_cancelled_where_the_script_means_that(error: BaseException, kind: type):
    assert type(exceptions.answered(error, (), bool, False)) is kind
    assert exceptions.answered(error, (), bool, True) is error


def test_nothing_cancels_where_nobody_has_what_does(monkeypatch: pytest.MonkeyPatch):
    for name in ("asyncio.exceptions", "concurrent.futures._base"):
        monkeypatch.setitem(sys.modules, name, None)
    assert runs.cancellations() == ()


class Stop(StopIteration):
    pass


def test_what_a_script_says_that_it_expects_it_gets():
    asked: list[set[str]] = []
    for error in (Stop(), GeneratorExit(), KeyError()):
        assert exceptions.answered(error, (), lambda names: asked.append(names) or True) is error
    assert asked == [{"StopIteration"}, {"GeneratorExit"}]


@pytest.mark.parametrize(
    ("name", "told", "found"),
    [
        ("math", None, "math"),
        ("math", "string", "math"),
        ("m", "math", "math"),
        ("m", "xml.dom", "xml.dom"),
        ("m", None, None),
        ("m", 8, None),
        ("m", "a b", None),
        ("m", "_thread", None),
        ("m", "os._path", None),
        ("m", "unittest", "unittest"),
        ("m", "unittest.mock", None),
        ("m", "no_such_module", None),
        ("m", "", None),
    ],
)
def test_which_module_of_its_own_a_test_takes_for_the_program_s(name: str, told: object, found: str | None):
    assert getattr(shared_names.own_module(name, told), "__name__", None) == found


def test_an_exception_has_the_text_it_had():
    made = exceptions.make_exception(KeyError, ["a"], "'a'")
    assert (type(made), made.args, str(made)) == (KeyError, ("a",), "'a'")
    other = exceptions.make_exception(KeyError, ["a"], "gone")
    assert (type(other).__mro__[1], other.args, str(other), vars(other)) == (KeyError, ("a",), "gone", {})


# ---- the operations --------------------------------------------------------------------------------------------------


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
    assert operations.offered(object) == []


def test_of_arrays_only_numpy_s_own_are_asked_for_one(monkeypatch: pytest.MonkeyPatch):
    array = type("ndarray", (), {"__array__": lambda self: self})
    numpy: Any = types.ModuleType("numpy")
    numpy.ndarray = array
    monkeypatch.setitem(sys.modules, "numpy", numpy)
    assert operations.offered(array) == ["__array__"]
    assert operations.offered(type("Array", (), {"__array__": lambda self: self})) == []
    monkeypatch.setitem(sys.modules, "numpy", types.SimpleNamespace(ndarray=array))  # no module
    assert operations.offered(array) == []


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
        (Mine(), "f_none", True),
        (Mine, "shared", True),
        (Mine, "f_none", False),
        (Mine, "mro", False),
        (Mine, "__name__", True),
        (Mine, "__dict__", False),
        (Mine(), "__dict__", True),
        (Mine.method, "__dict__", False),
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


def test_of_a_function_its_parameters_are_shown_and_no_more_of_its_code():
    def outlined(first, /, *more, second: int = 2, **named):
        local = [first]
        local.append(1)

    def plain(first):
        local = [first]
        local.append(1)

    shown, *rest = signatures.outline_of(outlined)
    assert shown == (1, 1, 1, ("first", "second", "more", "named"), 0xC)
    assert rest == [None, {"second": 2}, {"second": "int"}]
    assert signatures.outline_of(plain)[0] == (1, 0, 0, ("first",), 0)

    async def given():
        yield 1

    assert signatures.outline_of(given)[0][-1] == inspect.CO_ASYNC_GENERATOR


def test_what_a_class_itself_has_and_what_any_of_the_program_s_has():
    class Below(Mine):
        y = 1

    assert "y" in looking.members_of(Below)
    assert looking.members_of(Below).keys().isdisjoint(["__dict__", "__weakref__", "__eq__"])
    assert [looking.members_of(Below, name) for name in ("y", "__init__", "__eq__")] == [True, True, False]


def test_of_all_names_those_are_shown_that_a_statement_can_bind():
    assert looking.shown_names(["f", "a b", "if", "len", "math", "__name__", "1"]) == {"f"}


class Link:
    """The test's end, whose other end says where a source is."""

    said: Any = None

    def ask(self, *_question: object) -> Any:
        return self.said

    def refuse(self, why: str) -> None:
        raise TypeError(why)


def test_a_source_is_lines_and_the_number_of_the_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inspect, "findsource", inspect.findsource)
    monkeypatch.setattr(looking, "is_remote", lambda target: target is remote)
    remote, link = object(), Link()
    looking.follow_sources(link)
    for said in (None, (["x"],), (["x"], 0, 1), ("x", 0), (["x"], "0"), [["x"], 0]):
        link.said = said
        with pytest.raises(TypeError, match="does not say what the source is"):
            inspect.findsource(remote)  # type: ignore[arg-type]
    link.said = (["x = 1\n"], 0)
    assert inspect.findsource(remote) == (["x = 1\n"], 0)  # type: ignore[arg-type]
    assert inspect.findsource(test_few_names_may_be_asked_for)[1] > 0


def test_hints_are_a_dict_of_names_and_those_of_the_script_are_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(typing, "get_type_hints", typing.get_type_hints)
    monkeypatch.setattr(looking, "is_remote", lambda target: target is remote)
    link = Link()

    def remote(a: int, b: Mine) -> None: ...

    looking.follow_hints(link)
    for said in (None, [("a", int)], {1: int}):
        link.said = said
        with pytest.raises(TypeError, match="does not say what the annotations are"):
            typing.get_type_hints(remote)
    link.said = {"a": str}
    assert typing.get_type_hints(remote, include_extras=True) == {"a": str}
    given = typing.get_type_hints(remote, None, {"Mine": float})
    assert given == {"a": int, "b": float, "return": type(None)}, "with names of the script's it evaluates by itself"
    assert typing.get_type_hints(Link.ask) == {"_question": object, "return": Any}


@pytest.mark.parametrize(
    ("source", "names", "does"),
    [
        ("dir()", {"dir"}, True), ("vars()", {"vars"}, True), ("dir(f)", {"dir"}, False), ("", {"globals"}, True),
        ("'dir()'", {"f"}, False),
    ],
)  # fmt: skip
def test_which_scripts_look_at_all_names(source: str, names: set[str], does: bool):
    assert looking.looks_at_all(source, names) is does


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
        ("anything", Mode.NONE, False),
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


class Stack(contextlib.ExitStack):
    pass


@pytest.mark.parametrize(
    ("target", "name", "may"),
    [
        (Stack(), "push", False),
        (contextlib.ExitStack(), "push_async_exit", False),
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
