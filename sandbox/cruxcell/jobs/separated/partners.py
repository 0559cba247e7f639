"""Questions of several threads at a time, where workers may start threads.

Each thread of either end has a partner at the other end, which serves its questions and no other's. So a thread of the
test may wait in a call of the program for what another thread's call does, as it would in one process. A question
carries the number of its thread (even ones are the test's, 0 its first); a thread that its partner asks back goes on
under that number. The test hears nothing while none of its own questions is open.

Messages never cross, so both ends agree at each what is in the containers they share. One end has the turn to send, and
gives it away with each message. The other may say at any time that it wants it, by a frame that changes nothing. One
thread of an end, which does nothing else, reads; those that wait are woken by it. All state is behind the link's line,
which is free while a thread waits, reads or runs what it was asked for.
"""

import gc
from _thread import allocate_lock as _lock
from _thread import get_ident as _get_ident
from _thread import stack_size as _stack_size
from _thread import start_new_thread as _start_new_thread
from sys import _current_frames

from cruxcell.jobs.separated.remote import now
from cruxcell.protocol import frames
from cruxcell.values.containers import with_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

    from cruxcell.jobs.separated.link import Link  # noqa: F401 - in type comments

QUESTION, RAISED = b"q", b"e"
_WANTS = frames.frame([b"w", bytes(8), bytes(8)])  # the turn
_GIVES = b"g"  # it, and nothing else
_FIRST = 0  # the number of the test's first thread, and of its partner
_THREAD, _QUESTION = 1, 2  # places in an entry


