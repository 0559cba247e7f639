"""What one half does for its threads, each step by itself: the link is played, and no other thread takes part."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.exchange import partners
from cruxcell.jobs.separated.exchange.link import VALUE
from cruxcell.jobs.separated.exchange.one_thread import QUESTION
from cruxcell.jobs.separated.exchange.partners import Partners
from cruxcell.protocol.frames import FrameError

ME, NOBODY = threading.get_ident(), -1


class Link:
    """It notes what is done; nothing may wait."""

    def __init__(self, is_test: bool) -> None:
        self.is_test, self.done = is_test, list[Any]()
        self.line = SimpleNamespace(outside=lambda *_: pytest.fail("it waits"))
        self.objects = SimpleNamespace(placing=SimpleNamespace(waiting=[]))
        self.place: Callable[[], Any] = lambda: self.done.append("placed")

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def send(self, kind: bytes, number: int, values: list[Any]) -> int:
        self.done.append((kind, values))
        return number or 5


@pytest.fixture
def link() -> Link:
    return Link(True)


@pytest.fixture
def half(link: Link) -> Any:
    return Partners(link)  # type: ignore[arg-type]


def entry(thread: int = 2) -> Any:
    """Of a thread that waits."""
    lock = threading.Lock()
    lock.acquire()
    return lock, thread, 0


def test_only_a_question_of_this_half_is_open_when_it_is_sent(half: Any):
    assert half.send(VALUE, 3, [8]) == 3
    assert half._open == {}
    half._has_turn = True
    assert half.send(QUESTION, 0, [4, "names"]) == 5
    assert (half._open, half._has_turn) == ({5: 4}, False)


def test_who_finds_that_a_finalizer_has_sent_in_its_turn_waits_for_the_next(half: Any, link: Link):
    sent, has_had_it = half._sent, list[bool]()

    def within(*message: Any) -> Any:
        if not has_had_it:
            has_had_it.append(True)
            half._has_turn = False
            found = sent(*message)
            assert found is None
            half._has_turn = True
            return None
        return sent(*message)

    half._sent = within
    assert half.send(VALUE, 3, [8]) == 3
    assert link.done == [(VALUE, [8])]


@pytest.mark.parametrize("waits", [True, False])
def test_the_turn_is_wanted_once_and_by_whoever_still_waits_for_it(half: Any, link: Link, waits: bool):
    half._queue = [entry()] if waits else []
    half.send(VALUE, 3, [8])
    assert link.done == [(VALUE, [8]), *[partners._WANTS] * waits]
    half._want()
    half._want()
    assert link.done.count(partners._WANTS) == 1


@pytest.mark.parametrize(("has_turn", "is_woken"), [(True, True), (False, False)])
def test_the_next_is_woken_if_the_turn_is_there(half: Any, has_turn: bool, is_woken: bool):
    waiting = entry()
    half._queue, half._has_turn = [waiting], has_turn
    half._wake_next()
    assert (half._queue, waiting[0].locked()) == ([] if is_woken else [waiting], not is_woken)


def test_it_is_noted_since_when_nothing_came_for_another_thread(half: Any):
    for thread in (2, 2, 4):
        half._note(thread)
    last = half._last[1]
    half._note(4)
    half._note(4)
    first_of_these = half._alone_since
    assert half._last[1] > last > first_of_these > 0


def test_a_thread_asks_under_the_number_of_who_asked_what_it_is_doing():
    half: Any = Partners(Link(True))  # type: ignore[arg-type]
    half._numbers[ME] = [8, 5]
    assert half._number() == 5


@pytest.mark.parametrize(("is_test", "number", "then"), [(True, 4, 2), (False, 3, 1)])
def test_the_place_of_a_thread_that_has_ended_is_taken_again_if_it_is_of_this_half(
    is_test: bool, number: int, then: int
):
    half: Any = Partners(Link(is_test))  # type: ignore[arg-type]
    half._numbers.update({NOBODY: [number], ME: [8]})
    half._questions[number] = []
    assert [half._free_number(), half._free_number()] == [number + partners._PLACES, then]
    assert half._questions == {}
    half._numbers[NOBODY] = [number + partners._PLACES]
    assert half._free_number() == number + 2 * partners._PLACES, "who has had a number may still be answered"
    half._numbers[NOBODY] = [number ^ 1]
    assert half._free_number() == then + 2
    assert half._numbers == {ME: [8]}


def test_who_runs_at_the_address_of_a_thread_that_has_ended_is_another_thread(half: Any):
    half._numbers[ME] = [4]
    half._own = threading.local()
    assert [half._number(), half._number()] == [4 + partners._PLACES] * 2
    assert half._numbers == {ME: [4 + partners._PLACES]}


@pytest.mark.parametrize(("is_test", "of_the_other"), [(True, {1, 3}), (False, {0, 2})])
def test_the_partners_are_the_threads_that_serve_those_of_the_other_half(is_test: bool, of_the_other: set[int]):
    half: Any = Partners(Link(is_test))  # type: ignore[arg-type]
    half._numbers = {each: [each, each ^ 1] for each in range(4)}
    assert half.partners() == of_the_other


@pytest.mark.parametrize("values", [[], ["1"], [True], [-1], [(partners._PLACES << 24) + 1]])
def test_a_question_of_no_thread_that_there_can_be_has_no_partner(half: Any, values: list[Any], monkeypatch: Any):
    monkeypatch.setattr(partners, "_start_new_thread", lambda *_: pytest.fail("it is served"))
    with pytest.raises(FrameError, match="a question of nobody"):
        half._sort(1, values)
    assert half._questions == {}


def test_a_question_that_has_come_just_before_its_thread_waits_is_seen(half: Any, monkeypatch: pytest.MonkeyPatch):
    def lock() -> Any:
        half._questions[2].append((1, ["names"]))
        return threading.Lock()

    monkeypatch.setattr(partners, "_lock", lock)
    half._serve_or_wait(2, 0, lambda: False)
    assert (half._idle, half._questions) == ([], {2: [(1, ["names"])]})


@pytest.mark.parametrize("is_woken", [True, False])
def test_who_need_not_wait_is_among_those_no_more(half: Any, is_woken: bool):
    among: list[Any] = []

    def has_come() -> bool:
        if is_woken:
            among.clear()
        return True

    half._wait(among, (threading.Lock(), 2, 0), has_come)
    assert among == []


def test_nobody_waits_where_all_is_over_meanwhile(half: Any):
    def has_come() -> bool:
        half._over = RuntimeError()
        return False

    half._wait([], (threading.Lock(), 2, 0), has_come)
    with pytest.raises(RuntimeError):
        half._wait([], (threading.Lock(), 2, 0), lambda: False)


def test_a_finalizer_in_the_reader_takes_what_has_come_whole_and_waits_for_no_more(half: Any):
    taken = [True, True, False]
    half._take = lambda: taken.pop(0)
    half._read_within()  # the link has nothing to read from
    assert taken == []


# ---- places ----------------------------------------------------------------------------------------------------------


def test_what_waits_for_its_place_gets_it_once_and_who_waited_for_that_goes_on(half: Any, link: Link):
    waiting = entry()
    half._idle = [waiting]
    half._place(0)
    assert (link.done, half._idle) == ([], [waiting])
    link.objects.placing.waiting = [1]

    def place() -> None:
        link.done.append(half._is_placing)
        half._place(0)

    link.place = place
    half._place(0)
    assert (link.done, half._idle, half._is_placing, waiting[0].locked()) == ([ME], [], 0, False)


def test_while_another_thread_gives_places_this_one_serves_or_waits(half: Any, link: Link):
    link.objects.placing.waiting = [1]
    half._is_placing = NOBODY

    def wait(thread: int, number: int, is_over: Callable[[], bool]) -> None:
        link.done.append((thread, number, is_over()))
        half._is_placing = 0
        link.done.append(is_over())

    half._serve_or_wait = wait
    half._place(2)
    assert link.done == [(2, 0, False), True, "placed"]
