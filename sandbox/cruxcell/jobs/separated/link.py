"""Messages between the two workers of a separated script: one open request at a time, replies in order.

A message is a frame of three fields: what it is, its head, its body. The head holds the number of the question and the
numbers of what the sender has forgotten; the body the containers that changed since the last message, and the values.
While one side waits for an answer it serves the other's questions, so either may call back; how deep that goes is
bounded. Whatever is wrong with a message ends the conversation: an answer is never taken for that to another question.

Threads take turns. The line is whose question is open, up to the answer; while an asked-for call runs, it is free, so a
thread of that call may ask. Questions are answered in the order in which they were nested, whoever waits. A question
is served by the thread of the other end that waits: where that is in the midst of a call, which may hold a lock, other
threads wait until what it has called back is done; not where that waits for a thread, and not for ever.
"""

import gc
import struct
from _thread import RLock as _RLock
from _thread import get_ident as _get_ident
from sys import _current_frames
from time import monotonic as _monotonic
from time import sleep as _sleep

from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.classes import fields_of
from cruxcell.jobs.separated.objects import Objects
from cruxcell.jobs.separated.operations import SPECIAL
from cruxcell.jobs.separated.remote import now
from cruxcell.jobs.separated.runs import connection
from cruxcell.protocol import frames
from cruxcell.protocol.records import set_traceback
from cruxcell.values.canonical import TooLarge
from cruxcell.values.containers import Containers, Garbled, with_room
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence  # noqa: F401 - in type comments

CHANNEL = 5
MAX_MESSAGE = 16 << 20
MAX_NESTED = 64  # questions that are open at a time
_PATIENCE_S = 1  # how long threads wait for the end of what the other side calls back
QUESTION, VALUE, RAISED, TOO_LARGE = b"q", b"v", b"e", b"t"
_HEAD = struct.Struct("<II")
CALL = compile("f(*a, **k)", CHECK, "eval")


class Broken(Exception):
    """The conversation cannot go on: the other side is gone, or what it sent is no message."""


class Unsent(Exception):
    """What was to be sent is too large; nothing was sent."""