class Partners:
    """Of one end. The test's has the first turn."""

    def __init__(self, link):
        # type: (Link) -> None
        self._link = link
        self._has_turn, self._wants = link.is_test, False
        self._reader = 0
        self._numbers = {_get_ident(): [_FIRST]}  # type: dict[int, list[int]]  # of each thread, the innermost last
        self._next = 2 if link.is_test else 1
        self._idle = []  # type: list[Any]  # who waits for a message: a lock, the thread's number, that of its question
        self._queue = []  # type: list[Any]  # who waits for the turn
        self._gate = _lock()
        self._gate.acquire()
        self._questions = {}  # type: dict[int, list[tuple[int, list[Any]]]]  # for who waits under a number
        self._open, self._answers = {}, {}  # type: dict[int, int], dict[int, Any]  # the thread's number; the answer
        self._last, self._last_of_another = (_FIRST, 0), 0  # messages: for which thread, and when; when
        self._over = None  # type: Exception | None
        self._is_placing = 0

    def begin(self):
        # type: () -> bool
        """Read from now on, if threads can be started."""
        try:
            _start_new_thread(self._read_on, ())
        except RuntimeError:
            return False
        return True

    # ---- asking ----------------------------------------------------------------------------------------------------

    def exchange(self, operation, fields):
        # type: (str, list[Any]) -> Any
        """(kind of the answer, value). Called with the line held, which is free meanwhile."""
        thread = self._number()
        number = self.send(QUESTION, 0, [thread, operation, *fields])
        while number not in self._answers:
            self._serve_or_wait(thread, number)
        self._place(thread)
        return self._answers.pop(number)

    def send(self, kind, number, values):
        # type: (bytes, int, list[Any]) -> int
        """In this end's turn. Returns the number; that of a question is the next."""
        while True:
            while not self._has_turn:
                self._want()
                self._wait(self._queue, (_lock(), 0, 0))
            sent = undisturbed(self._sent, kind, number, values)  # type: int | None
            if sent is not None:
                return sent

    def _sent(self, kind, number, values):
        # type: (bytes, int, list[Any]) -> int | None
        if not self._has_turn:  # a finalizer has had it
            return None
        thread = values[0] if kind == QUESTION else None
        number = self._link.send(kind, number, values)
        self._has_turn = False
        if thread is not None:
            self._open[number] = thread
        if self._queue:
            self._want()
        self._open_gate()
        return number

    def _want(self):
        # type: () -> None
        if not self._wants:
            self._wants = True
            self._link.write(_WANTS)
            self._open_gate()

    def depth(self):
        # type: () -> int
        """How many questions of this thread and of those that it serves are open."""
        return len(self._numbers.get(_get_ident(), [_FIRST])) - 1

    def heard_others_since(self, time):
        # type: (int) -> bool
        """Has the other end said something to another thread since then?"""
        last, when = self._last
        return (self._last_of_another if last == self._number() else when) > time

    def _note(self, thread):
        # type: (int) -> None
        """A message for this thread has come."""
        last, when = self._last
        if last != thread:
            self._last_of_another = when
        self._last = (thread, now())

    def _number(self):
        # type: () -> int
        """The number under which this thread asks: of who asked what it is doing, or its own."""
        me = _get_ident()
        if me not in self._numbers:
            self._numbers[me] = [self._free_number()]
        return self._numbers[me][-1]

    def _free_number(self):
        # type: () -> int
        """That of a thread that has ended, whose partner waits for the next."""
        alive = _current_frames()
        for ident in [each for each in self._numbers if each not in alive]:
            number = self._numbers.pop(ident)[0]
            if number & 1 != self._link.is_test:
                return number
        self._next += 2
        return self._next - 2

    # ---- serving ---------------------------------------------------------------------------------------------------

    def serve(self, thread=_FIRST):
        # type: (int) -> None
        """What the partner with this number asks, until the conversation is over."""
        with self._link.line:
            self._numbers[_get_ident()] = [thread]
            try:
                while True:
                    self._serve_or_wait(thread)
            except BaseException as error:
                self._end(error)

    def _serve_or_wait(self, thread, number=0):
        # type: (int, int) -> None
        """Who waits for an answer has the number of its question."""
        asked = self._questions.get(thread)
        if asked:
            self._answer(thread, asked.pop(0))
        else:
            self._wait(self._idle, (_lock(), thread, number))

    def _answer(self, thread, question):
        # type: (int, tuple[int, list[Any]]) -> None
        numbers = self._numbers[_get_ident()]
        numbers.append(thread)
        try:
            self._place(thread)
            self._link.answer(*question)
        finally:
            numbers.pop()

    def _serve_newcomer(self, thread, question):
        # type: (int, tuple[int, list[Any]]) -> None
        """By a thread of its own, which then waits for what the same thread asks next."""
        self._questions.setdefault(thread, []).append(question)
        try:
            _start_new_thread(self.serve, (thread,))
        except RuntimeError as error:
            self._questions[thread].remove(question)
            undisturbed(self._sent, RAISED, question[0], [error])

    # ---- waiting and reading ---------------------------------------------------------------------------------------

    def _wait(self, among, entry):
        # type: (list[Any], Any) -> None
        """Until somebody wakes this thread. The reader, in whose midst a finalizer may ask, reads."""
        if self._over is not None:
            raise self._over
        if self._reader == _get_ident():
            self._read()
            return
        entry[0].acquire()
        among.append(entry)
        self._link.outside(entry[0].acquire)

    def _wake(self, among, place, meant):
        # type: (list[Any], int, int) -> bool
        """The first who has that at this place of its entry; is there one?"""
        for entry in among:
            if entry[place] == meant:
                among.remove(entry)
                entry[0].release()
                return True
        return False

    def _open_gate(self):
        # type: () -> None
        if self._gate.locked():
            self._gate.release()

    def _read_on(self):
        # type: () -> None
        self._link.line.acquire()
        self._reader = _get_ident()
        try:
            while True:
                while self._link.is_test and not self._open and not self._wants:
                    self._link.outside(self._gate.acquire)  # nothing that the candidate says counts meanwhile
                self._read()
        except BaseException as error:
            self._end(error)
        finally:
            self._link.line.release()

    def _end(self, error):
        # type: (BaseException) -> None
        self._over = self._link.broken(error)
        for entry in self._idle + self._queue:
            entry[0].release()
        del self._idle[:], self._queue[:]

    def _read(self):
        # type: () -> None
        """The next message, or some more of it."""
        frame = self._link.incoming.whole()
        if frame is None:
            self._link.outside(self._link.incoming.more)
        else:
            self._take(frame)

    def _take(self, frame):
        # type: (bytes) -> None
        if frame == _WANTS:  # not if it has crossed with a message, by which the other end has the turn
            undisturbed(self._sent, _GIVES, 0, [])
            return
        if self._has_turn:
            raise frames.FrameError("a message out of turn")
        self._has_turn, self._wants = True, False
        kind, number, values = with_room(self._link.taken, frame)
        if kind == QUESTION:
            self._sort(number, values)
        elif kind != _GIVES:
            answer = self._link.answer_to(number if number in self._open else -1, kind, number, values)
            self._note(self._open.pop(number))
            self._answers[number] = answer
            self._wake(self._idle, _QUESTION, number)
        if self._has_turn:
            self._wake(self._queue, _QUESTION, 0)

    def _sort(self, number, values):
        # type: (int, list[Any]) -> None
        """A question, to who serves it."""
        thread = values.pop(0) if values else None
        if type(thread) is not int:
            raise frames.FrameError("a question of nobody")
        self._note(thread)
        if self._wake(self._idle, _THREAD, thread):
            self._questions.setdefault(thread, []).append((number, values))
        else:
            self._serve_newcomer(thread, (number, values))

    def _place(self, thread):
        # type: (int) -> None
        """What came has its place in sets and dicts before anybody sees it, whichever thread it is for."""
        placing = self._link.objects.placing
        while self._is_placing and self._is_placing != _get_ident():
            self._serve_or_wait(thread)
        if placing.waiting and not self._is_placing:
            self._is_placing = _get_ident()
            try:
                self._link.place()
            finally:
                self._is_placing = 0
                for entry in self._idle:
                    entry[0].release()
                del self._idle[:]


def may_begin():
    # type: () -> bool
    """Is this a worker that may start threads? Its zygote has set how large their stacks are."""
    return _stack_size() != 0


def undisturbed(function, *arguments):
    # type: (Callable[..., Any], object) -> Any
    """`function(*arguments)` without a collection of garbage. A finalizer that asks the other end would put its
    question in front of the message that is being written, whose number and containers are taken already."""
    collects = _collects()
    _collect_not()
    try:
        return function(*arguments)
    finally:
        if collects:
            _collect_again()


# Taken now: what a program puts in their place later changes nothing.
_collects, _collect_not, _collect_again = gc.isenabled, gc.disable, gc.enable
