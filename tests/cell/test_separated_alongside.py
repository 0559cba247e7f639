"""What goes alongside a call of the candidate's: what it has done comes before that, and the files after it."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from cruxcell.jobs.separated.exchange.alongside import Alongside, _runs_code


class Scripts:
    __module__ = "__main__"

    def method(self) -> None: ...


STREAM = io.StringIO()


@pytest.mark.parametrize(
    ("operation", "target", "is_so"),
    [
        ("call", lambda: None, True),
        ("call", Scripts().method, True),
        ("call", Scripts, True),
        ("call", Scripts(), True),
        ("call", sys.exit, True),
        ("call", STREAM.write, True),
        ("call", io.StringIO().write, False),
        ("call", [].append, False),
        ("special", Scripts(), True),
        ("special", (each for each in ()), True),
        ("special", [], False),
        ("get", Scripts(), False),
    ],
)
def test_what_runs_code_of_the_script_s(operation: str, target: Any, is_so: bool):
    assert _runs_code(operation, target, {"stdout": STREAM}) is is_so


class Link:
    """The test's half."""

    has_answered = False
    threads = SimpleNamespace(outside=lambda function: function())

    def tell(self, *asked: Any) -> Any:
        return ("printed",) if asked[0] == "printed" else asked[0]


@pytest.fixture
def done() -> list[Any]:
    return []


@pytest.fixture
def beside(done: list[Any]) -> Any:
    made: Any = Alongside(Link(), None, None)
    made.files = SimpleNamespace(take=lambda told: done.append(("taken", told)), note=done.append, given=list)
    made._heard = {"stdout": SimpleNamespace(write=done.append)}
    return made


def calling(done: list[Any]) -> Any:
    def call(told: object) -> int:
        done.append(told)
        return 7

    return call


def test_what_the_program_has_done_comes_before_its_call_and_the_files_after(beside: Any, done: list[Any]):
    assert beside.called(calling(done), "call", print, ["fields"]) == 7
    assert done == ["printed", ("taken", "made_files"), ["fields"], [7]]


def test_a_mock_has_no_files(beside: Any, done: list[Any]):
    assert beside.called(calling(done), "call", mock.Mock(), ["fields"]) == 7
    assert done == ["printed", ["fields"]]


@pytest.mark.parametrize("operation", ["get", "call"])
def test_what_runs_no_code_or_nobody_listens_to_is_just_called(beside: Any, done: list[Any], operation: str):
    if operation == "call":
        beside.files, beside._heard = None, {}
    assert beside.called(len, operation, print, ["fields"]) == 1
    assert done == []


def test_files_are_taken_before_the_call_where_nobody_listens(beside: Any, done: list[Any]):
    beside._heard = {}
    assert beside.called(calling(done), "call", print, ["fields"]) == 7
    assert done == [("taken", "made_files"), ["fields"], [7]]


def test_what_was_printed_is_heard_before_the_call(beside: Any, done: list[Any]):
    beside.files = None
    assert beside.called(calling(done), "call", print, ["fields"]) == 7
    assert done == ["printed", ["fields"]]


def test_who_listens_hears_before_the_call(beside: Any, done: list[Any]):
    beside.files, beside._heard, beside._listener = None, {}, SimpleNamespace(hear=done.append)
    assert beside.called(lambda told: done.append(told), "call", print, ["fields"]) is None
    assert done == ["heard", ["fields"]]


def test_one_stream_for_both_is_told_once(done: list[Any], monkeypatch: pytest.MonkeyPatch):
    made, own = Alongside(Link(), sys.stdout, sys.stderr), sys.stderr
    monkeypatch.setattr(Link, "tell", lambda _self, *asked: done.append(asked))
    monkeypatch.setattr(Link, "depth", lambda _self: 0, raising=False)
    one = io.StringIO()
    for stdout, stderr in [(one, one), (one, one), (one, io.StringIO()), (one, own)]:
        monkeypatch.setattr(sys, "stdout", stdout)
        monkeypatch.setattr(sys, "stderr", stderr)
        made._before([])
        done.append("asked")
    both = ["stdout", "stderr"]
    assert [asked for asked in done if asked == "asked" or asked[0] == "hear"] == [
        ("hear", both, True), "asked", "asked", ("hear", both, False), "asked", ("hear", ["stdout"], False), "asked",
    ]  # fmt: skip


