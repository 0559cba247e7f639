"""The line of a link: who holds it reads and changes what is known of the link.

Where several threads ask, no garbage is collected while somebody holds it. A finalizer that asks for something would
run in the midst of a change, with the line free while it waits.
"""

import gc
from _thread import RLock as _RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator  # noqa: F401 - in type comments

# Taken now: what a program puts in their place later changes nothing.
collects_garbage, collect_not, collect_again = gc.isenabled, gc.disable, gc.enable


class Line:
    """A reentrant lock. Between any two steps of its own that leave garbage to be collected, a finalizer may take it
    and let it go: what it finds then is as if the line were free."""

    def __init__(self):
        # type: () -> None
        self._lock = _RLock()
        self._depth = 0  # how often who holds it has it
        self._paused_at = 0  # at which depth collecting was paused; 0 while it is as the script has it
        self.is_shared = False  # may several threads ask?
        self._chain = None  # type: Any

    def share(self):
        # type: () -> None
        """Several threads may ask from now on."""
        self._chain = __import__("itertools").chain  # which a lean zygote is without
        self.is_shared = True

    def __enter__(self):
        # type: () -> None
        self._lock.acquire()
        self._depth += 1
        if not self._paused_at and self.is_shared and collects_garbage():
            collect_not()
            self._paused_at = self._depth

    def __exit__(self, *_):
        # type: (object) -> None
        if self._paused_at == self._depth:
            self._paused_at = 0
            collect_again()
        self._depth -= 1
        self._lock.release()

    def outside(self, function, *arguments):
        # type: (Callable[..., Any], Any) -> Any
        """`function(*arguments)` with the line free, however often this thread has it."""
        depth, paused_at = self._depth, self._paused_at
        self._depth = self._paused_at = 0
        if paused_at:
            collect_again()
        held = self._lock._release_save()  # type: ignore[attr-defined]
        try:
            return function(*arguments)
        finally:
            self._lock._acquire_restore(held)  # type: ignore[attr-defined]
            self._depth = depth
            if collects_garbage():
                collect_not()
                self._paused_at = paused_at or depth

    def extend_outside(self, came, coming):
        # type: (list[Any], Iterator[Any]) -> None
        """`came.extend(coming)` with the line free, which this thread has once. That is one step with letting it go: no
        finalizer runs in this thread, which may be the only one that could bring what that waits for."""
        again = iter(collect_again, None) if self._paused_at else ()  # type: Any
        self._depth = self._paused_at = 0
        try:
            came.extend(self._chain(again, iter(self._lock.release, None), coming))
        finally:
            self._lock.acquire()
            self._depth = 1
            if collects_garbage():
                collect_not()
                self._paused_at = 1
