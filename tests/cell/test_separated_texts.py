"""What a script may run as code although the candidate has answered, and what is opened for the candidate."""

from __future__ import annotations

import builtins
import contextlib
import datetime
import inspect
import logging.config
import os
import sys
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.exchange import permissions
from cruxcell.jobs.separated.proxies.remote import RemoteObject
from cruxcell.jobs.separated.rules import pickles, texts
from cruxcell.jobs.separated.rules.configurations import (
    follow_configurations,
    follow_documents,
    follow_expressions,
)
from cruxcell.jobs.separated.rules.own_code import OwnCode, _sources
from cruxcell.jobs.separated.rules.texts import (
    OF_THE_OTHER_HALF,
    Texts,
    _is_data,
    _is_harmless,
    is_of_data,
)

yaml = pytest.importorskip("yaml", reason="PyYAML is part of the dev extra")
SCRIPT = """
CASES = ("f(1)._a", [" g(2) + x", "import os"], {"want": 2}, "    y = 2\\n    x = y\\n")
def own(n):
    '''
    >>> own(1)._a
    2
    '''
    return eval("y = 1")
"""
# The script's variables: the program's objects, what the program has that is of the library, and the script's own.
GIVEN = {"f": object.__new__(RemoteObject), "g": object.__new__(RemoteObject), "kind": type, "want": 2, "max": 3}


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
def test_what_does_more_is_not(text: str):
    assert not may_run(text)


def test_what_raises_an_error_of_its_choice_is_not():
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
def test_statements_that_bind_are_not(text: str):
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


class Left(Exception):
    """The worker is ended, at that line of the script."""


Frame = tuple[str, str, str, dict[str, Any]]


def frame(module: str, /, function: str = "load", file: str = "library.py", **variables: Any) -> Frame:
    return module, function, file, variables


class Heard:
    """A script that is under way."""

    def __init__(self) -> None:
        self.is_foreign, self.opens = True, False
        texts = "'import os', 'a > @limit', 'limit', 'limit + 1', 'a > @asked.limit'"
        script = compile(f"def f(n): return n\ntexts = {texts}", CHECK, "exec", 0, True)
        self.own = next(each for each in script.co_consts if isinstance(each, type(script)))
        self.texts = Texts(self._hear, script, lambda: self.is_foreign, self._leave, self._may_open)

    def _hear(self, _events: tuple[str, ...], listen: Callable[..., None]) -> None:
        self.listen = listen

    def _leave(self, line: int) -> None:
        raise Left(line)

    def _may_open(self, path: str, is_moved: bool) -> bool:
        return self.opens or (is_moved and path == "b")

    def ask(self, frames: list[Frame], event: str, *arguments: Any) -> str:
        """What comes of an event within these frames, of which the last one causes it."""
        call: Callable[[], Any] = partial(self.listen, event, arguments)
        for module, function, file, variables in reversed(frames):
            space: dict[str, Any] = {"__name__": module, "call": call, **variables}
            named = ", ".join(f"{name}={name}" for name in variables)
            exec(compile(f"def {function}({named}):\n    return call()", file, "exec"), space)
            call = space[function]
        try:
            call()
        except Left as left:
            return f"left at {left}"
        except PermissionError:
            return "refused"
        return "ran"


CODE, CALL = compile("import sys", "<string>", "exec", 0, True), compile("f(1)", "<string>", "exec", 0, True)
F = GIVEN["f"]
SCRIPTS = frame("__main__", file=CHECK)
ASKED, OURS = frame(permissions.__name__, permissions.run.__name__), frame("cruxcell.jobs.separated.state.files")
LIBRARY, TWINS = frame("json"), frame("cruxcell.native.pure")
IMPORTS = "_frozen_importlib"


def importing(origin: object) -> Frame:
    return frame(IMPORTS, module=SimpleNamespace(__spec__=SimpleNamespace(origin=origin)))


def timed(stmt: object, setup: object = "pass") -> Frame:
    return frame("timeit", f=F, stmt=stmt, setup=setup)


class OfAClass(str):
    pass


