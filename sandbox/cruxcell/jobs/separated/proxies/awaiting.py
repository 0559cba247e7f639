"""Coroutines of the program that the test awaits: they run on an event loop of the candidate's own process.

The test's loop steps what it awaits. The first step runs a coroutine until it waits for something. Each further one
runs the candidate's loop until one that is awaited is done, or for some milliseconds; so coroutines of both halves go
on beside each other, and timeouts and cancelling work. The test hears of their ends in their order. While it begins
several at once (`gather`), the clock of the candidate's loop stands: or one would be through with `sleep(0.01)` before
the next has begun, on a busy host.

What the candidate awaits of the test, it steps in the same way. Where that waits for a future of the test's loop, the
candidate is told that it waits, and asks again: the future would be nothing to its own loop.
"""

import sys

from cruxcell.jobs.separated.proxies.loops import SLICE_S, Ends, clock_of, loop_of, run_for_a_while, run_what_is_ready
from cruxcell.jobs.separated.proxies.operations import METHODS, SPECIAL
from cruxcell.jobs.separated.proxies.shared_names import BUILTIN_TYPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments


async def _of(awaitable):
    # type: (Any) -> Any
    return await awaitable


class Awaited:
    """What the test awaits of the candidate. Without asyncio in the program it is stepped as it is."""

    def __init__(self):
        # type: () -> None
        self._loop = self._clock = None  # type: Any
        self._runs = {}  # type: dict[int, tuple[Any, Any, bool]]
        self._goes_on = False  # the loop, for a while
        self._ends = Ends()  # of tasks
        self._passed_over = 0  # steps since it heard of one

    def step(self, target, how, *values):
        # type: (Any, str, Any) -> Any
        """`send`, `throw` or `close` to an awaitable: None while it waits; StopIteration holds its value."""
        is_first = id(target) not in self._runs
        if is_first:
            self._runs[id(target)] = (target, *self._begun(target, how == "send"))
        run, is_task = self._runs[id(target)][1:]
        try:
            found = self._stepped(run, is_first, how, values) if is_task else getattr(run, how)(*values)
        except BaseException:
            self._forget(target, run)
            raise
        if how == "close":
            self._forget(target, run)
        return found

    def _forget(self, target, run):
        # type: (Any, Any) -> None
        self._runs.pop(id(target), None)
        self._ends.forget(run)
        self._passed_over = 0

    def _begun(self, target, may_run):
        # type: (Any, bool) -> tuple[Any, bool]
        """(the task or coroutine that runs it, is it a task?)"""
        asyncio = sys.modules.get("asyncio")  # type: Any
        if asyncio is None:
            return _of(target), False
        running = asyncio._get_running_loop()
        if running is not None and running is not self._loop:  # the program's own, which awaits one of the script's
            return self._task_in(running, target), True
        if self._loop is None:
            self._loop = loop_of(asyncio)
            self._clock = clock_of(self._loop)
        others = self._loop._ready
        self._loop._ready = type(others)()  # what else is ready comes when all have begun
        try:
            task = self._task_in(self._loop, target)
            if may_run and not self._loop.is_running():
                self._clock.stand()
                self._run_once()
        finally:
            others.extend(self._loop._ready)
            self._loop._ready = others
        return task, True

    def _task_in(self, loop, target):
        # type: (Any, Any) -> Any
        task = loop.create_task(_of(target))
        task.add_done_callback(lambda ended: self._on_end(ended, target))
        return task

    def _stepped(self, task, is_first, how, values):
        # type: (Any, bool, str, tuple[Any, ...]) -> Any
        asyncio = sys.modules["asyncio"]  # type: Any
        if how != "send":
            task.cancel()
            self._go_on(task)
        elif not is_first:
            self._go_on_if_nothing_ended(task)
        if how == "close" or not task.done() or (how == "send" and self._comes_later(task)):
            return
        try:
            value = task.result()
        except asyncio.CancelledError:
            if how == "throw":
                raise values[0] from None
            raise
        raise StopIteration(value)

    def _go_on_if_nothing_ended(self, task):
        # type: (Any) -> None
        """Else the test hears of that first: in the next of as many steps as it may have begun, or never."""
        if self._ends and self._passed_over < len(self._runs):
            self._passed_over += 1
        else:
            self._go_on(task)

    def _go_on(self, task):
        # type: (Any) -> None
        if task.get_loop() is not self._loop or self._loop.is_running():
            return
        if not task.done():
            self._clock.go_on()
            timer = self._loop.call_later(SLICE_S, self._loop.stop)
            self._run(self._loop.run_forever)
            timer.cancel()
        if task.done() and task not in self._ends:
            self._run_once()

    def _run_once(self):
        # type: () -> None
        self._run(lambda: run_what_is_ready(self._loop))

    def _run(self, run):
        # type: (Callable[[], None]) -> None
        self._goes_on = True
        try:
            run()
        finally:
            self._goes_on = False

    def _on_end(self, task, target):
        # type: (Any, Any) -> None
        if self._runs.get(id(target), (None, None))[1] is task:
            self._ends.note(task)
        if self._goes_on:
            self._loop.stop()

    def _comes_later(self, task):
        # type: (Any) -> bool
        return self._ends.has_earlier(task) if task in self._ends else len(self._ends) > 0


