"""What the text of a separated script says: its names, and what it raises by itself."""

from __future__ import annotations

import types
from typing import Any

import pytest
from cruxcell.analysis.bytecode import uses_its_own
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.rules import script


def code(source: str) -> types.CodeType:
    return compile(source, CHECK, "exec")


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = 1\ndef f():\n    b = 2\n    global c\n    c = 3\nimport d", {"a", "f", "c", "d"}),
        ("from os.path import *\na = 1", None),
        ("globals()['a'] = 1", None),
        ("def f():\n    exec('a = 1')", None),
        ("a = ('*', '+')\nb = '*'", {"a", "b"}),
    ],
)
def test_the_names_that_a_script_binds(source: str, names: set[str] | None):
    assert script.bound_names(code(source)) == names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("f('g h')", set()),
        ("eval('g(h_1, 2)')", {"g", "h_1"}),
        ("x = ['a', ('b', 'c len')]\nglobals()['d-e']", {"a", "b", "c", "d", "e"}),
        ("def f():\n    return eval('g(1)') in ('a', 8)", {"g", "a"}),
    ],
)
def test_names_in_texts_of_a_script_that_looks_names_up(source: str, names: set[str]):
    assert script.names_in_texts(code(source)) == names


@pytest.mark.parametrize(
    ("source", "meant", "others"),
    [
        ("f = counting(f)", {"f"}, set()),
        ("f = 1\nf = counting(f)", set(), set()),
        ("f = 1", set(), {"f"}),
        ("for x in y:\n    f = counting(f)", set(), set()),
        ("for x in y:\n    g(f)\n    f = x", set(), set()),
        ("for x in y:\n    g(f)\nf = 1", {"f"}, set()),
        ("g(f)\nfor x in y:\n    f = x", {"f"}, set()),
        ("f = 1\ndef g(f):\n    return f", set(), set()),
    ],
)
def test_which_names_of_the_program_a_script_binds_anew(source: str, meant: set[str], others: set[str]):
    assert script.rebound_names(code(source), {"f"}) == (meant, others)


@pytest.mark.parametrize(
    ("source", "imports"),
    [
        ("import a", {"a": ("a", False, [])}),
        ("import a.b", {"a": ("a.b", False, [])}),
        ("import a as b", {"b": ("a", False, [])}),
        ("import a.b.c as d", {"d": ("a.b.c", False, ["b", "c"])}),
        ("from a.b import c, d as e", {"c": ("a.b", True, ["c"]), "e": ("a.b", True, ["d"])}),
        ("try:\n    import a\nexcept ImportError:\n    b = 1", {"a": ("a", False, [])}),
        ("a = b = 1\nfrom c import *\nd = c", {}),
        ("from . import a\ndef f():\n    import b", {}),
    ],
)
def test_what_the_imports_of_a_script_bind(source: str, imports: dict[str, tuple[str, bool, list[str]]]):
    assert script.imports_of(code(source))[0] == imports


def test_of_which_modules_a_script_imports_all_names():
    found = script.imports_of(code("import os\nfrom math import *\nfrom re import sub\nfrom os.path import *"))
    assert found[1] == ["math", "os.path"]


@pytest.mark.parametrize(
    ("source", "keeps"),
    [
        ("globals()['f'] = 1\nassert f == 1", True),
        ("globals()['f'] = 1\nassert globals()['f'] == 1", True),
        ("globals()['f'] = 1\nassert globals()['g'] == 1", False),
        ("module.f = 1\nassert getattr(module, 'f') == 1", True),
        ("module.f = 1\nassert getattr(module, 'g') == 1", False),
        ("module.f = 1\nassert module.f(1) == 2", True),
        ("module.f = 1\nmodule.f.x(1)", False),
        ("f(1)\nglobals()['f'] = 1\nassert f == 1", False),
    ],
)
def test_what_a_script_puts_under_a_name_and_reads_there_it_keeps(source: str, keeps: bool):
    assert script.keeps_for_itself(code(source), "f") is keeps


@pytest.mark.parametrize(
    ("source", "expects"),
    [
        ("assert f(1)", True),
        ("import math\nassert len([math.pi])", False),
        ("def g(x):\n    return x\ng(1)", False),
        ("assert __file__", False),
        ("def g():\n    return f(1)", True),
    ],
)
def test_whether_a_script_expects_names(source: str, expects: bool):
    assert script.expects_names(code(source)) is expects


@pytest.mark.parametrize(
    ("source", "used"),
    [
        ("math.sqrt(4)\nmath.pi", {"math": {"sqrt", "pi"}}),
        ("math.sqrt(4)\nprint(math)", {}),
        ("x.y.z\nmath = 1", {}),
        ("(a or math).sqrt", {}),
        ("math.a.b", {"math": {"a"}}),
    ],
)
def test_which_names_a_script_uses_as_modules(source: str, used: dict[str, set[str]]):
    assert script.used_as_modules(source, ["math"]) == used
    assert script.used_as_modules("(", []) == {}  # nobody reads it


def raised_by(source: str, **names: object) -> tuple[bool, BaseException]:
    """(does the script say that it raised this by itself?, what it raised)"""
    namespace = {"__name__": "__main__", **names}
    with pytest.raises(BaseException) as info:
        exec(code(source), namespace)
    error: Any = info.value
    return script.raises_by_itself(source, namespace, error, error.__traceback__.tb_next), error


