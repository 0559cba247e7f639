"""A pyplot that draws nothing for each half of a script, and the two halves."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.crossing.numbered import Shown
from cruxcell.jobs.separated.state.figures import ProgramFigures, SharedFigures

HELPERS, PYPLOT, FIGURE = "matplotlib._pylab_helpers", "matplotlib.pyplot", "matplotlib.figure"


class Axes:
    def __init__(self) -> None:
        self.title, (self.xaxis, self.yaxis) = SimpleNamespace(get_text=str), [SimpleNamespace(label=self)] * 2
        self.drawn: list[str] = []

    def get_text(self) -> str:
        return ""

    def get_children(self) -> list[object]:
        return [*range(10), *self.drawn]


class Figure:
    def __init__(self) -> None:
        self.patch, self.axes, self.others = object(), [], []  # type: Any, list[Any], list[str]
        self.canvas = SimpleNamespace(figure=self, draw=lambda: "drawn")

    def get_children(self) -> list[object]:
        return [self.patch, *self.axes, *self.others]

    def get_label(self) -> str:
        return ""

    def plot(self) -> None:
        if not self.axes:
            self.axes.append(Axes())
        self.axes[-1].drawn.append("line")


class Manager:
    _cidgcf = 1

    def __init__(self, num: int) -> None:
        self.num, self.canvas = num, Figure().canvas

    def destroy(self) -> None:
        pass


class Pyplot:
    """As much of it as is asked here, with what it keeps for itself as the real one does."""

    def __init__(self) -> None:
        class Gcf:
            figs: Any = OrderedDict()

            @classmethod
            def destroy(cls, num: int) -> None:
                if num in cls.figs:
                    cls.figs.pop(num).destroy()

            @classmethod
            def set_active(cls, manager: Any) -> None:
                cls.figs[manager.num] = manager
                cls.figs.move_to_end(manager.num)

        self.kept = Gcf
        self.modules = {HELPERS: ModuleType(HELPERS), PYPLOT: ModuleType(PYPLOT), FIGURE: ModuleType(FIGURE)}
        vars(self.modules[HELPERS])["Gcf"] = Gcf
        vars(self.modules[PYPLOT])["figure"] = self.figure
        vars(self.modules[FIGURE])["Figure"] = Figure

    def figure(self, num: int = 0) -> Any:
        num = num or max(self.kept.figs, default=0) + 1
        self.kept.set_active(self.kept.figs.get(num) or Manager(num))
        return self.gcf()

    def gcf(self) -> Any:
        figs = self.kept.figs
        return next(reversed(figs.values())).canvas.figure if figs else self.figure()

    def numbers(self) -> list[int]:
        return list(self.kept.figs)


class OfTheirs(type):
    """The class of classes of what is the program's."""


class Theirs(metaclass=OfTheirs):
    """The program's manager of a figure, which the script has by the figure's canvas."""

    def __init__(self, num: int, canvas: Any) -> None:
        self.num, self.canvas = num, canvas


class Both:
    """The two halves: `plt` the script's, `theirs` the program's."""

    def __init__(self) -> None:
        self.plt, self.theirs, self.shown = Pyplot(), Pyplot(), Shown(True)
        link = SimpleNamespace(
            exchange=self._exchange,
            threads=SimpleNamespace(reads=lambda: False),
            objects=SimpleNamespace(shown=self.shown, class_of_proxies=OfTheirs),
        )
        self.asked, self.told = 0, None  # type: int, Any
        self.shared, self.program = SharedFigures(link, {"plt"}), ProgramFigures()

    def _exchange(self, operation: str, _fields: object) -> tuple[bytes, Any]:
        assert operation == "figures"
        self.asked += 1
        with having(self.theirs):
            return b"v", self.program.figures(None) if self.told is None else self.told

    def given(self, *values: Any) -> list[Any]:
        with having(self.plt):
            return self.shared.given(list(values))

    def ask(self, function: Any = None, *values: Any) -> Any:
        """A question of the script's."""
        given = self.given(*values)
        with having(self.theirs):
            if given:
                self.program.have(None, *given)
            found = function(*values) if function else None
        self.shared.is_old = True
        return found


@contextmanager
def having(one: Pyplot) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, module in one.modules.items():
            patch.setitem(sys.modules, name, module)
        yield


@pytest.fixture(name="both")
def both_halves() -> Iterator[Both]:
    made = Both()
    made.ask()
    with having(made.plt):
        yield made
