"""What the test's half of a separated script makes of an answer, and of streams that the script puts in their place."""

from __future__ import annotations

import builtins
import contextlib
import enum
import functools
import io
import sys
from collections.abc import Generator, Iterator
from threading import get_ident
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated import permissions, remote, runs, script_link, steady
from cruxcell.jobs.separated import test as test_worker
from cruxcell.jobs.separated.equality import Notes
from cruxcell.jobs.separated.link import TOO_LARGE, VALUE, Broken, Link, Unsent
from cruxcell.jobs.separated.proxy_classes import make_class
from cruxcell.jobs.separated.script_link import ScriptLink
from cruxcell.protocol import frames, messages, records
from cruxcell.protocol.payloads import TEST_FLAGS, UNREAD

RAISED = b"e"


class Left(Exception):
    """The script is ended; with its reason."""


class Context:
    """Of a worker; what it sends stands in `sent`."""

    def __init__(self) -> None:
        self.stdout, self.stderr = sys.stdout, sys.stderr
        self.helper = SimpleNamespace(hear=None)
        self.sent: list[bytes] = []
        self.said: list[list[bytes]] = []

    def send(self, record: bytes) -> None:
        self.said += frames.split(record)[0]
        self.sent.append(self.said[-1][0])

    def send_raised(self, error: BaseException, flags: int = 0) -> None:
        self.sent.append(type(error).__name__.encode())

    def refuse(self, sentence: str) -> None:
        self.sent.append(sentence.encode())

    def start(self, kind: bytes, between: int) -> None:
        pass

    def numbers(self, flags: int = 0) -> bytes:
        return records.NUMBERS.pack(0, 0, 0, 0, flags)

    def output(self) -> tuple[bytes, bytes]:
        return b"", b""


class Half(ScriptLink):
    """The test's half; `answers` says what the candidate answers, the next one of a list."""

    def __init__(self, **program: Any) -> None:
        ScriptLink.__init__(self, Context(), dict(program))  # type: ignore[arg-type]
        self.answers: dict[str, Any] = {}
        self.asked: list[Any] = []
        self.namespace = self._namespace

    def _leave(self, kind: bytes, text: str) -> None:
        raise Left(kind)


def answer(half: Half, operation: str, fields: list[Any]) -> tuple[bytes, Any]:
    half.asked.append((operation, *fields[1:]))
    found = half.answers.get(operation, (VALUE, None))
    found = found.pop(0) if isinstance(found, list) else found
    if isinstance(found, Exception):
        raise found
    return found if isinstance(found, tuple) else (VALUE, found)


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> Iterator[Half]:
    before = list(runs.connection)
    monkeypatch.setattr(Link, "exchange", answer)
    yield Half()
    runs.connection[:] = before


def thing() -> Any:
    """An object of the candidate."""
    made = object.__new__(make_class("A", 1, (), [], [], None))
    remote.give_number(made, 1)
    return made


def test_an_answer_that_is_too_large_or_none_ends_the_script(half: Half):
    for said, end in [((TOO_LARGE, "the value"), messages.NOT_PLAIN), (Broken(), messages.CANDIDATE_GONE)]:
        half.answers["call"] = said
        with pytest.raises(Left) as info:
            half.ask("call", None)
        assert info.value.args == (end,)


def callable_thing() -> Any:
    """A function of the candidate."""
    made = object.__new__(make_class("function", 1, (), ["__call__"], [], None))
    remote.give_number(made, 1)
    return made


class Later:
    def __await__(self) -> Generator[None, None, bool]:
        return True
        yield


async def in_stack(put: str, what: Any) -> bool:
    try:
        async with contextlib.AsyncExitStack() as stack:
            getattr(stack, put)(what)
            raise AssertionError("8 is expected")
    except AssertionError:
        return False
    return True


