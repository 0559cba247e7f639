"""CPU time that a script measures: that of both processes."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from cruxcell.jobs.separated import measured

NS = 10**9
TOLD = [3000 * NS, 2000 * NS, 500 * NS, 70 * NS]


class Refused(Exception):
    pass


class Link:
    """The test's end; `said` is what the candidate says that it has used."""

    def __init__(self, said: Any) -> None:
        self.said = said

    def tell(self, operation: str) -> Any:
        assert operation == "used"
        return self.said

    def refuse(self, why: str) -> Any:
        raise Refused(why)


@pytest.fixture(name="follow")
def followed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Have a script with this text; gives its modules, which are copies."""

    def follow(source: str, said: Any = TOLD) -> tuple[Any, Any, Any]:
        copies = []
        for each in (time, os, resource):
            copies.append(ModuleType(each.__name__))
            vars(copies[-1]).update(vars(each))
            monkeypatch.setitem(sys.modules, each.__name__, copies[-1])
        measured.follow_clocks(Link(said), source)
        monkeypatch.undo()
        return tuple(copies)  # type: ignore[return-value]

    return follow


def figures() -> list[int]:
    return [time.process_time_ns(), time.thread_time_ns(), *[int(each * NS) for each in os.times()[:2]]]


def test_the_candidate_tells_what_its_process_and_thread_have_used():
    before, found, after = figures(), measured.used(None), figures()
    assert [one <= each <= other for one, each, other in zip(before, found, after)] == [True] * 4


def more(theirs: Callable[..., Any], own: Callable[..., Any], *asked: int) -> Any:
    """By how much the one clock is ahead of the other, to less than a second."""
    before = own(*asked)
    return theirs(*asked) - before


@pytest.mark.parametrize("word", ["process_time", "thread_time", "CPUTIME_ID"])
def test_clocks_of_cpu_time_are_those_of_both(follow, word):
    theirs, _, _ = follow("import time\nx = time." + word)
    assert 3000 <= more(theirs.process_time, time.process_time) < 3001
    assert 2000 <= more(theirs.thread_time, time.thread_time) < 2001
    assert 0 <= more(theirs.process_time_ns, time.process_time_ns) - TOLD[0] < NS
    assert 0 <= more(theirs.thread_time_ns, time.thread_time_ns) - TOLD[1] < NS
    for clock, told in ((time.CLOCK_PROCESS_CPUTIME_ID, 3000), (time.CLOCK_THREAD_CPUTIME_ID, 2000)):
        assert told <= more(theirs.clock_gettime, time.clock_gettime, clock) < told + 1
        assert 0 <= more(theirs.clock_gettime_ns, time.clock_gettime_ns, clock) - told * NS < NS
    assert 0 <= more(theirs.clock_gettime, time.clock_gettime, time.CLOCK_MONOTONIC) < 9


def test_both_words_count_once(follow):
    theirs, _, _ = follow("process_time, thread_time")
    assert 3000 <= more(theirs.process_time, time.process_time) < 3001


def test_times_and_usage_of_the_process_itself(follow):
    _, system, usage = follow("os.times() or getrusage(0)")
    own, found = os.times(), system.times()
    assert type(found) is type(own)
    assert [500 <= found.user - own.user < 501, 70 <= found.system - own.system < 71] == [True, True]
    assert found[2:4] == own[2:4]
    itself, asked = resource.getrusage(resource.RUSAGE_SELF), usage.getrusage(resource.RUSAGE_SELF)
    assert [500 <= asked.ru_utime - itself.ru_utime < 501, 70 <= asked.ru_stime - itself.ru_stime < 71] == [True, True]
    assert asked.ru_maxrss >= itself.ru_maxrss
    assert usage.getrusage(resource.RUSAGE_CHILDREN) == resource.getrusage(resource.RUSAGE_CHILDREN)


def test_what_a_script_does_not_name_is_as_it_was(follow):
    for theirs, own in zip(follow("x = perf_counter() + time.time()"), (time, os, resource)):
        assert vars(theirs) == vars(own)


@pytest.mark.parametrize("said", [None, [], [1, 2, 3], [1, 2, 3, 4.0], [1, 2, 3, True], (1, 2, 3, 4), ValueError()])
def test_a_candidate_that_does_not_say_it_fails(follow, said):
    theirs, _, _ = follow("process_time", said)
    with pytest.raises(Refused):
        theirs.process_time()


def test_nobody_has_used_less_than_nothing(follow):
    theirs, _, _ = follow("process_time", [-NS, 0, 0, 0])
    assert 0 <= more(theirs.process_time, time.process_time) < 1
