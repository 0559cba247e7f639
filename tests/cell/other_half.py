"""The other half of a pair, played: it notes what it is asked, and answers as a test tells it to."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from cruxcell.jobs.separated.proxies import facts, runs
from cruxcell.jobs.separated.proxies.doubts import Doubts
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from cruxcell.jobs.separated.proxies.remote import RemoteBase

Answer = Callable[..., Any]
End = TypeVar("End")
own_dict: Any = vars(type)["__dict__"].__get__  # of a proxy's class: `vars` asks the other half


class Other:
    """The other half, which answers each question with what stands for its operation, or `answer` makes of it."""

    def __init__(self, is_test: bool = True) -> None:
        self.is_test = is_test
        self.asked: list[tuple[Any, ...]] = []
        self.answers: dict[str, Any] = {}
        self.ended: list[Any] = []
        self.is_own = False
        self.has_cancelled = False
        self.compared_by_identity = False
        self.means = True
        self.named = frozenset(["__secret", "__iter__", "__array_struct__"])
        self.calls: Callable[[], object] | None = None
        self.objects = SimpleNamespace(classes={})
        self.doubts = Doubts()
        self.pickles = SimpleNamespace(reduced=lambda value, protocol: ("reduced", value, protocol))
        self.last = 0

    def ask(self, operation: str, *fields: object) -> Any:
        self.asked.append((operation, *fields))
        answer = self.answers.get(operation, 8)
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) and not isinstance(answer, (RemoteBase, type)) else answer

    def call(self, target: object, arguments: object, keywords: object) -> Any:
        return self.ask("call", target, arguments, keywords) if self.calls is None else self.calls()

    def means_a_class(self, _cls: object) -> bool:
        return self.means

    def alone_since(self, time: int) -> int:
        return time

    def note(self, values: tuple[object, ...]) -> Any:
        return values, None

    def note_again(self, _value: object, _shown: Any, _began: int) -> None:
        pass

    def refuse(self, why: str) -> None:
        raise TypeError(why)

    gone = decline = refuse

    def may_end(self, ends: object) -> None:
        self.ended.append(ends)

    def made_by_itself(self, _error: object, _traceback: object) -> bool:
        return self.is_own

    def cls(self, *bases: type, offers: str = "", overrides: str = "", stands: type | None = None) -> Any:
        self.last += 1
        return make_class("A", self.last, bases, offers.split(), overrides.split(), stands)

    def thing(self, offers: str = "", **options: Any) -> Any:
        """An opaque object."""
        made = object.__new__(self.cls(offers=offers, **options))
        facts.give_number(made, 7)
        return made


def connected(other: End) -> End:
    """It, as the connection of this process from now on."""
    runs.LINK[:] = [other]
    return other


@pytest.fixture(name="either", params=[True, False], ids=["test", "candidate"])
def either_half(request: pytest.FixtureRequest) -> Other:
    return connected(Other(request.param))


@pytest.fixture(name="other")
def other_half() -> Other:
    return connected(Other())


def number(other: Other, standing: int, overrides: str, value: int = 7) -> Any:
    """A number with a class of the other half's."""
    cls = other.cls(int, overrides=overrides)
    found = cls.__new__(cls, value)
    facts.give_number(found, 7)
    return facts.marked(found, standing, cls, 0)
