"""One end of the connection of a pair, in this process: what it takes for an answer, a question, or the end."""

from __future__ import annotations

import gc
import inspect
import os
import struct
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.exchange import link as links
from cruxcell.jobs.separated.exchange.link import QUIET, TOO_LARGE, VALUE, Broken, Link, Unsent
from cruxcell.jobs.separated.exchange.one_thread import QUESTION, RAISED
from cruxcell.protocol import frames
from cruxcell.values.canonical import TooLarge
from link_messages import EIGHT, LEN, Other, end, message, other_end, text, u32  # noqa: F401 - a fixture among them

NO_ANSWERS = {
    "to another question": message(VALUE, 2, EIGHT),
    "of no kind": message(b"?", 1, EIGHT),
    "no value": message(VALUE, 1),
    "two values": message(VALUE, 1, EIGHT, EIGHT),
    "an exception that is a number": message(RAISED, 1, EIGHT),
    "bytes behind it": frames.frame([VALUE, u32(1, 0), u32(0, 1) + EIGHT + b"N"]),
    "two fields": frames.frame([VALUE, u32(1, 0)]),
    "four fields": frames.frame([VALUE, u32(1, 0), u32(0, 1) + EIGHT, b""]),
    "half a head": frames.frame([VALUE, u32(1), u32(0, 1) + EIGHT]),
    "a head and a half": frames.frame([VALUE, u32(1, 0) + b"\0\0", u32(0, 1) + EIGHT]),
    "a change of what nobody knows": message(VALUE, 1, EIGHT, changed=u32(1, 100, 0)),
    "too long": u32((17 << 20) + 1),
    "cut off": message(VALUE, 1, EIGHT)[:-1],
    "a kind of two letters": frames.frame([VALUE * 2, u32(1, 0), u32(0, 1) + EIGHT]),
    "a body longer than it says": u32(13 + 8 + 14, 1) + VALUE + u32(8, 1, 0, 13) + u32(0, 1) + EIGHT + b"N",
    "a head longer than its frame": u32(13 + 8 + 13, 1) + VALUE + u32(4000, 1, 0, 13) + u32(0, 1) + EIGHT,
    "an empty frame": u32(0),
    "a question out of turn": message(QUESTION, 2, text("names"), b"N"),
    "a question before it, out of turn": message(QUESTION, 0, text("names"), b"N"),
}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_whatever_is_no_answer_ends_the_conversation(name: str, other: Other):
    other.send(NO_ANSWERS[name])
    with pytest.raises(Broken, match="out of turn" if "out of turn" in name else ""):
        end().ask("names", None)


def test_an_answer_is_one_value_or_exception(other: Other):
    link = end()
    error = b"X" + u32(1) + b"G" + text("builtins") + text("ValueError") + text("no") + b"j" + u32(0) + b"NNNN"
    other.send(
        message(VALUE, 1, EIGHT),
        message(TOO_LARGE, 2, text("no")),
        message(VALUE, 3, EIGHT, gone=u32(1, 7, 9)),
        last=False,
    )
    assert link.ask("names", None) == 8
    assert link.exchange("names", [None]) == (TOO_LARGE, "no")
    assert link.ask("names", None) == 8
    assert [record[0] for record in other.got()] == [QUESTION] * 3
    other.send(message(RAISED, 4, error))
    with pytest.raises(ValueError, match="no"):
        link.ask("names", None)


@pytest.mark.parametrize("kind", [VALUE, RAISED])
def test_what_a_function_of_the_other_end_raises_is_raised(kind: bytes, monkeypatch: pytest.MonkeyPatch):
    link, said = end(), KeyError("x")
    monkeypatch.setattr(link, "exchange", lambda *_: (kind, said))
    if kind == VALUE:
        assert link.call(len, (), {}) is said  # one may be returned
    else:
        with pytest.raises(KeyError):
            link.call(len, (), {})