def test_what_the_script_hears_it_hears_after_a_question_in_the_midst_of_it(
    done: list[Any], monkeypatch: pytest.MonkeyPatch
):
    made, own = Alongside(Link(), sys.stdout, sys.stderr), (sys.stdout, sys.stderr)
    monkeypatch.setattr(Link, "tell", lambda _self, *asked: done.append(asked))
    for depth, stdout, told in [
        (0, io.StringIO(), [("hear", ["stdout"], False)]),
        (1, own[0], []),
        (0, own[0], [("hear", [], False)]),
    ]:
        monkeypatch.setattr(Link, "depth", lambda _self, depth=depth: depth, raising=False)
        monkeypatch.setattr(sys, "stdout", stdout)
        monkeypatch.setattr(sys, "stderr", own[1])
        done.clear()
        made._before([])
        assert [asked for asked in done if asked[0] == "hear"] == told


# ---- a question ------------------------------------------------------------------------------------------------------


class Asked(Link):
    """The test's half; all that it tells and asks is in `done`."""

    def __init__(self, done: list[Any]) -> None:
        self.done, self.open, self.is_reader, self.is_quiet = done, 0, False, False
        self.threads = SimpleNamespace(reads=lambda: self.is_reader, outside=lambda function: function())
        self.told: dict[str, Any] = {}

    def tell(self, *asked: Any) -> Any:
        self.done.append(asked)
        return self.told.get(asked[0])

    def depth(self) -> int:
        return self.open

    def exchange_or_leave(self, operation: str, _fields: list[Any]) -> tuple[bytes, Any]:
        self.done.append(operation)
        return b"v", 7

    def refuse(self, why: str) -> Any:
        raise RuntimeError(why)


class Lender:
    """What the script has set, and which variables it names."""

    def __init__(self, done: list[Any], changes: list[Any], variables: list[str]) -> None:
        self.changes, self.borrows = lambda: changes, bool(variables)
        self.take = lambda ask: done.append(("variables are", ask("variables", *variables)))


@pytest.fixture
def asking(done: list[Any]) -> Any:
    return Alongside(Asked(done), sys.stdout, sys.stderr)


def listener(done: list[Any], wishes: list[Any]) -> Any:
    return SimpleNamespace(wishes=lambda: wishes, hear=lambda told: done.append(("hears", told)))


def files(done: list[Any], given: list[Any]) -> Any:
    return SimpleNamespace(
        note=lambda values: done.append(("notes", values)),
        given=lambda: given,
        take=lambda told: done.append(("takes", told)),
    )


def figures(done: list[Any], given: list[Any]) -> Any:
    return SimpleNamespace(given=lambda fields: given, is_old=False)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, ["call"]),
        ({"listener": []}, ["call", ("heard",), ("hears", None)]),
        ({"listener": [1, 2]}, [("listen", 1, 2), "call", ("heard",), ("hears", None)]),
        ({"files": []}, [("notes", [5]), "call", ("made_files",), ("takes", None)]),
        ({"files": [3]}, [("notes", [5]), ("have_files", 3), "call", ("made_files",), ("takes", None)]),
        ({"figures": []}, ["call"]),
        ({"figures": [4]}, [("have_figures", 4), "call"]),
        ({"lender": ([], [])}, ["call"]),
        ({"lender": ([("set", "a", 1)], [])}, [("borrow", "set", "a", 1), "call"]),
        ({"lender": ([], []), "files": []}, [("notes", [5]), "call", ("made_files",), ("takes", None)]),
        ({"lender": ([], ["HOME", "A"])}, ["call", ("variables", "HOME", "A"), ("variables are", None)]),
        ({"lender": ([("set", 1)], []), "files": []},
         [("borrow", "set", 1), ("notes", [5, 1]), "call", ("made_files",), ("takes", None)]),
    ],
)  # fmt: skip
def test_what_goes_with_a_question(asking: Any, done: list[Any], parts: dict[str, Any], expected: list[Any]):
    for name, given in parts.items():
        if name == "lender":
            asking._lender = Lender(done, *given)
        else:
            made = {"listener": listener, "files": files, "figures": figures}[name](done, given)
            setattr(asking, "files" if name == "files" else f"_{name}", made)
    assert asking.exchange("call", [5]) == (b"v", 7)
    assert done == expected
    assert asking._figures is None or asking._figures.is_old


def test_who_says_that_there_is_nothing_is_not_asked_again(
    asking: Any, done: list[Any], monkeypatch: pytest.MonkeyPatch
):
    asking.files, asking._listener = files(done, []), listener(done, [])
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    questions = [("printed", "stdout"), ("made_files",), ("heard",)]
    for is_quiet, asked in [(False, questions), (True, questions), (True, []), (False, questions), (True, [])]:
        asking._link.is_quiet = is_quiet
        done.clear()
        asking.exchange("call", [5])
        assert [each for each in done[done.index("call") :] if each in questions] == asked


def test_in_a_finalizer_in_the_thread_that_reads_nothing_does(asking: Any, done: list[Any]):
    asking._link.is_reader, asking.files = True, files(done, [3])
    assert asking.exchange("call", [5]) == (b"v", 7)
    assert done == ["call"]


