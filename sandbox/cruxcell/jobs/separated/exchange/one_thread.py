"""Questions of one thread, where no others can be started: who waits for an answer serves the other half meanwhile."""

from _thread import stack_size as _stack_size

from cruxcell.jobs.separated.exchange.line import collect_again, collect_not, collects_garbage
from cruxcell.values.containers import with_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

QUESTION, RAISED = b"q", b"e"


class OneThread:
    """Of one half. It has what `Partners` has for several threads. `link`: that half's."""

    frames = 8  # of Python, until there is room for more (`with_room`)

    def __init__(self, link):
        # type: (Any) -> None
        self._link = link
        self._open = 0

    def reads(self):
        # type: () -> bool
        """Does this thread read for others?"""
        return False

    def partners(self):
        # type: () -> set[int]
        """Which threads stand for those of the other half."""
        return set()

    def depth(self):
        # type: () -> int
        """How many questions are open that what this thread does is a part of."""
        return self._open

    def alone_since(self, time):
        # type: (int) -> int
        """Since when, from then on, nothing came for another thread before this thread's last answer."""
        return time

    def may_rest(self):
        # type: () -> bool
        """May this thread hear, while it waits, what threads of the program say?"""
        return False

    def exchange(self, operation, fields, cls):
        # type: (str, list[Any], Any) -> Any
        """(kind of the answer, value). `cls`: the class that is asked for what it has."""
        self._open += 1
        try:
            return with_room(self._exchange, operation, fields, cls)
        finally:
            self._open -= 1

    def _exchange(self, operation, fields, cls):
        # type: (str, list[Any], Any) -> Any
        link = self._link
        number = undisturbed(link.send, QUESTION, 0, [operation, *fields], True)
        link.of_classes[number] = cls
        has_room = True  # until anything else has run
        while True:
            kind, answered, values = link.receive(has_room)
            if kind != QUESTION:
                return link.answer_to(number, kind, answered, values)
            link.answer(answered, values)
            has_room = False

    def send(self, kind, number, values):
        # type: (bytes, int, list[Any]) -> None
        undisturbed(self._link.send, kind, number, values)

    def serve(self):
        # type: () -> None
        """Answer until the other half says what is no question, or both halves know of more threads."""
        link = self._link
        while link.threads is self:
            kind, number, values = link.receive()
            if kind != QUESTION:
                return
            link.answer(number, values)
        link.threads.serve()

    def settle(self):
        # type: () -> None
        """A message has come, and nothing of it is under way any more."""
        self._link.place()

    def outside(self, function, *arguments):
        # type: (Callable[..., Any], Any) -> Any
        """`function(*arguments)`, with nobody kept from the line."""
        return function(*arguments)


def undisturbed(function, *arguments):
    # type: (Callable[..., Any], object) -> Any
    """`function(*arguments)` without a collection of garbage. A finalizer that asks the other half would put its
    question in front of the message that is being written, whose number and containers are taken already."""
    collects = collects_garbage()
    collect_not()
    try:
        return function(*arguments)
    finally:
        if collects:
            collect_again()


def may_begin():
    # type: () -> bool
    """Is this a worker that may start others? Its zygote has set how large their stacks are."""
    size = _stack_size()  # which is none from now on
    _stack_size(size)
    return size != 0
