"""Memory that a script traces by `tracemalloc`: what the program allocates counts, too.

Each process traces its own. The candidate's half looks what comes while code of the program runs: not what a message
takes, which is there for both halves, as what the script passes is. So the larger figure of the two is the one.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

_MODULE = "tracemalloc"
_UNSAID = "the candidate does not say how much memory it has traced"
_DONE_BY_BOTH = frozenset(["start", "stop", "reset_peak", "clear_traces"])


class Traced:
    """Of the candidate's half: bytes that the program has, and had at most."""

    def __init__(self):
        # type: () -> None
        self._module = None  # type: Any
        self._now = self._most = 0

    def trace(self, _target, name, *arguments):
        # type: (object, str, int) -> None
        """What the script has its own process do."""
        self._module = __import__(_MODULE)
        getattr(self._module, name)(*arguments)
        if name in ("start", "clear_traces"):
            self._now = self._most = 0
        elif name == "reset_peak":
            self._most = self._now

    def traced(self, _target):
        # type: (object) -> list[int]
        if self._module is None or not self._module.is_tracing():
            return [0, 0]
        self._now = min(self._now, self._module.get_traced_memory()[0])  # the rest is gone since
        return [self._now, max(self._now, self._most)]

    def begin(self):
        # type: () -> tuple[int, int] | None
        """Code of the program is about to run; gives what `end` takes."""
        module = self._module
        if module is None or not module.is_tracing():
            return None
        now, most = module.get_traced_memory()
        if not hasattr(module, "reset_peak"):  # Python 3.8: there a smaller peak than before is not seen
            return now, most
        module.reset_peak()
        return now, 0

    def end(self, before):
        # type: (tuple[int, int] | None) -> None
        if before is None:
            return
        now, most = self._module.get_traced_memory()
        began = min(self._now, before[0])
        self._most = max(self._most, began + (most if most > before[1] else now) - before[0])
        self._now = min(max(began + now - before[0], 0), now)


def follow_tracing(link):
    # type: (Any) -> None
    """In the test's process."""
    __import__(_MODULE)
    module = sys.modules[_MODULE]  # type: Any
    look = module.get_traced_memory

    def get_traced_memory():
        # type: () -> tuple[int, int]
        told = link.tell("traced")
        if type(told) is not list or len(told) != len(look()) or not all(type(each) is int for each in told):
            link.refuse(_UNSAID)
        now, most = map(max, look(), told)
        return now, most

    module.get_traced_memory = get_traced_memory
    for name in _DONE_BY_BOTH & vars(module).keys():
        setattr(module, name, _by_both(link, name, getattr(module, name)))


def _by_both(link, name, do):
    # type: (Any, str, Callable[..., Any]) -> Any
    def done(*arguments):
        # type: (Any) -> None
        do(*arguments)
        link.tell("trace", name, *arguments)

    return done
