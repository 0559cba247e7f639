"""Questions of several threads at a time, where workers may start threads.

Each thread of either half has a partner in the other, which serves its questions and no other's. So a thread of the
test may wait in a call of the program for what another thread's call does, as it would in one process. A question
carries the number of its thread (even ones are the test's, 0 its first); a thread that its partner asks back goes on
under that number. Who takes the place of one that has ended has another partner, as either half may keep something for
each. The test hears nothing while none of its own questions is open and its first thread does not wait.

Messages never cross, so both halves agree at each what is in the containers they share. One half has the turn to send,
and gives it away with each message. The other may say at any time that it wants it, by a frame that changes nothing.
One thread of each half reads and does nothing else; it wakes those that wait. All state is behind the link's line
(`line`), which is free while a thread waits, reads or runs what it was asked for.
"""

from _thread import _local
from _thread import allocate_lock as _lock
from _thread import get_ident as _get_ident
from _thread import stack_size as _stack_size
from _thread import start_new_thread as _start_new_thread
from sys import _current_frames
from sys import modules as _modules

from cruxcell.jobs.separated.exchange.one_thread import QUESTION, RAISED
from cruxcell.jobs.separated.proxies.facts import now
from cruxcell.protocol import frames
from cruxcell.protocol.messages import MOST_THREADS
from cruxcell.values.containers import with_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence  # noqa: F401 - in type comments

    from cruxcell.jobs.separated.exchange.link import Link  # noqa: F401 - in type comments

_WANTS = frames.frame([b"w", bytes(8), bytes(8)])  # the turn
_GIVES = b"g"  # it, and nothing else
_FIRST = 0  # the number of the test's first thread, and of its partner
_NOBODY = -1  # the address or number of no thread
_THREAD, _QUESTION = 1, 2  # places in an entry
_PLACES = 4 * MOST_THREADS  # who takes that of a thread that has ended has a number that is so much higher
_STACK_BYTES = 2 << 20  # of the thread that reads: another as large as the program's own may not fit into its memory
_MOST_WAITING = 64  # questions that nobody has begun to serve: a thread asks one at a time, finalizers apart


