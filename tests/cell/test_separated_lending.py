"""What a script sets in its own process for the program: noticed by one half, set by the other."""

from __future__ import annotations

import builtins
import decimal
import os
import pathlib
import random
import sys
import time
from typing import Any
from unittest.mock import patch

import pytest
from cruxcell.jobs.separated.rules.script import constant_texts
from cruxcell.jobs.separated.state.borrowing import Borrower
from cruxcell.jobs.separated.state.lending import Lender, _Module
from cruxcell.jobs.separated.state.patched_places import MOST, modules_of
from lending_by_hand import lender


def test_modules_of_a_script_are_modules():
    modules = [os, time, builtins]
    assert modules_of(compile("import os.path\nfrom time import sleep", "check", "exec"))[-1] is builtins
    found = modules_of(compile("import os, time\nfrom os import getpid, path\npatch('os.getpid')", "check", "exec"))
    assert all(type(each) is type(os) for each in found)
    assert [each for each in modules if each not in found] == []


def test_functions_and_methods_of_the_script_are_its_own():
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(self): 0\nclass A:\n    m = f\nm, a = A().m, A()", namespace)
    one = _Module(os, [], namespace, compile("x = 1", "check", "exec"))
    assert all(one._is_of_the_script(namespace[name]) for name in ("f", "m", "A", "a"))
    assert not any(map(one._is_of_the_script, (os.getpid, os.path.join, "a".join, 1, TestHolder().method)))


class TestHolder:
    __test__ = False

    def method(self) -> None: ...


def test_what_a_script_does_not_name_is_not_looked_at(monkeypatch: pytest.MonkeyPatch):
    one = lender("assert f(1) == 'time.sleep'")
    monkeypatch.setattr(sys, "argv", ["a"])
    monkeypatch.setenv("CRUXBOX_LENT", "1")
    monkeypatch.setattr(time, "sleep", len)
    random.seed(1)
    assert (one.changes(), one.names) == ([], set())


def test_arguments_and_environment_are_lent_as_they_are(monkeypatch: pytest.MonkeyPatch):
    one = lender("sys.argv = os.environ")
    assert one.changes() == []
    monkeypatch.setattr(sys, "argv", ["a", "b"])
    monkeypatch.setenv("CRUXBOX_LENT", "1")
    (argv, environ) = one.changes()
    assert argv == ("argv", "", "", False, ["a", "b"])
    assert (environ[:4], environ[4]["CRUXBOX_LENT"]) == (("environ", "", "", False), "1")
    assert one.changes() == []


def test_a_recursion_limit_is_lent_where_the_script_may_set_it(monkeypatch: pytest.MonkeyPatch):
    limits = iter([1000, 1000, 5000, 5000])
    monkeypatch.setattr(sys, "getrecursionlimit", lambda: next(limits))
    one = lender("sys.setrecursionlimit(f)")
    assert [one.changes() for _ in range(3)] == [[], [("depth", "", "", False, 5000)], []]


@pytest.mark.parametrize(
    "source", ["patch('time.sleep')", "patch.object(time, 'sleep')", "monkeypatch.setattr(time, 'sleep', 1)"]
)
def test_what_is_patched_is_lent_and_given_back(source: str, monkeypatch: pytest.MonkeyPatch):
    one = lender(source)
    with monkeypatch.context() as patched:
        patched.setattr(time, "sleep", len)
        assert one.changes() == [("module", "time", "sleep", False, len)]
        assert one.changes() == []
    assert one.changes() == [("module", "time", "sleep", True, None)]


@pytest.mark.parametrize(
    ("source", "path", "name"),
    [
        ("patch('pathlib.Path.exists')", "pathlib.Path", "exists"),
        ("import pathlib\npatch.object(pathlib.Path, 'exists')", "pathlib.Path", "exists"),
        ("from pathlib import Path\nmonkeypatch.setattr(Path, 'exists', 1)", "pathlib.Path", "exists"),
        ("patch('os.environ.get')", "os.environ", "get"),
    ],
)
def test_what_is_patched_of_a_class_or_an_object_is_lent_and_given_back(source: str, path: str, name: str):
    one, other, owner = lender(source), Borrower({}, 0), pathlib.Path if name == "exists" else os.environ
    before = vars(owner).get(name)
    with patch.object(owner, name, len):
        assert one.changes() == [("member", path, name, False, len)]
    assert one.changes() == [("member", path, name, True, None)]
    other.take("member", path, name, False, len)
    try:
        assert vars(owner)[name] is len
    finally:
        other.take("member", path, name, True, None)
    assert vars(owner).get(name) is before


def test_what_has_no_attributes_to_set_is_not_looked_at():
    source = (
        "import os\npatch('os.sep.join'); patch('builtins.dict.get'); patch.object(dict, 'get'); patch('os.path.x')"
    )
    assert lender(source)._members == {}
    Borrower({}, 0).take("member", "os.sep", "join", False, 1)
    Borrower({}, 0).take("member", "no.such", "join", False, 1)


