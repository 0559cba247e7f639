"""What the candidate may do with what the script passes to it, and what is printed for it meanwhile."""

from __future__ import annotations

import builtins
import enum
import functools
import io
import sys
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from cruxcell.jobs.separated.exchange import permissions
from cruxcell.jobs.separated.exchange.link import VALUE, Link
from script_half import RAISED, Half, Left, connected_half  # noqa: F401 - a fixture among them


def test_what_is_printed_goes_to_the_stream_of_that_time(half: Half, monkeypatch: pytest.MonkeyPatch):
    class Stream(io.StringIO):
        wrote: list[Any]

        def write(self, text: Any) -> int:
            self.wrote.append(text)
            return 0

    first, second = Stream(), Stream()
    first.wrote, second.wrote = [], []
    half.ask("call", None)
    assert [each[0] for each in half.asked] == ["call"], "nobody asks for what the worker has anyway"
    monkeypatch.setattr(sys, "stdout", first)
    printed = ["one", "two", "three", "late", "four", "", 8, "inside", "five"]
    half.answers["printed"] = [(VALUE, ()), *[(VALUE, (each,)) for each in printed]]
    half.ask("call", None)
    half.ask("call", None)
    monkeypatch.setattr(sys, "stdout", second)
    half.ask("call", None)  # what the candidate printed in between is for neither
    half.ask("call", None)  # nothing, and what is no text
    assert (first.wrote, second.wrote) == (["one", "two", "three"], ["four", ""])
    half.threads._open, half.alongside._heard = 1, {"stdout": first}
    half.ask("call", None)  # asked while the candidate asks: until then it printed for the first
    assert (first.wrote[3:], second.wrote[2:], half.alongside._heard) == (["inside"], ["five"], {"stdout": first})


def test_what_is_printed_may_be_a_text_to_run_when_the_stream_gets_it(half: Half, monkeypatch: pytest.MonkeyPatch):
    class Stream(io.StringIO):
        may_run: list[bool]

        def write(self, _text: Any) -> int:
            self.may_run.append(half.may_have_texts())
            return 0

    stream = Stream()
    stream.may_run = []
    monkeypatch.setattr(sys, "stdout", stream)
    half.answers["printed"] = [(VALUE, ()), (VALUE, ("1 + 1",))]
    half.ask("names", None)
    assert (stream.may_run, half.may_have_texts()) == ([True], True)


def test_streams_of_the_script_are_lent_once(half: Half, monkeypatch: pytest.MonkeyPatch):
    stdin, ask = io.StringIO(), lambda: "text"
    for names in [(), ("stdin",), ("stdin", "input"), ("input",), ()]:
        with monkeypatch.context() as patch:
            if "stdin" in names:
                patch.setattr(sys, "stdin", stdin)
            if "input" in names:
                patch.setattr(builtins, "input", ask)
            half.ask("call", None)
            half.ask("call", None)
    lent = [each[1:] for each in half.asked if each[0] == "lend"]
    assert lent == [(stdin, None), (stdin, ask), (None, ask), (None, None)]


class MadeByNew:
    def __new__(cls, x: int) -> MadeByNew:
        return object.__new__(cls)


class Plain:
    """Of the script, say."""

    x, _y = 1, 2

    def __init__(self) -> None:
        self.z = 3


class Name(str):
    pass


def function(n: int) -> int:
    return n


@pytest.mark.parametrize(
    ("operation", "target", "rest", "may"),
    [
        ("call", function, [""], True),
        ("special", Plain(), ["__len__"], True),
        ("copy", Plain(), [True, None, 1], True),
        ("names", Plain(), [], False),
        ("get", Plain(), ["z"], True),
        ("get", Plain(), ["_y"], False),
        ("get", Plain(), [Name("z")], False),
        ("get", Plain, ["x"], True),
        ("set", Plain(), ["z", 1], True),
        ("set", Plain, ["x", 1], False),
        ("set", Plain(), [Name("z"), 1], False),
        ("del", Plain(), ["z"], True),
        ("del", Plain, ["x"], False),
        ("fields", Plain, [], True),
        ("fields", Plain(), [], False),
        ("fields", function, [], False),
        ("outline", function, [], True),
        ("outline", Plain, [], True),
        ("outline", Plain(), [], False),
        ("outline", MadeByNew, [], False),
    ],
)
def test_the_candidate_uses_what_it_was_shown_and_nothing_behind_it(
    half: Half, operation: str, target: Any, rest: list[Any], may: bool
):
    assert not half._may(operation, target, list(rest))
    assert half.has_answered
    half.objects.shown.show(target)
    assert half._may(operation, target, list(rest)) is may