class Partners:
    """Of one half. The test's has the first turn."""

    frames = 24  # of Python, for asking and for what is told of an answer

    def __init__(self, link):
        # type: (Link) -> None
        self._link, self.outside = link, link.line.outside
        self._has_turn, self._wants = link.is_test, False
        self._reader = 0
        self._numbers = {_get_ident(): [_FIRST]}  # type: dict[int, list[int]]  # of each thread, the innermost last
        self._own = _local()  # of each thread: whether it has one, as another may have had its address before
        self._own.has_number = True
        self._next = 2 if link.is_test else 1
        self._idle = []  # type: list[Any]  # who waits for a message: a lock, the thread's number, that of its question
        self._queue = []  # type: list[Any]  # who waits for the turn
        self._gate = _lock()
        self._gate.acquire()
        self._questions = {}  # type: dict[int, list[tuple[int, list[Any]]]]  # for who waits under a number
        self._served = {_FIRST: _FIRST}  # by places, who has a partner here; the test's half has it for its own
        self._heirs = {}  # type: dict[int, int]  # by who was served before: who is served next by the same thread
        self._open, self._answers = {}, {}  # type: dict[int, int], dict[int, Any]  # the thread's number; the answer
        self._last, self._alone_since = (_FIRST, 0), 0  # the last message: for which thread, and when; see `_note`
        self._since = {}  # type: dict[int, int]  # that, when a thread was answered
        self._over = None  # type: Exception | None
        self._is_placing = self._resting = 0

    def begin(self):
        # type: () -> bool
        """Read from now on, if threads can be started."""
        line = self._link.line
        programs = _stack_size(_STACK_BYTES)
        try:
            line.share()
            _start_new_thread(self._read_on, ())
        except RuntimeError:
            line.is_shared = False
        finally:
            _stack_size(programs)
        return line.is_shared

    def may_rest(self):
        # type: () -> bool
        """Is this the test's first thread, doing nothing that it is asked for?"""
        return self._numbers.get(_get_ident()) == [_FIRST]

    def rest(self, wait):
        # type: (Callable[[], Any]) -> Any
        """`wait()`, while what threads of the program say is heard."""
        with self._link.line:
            self._resting += 1
            self._open_gate()
            try:
                return self.outside(wait)
            finally:
                self._resting -= 1

    # ---- asking ----------------------------------------------------------------------------------------------------

    def exchange(self, operation, fields, cls):
        # type: (str, list[Any], Any) -> Any
        """(kind of the answer, value). Called with the line held, which is free meanwhile. `cls`: the class that is
        asked for what it has."""
        thread = self._number()
        number = self.send(QUESTION, 0, [thread, operation, *fields])
        self._link.of_classes[number] = cls
        while number not in self._answers:
            self._serve_or_wait(thread, number, lambda: number in self._answers)
        self._place(thread)
        answer, self._since[_get_ident()] = self._answers.pop(number)
        return answer

    def send(self, kind, number, values):
        # type: (bytes, int, list[Any]) -> int
        """In this half's turn. Returns the number; that of a question is the next."""
        while True:
            while not self._has_turn:
                self._want()
                self._wait(self._queue, (_lock(), self._number(), 0), lambda: self._has_turn)
            try:
                sent = self._sent(kind, number, values)
            except BaseException:  # nothing was sent
                self._wake_next()
                raise
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

    def partners(self):
        # type: () -> set[int]
        """Which threads stand for those of the other half."""
        return {each for each, numbers in list(self._numbers.items()) if numbers[0] & 1 == self._link.is_test}

    def depth(self):
        # type: () -> int
        """How many questions of this thread and of those that it serves are open."""
        return len(self._numbers.get(_get_ident(), [_FIRST])) - 1

    def alone_since(self, time):
        # type: (int) -> int
        """Since when, from then on, nothing came for another thread before this thread's last answer."""
        return max(time, self._since.get(_get_ident(), 0))

    def _note(self, thread):
        # type: (int) -> None
        """A message for this thread has come. Since when is it the only one that messages have come for?"""
        last, when = self._last
        if last != thread:
            self._alone_since = when
        self._last = (thread, now())

    def _number(self):
        # type: () -> int
        """The number under which this thread asks: of who asked what it is doing, or its own."""
        me = _get_ident()
        if not hasattr(self._own, "has_number"):
            self._own.has_number = True
            self._numbers[me] = [self._free_number([me] if me in self._numbers else [])]
        return self._numbers[me][-1]

    def _free_number(self, ended=()):
        # type: (Sequence[int]) -> int
        """One in the place of a thread that has ended. `ended`: those that have, whoever has their addresses now."""
        alive = _current_frames()
        for ident in [*ended, *[each for each in self._numbers if each not in alive]]:
            number = self._numbers.pop(ident)[0]
            self._questions.pop(number, None)
            if number & 1 != self._link.is_test:
                return number + _PLACES
        self._next += 2
        return self._next - 2

    # ---- serving ---------------------------------------------------------------------------------------------------

    def serve(self, thread=_FIRST):
        # type: (int) -> None
        """What the partner with this number asks, until another has its place or the conversation is over."""
        with self._link.line:
            self._own.has_number = True
            try:
                while thread >= 0:
                    thread = self._serve_one(thread)
                del self._numbers[_get_ident()]
                getattr(_modules.get("threading"), "_active", {}).pop(_get_ident(), None)  # or it counts as running
            except BaseException as error:
                self._end(error)

    def _serve_one(self, thread):
        # type: (int) -> int
        self._numbers[_get_ident()] = [thread]
        while self._is_served(thread):
            self._serve_or_wait(thread, 0, lambda: not self._is_served(thread))
        self._questions.pop(thread, None)
        return self._heirs.pop(thread, _NOBODY)

    def _is_served(self, thread):
        # type: (int) -> bool
        return self._served.get(thread % _PLACES) == thread

    def settle(self):
        # type: () -> None
        """What has come has its place already (`_place`)."""
        self._link.let_go()

    def _serve_or_wait(self, thread, number, is_over):
        # type: (int, int, Callable[[], bool]) -> None
        """Who waits for an answer has the number of its question."""
        asked = self._questions.setdefault(thread, [])
        if asked:
            self._answer(thread, asked.pop(0))
        else:
            self._wait(self._idle, (_lock(), thread, number), lambda: bool(asked) or is_over())

    def _answer(self, thread, question):
        # type: (int, tuple[int, list[Any]]) -> None
        numbers = self._numbers[_get_ident()]
        numbers.append(thread)
        try:
            self._place(thread)
            self._link.answer(*question)
        finally:
            numbers.pop()

    def _serve_newcomer(self, thread, number):
        # type: (int, int) -> None
        """By a thread of its own, which then waits for what the same thread asks next. Who has served the one that had
        this place ends, or serves this one, if there is no room for both."""
        before = self._served.get(thread % _PLACES)
        try:
            _start_new_thread(self.serve, (thread,))
        except RuntimeError as error:
            if before is None:
                del self._questions[thread]
                self._sent(RAISED, number, [error])
                return
            self._heirs[before] = thread
        self._served[thread % _PLACES] = thread
        self._wake(self._idle, _THREAD, before)

    # ---- waiting and reading ---------------------------------------------------------------------------------------

    def _wait(self, among, entry, has_come):
        # type: (list[Any], Any, Callable[[], bool]) -> None
        """Until somebody wakes this thread. The reader, in whose midst a finalizer may ask, reads."""
        if self._over is not None:
            raise self._over
        if self.reads():
            self._read_within()
            return
        entry[0].acquire()
        among.append(entry)
        if has_come() or self._over is not None:  # before this thread could be woken: a finalizer has asked meanwhile
            if entry in among:
                among.remove(entry)
            return
        self.outside(entry[0].acquire)

    def reads(self):
        # type: () -> bool
        """Is this the thread that reads?"""
        return self._reader == _get_ident()

    def _wake(self, among, place, meant):
        # type: (list[Any], int, int | None) -> None
        """The last who has that at this place of its entry: a thread whose finalizer waits has two."""
        for entry in reversed(among):
            if entry[place] == meant:
                among.remove(entry)
                entry[0].release()
                return

    def _wake_next(self):
        # type: () -> None
        """Who has waited longest for the turn, if it is there."""
        if self._has_turn and self._queue:
            self._wake(self._queue, _THREAD, self._queue[0][_THREAD])

    def _open_gate(self):
        # type: () -> None
        if self._gate.locked():
            self._gate.release()

    def _read_on(self):
        # type: () -> None
        line = self._link.line
        with line:
            self._reader = _get_ident()
            try:
                while self._over is None:
                    while self._link.is_test and not (self._open or self._wants or self._resting):
                        self.outside(self._gate.acquire)  # nothing that the candidate says counts meanwhile
                    if not self._take():
                        line.extend_outside(*self._link.incoming.coming())
            except BaseException as error:
                self._end(error)

    def _end(self, error):
        # type: (BaseException) -> None
        self._over = self._link.broken(error)
        for entry in self._idle + self._queue:
            entry[0].release()
        del self._idle[:], self._queue[:]

    def _read_within(self):
        # type: () -> None
        """In a finalizer that runs in the reader. Nothing is left that has come whole: the reader may have looked."""
        try:
            if not self._take():
                came, coming = self._link.incoming.coming()
                self.outside(came.extend, coming)
            while self._take():
                pass
        except BaseException as error:
            self._end(error)
            raise

    def _take(self):
        # type: () -> bool
        """The next message, if it has come whole."""
        frame = self._link.incoming.whole()
        if frame == _WANTS:  # not if it has crossed with a message, by which the other half has the turn
            self._sent(_GIVES, 0, [])
        elif frame is not None:
            self._take_message(frame)
        return frame is not None

    def _take_message(self, frame):
        # type: (bytes) -> None
        if self._has_turn:
            raise frames.FrameError("a message out of turn")
        self._has_turn, self._wants = True, False
        kind, number, values = with_room(self._link.taken, frame)
        if kind == QUESTION:
            self._sort(number, values)
        elif kind != _GIVES:
            answer = self._link.answer_to(number if number in self._open else -1, kind, number, values)
            self._note(self._open.pop(number))
            self._answers[number] = answer, self._alone_since
            self._wake(self._idle, _QUESTION, number)
        self._wake_next()

    def _sort(self, number, values):
        # type: (int, list[Any]) -> None
        """A question, to who serves it."""
        thread = values.pop(0) if values else None
        if type(thread) is not int or not 0 <= thread < _PLACES << 24:
            raise frames.FrameError("a question of nobody")
        is_back = thread & 1 != self._link.is_test  # asked of a thread of this half, by its partner
        if is_back and thread not in self._open.values():
            raise frames.FrameError("a question to a thread that waits for nothing")
        if len([None for asked in self._questions.values() for _ in asked]) >= _MOST_WAITING:
            raise frames.FrameError("too many questions")
        self._note(thread)
        self._questions.setdefault(thread, []).append((number, values))
        if is_back or self._is_served(thread):  # it may be on its way to look
            self._wake(self._idle, _THREAD, thread)
        else:
            self._serve_newcomer(thread, number)

    def _place(self, thread):
        # type: (int) -> None
        """What came has its place in sets and dicts before anybody sees it, whichever thread it is for."""
        placing = self._link.objects.placing
        while self._is_placing and self._is_placing != _get_ident():
            self._serve_or_wait(thread, 0, lambda: not self._is_placing)
        if placing.waiting and not self._is_placing:
            self._is_placing = _get_ident()
            try:
                self._link.place()
            finally:
                self._is_placing = 0
                for entry in self._idle:
                    entry[0].release()
                del self._idle[:]