def test_the_recursion_limit_is_that_of_the_script_and_frames_of_the_harness(monkeypatch: pytest.MonkeyPatch):
    given: list[int] = []
    monkeypatch.setattr(sys, "setrecursionlimit", given.append)
    for value in (5000, 2**31 - 1):
        Borrower({}, 9).take("depth", "", "", False, value)
    assert given == [5009, 2**31 - 1]


def test_the_context_of_decimal_numbers_is_lent_as_far_as_it_has_changed():
    assert lender("Decimal(1)")._watches == []
    with decimal.localcontext():
        one = lender("getcontext().prec = 5")
        assert one.changes() == []
        decimal.getcontext().prec = 5
        decimal.getcontext().traps[decimal.Inexact] = True
        changes = one.changes()
    assert [each[:2] for each in changes] == [("decimal", "prec"), ("decimal", "traps")]
    with decimal.localcontext() as context:
        context.rounding, before = decimal.ROUND_UP, context.traps[decimal.Overflow]
        for each in changes:
            Borrower({}, 0).take(*each)
        traps = [context.traps[each] for each in (decimal.Inexact, decimal.Rounded, decimal.Overflow)]
        assert (context.prec, context.rounding, traps) == (5, decimal.ROUND_UP, [True, False, before])
    assert [each[1] for each in one.changes()] == ["prec", "traps"]


def test_a_name_of_the_program_that_is_patched_is_lent():
    namespace = {"helper": len}
    script = compile("patch('__main__.helper')", "check", "exec")
    one = Lender(script, constant_texts(script), namespace)
    assert one.names == {"helper"}
    one.begin()
    namespace["helper"] = abs
    assert one.changes() == [("name", "helper", "", False, abs)]
    del namespace["helper"]
    assert one.changes() == [("name", "helper", "", False, None)]


def test_a_name_that_only_the_program_has_yet_is_lent_once_the_script_sets_it():
    namespace: dict[str, Any] = {}
    script = compile("patch('helper'); patch('other')", "check", "exec")
    one = Lender(script, constant_texts(script), namespace)
    one.begin({"helper"})
    namespace.update(helper=abs, other=abs)
    assert one.changes() == [("name", "helper", "", False, abs)]


@pytest.mark.parametrize("text", ["__main__.limit", ".limit", "__main__.limit.real"])
def test_data_that_is_patched_where_it_says_is_lent_though_the_script_reads_it(text: str):
    namespace = {"limit": 5, "other": 5}
    script = compile(f"patch({text!r}); patch('other'); limit; other", "check", "exec")
    one = Lender(script, constant_texts(script), namespace)
    one.begin({"limit", "other"})
    namespace.update(limit=3, other=3)  # what stands under a mere name may be what is expected
    assert one.changes() == [("name", "limit", "", False, 3)]


def test_a_module_of_the_runtime_is_lent_and_one_of_the_script_refused(monkeypatch: pytest.MonkeyPatch):
    for made, kind in ((os, "module"), (type(os)("own"), "refused")):
        one = lender("patch('time.sleep')")
        with monkeypatch.context() as patched:
            patched.setattr(time, "sleep", made)
            assert [each[0] for each in one.changes()] == [kind]


def test_what_is_no_place_is_not_looked_at():
    texts = [
        "patch",
        "no.such",
        "time.nothing",
        "a b.c",
        "_thread.lock",
        "builtins.input",
        "sys.stdin",
        "time.x.y",
        "x" * 300,
    ]
    source = "\n".join(f"patch({text!r})" for text in texts)
    assert lender(source)._watches == []
    many = [f"patch({'os.' + name!r})" for name in vars(os)]
    assert len(lender("\n".join(many * 2))._places) <= MOST


def test_a_seed_is_lent_though_the_numbers_begin_where_they_did():
    one = lender("random.seed(3)")
    before = random.seed, random.setstate
    try:
        assert one.changes() == []
        random.seed(3)
        ((*place, (count, state)),) = one.changes()
        assert (place, state) == (["random", "random", "", False], random.getstate())
        assert one.changes() == []
        random.seed(3)
        ((*_, (again, same)),) = one.changes()
        assert (again - count, same) == (1, state)
    finally:
        random.seed, random.setstate = before


def test_the_program_gets_what_is_lent_and_has_its_own_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["own"])
    monkeypatch.setattr(time, "sleep", own := time.sleep)
    monkeypatch.setattr(os, "environ", {"A": "1"})
    namespace: dict[str, Any] = {"helper": len}
    one = Borrower(namespace, 0)
    one.take("argv", "", "", False, ["a"])
    one.take("environ", "", "", False, {"B": "2"})
    assert (sys.argv, os.environ) == (["a"], {"B": "2"})
    one.take("module", "time", "sleep", False, len)
    one.take("module", "time", "sleep", False, abs)
    assert time.sleep is abs
    one.take("module", "time", "sleep", True, None)
    assert time.sleep is own
    one.take("name", "helper", "", False, abs)
    one.take("name", "other", "", False, abs)
    assert namespace == {"helper": abs, "other": abs}
    one.take("name", "helper", "", True, None)
    one.take("name", "other", "", True, None)
    assert namespace == {"helper": len}
    one.take("module", "no_such_module", "x", False, 1)
    state = random.Random(5).getstate()
    one.take("random", "random", "", False, (1, state))
    assert random.getstate() == state
