"""Where a script waits: threads of the program are heard meanwhile, and what they did comes when that is over."""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.state import waits


class Link:
    """The test's half. `may_rest`: what its threads say of each wait, at first of whether there are others."""

    def __init__(self, *may_rest: bool) -> None:
        self.has_answered, said = True, iter(may_rest)
        self.threads = SimpleNamespace(may_rest=lambda: next(said))
        self.rests = 0

    def rest(self, wait: Callable[[], object]) -> object:
        self.rests += 1
        return wait()


@pytest.fixture(name="follow")
def followed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Link], Any]:
    """Gives the modules of a script, in the place of which its classes are others."""

    noted: list[Any] = []

    def follow(link: Link, has_loops: bool = True) -> Any:
        copies: list[Any] = []
        for each in (time, threading):
            copies.append(ModuleType(each.__name__))
            vars(copies[-1]).update(vars(each))
            monkeypatch.setitem(sys.modules, each.__name__, copies[-1])
        copies[1].Condition = type("Condition", (), {"wait": lambda _self, timeout=None: timeout})
        copies[1].Thread = type("Thread", (), {"join": lambda _self, timeout=None: timeout})
        selector = type("Selector", (), {"select": lambda _self, timeout=None: timeout})
        loops = SimpleNamespace(selectors=SimpleNamespace(DefaultSelector=selector)) if has_loops else None
        monkeypatch.setitem(sys.modules, "asyncio.selector_events", loops)
        monkeypatch.setattr(waits, "STAND_INS", noted)
        waits.follow_waits(link)
        monkeypatch.undo()
        classes = {each: getattr(copies[1], each) for each in ("Condition", "Thread")}
        return SimpleNamespace(noted=noted, time=copies[0], Selector=selector, **classes)

    return follow


def test_a_script_that_sleeps_or_waits_for_a_condition_or_a_thread_rests(follow: Any):
    link = Link(True, True, True, True)
    script = follow(link)
    assert (script.time.sleep(0), script.Condition().wait(timeout=3), script.Thread().join(2)) == (None, 3, 2)
    assert link.rests == 3


def test_so_does_one_whose_loop_waits_but_not_one_whose_loop_looks_what_is_ready(follow: Any):
    link = Link(True, True, True, True, True)
    script = follow(link)
    selector = script.Selector()
    assert script.Selector.select.__wrapped__(selector, 1) == 1
    assert [selector.select(), selector.select(2), selector.select(timeout=3)] == [None, 2, 3]
    assert link.rests == 3
    assert selector.select(0) == 0
    assert link.rests == 3


def test_what_has_no_loops_waits_as_it_does(follow: Any):
    script = follow(Link(True, True), has_loops=False)
    assert script.time.sleep is not time.sleep
    assert not hasattr(script.Selector.select, "__wrapped__")


def test_a_wait_in_the_midst_of_something_else_is_no_rest(follow: Any):
    link = Link(True, False)
    follow(link).time.sleep(0)
    assert link.rests == 0


def test_nor_is_one_before_the_program_was_asked_for_anything(follow: Any):
    link = Link(True)
    link.has_answered = False
    follow(link).time.sleep(0)
    assert link.rests == 0


def test_nothing_is_followed_where_there_are_no_threads(follow: Any):
    script = follow(Link(False))
    assert script.time.sleep is time.sleep


def test_what_waits_is_called_as_the_library_has_it_and_crosses_by_that_name(follow: Any):
    script = follow(Link(True))
    sleep = script.time.sleep
    assert script.noted[0] is sleep
    assert (sleep.__name__, sleep.__qualname__, sleep.__module__) == ("sleep", "sleep", "time")
    assert (sleep.__doc__, sleep.__wrapped__) == (time.sleep.__doc__, time.sleep)
    assert list(inspect.signature(script.Thread().join).parameters) == ["timeout"]


def test_the_candidate_says_nothing_of_a_wait():
    assert waits.rested(None) is None  # type: ignore[func-returns-value]
