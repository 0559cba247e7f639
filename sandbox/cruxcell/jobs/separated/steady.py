"""What an object tells that is so for a moment, its number, value, length and truth: it is not asked twice in a row.

Each thread has what it was told itself.
"""

from _thread import get_ident as _get_ident
from time import monotonic as _monotonic

from cruxcell.jobs.separated.operations import STEADY, VALUE
from cruxcell.jobs.separated.remote import number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional  # noqa: F401 - in type comments

    from cruxcell.jobs.separated.line import Line  # noqa: F401 - in type comments
    from cruxcell.values.containers import Containers  # noqa: F401 - in type comments


class Steady:
    """What may be told again, until something else is asked."""

    def __init__(self, line, containers):
        # type: (Line, Containers) -> None
        self._line, self._containers = line, containers
        self._told = {}  # type: dict[int, dict[tuple[int, str], tuple[Any, float]]]  # with the time until when
        self.forgotten = 0  # how often

    @staticmethod
    def asked(operation, fields):
        # type: (str, list[Any]) -> Optional[tuple[int, str]]
        """Of which object what is asked for, if the answer holds for a moment."""
        return (number_of(fields[0]), fields[1]) if operation == "special" and fields[1] in STEADY else None

    def value_of(self, value, make):
        # type: (Any, Callable[[Any], Any]) -> Any
        """What `make` makes of an object: in `low <= x <= high` it is one and the same."""
        asked = number_of(value), VALUE
        with self._line:
            if self.holds(asked) and not self._containers.changed():
                return self.again(asked)
            made = make(value)
            self.keep(asked, made, self.forgotten)
            return made

    def holds(self, asked):
        # type: (Optional[tuple[int, str]]) -> bool
        """Was this thread told it a moment ago?"""
        told = self._told.get(_get_ident(), {})
        return asked is not None and asked in told and _monotonic() < told[asked][1]

    def again(self, asked):
        # type: (tuple[int, str]) -> Any
        return self._told[_get_ident()][asked][0]

    def keep(self, asked, value, forgotten):
        # type: (tuple[int, str], Any, int) -> None
        """What was asked for when so much was forgotten: since then another thread may have come back, from changing it
        after this was answered."""
        if forgotten != self.forgotten:
            return
        self._told.setdefault(_get_ident(), {})[asked] = value, _monotonic() + STEADY[asked[1]]

    def forget(self, own):
        # type: (bool) -> None
        """What this thread was told (`own`), or all of them."""
        self.forgotten += 1
        if own:
            self._told.pop(_get_ident(), None)
        else:
            self._told = {}
