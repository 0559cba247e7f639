"""Questions of several threads: who may send, who serves, and what ends the conversation."""

from __future__ import annotations

import gc
import struct
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.exchange import partners
from cruxcell.jobs.separated.exchange.link import VALUE, Broken
from cruxcell.jobs.separated.exchange.one_thread import QUESTION, RAISED
from cruxcell.jobs.separated.exchange.partners import Partners
from cruxcell.jobs.separated.proxies.facts import now
from cruxcell.protocol import frames
from link_messages import EIGHT, message, text, u32
from support.waiting import until
from threads_of_links import GIVES, WAIT_S, WANTS, Asking, Far, started_ends, two_asking, whole  # noqa: F401 - a fixture among them


def test_a_thread_asks_while_anothers_question_is_open_and_is_answered_first(ends: Any):
    link, far = ends(True)
    first, second = two_asking(link, far)
    far.send(message(VALUE, 2, whole(2)))
    assert second.result() == 2
    far.send(frames.frame([WANTS, bytes(8), bytes(8)]))
    assert far.got()[0] == GIVES
    far.send(message(VALUE, 1, whole(1)))
    assert first.result() == 1


def test_who_wants_the_turn_that_is_under_way_does_not_get_it_twice(ends: Any):
    link, far = ends(True)
    asking = Asking(link)
    assert far.asked() == 1
    far.send(frames.frame([WANTS, bytes(8), bytes(8)]), message(VALUE, 1, EIGHT))  # it has crossed with the question
    assert asking.result() == 8
    link_is_free = Asking(link)
    assert far.asked() == 2  # and no message that gives the turn
    far.send(message(VALUE, 2, EIGHT))
    assert link_is_free.result() == 8


