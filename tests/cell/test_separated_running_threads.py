"""Threads that a script counts: those of both processes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.followed import FOLLOWED
from cruxcell.jobs.separated.proxies.facts import Opaque
from cruxcell.jobs.separated.state.running_threads import follow_threads, threads_of
from script_half import Refused, RefusingLink


class Link(RefusingLink):
    """The test's half; `said` is what the candidate says, and `partners` are threads that stand for the candidate's."""

    def __init__(self, said: Any, *partners: int | None) -> None:
        self._said, self.threads = said, SimpleNamespace(partners=lambda: set(partners))

    def ask(self, operation: str, target: object) -> Any:
        assert (operation, target) == ("threads", None)
        return self._said


@pytest.fixture(name="follow")
def followed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Gives the module that a script has, which is a copy."""

    def follow(*given: Any) -> Any:
        copy = ModuleType("threading")
        vars(copy).update(vars(threading))
        monkeypatch.setitem(sys.modules, "threading", copy)
        follow_threads(Link(*given))
        monkeypatch.undo()
        return copy

    return follow


@pytest.fixture(name="another")
def another_thread() -> Iterator[threading.Thread]:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    yield thread
    end.set()
    thread.join()


def test_the_candidate_tells_of_what_it_has_started(another: threading.Thread, monkeypatch: pytest.MonkeyPatch):
    told: Any = threads_of(Link([]))
    assert another in told
    assert threading.main_thread() not in told
    assert another not in threads_of(Link([], another.ident))
    monkeypatch.delitem(sys.modules, "threading")
    assert threads_of(Link([])) == []


def test_a_script_has_its_own_threads_and_those_of_the_program(follow, another: threading.Thread):
    theirs, own = [Opaque(), Opaque()], threading.enumerate()
    module = follow(theirs)
    assert module.enumerate() == [*own, *theirs]
    assert module.active_count() == len(own) + 2
    assert module.enumerate.__name__ == "enumerate"
    module = follow([], another.ident)
    assert module.enumerate() == [each for each in own if each is not another]
    assert module.active_count() == len(own) - 1


@pytest.mark.parametrize("said", [None, 3, (), ["a thread"], [Opaque(), threading.main_thread()]])
def test_what_is_no_thread_of_the_candidate_s_ends_the_script(follow, said):
    module = follow(said)
    with pytest.raises(Refused, match="does not say which threads"):
        module.active_count()


def test_a_script_that_names_threading_follows():
    assert FOLLOWED["threading"] is follow_threads
