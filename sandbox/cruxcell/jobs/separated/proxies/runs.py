"""How the generators, awaitables and context managers of the other half are run: not believed in errors."""

import sys
from opcode import opmap

from cruxcell.protocol.records import set_traceback, traceback_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

# The one link of this process: an object with `ask(operation, *fields)` and `is_test`.
LINK = []  # type: list[Any]
QUESTIONS = [0]  # how many questions this half has asked
# What would end an iteration or a generator of the test's own, `all(map(candidate, ...))`, and leave it content.
ENDS = (StopIteration, StopAsyncIteration, GeneratorExit)


def cancellations():
    # type: () -> tuple[type[BaseException], ...]
    """By which a task says that it was cancelled, and what asyncio takes for such."""
    modules = [sys.modules.get(each) for each in ("asyncio.exceptions", "concurrent.futures._base")]
    return tuple([each.CancelledError for each in modules if each is not None])


def step_of(name):
    # type: (str) -> Any
    def method(self, *values):
        # type: (object, object) -> Any
        return stepped(self, name, values)

    method.__name__ = name
    return method


def stepped(self, name, values, ends=StopIteration):
    # type: (Any, str, tuple[Any, ...], Any) -> Any
    """A step of a generator or awaitable of the other half; `ends`: by which exceptions it may say that it is done."""
    link = LINK[0]
    if link.is_test and hasattr(type(self), "__await__"):
        link.may_end(ends)
        return link.ask("drive", self, name, *values)
    found = link.ask("get", self, name)
    link.may_end(ends)
    return link.call(found, values, {})


def _told(link, error):
    # type: (Any, Any) -> Any
    """What the other half hears of an exception of this one: of a failed assertion no more than that it did."""
    return AssertionError() if link.is_test and isinstance(error, AssertionError) else error


def _is_dealt_with(link, error, traceback):
    # type: (Any, Any, Any) -> bool
    """May a context manager of the other half say so? Only of what the script raised by itself: or it could make
    whatever fails in the block pass."""
    return not link.is_test or (error is not None and bool(link.made_by_itself(error, traceback)))


def exit_(self, kind=None, error=None, traceback=None):
    # type: (Any, Any, Any, Any) -> bool
    """A context manager of the other half hears of the exception, and may have dealt with it."""
    found = exits(lambda *told: LINK[0].ask("special", self, "__exit__", *told))
    return bool(found(kind, error, traceback))


def exits(ask):
    # type: (Any) -> Any
    """An `__exit__` by what asks the other half's."""

    def exit_(kind=None, error=None, traceback=None):
        # type: (Any, Any, Any) -> bool
        link = LINK[0]
        return bool(ask(kind, _told(link, error), None)) and _is_dealt_with(link, error, traceback)

    return exit_


# What calls the exit of a context manager with what was raised in its block.
_EXITS = opmap.get("WITH_EXCEPT_START", opmap.get("WITH_CLEANUP_START"))


def is_exit(arguments, frame):
    # type: (tuple[Any, ...], Any) -> bool
    """Is a function of the other half called as the exit of a context manager, by a `with` or by a stack of exits?"""
    kind, error = arguments[-3:-1] if len(arguments) > 2 else (None, None)
    if not issubclass(type(error), BaseException) or kind is not type(error):
        return False
    while str(frame.f_globals.get("__name__")).partition(".")[0] == "cruxcell":
        frame = frame.f_back
    return bool(frame.f_globals.get("__name__") == "contextlib" or frame.f_code.co_code[frame.f_lasti] == _EXITS)


def exited(ask, kind, error, traceback):
    # type: (Any, Any, Any, Any) -> Any
    """What such a function says, as `exit_`; it may have to be awaited."""
    link = LINK[0]
    found = ask(kind, _told(link, error), None)
    if hasattr(type(found), "__await__"):
        return _ToExit(found, error, traceback)
    return bool(found) and _is_dealt_with(link, error, traceback)


class _ToExit:
    """What an exit of the other half says when it is awaited; nothing where it is not."""

    def __init__(self, answer, error, traceback):
        # type: (Any, Any, Any) -> None
        self._told = answer, error, traceback

    def __bool__(self):
        # type: () -> bool
        return False

    def __await__(self):
        # type: () -> Any
        answer, error, traceback = self._told
        found = yield from answer.__await__()
        return bool(found) and _is_dealt_with(LINK[0], error, traceback)


def throw(self, kind, error=None, _traceback=None, ends=StopIteration):
    # type: (Any, Any, Any, Any, Any) -> Any
    """Into a generator of the other half. As with `exit_`, a failed assertion does not end there, nor does what else
    the candidate may have provoked: of an exception that was raised before it was thrown the script is asked."""
    link = LINK[0]
    thrown = error if isinstance(error, BaseException) else kind
    raised = traceback_of(thrown) if isinstance(thrown, BaseException) else None
    if thrown is GeneratorExit or isinstance(thrown, GeneratorExit):
        ends = (ends, GeneratorExit)
    link.has_cancelled = link.has_cancelled or isinstance(thrown, cancellations())
    told = _told(link, thrown)
    goes_on = told is not thrown or (link.is_test and raised is not None and not link.made_by_itself(thrown, raised))
    try:
        value = stepped(self, "throw", (told,), ends)
    except BaseException:
        if goes_on:
            raise thrown from None
        raise
    if goes_on:
        raise thrown
    return value


def await_(self, ends=StopIteration):
    # type: (Any, Any) -> Any
    """Steps what the other half runs, as the test's event loop says."""
    step, values = stepped, ("send", (None,))  # type: Any, tuple[Any, ...]
    while True:
        try:
            waits = step(self, *values, ends=ends)
        except StopIteration as end:
            return end.value
        try:
            step, values = stepped, ("send", ((yield waits),))
        except GeneratorExit:  # perhaps while garbage is collected, in the midst of another question
            raise
        except BaseException as error:
            step, values = throw, (_without_first_frame(error),)


def _without_first_frame(error):
    # type: (BaseException) -> BaseException
    set_traceback(error, getattr(traceback_of(error), "tb_next", None))
    return error


def nexts(ask):
    # type: (Any) -> Any
    """A `__next__` by what asks the other half's, which may say that there is none."""

    def ask_next():
        # type: () -> Any
        LINK[0].may_end(StopIteration)
        return ask()

    return ask_next


def next_(self):
    # type: (Any) -> Any
    return _Next(lambda: LINK[0].ask("special", self, "__anext__"))


def anexts(ask):
    # type: (Any) -> Any
    return lambda: _Next(ask)


class _Next:
    """The next item of an asynchronous iterator of the candidate, which may say that there is none."""

    def __init__(self, ask):
        # type: (Any) -> None
        self._ask = ask

    def __await__(self):
        # type: () -> Any
        ends = StopIteration, StopAsyncIteration
        LINK[0].may_end(StopAsyncIteration)
        item = self._ask()
        return (yield from await_(item, ends))


async def aexit(self, kind=None, error=None, traceback=None):
    # type: (Any, Any, Any, Any) -> bool
    """As `exit_`."""
    found = aexits(lambda *told: LINK[0].ask("special", self, "__aexit__", *told))
    return bool(await found(kind, error, traceback))


def aexits(ask):
    # type: (Any) -> Any
    async def aexit(kind=None, error=None, traceback=None):
        # type: (Any, Any, Any) -> bool
        link = LINK[0]
        return bool(await ask(kind, _told(link, error), None)) and _is_dealt_with(link, error, traceback)

    return aexit
