"""Which places that a script sets are lent to the program, and until when."""

from __future__ import annotations

import builtins
import email.charset
import os
import pathlib
import random
import sys
import time
from types import FunctionType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from cruxcell.jobs.separated.rules.script import constant_texts
from cruxcell.jobs.separated.state import lending, patched_places
from cruxcell.jobs.separated.state.borrowing import Borrower
from cruxcell.jobs.separated.state.lending import Lender, _change, _Module, _Stub, _Watch
from lending_by_hand import lender


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
    how, why, *_ = _change(("name", "m", ""), False, made)
    assert (how, why.rpartition("which ")[2]) == ("refused", "has its own (made): require IN_PROCESS")


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