_GOES_ON = ("send", "__next__")


class Lent:
    """What of the test the candidate awaits. What waits for a future is left until that is done."""

    def __init__(self):
        # type: () -> None
        self._loop = None  # type: Any
        self._places = {}  # type: dict[int, _Place]
        self._ends = Ends()  # of what places wait for

    def stands_for(self, function):
        # type: (Any) -> Any
        """What the candidate calls in the place of this function."""
        if "asyncio" not in sys.modules:
            return function
        if function is SPECIAL["__await__"]:
            return lambda awaitable: Iterated(self, function(awaitable))
        if type(function) is not BUILTIN_TYPE or function.__name__ not in METHODS:
            return function
        target = function.__self__  # type: Any
        is_awaited = hasattr(type(target), "__await__")
        return (lambda *values: self.step(target, function.__name__, *values)) if is_awaited else function

    def step(self, target, how, *values):
        # type: (Any, str, Any) -> Any
        """`send`, `throw` or `close` to a coroutine, or to what its `__await__` gives: None while it waits."""
        asyncio = sys.modules["asyncio"]  # type: Any
        running = asyncio._get_running_loop()
        if running is None and self._loop is None:  # only the program has a loop that runs
            self._loop = loop_of(asyncio)
        loop = running or self._loop
        place = self._places.pop(id(target), None) or self._begun(target, loop)
        if place.awaits_candidate and how in _GOES_ON:
            run_what_is_ready(loop)  # a timeout of the test's, say
        if place.is_waiting:
            if how in _GOES_ON:
                run_for_a_while(loop, place.waits)
            elif place.waits.cancel() and how == "throw" and _is_of(values[0], asyncio.CancelledError):
                how, values = _going_on(target)  # as in a task: what it waits for may have more to do, or go on
                place.has_ended = place.waits.done()
        if how in _GOES_ON and (place.is_waiting or (place in self._ends and self._ends.has_earlier(place))):
            self._places[id(target)] = place
            return None
        self._ends.forget(place)
        if how in _GOES_ON and place.is_cancelled:
            how, values = "throw", (asyncio.CancelledError(),)
        place.is_cancelled = False
        place.waits = None
        found = self._stepped(place, loop, how, values)
        if how != "close":
            self._places[id(target)] = place
        place.awaits_candidate = found is None
        if not issubclass(type(found), asyncio.Future):  # an object of the candidate may say that it is one
            return found
        found._asyncio_future_blocking = False  # as a task has it
        place.wait_for(found, self._ends)
        place.is_cancelled = place.is_cancelled and not found.cancel()
        return None

    def _begun(self, target, loop):
        # type: (Any, Any) -> _Place
        """While the candidate begins several at once, the clock of their loop stands, as that of `Awaited` does."""
        clock = clock_of(loop)
        if not clock.stands:
            clock.stand()
            loop.call_soon(clock.go_on)
        return _Place(target, loop)

    def _stepped(self, place, loop, how, values):
        # type: (_Place, Any, str, tuple[Any, ...]) -> Any
        asyncio = sys.modules["asyncio"]  # type: Any
        enter, leave = asyncio.tasks._enter_task, asyncio.tasks._leave_task
        running, task = asyncio._get_running_loop(), asyncio.current_task(loop)
        if task is not None:
            leave(loop, task)
        asyncio._set_running_loop(loop)
        enter(loop, place)
        try:
            return getattr(place.target, how)(*values)
        finally:
            leave(loop, place)
            asyncio._set_running_loop(running)
            if task is not None:
                enter(loop, task)