def in_block(manager: Any) -> bool:
    try:
        with manager:
            raise AssertionError("8 is expected")
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("is_own", [True, False])
def test_a_function_that_is_an_exit_deals_with_what_the_script_raises_itself(
    half: Half, monkeypatch: pytest.MonkeyPatch, is_own: bool
):
    monkeypatch.setattr(half, "made_by_itself", lambda _error, _traceback: is_own)
    half.answers["call"] = True
    own = type("Own", (), {"__enter__": lambda self: self, "__exit__": callable_thing()})
    stack = contextlib.ExitStack()
    stack.push(callable_thing())
    assert [in_block(own()), in_block(stack)] == [is_own, is_own]
    for put, answers in [("push", True), ("push", Later()), ("push_async_exit", Later())]:
        half.answers["call"] = answers
        with pytest.raises(StopIteration) as info:
            in_stack(put, callable_thing()).send(None)
        assert info.value.value is (is_own and not (put == "push" and answers is not True))
    kinds = {(each[0], each[2], str(each[3]), each[4]) for each in half.asked}
    assert kinds == {("call", AssertionError, "", None)}  # nothing of what is expected
    half.answers["call"], error = 8, ValueError("a")
    assert callable_thing()(ValueError, error, None) == 8
    assert half.asked[-1][2:] == (ValueError, error, None)


def test_objects_that_hold_more_than_may_cross_are_equal_to_none(half: Half):
    half.answers["states"] = TOO_LARGE, "the value"
    assert half.ask("states", None, thing()) == "the value"


def test_what_was_noted_holds_until_the_candidate_goes_on(half: Half):
    class_of_program = make_class("P", 1, (), ["__eq__"], [], None)
    half.namespace["P"], half._names._of_classes = class_of_program, ("P",)
    result = object.__new__(class_of_program)
    remote.give_number(result, 7)
    half.objects.held.present = lambda with_values=False: [result]  # type: ignore[method-assign]
    half.answers["states"] = [[{"x": each}] for each in range(4)]

    def held() -> object:
        class_of_program(1)
        return half.notes.held(half, result)[0]

    assert [held(), held()] == [{"x": 0}, {"x": 0}]
    half.ask("get", result, "x")
    assert held() == {"x": 1}
    half.threads._open = 1  # in a function that the candidate calls, whose notes end with it
    half.ask("get", result, "x")
    assert held() == {"x": 1}
    half.notes.forget_from(0)
    assert held() == {"x": 2}
    assert half.before_answer is not None
    half.before_answer()
    half.threads._open = 0
    assert held() == {"x": 3}


@pytest.mark.parametrize(
    ("before", "end"),
    [
        ([], messages.CANNOT_CROSS),
        (["names", "look"], messages.CANNOT_CROSS),
        (["names", "look", "call"], messages.NOT_PLAIN),
        (["get", "names", "look"], messages.NOT_PLAIN),
    ],
)
def test_what_is_too_large_is_the_candidate_s_doing_once_it_has_answered(half: Half, before: list[str], end: bytes):
    for operation in before:
        half.ask(operation, None)
    half.answers["call"] = Unsent()
    with pytest.raises(Left) as info:
        half.ask("call", None)
    assert info.value.args == (end,)


def test_what_it_returns_is_not_what_it_raises(half: Half):
    for error in (StopIteration(), SystemExit(0)):
        half.answers["call"] = (VALUE, error)
        assert half.exchange("call", [None]) == (VALUE, error)
        assert error.__dict__ == {}
    half.answers["call"] = (RAISED, StopIteration())
    for end in (StopIteration(), StopAsyncIteration(), GeneratorExit()):
        half.answers["call"] = (RAISED, end)
        with pytest.raises(BaseException, match=f"the candidate raised {type(end).__name__}") as info:
            half.ask("call", None)
        assert (isinstance(info.value, Exception), isinstance(info.value, RuntimeError)) == (
            isinstance(end, Exception),
            False,
        )
    half.answers["special"] = (RAISED, StopIteration())
    with pytest.raises(StopIteration):
        half.ask("special", None, "__next__")
    half.answers["call"] = (RAISED, plain := ValueError())
    with pytest.raises(ValueError):
        half.ask("call", None)
    assert plain.__dict__ == {}


def test_a_number_is_asked_for_once_in_a_row(half: Half):
    one = thing()
    half.answers["special"] = [7, (RAISED, TypeError()), 8, 9]
    assert [half.ask("special", one, "__index__") for _ in range(3)] == [7, 7, 7]
    half.ask("call", None)
    assert not any(half._steady._told.values()), "nothing that was returned is kept"
    with pytest.raises(TypeError):
        half.ask("special", one, "__index__")
    assert [half.ask("special", one, "__index__"), half.ask("special", one, "__index__")] == [8, 8]
    assert half.ask("special", one, "__float__") == 9


