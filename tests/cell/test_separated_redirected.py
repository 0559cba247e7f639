"""Streams that the program has in the place of its own are the script's where that runs on the program's behalf."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from cruxcell.jobs.separated.state.redirected import Redirected, Streams


def begun(monkeypatch: pytest.MonkeyPatch) -> tuple[io.StringIO, io.StringIO]:
    """Streams of the script's. Not of a fixture: pytest puts its own there before it calls the test."""
    found = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", found[0])
    monkeypatch.setattr(sys, "stderr", found[1])
    return found


class Answers:
    def __init__(self, *told: Any) -> None:
        self.told, self.asked = list(told), 0

    def __call__(self, operation: str) -> Any:
        assert operation == "streams"
        self.asked += 1
        return self.told.pop(0)


@pytest.mark.parametrize(("name", "is_needed"), [("print", True), ("pprint", True), ("stderr", True), ("f", False)])
def test_only_a_script_that_prints_asks(name: str, is_needed: bool):
    assert Redirected(Answers(), {name}).is_needed is is_needed


def test_a_function_prints_to_what_the_program_has_and_afterwards_to_the_script_s(monkeypatch: pytest.MonkeyPatch):
    own = begun(monkeypatch)
    stream = io.StringIO()
    one = Redirected(Answers([stream, None]), {"print"})
    before = one.begin()
    assert (sys.stdout, sys.stderr) == (stream, own[1])
    assert one.behind("stdout") is own[0]
    assert one.behind("stderr") is own[1]
    one.end(before)
    assert (sys.stdout, sys.stderr) == own
    assert one.behind("stdout") is own[0]


def test_one_stream_for_both_gives_each_its_own_back(monkeypatch: pytest.MonkeyPatch):
    own = begun(monkeypatch)
    stream = io.StringIO()
    one = Redirected(Answers([stream, stream]), {"print"})
    before = one.begin()
    assert (sys.stdout, sys.stderr) == (stream, stream)
    assert (one.behind("stdout"), one.behind("stderr")) == own
    one.end(before)
    assert (sys.stdout, sys.stderr) == own


def test_what_the_script_has_put_there_meanwhile_stays(monkeypatch: pytest.MonkeyPatch):
    begun(monkeypatch)
    stream, later = io.StringIO(), io.StringIO()
    one = Redirected(Answers([stream, None], [stream, None]), {"print"})
    before = one.begin()
    sys.stdout = later
    inner = one.begin()
    assert sys.stdout is later, "the program's was there before"
    one.end(inner)
    one.end(before)
    assert sys.stdout is later is one.behind("stdout")


def test_blocks_end_in_turn(monkeypatch: pytest.MonkeyPatch):
    own = begun(monkeypatch)
    first, second = io.StringIO(), io.StringIO()
    one = Redirected(Answers([first, None], [second, None]), {"print"})
    one.follow("__exit__", False)
    one.follow("__enter__", ValueError())
    one.follow("__len__", 1)
    one.follow("__enter__", None)
    assert sys.stdout is first
    one.follow("__enter__", None)
    assert sys.stdout is second
    assert one.behind("stdout") is own[0]
    one.follow("__exit__", None)
    assert sys.stdout is first
    one.follow("__exit__", None)
    assert sys.stdout is own[0]


@pytest.mark.parametrize("told", [None, [None], "ab", (None, None)])
def test_a_program_that_names_none_is_asked_once(monkeypatch: pytest.MonkeyPatch, told: Any):
    own = begun(monkeypatch)
    answers = Answers(told)
    one = Redirected(answers, {"print"})
    one.end(one.begin())
    one.end(one.begin())
    assert (answers.asked, sys.stdout) == (1, own[0])


def test_the_program_says_what_it_has_put_there_since_it_was_loaded(monkeypatch: pytest.MonkeyPatch):
    own = begun(monkeypatch)
    harness_s, stream = io.StringIO(), io.StringIO()
    assert Streams("print(1)", own).streams(None) is None
    one = Streams("sys.stdout", [harness_s])
    assert one.streams(None) == [None, None]
    sys.stderr = stream
    assert one.streams(None) == [None, stream]
    sys.stderr = harness_s
    assert one.streams(None) == [None, None]
    assert Streams("sys.stderr", [harness_s]).streams(None) == [None, None]