class _Place:
    """The task that a coroutine of the test finds itself in while the candidate steps it. What limits its time cancels
    that: it is not the task that waits for the candidate, as the program may run several at once."""

    __slots__ = ("_name", "_requests", "awaits_candidate", "has_ended", "is_cancelled", "loop", "target", "waits")

    def __init__(self, target, loop):
        # type: (Any, Any) -> None
        self.target, self.loop = target, loop
        self.waits = None  # type: Any
        self.has_ended = True  # what it waits for, as its loop has heard
        self.is_cancelled = False  # it hears of that in its next step
        self.awaits_candidate = False  # or has only let others go on
        self._requests, self._name = 0, "Task-%d" % id(self)

    @property
    def is_waiting(self):
        # type: () -> bool
        return self.waits is not None and not self.has_ended

    def wait_for(self, future, ends):
        # type: (Any, Ends) -> None
        def end(_future):
            # type: (object) -> None
            if self.waits is future:
                self.has_ended = True
                ends.note(self)

        self.waits, self.has_ended = future, False
        future.add_done_callback(end)

    def cancel(self, msg=None):  # noqa: ARG002 - as a task has it
        # type: (object) -> bool
        self._requests += 1
        if self.waits is None or not self.waits.cancel():
            self.is_cancelled = True
        return True

    def cancelling(self):
        # type: () -> int
        return self._requests

    def uncancel(self):
        # type: () -> int
        self._requests = max(self._requests - 1, 0)
        self.is_cancelled = self.is_cancelled and self._requests > 0
        return self._requests

    def done(self):
        # type: () -> bool
        return False

    cancelled = done

    def get_name(self):
        # type: () -> str
        return self._name

    def set_name(self, name):
        # type: (object) -> None
        self._name = str(name)

    def get_coro(self):
        # type: () -> Any
        return self.target

    def get_loop(self):
        # type: () -> Any
        return self.loop


def _is_of(thrown, kind):
    # type: (Any, Any) -> bool
    """Is it an exception of this class, or a class of such?"""
    return issubclass(thrown if isinstance(thrown, type) else type(thrown), kind)


def _going_on(target):
    # type: (Any) -> tuple[str, tuple[Any, ...]]
    return ("__next__", ()) if hasattr(type(target), "__next__") else ("send", (None,))


class Iterated:
    """What `__await__` of something of the test's gives the candidate, so that each step of it is known."""

    __slots__ = ("_lent", "_steps")

    def __init__(self, lent, steps):
        # type: (Lent, Any) -> None
        self._lent, self._steps = lent, steps

    def __iter__(self):
        # type: () -> Iterated
        return self

    def __next__(self):
        # type: () -> Any
        return self._lent.step(self._steps, "__next__")

    def send(self, value):
        # type: (object) -> Any
        return self._lent.step(self._steps, "send", value) if value is not None else self.__next__()

    def throw(self, *error):
        # type: (Any) -> Any
        return self._lent.step(self._steps, "throw", *error)

    def close(self):
        # type: () -> Any
        return self._lent.step(self._steps, "close")
