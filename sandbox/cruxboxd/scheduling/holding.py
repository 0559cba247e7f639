"""What came of checks and waits for their verdicts, in bytes.

A result waits from the moment it is here: for those of other checks whose verdicts are found with its own, until what
is expected of it has been read or computed, for an audit, for a checker. All that such a verdict waits for goes before
checks that have not begun. So a tenant that has much of it begins nothing, and never waits for itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from cruxboxd.zygotes.jobs import Job, Result


class Holding:
    """The results that one verdict waits for, or several that are found together.

    Args:
        changed: called with it and by how many bytes it has grown.
        verdicts: how many.
    """

    def __init__(self, changed: Callable[[Holding, int], None], verdicts: int) -> None:
        self.size = 0
        self.jobs: dict[Job, None] = {}  # of those yet to come, those that began before there was any
        self._changed, self._verdicts = changed, verdicts
        self._is_closed = False

    def add(self, size: int) -> None:
        """So many bytes more wait."""
        if not self._is_closed:
            self.size += size
            self._changed(self, size)

    def expect(self, verdicts: int) -> None:
        """So many verdicts are found here; others elsewhere, which nothing here waits for."""
        self._verdicts = verdicts
        if not verdicts:
            self.close()

    def leave(self, size: int) -> None:
        """A verdict is known, in which so many of the bytes leave; with the last, all."""
        self._verdicts -= 1
        if self._verdicts <= 0:
            self.close()
        else:
            self.add(-min(size, self.size))

    def close(self) -> None:
        """Nothing waits here any more, whatever is still to come."""
        self.add(-self.size)
        self._is_closed = True


# That of the verdicts which are being found.
current_holding: ContextVar[Holding | None] = ContextVar("current_holding", default=None)

# Do others wait, with what has come of them, for all that is asked for here?
is_awaited: ContextVar[bool] = ContextVar("is_awaited", default=False)


@contextlib.contextmanager
def awaited() -> Iterator[None]:
    """What is asked for meanwhile goes before checks that have not begun."""
    before = is_awaited.set(True)
    try:
        yield
    finally:
        is_awaited.reset(before)


def hold_more(size: int) -> None:
    """What has come takes so many bytes more than it did."""
    holding = current_holding.get()
    if holding is not None:
        holding.add(size)


def leave(size: int) -> None:
    """A verdict is known; so many bytes leave in it."""
    holding = current_holding.get()
    if holding is not None:
        holding.leave(size)


def size_of(result: Result) -> int:
    """Bytes of a result."""
    return len(result.report) + sum(map(len, result.streams)) + sum(len(file) for _, file in result.files.files)