class Link:
    """An end. `run(function, arguments, keywords)` does what is asked; `permits(operation, target, rest)` may not."""

    def __init__(self, is_test, run, permits=None):
        # type: (bool, Callable[..., Any], Callable[..., bool] | None) -> None
        self.is_test = is_test
        self.objects = Objects(is_test)
        self.containers = Containers(0 if is_test else 1)
        self._run, self._permits = run, permits
        self._ends = {}  # type: dict[int, Any]
        self._open = 0
        self._line, self._nested = _RLock(), 0
        self._inside = []  # type: list[tuple[int, float]]
        self._asked = self._served = 0
        self._incoming = frames.Incoming(CHANNEL, MAX_MESSAGE + (1 << 20))
        self.more = {"fields": fields_of}  # type: dict[str, Callable[..., Any]]
        self.before_answer = None  # type: Callable[[], None] | None
        self.named = frozenset()  # type: frozenset[str]  # the names with two underscores that the script has
        self.refilled = None  # type: list[tuple[int, int]] | None  # when, and which container, while that matters

    # ---- asking ----------------------------------------------------------------------------------------------------

    def exchange(self, operation, fields):
        # type: (str, list[Any]) -> tuple[bytes, Any]
        """(kind of the answer, value). Raises Broken, or Unsent where nothing was sent."""
        with self._line:
            if self._inside:
                self.take_turn()
            if self._open >= MAX_NESTED:
                raise RecursionError("more than %d calls between candidate and test at a time" % MAX_NESTED)
            self._open += 1
            try:
                answer = with_room(self._exchange, operation, fields)  # type: tuple[bytes, Any]
            except (Broken, Unsent):
                raise
            except BaseException as error:  # whatever it is, the answer may still be under way
                raise Broken("%s: %s" % (type(error).__name__, error)) from None
            finally:
                self._open -= 1
            if self.objects.placing.waiting:
                self.objects.placing.finish(Broken)
            return answer

    def take_turn(self):
        # type: () -> None
        """Called with the line held: wait until this thread may ask."""
        while self._is_outside():
            self._pause()

    def _is_outside(self):
        # type: () -> bool
        me, now = _get_ident(), _monotonic()
        return any(me != owner and now < until and not _waits(owner) for owner, until in self._inside)

    def _pause(self):
        # type: () -> None
        """Let other threads have the line, however often this one has it."""
        held = self._line._release_save()  # type: ignore[attr-defined]
        _sleep(0.0005)
        self._line._acquire_restore(held)  # type: ignore[attr-defined]

    def may_end(self, ends):
        # type: (Any) -> None
        """By which exceptions the answer to this thread's next question may end an iteration."""
        self._ends[_get_ident()] = ends

    def ends(self):
        # type: () -> Any
        """Those, which hold for one question."""
        return self._ends.pop(_get_ident(), ()) if self._ends else ()

    def _exchange(self, operation, fields):
        # type: (str, list[Any]) -> tuple[bytes, Any]
        number = _undisturbed(self._put, operation, fields)  # type: int
        while True:
            kind, answered, values = self._receive()
            if kind == QUESTION:
                self._answer(answered, values)
                continue
            if kind not in (VALUE, RAISED, TOO_LARGE) or answered != number:
                raise Broken("an answer to another question")
            if len(values) != 1 or (kind == RAISED and not isinstance(values[0], BaseException)):
                raise Broken("an answer that is none")
            return kind, values[0]

    def _put(self, operation, fields):
        # type: (str, list[Any]) -> int
        number = self._asked = self._asked + 1
        self._send(QUESTION, number, [operation, *fields])
        return number

    # ---- serving ---------------------------------------------------------------------------------------------------

    def serve(self):
        # type: () -> None
        """Answer until the other side hangs up or says what is no question."""
        with self._line:
            while True:
                try:
                    kind, number, fields = self._receive()
                    if kind != QUESTION:
                        return
                    self._answer(number, fields)
                except Broken:
                    return

    def _answer(self, number, fields):
        # type: (int, list[Any]) -> None
        if number != self._served + 1 or self._open > MAX_NESTED:
            raise Broken("a question out of turn")
        self._served = number
        self._nested += 1
        kind, values = VALUE, []  # type: bytes, list[Any]
        try:
            try:
                values.append(self._performed(fields))
            except Broken:
                raise
            except BaseException as error:
                if not self.is_test:
                    set_traceback(error, None)
                kind, values = RAISED, [error]
            del fields[:]
            if self.before_answer is not None:
                self.before_answer()
            _undisturbed(self._say, kind, number, values)
        finally:
            self._nested -= 1

    def _performed(self, fields):
        # type: (list[Any]) -> Any
        """What was asked for, with the line free for other threads; until what these ask has its answers."""
        nested, is_call_back = self._nested, self._open > 0
        if is_call_back:
            self._inside.append((_get_ident(), _monotonic() + _PATIENCE_S))
        held = self._line._release_save()  # type: ignore[attr-defined]
        try:
            return self._perform(fields)
        finally:
            self._line._acquire_restore(held)  # type: ignore[attr-defined]
            while self._nested != nested:
                self._pause()
            if is_call_back:
                self._inside.pop()

    def _say(self, kind, number, values):
        # type: (bytes, int, list[Any]) -> None
        try:
            self._send(kind, number, values)
        except Unsent as error:
            self._send(TOO_LARGE, number, [str(error)])

    def _perform(self, fields):
        # type: (list[Any]) -> Any
        if self.objects.placing.waiting:
            self.objects.placing.finish(Broken)
        operation, target, *rest = fields
        if self._permits is not None and not self._permits(operation, target, rest):
            raise AttributeError("a candidate may not %s this of the test" % operation)
        if operation == "call":
            names = rest[0].split("\0") if rest[0] else []
            arguments, values = rest[1 : len(rest) - len(names)], rest[len(rest) - len(names) :]
            keywords = dict(zip(names, values))
            del fields[:], rest[:], values[:]
            return self._run(target, arguments, keywords)
        if operation == "special":
            return self._run(SPECIAL[rest[0]], [target, *rest[1:]], {})
        if operation in _ATTRIBUTES:
            return self._run(_ATTRIBUTES[operation], [target, *rest], {})
        return self.more[operation](target, *rest)

    # ---- messages --------------------------------------------------------------------------------------------------

    def _send(self, kind, number, values):
        # type: (bytes, int, list[Any]) -> None
        """Everything in `values` crosses; the list is emptied, so that nothing here refers to it any more."""
        try:
            body = with_room(self._written, values)
        except (TooLarge, MemoryError, RecursionError) as error:
            self.containers.undo()
            raise Unsent(str(error) or type(error).__name__) from None
        self.containers.settle()
        del values[:]
        dropped = [] if self.is_test else self.containers.sweep()
        dead, self.objects.dead = self.objects.dead, []
        gone = [*dropped, *dead]
        head = _HEAD.pack(number, len(dropped))
        if gone:
            head += struct.pack("<%dI" % len(gone), *gone)
        size = _BEGIN.size + len(head) + len(body)  # not its own field, but that of the body's
        front = _BEGIN.pack(size, 1, kind, len(head)) + head + _U32.pack(len(body))
        try:
            if len(body) < _LARGE:
                frames.write_all(CHANNEL, front + body)
            else:  # not copied once more
                frames.write_all(CHANNEL, front)
                frames.write_all(CHANNEL, body)
        except OSError as error:
            raise Broken(str(error)) from None

    def _written(self, values):
        # type: (list[Any]) -> bytes
        writer = Writer(self.containers, self.objects)
        changed = self.containers.changed() if self.containers.entries else ()  # type: Sequence[int]
        writer.parts.append(_U32.pack(len(changed)))
        for number in changed:
            writer.parts.append(_U32.pack(number))
            writer.content(self.containers.touch(number), 0)
        writer.parts.append(_U32.pack(len(values)))
        writer.mixed(values, 0)
        return writer.bytes(MAX_MESSAGE)

    def _receive(self):
        # type: () -> tuple[bytes, int, list[Any]]
        """(kind, number of the question, values). What the other side has forgotten since is forgotten after them."""
        try:
            data = self._incoming.frame()
        except (frames.FrameError, OSError, MemoryError) as error:
            raise Broken(str(error)) from None
        kind, head, body = _places(data)
        number, count = _HEAD.unpack_from(data, head)
        reader = Reader(data, self.containers, self.objects, body)
        try:
            values = self.objects.placing.during(reader.checked, self._values, reader)
            reader.end()
        except (Garbled, MemoryError, AttributeError, ImportError, AssertionError) as error:
            raise Broken("what was sent is no value: %s" % error) from None
        self.containers.settle()
        gone = head + _HEAD.size
        if body - _U32.size > gone:
            numbers = list(struct.unpack_from("<%dI" % ((body - gone) // 4 - 1), data, gone))
            self.containers.forget(numbers[:count])
            self.objects.release(numbers[count:])
        return kind, number, values

    def _values(self, reader):
        # type: (Reader) -> list[Any]
        for _ in range(reader.count()):
            number = reader.u32()
            if self.refilled is not None:
                self.refilled.append((now(), number))
            reader.fill(self.containers.touch(number), 0)
        return reader.items(reader.count(), 1)

    # ---- for proxies -----------------------------------------------------------------------------------------------

    def call(self, target, arguments, keywords):
        # type: (Any, tuple[Any, ...], dict[str, Any]) -> Any
        return self.ask("call", target, "\0".join(keywords), *arguments, *keywords.values())

    def means_a_class(self, cls):  # noqa: ARG002 - the test's end knows
        # type: (object) -> bool
        """Does who calls this class of the other end mean to make an object?"""
        return False

    def note(self, cls, values):
        # type: (object, tuple[object, ...]) -> Any
        """An object is about to be made of these values by calling a class of the other end."""

    def note_again(self, value, shown, began):
        # type: (object, Any, int) -> None
        """What came of that was `value`, which is no new object of that class."""

    def refuse(self, why):
        # type: (str) -> Any
        """What only the other end could do is not asked of it."""
        raise TypeError(why)

    def ask(self, operation, *fields):
        # type: (str, Any) -> Any
        kind, value = self.exchange(operation, list(fields))
        if kind == RAISED:
            raise value
        return value


def _places(data):
    # type: (bytes) -> tuple[bytes, int, int]
    """(kind of the message, where its head begins, where its body does) in its frame. Raises Broken."""
    if len(data) < _BEGIN.size + _HEAD.size + _U32.size:
        raise Broken("not a message")
    _, first, kind, size = _BEGIN.unpack_from(data)
    body = _BEGIN.size + size + _U32.size
    if first != 1 or size < _HEAD.size or size % 4 or body > len(data):
        raise Broken("not a message")
    if _U32.unpack_from(data, body - _U32.size)[0] != len(data) - body:
        raise Broken("not a message")
    return kind, _BEGIN.size, body


def _undisturbed(function, *arguments):
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


def copied(target, is_deep):
    # type: (Any, object) -> Any
    import copy

    return (copy.deepcopy if is_deep else copy.copy)(target)


def _waits(thread):
    # type: (int) -> bool
    """Is a thread in the midst of what `threading` does, which is waiting for another?"""
    frame = _current_frames().get(thread)
    return frame is not None and frame.f_globals.get("__name__") == "threading"


# Taken now: what a program puts in their place later changes nothing.
_collects, _collect_not, _collect_again = gc.isenabled, gc.disable, gc.enable
_U32 = struct.Struct("<I")
_BEGIN = struct.Struct("<IIcI")  # of a frame of three fields: its size, the first one, the length of the second
_LARGE = 1 << 16
_ATTRIBUTES = {"get": getattr, "set": setattr, "del": delattr}


def connect(link):
    # type: (Any) -> None
    """Make `link` the connection of this process's proxies."""
    connection[:] = [link]
