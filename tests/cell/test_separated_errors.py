"""How errors cross: of what they are made, how they are shown, and which of them the candidate may raise."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from cruxcell.jobs.separated.crossing import exceptions
from cruxcell.jobs.separated.proxies import remote, runs
from cruxcell.protocol import records
from library_errors import Own, Signal, as_a_library  # noqa: F401 - a fixture among them


def test_what_an_error_is_made_of():
    missing, decoding = OSError(2, "no", "a"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")
    with pytest.raises(json.JSONDecodeError) as info:
        json.loads("{")
    broken = info.value
    assert exceptions.constructor_arguments(missing) == (2, "no", "a")
    assert exceptions.constructor_arguments(decoding) is None
    assert exceptions.constructor_arguments(ValueError("a")) is None
    assert exceptions.constructor_arguments(broken) == (broken.msg, "{", 1)

    class Odd(OSError):
        def __reduce__(self) -> Any:
            return (Own, ("a",))

    assert exceptions.constructor_arguments(Odd(1)) is None
    assert exceptions.constructor_arguments(OSError(2, "no", Own())) is None


@pytest.mark.parametrize(
    "reduced", [lambda _: "a name", lambda _: (Own, ("a",)), lambda error: (type(error), error.args)]
)
def test_an_error_that_is_made_of_its_args_says_no_more(
    known_errors: None, monkeypatch: pytest.MonkeyPatch, reduced: Callable[[Any], Any]
):
    monkeypatch.setattr(Signal, "__reduce__", reduced, raising=False)
    assert exceptions.constructor_arguments(Signal("a")) is None


def test_only_errors_are_causes_and_contexts():
    before, cause, context = ValueError(), KeyError(), IndexError()
    for given, found in [
        ((cause, context), (cause, cause)),
        ((None, context), (None, context)),
        ((1, context), (None, context)),
        ((None, (context,)), (None, context)),
        ((None, (1,)), (None, None)),
        ((None, ()), (None, None)),
        ((None, False), (None, None)),
        ((None, None), (None, before)),
    ]:
        error = TypeError()
        error.__context__ = before
        exceptions.have_causes(error, *given)
        assert (error.__cause__, error.__context__) == found


def test_notes_and_how_an_error_is_shown():
    plain, noted = ValueError("a"), ValueError("a")
    noted.__dict__["__notes__"] = ["one", 2, "three"]
    assert exceptions.more_of(plain) is None
    assert exceptions.more_of(noted) == (None, ["one", "three"], ())
    noted.__dict__["__notes__"] = "a"
    assert exceptions.more_of(noted) is None
    shown = type("Shown", (ValueError,), {"__repr__": lambda _self: "<shown>"})
    assert exceptions.more_of(shown("a")) == ("<shown>", [], ())


@pytest.mark.parametrize(
    "more",
    [
        8, [None, ["a"], ()], (None, ["a"]), (None, ["a"], (), 8), (None, ["a", 8], ()), (None, "a", ()),
        (None, [], ()),
        (8, [], ()), (None, [], [("a", 1)]), (None, [], (8, ("a",), (1, 2), ("__a", 3), ["a", 1], ("b", len))),
        (None, [], (("_remote_number", 3), (exceptions.ANSWERED, True), (8, 8))),
        (None, [], 8),
    ],
)  # fmt: skip
def test_what_is_told_of_an_error_wrongly_is_left_out(more: object):
    error = exceptions.make_exception(ValueError, ["a"], "a", None, more)
    exceptions.add_more(error, more)
    assert vars(error) == {}


def test_attributes_of_an_error_that_hold_no_object_are_told():
    error = OSError(2, "no")
    items = [(1.5, {"a": None, 1: {True}})]
    vars(error).update({"code": 1, "items": items, "_own": 1})
    vars(error).update({"__own__": 1, "itself": error, "deep": [[[[[[1]]]]]], "n": [OSError]})
    told = exceptions.more_of(error)
    assert told == (None, [], (("code", 1), ("items", items), ("_own", 1)))
    vars(error)["response"] = response = object()
    assert exceptions.more_of(error) == told
    own = exceptions.more_of(error, of_the_test=True)
    assert own == (None, [], (("code", 1), ("items", items), ("response", response)))
    made = [exceptions.make_exception(OSError, [2, "no"], "", None, own, each) for each in (False, True)]
    assert [vars(each).get("response") for each in made] == [None, response]
    for text in str(error), "another":
        made = exceptions.make_exception(OSError, [2, "no"], text, None, told)
        assert (str(made), made.errno, made.code, made.items) == (text, 2, 1, items)
    vars(error).update({f"a{number}": number for number in range(100)})
    assert len(exceptions.more_of(error)[2]) == 64


def test_what_is_told_of_an_error():
    error = ValueError("a")
    exceptions.add_more(error, ("<a>", ["note"], ()))
    assert vars(error) == {"__notes__": ["note"]}, "only an error of the program is shown as it says"


def test_how_an_error_of_the_program_is_shown_is_a_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(remote, "RemoteType", type)
    for shown, has in [("<a>", True), (8, False)]:
        error = ValueError()
        exceptions.add_more(error, (shown, [], ()))
        assert ("_remote_repr" in records.dict_of(error)) is has


@pytest.mark.parametrize(
    ("error", "may_stop", "kind"),
    [
        (StopIteration(), (), exceptions._Ended),
        (StopIteration(), StopIteration, StopIteration),
        (StopAsyncIteration(), StopIteration, exceptions._Ended),
        (GeneratorExit(), (), exceptions._Exited),
        (GeneratorExit(), GeneratorExit, GeneratorExit),
        (KeyError(), (), KeyError),
        (SystemExit(0), (), SystemExit),
    ],
)
def test_what_a_candidate_raises_ends_no_iteration_of_the_test_s(error: BaseException, may_stop: Any, kind: type):
    raised = exceptions.answered(error, may_stop, lambda _: False)
    assert type(raised) is kind
    assert (exceptions.ANSWERED in vars(raised)) is (kind is SystemExit)


class Cancelled(asyncio.CancelledError):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (asyncio.CancelledError(), exceptions._Exited),
        (Cancelled(), exceptions._Exited),
        (concurrent.futures.CancelledError(), exceptions._Ended),
        (asyncio.TimeoutError(), asyncio.TimeoutError),
    ],
)
def test_a_candidate_says_that_it_was_cancelled_where_the_script_means_that(error: BaseException, kind: type):
    assert type(exceptions.answered(error, (), bool, False)) is kind
    assert exceptions.answered(error, (), bool, True) is error


def test_nothing_cancels_where_nobody_has_what_does(monkeypatch: pytest.MonkeyPatch):
    for name in ("asyncio.exceptions", "concurrent.futures._base"):
        monkeypatch.setitem(sys.modules, name, None)
    assert runs.cancellations() == ()


class Stop(StopIteration):
    pass


def test_what_a_script_says_that_it_expects_it_gets():
    asked: list[list[type]] = []
    for error in (Stop(), GeneratorExit(), KeyError()):
        assert exceptions.answered(error, (), lambda classes: asked.append(classes) or True) is error
    assert asked == [[Stop, StopIteration], [GeneratorExit]]


def test_what_builtin_errors_keep_outside_their_dict_is_told():
    error = ImportError("no", name="a", path="/b")
    assert exceptions.more_of(error) == (None, [], (("name", "a"), ("path", "/b")))
    made = exceptions.make_exception(ImportError, ["no"], "no", None, exceptions.more_of(error))
    assert (made.name, made.path, made.msg, vars(made)) == ("a", "/b", "no", {})
    assert exceptions.more_of(OSError(2, "gone", "file")) is None


@pytest.mark.parametrize(
    ("error", "name"),
    [(SystemExit(1), "code"), (StopIteration(1), "value"), (UnicodeDecodeError("utf-8", b"", 0, 0, ""), "start")],
)
def test_what_ends_something_or_shows_memory_is_as_it_is_made(error: BaseException, name: str):
    assert exceptions._members(type(error)) == {}
    before = getattr(error, name)
    exceptions._add_fields(error, (None, [], ((name, -8),)), False)
    assert getattr(error, name) == before


def test_no_error_shows_a_byte_before_its_object():
    for place in (-1, -9, -(1 << 44)):
        arguments = ["a", b"b", place, place + 1, "c"]
        made = exceptions.make_exception(UnicodeDecodeError, arguments, "gone")
        assert (made.args, made.start, str(made)) == (tuple(arguments), 0, "gone")
    made = exceptions.make_exception(UnicodeDecodeError, ["a", b"", 0, 1, "c"], "gone")
    assert (made.start, made.end) == (0, 1)


def test_an_exception_has_the_text_it_had():
    made = exceptions.make_exception(KeyError, ["a"], "'a'")
    assert (type(made), made.args, str(made)) == (KeyError, ("a",), "'a'")
    other = exceptions.make_exception(KeyError, ["a"], "gone")
    assert (type(other).__mro__[1], other.args, str(other), vars(other)) == (KeyError, ("a",), "gone", {})
