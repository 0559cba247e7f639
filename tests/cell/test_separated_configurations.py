"""Documents of yaml, expressions of pandas and configurations of logging: what they name runs if it is harmless."""

from __future__ import annotations

import contextlib
import datetime
import logging.config
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.exchange import permissions
from cruxcell.jobs.separated.rules.configurations import (
    follow_configurations,
    follow_documents,
    follow_expressions,
)
from texts_by_hand import (
    ASKED,
    CALL,
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

yaml = pytest.importorskip("yaml", reason="PyYAML is part of the dev extra")


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
    own = frame_of_pandas.eval("a > @asked.limit - 1 + @limit", local_dict={"asked": asked, "limit": 1})
    assert own.tolist() == [False, True], "what is left of it is the script's own as well"


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