def test_what_is_printed_goes_to_the_stream_of_that_time(half: Half, monkeypatch: pytest.MonkeyPatch):
    class Stream(io.StringIO):
        wrote: list[Any]

        def write(self, text: Any) -> int:
            self.wrote.append(text)
            return 0

    first, second = Stream(), Stream()
    first.wrote, second.wrote = [], []
    half.ask("call", None)
    assert [each[0] for each in half.asked] == ["call"], "nobody asks for what the worker has anyway"
    monkeypatch.setattr(sys, "stdout", first)
    half.answers["printed"] = ["", "one", "two", "three", "late", "four", "", 8, "inside", "five"]
    half.ask("call", None)
    half.ask("call", None)
    monkeypatch.setattr(sys, "stdout", second)
    half.ask("call", None)  # what the candidate printed in between is for neither
    half.ask("call", None)  # nothing, and what is no text
    assert (first.wrote, second.wrote) == (["one", "two", "three"], ["four"])
    half.threads._open, half.alongside._heard = 1, {"stdout": first}
    half.ask("call", None)  # asked while the candidate asks: until then it printed for the first
    assert (first.wrote[3:], second.wrote[1:], half.alongside._heard) == (["inside"], ["five"], {"stdout": first})


def test_what_is_printed_may_be_a_text_to_run_when_the_stream_gets_it(half: Half, monkeypatch: pytest.MonkeyPatch):
    class Stream(io.StringIO):
        may_run: list[bool]

        def write(self, _text: Any) -> int:
            self.may_run.append(half.may_have_texts())
            return 0

    stream = Stream()
    stream.may_run = []
    monkeypatch.setattr(sys, "stdout", stream)
    half.answers["printed"] = ["", "1 + 1"]
    half.ask("names", None)
    assert (stream.may_run, half.may_have_texts()) == ([True], True)


def test_streams_of_the_script_are_lent_once(half: Half, monkeypatch: pytest.MonkeyPatch):
    stdin, ask = io.StringIO(), lambda: "text"
    for names in [(), ("stdin",), ("stdin", "input"), ("input",), ()]:
        with monkeypatch.context() as patch:
            if "stdin" in names:
                patch.setattr(sys, "stdin", stdin)
            if "input" in names:
                patch.setattr(builtins, "input", ask)
            half.ask("call", None)
            half.ask("call", None)
    lent = [each[1:] for each in half.asked if each[0] == "lend"]
    assert lent == [(stdin, None), (stdin, ask), (None, ask), (None, None)]


ENDS = {
    "": "ENDED",
    "raise SystemExit": "ENDED",
    "raise SystemExit(0)": "ENDED",
    "raise SystemExit(False)": "ENDED",
    "raise SystemExit(1)": "SystemExit",
    "raise SystemExit('')": "SystemExit",
    "raise SystemExit(0.0)": "SystemExit",
    "class Own(SystemExit): pass\nraise Own(0)": "Own",
    "error = SystemExit(0)\nerror._answered = True\nraise error": "SystemExit",
    "assert 1 == 2": "AssertionError",
}


def run(
    half: Half, script: str, framework: str = "", flags: int = 0, context: Any = None, is_rehearsal: bool = True
) -> list[str]:
    context = context or Context()
    text = [each.encode() for each in (script, "f", framework)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptLink, "provide", lambda *_: None)
        patch.setitem(sys.modules, "__main__", sys.modules["__main__"])
        test_worker.run_test(context, [*text, TEST_FLAGS.pack(flags), b"", b"token"], is_rehearsal)
    return [each.decode() for each in context.sent]


@pytest.mark.parametrize("script", ENDS)
def test_a_script_ends_well_by_its_end_or_by_an_exit_of_its_own(half: Half, script: str):
    ended = messages.ENDED.decode()
    assert run(half, script or "pass") == [ended if ENDS[script] == "ENDED" else ENDS[script]]


