"""`multiprocessing.pool.ThreadPool` without a pipe, which is refused to workers.

Its threads tell each other by one that there is nothing left to do. A queue stands in for it. Pools of processes stay
refused.

What stands here ends in candidates' hands, so this module holds nothing but it.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments


def install_for(source):
    # type: (str) -> None
    """Where the program names that package."""
    if "multiprocessing" not in source:
        return
    try:
        pools = __import__("multiprocessing.pool", None, None, ["*"])  # type: Any
    except ImportError:  # of a runtime that lacks it
        return
    if hasattr(pools.Pool, "_wait_for_updates") and not hasattr(pools.ThreadPool, "_news"):
        _install(pools, pools.queue)


def _install(pools, queue):
    # type: (Any, Any) -> None
    class News(queue.SimpleQueue):  # type: ignore[misc]
        _reader = None

    class Context:
        SimpleQueue = News

    begin, own_wait = pools.Pool.__init__, pools.Pool._wait_for_updates

    def _wait_for_updates(sentinels, change_notifier, timeout=None):
        # type: (Any, Any, Any) -> None
        if type(change_notifier) is not News:
            own_wait(sentinels, change_notifier, timeout)
            return
        try:
            change_notifier.get(True, timeout)
            while True:
                change_notifier.get(False)
        except queue.Empty:
            pass

    def begin_with_threads(self, processes=None, initializer=None, initargs=()):
        # type: (Any, Any, Any, Any) -> None
        begin(self, processes, initializer, initargs, context=Context)

    pools.Pool._wait_for_updates = staticmethod(_wait_for_updates)
    pools.ThreadPool.__init__, pools.ThreadPool._news = begin_with_threads, News