@pytest.mark.parametrize("begins", [True, False])
def test_threads_of_the_other_end_are_served_where_one_can_be_started(begins: bool, monkeypatch: pytest.MonkeyPatch):
    made = SimpleNamespace(begin=lambda: begins)
    monkeypatch.setattr(links, "Partners", lambda _link: made)
    link = end()
    before = link.threads
    assert link.share() is begins
    assert link.threads is (made if begins else before)


def test_questions_are_answered_while_one_waits(other: Other):
    link = end(permits=lambda operation, *_: operation == "call")
    other.send(
        message(QUESTION, 1, text("call"), LEN, text(""), text("abc")),
        message(QUESTION, 2, text("get"), text("abc"), text("upper")),
        message(QUESTION, 3, text("call"), LEN, text("")),
        message(VALUE, 1, EIGHT),
    )
    assert link.ask("names", None) == 8
    said = other.got()
    assert [record[0] for record in said] == [QUESTION, VALUE, RAISED, RAISED]
    assert said[1][2] == u32(0, 1) + b"j" + u32(3)
    assert b"a candidate may not get upper of the test" in said[2][2]
    assert [struct.unpack("<I", record[1][:4])[0] for record in said] == [1, 1, 2, 3]


def test_what_is_asked_for_is_done(other: Other):
    link = end(is_test=False)
    link.more["twice"] = lambda target, more: [target, more]
    answered: list[int] = []
    link.before_answer = lambda: answered.append(1)
    plain = b"l" + u32(100, 0)
    other.send(
        message(QUESTION, 1, text("call"), b"G" + text("builtins") + text("dict"), text("a\0b"), EIGHT, text("x")),
        message(QUESTION, 2, text("special"), text("ab"), text("__getitem__"), b"j" + u32(1)),
        message(QUESTION, 3, text("get"), text("ab"), text("no")),
        message(QUESTION, 4, text("twice"), plain, EIGHT),
        message(VALUE, 5, EIGHT),
        message(QUESTION, 5, text("twice"), plain, EIGHT),
    )
    link.serve()
    said = other.got()
    assert [record[0] for record in said] == [VALUE, VALUE, RAISED, VALUE]
    assert (len(answered), text("b") in said[1][2], text("x") in said[0][2]) == (4, True, True)
    assert b"AttributeError" in said[2][2]


def test_it_serves_until_the_other_end_hangs_up_or_says_nonsense(other: Other):
    link = end(is_test=False)
    other.send(message(QUESTION, 2, text("get"), text("ab"), text("upper")))
    link.serve()
    assert other.got() == []
    link.serve()


@pytest.mark.parametrize(("kind", "answers"), [(QUESTION, 1), (VALUE, 0), (RAISED, 0)])
def test_what_is_no_question_is_not_answered(kind: bytes, answers: int, other: Other):
    other.send(message(kind, 1, text("special"), text("ab"), text("__len__")))
    end(is_test=False).serve()
    assert len(other.got()) == answers


def test_half_a_head_is_nonsense(other: Other):
    other.send(frames.frame([QUESTION, u32(1), u32(0, 2) + text("names") + b"N"]))
    end(is_test=False).serve()


@pytest.mark.parametrize("size", [links._LARGE - 14, links._LARGE - 13, 1 << 20])
def test_what_is_large_crosses_as_what_is_small(size: int, other: Other):
    """`size`: of a text whose message is one byte below what is written apart, at that, and far above."""
    long = text("a" * size)
    asked = message(QUESTION, 1, long)
    got = bytearray()

    def answer() -> None:
        while len(got) < len(asked):
            got.extend(other.line.recv(len(asked) - len(got)))
        other.send(message(VALUE, 1, long), message(VALUE, 2, EIGHT), last=False)

    answering = threading.Thread(target=answer)
    answering.start()
    link = end()
    assert link.ask("a" * size) == "a" * size
    answering.join()
    assert (got, link.ask("names")) == (asked, 8)


def test_what_memory_does_not_hold_is_not_sent_either(other: Other, monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object) -> None:
        raise MemoryError

    link = end()
    monkeypatch.setattr(link, "_written", fails)
    with pytest.raises(Unsent, match="MemoryError"):
        link.ask("names", None)


