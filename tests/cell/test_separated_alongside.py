"""What goes alongside a call of the candidate's: what it has done comes before that, and the files after it."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from cruxcell.jobs.separated.exchange.alongside import Alongside, _runs_code


class Scripts:
    __module__ = "__main__"

    def method(self) -> None: ...


STREAM = io.StringIO()


@pytest.mark.parametrize(
    ("operation", "target", "is_so"),
    [
        ("call", lambda: None, True),
        ("call", Scripts().method, True),
        ("call", Scripts, True),
        ("call", Scripts(), True),
        ("call", sys.exit, True),
        ("call", STREAM.write, True),
        ("call", io.StringIO().write, False),
        ("call", [].append, False),
        ("special", Scripts(), True),
        ("special", (each for each in ()), True),
        ("special", [], False),
        ("get", Scripts(), False),
    ],
)
def test_what_runs_code_of_the_script_s(operation: str, target: Any, is_so: bool):
    assert _runs_code(operation, target, {"stdout": STREAM}) is is_so


class Link:
    """The test's end."""

    has_answered = False
    threads = SimpleNamespace(outside=lambda function: function())

    def tell(self, *asked: Any) -> Any:
        return asked[0]


@pytest.fixture
def done() -> list[Any]:
    return []


@pytest.fixture
def beside(done: list[Any]) -> Any:
    made: Any = Alongside(Link(), None, None)
    made.files = SimpleNamespace(take=lambda told: done.append(("taken", told)), note=done.append, given=list)
    made._heard = {"stdout": SimpleNamespace(write=done.append)}
    return made


def calling(done: list[Any]) -> Any:
    def call(told: object) -> int:
        done.append(told)
        return 7

    return call


def test_what_the_program_has_done_comes_before_its_call_and_the_files_after(beside: Any, done: list[Any]):
    assert beside.called(calling(done), "call", print, ["fields"]) == 7
    assert done == ["printed", ("taken", "made_files"), ["fields"], [7]]


def test_a_mock_has_no_files(beside: Any, done: list[Any]):
    assert beside.called(calling(done), "call", mock.Mock(), ["fields"]) == 7
    assert done == ["printed", ["fields"]]


@pytest.mark.parametrize("operation", ["get", "call"])
def test_what_runs_no_code_or_nobody_listens_to_is_just_called(beside: Any, done: list[Any], operation: str):
    if operation == "call":
        beside.files, beside._heard = None, {}
    assert beside.called(len, operation, print, ["fields"]) == 1
    assert done == []


def test_what_was_printed_is_heard_before_the_call(beside: Any, done: list[Any]):
    beside.files = None
    assert beside.called(calling(done), "call", print, ["fields"]) == 7
    assert done == ["printed", ["fields"]]


def test_who_listens_hears_before_the_call(beside: Any, done: list[Any]):
    beside.files, beside._heard, beside._listener = None, {}, SimpleNamespace(hear=done.append)
    assert beside.called(lambda told: done.append(told), "call", print, ["fields"]) is None
    assert done == ["heard", ["fields"]]


def test_one_stream_for_both_is_told_once(done: list[Any], monkeypatch: pytest.MonkeyPatch):
    made, own = Alongside(Link(), sys.stdout, sys.stderr), sys.stderr
    monkeypatch.setattr(Link, "tell", lambda _self, *asked: done.append(asked))
    monkeypatch.setattr(Link, "depth", lambda _self: 0, raising=False)
    one = io.StringIO()
    for stdout, stderr in [(one, one), (one, one), (one, io.StringIO()), (one, own)]:
        monkeypatch.setattr(sys, "stdout", stdout)
        monkeypatch.setattr(sys, "stderr", stderr)
        made._before([])
        done.append("asked")
    assert [asked for asked in done if asked == "asked" or asked[0] == "join"] == [
        ("join", True), "asked", "asked", ("join", False), "asked", "asked",
    ]  # fmt: skip