HOSTILE = {
    "an answer to a question that nobody asked": [message(VALUE, 2, EIGHT)],
    "an answer without a value": [message(VALUE, 1)],
    "an answer of no kind": [message(b"?", 1, EIGHT)],
    "a question of nobody": [message(QUESTION, 1, text("names"), b"N")],
    "a question of what is true": [message(QUESTION, 1, b"T", text("names"), b"N")],
    "a question of nothing": [message(QUESTION, 1)],
    "a question of a number below zero": [message(QUESTION, 1, whole(-1), text("names"), b"N")],
    "a question of a number that no thread has": [message(QUESTION, 1, whole(1 << 20), text("names"), b"N")],
    "a question to a thread that waits for nothing": [message(QUESTION, 1, whole(20), text("names"), b"N")],
    "a question out of turn": [message(QUESTION, 2, whole(0), text("names"), b"N")],
    "a wish that says something": [message(WANTS, 0, EIGHT)],
    "a turn with what is no value": [message(GIVES, 0, b"?")],
    "too long": [u32((17 << 20) + 1)],
    "no frame": [u32(0)],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_is_no_message_ends_it_for_all_threads(name: str, ends: Any):
    link, far = ends(True)
    threads = [Asking(link)]
    assert far.asked() == 1
    threads.append(Asking(link))
    assert far.got()[0] == WANTS
    far.send(*HOSTILE[name])
    assert [type(each.result()) for each in threads] == [Broken] * len(threads)
    with pytest.raises(Broken):
        link.ask("names", None)


def test_questions_that_nobody_can_serve_yet_are_bounded(ends: Any):
    link, far = ends(True)
    link.more["wait"] = lambda _target: threading.Event().wait()
    asking = Asking(link)
    assert far.asked() == 1
    wants = frames.frame([WANTS, bytes(8), bytes(8)])
    for number in range(1, 67):  # one is served
        far.send(message(QUESTION, number, whole(1), text("wait"), b"N"), wants)
    assert type(asking.result()) is Broken


def test_a_finalizer_that_asks_just_before_its_thread_waits_lets_no_answer_be_missed(ends: Any, monkeypatch: Any):
    """The answer to the first question comes while the thread asks the second, and waits for the first no more."""
    link, far = ends(True)
    asked_within: list[Any] = []

    def lock() -> Any:
        if not asked_within:
            asked_within.append(None)
            asked_within.append(link.ask("names", None))
        return threading.Lock()

    monkeypatch.setattr(partners, "_lock", lock)
    asking = Asking(link)
    far.answers_two(1, 2)
    assert (asking.result(), asked_within[1]) == (1, 2)


def test_a_thread_has_one_partner_even_while_that_is_busy(ends: Any):
    """A finalizer of a thread that waits asks under the same number."""
    link, far = ends(False)
    serving: list[int] = []
    going_on = threading.Event()

    def wait(_target: object) -> None:
        serving.append(threading.get_ident())
        going_on.wait(WAIT_S)

    link.more["wait"] = wait
    link.more["note"] = lambda _target: serving.append(threading.get_ident())
    threading.Thread(target=link.serve, daemon=True).start()
    for thread in (0, 2):
        going_on.clear()
        number = thread + 1
        far.send(message(QUESTION, number, whole(thread), text("wait"), b"N"))
        far.send(frames.frame([WANTS, bytes(8), bytes(8)]))
        assert far.got()[0] == GIVES
        far.send(message(QUESTION, number + 1, whole(thread), text("note"), b"N"))
        going_on.set()
        kind, answered, _ = far.got()
        while kind != VALUE:
            kind, answered, _ = far.got()
        assert answered == number
        far.send(frames.frame([GIVES, struct.pack("<II", 0, 0), u32(0, 0)]))
        while (kind, answered) != (VALUE, number + 1):
            kind, answered, _ = far.got()
    assert serving[0] == serving[1] != serving[2] == serving[3]


def test_what_has_come_for_a_thread_alone(ends: Any):
    """What another thread was told in between may have been given to that one."""
    link, far = ends(True)
    first, second = two_asking(link, far)
    began = now()
    far.send(message(VALUE, 2, EIGHT), frames.frame([WANTS, bytes(8), bytes(8)]))
    assert second.result() == 8
    assert far.got()[0] == GIVES
    between = now()
    far.send(message(VALUE, 1, EIGHT))
    assert first.result() == 8
    since = link.threads._since[first.ident]
    assert began < since < between


@pytest.mark.parametrize(("is_test", "numbers"), [(True, [2, 4, 6]), (False, [1, 3, 5])])
def test_no_thread_has_the_number_of_another_of_either_end(is_test: bool, numbers: list[int]):
    ends = Partners(SimpleNamespace(is_test=is_test, line=SimpleNamespace(outside=None)))
    assert [ends._free_number() for _ in numbers] == numbers


def test_two_answers_in_one_turn_end_it(ends: Any):
    link, far = ends(True)
    first, second = two_asking(link, far)
    far.send(message(VALUE, 1, EIGHT), message(VALUE, 2, EIGHT))
    assert (first.result(), type(second.result())) == (8, Broken)


def test_a_question_is_served_by_the_partner_of_its_thread(ends: Any):
    link, far = ends(False)
    seen: dict[str, int] = {}

    def note(_target: object, name: str) -> str:
        seen[name] = threading.get_ident()
        return name

    link.more["note"] = note
    main = threading.Thread(target=link.serve, daemon=True)
    main.start()
    for number, (thread, name) in enumerate([(0, "a"), (2, "b"), (4, "c"), (2, "d"), (0, "e")], 1):
        far.send(message(QUESTION, number, whole(thread), text("note"), b"N", text(name)))
        kind, answered, body = far.got()
        assert (kind, answered, body[8:]) == (VALUE, number, text(name))
    assert seen["a"] == seen["e"] == main.ident
    assert seen["b"] == seen["d"] not in (seen["a"], seen["c"])
    assert seen["c"] != seen["a"]


def test_a_thread_is_asked_back_by_its_partner(ends: Any):
    link, far = ends(False)
    serving: list[int] = []

    def back(_target: object) -> Any:
        serving.append(threading.get_ident())
        return link.ask("names", None)

    link.more["back"] = back
    link.more["note"] = lambda _target: serving.append(threading.get_ident())
    threading.Thread(target=link.serve, daemon=True).start()
    far.send(message(QUESTION, 1, whole(2), text("back"), b"N"))
    kind, number, body = far.got()
    assert (kind, number, body[8:13]) == (QUESTION, 1, whole(2))
    far.send(message(QUESTION, 2, whole(2), text("note"), b"N"))
    assert far.got()[:2] == (VALUE, 2)
    far.send(message(VALUE, 1, EIGHT))
    kind, number, body = far.got()
    assert (kind, number, body[8:]) == (VALUE, 1, EIGHT)
    assert len(set(serving)) == 1


@pytest.mark.parametrize("has_room", [True, False])
def test_who_takes_the_place_of_a_thread_that_has_ended_has_a_partner_of_its_own(
    ends: Any, monkeypatch: pytest.MonkeyPatch, has_room: bool
):
    """Where there is room for one. That of the thread that has ended ends, too, and is forgotten."""
    link, far = ends(False)
    local, seen = threading.local(), list[int]()

    def note(_target: object) -> int:
        local.asked = getattr(local, "asked", 0) + 1
        seen.append(threading.current_thread().ident or 0)
        return int(local.asked)

    link.more["note"] = note
    numbers = [2, 2 + partners._PLACES, 2 + partners._PLACES, 2 + 3 * partners._PLACES]
    found = []
    for number, thread in enumerate(numbers, 1):
        far.send(message(QUESTION, number, whole(thread), text("note"), b"N"))
        kind, answered, body = far.got()
        assert (kind, answered) == (VALUE, number)
        found.append(int.from_bytes(body[9:], "little"))
        if not has_room:
            monkeypatch.setattr(partners, "_start_new_thread", _fails)
    assert found == ([1, 1, 2, 1] if has_room else [1, 2, 3, 4])
    until(lambda: sorted(each[0] for each in link.threads._numbers.values()) == [0, numbers[-1]])
    of_threading = vars(threading)["_active"]
    until(lambda: [each for each in set(seen) if each in of_threading] == [seen[-1]])
    link.threads._end(Broken("over"))


def _fails(*_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_where_no_thread_can_be_started_for_a_partner_the_question_raises(ends: Any, monkeypatch: pytest.MonkeyPatch):
    link, far = ends(False)
    monkeypatch.setattr(partners, "_start_new_thread", _fails)
    far.send(message(QUESTION, 1, whole(2), text("names"), b"N"))
    assert far.got()[:2] == (RAISED, 1)
    assert Partners(link).begin() is False


def test_no_garbage_is_collected_while_a_thread_has_the_line(ends: Any):
    """A finalizer that asked would be in the midst of what the thread does."""
    link, far = ends(True)
    with link.line:
        assert not gc.isenabled()
        with link.line:
            assert link.line.outside(gc.isenabled)
        assert not gc.isenabled()
    assert gc.isenabled()
    with link.line:
        link.line.outside(gc.disable)
    assert not gc.isenabled()  # as the script has set it meanwhile
    with link.line:
        link.line.extend_outside(within := [], (gc.isenabled() for _ in range(1)))
    assert (within, gc.isenabled()) == ([False], False)
    gc.enable()
    with link.line:
        link.line.extend_outside(within, (gc.isenabled() for _ in range(1)))
        assert (within, gc.isenabled()) == ([False, True], False)
    assert gc.isenabled()
    asking = Asking(link)
    assert far.asked() == 1
    until(gc.isenabled, WAIT_S)  # all threads wait
    far.send(message(VALUE, 1, EIGHT))
    assert asking.result() == 8
    until(gc.isenabled, WAIT_S)


def test_a_finalizer_in_the_thread_that_reads_leaves_nothing_that_has_come(ends: Any, monkeypatch: Any):
    """What came with its answer has been looked for already."""
    link, far = ends(True)
    asked: list[Any] = []
    take = Partners._take

    def taken(this: Partners) -> bool:
        has_come = take(this)
        if not has_come and not asked:
            asked.append(None)
            asked[:] = [link.ask("names", None)]
        return has_come

    monkeypatch.setattr(Partners, "_take", taken)
    asking = Asking(link)
    far.answers_two(2, 1)
    assert (asking.result(), asked) == (1, [2])


def test_nothing_that_the_other_end_says_is_heard_before_it_is_asked(ends: Any):
    link, far = ends(True)
    far.send(message(VALUE, 1, EIGHT))
    time.sleep(0.05)
    assert link.threads._over is None
    assert link.ask("names", None) == 8


def test_a_thread_of_the_test_is_asked_back(ends: Any):
    link, far = ends(True)
    served: list[int] = []
    link.more["note"] = lambda _target: served.append(threading.get_ident())
    asking = Asking(link)
    kind, number, body = far.got()
    assert (kind, number) == (QUESTION, 1)
    far.send(message(QUESTION, 1, body[8:13], text("note"), b"N"))
    assert far.got()[:2] == (VALUE, 1)
    far.send(message(VALUE, 1, EIGHT))
    assert (asking.result(), served) == (8, [asking.ident])


def test_the_test_hears_while_its_first_thread_rests_and_no_longer(ends: Any):
    link, far = ends(True)
    far.send(frames.frame([WANTS, bytes(8), bytes(8)]))
    time.sleep(0.05)
    assert link.threads._has_turn

    def wait() -> str:
        assert link.threads.depth() == 0
        assert far.got()[0] == GIVES
        return "waited"

    assert link.threads.may_rest()
    assert link.threads.rest(wait) == "waited"
    assert link.threads._resting == 0
    until(lambda: not link.threads._has_turn)
    far.send(frames.frame([GIVES, bytes(8), bytes(8)]))
    time.sleep(0.05)
    assert not link.threads._has_turn  # it has come, and nobody reads it
    asking = Asking(link)
    assert far.asked() == 1
    far.send(message(VALUE, 1, whole(4)))
    assert asking.result() == 4


def test_a_thread_that_is_not_the_first_rests_not_nor_one_that_serves(ends: Any):
    link, _ = ends(True)
    found: list[bool] = []
    other = threading.Thread(target=lambda: found.append(link.threads.may_rest()))
    other.start()
    other.join()
    numbers = link.threads._numbers[threading.get_ident()]
    numbers.append(0)
    assert (found, link.threads.may_rest()) == ([False], False)
    numbers.pop()