def test_a_mock_holds_plain_data_and_other_objects_what_they_are_given(half: Half):
    color = enum.IntEnum("Color", "RED").RED  # type: ignore[attr-defined]
    for operation, target, kind in [
        ("set", mock.Mock(), int), ("set", Plain(), type(color)), ("call", mock.Mock(), type(color))
    ]:  # fmt: skip
        half.objects.shown.show(target)
        rest = ["z", color]
        assert half._may(operation, target, rest)
        assert type(rest[1]) is kind


def test_what_the_candidate_is_told_of_an_object_leads_nowhere():
    told = Plain()
    told._own = 4  # type: ignore[attr-defined]
    assert permissions.run(getattr, [told, "__dict__"], {}) == {"z": 3}
    assert permissions.run(getattr, [told, "z"], {}) == 3
    assert permissions.run(max, ["a", "__dict__"], {}) == "a"
    assert permissions.run(len, [[1, 2]], {}) == 2
    partial = functools.partial(print, "expected")
    for tells in (repr, str, format):
        assert "expected" not in permissions.run(tells, [partial], {})
        assert permissions.run(tells, [2], {}) == "2"
    assert permissions.run(callable, [partial], {}) is True


def test_what_a_mock_hinders_is_not_asked(half: Half, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(half._mocks, "hinder", lambda *_: "why")
    with pytest.raises(Left):
        half.ask("get", None, "called")
    assert half.asked == []


@pytest.mark.parametrize("is_under_way", [True, False])
def test_what_a_harmless_text_is_answered_is_looked_at(half: Half, is_under_way: bool):
    taken: list[Any] = []
    half.texts = SimpleNamespace(is_under_way=lambda: is_under_way, take=taken.append)  # type: ignore[assignment]
    half.answers["call"] = [7, (RAISED, KeyError("x"))]
    half.ask("call", None)
    with pytest.raises(KeyError):
        half.ask("call", None)
    assert taken == ([[7], [None]] if is_under_way else [])


def test_what_the_candidate_changes_may_be_a_text_but_not_the_view_of_its_names(half: Half):
    half.containers.entries.update({1: [half._names.view, 0], 3: [["text"], half._names.view]})
    half.is_refilled(1)
    assert (half.may_have_texts(), half._refills._changes) == (False, [])
    half._refills._asking = 1
    half.is_refilled(3)
    assert (half.may_have_texts(), [each[1] for each in half._refills._changes]) == (True, [3])
    half.is_refilled(1)
    assert half.may_have_texts()


def test_names_that_show_texts_may_be_run_and_files_that_are_not_passed_are_not_opened(half: Half):
    assert not half.may_have_texts()
    half._names.shows_texts = True
    assert half.may_have_texts()
    assert half.may_open("a")
    half.alongside.files = SimpleNamespace(may_be_opened=lambda path, _: path == "b")  # type: ignore[assignment]
    assert [half.may_open("a"), half.may_open("b")] == [False, True]


@pytest.mark.parametrize("anywhere", [True, False])
def test_each_message_is_heard_by_who_looks_at_files_and_texts(
    half: Half, anywhere: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Link, "taken", lambda *_: (VALUE, 1, [7]))
    heard, taken = list[bytes](), list[Any]()
    assert half.taken(b"a") == (VALUE, 1, [7])
    half.alongside.files = SimpleNamespace(hear=heard.append)  # type: ignore[assignment]
    half.texts = SimpleNamespace(is_under_way_anywhere=lambda: anywhere, take=taken.append)  # type: ignore[assignment]
    half.containers.entries[3] = [[8]]
    assert half.taken(b"b") == (VALUE, 1, [7])
    assert (heard, taken) == ([b"b"], [[[8]]] if anywhere else [])