def test_a_finalizer_asks_before_or_after_a_question_never_within(other: Other):
    class Last:
        def __init__(self, link: Link) -> None:
            self.link, self.circle = link, self

        def __del__(self) -> None:
            self.link.ask("call", len)

    before = gc.get_threshold()
    gc.freeze()  # else each collection looks through all that the tests hold
    try:
        for threshold in range(1, 60):
            link = end()
            gc.collect()
            gc.disable()
            other.send(message(VALUE, 1, EIGHT), message(VALUE, 2, EIGHT), last=False)
            Last(link)
            gc.set_threshold(threshold, 0, 0)
            gc.enable()
            assert link.ask("call", len, "", [[], [[]]]) == 8
            assert gc.isenabled()
            gc.collect()
            assert [u32(n) for n in (1, 2)] == [head[:4] for _, head, _ in other.got()]
    finally:
        gc.enable()
        gc.set_threshold(*before)
        gc.unfreeze()


def test_garbage_is_collected_again_only_where_it_was(other: Other):
    link = end()
    other.send(message(VALUE, 1, EIGHT), message(VALUE, 2, EIGHT))
    assert (link.ask("names"), gc.isenabled()) == (8, True)
    gc.disable()
    try:
        assert (link.ask("names"), gc.isenabled()) == (8, False)
    finally:
        gc.enable()


def test_nothing_is_asked_while_a_message_is_written(other: Other, monkeypatch: pytest.MonkeyPatch):
    link, inner = end(), list[BaseException]()

    def written(_values: object) -> bytes:
        try:
            link.ask("call", len)
        except RuntimeError as error:
            inner.append(error)
        return u32(0, 0)

    monkeypatch.setattr(link, "_written", written)
    other.send(message(VALUE, 1, EIGHT))
    assert link.ask("names") == 8
    assert ([str(each) for each in inner], len(other.got())) == (["nothing is asked while a message is written"], 1)


def test_what_is_too_large_is_not_sent(other: Other, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(TooLarge):
        end()._written([bytes(16 << 20)])
    monkeypatch.setattr(links, "MAX_MESSAGE", 100)
    link = end()
    kept = ["x" * 200]
    with pytest.raises(Unsent, match="the value"):
        link.ask("names", kept)
    assert (other.got(), link.containers.entries) == ([], {})
    link.more["much"] = lambda _target: "x" * 200
    other.send(message(QUESTION, 1, text("much"), b"N"), message(VALUE, 2, EIGHT))
    assert link.ask("names", None) == 8
    assert [record[0] for record in other.got()] == [QUESTION, TOO_LARGE]


@pytest.mark.parametrize(
    ("operation", "raises", "news", "kind"),
    [("special", False, False, QUIET), ("special", False, True, VALUE), ("special", True, False, RAISED),
     ("special", False, None, VALUE), ("much", False, False, VALUE)],
)  # fmt: skip
def test_an_answer_says_that_there_is_nothing_beside_it(
    other: Other, operation: str, raises: bool, news: bool | None, kind: bytes
):
    link = end()
    link._permits = None
    link.more["much"] = lambda *_: 8
    link._run = lambda *_: (1 // 0) if raises else 8
    link.has_news = None if news is None else lambda: bool(news)
    other.send(message(QUESTION, 1, text(operation), b"N", text("__len__")), message(QUIET, 1, EIGHT))
    assert link.exchange("names", [None]) == (QUIET, 8)
    assert [record[0] for record in other.got()] == [QUESTION, kind]


@pytest.mark.parametrize("size", [0, 13, 20, 24, 30])
def test_what_is_shorter_than_a_head_or_its_body_is_no_message(size: int):
    data = message(VALUE, 1, EIGHT)
    with pytest.raises(Broken, match="not a message"):
        links._places(data[:size])


@pytest.mark.parametrize(("at", "number"), [(4, 2), (9, 9), (9, 1 << 20), (21, 12)])
def test_a_frame_whose_fields_do_not_add_up_is_no_message(at: int, number: int):
    data = message(VALUE, 1, EIGHT)
    assert links._places(data)[:2] == (VALUE, 1)
    with pytest.raises(Broken, match="not a message"):
        links._places(data[:at] + u32(number) + data[at + 4 :])


def test_whatever_ends_an_exchange_breaks_the_connection(monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object) -> None:
        raise KeyError("x")

    link, over = end(), Broken("over")
    monkeypatch.setattr(link.threads, "exchange", fails)
    with pytest.raises(Broken, match="KeyError: 'x'"):
        link.ask("names", None)
    assert link.broken(over) is over


def with_frames(left: int, function: Callable[[], Any]) -> Any:
    """`function()` with about so many frames of Python more."""
    sys.setrecursionlimit(1000)  # as that of a worker

    def deeper(count: int) -> Any:
        return deeper(count - 1) if count else function()

    return deeper(1000 - left - len(inspect.stack(0)))


def test_the_deepest_value_crosses_however_deep_the_caller_is(other: Other):
    link, deepest = end(), list[Any]()
    for _ in range(98):
        deepest = [deepest]
    body = end(is_test=False)._written([deepest])
    limit = sys.getrecursionlimit()
    try:
        assert with_frames(60, lambda: link.send(VALUE, 1, [deepest])) == 1
        other.send(frames.frame([VALUE, u32(2, 0), body]))
        kind, _, values = with_frames(60, link.receive)
    finally:
        sys.setrecursionlimit(limit)
    assert (kind, len(values), len(other.got())) == (VALUE, 1, 1)


def test_so_many_questions_are_open_at_a_time(other: Other):
    link = end()
    other.send()  # else who asks waits for ever
    link.threads._open = links.MAX_NESTED
    with pytest.raises(RecursionError, match="more than"):
        link.ask("names", None)
    link.threads._open = links.MAX_NESTED + 1
    with pytest.raises(Broken, match="too many"):
        link.answer(1, ["names", None])
    assert other.got() == []


def in_a_thread(function: Any, *arguments: Any) -> list[Any]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function(*arguments)))
    thread.start()
    thread.join(5)
    return found


