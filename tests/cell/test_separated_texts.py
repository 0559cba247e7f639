"""What a script may run as code although the candidate has answered, and what is opened for the candidate."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import pytest
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.rules import texts
from cruxcell.jobs.separated.rules.own_code import OwnCode, _sources
from cruxcell.jobs.separated.rules.texts import (
    _is_data,
    _is_harmless,
    is_of_data,
)
from texts_by_hand import GIVEN

SCRIPT = """
CASES = ("f(1)._a", [" g(2) + x", "import os"], {"want": 2}, "    y = 2\\n    x = y\\n")
def own(n):
    '''
    >>> own(1)._a
    2
    '''
    return eval("y = 1")
"""


def may_run(text: str, mode: str = "eval") -> bool:
    script = compile(SCRIPT, "<check>", "exec", 0, True)
    code = compile(text, "<string>", mode, 0, True)
    here: dict[str, Any] = {**GIVEN, "sys": sys}
    exec(compile("frame = sys._getframe()", CHECK, "exec"), here)
    return OwnCode(script).has(code) or _is_harmless(code, here["frame"])


@pytest.mark.parametrize(
    "text",
    ["f(1)", "[1, {'a': -2.5}]", "f(len([g(1)]), k='a')", "1 if f(1) > 2 else f'{g(2)}'", "[n for n in f(3)]",
     "f(1).b", "f.a.b(1).c", "f(1).f"],
)  # fmt: skip
def test_what_applies_names_to_constants_is_harmless(text: str):
    assert may_run(text)
    assert may_run(text, "exec")


@pytest.mark.parametrize(
    "text",
    ["f(1)._b", "f.x.__class__", "f(1).gi_frame", "'{0.a}'.format(f)", "x.f", "x", "open('a')", "__import__('os')",
     "exit()", "eval('f(1)')", "(want := 2)", "(lambda n: n)(3)", "StopIteration",
     "want", "kind", "kind('A', (), {})", "max", "next(iter(()))", "(n for n in ()).send(None)", "getattr(f, 'a')",
     "type('A', (), {})"],
)  # fmt: skip
def test_what_does_more_is_not_harmless(text: str):
    assert not may_run(text)


def test_what_raises_an_error_of_its_choice_is_not_harmless():
    assert may_run("assert f(1) == 2, f(2)", "exec")
    assert not may_run("raise f(1)", "exec")
    assert not may_run("assert f(1)\nraise f(1)", "exec")


def test_where_no_operation_tells_an_assertion_its_error_does(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(texts, "_FAIL", 0)  # as up to 3.8
    raises = bytes([texts._RAISE, 0]) * 2
    assert [texts._only_asserts(raises, names) for names in ((), ("ValueError",), ("AssertionError",))] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("text", ["want = 2", "import sys", "from os import *", "del f", "def f(): pass", "class f: 0"])
def test_statements_that_bind_names_are_not_harmless(text: str):
    assert not may_run(text, "exec")


def test_the_scripts_own_texts_run():
    assert may_run("f(1)._a")
    assert may_run("g(2) + x")
    assert may_run("import os", "exec")
    assert may_run("y = 1", "exec")
    assert not may_run("import os; os", "exec")


def test_texts_that_are_indented_run_as_they_are_dedented():
    import textwrap  # noqa: F401 - of a script that does so

    assert may_run("y = 2\nx = y\n", "exec")


def test_data_holds_nothing_but_data_and_objects_of_the_program():
    circle: list[object] = [1, {"a": (2.5, {None}, GIVEN["f"])}, b"", range(2)]
    circle.append(circle)
    assert _is_data(circle)
    assert not any(map(_is_data, ([type], {1: len}, {len: 1}, (KeyError(),), [[[may_run]]])))


def test_pickles_hold_classes_of_data_that_nobody_can_change(monkeypatch: pytest.MonkeyPatch):
    import datetime

    assert all(is_of_data("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone"))
    assert is_of_data("builtins", "range")
    assert not any(is_of_data("builtins", name) for name in ("type", "eval", "getattr", "map", "nothing"))
    others = [("datetime", "tzinfo"), ("datetime", "date.today"), ("fractions", "Fraction"), ("not_imported", "date")]
    assert not any(is_of_data(*each) for each in others)
    for other in (type("date", (datetime.date,), {"__slots__": ()}), print, None):
        monkeypatch.setattr(datetime, "date", other)
        assert not is_of_data("datetime", "date")


def test_a_builtin_that_is_another_now_is_none(monkeypatch: pytest.MonkeyPatch):
    assert may_run("abs(f(1))")
    monkeypatch.setattr(builtins, "abs", len)
    assert not may_run("abs(f(1))")


def test_texts_are_read_without_the_modules_that_read_more_into_them(monkeypatch: pytest.MonkeyPatch):
    assert _sources("\n  want\n") == []
    for name in ("textwrap", "doctest"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert _sources(" 1\n>>> 2") == [("1\n>>> 2", "eval"), (" 1\n>>> 2", "exec")]


def test_examples_of_the_scripts_own_docstrings_run():
    import doctest  # noqa: F401 - of a script that runs them

    assert may_run("own(1)._a\n", "single")
    assert not may_run("own(2)._a\n", "single")
