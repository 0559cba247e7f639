"""Which names of the program a separated script gets, what it may take for them, and what it lets the candidate do."""

from __future__ import annotations

import array
import builtins
import datetime
import math
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.followed import FOLLOWED
from cruxcell.jobs.separated.rules import configurations, program_names
from cruxcell.jobs.separated.script_link import ScriptLink
from cruxcell.protocol import messages, records
from script_half import Context, Left, thing


class Half(ScriptLink):
    """The test's half, whose candidate answers `names` and `look` with what stands here."""

    def __init__(self, **program: Any) -> None:
        ScriptLink.__init__(self, Context(), {"__name__": "__main__"})  # type: ignore[arg-type]
        self.program = program
        self.answers: dict[str, Any] = {}
        self.looked: list[str] = []
        self.namespace = self._namespace

    def ask(self, operation: str, *fields: Any) -> Any:
        if operation == "names":
            return self.answers.get("names", ([*self.program], []))
        self.looked += fields[1:]
        modules = self.answers.get("modules", {})
        view = {name: self.program[name] for name in fields[1:] if name in self.program and name not in modules}
        return self.answers.get("look", (view, modules))

    def leave(self, kind: bytes, text: str) -> None:
        raise Left(kind, text)

    def gets(self, script: str, entry: str = "f", is_redefined: bool = False) -> dict[str, Any]:
        """The names that a script has from the program."""
        suite = SimpleNamespace(code=script, names=frozenset(), program_module="")
        self.provide(compile(script, CHECK, "exec"), suite, entry, is_redefined)
        return {name: value for name, value in self.namespace.items() if name != "__name__"}


@pytest.fixture
def f() -> Any:
    Half()
    return thing()


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "names", [8, None, ("f",), ["f"], (["f"], 8), ([8], []), (["f"], [Text("g")]), (["f"], ["g"], [])]
)
def test_names_are_texts(names: Any):
    half = Half(f=8)
    half.answers["names"] = names
    with pytest.raises(Left) as info:
        half.gets("f(1)")
    assert info.value.args[0] == messages.CANDIDATE_GONE


@pytest.mark.parametrize("look", [8, [{}, {}], ({},), ({}, {}, {}), (8, {}), ({}, 8), ([], {}), ({}, [])])
def test_what_names_stand_for_is_said_in_two_dicts(look: Any):
    half = Half(f=8)
    half.answers["look"] = look
    with pytest.raises(Left) as info:
        half.gets("f(1)")
    assert info.value.args[0] == messages.CANDIDATE_GONE


def test_a_script_gets_the_names_that_it_uses_and_none_that_a_module_has(f: Any):
    half = Half(f=f, g=8, unused=9)
    half.answers["names"] = ["f", "g", "unused", "__name__", "__file__", "__annotations__"], []
    found = half.gets("assert f(g), (__name__, __file__)\nx: int = 1")
    assert found == {"f": f, "g": 8, "candidate": f}
    assert (half.looked, half.namespace["__name__"]) == (["f", "g"], "__main__")
    assert Half(unused=8).gets("f(1)") == {}


@pytest.mark.parametrize(
    ("word", "follows"),
    [
        ("source", "follow_sources"),
        ("get_type_hints", "follow_hints"),
        ("doctest", "follow_doctests"),
        ("dictConfig", "follow_configurations"),
        ("yaml", "follow_documents"),
        ("read_pickle", "follow_pickles"),
        ("joblib", "follow_joblib"),
    ],
)
def test_what_a_script_names_of_the_library_is_followed(word: str, follows: str, monkeypatch: pytest.MonkeyPatch):
    followed: list[str] = []

    def noted(name: str) -> Callable[[object], None]:
        return lambda _: followed.append(name)

    for table in (FOLLOWED, configurations.FOLLOWED):
        for given, follow in table.items():
            monkeypatch.setitem(table, given, noted(getattr(follow, "__name__", "")))
    Half(f=8).gets("f(1)")
    assert followed == []
    Half(f=8).gets(f"x.{word}(f)")
    assert followed == [follows]


def test_of_names_the_candidate_may_learn_those_with_two_underscores_that_the_script_has():
    half = Half(f=8)
    half.gets("assert f.__doc__ == getattr(f, '__wrapped__', 'else')")
    assert half.named == {"__doc__", "__wrapped__"}


def test_the_entry_point_is_the_program_s_whatever_it_is_called(f: Any):
    program = {"sum": f, "candidate": thing(), "abs": thing(), "other": 8}
    found = Half(**program).gets("assert candidate([1]) == abs(other) == sum([1])", "sum")
    assert found == {"sum": f, "candidate": f, "other": 8}
    assert Half(candidate=f).gets("assert candidate(1)") == {}, "what is tested is not there"
    assert Half(f=f).gets("assert candidate(1)") == {"f": f, "candidate": f}


