"""Event loops of separated scripts: for how long they run, their time, and in which order what they run has ended."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

SLICE_S = 0.005


def loop_of(asyncio):
    # type: (Any) -> Any
    """Up to 3.9 a lock or queue of the program's belongs to the loop that was current when it was made."""
    if sys.version_info < (3, 10):
        try:
            found = asyncio.get_event_loop_policy().get_event_loop()
            if not found.is_closed():
                return found
        except RuntimeError:  # there is none by now
            pass
    return asyncio.new_event_loop()


def run_for_a_while(loop, future):
    # type: (Any, Any) -> None
    """Until the future is done, or for some milliseconds; a loop that runs already goes on later."""
    if loop.is_running():
        return
    timer = loop.call_later(SLICE_S, loop.stop)
    stop = _Stop(loop)
    future.add_done_callback(stop)
    try:
        loop.run_forever()
    finally:
        timer.cancel()
        future.remove_done_callback(stop)


def run_what_is_ready(loop):
    # type: (Any) -> None
    """What is ready now, and nothing that becomes so."""
    if not loop.is_running():
        loop.call_soon(loop.stop)
        loop.run_forever()


class _Stop:
    def __init__(self, loop):
        # type: (Any) -> None
        self._loop = loop

    def __call__(self, _task):
        # type: (object) -> None
        self._loop.stop()


def clock_of(loop):
    # type: (Any) -> Clock
    return loop.time if type(loop.time) is Clock else Clock(loop)


class Clock:
    """The time of a loop; it may be made to stand."""

    def __init__(self, loop):
        # type: (Any) -> None
        self._time, self._behind = loop.time, 0.0
        self._stands_at = None  # type: float | None
        loop.time = self

    def __call__(self):
        # type: () -> float
        now = self._time() if self._stands_at is None else self._stands_at  # type: float
        return now - self._behind

    @property
    def stands(self):
        # type: () -> bool
        return self._stands_at is not None

    def stand(self):
        # type: () -> None
        if self._stands_at is None:
            self._stands_at = self._time()

    def go_on(self):
        # type: () -> None
        if self._stands_at is not None:
            self._behind += self._time() - self._stands_at
            self._stands_at = None


class Ends:
    """Who has come to an end, in that order, until somebody hears of it."""

    def __init__(self):
        # type: () -> None
        self._ahead = {}  # type: dict[Any, int]  # how many there were

    def __len__(self):
        # type: () -> int
        return len(self._ahead)

    def __contains__(self, one):
        # type: (Any) -> bool
        return one in self._ahead

    def note(self, one):
        # type: (Any) -> None
        self._ahead[one] = len(self._ahead)

    def forget(self, one):
        # type: (Any) -> None
        self._ahead.pop(one, None)

    def has_earlier(self, one):
        # type: (Any) -> bool
        """Is there one to hear of before? Who asks does so of all in turns; of some perhaps never, so this says so no
        more often than there were others."""
        is_earlier = self._ahead[one] > 0 and next(iter(self._ahead)) is not one
        self._ahead[one] -= is_earlier
        return is_earlier
