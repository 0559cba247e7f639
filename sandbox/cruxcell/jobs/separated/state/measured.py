"""CPU time that a script measures, by `time.process_time` and the like: that of the program counts, too. So it is with
the most memory that a process has had (`getrusage`), of which the larger figure counts.

How much a process has used the kernel says to it alone. So a script that names one of these clocks hears what its own
process has used and, in addition, what the candidate says of the other one.
"""

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_UNSAID = "the candidate does not say how much CPU time or memory it has used"
_NS = 10**9
_PROCESS, _THREAD, _USER, _SYSTEM = range(4)
_ITSELF = 0  # of getrusage: neither its children nor a thread


def used(_target):
    # type: (object) -> list[int]
    """Of the candidate's half, in ns: by its process, by the thread that stands for the script's, and by its process in
    user and in system mode."""
    times = os.times()
    return [time.process_time_ns(), time.thread_time_ns(), int(times[0] * _NS), int(times[1] * _NS)]


def most_memory(_target):
    # type: (object) -> int
    """Of the candidate's half: how much memory its process has had at most, as the kernel counts it."""
    return int(__import__("resource").getrusage(_ITSELF).ru_maxrss)


def follow_clocks(link):
    # type: (Any) -> None
    """In the test's process, as the next two: `time.process_time` and the like."""
    module = sys.modules["time"]  # type: Any
    own = module.clock_gettime_ns
    clocks = {module.CLOCK_PROCESS_CPUTIME_ID: _PROCESS, module.CLOCK_THREAD_CPUTIME_ID: _THREAD}

    def clock_gettime_ns(clk_id):
        # type: (Any) -> int
        place = clocks.get(clk_id)
        return own(clk_id) + (0 if place is None else _told(link)[place])  # type: ignore[no-any-return]

    def of_process():
        # type: () -> int
        return clock_gettime_ns(module.CLOCK_PROCESS_CPUTIME_ID)

    def of_thread():
        # type: () -> int
        return clock_gettime_ns(module.CLOCK_THREAD_CPUTIME_ID)

    vars(module).update(
        process_time_ns=of_process,
        process_time=lambda: of_process() / _NS,
        thread_time_ns=of_thread,
        thread_time=lambda: of_thread() / _NS,
        clock_gettime_ns=clock_gettime_ns,
        clock_gettime=lambda clk_id: clock_gettime_ns(clk_id) / _NS,
    )


def follow_times(link):
    # type: (Any) -> None
    module = sys.modules["os"]  # type: Any
    own = module.times
    module.times = lambda: _with(own(), _told(link))


def follow_usage(link):
    # type: (Any) -> None
    module = __import__("resource")  # type: Any
    own = module.getrusage

    def getrusage(who):
        # type: (Any) -> Any
        found = own(who)
        if who != _ITSELF:
            return found
        most = link.tell("most_memory")
        if type(most) is not int:
            link.refuse(_UNSAID)
        found = _with(found, _told(link))
        return type(found)((*found[:2], max(found.ru_maxrss, most), *found[3:]))

    module.getrusage = getrusage


def _told(link):
    # type: (Any) -> list[int]
    found = link.tell("used")
    if type(found) is not list or len(found) <= _SYSTEM or not all(type(each) is int for each in found):
        link.refuse(_UNSAID)
    return [max(each, 0) for each in found]


def _with(found, more):
    # type: (Any, list[int]) -> Any
    """Times of the kernel's, of which the first two are in user and in system mode, with those that the candidate
    tells."""
    return type(found)((found[0] + more[_USER] / _NS, found[1] + more[_SYSTEM] / _NS, *found[2:]))
