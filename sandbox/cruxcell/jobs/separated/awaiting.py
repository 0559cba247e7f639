"""Coroutines of the program that the test awaits: they run on an event loop of the candidate's own process.

The test's loop steps what it awaits. Each step runs the candidate's loop until the coroutine is done, or for some
milliseconds; so coroutines of both sides go on beside each other, and timeouts and cancelling work.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_SLICE_S = 0.005


def _loop_of(asyncio):
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


async def _of(awaitable):
    # type: (Any) -> Any
    return await awaitable


class Awaited:
    """What the test awaits of the candidate. Without asyncio in the program it is stepped as it is."""

    def __init__(self):
        # type: () -> None
        self._loop = None  # type: Any
        self._runs = {}  # type: dict[int, tuple[Any, Any, bool]]

    def step(self, target, how, *values):
        # type: (Any, str, Any) -> Any
        """`send`, `throw` or `close` to an awaitable: None while it waits; StopIteration holds its value."""
        run, is_task = self._run_of(target)
        try:
            found = self._stepped(run, how, values) if is_task else getattr(run, how)(*values)
        except BaseException:
            self._runs.pop(id(target), None)
            raise
        if how == "close":
            self._runs.pop(id(target), None)
        return found

    def _run_of(self, target):
        # type: (Any) -> tuple[Any, bool]
        """(the task or coroutine that runs it, is it a task?)"""
        if id(target) not in self._runs:
            run, is_task = _of(target), "asyncio" in sys.modules
            if is_task:
                self._loop = self._loop or _loop_of(sys.modules["asyncio"])
                run = self._loop.create_task(run)
            self._runs[id(target)] = target, run, is_task
        return self._runs[id(target)][1:]

    def _stepped(self, task, how, values):
        # type: (Any, str, tuple[Any, ...]) -> Any
        loop, asyncio = self._loop, sys.modules["asyncio"]  # type: Any, Any
        if how != "send":
            task.cancel()
        if not loop.is_running():
            timer = loop.call_later(_SLICE_S, loop.stop)
            stop = _Stop(loop)
            task.add_done_callback(stop)
            try:
                loop.run_forever()
            finally:
                timer.cancel()
                task.remove_done_callback(stop)
        if how == "close" or not task.done():
            return
        try:
            value = task.result()
        except asyncio.CancelledError:
            if how == "throw":
                raise values[0] from None
            raise
        raise StopIteration(value)


class _Stop:
    def __init__(self, loop):
        # type: (Any) -> None
        self._loop = loop

    def __call__(self, _task):
        # type: (object) -> None
        self._loop.stop()
