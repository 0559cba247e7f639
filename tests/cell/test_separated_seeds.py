"""Where random numbers are, for a script that asks and sets them to that again."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.followed import FOLLOWED
from cruxcell.jobs.separated.state.borrowing import Borrower
from cruxcell.jobs.separated.state.seeds import Seeded, follow_states
from script_half import Refused, RefusingLink


class Link(RefusingLink):
    """The test's half; `said`: what the candidate says at each question, whether it has drawn any."""

    def __init__(self, said: list[Any], *names: str) -> None:
        self.said, self.objects = said, SimpleNamespace(in_script=set(names))

    def ask(self, operation: str, target: object, where: str) -> Any:
        assert (operation, target, where) == ("drawn", None, "random")
        return self.said.pop(0)


@pytest.fixture(name="module")
def module_of_the_script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A copy with numbers of its own."""
    copy, own = ModuleType("random"), random.Random(1)
    vars(copy).update(vars(random))
    vars(copy).update({name: getattr(own, name) for name in ("random", "seed", "getstate", "setstate")})
    monkeypatch.setitem(sys.modules, "random", copy)
    return copy


@pytest.fixture(name="follow")
def followed(module: Any) -> Callable[..., Seeded]:
    def follow(said: list[Any], *names: str) -> Seeded:
        seeded = Seeded("random", module)
        follow_states(Link(said, *names))
        return seeded

    return follow


def test_numbers_are_elsewhere_once_the_program_has_drawn(follow, module: Any):
    own = module.getstate()
    seeded = follow([False, True, False], "getstate")
    before = seeded.read()
    assert module.getstate() == own
    moved = module.getstate()
    assert moved != own
    assert module.getstate() == moved
    assert seeded.read() == (before[0], moved)


def test_numbers_that_the_script_may_set_are_the_program_s_from_there_on(follow, module: Any):
    seeded = follow([False, False], "getstate", "setstate")
    (count, own), state = seeded.read(), module.getstate()
    assert seeded.read() == (count + 1, own)
    assert state == own
    module.random()
    module.setstate(state)
    assert seeded.read() == (count + 2, own)


def test_a_script_that_does_not_ask_has_its_own(follow, module: Any):
    before = module.getstate
    follow([], "setstate")
    assert module.getstate is before


@pytest.mark.parametrize("said", [None, 1, "yes"])
def test_a_candidate_that_does_not_say_ends_the_script(follow, module: Any, said: Any):
    follow([said], "getstate")
    with pytest.raises(Refused, match="does not say whether"):
        module.getstate()


def test_the_program_has_drawn_what_it_has_since_the_script_looked_or_set_them(module: Any):
    one = Borrower({}, 0)
    assert [one.drawn(None, "random"), one.drawn(None, "random")] == [False, False]
    module.random()
    assert [one.drawn(None, "random"), one.drawn(None, "random")] == [True, False]
    state = module.getstate()
    module.random()
    one.take("random", "random", "", False, (3, state))
    assert module.getstate() == state
    assert one.drawn(None, "random") is False
    module.seed(4)
    assert one.drawn(None, "random") is True
    assert one.drawn(None, "no.such.module") is False
    one.take("random", "no.such.module", "", False, (3, state))


@pytest.mark.parametrize("name", ["getstate", "get_state"])
def test_a_script_that_names_states_follows(name: str):
    assert FOLLOWED[name] is follow_states
