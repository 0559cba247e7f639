"""While the script waits, threads of the program are heard: a timer calls its function while the script sleeps, or its
event loop has nothing to do, and a worker of a queue takes what the script has put there.

Otherwise nothing that they say counts before the script asks for something. A wait ends with a question that brings
what they have done to what both halves have.
"""

import sys

from cruxcell.builtin_like import take_place
from cruxcell.jobs.separated.proxies.shared_names import STAND_INS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments


def rested(_target):
    # type: (object) -> None
    """Of the candidate's half: what its threads have changed until now comes with the answer."""


def follow_waits(link):
    # type: (Any) -> None
    """In the test's process, where several threads may ask. Events, queues, barriers and futures wait by conditions,
    event loops by what stands in for a selector (`waiting_loop`)."""
    if not link.threads.may_rest():
        return
    threading = __import__("threading")  # type: Any
    time = sys.modules["time"]  # type: Any
    take_place(time, "sleep", _heard(link, time.sleep))
    threading.Condition.wait = _heard(link, threading.Condition.wait)
    threading.Thread.join = _heard(link, threading.Thread.join)
    STAND_INS.extend([time.sleep, threading.Condition.wait, threading.Thread.join])
    loops = sys.modules.get("asyncio.selector_events")  # type: Any
    if loops is not None:
        selector = loops.selectors.DefaultSelector
        selector.select = _heard(link, selector.select, _takes_time)


def _takes_time(_selector, timeout=None):
    # type: (object, Any) -> bool
    """A loop that has something to do only looks what is ready."""
    return timeout is None or timeout > 0


def _heard(link, wait, takes_time=None):
    # type: (Any, Callable[..., Any], Callable[..., bool] | None) -> Any
    def waits(*arguments, **keywords):
        # type: (Any, Any) -> Any
        is_rest = link.has_answered and link.threads.may_rest()
        if not is_rest or (takes_time is not None and not takes_time(*arguments, **keywords)):
            return wait(*arguments, **keywords)
        return link.rest(lambda: wait(*arguments, **keywords))

    waits.__name__, waits.__qualname__, waits.__doc__ = wait.__name__, wait.__qualname__, wait.__doc__
    waits.__module__, waits.__wrapped__ = wait.__module__, wait  # type: ignore[attr-defined]
    return waits
