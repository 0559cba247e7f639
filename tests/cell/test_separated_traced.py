"""Memory that a script traces: that of the program, too."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from cruxcell.jobs.separated.state import traced
from script_half import Refused, RefusingLink

MB = 1 << 20


class Link(RefusingLink):
    """The test's half; `said` is what the candidate says that it has traced."""

    def __init__(self, said: Any) -> None:
        self.said, self.asked = said, [()]

    def tell(self, operation: str, *more: object) -> Any:
        self.asked.append((operation, *more))
        return self.said


@pytest.fixture(name="program")
def tracing() -> Iterator[traced.Traced]:
    made = traced.Traced()
    made.trace(None, "start")
    yield made
    tracemalloc.stop()


def run(program: traced.Traced, function: Callable[[], Any]) -> Any:
    before = program.begin()
    try:
        return function()
    finally:
        program.end(before)


def mb(found: list[int]) -> list[int]:
    return [round(each / MB) for each in found]


def test_what_the_program_has_and_has_had_at_most(program: traced.Traced):
    kept = [run(program, lambda: bytes(2 * MB))]
    run(program, lambda: len(bytes(5 * MB)))
    assert mb(program.traced(None)) == [2, 7]
    kept.append(run(program, lambda: bytes(MB)))
    assert mb(program.traced(None)) == [3, 7]
    program.trace(None, "reset_peak") if sys.version_info >= (3, 9) else None
    run(program, kept.clear)
    assert mb(program.traced(None))[:1] == [0]


@pytest.mark.skipif(sys.version_info < (3, 9), reason="there is no reset_peak")
def test_a_peak_that_is_reset_is_what_there_is(program: traced.Traced):
    kept = run(program, lambda: bytes(2 * MB))
    run(program, lambda: len(bytes(5 * MB)))
    program.trace(None, "reset_peak")
    assert mb(program.traced(None)) == [2, 2]
    run(program, lambda: len(bytes(MB)))
    assert mb(program.traced(None)) == [2, 3]
    assert len(kept) == 2 * MB


def test_what_a_message_takes_is_not_the_program_s(program: traced.Traced):
    given = bytes(4 * MB)
    run(program, lambda: len(given))
    assert mb(program.traced(None)) == [0, 0]


def test_what_the_other_half_lets_go_of_is_gone(program: traced.Traced):
    for _ in range(3):
        run(program, lambda: bytes(2 * MB))
    assert mb(program.traced(None)) == [0, 2]


@pytest.mark.skipif(sys.version_info < (3, 9), reason="there is no reset_peak")
def test_what_a_message_took_before_hides_no_smaller_peak_of_the_program_s(program: traced.Traced):
    assert len(bytes(9 * MB)) == 9 * MB
    run(program, lambda: len(bytes(2 * MB)))
    assert mb(program.traced(None)) == [0, 2]


class Unreset:
    """tracemalloc as it is on Python 3.8; gives the figures one after the other."""

    def __init__(self, *figures: tuple[int, int]) -> None:
        self.figures = list(figures)

    def is_tracing(self) -> bool:
        return True

    def get_traced_memory(self) -> tuple[int, int]:
        return self.figures.pop(0)


@pytest.mark.parametrize(
    ("before", "after", "most"), [((10, 90), (30, 90), 20), ((10, 90), (30, 95), 85)], ids=["a smaller", "a larger"]
)
def test_where_no_peak_can_be_reset_a_larger_one_counts(before: Any, after: Any, most: int):
    program = traced.Traced()
    program._module = Unreset(before, after, (30, 0))
    program.end(program.begin())
    assert program.traced(None) == [20, most]


def test_a_run_that_raises_counts(program: traced.Traced):
    with pytest.raises(ZeroDivisionError):
        run(program, lambda: len(bytes(3 * MB)) / 0)
    assert mb(program.traced(None)) == [0, 3]


def test_traces_that_are_cleared_count_no_longer(program: traced.Traced):
    kept = run(program, lambda: bytes(3 * MB))
    program.trace(None, "clear_traces")
    assert mb(program.traced(None)) == [0, 0]
    assert len(kept) == 3 * MB


def test_nothing_is_told_while_nothing_is_traced():
    program = traced.Traced()
    assert program.begin() is program.end(None) is None
    assert program.traced(None) == [0, 0]
    program.trace(None, "start", 3)
    assert tracemalloc.get_traceback_limit() == 3
    run(program, lambda: len(bytes(MB)))
    program.trace(None, "stop")
    assert program.begin() is None
    assert program.traced(None) == [0, 0]


# ---- the test's half -------------------------------------------------------------------------------------------------


@pytest.fixture(name="follow")
def followed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, Link]]:
    """Gives a script's module, a copy that traces (10, 70), and the link."""

    def follow(said: object) -> tuple[Any, Link]:
        copy: Any = ModuleType("tracemalloc")
        vars(copy).update(vars(tracemalloc), get_traced_memory=lambda: (10, 70), start=lambda *_: None)
        monkeypatch.setitem(sys.modules, "tracemalloc", copy)
        link = Link(said)
        traced.follow_tracing(link)
        monkeypatch.undo()
        return copy, link

    return follow


def test_a_script_hears_the_larger_figures(follow):
    theirs, link = follow([30, 50])
    assert theirs.get_traced_memory() == (30, 70)
    link.said = [5, 90]
    assert theirs.get_traced_memory() == (10, 90)


def test_what_a_script_has_done_both_do(follow):
    theirs, link = follow(None)
    theirs.start(5)
    theirs.clear_traces()
    theirs.stop()
    assert link.asked[1:] == [("trace", "start", 5), ("trace", "clear_traces"), ("trace", "stop")]


@pytest.mark.parametrize("said", [None, [1], [1, 2, 3], [1, 2.0], [True, 2], (1, 2), ValueError()])
def test_a_candidate_that_does_not_say_it_fails(follow, said):
    theirs, _ = follow(said)
    with pytest.raises(Refused):
        theirs.get_traced_memory()