def hostile() -> None:
    raise ValueError


class Bad:
    def __add__(self, _other: object) -> object:
        raise ValueError

    def __bool__(self) -> bool:
        raise ValueError


@pytest.mark.parametrize(
    ("source", "is_own"),
    [
        ("raise ValueError(1)", True),
        ("def g():\n    raise KeyError\ng()", True),
        ("class E(Exception):\n    pass\nraise E", True),
        ("1 / 0", True),
        ("int('x')", True),
        ("(\n    1 /\n    0)", True),
        ("if True:\n    1 / 0\n    y = f", True),
        ("assert 1 == 2", False),
        ("raise AssertionError", False),
        ("f()", False),
        ("exec('None + 1')", False),
        ("x + 1", False),
        ("x()", False),
        ("def g(int):\n    return int()\ng(x)", False),
        ("def g(y):\n    return y + 1\ng(x)", False),
        ("def g(int):\n    return int('x')\ng(x)", False),
        ("def g():\n    int = x\n    def h():\n        return int + 1\n    return h()\ng()", False),
        ("if x:\n    pass", False),
        ("print(f()); y = 1 / 0", False),
        ("y = [each + 1\n     for each in [x]]", False),
    ],
)
def test_what_a_script_raises_by_itself(source: str, is_own: bool):
    assert raised_by(source, f=hostile, x=Bad())[0] is is_own


def test_what_other_code_raises_is_not_the_script_s():
    library: dict[str, Any] = {}
    exec(compile("def g():\n    raise ValueError", "library", "exec"), library)
    assert raised_by("g()", g=library["g"])[0] is False
    beside: dict[str, Any] = {"__name__": "beside"}
    exec(code("def g():\n    raise ValueError"), beside)
    assert raised_by("g()", g=beside["g"])[0] is False
    assert script.raises_by_itself("1", {}, ValueError(), None) is False


def test_a_script_s_own_builtin_is_not_python_s():
    assert raised_by("len(1)")[0] is True
    assert raised_by("len()", len=hostile)[0] is False


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("assert f([1]) == 1", False),
        ("import sys\nsys.argv = ['a']\nassert main()", True),
        ("import tempfile\nassert f(tempfile.mkdtemp())", False),
        ("def test_a(monkeypatch):\n    assert f(monkeypatch)", True),
        ("import os\ndef g():\n    os.environ['A'] = 'b'\ng()\nassert f()", True),
    ],
)
def test_what_each_of_two_processes_has_for_itself(source: str, uses: bool):
    assert uses_its_own(code(source)) is uses


@pytest.mark.parametrize(
    ("source", "expects"),
    [
        ("try:\n    f()  # here\nexcept StopIteration:\n    pass", True),
        ("try:\n    x\n    f(\n  1)  # here\nexcept (ValueError, builtins.StopIteration):\n    pass", True),
        ("try:\n    try:\n        f()  # here\n    except ValueError:\n        pass\nexcept StopIteration: pass", True),
        ("try:\n    pass\nexcept StopIteration:\n    f()  # here", False),
        ("try:\n    pass\nexcept StopIteration:\n    pass\nf()  # here", False),
        ("try:\n    f()  # here\nexcept ValueError:\n    StopIteration", False),
        ("try:\n    f()  # here\nfinally:\n    StopIteration", False),
        ("with a(), raises(StopIteration):\n    f()  # here", True),
        ("async def g():\n    async with raises(StopIteration):\n        f()  # here", True),
        ("with raises(ValueError):\n    f(StopIteration(), 1)  # here", True),
        ("with raises(ValueError):\n    f()  # here\nStopIteration", False),
        ("raises(StopIteration, f,\n  1)  # here", True),
        ("f(1, StopIteration)  # here", False),
        ("f(), StopIteration  # here", False),
    ],
)
def test_where_a_script_expects_what_may_be_raised(source: str, expects: bool):
    line = next(at for at, text in enumerate(source.split("\n"), 1) if "# here" in text)
    names = script.names_for([StopIteration], {}, bool)
    assert names == {"StopIteration", ".StopIteration"}
    assert script.expects_on(source, line, names) is expects
    assert not script.expects_on(source, line, {"GeneratorExit"})


def test_a_class_of_the_program_a_script_means_by_the_name_it_has_it_under():
    halt = type("Halt", (StopIteration,), {})
    for namespace, names in [({"Halt": halt}, {"Halt"}), ({"Stop": halt}, set()), ({"Halt": StopIteration}, set())]:
        assert script.names_for([halt], namespace, bool) == names
    assert script.names_for([type("ValueError", (StopIteration,), {})], {}, bool) == set()


def test_or_by_the_name_that_the_module_has_that_the_program_is():
    halt = type("Halt", (StopIteration,), {})
    program, another = types.ModuleType("solution"), types.ModuleType("another")
    program.Halt = another.Halt = halt  # type: ignore[attr-defined]
    program.Other = halt  # type: ignore[attr-defined]
    namespace = {"solution": program, "sol": program, "another": another, "text": "Halt"}
    names = script.names_for([halt], namespace, lambda module: module is program)
    assert names == {"solution.Halt", "sol.Halt"}
    for expected, expects in [("sol.Halt", True), ("another.Halt", False), ("Halt", False), ("a.sol.Halt", False)]:
        assert script.expects_on(f"with raises({expected}):\n    f()", 2, names) is expects
