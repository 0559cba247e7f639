"""Which containers the candidate's messages change while the script looks: in the test's process."""

from cruxcell.jobs.separated.proxies.facts import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments


class Refills:
    """Nothing is kept while no thread looks."""

    def __init__(self):
        # type: () -> None
        self._looking = 0  # threads
        self._seen = []  # type: list[tuple[int, int, list[Any]]]  # when; the container's number, and what the table has of it

    def see(self, number, entry):
        # type: (int, list[Any]) -> None
        """A message has changed this container."""
        if self._looking:
            self._seen.append((now(), number, entry))

    def seen_by(self, ask, began):
        # type: (Callable[[], Any], int) -> tuple[Any, list[tuple[int, list[Any]]]]
        """(what `ask` gives, the containers that are changed between `began` and its end, in whatever thread)."""
        self._looking += 1
        try:
            found = ask()
            return found, [(number, entry) for when, number, entry in self._seen if when > began]
        finally:
            self._looking -= 1
            if not self._looking:
                self._seen.clear()