def test_what_may_end_an_iteration_is_said_for_the_next_question_of_a_thread():
    link = end()
    link.may_end(StopIteration)
    assert in_a_thread(link.ends) == [()]
    assert (link.ends(), link.ends()) == (StopIteration, ())


@pytest.mark.parametrize("is_test", [True, False])
def test_only_the_candidate_forgets_by_itself_and_keeps_no_trace(is_test: bool, other: Other):
    link, kept = end(is_test), []

    def fail(_target: object) -> None:
        error = ValueError()
        kept.append(error)
        raise error

    link.more["fail"] = fail
    link.more["new"] = lambda _target: [1]
    other.send(*[message(QUESTION, at, text("new" if at < 3 else "fail"), b"N") for at in range(1, 4)])
    link.serve()
    heads = [struct.unpack(f"<{len(record[1]) // 4}I", record[1]) for record in other.got()]
    assert [head[1] for head in heads] == ([0, 0, 0] if is_test else [1, 1, 0])
    assert [len(head) - 2 for head in heads] == [head[1] for head in heads]  # and which they are
    assert (kept[0].__traceback__ is None) is not is_test


def test_what_the_other_end_lets_go_of_is_released(other: Other):
    link = end()
    number = link.objects.shown.show(kept := object())
    value = [1]
    container = link.containers.add(value)
    other.send(message(VALUE, 1, EIGHT, gone=u32(1, container, number)))
    link.objects.held.dead = dict.fromkeys([9])
    link.ask("names", None)
    assert (kept in link.objects.shown, container in link.containers.entries) == (False, False)
    assert [head for _, head, _ in other.got()] == [u32(1, 0, 9)]  # and so it is told what this half lets go of


def test_a_connection_that_is_closed_is_the_end(other: Other, monkeypatch: pytest.MonkeyPatch):
    reading, writing = os.pipe()
    os.close(writing)
    monkeypatch.setattr(links, "CHANNEL", reading)
    with pytest.raises(Broken):
        end().ask("names", None)
    os.close(reading)
