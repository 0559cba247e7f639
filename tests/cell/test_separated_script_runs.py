"""How a separated script runs and ends, and what it tells of its tests."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated import test as test_worker
from cruxcell.jobs.separated.exchange import permissions
from cruxcell.jobs.separated.exchange.link import TOO_LARGE, VALUE, Broken, Link, Unsent
from cruxcell.jobs.separated.script_link import ScriptLink
from cruxcell.jobs.suite_base import ERROR, FAILED, PASSED, SKIPPED, Results
from cruxcell.protocol import frames, messages
from cruxcell.protocol.payloads import TEST_FLAGS, UNREAD
from script_half import RAISED, Context, Half, Left, callable_thing, connected_half, thing  # noqa: F401 - a fixture among them


def test_an_answer_that_is_too_large_or_none_ends_the_script(half: Half):
    for said, end in [((TOO_LARGE, "the value"), messages.NOT_PLAIN), (Broken(), messages.CANDIDATE_GONE)]:
        half.answers["call"] = said
        with pytest.raises(Left) as info:
            half.ask("call", None)
        assert info.value.args == (end,)


class Later:
    def __init__(self, says: bool = True) -> None:
        self._says = says

    def __await__(self) -> Generator[None, None, bool]:
        return self._says
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
    nothing = Later(False)
    for put, answers in [("push", True), ("push", Later()), ("push_async_exit", Later()), ("push_async_exit", nothing)]:
        half.answers["call"] = answers
        with pytest.raises(StopIteration) as info:
            in_stack(put, callable_thing()).send(None)
        assert info.value.value is (is_own and answers is not nothing and not (put == "push" and answers is not True))
    kinds = {(each[0], each[2], str(each[3]), each[4]) for each in half.asked}
    assert kinds == {("call", AssertionError, "", None)}  # nothing of what is expected
    half.answers["call"], error = 8, ValueError("a")
    assert callable_thing()(ValueError, error, None) == 8
    assert half.asked[-1][2:] == (ValueError, error, None)


@pytest.mark.parametrize(
    "given", [(), (8,), (8, 9), (int, 8, "a"), (KeyError, ValueError(), "a"), (KeyError, "a", "b")]
)
def test_a_function_that_a_stack_of_exits_calls_otherwise_is_given_what_it_is(half: Half, given: tuple[Any, ...]):
    half.answers["call"] = 8
    with contextlib.ExitStack() as stack:
        stack.callback(callable_thing(), *given)
    assert half.asked[-1][2:] == given


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
        rehearsal = {"is_rehearsal": True} if is_rehearsal else {}  # workers do not say that theirs is none
        test_worker.run_test(context, [*text, b"", TEST_FLAGS.pack(flags), b"", b"token"], **rehearsal)
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


def test_a_message_that_brings_what_is_not_permitted_ends_the_script(half: Half, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Link, "taken", lambda *_: (VALUE, 1, [7]))
    monkeypatch.setattr(permissions, "reason_against", lambda *_: "why")
    with pytest.raises(Left) as info:
        half.taken(b"a")
    assert info.value.args == (messages.NOT_PLAIN,)


@pytest.mark.parametrize("whys", [{}, {"a": "why", "": "why not"}])
@pytest.mark.parametrize("letters", [None, b"", PASSED, PASSED + FAILED, SKIPPED])
def test_doubts_are_of_the_tests_that_have_passed(half: Half, letters: bytes | None, whys: dict[str, str]):
    half.doubts = SimpleNamespace(clear_up=lambda link: whys)  # type: ignore[assignment]
    results = Results()
    for letter in letters or b"":
        results.add(bytes([letter]), "ab"[len(results.all)])
    is_refused = bool(whys) and not results.has_failed()
    with pytest.raises(Left) if is_refused else contextlib.nullcontext():
        half.at_end(None if letters is None else results)
    spoilt = [(ERROR, "a", "why")] if whys and letters and letters[:1] == PASSED else results.all[:1]
    assert results.all[:1] == spoilt
    assert [name for _, name, _ in results.all] == [*"ab"][: len(letters or b"")]


def test_only_the_next_item_may_end_an_iteration(half: Half):
    half.answers["special"] = [(RAISED, StopIteration(name)) for name in ("__next__", "__len__")]
    for name in ("__next__", "__len__"):
        with pytest.raises(Exception) as info:
            half.ask("special", thing(), name)
        assert isinstance(info.value, StopIteration) is (name == "__next__")


def test_where_the_script_is_says_what_it_expects(half: Half):
    half._source = "with raises(StopIteration):\n    ask()\nask()\n"
    asked: list[bool] = []
    namespace = {"raises": contextlib.suppress, "ask": lambda: asked.append(half._expects([StopIteration]))}
    exec(compile(half._source, CHECK, "exec"), namespace)
    assert (asked, half._expects([StopIteration])) == ([True, False], False)
