"""What a script sets in its own process for the program: noticed by one half, set by the other."""

from __future__ import annotations

import builtins
import decimal
import email.charset
import os
import pathlib
import random
import sys
import time
from types import FunctionType, SimpleNamespace
from typing import Any
from unittest.mock import Mock, patch

import pytest
from cruxcell.jobs.separated.rules.script import constant_texts
from cruxcell.jobs.separated.state import lending, patched_places
from cruxcell.jobs.separated.state.borrowing import Borrower
from cruxcell.jobs.separated.state.lending import Lender, _change, _Module, _Stub, _Watch
from cruxcell.jobs.separated.state.patched_places import MOST, modules_of


def lender(source: str, **namespace: Any) -> Lender:
    script = compile(source, "check", "exec")
    made = Lender(script, constant_texts(script), namespace)
    made.begin()
    return made


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


def test_what_a_script_has_once_set_in_a_module_is_lent_until_it_is_as_it_was():
    module: Any = type(os)("lent")
    module.f, module.g = len, abs
    namespace: dict[str, Any] = {}
    exec("def stub(): pass", namespace)
    one = _Module(module, [], namespace, compile("1", "check", "exec"))
    steps: list[tuple[dict[str, Any], list[tuple[str, bool, Any]]]] = [
        ({"g": len}, []),  # the library's own change
        ({"f": namespace["stub"]}, [("f", False, namespace["stub"])]),
        ({}, []),
        ({"f": abs}, [("f", False, abs)]),
        ({"f": len}, [("f", True, None)]),
        ({"f": abs, "new": namespace["stub"]}, [("f", False, abs), ("new", False, namespace["stub"])]),
    ]
    for put, told in steps:
        vars(module).update(put)
        assert one.changes() == [("module", "lent", *each) for each in told]
    del module.new
    assert one.changes() == [("module", "lent", "new", True, None)]


def test_random_numbers_are_only_looked_at_where_a_script_seeds_them(monkeypatch: pytest.MonkeyPatch):
    before = random.seed
    for source in ("random.choice([1])", "f.seed(1)"):
        assert lender(source)._watches == []
    assert random.seed is before
    for each in ("numpy", "numpy.random"):
        monkeypatch.setitem(sys.modules, each, None)
    assert lender("numpy.random_.seed(1)")._watches == []


def test_an_environment_that_is_named_in_a_text_is_lent(monkeypatch: pytest.MonkeyPatch):
    one = lender("patch.dict('os.environ', a=1)")
    monkeypatch.setenv("CRUXBOX_LENT", "1")
    assert [change[0] for change in one.changes()] == ["environ"]


def test_what_a_script_sets_by_itself_is_no_more_than_that():
    by_text, by_name = lender("import time\nsetattr(time, f('time.sleep'), 1)"), lender("import time\ntime.sleep = 'f'")
    assert (by_text._places, by_text._modules) == ([], [(time, None), (builtins, None)])
    assert (by_name._places, by_name._modules, by_name.names) == ([(time, "sleep")], [(builtins, ["sleep"])], set())


def test_a_text_that_is_no_path_imports_nothing():
    assert lender("patch('antigravity.a b')")._watches == []
    assert "antigravity" not in sys.modules


def test_variables_that_the_script_names_are_as_the_program_has_them(monkeypatch: pytest.MonkeyPatch):
    for name in ("A_B", "C_D", "OTHER"):
        monkeypatch.setenv(name, "1")
    one = lender("import os\nassert os.environ['A_B'] == '2' and os.getenv('C_D') is None, 'not so'")
    assert one.variables == ["A_B", "C_D"]
    for odd in (None, "2", {"A_B": 2, "C_D": []}, [1, 2], []):
        one.take_variables(odd)
    assert (os.environ["A_B"], os.environ["C_D"]) == ("1", "1")
    one.take_variables({"A_B": "2", "OTHER": "3"})
    assert (os.environ["A_B"], os.environ.get("C_D"), os.environ["OTHER"]) == ("2", None, "1")
    for impossible in ("a\0b", "\ud800"):
        one.take_variables({"A_B": impossible})
    assert os.environ["A_B"] == "2"
    assert Borrower({}, 0).variables(None, "A_B", "C_D") == {"A_B": "2"}
    assert lender("x = 'A_B'").variables == []


