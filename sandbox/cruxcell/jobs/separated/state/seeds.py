"""Where the random numbers of a module are, which a script sets by a seed, or looks at.

A generator of the test's is never set to what the candidate says: it would choose the inputs of a test.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

SEEDS = frozenset(["seed", "setstate", "set_state"])
# By modules: the functions that tell where its random numbers are, and that set it.
STATES = {"random": ("getstate", "setstate"), "numpy.random": ("get_state", "set_state")}
_UNSAID = "the candidate does not say whether it has drawn random numbers"


def state_by(look):
    # type: (Callable[[], Any]) -> Any
    """As plain data."""
    return tuple([each.tolist() if hasattr(each, "tolist") else each for each in look()])


def put(name, module, state):
    # type: (str, Any, Any) -> None
    getattr(module, STATES[name][1])(state)


class Seeded:
    """Where the random numbers of a module are, and how often they were set to begin anew: what the program has drawn
    since does not show in the test's."""

    def __init__(self, name, module):
        # type: (str, Any) -> None
        self._look, self._count = getattr(module, STATES[name][0]), 0
        for each in SEEDS.intersection(dir(module)):
            setattr(module, each, self._counted(getattr(module, each)))

    def read(self):
        # type: () -> tuple[int, Any]
        return self._count, state_by(self._look)

    def _counted(self, function):
        # type: (Any) -> Any
        def seed(*arguments, **keywords):
            # type: (Any, Any) -> Any
            self._count += 1
            return function(*arguments, **keywords)

        return seed


class Drawn:
    """Of the candidate's half: have the random numbers of a module moved on since the script has looked or set them?"""

    def __init__(self):
        # type: () -> None
        self._last = {}  # type: dict[str, Any]

    def note(self, name, module):
        # type: (str, Any) -> bool
        now = state_by(getattr(module, STATES[name][0]))
        last, self._last[name] = self._last.get(name, now), now
        return bool(now != last)


def follow_states(link):
    # type: (Any) -> None
    """In the test's process: where random numbers are when the script asks, as it may set them to that again."""
    for name, (getter, setter) in STATES.items():
        if getter in link.objects.in_script:
            __import__(name)
            module = sys.modules[name]  # everybody's, which may not be the one that the harness keeps for itself
            setattr(module, getter, _looking(link, name, module, setter in link.objects.in_script))


def _looking(link, name, module, may_be_set):
    # type: (Any, str, Any, bool) -> Callable[..., Any]
    look = getattr(module, STATES[name][0])

    def where_they_are(*arguments, **keywords):
        # type: (Any, Any) -> Any
        has_drawn = link.ask("drawn", None, name)
        if type(has_drawn) is not bool:
            link.refuse(_UNSAID)
        if has_drawn:
            module.random()  # the numbers are no longer where they were
        if may_be_set:
            put(name, module, look())  # as a seed, with which the program goes on from there
        return look(*arguments, **keywords)

    return where_they_are
