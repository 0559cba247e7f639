"""What a name of a library means that the candidate gives: of what an object is, and which class a value has."""

from __future__ import annotations

import _operator
import abc
import collections
import decimal
import enum
import http
import importlib
import json
import math
import operator
import re
import struct
import sys
import types

import pytest
from cruxcell.jobs.separated.crossing import by_name, classes
from cruxcell.jobs.separated.proxies import shared_names
from cruxcell.values.containers import Garbled
from library_errors import Own, Part, Signal, _Hidden, as_a_library  # noqa: F401 - a fixture among them


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


def test_what_classes_and_functions_are_made_with_is_told_by_its_place():
    assert [shared_names.told_import("a", each) for each in (enum.IntFlag, enum.EnumMeta, int, Mode, 8, type)] == [
        "enum.IntFlag", "", "", "", "", ""
    ]  # fmt: skip
    for kind in (type, abc.ABCMeta):
        made = types.new_class("Enum", (), {"metaclass": kind}, lambda body: body.update(__module__="enum"))
        assert shared_names.told_import("Enum", made) == ""
    for module, names in shared_names._OWN.items():
        for name in names.intersection(vars(importlib.import_module(module))):  # StrEnum is of 3.11
            found = getattr(sys.modules[module], name)
            assert shared_names.own_import(name, shared_names.told_import(name, found)) is found, name
    assert shared_names.own_import("a", "enum.IntFlag") is enum.IntFlag
    assert [shared_names.own_import("a", each) for each in ("enum.EnumMeta", "math", "abc.", None, 8, [])] == [None] * 6


def test_what_tests_are_made_with_is_told_by_its_own_name_alone():
    mock = importlib.import_module("unittest.mock")
    assert shared_names.told_import("Mock", mock.Mock) == "unittest.mock.Mock"
    assert [shared_names.told_import(*each) for each in (("a", mock.Mock), ("Mock", mock.call), ("ANY", mock.ANY))] == [
        ""
    ] * 3
    assert shared_names.own_import("Mock", "unittest.mock.Mock") is mock.Mock
    assert shared_names.own_import("f", "unittest.mock.Mock") is None
    assert shared_names.own_module("mock", "unittest.mock") is mock
    assert shared_names.own_module("f", "unittest.mock") is None


@pytest.mark.parametrize("put", [lambda function: function, object(), 8, type("Odd", (), {"__module__": 8})])
def test_what_the_program_has_put_into_a_module_is_its_own(monkeypatch: pytest.MonkeyPatch, put: object):
    monkeypatch.setattr("functools.wraps", put)
    assert shared_names.told_import("wraps", put) == ""


def test_what_both_halves_have_is_found_at_its_place():
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


def test_an_error_of_a_package_is_one_where_the_script_names_it_or_one_of_its_kind(known_errors: None):
    for named in ({"Signal"}, {"Part", "x"}):
        assert shared_names.stand_in("known_errors:Signal", named=named) is Signal
        assert shared_names.stand_in("known_errors:Part", named=named) is Part
    for text in ("known_errors:Signal", "known_errors:Part"):
        assert shared_names.stand_in(text, named={"Own", "signal"}) is None
        assert shared_names.stand_in(text, is_test=False) is not None
    assert shared_names.stand_in("unittest.case:SkipTest", named={"SkipTest"}) is None
    assert shared_names.stand_in("unittest.case:SkipTest", is_test=False) is None


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

    assert by_name.text_of(Reader("a")) == "a"
    for value in (8, b"a", type("Text", (str,), {})("a")):
        with pytest.raises(Garbled, match="not a text"):
            by_name.text_of(Reader(value))


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