def functions(*names: str) -> dict[str, Any]:
    """A script's namespace with such functions of its own."""
    namespace: dict[str, Any] = {}
    exec("\n".join(f"def {name}(): pass" for name in names), namespace)
    return namespace


MOCK = Mock()


@pytest.mark.parametrize(
    ("now", "how", "told"),
    [
        ("own", {}, ""),
        ("own", {"is_stub": True}, "refused"),
        ("own", {"is_stub": True, "shows": lambda _value: True}, ""),
        ("own", {"is_stub": False, "is_lent": True}, "name"),
        (os.path.join, {"is_stub": True}, ""),
        (os.path.join, {"is_lent": True}, ""),
        (5, {"is_stub": True}, ""),
        (5, {"is_lent": True}, ""),  # it may be what is expected
        (MOCK, {"is_stub": True}, "name"),
        (MOCK, {}, "name"),
    ],
)
def test_what_a_script_has_under_a_name_of_the_program_is_its_own_unless_it_is_to_be_called(
    now: Any, how: dict[str, Any], told: str
):
    namespace = functions("own")
    namespace["f"] = before = namespace["own"].__code__
    one = _Stub(namespace, "f", **{"is_stub": False, **how})
    assert one.changes() == []
    namespace["f"] = namespace["own"] if now == "own" else now
    changes = one.changes()
    assert [each[0] for each in changes] == ([told] if told else [])
    if told == "name":
        assert one.changes() == []
        namespace["f"] = before
        assert one.changes() == [("name", "f", "", True, None)]


def test_a_place_is_told_by_identity_or_by_what_it_holds():
    held: list[Any] = [first := [1]]
    by_value = _Watch(("argv", "", ""), lambda: held[0])
    by_identity = _Watch(("name", "x", ""), lambda: held[0], True, lambda now: len(now) > 1)
    held[0] = [1]
    assert (by_value.changes(), by_identity.changes()) == ([], [])
    held[0] = other = [1, 2]
    assert by_value.changes() == [("argv", "", "", False, other)]
    assert by_identity.changes() == [("name", "x", "", False, other)]
    held[0] = [1, 2]
    assert (by_value.changes(), len(by_identity.changes())) == ([], 1)
    held[0] = first
    assert by_value.changes() == [("argv", "", "", False, first)]
    assert by_identity.changes() == [("name", "x", "", True, None)]


def test_a_module_that_was_there_first_may_be_there_again():
    made = type(os)("made")
    assert _change(("name", "m", ""), True, made) == ("name", "m", "", True, None)
    assert _change(("name", "m", ""), False, made)[0] == "refused"


@pytest.mark.parametrize(("name", "told"), [("lent", ["f", "input", "stdin"]), ("builtins", ["f", "stdin"])])
def test_of_a_module_is_skipped_what_is_looked_at_elsewhere(name: str, told: list[str]):
    module, other, namespace = type(os)(name), type(os)("other"), functions("f")
    one = _Module(module, [(module, "g"), (other, "f")], namespace, compile("1", "check", "exec"))
    vars(module).update(dict.fromkeys(["g", *told, "input"], namespace["f"]))
    assert sorted(each[2] for each in one.changes()) == told
    for each in told:
        delattr(module, each)
    assert sorted(each[2] for each in one.changes()) == told
    assert one.changes() == []


def test_what_a_script_alone_has_in_a_module_and_reads_is_its_own():
    module, namespace = type(os)("lent"), functions("stub", "known")
    module.__dict__["old"] = len
    script = compile("import lent\nlent.new = lent.old = lent.known = lent.mock = stub\n"
                     "lent.new, lent.old, lent.known, lent.mock", "check", "exec")  # fmt: skip
    one = _Module(module, [], namespace, script)
    vars(module).update(dict.fromkeys(["new", "old", "known"], namespace["stub"]), mock=MOCK)
    assert sorted(each[2] for each in one.changes()) == ["known", "mock", "old"]


