"""Doctest runs of a script over the program: what runs at once, what if the script looks, and what tests nothing."""

from __future__ import annotations

import doctest
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies.remote import RemoteObject
from cruxcell.jobs.separated.rules.docstrings import NO_EXAMPLES, _Result, follow_doctests
from cruxcell.jobs.suite_base import MAIN
from cruxcell.namespace import CANDIDATE

OURS, ANOTHER = ModuleType(MAIN), ModuleType("another")
FIVE_MORE = (None, None, None, True, 0)  # name, globs, verbose, report, optionflags


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The test's half; `ran` is what each run was given."""
    made = SimpleNamespace(idle=[], ends=[], ran=[], attempted=2, hears=False)
    made.objects = SimpleNamespace(module=CANDIDATE)
    made.invalid, made.alongside = made.ends.append, SimpleNamespace(listens=lambda: made.hears)

    def testmod(*asked: object, **named: object) -> object:
        made.ran.append((asked, named))
        return doctest.TestResults(1, made.attempted)

    monkeypatch.setitem(sys.modules, MAIN, OURS)
    monkeypatch.setattr(doctest, "testmod", testmod)
    for name in ("find", "_from_module"):
        monkeypatch.setattr(doctest.DocTestFinder, name, vars(doctest.DocTestFinder)[name])
    follow_doctests(made)
    return made


@pytest.mark.parametrize(
    ("asked", "named", "hears", "at_once"),
    [
        ((), {}, False, False),
        ((OURS,), {"verbose": True}, False, False),
        ((ANOTHER,), {}, False, True),
        ((), {}, True, True),
        ((), {"raise_on_error": True}, False, True),
        ((), {"raise_on_error": False}, False, False),
        ((OURS, *FIVE_MORE), {}, False, False),
        ((OURS, *FIVE_MORE, None), {}, False, False),
        ((OURS, *FIVE_MORE, None, True), {}, False, True),
        ((OURS, *FIVE_MORE, None, True, False), {}, False, True),
    ],
)
def test_a_run_that_can_fail_runs_at_once_and_another_when_it_is_looked_at(
    link: Any, asked: tuple[Any, ...], named: dict[str, Any], hears: bool, at_once: bool
):
    link.hears = hears
    result: Any = doctest.testmod(*asked, **named)
    given = [(asked or (None,), named)]
    assert link.ran == given * at_once
    assert link.idle == [given[0][0][0]] * (not at_once)
    assert (result.failed, result[1], len(link.ran)) == (1, 2, 1), "it runs once"
    assert link.ran == given


@pytest.mark.parametrize(
    "look",
    [bool, repr, len, list, lambda found: found == (1, 2), lambda found: found < (2, 0), lambda found: found.attempted],
)
def test_whatever_looks_at_a_result_runs_it(link: Any, look: Any):
    result = doctest.testmod()
    assert link.ran == []
    assert look(result)
    assert len(link.ran) == 1


def test_who_only_looks_through_names_runs_nothing(link: Any):
    result: Any = doctest.testmod()
    for name in ("__wrapped__", "__name__", "any"):
        with pytest.raises(AttributeError, match=name):
            getattr(result, name)
    assert link.ran == []


@pytest.mark.parametrize(("attempted", "ends"), [(0, [NO_EXAMPLES]), (1, [])])
def test_a_run_of_no_examples_tests_nothing(link: Any, attempted: int, ends: list[str]):
    link.attempted = attempted
    assert doctest.testmod(raise_on_error=True)[1] == attempted
    assert link.ends == ends


def test_what_has_no_examples_is_told_as_idle(link: Any):
    def some() -> None:
        """
        >>> 1
        1
        """

    finder: Any = doctest.DocTestFinder()
    finder.find(some, "some", globs={})
    assert link.idle == []
    finder.find(link.invalid, "none", globs={})
    assert link.idle == [link.invalid]


def test_the_programs_functions_are_the_scripts_module_s(link: Any):
    finder: Any = doctest.DocTestFinder()
    thing, own = object.__new__(RemoteObject), test_the_programs_functions_are_the_scripts_module_s
    here = sys.modules[__name__]
    found = [finder._from_module(*each) for each in [(None, thing), (OURS, thing), (here, own), (OURS, own)]]
    assert found == [True, False, True, False]


def test_two_results_are_compared_by_what_came_of_them():
    one, two, other = [_Result(lambda given=given: given) for given in (3, 3, 4)]
    assert [one == two, one == other, one < other, one + other] == [True, False, True, 7]
