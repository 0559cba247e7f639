"""Streams that the program has in the place of its own are the script's where that runs on the program's behalf."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from cruxcell.jobs.capture import Capture
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


def streams_of(text: str, out: Any, err: Any) -> Streams:
    made = Streams({"stdout": out, "stderr": err})
    made.begin(text)
    return made


def test_a_program_that_names_no_stream_has_its_own(monkeypatch: pytest.MonkeyPatch):
    own, stream, harness_s = begun(monkeypatch), io.StringIO(), io.StringIO()
    assert streams_of("print(1)", *own).streams(None) is None
    one = streams_of("sys.stdout", harness_s, own[1])
    assert one.streams(None) == [None, None]
    sys.stderr = stream
    assert one.streams(None) == [None, stream]
    sys.stderr = harness_s
    assert one.streams(None) == [None, None]
    one.hear(None, ["stderr"], False)
    assert one.streams(None) == [None, None]


def test_a_program_without_a_stream_is_asked_for_others(monkeypatch: pytest.MonkeyPatch):
    own = begun(monkeypatch)
    monkeypatch.delattr(sys, "stderr")
    one = streams_of("sys.stderr", *own)
    one.hear(None, ["stdout", "stderr"], False)
    assert (one.streams(None), hasattr(sys, "stderr")) == ([None, None], False)


def test_what_is_printed_while_the_script_hears_it_is_told_once(monkeypatch: pytest.MonkeyPatch):
    own = begun(monkeypatch)
    one = streams_of("", *own)
    print("before")
    one.hear(None, ["stdout"], False)
    print("a")
    print("kept from before", file=own[0])
    print("b", file=sys.stderr)
    assert [one.printed(None, name) for name in ("stdout", "stdout", "stderr")] == [("a", "\n"), (), ()]
    one.hear(None, [], False)
    print("after")
    assert (sys.stdout, sys.stderr, one.printed(None, "stdout")) == (*own, ())
    assert (own[0].getvalue(), own[1].getvalue()) == ("before\na\nkept from before\nafter\n", "b\n")


def test_what_is_printed_to_one_stream_stays_in_its_order(monkeypatch: pytest.MonkeyPatch):
    one = streams_of("", *begun(monkeypatch))
    for are_one, told in [(True, [("a", "b"), ()]), (False, [("a",), ("b",)])]:
        one.hear(None, ["stdout", "stderr"], are_one)
        sys.stdout.writelines(["a"])
        sys.stderr.write("b")
        assert [one.printed(None, name) for name in ("stdout", "stderr")] == told


def test_what_the_program_has_put_there_stays(monkeypatch: pytest.MonkeyPatch):
    one = streams_of("", *begun(monkeypatch))
    sys.stdout = mine = io.StringIO()
    one.hear(None, ["stdout"], False)
    assert sys.stdout is mine


def test_a_stream_that_is_heard_is_as_the_program_s_own(monkeypatch: pytest.MonkeyPatch):
    capture = Capture(lambda: None)
    capture.set_limit(100)
    monkeypatch.setattr(sys, "stdout", capture)
    one = streams_of("", capture, sys.stderr)
    one.hear(None, ["stdout"], False)
    sys.stdout.buffer.write(b"a")
    assert (sys.stdout.write("b"), sys.stdout.encoding, sys.stdout.isatty()) == (1, "utf-8", False)
    assert (one.printed(None, "stdout"), capture.take()) == (("a", "b"), "ab")
    with pytest.raises(TypeError):
        sys.stdout.write(1)  # type: ignore[call-overload]
    assert one.printed(None, "stdout") == ()


def test_very_many_texts_are_told_as_one(monkeypatch: pytest.MonkeyPatch):
    one = streams_of("", *begun(monkeypatch))
    one.hear(None, ["stdout"], False)
    for wanted in (1_000, 1_001, 1_001):
        sys.stdout.writelines(["a"] * (wanted + (wanted > 1_000)))
        told = one.printed(None, "stdout")
        assert (len(told), len("".join(told))) == (wanted, wanted + (wanted > 1_000))
