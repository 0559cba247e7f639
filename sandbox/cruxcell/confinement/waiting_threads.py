"""Threads that find no place wait for one: a worker may have few, and programs start hundreds that soon end.

`Thread.start` waits as long as others of the process end, and a pool does with the threads that it has. So only what
needs more of them at the same time than there may be gets the error.

What stands here ends in candidates' hands, so this module holds nothing but it.
"""

import _thread
import sys
from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_PATIENCE = 500  # times that one waits for a millisecond until another ends
_NO_PLACE = "can't start new thread"
_does_with_few = set()  # type: set[int]  # the threads in which a pool wants one more
_turn = _thread.allocate_lock()  # of who waits, while others wait for that: to look all the time takes CPU time
_full = [0]  # as many threads as there were when one had waited in vain
_last = [0]  # as many as there were with the last one that was started
_unjoined = set()  # type: set[Any]  # handles, from 3.13 on
_MOST_UNJOINED = 32


def install():
    # type: () -> None
    """Where `threading` and the pools have been imported: they are what a program is given."""
    threading = sys.modules.get("threading")  # type: Any
    if threading is not None:
        threading.Thread.start = _waiting(threading.Thread.start, *_handles(threading))
    pools = sys.modules.get("concurrent.futures.thread")  # type: Any
    if pools is not None:
        pools.ThreadPoolExecutor._adjust_thread_count = _of_few(pools.ThreadPoolExecutor._adjust_thread_count)


def _handles(threading):
    # type: (Any) -> tuple[Any, str]
    """(their class, the attribute in which a thread has its own); None before 3.13. The name differs by version."""
    handle = getattr(threading, "_ThreadHandle", None)  # type: Any
    found = [] if handle is None else vars(threading.main_thread()).items()  # type: Any
    return handle, next((name for name, value in found if isinstance(value, handle)), "")


def _waiting(own, handle, place):
    # type: (Any, Any, str) -> Any
    def start(self):
        # type: (Any) -> None
        patience = _PATIENCE
        while True:
            running = _thread._count()
            try:
                own(self)
                _last[0] = running + 1
                break
            except RuntimeError as error:
                if error.args != (_NO_PLACE,) or _thread.get_ident() in _does_with_few:
                    raise
                if running < _last[0] and patience:  # the kernel has yet to let go of the stack of one that has ended
                    patience -= 1
                    sleep(0.001)
                elif not _does_one_end(running):
                    _last[0] = running
                    raise
            if handle is not None:
                setattr(self, place, handle())  # that of one that could not be started counts as started
                _give_back()
        if handle is not None:
            _unjoined.add(getattr(self, place))
            if len(_unjoined) > _MOST_UNJOINED:
                _give_back()

    return start


def _does_one_end(running):
    # type: (int) -> bool
    """Of so many threads; not if one has waited for that in vain, and there are no less since."""
    with _turn:
        for _ in range(_PATIENCE if running else 0):
            now = _thread._count()
            if now < running:
                _full[0] = 0
                return True
            if 0 < _full[0] <= now:
                return False
            sleep(0.001)
        _full[0] = running
        return False


def _give_back():
    # type: () -> None
    """The stacks of threads that have ended, which they have from 3.13 on until somebody joins them."""
    for each in [each for each in _unjoined.copy() if each.is_done()]:
        _unjoined.discard(each)
        each.join()


def _of_few(adjust):
    # type: (Any) -> Any
    def _adjust_thread_count(self):
        # type: (Any) -> None
        """Its threads take what waits one after the other."""
        me = _thread.get_ident()
        if self._threads:
            _does_with_few.add(me)
        try:
            adjust(self)
        except RuntimeError:
            if not self._threads:
                raise
        finally:
            _does_with_few.discard(me)

    return _adjust_thread_count