def test_a_script_that_nobody_has_read_has_to_test_something(half: Half):
    ended = [messages.ENDED.decode()]
    assert [run(half, "pass"), run(half, "assert len('a') == 1", flags=UNREAD)] == [ended, ended]
    (refused,) = run(half, "pass", flags=UNREAD)
    assert refused.startswith("the script: ")


def test_a_script_is_heard_where_no_other_job_follows(half: Half, monkeypatch: pytest.MonkeyPatch):
    begun: list[str] = []
    monkeypatch.setattr(ScriptLink, "begin_partners", lambda _: begun.append("partners"))
    monkeypatch.setattr(test_worker, "Texts", lambda *_: begun.append("texts"))
    assert (run(half, "pass"), begun) == ([messages.ENDED.decode()], [])
    run(half, "pass", is_rehearsal=False)
    assert begun == ["partners", "texts"]


def letters(context: Context) -> list[bytes]:
    """What became of each test of a suite."""
    return [letter for letter, _name, _message in frames.split(context.said[0][1])[0]]


def test_a_suite_runs_once_and_tells_its_tests(half: Half):
    suite = ">>> x = globals().get('x', 0) + 1\n>>> x\n1\n"
    context = Context()
    assert run(half, suite, "doctest", context=context) == [messages.TESTS.decode(), messages.ENDED.decode()]
    assert letters(context) == [messages.TEST_PASSED]
    outside = '"""\n>>> x\n1\n"""\nx = 1\n'  # the script's own code runs first
    context = Context()
    run(half, outside, "doctest", context=context)
    assert letters(context) == [messages.TEST_PASSED]


class Plain:
    """Of the script, say."""

    x, _y = 1, 2

    def __init__(self) -> None:
        self.z = 3


class Name(str):
    pass


def function(n: int) -> int:
    return n


@pytest.mark.parametrize(
    ("operation", "target", "rest", "may"),
    [
        ("call", function, [""], True),
        ("special", Plain(), ["__len__"], True),
        ("copy", Plain(), [True], True),
        ("names", Plain(), [], False),
        ("get", Plain(), ["z"], True),
        ("get", Plain(), ["_y"], False),
        ("get", Plain(), [Name("z")], False),
        ("get", Plain, ["x"], True),
        ("set", Plain(), ["z", 1], True),
        ("set", Plain, ["x", 1], False),
        ("set", Plain(), [Name("z"), 1], False),
        ("del", Plain(), ["z"], True),
        ("del", Plain, ["x"], False),
        ("fields", Plain, [], True),
        ("fields", Plain(), [], False),
        ("fields", function, [], False),
        ("outline", function, [], True),
        ("outline", Plain, [], False),
    ],
)
def test_the_candidate_uses_what_it_was_shown_and_nothing_behind_it(
    half: Half, operation: str, target: Any, rest: list[Any], may: bool
):
    assert not half._may(operation, target, list(rest))
    assert half.has_answered
    half.objects.shown.show(target)
    assert half._may(operation, target, list(rest)) is may


def test_a_mock_holds_plain_data_and_other_objects_what_they_are_given(half: Half):
    color = enum.IntEnum("Color", "RED").RED  # type: ignore[attr-defined]
    for operation, target, kind in [
        ("set", mock.Mock(), int), ("set", Plain(), type(color)), ("call", mock.Mock(), type(color))
    ]:  # fmt: skip
        half.objects.shown.show(target)
        rest = ["z", color]
        assert half._may(operation, target, rest)
        assert type(rest[1]) is kind


def test_what_the_candidate_is_told_of_an_object_leads_nowhere():
    told = Plain()
    told._own = 4  # type: ignore[attr-defined]
    assert permissions.run(getattr, [told, "__dict__"], {}) == {"z": 3}
    assert permissions.run(getattr, [told, "z"], {}) == 3
    assert permissions.run(max, ["a", "__dict__"], {}) == "a"
    assert permissions.run(len, [[1, 2]], {}) == 2
    partial = functools.partial(print, "expected")
    for tells in (repr, str, format):
        assert "expected" not in permissions.run(tells, [partial], {})
        assert permissions.run(tells, [2], {}) == "2"
    assert permissions.run(callable, [partial], {}) is True


