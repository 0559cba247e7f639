"""Messages between the two workers of a separated script: one open question at a time, answers in order.

A message is a frame of three fields: what it is, its head, its body. The head holds the number of the question and the
numbers of what the sender has forgotten; the body the containers that changed since the last message, and the values.
While one half waits for an answer it serves the other's questions, so either may call back; how deep that goes is
bounded. Whatever is wrong with a message ends the conversation: an answer is never taken for that to another question.

That is so where no threads can be started (`one_thread`). Where they can, `partners` says whose questions are open, who
serves them, and who may send.
"""

import struct
from _thread import get_ident as _get_ident

from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.crossing.classes import fields_of
from cruxcell.jobs.separated.crossing.objects import Objects
from cruxcell.jobs.separated.exchange.line import Line
from cruxcell.jobs.separated.exchange.one_thread import QUESTION, RAISED, OneThread, undisturbed
from cruxcell.jobs.separated.exchange.partners import Partners
from cruxcell.jobs.separated.proxies.members import class_asked
from cruxcell.jobs.separated.proxies.operations import SPECIAL
from cruxcell.jobs.separated.proxies.runs import LINK, QUESTIONS
from cruxcell.protocol import frames, messages
from cruxcell.protocol.records import set_traceback
from cruxcell.values.canonical import TooLarge
from cruxcell.values.containers import Containers, Garbled, is_referred_to, need_frames, with_room
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence  # noqa: F401 - in type comments

CHANNEL = messages.CHANNEL_DESCRIPTOR
MAX_MESSAGE = 16 << 20
MAX_NESTED = 64  # questions that are open at a time
VALUE, TOO_LARGE = b"v", b"t"
QUIET = b"n"  # a value, and there is nothing of what the test asks for after each answer
_HEAD = struct.Struct("<II")
# What reading what is no message may raise.
_WRONG = (struct.error, ArithmeticError, BufferError, LookupError, TypeError, ValueError, RecursionError)
CALL = compile("f(*a, **k)", CHECK, "eval")


class Broken(Exception):
    """The conversation cannot go on: the other half is gone, or what it sent is no message."""


class Unsent(Exception):
    """What was to be sent is too large; nothing was sent."""


