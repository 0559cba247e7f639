"""In the test's process: which containers the candidate's messages have changed while a question was open."""

from cruxcell.jobs.separated.proxies.facts import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments


class Refills:
    """Changes are noted while a thread asks, and forgotten when none does."""

    def __init__(self):
        # type: () -> None
        self._asking = 0  # threads
        self._changes = []  # type: list[tuple[int, int, list[Any]]]  # when; the container's number, and what the table has of it

    def note(self, number, entry):
        # type: (int, list[Any]) -> None
        """A message has changed this container."""
        if self._asking:
            self._changes.append((now(), number, entry))

    def during(self, ask, began):
        # type: (Callable[[], Any], int) -> tuple[Any, list[tuple[int, list[Any]]]]
        """(what `ask` gives, the containers that are changed between `began` and its end, in whatever thread)."""
        self._asking += 1
        try:
            found = ask()
            return found, [(number, entry) for when, number, entry in self._changes if when > began]
        finally:
            self._asking -= 1
            if not self._asking:
                self._changes.clear()