def test_only_what_stands_for_a_module_is_lent_in_its_place(monkeypatch: pytest.MonkeyPatch):
    read = lending._made_module("cruxbox_lent")
    assert read() is lending._made_module("time")() is lending.MISSING
    for made in (None, MOCK, type(os)("cruxbox_lent"), SimpleNamespace(__spec__=os.__spec__)):
        monkeypatch.setitem(sys.modules, "cruxbox_lent", made)
        assert read() is made
    places = [watch._place for watch in lender("sys.modules['own.a'] = f('a b', '__main__')")._watches]
    assert places == [("loaded", "own.a", "")]
    assert ("loaded", "own", "") in [w._place for w in lender("patch.dict('sys.modules', own=f('own'))")._watches]


def test_names_of_the_program_are_names():
    assert patched_places.names_with_a_place(["__main__.x.y", ".z", "__main__.a b", "x", "other.x"]) == {"x", "z"}
    assert patched_places.bare_names(["x", "len", "sys", "a b"]) == {"x"}


def test_what_may_be_set_has_attributes():
    owners: list[Any] = [pathlib.Path, dict, os.environ, None, os, 5]
    assert [patched_places._may_be_set(owner, "exists", True) for owner in owners] == [
        True,
        False,
        True,
        False,
        False,
        False,
    ]
    assert not patched_places._may_be_set(pathlib.Path, "none", True)
    assert not patched_places._may_be_set(os.environ, "get", False)


def test_the_script_and_what_is_private_is_no_module_to_patch():
    assert patched_places.imported("time") is patched_places.resolved("__main__.time") is time
    assert [patched_places.imported(path) for path in ("__main__", "_thread", "no_such")] == [None, None, None]
    assert patched_places.resolved("time.sleep.__call__") is None


def test_what_a_statement_of_the_script_binds_is_not_for_the_program():
    for bound in ({"expected"}, set()):  # type: set[str]
        namespace: dict[str, Any] = {"expected": 5}
        script = compile("expected = 5\npatch('expected')\nassert f() == expected", "check", "exec")
        one = Lender(script, constant_texts(script), namespace)
        one.begin(bound)
        namespace["expected"] = 7
        assert one.changes() == []
        namespace["expected"] = FunctionType(compile("1", "check", "exec"), namespace)
        assert one.changes() == []


@pytest.mark.parametrize(
    ("source", "is_meant", "what"),
    [
        ("patch('__main__.x')\nx", False, lending._anything),
        ("patch('x')", False, lending._anything),
        ("patch('x')", True, callable),
        ("patch('x')\nx", False, callable),
        ("globals()['x'] = f", False, callable),
        ("globals()['x'] = f\nassert g() == x", False, lending.is_a_mock),  # it may be what is expected
        ("globals()['x'] = f\nassert g() == x", True, callable),
        ("globals()['x'] = f\npatch.object(m, 'y')\nassert g() == x", False, callable),
    ],
)
def test_what_a_script_puts_under_a_name_and_reads_is_lent_if_it_is_there_to_be_called(
    source: str, is_meant: bool, what: Any
):
    assert lender(source)._may_be("x", is_meant) is what


def test_attributes_that_a_script_sets_are_lent(monkeypatch: pytest.MonkeyPatch):
    one = lender("import time\ntime.sleep = len")
    monkeypatch.setattr(time, "sleep", len)
    assert one.changes() == [("module", "time", "sleep", False, len)]
    multiple = lender("patch.multiple('os.path', join=1); f('join')")
    monkeypatch.setattr(os.path, "join", len)
    assert ("module", os.path.__name__, "join", False, len) in multiple.changes()


def test_a_module_that_is_not_in_its_package_yet_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(email, "charset")
    assert patched_places.resolved("email.charset") is sys.modules["email.charset"]


def test_a_function_that_only_the_program_would_call_is_a_stub():
    names = ["test_a", "root", "helper", "sorted"]
    source = "\n".join(f"def {name}(): pass" for name in names)
    namespace: dict[str, Any] = {}
    one = Lender(script := compile(source, "check", "exec"), constant_texts(script), namespace)
    one.begin(set(names), "root")
    namespace.update(functions(*names))
    for name in names:  # as if the script had defined them
        namespace[name] = FunctionType(namespace[name].__code__, namespace)
    found = one.changes()
    assert [each[0] for each in found] == ["refused", "name"]
    assert ("helper" in found[0][1], found[1][1]) == (True, "sorted")