def test_what_the_script_may_not_set_ends_it(asking: Any, done: list[Any]):
    asking._lender = Lender(done, [("refused", "why")], [])
    with pytest.raises(RuntimeError, match="why"):
        asking.exchange("call", [5])
    assert done == []


@pytest.mark.parametrize("are_needed", [True, False])
def test_only_what_a_script_needs_goes_with_its_questions(asking: Any, are_needed: bool):
    made = [SimpleNamespace(is_needed=are_needed, are_needed=are_needed) for _ in range(4)]
    asked: list[Any] = []
    asking.begin(SimpleNamespace(take=asked.append), *made)
    assert asked == [asking._told_of]
    kept = [asking.files, asking._listener, asking._figures, asking._redirected]
    assert kept == (made if are_needed else [None] * 4)


def redirected(done: list[Any]) -> Any:
    def begin() -> str:
        done.append("begins")
        return "before"

    return SimpleNamespace(
        follow=lambda name, value: done.append(("follows", name, value)),
        behind=lambda name: getattr(sys, name),
        begin=begin,
        end=lambda before: done.append(("ends", before)),
    )


def test_what_the_program_puts_in_the_place_of_streams_is_followed_where_it_enters(asking: Any, done: list[Any]):
    asking._redirected = redirected(done)
    for operation in ("call", "special"):
        asking.exchange(operation, [5, "__enter__"])
    asking._redirected = None
    asking.exchange("special", [5, "__enter__"])
    assert done == ["call", "special", ("follows", "__enter__", 7), "special"]


def test_code_of_the_script_prints_to_the_streams_that_the_program_has(asking: Any, done: list[Any]):
    asking._redirected = redirected(done)
    assert asking.called(calling(done), "call", calling, ["fields"]) == 7
    assert asking.called(calling(done), "call", [].append, ["others"]) == 7
    with pytest.raises(ZeroDivisionError):
        asking.called(lambda _: 1 // 0, "call", calling, [])
    assert done == ["begins", ["fields"], ("ends", "before"), ["others"], "begins", ("ends", "before")]


def test_variables_that_the_script_names_are_known_before_its_code_runs(asking: Any, done: list[Any]):
    asking._lender = Lender(done, [], ["HOME"])
    assert asking.called(calling(done), "call", calling, ["fields"]) == 7
    assert done == [("variables", "HOME"), ("variables are", None), ["fields"]]


def test_only_what_was_told_is_an_answer(asking: Any, done: list[Any]):
    asking.files, link = files(done, []), asking._link
    asking.exchange("call", [5])
    assert not link.has_answered
    link.told["made_files"] = [1]
    asking.exchange("call", [5])
    link.told.clear()
    asking.exchange("call", [5])
    assert link.has_answered


class Stream(io.StringIO):
    def __init__(self, done: list[Any]) -> None:
        super().__init__()
        self.done = done

    def write(self, text: Any) -> int:
        self.done.append(("prints", text))
        return 0


@pytest.mark.parametrize(
    ("printed", "heard"),
    [(("a", "", "b"), ["a", "", "b"]), ((), []), (None, []), ("a", []), ((8, b"a"), []), (["a"], [])],
)
def test_a_stream_of_the_script_s_gets_texts(
    asking: Any, done: list[Any], printed: Any, heard: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "stdout", Stream(done))
    asking._link.told["printed"] = printed
    asking.exchange("call", [5])
    shown = [("prints", each) for each in heard]
    asked = [("printed", "stdout"), ("hear", ["stdout"], False), "call", ("printed", "stdout")]
    assert done == [*asked, *shown]


def test_the_program_s_own_stream_in_the_place_of_one_is_none_of_the_script_s(
    asking: Any, done: list[Any], monkeypatch: pytest.MonkeyPatch
):
    own = {"stdout": sys.stdout, "stderr": sys.stderr}
    asking._redirected = redirected(done)
    asking._redirected.behind = own.__getitem__
    monkeypatch.setattr(sys, "stdout", Stream(done))
    assert asking.listens() == []
    own["stderr"] = Stream(done)
    assert asking.listens() == ["stderr"]


class Refused(BaseException):
    """The check is over."""


def refuse(why: str) -> None:
    raise Refused(why)


def fails(_told: object) -> None:
    raise TypeError


@pytest.mark.parametrize("part", ["a stream", "a listener"])
def test_what_the_script_cannot_be_shown_is_no_error_of_the_program_s(
    beside: Any, part: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Link, "refuse", staticmethod(refuse), raising=False)
    if part == "a stream":
        beside._heard = {"stdout": SimpleNamespace(write=fails)}
    else:
        beside._listener = SimpleNamespace(hear=fails)
    with pytest.raises(Refused, match="raises TypeError"):
        beside.called(len, "call", print, ["fields"])
