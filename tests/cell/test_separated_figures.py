"""pyplot's figures, of which both halves of a script have the same: with a pyplot for each that draws nothing."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.state.figures import ProgramFigures, SharedFigures
from played_pyplot import HELPERS, PYPLOT, Axes, Both, Figure, Manager, Pyplot, Theirs, both_halves, having  # noqa: F401 - a fixture


def test_a_script_that_names_no_pyplot_shares_nothing():
    assert not SharedFigures(None, {"figure", "gcf"}).is_needed
    assert SharedFigures(None, {"matplotlib.pyplot"}).is_needed


def test_without_a_pyplot_nothing_is_told(monkeypatch: pytest.MonkeyPatch):
    for name in (HELPERS, PYPLOT):  # other tests of this process may have it
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert SharedFigures(None, {"plt"}).given([]) == []
    program = ProgramFigures()
    program.have(None, [1], [2], [], 2)
    assert program.figures(None) == []


def test_the_script_has_the_figures_of_the_program(both: Both):
    first = both.ask(both.theirs.figure)
    assert both.asked == 0
    assert both.plt.numbers() == [1]
    assert both.plt.gcf() is first
    assert both.asked == 1
    second = both.ask(both.theirs.figure)
    assert both.plt.gcf() is second
    assert both.plt.numbers() == [1, 2]
    both.ask(both.theirs.figure, 1)
    assert both.plt.gcf() is first
    assert both.plt.figure() not in (first, second)
    assert both.plt.numbers() == [2, 1, 3]


def test_what_the_script_closes_the_program_has_no_more(both: Both):
    both.ask(both.theirs.figure)
    both.ask(both.theirs.figure)
    both.plt.kept.destroy(2)
    assert both.ask(both.theirs.numbers) == [1]
    both.ask(lambda: both.theirs.kept.destroy(1))
    assert both.plt.numbers() == []
    both.ask(both.theirs.figure)
    both.plt.kept.figs.clear()
    assert both.ask(both.theirs.numbers) == []


def test_what_it_has_not_looked_at_it_closes_too(both: Both):
    both.ask(both.theirs.figure)
    both.plt.kept.destroy(1)
    assert both.ask(both.theirs.numbers) == []


def test_the_program_goes_on_with_what_the_script_has_begun(both: Both):
    mine = both.plt.figure()
    assert both.ask(both.theirs.numbers) == [1]
    assert both.plt.gcf() is mine
    drawn = both.ask(both.theirs.gcf)
    both.ask(drawn.plot)
    assert both.plt.gcf() is drawn
    assert both.plt.numbers() == [1]
    both.ask(lambda: both.theirs.kept.destroy(1))
    assert both.plt.numbers() == []


def test_of_what_is_kept_under_no_number_nothing_is_told(both: Both):
    both.plt.kept.figs["own"] = Manager(1)
    assert both.given() == []
    mine = both.plt.figure(3)
    assert both.given() == [[], [3], [], 3]
    assert both.plt.gcf() is mine


def test_which_is_the_current_one_is_told(both: Both):
    first, second = both.ask(both.theirs.figure), both.ask(both.theirs.figure)
    assert both.plt.gcf() is second
    assert both.plt.figure(1) is first
    assert both.given() == [[], [], [], 1]
    assert both.given() == []
    both.plt.figure(2)
    assert both.ask(both.theirs.gcf) is second


def test_what_the_script_has_begun_and_closed_is_told_where_the_current_one_stays_that(both: Both):
    both.ask(both.theirs.figure)
    assert (both.given(), both.plt.figure(1)) == ([], both.plt.gcf())
    for number in (2, 1):
        both.plt.figure(number)
    assert both.given() == [[], [2], [], 1]
    both.plt.kept.destroy(2)
    assert both.given() == [[2], [], [], 1]


def test_which_is_the_current_one_of_both_the_program_hears(both: Both):
    first, _second = both.ask(both.theirs.figure), both.ask(both.theirs.figure)
    assert both.plt.figure(1) is first
    assert both.ask(both.theirs.gcf) is first
    both.plt.figure(3)
    both.plt.figure(1)
    assert both.given() == [[], [3], [], 1]
    assert both.given() == []


def test_a_figure_of_the_program_that_comes_back_to_it_is_not_passed(both: Both):
    theirs = both.ask(both.theirs.figure)
    assert both.plt.gcf() is theirs
    assert both.given(theirs) == []


def test_another_figure_of_the_program_with_the_same_number_is_that(both: Both):
    first = both.ask(both.theirs.figure)
    both.ask(first.plot)
    assert both.plt.gcf() is first

    def another() -> Any:
        both.theirs.kept.destroy(1)
        return both.theirs.figure(1)

    second = both.ask(another)
    assert both.plt.gcf() is second


def test_what_the_script_draws_on_what_both_have_begun_it_closes_for_both(both: Both):
    mine = both.plt.figure()
    both.ask()
    mine.plot()
    assert both.plt.gcf() is mine
    both.plt.kept.destroy(1)
    both.ask()
    assert both.theirs.numbers() == []


@pytest.mark.parametrize("missing", [HELPERS, PYPLOT])
def test_a_program_without_pyplot_has_no_figures(missing: str, both: Both, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, missing)
    both.program.have(None, [], [1], [], 1)
    assert both.plt.numbers() == []


def test_a_figure_of_the_program_that_the_script_makes_the_current_one_is_that(both: Both):
    first, second = both.ask(both.theirs.figure), both.ask(both.theirs.figure)
    mine = both.plt.figure()
    mine.plot()
    both.plt.kept.set_active(Theirs(1, first.canvas))
    assert both.plt.gcf() is first
    assert both.given() == [[], [], [], 1]
    assert both.plt.numbers() == [2, 3, 1]
    both.plt.kept.set_active(Theirs(3, second.canvas))
    assert both.plt.gcf() is mine
    both.ask(lambda: both.theirs.kept.destroy(1))
    both.plt.kept.set_active(Theirs(1, first.canvas))
    assert both.plt.gcf() is first


def test_what_the_script_has_drawn_is_its_own(both: Both):
    mine = both.plt.figure()
    mine.plot()
    theirs = both.ask(both.theirs.figure)
    assert both.theirs.numbers() == [1]
    assert theirs is not mine
    assert both.plt.gcf() is mine
    assert both.plt.numbers() == [1]
    again = both.ask(both.theirs.figure)
    assert both.plt.gcf() is again
    assert both.plt.figure(1) is mine


def test_what_it_draws_on_what_it_had_begun_nothing_displaces(both: Both):
    mine = both.plt.figure()
    both.ask()
    assert both.plt.gcf() is mine
    mine.others.append("text")
    both.ask(lambda: both.theirs.gcf().plot())
    assert both.plt.gcf() is mine


@pytest.mark.parametrize("what", ["figure", "axes"])
def test_a_figure_that_is_passed_the_program_has_itself(both: Both, what: str):
    mine = both.plt.figure()
    mine.plot()
    both.ask(len, [])
    assert both.theirs.numbers() == []
    both.ask(id, mine if what == "figure" else mine.axes[0])
    assert both.theirs.numbers() == [1]
    assert both.ask(both.theirs.gcf) is mine
    assert both.plt.gcf() is mine
    both.ask(lambda: both.theirs.kept.destroy(1))
    assert both.plt.numbers() == []


def test_one_that_was_begun_and_then_passed_the_program_has_itself(both: Both):
    mine = both.plt.figure()
    both.ask()
    assert both.theirs.gcf() is not mine
    both.shown.show(mine)
    assert both.ask(both.theirs.gcf) is mine
    assert both.given() == []


def test_one_that_the_program_has_itself_gives_way_to_none(both: Both):
    mine = both.plt.figure()
    both.ask(id, mine)
    both.told = [1, Figure()]
    both.ask()
    assert both.plt.gcf() is mine


def test_one_that_the_program_has_not_heard_of_gives_way_to_none(both: Both):
    mine = both.plt.figure()
    both.told, both.shared.is_old = [1, Figure()], True
    assert both.plt.gcf() is mine


def titled() -> Axes:
    axes = Axes()
    axes.title = SimpleNamespace(get_text=lambda: "expected")
    return axes


@pytest.mark.parametrize(
    ("axes", "others", "is_begun"),
    [
        ([], [], True), ([Axes()], [], True), ([Axes(), Axes()], [], False), ([titled()], [], False),
        ([], ["text"], False),
    ],
)  # fmt: skip
def test_a_figure_is_but_begun_until_something_shows_on_it(
    axes: list[Any], others: list[str], is_begun: bool, both: Both
):
    mine = both.plt.figure()
    mine.axes, mine.others = axes, others
    both.ask()
    assert both.theirs.numbers() == [1] * is_begun


def test_the_current_one_of_the_script_stays_that_while_the_program_has_the_same(both: Both):
    both.ask(both.theirs.figure)
    both.plt.gcf()
    mine = both.plt.figure()
    mine.plot()
    for _ in range(2):
        both.ask()
        assert both.plt.gcf() is mine


def test_whoever_reads_asks_nothing_and_only_an_answer_tells(both: Both):
    both.ask(both.theirs.figure)
    both.shared._link.threads.reads = lambda: True
    assert (both.plt.numbers(), both.asked) == ([], 0)
    both.shared._link.threads.reads = lambda: False
    for answer in ((b"r", [1, Figure()]), (b"v", (1, Figure())), (b"v", None)):
        both.shared._link.exchange = lambda *_, given=answer: given
        both.shared.is_old = True
        assert both.plt.numbers() == []


def test_what_the_program_tells_is_taken_for_what_it_is(both: Both):
    own = both.plt.figure()
    own.plot()
    for told in (None, "ab", [1], ["1", Figure()], [True, Figure()], [3, "no figure"], [4, None], [1, Figure()]):
        both.told = [1, own] if told is None else told
        both.ask()
        assert both.plt.numbers() == [1]
        assert both.plt.gcf() is own
    both.told = [each for num in range(2, 600) for each in (num, Figure())]
    both.ask()
    assert len(both.plt.numbers()) == 257


def test_the_manager_of_a_figure_of_the_program_is_one(both: Both):
    figure = both.ask(both.theirs.figure)
    manager = next(iter(both.plt.kept.figs.values()))
    assert (manager.num, manager.canvas.figure, manager.get_window_title()) == (1, figure, "Figure 1")
    assert manager.canvas.draw() == "drawn"
    figure.get_label = lambda: "mine"
    assert manager.get_window_title() == "mine"
    assert manager.show() is manager.set_window_title("x") is manager.canvas.mpl_disconnect(manager._cidgcf) is None
