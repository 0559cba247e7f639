"""How exceptions cross between the halves of a separated script, and which of them end anything there."""

from __future__ import annotations

import asyncio
import copy
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from urllib.error import URLError

import pytest
from cruxcell.jobs.separated.crossing import exceptions
from cruxcell.jobs.separated.crossing.exceptions import ANSWERED
from cruxcell.jobs.separated.proxies import remote
from cruxcell.values.containers import Garbled
from library_errors import Custom, OfData, as_a_library  # noqa: F401 - a fixture among them
from link_messages import text, u32
from objects_by_hand import End, candidates_end, described, error, shared, small, tests_end  # noqa: F401 - fixtures among them


def test_an_error_is_one_object_of_a_builtin_class_too(test: End, candidate: End):
    mine = type("ValueError", (ValueError,), {"__module__": "__main__"})("a")
    assert test.reads(candidate.sends(mine)) is test.reads(candidate.sends(mine))
    plain = ValueError("a")
    found = test.reads(candidate.sends(plain))
    assert found is test.reads(candidate.sends(plain)) is not test.reads(candidate.sends(ValueError("a")))
    assert candidate.reads(test.sends(found)) is plain
    assert candidate.reads(test.sends(copy.copy(found))) is not plain


CHANGES: dict[str, Callable[[Any], object]] = {
    "an attribute": lambda error: setattr(error, "code", 7),
    "its arguments": lambda error: setattr(error, "args", (7,)),
    "its notes": lambda error: setattr(error, "__notes__", ["b"]),
    "one note more": lambda error: error.__notes__.append("b"),
    "notes that are none": lambda error: setattr(error, "__notes__", 7),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("is_of_the_test", [False, True])
def test_an_error_that_was_changed_in_the_other_half_is_so(test: End, candidate: End, name: str, is_of_the_test: bool):
    owner, other = (test, candidate) if is_of_the_test else (candidate, test)
    raised: Any = ValueError("a")
    raised.__notes__ = ["a"]
    found = other.reads(owner.sends(raised))
    CHANGES[name](found)
    assert owner.reads(other.sends(found)) is raised
    assert raised.args == found.args
    assert getattr(raised, "code", 0) == getattr(found, "code", 0)
    assert raised.__notes__ == (found.__notes__ if found.__notes__ != 7 else ["a"])
    assert other.reads(owner.sends(raised)) is found


def test_what_an_error_of_the_other_half_has_no_more_it_has_not_here(test: End, candidate: End):
    raised: Any = ImportError("a", name="b")
    raised.__notes__, raised.code, raised.kept = ["a"], 7, 8
    found = test.reads(candidate.sends(raised))
    found.mine = 9
    del raised.__notes__, raised.code
    raised.name, raised.kept = None, 10
    assert test.reads(candidate.sends(raised)) is found
    assert (vars(found), found.name) == ({"kept": 10, "mine": 9}, None)
    raised.__cause__ = KeyError()
    assert test.reads(candidate.sends(raised)).__cause__ is found.__cause__ is not None
    raised.__cause__ = None
    assert test.reads(candidate.sends(raised)).__cause__ is None


def test_an_error_of_a_class_of_the_script_s_is_not_changed_by_a_message(test: End, candidate: End):
    class Own(ValueError):
        pass

    own, other = Own("a"), candidate.reads(test.sends(ValueError("b")))
    other.code = 7
    number = test.objects.shown.show(own)
    message = candidate.sends(other).replace(b"Y\x01", b"Y" + bytes([number]))
    assert type(test.reads(message)) is ValueError
    assert (own.args, vars(own)) == (("a",), {})


def test_an_error_has_what_its_kind_keeps_elsewhere_by_now(test: End, candidate: End):
    raised = OSError(2, "a", "b", None, "c")
    found = test.reads(candidate.sends(raised))
    raised.filename = "c"
    del raised.filename2
    assert test.reads(candidate.sends(raised)) is found
    assert (str(found), found.filename, found.filename2) == ("[Errno 2] a: 'c'", "c", None)


def test_an_error_of_another_text_by_now_is_another(test: End, candidate: End):
    raised = URLError("a")
    found = test.reads(candidate.sends(raised))
    assert test.reads(candidate.sends(raised)) is found
    raised.reason = KeyError("b")
    other = test.reads(candidate.sends(raised))
    assert (str(found), str(other)) == ("<urlopen error a>", "<urlopen error 'b'>")
    assert other is test.reads(candidate.sends(raised)) is not found
    assert candidate.reads(test.sends(other)) is raised is not candidate.reads(test.sends(found))


def test_an_error_is_let_go_of_with_the_last_that_refers_to_it(test: End, candidate: End):
    found = test.reads(candidate.sends(ValueError("a")))
    assert test.objects.held.sweep() == []
    del found
    assert [type(each) for each in test.objects.held.sweep()] == [ValueError]
    assert test.objects.held.sweep() == [] != [*test.objects.held.dead]


def test_an_error_of_the_test_comes_back_and_tells_no_cause(test: End, candidate: End):
    raised = ValueError("a")
    raised.__cause__ = raised.__context__ = KeyError(7)
    found = candidate.reads(test.sends(raised))
    assert (type(found), found.args, found.__cause__, found.__context__) == (ValueError, ("a",), None, None)
    assert test.reads(candidate.sends([found])) == [raised]


@pytest.mark.parametrize("name", ["__cause__", "__context__"])
def test_an_error_of_the_candidate_tells_why(test: End, candidate: End, name: str):
    raised = ValueError("a")
    setattr(raised, name, KeyError(7))
    found = test.reads(candidate.sends(raised))
    assert (type(found.__context__), found.__context__.args) == (KeyError, (7,))
    assert (found.__cause__ is None) == (name == "__context__")


def test_an_error_from_none_tells_its_context_and_one_with_a_cause_nothing_else(test: End, candidate: End):
    raised = ValueError("a")
    assert test.reads(candidate.sends(raised)).__suppress_context__ is False
    raised.__context__ = KeyError(7)
    assert test.reads(candidate.sends(raised)).__suppress_context__ is False
    raised.__suppress_context__ = True
    found = test.reads(candidate.sends(raised))
    assert (found.__suppress_context__, vars(found)) == (True, {})
    assert (type(found.__context__), found.__context__.args, found.__cause__) == (KeyError, (7,), None)
    raised.__cause__ = KeyError(8)
    told = candidate.sends(raised)
    raised.__context__ = None
    assert candidate.sends(raised) == told


def test_a_candidate_names_no_error_that_shows_memory_but_where_it_raises_it(test: End, candidate: End):
    assert test.reads(candidate.sends(UnicodeDecodeError)) is not UnicodeDecodeError
    with pytest.raises(Garbled):
        test.reads(shared("UnicodeDecodeError"))
    assert type(test.reads(candidate.sends(UnicodeDecodeError("a", b"b", 0, 1, "c")))) is UnicodeDecodeError


ENDING = (SystemExit, StopIteration, StopAsyncIteration, GeneratorExit)


@pytest.mark.parametrize("kind", ENDING)
def test_what_ends_a_script_or_iteration_is_nothing_that_a_candidate_gives(test: End, candidate: End, kind: type):
    """What it raises is an error; the class alone is the candidate's, and what derives from it is that."""
    assert test.reads(candidate.sends(kind)) is not kind
    with pytest.raises(Garbled):
        test.reads(shared(kind.__name__))
    own = type("Own", (kind,), {"__module__": "__main__"})
    derived = test.reads(candidate.sends(own))
    assert issubclass(derived, kind)
    raised = test.reads(error(shared(kind.__name__), 71))
    assert type(raised) is kind
    assert (ANSWERED in vars(raised)) is (kind is SystemExit)
    test.objects.is_given = True
    for test.objects.is_question in (False, True):
        for number in (0, 71, 72):  # one that it has raised before has its number
            given = test.reads(error(shared(kind.__name__), number))
            ends = not test.objects.is_question and kind is SystemExit
            assert issubclass(type(given), ENDING) is ends
            assert isinstance(given, kind)
            assert issubclass(type(given), Exception) is issubclass(kind, Exception)
        made = own(8)
        found = test.reads(candidate.sends(made))
        assert isinstance(found, derived)
        assert test.reads(candidate.sends(made)) is found
        assert found.args == (8,)
        assert issubclass(type(found), ENDING) is ends
    assert type(test.reads(error(shared("KeyError")))) is KeyError
    candidate.objects.is_question = candidate.objects.is_given = True
    assert type(candidate.reads(test.sends(kind()))) is kind


def test_what_an_error_holds_is_given_and_not_raised(test: End):
    within = b"X" + u32(0) + shared("ValueError") + text("") + small(1) + error(shared("StopIteration"))
    raised = test.reads(within + b"NN" + error(shared("StopIteration")) + b"N")
    for inner in (raised.args[0], raised.__cause__):
        assert isinstance(inner, StopIteration)
        assert not issubclass(type(inner), StopIteration)
    assert type(test.reads(error(shared("StopIteration")))) is StopIteration


@pytest.mark.parametrize(
    ("kind", "held"), [(StopIteration, "value"), (StopAsyncIteration, "args"), (SystemExit, "code")]
)
def test_what_ends_an_iteration_holds_what_it_was_made_of(test: End, candidate: End, kind: Any, held: str):
    test.objects.is_given = test.objects.is_question = True
    for made in (kind(), kind(8), kind([1, 2])):
        assert getattr(test.reads(candidate.sends(made)), held) == getattr(made, held)


@pytest.mark.parametrize("is_meant", [False, True])
def test_what_cancels_is_given_where_the_script_means_it(test: End, candidate: End, is_meant: bool):
    test.objects.is_given, test.has_cancelled = True, is_meant
    given = test.reads(candidate.sends(asyncio.CancelledError()))
    assert isinstance(given, asyncio.CancelledError)
    assert issubclass(type(given), asyncio.CancelledError) is is_meant


def test_an_exit_of_the_script_s_that_comes_back_is_none_of_its_own(test: End, candidate: End):
    own = SystemExit(0)
    test.reads(candidate.sends(candidate.reads(test.sends(own))))
    assert ANSWERED in vars(own)


def test_a_program_s_error_is_asked_for_its_attributes(test: End, candidate: End):
    """Neither a library's own `__init__` sets them here, nor are those believed that come with it."""
    cls = type("Own", (subprocess.CalledProcessError,), {"__module__": "__main__"})
    found = test.reads(candidate.sends(cls(1, "a")))
    assert (found.args, {"returncode", "cmd"}.intersection(vars(found))) == ((1, "a"), set())
    own = described(70, shared("ValueError")) + text("") + small(0) + b"N" + b"t" + u32(3) + b"N" + b"l" + u32(901, 0)
    more = b"t" + u32(1) + b"t" + u32(2) + text("code") + small(7) + u32(903, 905, 907)
    assert "code" not in vars(test.reads(b"X" + u32(90) + own + more + b"NN"))


def test_an_error_without_a_constructor_is_made_of_its_data(known_errors: None, test: End, candidate: End):
    lines = [{"type": "a", "input": object(), "ctx": {"error": KeyError(1)}}, Custom("b", {"n": 3})]
    found = test.reads(candidate.sends(OfData.from_exception_data("T", lines)))
    first, other = found.lines
    assert (type(found), found.title, first["type"], first["ctx"]["error"].args) == (OfData, "T", "a", (1,))
    assert remote.is_class_of_proxies(type(first["input"]))
    assert (type(other), other._made_of) == (Custom, ("b", {"n": 3}))
    assert test.asked == []


def test_of_data_of_an_error_that_is_not_here_nothing_is_made(
    known_errors: None, test: End, candidate: End, monkeypatch: pytest.MonkeyPatch
):
    data = candidate.sends(OfData.from_exception_data("T", [KeyError(1)]))
    monkeypatch.delitem(sys.modules, "known_errors")
    found = test.reads(data)
    assert (isinstance(found, ValueError), remote.is_class_of_proxies(type(found)), found.args) == (True, True, ())


def test_an_error_that_wants_to_be_told_more_is_made_by_its_builtin_kind_or_is_one_of_that(
    known_errors: None, test: End, candidate: End, monkeypatch: pytest.MonkeyPatch
):
    first, other = OfData.from_exception_data("T", []), OfData.from_exception_data("T", [])
    monkeypatch.delattr(OfData, "from_exception_data")
    monkeypatch.setattr(OfData, "__reduce__", lambda _self: "OfData")
    monkeypatch.setattr(OfData, "__str__", lambda _self: "told")
    assert type(test.reads(candidate.sends(first))) is OfData
    monkeypatch.setattr(exceptions, "_builtin_of", lambda _cls: KeyError)  # which does not make it, either
    found = test.reads(candidate.sends(other))
    assert (isinstance(found, KeyError), type(found).__name__, str(found)) == (True, "OfData", "told")


@pytest.mark.parametrize("kinds", [(ValueError, AttributeError), (KeyError, ImportError), (ValueError, OSError)])
def test_an_error_of_two_builtin_kinds_is_one_of_both(test: End, candidate: End, kinds: tuple[Any, ...]):
    made = type("Own", kinds, {"__module__": "__main__"})("a")
    made.name = "b"
    found = test.reads(candidate.sends(made))
    assert (issubclass(type(found), kinds[0]), issubclass(type(found), kinds[1]), found.args) == (True, True, ("a",))


def test_errors_that_are_each_other_s_cause_are_so_there_too(test: End, candidate: End):
    first, other = ValueError("a"), KeyError("b")
    first.__cause__, other.__cause__ = other, first
    found = test.reads(candidate.sends(first))
    assert found.__cause__.__cause__ is found is not found.__cause__


def test_an_error_is_shown_as_its_class_says(test: End, candidate: End):
    shown = type("Shown", (ValueError,), {"__repr__": lambda _self: "<shown>", "__module__": "__main__"})
    assert repr(test.reads(candidate.sends(shown("a")))) == "<shown>"
    assert (
        repr(test.reads(candidate.sends(type("Mishap", (ValueError,), {"__module__": "__main__"})("a"))))
        == "Mishap('a')"
    )
    odd = described(70, shared("ValueError")), text(""), small(0), b"N", b"t" + u32(2) + small(8) + b"N" + u32(901)
    assert repr(test.reads(b"X" + u32(90) + b"".join(odd) + b"NN")) == "A()"
