"""Texts that a library runs for the script or for the candidate, and what it opens for it."""

from __future__ import annotations

import inspect
import os
import sys
from types import SimpleNamespace

import pytest
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.rules import pickles
from cruxcell.jobs.separated.rules.texts import (
    OF_THE_OTHER_HALF,
)
from texts_by_hand import (
    ASKED,
    CALL,
    CODE,
    LIBRARY,
    OURS,
    SCRIPTS,
    TWINS,
    F,
    Frame,
    Heard,
    Left,
    frame,
    timed,
)

IMPORTS = "_frozen_importlib"


def importing(origin: object) -> Frame:
    return frame(IMPORTS, module=SimpleNamespace(__spec__=SimpleNamespace(origin=origin)))


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
    ([SCRIPTS, frame("werkzeug.routing.rules", "_compile_builder", pargs=["a"], kargs=["b"])], "ran"),
    ([SCRIPTS, frame("werkzeug.routing.rules", "_compile_builder", pargs=["a"], kargs=["b=f()"])], "left at 2"),
    ([SCRIPTS, frame("werkzeug.routing.rules", "_compile_builder", pargs=["a b"], kargs=[])], "left at 2"),
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