class Link:
    """Of one half. `run(function, arguments, keywords)` does what is asked, if `permits(operation, target, rest)`."""

    def __init__(self, is_test, run, permits=None):
        # type: (bool, Callable[..., Any], Callable[..., bool] | None) -> None
        self.is_test = is_test
        self.objects = Objects(is_test)
        self.containers = Containers(0 if is_test else 1)
        self._run, self._permits = run, permits
        self._ends = {}  # type: dict[int, Any]
        self._asked = self._arrived = 0
        self.of_classes = {}  # type: dict[int, Any]  # open questions by which the test asks a class for what it has
        self._is_writing = False
        self.line = Line()
        self.threads = OneThread(self)  # type: OneThread | Partners
        self.incoming = frames.Incoming(CHANNEL, _MOST_BYTES)
        self.more = {"fields": fields_of}  # type: dict[str, Callable[..., Any]]
        self.before_answer = None  # type: Callable[[], None] | None
        self.pickles = None  # type: Any  # what becomes of pickles that hold objects of the other half's
        self.has_cancelled = False  # has this half thrown into the other what cancels there, or does it expect that?
        self.has_news = None  # type: Callable[[], bool] | None  # is there something that the test asks for afterwards?
        self.named = frozenset()  # type: frozenset[str]  # the names with two underscores that the script has

    def share(self):
        # type: () -> bool
        """Several threads may ask at a time from the next message on."""
        partners = Partners(self)
        has_begun = partners.begin()
        if has_begun:
            self.threads = partners
        return has_begun

    def depth(self):
        # type: () -> int
        """How many questions are open that what this thread does is a part of."""
        return self.threads.depth()

    def alone_since(self, time):
        # type: (int) -> int
        return self.threads.alone_since(time)

    # ---- asking ----------------------------------------------------------------------------------------------------

    def exchange(self, operation, fields):
        # type: (str, list[Any]) -> tuple[bytes, Any]
        """(kind of the answer, value). Raises Broken, or Unsent or RecursionError where nothing was sent."""
        with self.line:
            if self._is_writing:  # an exception is asked for its text, say: the question would come in between
                raise RuntimeError("nothing is asked while a message is written")
            if self.depth() >= MAX_NESTED:
                raise RecursionError("more than %d calls between candidate and test at a time" % MAX_NESTED)
            threads = self.threads
            need_frames(threads.frames)  # else the script is too deep, and nothing was sent
            try:
                cls = class_asked(operation, fields, self.means_a_class) if self.is_test else None
                answer = threads.exchange(operation, fields, cls)  # type: tuple[bytes, Any]
            except (Broken, Unsent):
                raise
            except BaseException as error:  # whatever it is, the answer may still be under way
                raise self.broken(error) from None
            threads.outside(threads.settle)
            return answer

    def place(self):
        # type: () -> None
        """What has come goes to its place in sets and dicts."""
        self.let_go()
        self.objects.placing.finish(Broken)

    def let_go(self):
        # type: () -> None
        """What neither half has any more: not in the midst of a message, as its finalizers may ask for something."""
        gone, self.containers.gone = self.containers.gone, []
        del gone

    def may_end(self, ends):
        # type: (Any) -> None
        """By which exceptions the answer to this thread's next question may end an iteration."""
        self._ends[_get_ident()] = ends

    def ends(self):
        # type: () -> Any
        """Those, which hold for one question."""
        return self._ends.pop(_get_ident(), ())

    def answer_to(self, number, kind, answered, values):
        # type: (int, bytes, int, list[Any]) -> tuple[bytes, Any]
        if kind not in (VALUE, QUIET, RAISED, TOO_LARGE) or answered != number:
            raise Broken("an answer to another question")
        if len(values) != 1 or (kind == RAISED and not isinstance(values[0], BaseException)):
            raise Broken("an answer that is none")
        return kind, values[0]

    # ---- serving ---------------------------------------------------------------------------------------------------

    def serve(self):
        # type: () -> None
        """Answer until the other half hangs up or says what is no question."""
        with self.line:
            try:
                self.threads.serve()
            except Broken:
                return

    def answer(self, number, fields):
        # type: (int, list[Any]) -> None
        """Do what was asked, with the line free for other threads, and say what came of it."""
        if self.depth() > MAX_NESTED:
            raise Broken("too many questions")
        threads = self.threads
        may_be_quiet = self.has_news is not None and fields[0] in _WITH_NEWS
        kind, values = VALUE, []  # type: bytes, list[Any]
        try:
            values.append(self.objects.by_name.answered(threads.outside(self._perform, fields)))
        except Broken:
            raise
        except BaseException as error:
            if not self.is_test:
                set_traceback(error, None)
            kind, values = RAISED, [error]
        del fields[:]
        if self.before_answer is not None:
            self.before_answer()
        if may_be_quiet and kind == VALUE and not self.has_news():  # type: ignore[misc]
            kind = QUIET
        if issubclass(type(values[0]), BaseException) and not is_referred_to(values):
            self.objects.passing = values[0]
        try:
            threads.send(kind, number, values)
        except Unsent as error:
            threads.send(TOO_LARGE, number, [str(error)])
        self.objects.passing = None

    def _perform(self, fields):
        # type: (list[Any]) -> Any
        self.threads.settle()
        operation, target, *rest = fields
        if self._permits is not None and not self._permits(operation, target, rest):
            what = rest[0] if operation in _ATTRIBUTES and type(rest[0]) is str else "this"
            raise AttributeError("a candidate may not %s %s of the test" % (operation, what))
        if operation == "call":
            names = rest[0].split("\0") if rest[0] else []
            keywords = dict(zip(names, rest[len(rest) - len(names) :]))
            del fields[:], rest[len(rest) - len(names) :], rest[:1]
            return self._run(target, rest, keywords)
        if operation == "special":
            return self._run(SPECIAL[rest[0]], [target, *rest[1:]], {})
        if operation in _ATTRIBUTES:
            return self._run(_ATTRIBUTES[operation], [target, *rest], {})
        return self.more[operation](target, *rest)

    # ---- messages --------------------------------------------------------------------------------------------------

    def send(self, kind, number, values, has_room=False):
        # type: (bytes, int, list[Any], bool) -> int
        """Everything in `values` crosses; the list is emptied, so that nothing here refers to it any more. Returns the
        number, which is the next for a question. `has_room`: there are frames enough already, as by `with_room`."""
        if kind == QUESTION:
            number = self._asked = QUESTIONS[0] = self._asked + 1
        self._is_writing = True
        try:
            body = self._written(values) if has_room else with_room(self._written, values)
        except (TooLarge, MemoryError, RecursionError) as error:
            self.containers.undo()
            raise Unsent(str(error) or type(error).__name__) from None
        finally:
            self._is_writing = False
        self.containers.settle()
        del values[:]
        dropped = () if self.is_test else self.containers.sweep()  # type: Sequence[int]
        self.containers.gone += self.objects.held.sweep()
        gone = b""
        if dropped or self.objects.held.dead:
            dead, self.objects.held.dead = self.objects.held.dead, {}
            gone = struct.pack("<%dI" % (len(dropped) + len(dead)), *dropped, *dead)
        size = _BEGIN.size + len(gone) + len(body)  # not its own field, but that of the body's
        front = _BEGIN.pack(size, 1, kind, _HEAD.size + len(gone), number, len(dropped)) + gone + _U32.pack(len(body))
        if len(body) < _LARGE:
            self.write(front + body)
        else:  # not copied once more
            self.write(front)
            self.write(body)
        return number

    def write(self, data):
        # type: (bytes) -> None
        try:
            frames.write_all(CHANNEL, data)
        except OSError as error:
            raise Broken(str(error)) from None

    def _written(self, values):
        # type: (list[Any]) -> bytes
        writer = Writer(self.containers, self.objects)
        changed = self.containers.changed()
        writer.parts.append(_U32.pack(len(changed)))
        for number in changed:
            writer.parts.append(_U32.pack(number))
            writer.content(self.containers.touch(number), 0)
        writer.parts.append(_U32.pack(len(values)))
        writer.mixed(values, 0)
        return writer.bytes(MAX_MESSAGE)

    def receive(self, has_room=False):
        # type: (bool) -> tuple[bytes, int, list[Any]]
        try:
            data = self.incoming.frame()
        except (frames.FrameError, OSError, MemoryError) as error:
            raise Broken(str(error)) from None
        return undisturbed(self.taken, data, has_room)  # type: ignore[no-any-return]

    def taken(self, data, has_room=False):
        # type: (bytes, bool) -> tuple[bytes, int, list[Any]]
        """(kind, number of the question, values) of a message, in its frame. What the other half has forgotten since is
        forgotten after them."""
        kind, number, count, body = _places(data)
        reader = Reader(data, self.containers, self.objects, body)
        self.objects.is_question, self.objects.is_given = kind == QUESTION, kind != RAISED
        self.objects.asked = self.of_classes.pop(number, None) if kind != QUESTION else None
        try:
            values = self.objects.placing.during(self._read, reader, has_room)
            reader.end()
        except (Garbled, MemoryError, AttributeError, ImportError, AssertionError) as error:
            raise Broken("what was sent is no value: %s" % error) from None
        self.containers.settle()
        if body - _U32.size > _BEGIN.size:
            numbers = list(struct.unpack_from("<%dI" % ((body - _BEGIN.size) // 4 - 1), data, _BEGIN.size))
            self.containers.forget(numbers[:count])
            self.containers.gone += self.objects.shown.release(numbers[count:])
        if kind == QUESTION:
            self._arrived += 1
            if number != self._arrived:
                raise Broken("a question out of turn")
        return kind, number, values

    def _read(self, reader, has_room):
        # type: (Reader, bool) -> list[Any]
        try:
            return self._values(reader) if has_room else with_room(self._values, reader)
        except _WRONG as error:
            raise Garbled(str(error)) from None

    def _values(self, reader):
        # type: (Reader) -> list[Any]
        is_given, self.objects.is_given = self.objects.is_given, True
        for _ in range(reader.count()):
            number = reader.u32()
            self.is_refilled(number)
            reader.fill(self.containers.touch(number), 0)
        self.objects.is_given = is_given
        return reader.items(reader.count(), 1)

    def is_refilled(self, number):
        # type: (int) -> None
        """The other half has changed this container."""

    def broken(self, error):
        # type: (BaseException) -> Broken
        """What says that the conversation cannot go on, for that reason."""
        return error if isinstance(error, Broken) else Broken("%s: %s" % (type(error).__name__, error))

    # ---- for proxies -----------------------------------------------------------------------------------------------

    def call(self, target, arguments, keywords):
        # type: (Any, tuple[Any, ...], dict[str, Any]) -> Any
        names = "\0".join(keywords)
        return _given(*self.exchange("call", [target, names, *arguments, *keywords.values()]))

    def means_a_class(self, cls):  # noqa: ARG002 - the test's link knows
        # type: (object) -> bool
        """Does who calls this class of the other half mean to make an object?"""
        return False

    def note(self, values):
        # type: (tuple[object, ...]) -> Any
        """An object is about to be made of these values by calling a class of the other half."""

    def note_again(self, value, shown, began):
        # type: (object, Any, int) -> None
        """What came of that was `value`, which is no new object of that class."""

    def refuse(self, why):
        # type: (str) -> Any
        """What only the other half could do is not asked of it."""
        raise TypeError(why)

    def decline(self, why):
        # type: (str) -> Any
        """As `refuse`, where the other half was not asked anything of it either."""
        return self.refuse(why)

    def ask(self, operation, *fields):
        # type: (str, Any) -> Any
        return _given(*self.exchange(operation, list(fields)))


def _given(kind, value):
    # type: (bytes, Any) -> Any
    """What an answer gives. No frame refers to what it raises: the traceback would hold itself, and the variables of
    all who call this, until garbage is collected."""
    if kind != RAISED:
        return value
    try:
        raise value
    finally:
        del value


def _places(data):
    # type: (bytes) -> tuple[bytes, int, int, int]
    """(kind of the message, number of the question, how many containers were forgotten, where the body begins) of its
    frame. Raises Broken."""
    if len(data) < _BEGIN.size + _U32.size:
        raise Broken("not a message")
    _, first, kind, size, number, count = _BEGIN.unpack_from(data)
    body = _BEGIN.size - _HEAD.size + size + _U32.size
    if first != 1 or size < _HEAD.size or size % 4 or body > len(data):
        raise Broken("not a message")
    if _U32.unpack_from(data, body - _U32.size)[0] != len(data) - body:
        raise Broken("not a message")
    return kind, number, count, body


_MOST_BYTES = MAX_MESSAGE + (1 << 20)  # of a frame
_U32 = struct.Struct("<I")
# Of a frame of three fields: its size, the first one, the length of the second, and how that begins (_HEAD).
_BEGIN = struct.Struct("<IIcIII")
_LARGE = 1 << 16
_WITH_NEWS = frozenset(["call", "special", "get", "set", "del", "drive", "members"])  # what asks for it afterwards
_ATTRIBUTES = {"get": getattr, "set": setattr, "del": delattr}


def connect(link):
    # type: (Any) -> None
    """Make `link` the one that the proxies of this process ask."""
    LINK[:] = [link]
