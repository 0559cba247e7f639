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
from cruxcell.jobs.separated.followed import FOLLOWED
from cruxcell.jobs.separated.state import measured, traced
from script_half import Refused, RefusingLink

NS = 10**9
TOLD = [3000 * NS, 2000 * NS, 500 * NS, 70 * NS]


class Link(RefusingLink):
    """The test's half; `said` is what the candidate says that it has used, and `most` of memory."""

    def __init__(self, said: Any, most: Any) -> None:
        self.said = {"used": said, "most_memory": most}

    def tell(self, operation: str) -> Any:
        return self.said[operation]


@pytest.fixture(name="follow")
def followed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Gives modules of a script, which are copies."""

    def follow(said: Any = TOLD, most: Any = 0) -> tuple[Any, Any, Any]:
        copies = []
        for each in (time, os, resource):
            copies.append(ModuleType(each.__name__))
            vars(copies[-1]).update(vars(each))
            monkeypatch.setitem(sys.modules, each.__name__, copies[-1])
        for have in (measured.follow_clocks, measured.follow_times, measured.follow_usage):
            have(Link(said, most))
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


def test_clocks_of_cpu_time_are_those_of_both(follow):
    theirs, _, _ = follow()
    assert 3000 <= more(theirs.process_time, time.process_time) < 3001
    assert 2000 <= more(theirs.thread_time, time.thread_time) < 2001
    assert 0 <= more(theirs.process_time_ns, time.process_time_ns) - TOLD[0] < NS
    assert 0 <= more(theirs.thread_time_ns, time.thread_time_ns) - TOLD[1] < NS
    for clock, told in ((time.CLOCK_PROCESS_CPUTIME_ID, 3000), (time.CLOCK_THREAD_CPUTIME_ID, 2000)):
        assert told - 0.1 <= more(theirs.clock_gettime, time.clock_gettime, clock) < told + 1
        assert 0 <= more(theirs.clock_gettime_ns, time.clock_gettime_ns, clock) - told * NS < NS
    assert 0 <= more(theirs.clock_gettime, time.clock_gettime, time.CLOCK_MONOTONIC) < 9


def test_times_and_usage_of_the_process_itself(follow):
    _, system, usage = follow()
    own, found = os.times(), system.times()
    assert type(found) is type(own)
    assert [499.9 <= found.user - own.user < 501, 69.9 <= found.system - own.system < 71] == [True, True]
    assert found[2:4] == own[2:4]
    itself, asked = resource.getrusage(resource.RUSAGE_SELF), usage.getrusage(resource.RUSAGE_SELF)
    assert [499.9 <= asked.ru_utime - itself.ru_utime < 501, 69.9 <= asked.ru_stime - itself.ru_stime < 71] == [
        True,
        True,
    ]
    assert asked.ru_maxrss >= itself.ru_maxrss
    assert usage.getrusage(resource.RUSAGE_CHILDREN) == resource.getrusage(resource.RUSAGE_CHILDREN)


@pytest.mark.parametrize(
    ("word", "follow"),
    [
        ("time.process_time()", measured.follow_clocks),
        ("thread_time_ns", measured.follow_clocks),
        ("CLOCK_PROCESS_CPUTIME_ID", measured.follow_clocks),
        ("os.times()[0]", measured.follow_times),
        ("getrusage(0)", measured.follow_usage),
        ("tracemalloc.start", traced.follow_tracing),
    ],
)
def test_each_is_followed_by_a_word_of_its_own(word, follow):
    assert [each for name, each in FOLLOWED.items() if name in word] == [follow]


@pytest.mark.parametrize("said", [None, [], [1, 2, 3], [1, 2, 3, 4.0], [1, 2, 3, True], (1, 2, 3, 4), ValueError()])
def test_a_candidate_that_does_not_say_it_fails(follow, said):
    theirs, _, _ = follow(said)
    with pytest.raises(Refused):
        theirs.process_time()


def test_the_most_memory_is_the_larger_of_two(follow):
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - measured.most_memory(None) in range(-(1 << 16), 1)
    for most in (0, 1 << 40):
        _, _, usage = follow(TOLD, most)
        found, own = usage.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_SELF)
        assert found.ru_maxrss == (most or own.ru_maxrss)
        assert found[3:6] == own[3:6]
    for most in (None, "1", 1.0, True):
        _, _, usage = follow(TOLD, most)
        with pytest.raises(Refused):
            usage.getrusage(resource.RUSAGE_SELF)
        usage.getrusage(resource.RUSAGE_CHILDREN)


def test_nobody_has_used_less_than_nothing(follow):
    theirs, _, _ = follow([-NS, 0, 0, 0])
    assert 0 <= more(theirs.process_time, time.process_time) < 1
