"""Calls of a loop that are asked for before the script makes them: which, how, and what if it does not make them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated import link as links
from cruxcell.jobs.separated.ahead import Ahead, may_ask_ahead
from cruxcell.jobs.separated.link import EARLY_QUESTION, IN_VAIN, QUESTION, VALUE, Link
from cruxcell.jobs.separated.runs import connection
from cruxcell.jobs.separated.test import _TestLink
from cruxcell.protocol import frames, messages
from test_link import Other, do, message, text, u32


class Left(BaseException):
    """The test's worker has ended."""


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Iterator[Other]:
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(links, "CHANNEL", ours.fileno())
    kept = connection[:]
    with ours, theirs:
        yield Other(theirs)
    connection[:] = kept


def number(value: int) -> bytes:
    return b"j" + value.to_bytes(4, "little", signed=True)


class Script:
    """A script's loop, which asks for calls of `f` by a link whose other end has its answers already."""

    def __init__(self, other: Other, monkeypatch: pytest.MonkeyPatch) -> None:
        def leave(_code: int) -> None:
            self.has_left = True
            raise Left

        monkeypatch.setattr(os, "_exit", leave)
        self.other, self.has_left = other, False
        self.said: list[list[bytes]] = []
        streams = dict.fromkeys(("stdout", "stderr"))
        context: Any = SimpleNamespace(send=self.said_now, numbers=lambda: b"", **streams)
        self.link = _TestLink(context, {})
        self.link._listens = list  # type: ignore[method-assign]
        self.link.ahead = Ahead()

    def said_now(self, record: bytes) -> None:
        if not self.has_left:
            self.said += frames.split(record)[0]

    def run(self, source: str, answers: int) -> None:
        self.other.send(*[message(VALUE, at, number(at)) for at in range(1, answers + 1)], last=False)
        f = abs

        def call(*arguments: object) -> object:
            return self.link.ask("call", f, "", *arguments)

        try:
            exec(compile(source, "<check>", "exec"), {"f": call, "link": self.link})
        except Left:
            return
        if self.link.tell_unmade():
            self.link.hang_up()

    def asked(self) -> list[bytes]:
        return [fields[0] for fields in self.other.got()]


@pytest.fixture
def script(other: Other, monkeypatch: pytest.MonkeyPatch) -> Script:
    return Script(other, monkeypatch)


TOLD = [messages.ASKED_AHEAD, messages.AT_ALL]
LOOPS = {
    "spread": "def g():\n    xs = [[n, [n]] for n in range(9)]\n    for x in xs:\n        f(*x)\ng()",
    "single": "xs = [[n] for n in range(9)]\nfor x in xs:\n    f(x)",
    "in a function of its own": "xs = [(n,) for n in range(9)]\ndef g(x):\n    h = f(*x)\nfor x in xs:\n    g(x)",
}


@pytest.mark.parametrize("name", LOOPS)
def test_from_the_fifth_call_on_a_loop_is_one_ahead(name: str, script: Script):
    script.run(LOOPS[name], 9)
    early = [EARLY_QUESTION] * 4
    # The function that calls has no list of its own there, and what it is called by is not looked at.
    if name == "in a function of its own":
        early = [QUESTION] * 4
    assert script.asked() == [QUESTION] * 5 + early
    assert script.said == ([TOLD] if early[0] == EARLY_QUESTION else [])


def test_the_next_call_is_asked_for_when_the_answer_has_come_and_never_two(script: Script):
    script.link.seen = []  # type: ignore[attr-defined]
    script.run("xs = [[n] for n in range(9)]\nfor x in xs:\n    f(*x)\n    link.seen.append(link._asked)", 9)
    assert script.link.seen == [1, 2, 3, 4, 6, 7, 8, 9, 9]  # type: ignore[attr-defined]