def signature(names: list[str], args: str | None = None, kwargs: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(names=dict(enumerate(names)), args=args, kwargs=kwargs)


REFLECTION = "hypothesis.internal.reflection"
RUNS: list[tuple[list[Frame], str]] = [
    ([SCRIPTS], "left at 2"),
    ([LIBRARY], "left at 0"),  # in another thread
    ([SCRIPTS, LIBRARY], "left at 2"),
    ([SCRIPTS, TWINS], "left at 2"),
    ([SCRIPTS, OURS], "ran"),
    ([SCRIPTS, OURS, LIBRARY], "left at 2"),
    ([SCRIPTS, importing(os.__file__)], "ran"),
    ([SCRIPTS, importing("frozen"), frame(IMPORTS), LIBRARY], "ran"),
    ([SCRIPTS, importing("/nowhere/made.py")], "left at 2"),
    ([SCRIPTS, importing(None)], "left at 2"),
    ([SCRIPTS, frame(IMPORTS, module=None)], "left at 2"),
    ([importing("frozen"), SCRIPTS, LIBRARY], "left at 2"),
    ([importing("frozen"), LIBRARY, frame(IMPORTS)], "left at 0"),
    ([SCRIPTS, frame("collections", "namedtuple", field_names=["a", "b"])], "ran"),
    ([SCRIPTS, frame("collections", "namedtuple", field_names="a")], "ran"),
    ([SCRIPTS, frame("collections", "namedtuple", field_names=["a", "b c"])], "left at 2"),
    ([SCRIPTS, frame("collections", "namedtuple", field_names=[OfAClass("a")])], "left at 2"),
    ([SCRIPTS, frame("unittest.mock", "_set_signature", name="a1")], "ran"),
    ([SCRIPTS, frame("unittest.mock", "_set_signature", name="a 1")], "left at 2"),
    ([SCRIPTS, frame("dataclasses", "_process_class", fields={"a": 1}), frame("dataclasses")], "ran"),
    ([frame("dataclasses", "_process_class", fields={"a": 1}), SCRIPTS, frame("dataclasses")], "left at 2"),
    ([SCRIPTS, frame("networkx.utils.decorators", "compile", sig=signature(["a", "b"], "c"))], "ran"),
    ([SCRIPTS, frame("networkx.utils.decorators", "compile", sig=signature(["a", "b=f()"]))], "left at 2"),
    ([SCRIPTS, frame("networkx.utils.decorators", "compile", sig=signature(["a"], "b=f()"))], "left at 2"),
    ([SCRIPTS, frame("networkx.utils.decorators", "compile", sig=signature([], None, OfAClass("b")))], "left at 2"),
    ([SCRIPTS, frame("networkx.utils.decorators", "_lazy_compile", func=F)], "left at 2"),
    ([SCRIPTS, frame("sympy.polys.monomials", "_build", self=SimpleNamespace(ngens=2), name="mul")], "ran"),
    ([SCRIPTS, frame("sympy.polys.monomials", "_build", self=SimpleNamespace(ngens="2"), name="mul")], "left at 2"),
    ([SCRIPTS, frame("sympy.polys.monomials", "_build", self=SimpleNamespace(ngens=2), name="f()")], "left at 2"),
    ([SCRIPTS, frame(REFLECTION, "accept", name="a", signature=inspect.signature(lambda b, *c: 0))], "ran"),
    ([SCRIPTS, frame(REFLECTION, "accept", name="a()", signature=inspect.signature(lambda b: 0))], "left at 2"),
    ([SCRIPTS, frame(REFLECTION, "accept", name="a", signature=SimpleNamespace(parameters={"b": 1}))], "left at 2"),
    ([SCRIPTS, frame(REFLECTION, "accept", name="a")], "left at 2"),
    ([SCRIPTS, frame("sympy.polys.monomials", "mul", self=SimpleNamespace(ngens=2), name="mul")], "left at 2"),
    ([SCRIPTS, frame("dataclasses")], "left at 2"),
    ([frame("dataclasses")], "left at 0"),
    ([SCRIPTS, timed("f(1)")], "ran"),
    ([SCRIPTS, timed("import os", "_setup()")], "ran"),  # the script's own
    ([SCRIPTS, timed("_stmt()")], "ran"),
    ([SCRIPTS, timed("import sys")], "left at 2"),
    ([SCRIPTS, timed("f(1)", "import sys")], "left at 2"),
    ([SCRIPTS, timed(OfAClass("f(1)"))], "left at 2"),
    ([SCRIPTS, timed("f(1)", OfAClass("pass"))], "left at 2"),
    ([SCRIPTS, frame("timeit")], "left at 2"),
]


@pytest.mark.parametrize(("frames", "comes"), RUNS)
def test_who_runs_code_decides(frames: list[Frame], comes: str):
    heard = Heard()
    assert heard.ask(frames, "exec", CODE) == comes
    heard.is_foreign = False
    assert heard.ask(frames, "exec", CODE) == "ran"


def test_a_folder_that_is_not_said_in_full_is_none_of_the_runtime(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", ["", "nowhere", *sys.path])
    heard = Heard()
    assert heard.ask([SCRIPTS, importing("/nowhere/made.py")], "exec", CODE) == "left at 2"
    assert heard.ask([SCRIPTS, ASKED, LIBRARY], "open", "/etc/passwd", "r", 0) == "refused"


def test_what_came_of_identifiers_may_take_the_place_of_another():
    heard, builder = Heard(), [SCRIPTS, frame("networkx.utils.decorators", "compile", sig=signature(["a"]))]
    made = compile("def g(a): return a", "<string>", "exec", 0, True)
    function = next(each for each in made.co_consts if isinstance(each, type(made)))
    set_code = [[SCRIPTS, LIBRARY], "object.__setattr__", heard, "__code__"]
    assert heard.ask(*set_code, function) == "left at 2"
    assert heard.ask(builder, "exec", made) == "ran"
    assert heard.ask(*set_code, function) == "ran"
    assert heard.ask(*set_code, CODE) == "left at 2"


def test_what_a_function_has_as_code_may_be_said_to_be_of_another_file():
    heard, code, library = Heard(), test_each_event_has_its_code.__code__, os.__file__

    def given(function: object, new: object) -> str:
        return heard.ask([SCRIPTS, LIBRARY], "object.__setattr__", function, "__code__", new)

    for file, comes in [(CHECK, "ran"), (library, "ran"), ("<string>", "left at 2"), ("/made.py", "left at 2")]:
        assert given(test_each_event_has_its_code, code.replace(co_filename=file, co_firstlineno=7)) == comes
    for other in (CODE, code.replace(co_filename=CHECK, co_name="other"), None):
        assert given(test_each_event_has_its_code, other) == "left at 2"
    assert given(SimpleNamespace(__code__=code), code.replace(co_filename=CHECK)) == "left at 2"


PICKLES, LOADS_OWN = frame(pickles.__name__, "loads"), frame(pickles.__name__, pickles.load_own.__name__)


@pytest.mark.parametrize(
    ("frames", "comes"),
    [
        ([SCRIPTS, PICKLES], "left at 2"),
        ([SCRIPTS, PICKLES, LOADS_OWN], "ran"),
        ([SCRIPTS, PICKLES, LOADS_OWN, TWINS], "ran"),
        ([SCRIPTS, LOADS_OWN, PICKLES], "left at 2"),  # by what is in it bytes are loaded that may be the candidate's
        ([SCRIPTS, LOADS_OWN, SCRIPTS], "left at 2"),
        ([SCRIPTS, LOADS_OWN, LIBRARY], "left at 2"),
        ([SCRIPTS, frame("other", "load_own")], "left at 2"),
    ],
)
def test_what_the_script_has_pickled_itself_may_be_of_any_class(frames: list[Frame], comes: str):
    assert Heard().ask(frames, "pickle.find_class", "fractions", "Fraction") == comes
    assert Heard().ask(frames, "exec", CODE) == "left at 2"


def test_each_event_has_its_code():
    heard, script = Heard(), [SCRIPTS]
    for event, before, of_data in [("function.__new__", [], []), ("object.__setattr__", [heard, "__code__"], [heard])]:
        assert heard.ask(script, event, *before, heard.own) == "ran"
        assert heard.ask([frame("__main__", file=CHECK, f=F)], event, *before, CALL) == "left at 2"
        assert not of_data or heard.ask(script, event, heard, "name", CODE) == "ran"
    assert heard.ask(script, "pickle.find_class", "datetime", "date") == "ran"
    assert heard.ask(script, "pickle.find_class", "builtins", "eval") == "left at 2"
    assert heard.ask(script, "pickle.find_class", *OF_THE_OTHER_HALF) == "ran"
    for is_foreign in (True, False):
        heard.is_foreign = is_foreign
        if is_foreign:
            with pytest.raises(Left):
                heard.texts.is_about_to_run()
        else:
            heard.texts.is_about_to_run()


@pytest.mark.parametrize(
    ("tag", "comes"),
    [
        ("name:unittest.mock.ANY ''", Left),
        ("name:eval ''", Left),
        ("module:sys ''", Left),
        ("object/apply:os.getpid []", Left),
        ("object/apply:datetime.timedelta [1]", datetime.timedelta(1)),
        ("object/apply:range [2]", range(2)),
        ("tuple [1, 2]", (1, 2)),
    ],
)
@pytest.mark.parametrize("kind", ["FullLoader", "Loader", "UnsafeLoader"])
def test_a_document_of_yaml_names_data(tag: str, comes: Any, kind: str, monkeypatch: pytest.MonkeyPatch):
    for each in (yaml.constructor.FullConstructor, yaml.constructor.UnsafeConstructor):
        for name in ("find_python_name", "find_python_module"):
            monkeypatch.setattr(each, name, getattr(each, name))
    heard, loader = Heard(), getattr(yaml, kind)
    follow_documents(heard.texts)
    if comes is Left:
        is_known = kind != "FullLoader" or tag.startswith("name")
        with pytest.raises(Left if is_known else yaml.YAMLError):
            yaml.load(f"a: !!python/{tag}", loader)
        heard.is_foreign = False
        with contextlib.suppress(yaml.YAMLError):  # some loaders refuse the tag by themselves
            yaml.load(f"a: !!python/{tag}", loader)
    elif kind != "FullLoader" or "apply" not in tag:
        assert yaml.load(f"a: !!python/{tag}", loader) == {"a": comes}


LIMIT = 1
EXPRESSIONS = [
    ("a > 1 and b == 'x@y'", "ran"),
    ("a + 1.5 * (-a) ** 2", "ran"),
    ("b.str.startswith('x') and sin(a) < 2", "ran"),
    ("a in [1, 2]", "ran"),
    ("`a` > 1", "ran"),
    ("a > @LIMIT", "left"),
    ("@LIMIT", "left"),
    ("a.__class__.__name__", "left"),
    ("a.map('{0}'.format)", "left"),
    ("b.to_frame().eval('@LIMIT')", "left"),
    ("a > @limit", "ran"),  # the script's own
    ("LIMIT", "unknown"),
]


@pytest.fixture
def frame_of_pandas(monkeypatch: pytest.MonkeyPatch) -> Any:
    pandas = pytest.importorskip("pandas", reason="pandas is part of the dev extra")
    parts: Any = sys.modules["pandas.core.computation.expr"]
    monkeypatch.setattr(parts.Expr, "__init__", parts.Expr.__init__)
    monkeypatch.setattr(parts.BaseExprVisitor, "visit_Attribute", parts.BaseExprVisitor.visit_Attribute)
    monkeypatch.setattr(parts.Scope, "resolve", parts.Scope.resolve)
    return pandas.DataFrame({"a": [1, 2], "b": ["x", "x@y"]})


def evaluated(ask: Callable[[], object]) -> str:
    try:
        ask()
    except Left:
        return "left"
    except NameError:
        return "unknown"
    return "ran"


@pytest.mark.parametrize(("text", "comes"), EXPRESSIONS)
def test_an_expression_of_pandas_names_columns(text: Any, comes: str, frame_of_pandas: Any):
    heard = Heard()
    follow_expressions(heard.texts)
    follow_expressions(heard.texts)  # as where the module is loaded later
    limit = 1
    assert evaluated(lambda: frame_of_pandas.eval(text, local_dict={"LIMIT": LIMIT, "limit": limit})) == comes
    heard.is_foreign = False
    assert evaluated(lambda: frame_of_pandas.eval(text, local_dict={"LIMIT": LIMIT, "limit": limit})) != "left"


def test_where_there_are_no_columns_an_expression_names_nothing(frame_of_pandas: Any):
    pandas, heard, limit = sys.modules["pandas"], Heard(), 1
    follow_expressions(heard.texts)
    given = {"limit": limit, "frame": frame_of_pandas}
    texts = ("1 + 2", "limit", "frame.a + limit", "limit + 1")
    assert [evaluated(lambda text=text: pandas.eval(text, local_dict=given)) for text in texts] == [  # type: ignore[misc]
        "ran", "left", "left", "ran",
    ]  # fmt: skip
    assert evaluated(lambda: pandas.eval("limit", local_dict=given)) == "left"  # after the script's own, too


class Asked:
    """An object of the candidate's, which has a table of the script's evaluate something before it answers."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self.ask, self.found = ask, ""

    @property
    def limit(self) -> int:
        self.found = evaluated(self.ask)
        return 1


def test_what_a_candidate_has_evaluated_in_the_midst_of_the_script_s_own_is_not_the_script_s(frame_of_pandas: Any):
    heard = Heard()
    follow_expressions(heard.texts)
    served: dict[str, Any] = {"__name__": permissions.__name__}
    exec("def run(function): return function()", served)
    for text, comes in [("@LIMIT", "left"), ("a > @limit", "left"), ("a > 1", "ran")]:
        given = {"LIMIT": LIMIT, "limit": 1}
        asked = Asked(lambda text=text: served["run"](lambda: frame_of_pandas.eval(text, local_dict=given)))  # type: ignore[misc]
        own = frame_of_pandas.eval("a > @asked.limit", local_dict={"asked": asked})
        assert (own.tolist(), asked.found) == ([False, True], comes)
    asked = Asked(lambda: frame_of_pandas.eval("a > @limit", local_dict={"limit": 1}))
    assert frame_of_pandas.eval("a > @asked.limit", local_dict={"asked": asked}).tolist() == [False, True]
    assert asked.found == "ran", "of the script's own"


def test_where_there_is_no_pandas_no_expression_is_followed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas.core.computation.expr", None)
    heard = Heard()
    follow_expressions(heard.texts)
    assert heard.texts.before_import == {}


def test_where_there_is_no_yaml_no_document_is_followed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "yaml.constructor")
    follow_documents(None)


@pytest.mark.parametrize(
    ("frames", "comes"),
    [
        ([frame("__main__", file=CHECK, f=F)], "ran"),
        ([frame("json", f=3), frame("__main__", file=CHECK, f=F)], "ran"),
        ([frame("__main__", file=CHECK, f=3), frame("json", f=F)], "left at 2"),
        ([frame("__main__", file=CHECK, f=F), frame("json", f=3)], "left at 2"),
        ([SCRIPTS], "left at 2"),
    ],
)
def test_names_of_a_text_are_the_program_s_objects_up_to_the_script(frames: list[Frame], comes: str):
    assert Heard().ask(frames, "exec", CALL) == comes


def test_while_a_harmless_text_runs_the_candidate_answers_with_data():
    heard, told = Heard(), list[bool]()
    texts = heard.texts

    def note(_n: int) -> None:
        told.extend([texts.is_under_way(), texts.is_under_way_anywhere()])

    of_script: dict[str, Any] = {"note": note}
    exec(compile("def f(n): note(n)", CHECK, "exec"), of_script)
    exec(CALL, {"f": note})
    heard.ask([SCRIPTS, timed("import os")], "exec", CALL)  # the script's own are no such
    exec(CALL, {"f": note})
    heard.ask([frame("__main__", file=CHECK, f=F)], "exec", CALL)
    note(1)
    assert not any(told)
    exec(CALL, {"f": note})
    exec(CALL, {"f": of_script["f"]})
    assert told[-4:] == [True, True, False, False]
    texts.take([1, [F]])
    with pytest.raises(Left):
        texts.take([type])


OTHERS = os.path.join(os.path.dirname(os.__file__), "..", "..", "..", "..", "etc", "passwd")


@pytest.mark.parametrize(
    ("frames", "path", "comes"),
    [
        ([SCRIPTS, ASKED, LIBRARY], "/etc/passwd", "refused"),
        ([SCRIPTS, ASKED, LIBRARY], b"/etc/passwd", "refused"),
        ([SCRIPTS, ASKED, LIBRARY], OTHERS, "refused"),
        ([SCRIPTS, ASKED, LIBRARY], os.__file__, "ran"),
        ([SCRIPTS, ASKED, LIBRARY], os.fsencode(os.__file__), "ran"),
        ([SCRIPTS, ASKED, LIBRARY], 9, "ran"),
        ([SCRIPTS, ASKED, LIBRARY, TWINS], "/etc/passwd", "refused"),
        ([SCRIPTS, ASKED], "/etc/passwd", "refused"),
        ([SCRIPTS, ASKED, OURS], "/etc/passwd", "ran"),
        ([SCRIPTS, ASKED, SCRIPTS], "/etc/passwd", "ran"),
        ([SCRIPTS, ASKED, SCRIPTS, LIBRARY], "/etc/passwd", "ran"),
        ([SCRIPTS, LIBRARY], "/etc/passwd", "ran"),
        ([LIBRARY], "/etc/passwd", "ran"),
    ],
)
def test_what_the_library_opens_for_the_candidate_is_passed_or_of_the_runtime(
    frames: list[Frame], path: Any, comes: str
):
    heard = Heard()
    assert heard.ask(frames, "open", path, "r", 0) == comes
    heard.opens = True
    assert heard.ask(frames, "open", path, "r", 0) == "ran"


@pytest.mark.parametrize("descriptor", [3, 4, 5])
def test_the_library_opens_none_of_the_harness_s_descriptors_for_the_candidate(descriptor: int):
    heard = Heard()
    heard.opens = True
    assert heard.ask([SCRIPTS, ASKED, LIBRARY], "open", descriptor, "w", 0) == "refused"
    assert heard.ask([SCRIPTS, LIBRARY], "open", descriptor, "w", 0) == "ran"


# ---- configurations of logging ---------------------------------------------------------


class Likely(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("logging.Filter", logging.Filter),
        ("logging.NullHandler", logging.NullHandler),
        ("os.system", None),
        ("logging.FileHandler", None),
        (Likely("logging.Filter"), None),
        (["logging.Filter"], None),
    ],
)
def test_a_name_in_a_configuration_runs_unless_it_is_harmless(
    name: Any, found: object, monkeypatch: pytest.MonkeyPatch
):
    config: Any = logging.config
    monkeypatch.setattr(config.BaseConfigurator, "resolve", config.BaseConfigurator.resolve)
    monkeypatch.setattr(config, "_resolve", config._resolve)

    def is_about_to_run() -> None:
        raise KeyboardInterrupt

    follow_configurations(SimpleNamespace(is_about_to_run=is_about_to_run))
    for resolve in (config._resolve, config.BaseConfigurator({}).resolve):
        if found is None:
            with pytest.raises(KeyboardInterrupt):
                resolve(name)
        else:
            assert resolve(name) is found


@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        (("b", "b", -1, -1), "ran"),
        ((b"b", "b", -1, -1), "ran"),
        (("a", "b", -1, -1), "refused"),
        (("b", "a", -1, -1), "refused"),
        (("b", "b", 3, -1), "refused"),
        (("b", "b", -1, 3), "refused"),
    ],
)
def test_what_the_library_moves_for_the_candidate_both_have_or_nobody(arguments: tuple[Any, ...], outcome: str):
    heard = Heard()
    assert heard.ask([SCRIPTS, ASKED, LIBRARY], "os.rename", *arguments) == outcome
    assert heard.ask([SCRIPTS, LIBRARY], "os.rename", *arguments) == "ran"


def test_who_waits_for_an_import_hears_of_it_before_it():
    heard, seen = Heard(), []  # type: Heard, list[str]
    heard.texts.before_import["colorsys"] = lambda: seen.append("colorsys")
    for name in ("colorsys", "json"):
        assert heard.ask([SCRIPTS], "import", name, None, [], [], []) == "ran"
    assert seen == ["colorsys"]