def test_whose_hash_was_asked_for_last_is_known_until_it_is_asked_for_more(half: Half):
    one = thing()
    asked = [
        ("special", [one, "__hash__"], 1), ("states", [None, one], 1), ("special", [one, "__eq__", 2], 1),
        ("special", [one, "__len__"], 0), ("special", [one, "__hash__"], 1), ("get", [one, "__hash__"], 0),
    ]  # fmt: skip
    half.answers["special"] = 5
    for operation, fields, known in asked:
        half._note_hashed(operation, fields)
        assert half.hashed == known


def test_examples_of_nobody_count_where_the_script_has_called_something(half: Half):
    half.at_end()
    half.idle.append(1)
    with pytest.raises(Left):
        half.at_end()
    half.ask("get", None, "x")
    with pytest.raises(Left):
        half.at_end()
    half.ask("call", None)
    half.ask("get", None, "x")
    half.at_end()


def test_what_a_mock_hinders_is_not_asked(half: Half, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(half._mocks, "hinder", lambda *_: "why")
    with pytest.raises(Left):
        half.ask("get", None, "called")
    assert half.asked == []


@pytest.mark.parametrize("is_under_way", [True, False])
def test_what_a_harmless_text_is_answered_is_looked_at(half: Half, is_under_way: bool):
    taken: list[Any] = []
    half.texts = SimpleNamespace(is_under_way=lambda: is_under_way, take=taken.append)  # type: ignore[assignment]
    half.answers["call"] = [7, (RAISED, KeyError("x"))]
    half.ask("call", None)
    with pytest.raises(KeyError):
        half.ask("call", None)
    assert taken == ([[7], [None]] if is_under_way else [])


def test_what_the_candidate_changes_may_be_a_text_but_not_the_view_of_its_names(half: Half):
    half.containers.entries.update({1: [half._names.view], 3: [["text"]]})
    half.is_refilled(1)
    assert (half.may_have_texts(), half._refilled) == (False, None)
    half._refilled = []
    half.is_refilled(3)
    assert (half.may_have_texts(), [each[1] for each in half._refilled]) == (True, [3])
    half.is_refilled(1)
    assert half.may_have_texts()


def test_names_that_show_texts_may_be_run_and_files_that_are_not_passed_are_not_opened(half: Half):
    assert not half.may_have_texts()
    half._names.shows_texts = True
    assert half.may_have_texts()
    assert half.may_open("a")
    half.alongside.files = SimpleNamespace(may_be_opened=lambda path, _: path == "b")  # type: ignore[assignment]
    assert [half.may_open("a"), half.may_open("b")] == [False, True]


def test_length_and_truth_are_said_once_for_a_while(half: Half, monkeypatch: pytest.MonkeyPatch):
    one, now, listens, changed = thing(), [10.0], [False], list[int]()
    monkeypatch.setattr(steady, "_monotonic", lambda: now[0])
    monkeypatch.setattr(half.alongside, "listens", lambda: listens[0])
    monkeypatch.setattr(half.alongside, "exchange", lambda *asked: answer(half, *asked))
    monkeypatch.setattr(half.containers, "changed", lambda: changed)
    half.answers["special"] = list(range(20))
    assert [half.ask("special", one, "__len__") for _ in range(3)] == [0, 0, 0]
    now[0] += 0.04
    assert half.ask("special", one, "__len__") == 0
    now[0] += 0.02
    assert half.ask("special", one, "__len__") == 1
    changed.append(1)  # which the object may look at
    assert half.ask("special", one, "__len__") == 2
    changed.clear()
    assert half.ask("special", one, "__len__") == 2
    half.ask("get", one, "x")
    assert half.ask("special", one, "__len__") == 3
    within: list[int] = []

    def calls(*asked: Any) -> tuple[bytes, Any]:  # the candidate calls a function of the script, which asks
        monkeypatch.setattr(half.alongside, "exchange", lambda *asked: answer(half, *asked))
        within.append(half.ask("special", one, "__len__"))
        return answer(half, *asked)

    monkeypatch.setattr(half.alongside, "exchange", calls)
    half.ask("call", None)
    assert within == [4]
    listens[0] = True
    assert [half.ask("special", one, "__len__") for _ in range(2)] == [5, 6]


def test_what_value_it_is_an_object_says_once_in_a_row(half: Half):
    one, other = thing(), thing()
    remote.give_number(other, 2)
    half.answers["get"] = [1, 2, 3, 4, 5, 6, 7]

    def value_of(each: Any) -> Any:
        return half.value_of(each, lambda value: half.ask("get", value, "year"))

    assert [value_of(each) for each in (one, one, other, one)] == [1, 1, 2, 3]
    shared: list[int] = []
    half.containers.add(shared)
    half.containers.settle()
    shared.append(1)
    assert value_of(one) == 4
    half.containers.settle()
    shared.clear()
    half.containers.forget(list(half.containers.entries))
    assert value_of(one) == 4

    def served(value: Any) -> Any:
        half.objects.shown.show(value)
        assert half._may("special", value, ["__len__"])
        return half.ask("get", value, "year")

    half.ask("call", None)
    assert [half.value_of(one, served) for _ in range(2)] == [5, 6]
    assert [remote.fixed_value(one, served) for _ in range(2)] == [7, 7]


def test_a_number_that_an_object_of_the_script_s_says_is_asked_for_again(half: Half, monkeypatch: pytest.MonkeyPatch):
    one = thing()
    half.objects.shown.show(half)

    def meanwhile(*asked: Any) -> tuple[bytes, Any]:
        half._may("get", half, ["number"])
        return answer(half, *asked)

    half.answers["special"] = [1, 2]
    monkeypatch.setattr(half.alongside, "exchange", meanwhile)
    assert [half.ask("special", one, "__len__") for _ in range(2)] == [1, 2]


def test_what_was_asked_before_another_thread_came_back_is_asked_again(half: Half, monkeypatch: pytest.MonkeyPatch):
    """The answer may have been made before what the other thread has asked for was done, and have come after it."""

    def meanwhile(*asked: Any) -> tuple[bytes, Any]:
        half._forget_what_was_steady()
        return answer(half, *asked)

    one = thing()
    half.answers["special"] = [0, 1, 2]
    with monkeypatch.context() as patch:
        patch.setattr(half.alongside, "exchange", meanwhile)
        assert half.ask("special", one, "__int__") == 0
    monkeypatch.setattr(half.alongside, "exchange", lambda *asked: answer(half, *asked))
    assert [half.ask("special", one, "__int__") for _ in range(2)] == [1, 1]


def test_what_is_asked_by_a_function_that_the_candidate_calls_is_of_its_thread(half: Half):
    me = get_ident()
    half._steady._told, half.threads._open = {me: {}, 1: {}}, 1
    half._forget_what_was_steady()
    assert half._steady._told == {1: {}}
    half.threads._open = 0
    half._forget_what_was_steady()
    assert half._steady._told == {}


@pytest.mark.parametrize(
    ("holds", "operation", "is_old"), [(True, "get", False), (True, "call", True), (False, "get", True)]
)
def test_what_other_threads_noted_is_old(
    half: Half, holds: bool, operation: str, is_old: bool, monkeypatch: pytest.MonkeyPatch
):
    own, half._notes[1], half._notes[2] = half.notes, Notes(), Notes()
    half._notes[2].is_old = own.is_old = True
    monkeypatch.setattr(Notes, "outlast", lambda *_: holds)
    assert half._do_notes_hold(operation, []) is holds
    assert (own.is_old, half._notes[1].is_old, half._notes[2].is_old) == (True, is_old, True)
    own.is_old = False
    half._do_notes_hold(operation, [])
    assert not own.is_old


@pytest.mark.parametrize("operation", ["call", "get"])
def test_no_container_becomes_what_was_made_while_notes_hold(
    half: Half, operation: str, monkeypatch: pytest.MonkeyPatch
):
    looked: list[Any] = []

    def hold(_link: object, refilled: list[int], _named: object, made: object, _began: int) -> bool:
        looked.append((refilled, made))
        return 5 in refilled

    def exchange(_operation: str, fields: list[Any]) -> tuple[bytes, Any]:
        for number in fields:
            half.is_refilled(number)
        return VALUE, 7

    monkeypatch.setattr(script_link, "hold_what_was_made", hold)
    monkeypatch.setattr(half.alongside, "exchange", exchange)
    half.containers.entries.update({3: [[]], 5: [[]]})
    assert half._watched(operation, []) == (VALUE, 7)
    assert (looked, half._refilled) == ([], None)
    half._watching, half._refilled = 1, [(0, 9)]  # another thread asks, too
    assert half._watched(operation, [3]) == (VALUE, 7)
    assert looked == [([3], 7 if operation == "call" else None)]
    assert half._refilled is not None
    assert [number for _, number in half._refilled] == [9, 3]
    half._watching = 0
    with pytest.raises(Left):
        half._watched(operation, [5])
    assert half._refilled is None


def test_what_is_given_again_has_to_hold_what_it_is_made_of(half: Half, monkeypatch: pytest.MonkeyPatch):
    for is_another in (False, True):
        monkeypatch.setattr(Notes, "is_another", lambda *_, other=is_another: other)
        half.notes.is_complete = True
        if is_another:
            with pytest.raises(Left):
                half.note_again(1, None, 0)
        else:
            half.note_again(1, None, 0)
        assert not half.notes.is_complete


@pytest.mark.parametrize("anywhere", [True, False])
def test_each_message_is_heard_by_who_looks_at_files_and_texts(
    half: Half, anywhere: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Link, "taken", lambda *_: (VALUE, 1, [7]))
    heard, taken = list[bytes](), list[Any]()
    assert half.taken(b"a") == (VALUE, 1, [7])
    half.alongside.files = SimpleNamespace(hear=heard.append)  # type: ignore[assignment]
    half.texts = SimpleNamespace(is_under_way_anywhere=lambda: anywhere, take=taken.append)  # type: ignore[assignment]
    half.containers.entries[3] = [[8]]
    assert half.taken(b"b") == (VALUE, 1, [7])
    assert (heard, taken) == ([b"b"], [[[8]]] if anywhere else [])


def test_a_message_that_brings_what_is_not_permitted_ends_the_script(half: Half, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Link, "taken", lambda *_: (VALUE, 1, [7]))
    monkeypatch.setattr(permissions, "reason_against", lambda *_: "why")
    with pytest.raises(Left) as info:
        half.taken(b"a")
    assert info.value.args == (messages.NOT_PLAIN,)


@pytest.mark.parametrize(("has_failed", "cleared"), [(None, 1), (False, 1), (True, 0)])
def test_doubts_matter_to_what_would_pass_alone(half: Half, has_failed: bool | None, cleared: int):
    asked: list[Any] = []
    half.doubts = SimpleNamespace(clear_up=asked.append)  # type: ignore[assignment]
    half.at_end(None if has_failed is None else SimpleNamespace(has_failed=lambda: has_failed))
    assert asked == [half] * cleared


@pytest.mark.parametrize(
    ("may", "begins", "answered"), [(True, True, True), (True, True, 1), (True, False, True), (False, True, True)]
)
def test_several_threads_ask_where_both_halves_can(
    half: Half, may: bool, begins: bool, answered: object, monkeypatch: pytest.MonkeyPatch
):
    before, made = half.threads, SimpleNamespace(begin=lambda: begins)
    monkeypatch.setattr(script_link, "may_begin", lambda: may)
    monkeypatch.setattr(script_link, "Partners", lambda _link: made)
    half.answers["share"] = answered
    half.begin_partners()
    assert half.threads is (made if (may, begins, answered) == (True, True, True) and answered is True else before)
    assert [each[0] for each in half.asked] == (["share"] if may and begins else [])


def test_only_the_next_item_may_end_an_iteration(half: Half):
    half.answers["special"] = [(RAISED, StopIteration(name)) for name in ("__next__", "__len__")]
    for name in ("__next__", "__len__"):
        with pytest.raises(Exception, match="") as info:
            half.ask("special", thing(), name)
        assert isinstance(info.value, StopIteration) is (name == "__next__")


def test_where_the_script_is_says_what_it_expects(half: Half):
    half._source = "with raises(StopIteration):\n    ask()\nask()\n"
    asked: list[bool] = []
    namespace = {"raises": contextlib.suppress, "ask": lambda: asked.append(half._expects({"StopIteration"}))}
    exec(compile(half._source, CHECK, "exec"), namespace)
    assert (asked, half._expects({"StopIteration"})) == ([True, False], False)