HEAD = "xs = [[n, [n]] for n in range(9)]\nfor n, x in enumerate(xs):\n"
# What a script does that has asked for its seventh call ahead.
ELSEWHERE = {
    "another call": "    f(*(x if n != 6 else xs[0]))",
    "the same values": "    f(*(x if n != 6 else [6, [6]]))",
    "another number of arguments": "    f(*(x if n != 6 else [6]))",
    "another question": "    f(*x)\n    if n == 5: link.ask('get', abs, 'name')",
    "changed arguments": "    f(*x)\n    if n == 5: xs[6][1].append(0)",
    "another function": "    link.ask('call', abs if n != 6 else len, '', *x)",
    "a name": "    link.ask('call', abs, '' if n != 6 else 'k', *x)",
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_script_that_does_something_else_is_over(name: str, script: Script):
    script.run(HEAD + ELSEWHERE[name], 9)
    assert [fields[0] for fields in script.said] == [messages.ASKED_AHEAD, messages.AGAIN]
    assert script.has_left


def test_a_script_that_ends_says_what_was_in_vain(script: Script):
    script.run(HEAD + "    f(*x)\n    if n == 5: break", 9)
    assert script.said == [TOLD, [messages.ASKED_AHEAD, messages.IN_VAIN]]
    assert script.asked()[-2:] == [EARLY_QUESTION, IN_VAIN]


def test_an_exception_is_the_calls_that_the_script_makes(script: Script):
    error = b"X" + u32(0) + b"G" + text("builtins") + text("ValueError") + text("no") + number(0) + b"NNNN"
    script.other.send(
        *[message(VALUE, at, number(at)) for at in range(1, 7)], message(links.RAISED, 7, error), last=False
    )
    source = HEAD + "    try:\n        f(*x)\n    except ValueError:\n        link.caught = n\n        break"
    script.run(source, 0)
    assert script.link.caught == 6  # type: ignore[attr-defined]
    assert script.said == [TOLD]


# ---- the candidate's end ---------------------------------------------------------------------------------------------


def serving(other: Other, *said: bytes) -> tuple[Link, list[str]]:
    end, events = Link(False, do), []  # type: Link, list[str]
    end.more["names"] = lambda _target: events.append("asked")
    end.before_early = lambda: events.append("early")
    other.send(*said)
    end.serve()
    return end, events


def test_a_candidate_notes_what_it_has_before_an_early_question(other: Other):
    ask, early = (message(kind, at, text("names"), b"N") for kind, at in ((QUESTION, 1), (EARLY_QUESTION, 2)))
    end, events = serving(other, ask, early, message(IN_VAIN, 0))
    assert events == ["asked", "early", "asked"]
    assert end.was_in_vain


def test_only_the_last_word_says_that_a_call_was_in_vain(other: Other):
    early = message(EARLY_QUESTION, 1, text("names"), b"N")
    end, events = serving(other, early, message(QUESTION, 2, text("names"), b"N"))
    assert (end.was_in_vain, events) == (False, ["early", "asked", "asked"])


def test_a_candidate_that_cannot_answer_hears_why(other: Other):
    other.send(message(EARLY_QUESTION, 1, text("names"), b"N"), message(IN_VAIN, 0))
    other.line.close()
    end = Link(False, do)
    end.more["names"] = lambda _target: None
    end.serve()
    assert end.was_in_vain


def test_a_test_answers_no_early_question(other: Other):
    other.send(message(EARLY_QUESTION, 1, text("call"), b"N"))
    with pytest.raises(links.Broken):
        Link(True, do).ask("names", None)


# ---- which scripts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "may"),
    [
        ("import numpy as np, math\nfrom collections import Counter\nimport os.path", False),
        ("import numpy as np, math\nfrom collections import Counter\ndef f(x):\n    import numpy.linalg", True),
        ("def f(x):\n    import time", False),
        ("from time import perf_counter", False),
        ("import unittest", False),
        ("import mathematics", False),
        ("import numpy as np\nnow = np.datetime64('now')", False),
        ("import re\nre.sys", False),
        ("def f():\n    exec('import time')", False),
        ("class A:\n    def __del__(self): pass", False),
        ("check(f)", True),
    ],
)
def test_a_script_that_could_look_at_a_clock_asks_for_nothing_ahead(source: str, may: bool):
    assert may_ask_ahead(compile(source, "<check>", "exec")) is may