def test_without_an_entry_point_a_builtin_s_name_is_the_program_s_if_it_is_all_there_is(f: Any):
    assert Half(sum=f).gets("assert sum([1]) == 1", "") == {"sum": f}
    assert Half(sum=f, g=8).gets("assert sum([1]) == g", "") == {"g": 8}
    assert Half(sum=f).gets("assert sum([1]) == h(1)", "") == {}
    assert Half(sum=f, zip=f).gets("assert sum([1]) == zip(1)", "") == {"sum": f, "zip": f}
    assert Half(g=f).gets("assert g(1) == h(1)", "") == {"g": f}
    assert Half(sum=f, g=8).gets("assert sum([1]) == g\ng = 1", "") == {"g": 8}, "a name it has, too, until it binds it"
    assert Half(sum=f, g=8).gets("g = 1\nassert sum([1]) == 1", "") == {"sum": f, "g": 8}, "a name it only binds"


@pytest.mark.parametrize(
    ("script", "entry", "has_pythons_own"),
    [
        ("assert sum([1]) == g", "", True),
        ("assert sum([1]) == 1", "", False),  # which is the program's
        ("assert sum([1]) == g", "g", False),  # who names what is tested means no other
        ("assert len([1]) == g", "", False),
        ("sum = g", "", False),
        ("assert pow(2, 3) == g", "", False),
        ("assert max == g", "", False),
    ],
)
def test_a_script_says_that_it_has_python_s_own_for_what_the_program_makes(
    f: Any, script: str, entry: str, has_pythons_own: bool
):
    imported = thing("builtin_function_or_method")
    half = Half(sum=f, g=8, pow=imported, max=3)
    before = half.gets(script, entry)
    assert bool(half.flags & records.PYTHONS_OWN) is has_pythons_own
    if has_pythons_own:
        half = Half(sum=f, g=8, pow=imported, max=3)
        assert half.gets(script, entry, is_redefined=True) == {**before, "sum": f}
        assert not half.flags & records.PYTHONS_OWN


@pytest.mark.parametrize(
    ("program", "script", "entry", "is_the_script_s_doing"),
    [
        ("f", "f(1)", "f", True),
        ("class", "f(1)", "f", True),
        ("data", "f(1)", "f", False),
        ("many", "f(1)", "f", False),
    ],
)
def test_data_of_the_program_may_be_what_is_too_large(
    f: Any, monkeypatch: pytest.MonkeyPatch, program: str, script: str, entry: str, is_the_script_s_doing: bool
):
    monkeypatch.setattr(program_names, "_MANY_NAMES", 3)
    names = {"f": type(f) if program == "class" else "data" if program == "data" else f}
    half = Half(**names, **(dict.fromkeys("abcd") if program == "many" else {}))
    half.gets(script, entry)
    assert half.has_answered is not is_the_script_s_doing


def test_so_may_containers_that_came_with_it(f: Any):
    half = Half(f=f)
    for _ in range(9):
        half.containers.adopt(2 * len(half.containers.entries) + 1, [])
    half.gets("f(1)")
    assert half.has_answered is True


@pytest.mark.parametrize(
    ("script", "told", "expected"),
    [
        ("f(math.pi)", {"math": "math"}, math),
        ("f(math.pi)", {}, math),
        ("f(math.pi)", {"math": "cmath"}, math),
        ("f(math.nothing)", {}, "program"),
        ("f(math.pi, math)", {}, "program"),
        ("f(math)", {"math": "math"}, math),
        ("f(dt.date)", {"dt": "datetime"}, datetime),
        ("f(dt.date)", {"dt": "datetime.date"}, None),
        ("f(dt.date)", {"dt": "no_such_module"}, None),
        ("f(dt.date)", {"dt": "_thread"}, None),
        ("f(dt.date)", {"dt": "os.path"}, os.path),
        ("f(dt.date)", {"dt": "unittest.mock"}, None),
        ("f(dt.date)", {"dt": "os._path"}, None),
        ("f(dt.date)", {"dt": 8}, None),
        ("f(dt.date)", {"dt": Text("math")}, None),
        ("f(dt.date)", {}, "program"),
        ("f(dt)", {"math": "math"}, "program"),
    ],
)
def test_a_module_is_the_test_s_own(f: Any, script: str, told: dict[str, Any], expected: Any):
    name = "dt" if "dt" in script else "math"
    half = Half(f=f, **{name: "program"})
    half.answers["modules"] = told
    found = half.gets(script)
    assert found.get(name) == expected
    assert (name in found) is (expected is not None)


def test_a_name_of_a_module_that_is_no_part_of_python_is_the_program_s(f: Any):
    found = Half(f=f, hypothesis="program", array="other").gets("f(hypothesis.given, array.array)")
    assert (found["hypothesis"], found["array"]) == ("program", array)


