"""What an object tells that is so for a moment, its number, value, length and truth: it is not asked twice in a row.

Each thread has what it was told itself.
"""

from _thread import get_ident as _get_ident
from time import monotonic as _monotonic

from cruxcell.jobs.separated.proxies.facts import number_of
from cruxcell.jobs.separated.proxies.operations import STEADY, VALUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional  # noqa: F401 - in type comments

    from cruxcell.jobs.separated.exchange.link import Link  # noqa: F401 - in type comments

# What the script has let go of, the program hears of with the next question, and it may be missing there: a pool of
# weak references has one object less.
_REST_ON_OTHERS = frozenset(["__len__", "__bool__"])


class Steady:
    """What may be told again, until something else is asked."""

    def __init__(self, link):
        # type: (Link) -> None
        self._link = link
        self._told = {}  # type: dict[int, dict[tuple[int, str], tuple[Any, float]]]  # with the time until when
        self._forgotten = 0  # how often
        self.served = 0  # how often the candidate has asked something of the script's, which may say another thing next

    @staticmethod
    def asked(operation, fields):
        # type: (str, list[Any]) -> Optional[tuple[int, str]]
        """Of which object what is asked for, if the answer holds for a moment."""
        return (number_of(fields[0]), fields[1]) if operation == "special" and fields[1] in STEADY else None

    def value_of(self, value, make):
        # type: (Any, Callable[[Any], Any]) -> Any
        """What `make` makes of an object: one and the same in `low <= x <= high`."""
        link, asked = self._link, (number_of(value), VALUE)
        with link.line:
            if self.holds(asked) and not link.containers.changed():
                return self.again(asked)
            served, made = self.served, make(value)
            if served == self.served:
                self.keep(asked, made, self.mark())
            return made

    def holds(self, asked):
        # type: (Optional[tuple[int, str]]) -> bool
        """Was this thread told it a moment ago?"""
        told = self._told.get(_get_ident(), {})
        if asked is None or asked not in told or (asked[1] in _REST_ON_OTHERS and self._link.objects.held.dead):
            return False
        return _monotonic() < told[asked][1]

    def again(self, asked):
        # type: (tuple[int, str]) -> Any
        return self._told[_get_ident()][asked][0]

    def mark(self):
        # type: () -> tuple[int, int]
        """What tells whether an answer that is asked for now may be kept."""
        return self._forgotten, self.served

    def keep(self, asked, value, mark):
        # type: (tuple[int, str], Any, tuple[int, int]) -> None
        """What was asked for at that mark. Since then another thread may have come back, from changing it after this
        was answered; or the answer may be what an object of the script's has said."""
        if mark != self.mark():
            return
        self._told.setdefault(_get_ident(), {})[asked] = value, _monotonic() + STEADY[asked[1]]

    def forget(self, own):
        # type: (bool) -> None
        """What this thread was told (`own`), or all of them."""
        self._forgotten += 1
        if own:
            self._told.pop(_get_ident(), None)
        else:
            self._told = {}
