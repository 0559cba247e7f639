"""CPU time that a script measures, by `time.process_time` and the like: that of the program counts, too.

How much a process has used the kernel says to it alone. So a script that names one of these clocks hears what its own
process has used and, in addition, what the candidate says of the other one.
"""

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

_UNSAID = "the candidate does not say how much CPU time it has used"
_NS = 10**9
_PROCESS, _THREAD, _USER, _SYSTEM = range(4)
_ITSELF = 0  # of getrusage: neither its children nor a thread


def used(_target):
    # type: (object) -> list[int]
    """Of the candidate's half, in ns: by its process, by the thread that stands for the script's, and by its process in
    user and in system mode."""
    times = os.times()
    return [time.process_time_ns(), time.thread_time_ns(), int(times[0] * _NS), int(times[1] * _NS)]


def follow_clocks(link, source):
    # type: (Any, str) -> None
    """In the test's process: the clocks that a script names in its `source`."""

    def told():
        # type: () -> list[int]
        found = link.tell("used")
        if type(found) is not list or len(found) <= _SYSTEM or not all(type(each) is int for each in found):
            link.refuse(_UNSAID)
        return [max(each, 0) for each in found]

    for name, put_together in dict.fromkeys([found for word, found in _CLOCKS.items() if word in source]):
        __import__(name)
        vars(sys.modules[name]).update(put_together(sys.modules[name], told))


def _of_time(module, told):
    # type: (Any, Callable[[], list[int]]) -> dict[str, Any]
    own = module.clock_gettime_ns
    clocks = {module.CLOCK_PROCESS_CPUTIME_ID: _PROCESS, module.CLOCK_THREAD_CPUTIME_ID: _THREAD}

    def clock_gettime_ns(clk_id):
        # type: (Any) -> int
        place = clocks.get(clk_id)
        return own(clk_id) + (0 if place is None else told()[place])  # type: ignore[no-any-return]

    def of_process():
        # type: () -> int
        return clock_gettime_ns(module.CLOCK_PROCESS_CPUTIME_ID)

    def of_thread():
        # type: () -> int
        return clock_gettime_ns(module.CLOCK_THREAD_CPUTIME_ID)

    return {
        "process_time_ns": of_process,
        "process_time": lambda: of_process() / _NS,
        "thread_time_ns": of_thread,
        "thread_time": lambda: of_thread() / _NS,
        "clock_gettime_ns": clock_gettime_ns,
        "clock_gettime": lambda clk_id: clock_gettime_ns(clk_id) / _NS,
    }


def _of_os(module, told):
    # type: (Any, Callable[[], list[int]]) -> dict[str, Any]
    own = module.times
    return {"times": lambda: _with(own(), told())}


def _of_resource(module, told):
    # type: (Any, Callable[[], list[int]]) -> dict[str, Any]
    own = module.getrusage
    return {"getrusage": lambda who: _with(own(who), told()) if who == _ITSELF else own(who)}


def _with(found, more):
    # type: (Any, list[int]) -> Any
    """Times of the kernel's, of which the first two are in user and in system mode, with those that the candidate
    tells."""
    return type(found)((found[0] + more[_USER] / _NS, found[1] + more[_SYSTEM] / _NS, *found[2:]))


# By the word with which a script names one: its module, and what is put there instead.
_CLOCKS = {
    "process_time": ("time", _of_time),
    "thread_time": ("time", _of_time),
    "CPUTIME_ID": ("time", _of_time),
    "os.times": ("os", _of_os),
    "getrusage": ("resource", _of_resource),
}  # type: dict[str, tuple[str, Callable[[Any, Any], dict[str, Any]]]]