def test_the_framework_s_name_is_that_of_the_framework(f: Any):
    """A class of the program's by that name would take any error for the one that is raised (`pytest.raises`)."""
    assert Half(f=f, pytest="program").gets("with pytest.raises(ValueError): f(1)")["pytest"] is pytest
    assert Half(f=f, pytest="program").gets("f(pytest.raising)")["pytest"] == "program"


def test_a_name_that_everybody_has_for_a_package_is_that_where_the_package_is(f: Any):
    numpy = pytest.importorskip("numpy")
    found = Half(f=f, np="program", numpy="program").gets("f(np.allclose, numpy.pi)")
    assert (found["np"], found["numpy"]) == (numpy, numpy)
    assert Half(f=f, np="program").gets("f(np.all_close)")["np"] == "program"
    half = Half(f=f)
    half.program["np"] = half.answers["modules"] = {"np": "numpy.ma"}  # whose `allclose` takes what is masked for equal
    assert half.gets("f(np.allclose)")["np"] is numpy
    half = Half(f=f)
    half.program["np"] = half.answers["modules"] = {"np": "numpy.ma"}
    assert half.gets("f(np.masked_all)")["np"] is numpy.ma
    assert Half(f=f, np="program").gets("f(np.pi, np)")["np"] == "program"


def test_what_the_program_does_not_show_the_script_does_not_get(f: Any):
    half = Half(f=f)
    half.answers["look"] = ({}, {})
    assert half.gets("f(1)") == {}


def test_an_entry_point_named_like_a_module_is_none(f: Any):
    assert Half(bisect=f).gets("assert bisect.bisect([1], 1)", "bisect")["candidate"] is f


def test_a_name_follows_the_program_unless_the_script_binds_it(f: Any):
    later = thing()
    half = Half(f=f, g=1, h=2, own=f)
    half.gets("def own(): pass\nf(g, h, own)")
    half.namespace["h"] = 3
    half._names.view = {"f": f, "g": 4, "h": 5, "own": later}
    half._names.rebind()
    half._names.view = {"f": later, "g": 6}
    half._names.rebind()
    assert [half.namespace[name] for name in ("f", "g", "h", "own")] == [later, 6, 3, f]


@pytest.mark.parametrize("script", ["f(g, A)\nglobals()", "from math import *\nf(g, A)"])
def test_where_a_script_may_bind_any_name_only_what_is_the_program_s_follows(f: Any, script: str):
    later, other = thing(), type(thing())
    half = Half(f=f, g=1, A=type(f))
    half.gets(script)
    half._names.view = {"f": later, "g": 4, "A": other}
    half._names.rebind()
    assert [half.namespace[name] for name in ("f", "g", "A")] == [later, 1, other]


@pytest.mark.parametrize("script", ["f(g)\nglobals()", "from math import *\nf(g, isclose)", "f(g, isclose)"])
def test_what_a_script_has_bound_follows_no_more(f: Any, script: str):
    lying, half = thing(), Half(f=f, g=f, isclose=f)
    half.gets(script)
    half.namespace["isclose"] = math.isclose  # by a statement, before or after the program says that it has that, too
    for found in (math.isclose, lying):
        half._names.view = {"f": f, "g": found, "isclose": found}
        half._names.rebind()
    assert half.namespace["isclose"] is math.isclose


def test_what_both_halves_have_follows_once_where_the_script_may_bind_it_too(f: Any):
    half = Half(f=f, isclose=f)
    half.gets("from math import *\nf(isclose)")
    for found in (math.isclose, thing()):
        half._names.view = {"f": f, "isclose": found}
        half._names.rebind()
    assert half.namespace["isclose"] is math.isclose


def shown(value: Any = 0) -> Any:
    return value


def test_a_candidate_uses_what_it_was_handed_and_nothing_else():
    half = Half()
    assert [half._may("call", each, ["", 1]) for each in (shown, len, print)] == [False] * 3
    half.objects.shown.show(shown)
    half.objects.shown.show(builtins)
    allowed = {
        ("call", ""), ("special", "__call__"), ("get", "__name__"),
    }  # fmt: skip
    for operation in ("call", "special", "get", "set", "del", "names", "look", "drive", "copy", "fields"):
        for name in ("", "__call__", "__name__", "__globals__", "attribute"):
            may = half._may(operation, shown, [name])
            assert may == ((operation, name) in allowed or operation in ("call", "special", "copy")), (operation, name)
    half.objects.shown.show(Text)
    assert half._may("fields", Text, []) is True
    assert [half._may(each, Text, []) for each in ("names", "look", "printed", "lend", "drive")] == [False] * 5
    assert half._may("get", shown, [8]) is False
    assert half._may("get", shown, [Text("__name__")]) is False
    assert half.has_answered is True
