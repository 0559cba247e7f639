"""What is shown of names, classes, functions and sources of the other half."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import looking, signatures


def test_of_a_function_its_parameters_are_shown_and_no_more_of_its_code():
    def outlined(first, /, *more, second: int = 2, **named):
        local = [first]
        local.append(1)

    def plain(first):
        local = [first]
        local.append(1)

    shown, *rest = signatures.outline_of(outlined)
    assert shown == (1, 1, 1, ("first", "second", "more", "named"), 0xC)
    assert rest == [None, {"second": 2}, {"second": "int"}]
    assert signatures.outline_of(plain)[0] == (1, 0, 0, ("first",), 0)

    async def given():
        yield 1

    assert signatures.outline_of(given)[0][-1] == inspect.CO_ASYNC_GENERATOR


class _Made:
    def __init__(self, size: int, color: str = "red") -> None:
        self.size, self.color = size, color


def test_of_a_class_the_parameters_of_its_init_are_shown():
    class Below(_Made):
        pass

    class Plain:
        pass

    class MadeByNew:
        def __new__(cls, x: int) -> Any:
            return object.__new__(cls)

    class Numbers(dict[str, int]):
        pass

    for cls in (_Made, Below):
        assert signatures.init_of(cls) is _Made.__init__
        assert signatures.outline_of(cls)[:2] == ((3, 0, 0, ("self", "size", "color"), 0), ("red",))
    assert signatures.outline_of(Plain) == ((0, 0, 0, (), 0), None, None, {})
    assert [signatures.init_of(cls) for cls in (MadeByNew, Numbers, int)] == [None] * 3
    # What the harness has in its own classes is not the script's.
    assert signatures.init_of(signatures.FunctionOf) is None


def test_what_a_class_itself_has_and_what_any_of_the_program_s_has():
    class Above:
        def __init__(self) -> None:
            self.x = 1

    class Below(Above):
        y = 1

    assert "y" in looking.members_of(Below)
    assert looking.members_of(Below).keys().isdisjoint(["__dict__", "__weakref__", "__eq__"])
    assert [looking.members_of(Below, name) for name in ("y", "__init__", "__eq__")] == [True, True, False]


def test_of_all_names_those_are_shown_that_a_statement_can_bind():
    assert looking.shown_names(["f", "a b", "if", "len", "math", "__name__", "1"]) == {"f"}


class Link:
    """The test's half, of which the other says where a source is."""

    said: Any = None
    alongside: Any = None

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def ask(self, *question: object) -> Any:
        self.asked.append(question)
        return self.said

    def refuse(self, why: str) -> None:
        raise TypeError(why)

    invalid = refuse


def test_a_source_is_lines_and_the_number_of_the_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inspect, "findsource", inspect.findsource)
    monkeypatch.setattr(looking, "is_remote", lambda target: target is remote)
    remote, link = object(), Link()
    looking.follow_sources(link)
    for said in (None, (["x"],), (["x"], 0, 1), ("x", 0), (["x"], "0"), [["x"], 0]):
        link.said = said
        with pytest.raises(TypeError, match="does not say what the source is"):
            inspect.findsource(remote)  # type: ignore[arg-type]
    link.said = (["x = 1\n"], 0)
    assert inspect.findsource(remote) == (["x = 1\n"], 0)  # type: ignore[arg-type]
    assert inspect.findsource(Link)[1] > 0


def test_the_source_of_a_program_is_its_lines_from_the_first_one(monkeypatch: pytest.MonkeyPatch):
    source, own = "x = 1\ndef f():\n    pass", {"__name__": looking.CANDIDATE}  # type: tuple[str, dict[str, Any]]
    monkeypatch.setattr(looking, "_text", [source])
    module = types.ModuleType(looking.CANDIDATE)
    monkeypatch.setitem(sys.modules, looking.CANDIDATE, module)
    module.__file__ = "of its own"
    exec(compile(source, looking.PROGRAM, "exec"), own)
    lines = ["x = 1\n", "def f():\n", "    pass"]
    assert looking.source_of(None) == (lines, 0)
    found, first = looking.source_of(own["f"])
    assert ([line.rstrip("\n") for line in found], first) == ([line.rstrip("\n") for line in lines], 1)
    assert module.__file__ == "of its own"


def test_the_size_of_an_object_is_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "getsizeof", sys.getsizeof)
    monkeypatch.setattr(looking, "is_remote", lambda target: target is remote)
    remote, link, size = object(), Link(), sys.getsizeof([1, 2])
    looking.follow_sizes(link)
    for said in (None, "1", 1.0, True):
        link.said = said
        with pytest.raises(TypeError, match="does not say what size"):
            sys.getsizeof(remote)
    link.said = 7
    assert [sys.getsizeof(remote), sys.getsizeof(remote, 9), sys.getsizeof([1, 2])] == [7, 7, size]
    assert looking.size_of([1, 2]) == size


def test_nothing_is_asked_while_calls_are_traced(monkeypatch: pytest.MonkeyPatch):
    link = Link()
    link.alongside = SimpleNamespace(exchange=lambda operation, fields: (operation, fields))
    looking.follow_tracers(link)
    monkeypatch.setattr(looking, "sys", SimpleNamespace(gettrace=lambda: trace, getprofile=lambda: profile))
    trace = profile = None  # type: Any
    assert link.alongside.exchange("call", [1]) == ("call", [1])
    for trace, profile, name in ((print, None, "settrace"), (None, print, "setprofile"), (print, print, "settrace")):
        with pytest.raises(TypeError, match=f"traces calls \\(sys.{name}\\)"):
            link.alongside.exchange("call", [1])


def test_hints_are_a_dict_of_names_and_those_of_the_script_are_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(typing, "get_type_hints", typing.get_type_hints)
    monkeypatch.setattr(looking, "is_remote", lambda target: target is remote)
    link = Link()

    def remote(a: int, b: Link) -> None: ...

    looking.follow_hints(link)
    for said in (None, [("a", int)], {1: int}):
        link.said = said
        with pytest.raises(TypeError, match="does not say what the annotations are"):
            typing.get_type_hints(remote)
    link.said = {"a": str}
    assert typing.get_type_hints(remote, include_extras=True) == typing.get_type_hints(remote) == {"a": str}
    assert [each[2] for each in link.asked[-2:]] == [True, False]
    given = typing.get_type_hints(remote, None, {"Link": float})
    assert given == {"a": int, "b": float, "return": type(None)}, "with names of the script's it evaluates by itself"
    assert typing.get_type_hints(Link.ask) == {"question": object, "return": Any}


@pytest.mark.parametrize(
    ("source", "names", "does"),
    [
        ("dir()", {"dir"}, True), ("vars()", {"vars"}, True), ("dir(f)", {"dir"}, False), ("", {"globals"}, True),
        ("'dir()'", {"f"}, False),
    ],
)  # fmt: skip
def test_which_scripts_look_at_all_names(source: str, names: set[str], does: bool):
    assert looking.looks_at_all(source, names) is does
