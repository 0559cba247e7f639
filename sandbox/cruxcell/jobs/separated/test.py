"""The test's worker: runs the script on proxies, and ends it when the candidate has certainly failed."""

import builtins
import os
import sys
from time import monotonic as _monotonic

from cruxcell.analysis.bytecode import dissect, loaded_names
from cruxcell.analysis.compiled import loaded
from cruxcell.analysis.parsing import CHECK, Invalid, compile_text, parse_text
from cruxcell.analysis.vacuous import refuse_vacuous, surely_tests
from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.jobs.separated.classes import without_class
from cruxcell.jobs.separated.docstrings import NO_EXAMPLES, follow_doctests
from cruxcell.jobs.separated.equality import BECAME, Notes, hold_what_was_made
from cruxcell.jobs.separated.lending import Lender
from cruxcell.jobs.separated.link import TOO_LARGE, Broken, Link, Unsent, connect, copied
from cruxcell.jobs.separated.looking import follow_sources, looks_at_all, shown_names
from cruxcell.jobs.separated.operations import STEADY, is_a_mock, may_get, may_set, shown
from cruxcell.jobs.separated.remote import RemoteObject, RemoteType, now, number_of
from cruxcell.jobs.separated.script import (
    bound_names,
    constant_texts,
    expects_names,
    names_in_texts,
    raises_by_itself,
    used_as_modules,
    uses_its_own,
)
from cruxcell.jobs.separated.shared_names import STDLIB_MODULES, own_module
from cruxcell.jobs.separated.texts import Texts
from cruxcell.jobs.suite_base import is_well
from cruxcell.jobs.suites import open_suite
from cruxcell.namespace import resolve, root_of
from cruxcell.protocol import frames, messages, records
from cruxcell.protocol.payloads import TEST_FLAGS, UNREAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_MOST_OF_NAMES = 8  # containers that an honest answer about names is made of
_MANY_NAMES = 10_000


def run_test(context, fields, is_rehearsal=False):
    # type: (JobContext, list[bytes], bool) -> None
    """fields: script, entry point, framework, flags, code of the script or nothing. ENDED if the script comes to its
    end; see `_TestLink` for other ends. `is_rehearsal`: other jobs follow in this process."""
    source = fields[0].decode("utf-8", "surrogatepass")
    try:
        suite = open_suite(fields[2].decode(), source)
        script = loaded(fields[4]) or compile_text(suite.code, CHECK, "exec")
        if TEST_FLAGS.unpack(fields[3])[0] & UNREAD and not surely_tests(source, script):
            refuse_vacuous(parse_text(source, "exec"))
    except Invalid as error:
        context.refuse("the script: %s" % error)
        return
    suite.is_compiled(script)
    context.start(messages.DIRECT, 0)
    link = _TestLink(context, suite.namespace)
    try:
        if not is_rehearsal:
            link.texts = Texts(context.helper.hear, script, link.may_have_texts, link.leave_at_text)
        link.provide(script, suite.code, fields[1].decode())
        suite.begin()
        results = _run_suite(script, suite)
        link.at_end()
    except BaseException as error:
        context.send_raised(error, flags=link.flags)
    else:
        if results is not None:
            context.send(results.record())
        context.send(records.ended(context.numbers(link.flags), *context.output()))


def _run_suite(script, suite):
    # type: (CodeType, Any) -> Any
    try:
        if not suite.is_whole:
            _run_script(script, suite.namespace)
    except suite.skips as error:  # which no exception of the candidate's is
        suite.skip(error)
        return suite.results
    return suite.run()


def _run_script(script, namespace):
    # type: (CodeType, dict[str, Any]) -> None
    """To its end, which may be `sys.exit` with status 0; not if the candidate had a hand in that."""
    try:
        exec(script, namespace)
    except SystemExit as error:
        if not is_well(error) or _ANSWERED in error.__dict__:
            raise


# What would end an iteration or a generator of the test's own, `all(map(candidate, ...))`, and leave it content.
_ENDS = (StopIteration, StopAsyncIteration, GeneratorExit)
_CALLS = frozenset(["call", "special", "drive"])
_TELLS = (repr, str, format)
# Of objects of other classes the class has a name, which is a text of the program's.
_NAMELESS = frozenset(["function", "builtin_function_or_method", "_lru_cache_wrapper"])
_RUNS_TEXT = (
    "the script runs code in line %d that may be the program's (by eval, exec, pickle, doctest or a library), and would"
    " run it in the test's process: compare values, or require IN_PROCESS"
)
_ANSWERED = "_answered"  # an attribute of the SystemExit that the candidate has raised, or raised again


def _answered(error, may_stop):
    # type: (BaseException, Any) -> BaseException
    """What is raised where the candidate has raised `error`; `may_stop`: what may end an iteration."""
    if isinstance(error, _ENDS) and not isinstance(error, may_stop):
        return RuntimeError("the candidate raised %s" % type(error).__name__)
    if isinstance(error, SystemExit):
        BaseException.__setattr__(error, _ANSWERED, True)
    return error


def _run(function, arguments, keywords):
    # type: (Any, list[Any], dict[str, Any]) -> Any
    """What the candidate asks of the test."""
    told = shown(arguments[0]) if any(function is each for each in _TELLS) else ""  # it may have an __eq__
    return told or function(*arguments, **keywords)


class _TestLink(Link):
    """The test's end. What cannot go on ends the script at once, so that it cannot catch it."""

    def __init__(self, context, namespace):
        # type: (JobContext, dict[str, Any]) -> None
        Link.__init__(self, True, _run, self._may)
        self._context, self._namespace = context, namespace
        self._source = ""
        self._own = self._lent = (sys.stdin, builtins.input)
        self._view = {}  # type: dict[str, Any]
        self._given = {}  # type: dict[str, Any]
        self._names_of_classes = ()  # type: tuple[str, ...]
        self._has_answered = self._shows_texts = self._has_called = False
        self.idle = []  # type: list[Any]  # doctest runs that have tested nothing
        self.compared_by_identity = self._is_of_its_own = False
        self._steady = {}  # type: dict[tuple[int, str], Any]
        self.texts = None  # type: Texts | None
        self._lender = None  # type: Lender | None
        self.notes = Notes()
        self.before_answer = lambda: self.notes.forget_from(self._open)
        self.more["copy"] = copied
        self._heard = {}  # type: dict[str, Any]  # where what the candidate prints to a stream goes instead
        connect(self)

    @property
    def flags(self):
        # type: () -> int
        """What a report on the script says besides."""
        return records.BY_IDENTITY * self.compared_by_identity | records.OF_ITS_OWN * self._is_of_its_own

    def exchange(self, operation, fields):
        # type: (str, list[Any]) -> tuple[bytes, Any]
        may_stop = self.ends()
        with self._line:  # what comes with a question is no other thread's
            if self._inside:
                self.take_turn()
            return self._asked_for(operation, fields, may_stop)

    def _asked_for(self, operation, fields, may_stop):
        # type: (str, list[Any], Any) -> tuple[bytes, Any]
        if operation == "special" and fields[1] == "__next__":
            may_stop = StopIteration
        told = (number_of(fields[0]), fields[1]) if operation == "special" and fields[1] in STEADY else None
        if told is None or self.listens():
            self._steady.clear()
        elif told in self._steady:
            value, until = self._steady[told]
            if _monotonic() < until and not self.containers.changed():  # which the object may look at
                return b"v", value
        exchange = self._watched if self.notes.outlast(self, operation, fields, self._open) else self._exchange_or_leave
        self._lend()
        heard, streams = self._heard, {name: getattr(sys, name) for name in self.listens()}
        for name, stream in streams.items():  # of output from before, what is not for another stream
            self._hear(name, heard.get(name) if self._open or heard.get(name) is stream else None)
        self._heard = streams
        try:
            kind, value = exchange(operation, fields)
        finally:
            self._heard = heard if self._open else streams
        for name in streams:
            self._hear(name, getattr(sys, name))
        if operation not in ("names", "look"):
            self._has_answered = True
            self._has_called = self._has_called or operation in _CALLS
        if kind != b"v":
            value = _answered(value, may_stop)
        self._rebind()
        self._took(value if kind == b"v" else None)  # a text cannot hold what it raises
        if told is not None and kind == b"v":
            self._steady[told] = value, _monotonic() + STEADY[told[1]]
        return kind, value

    def _took(self, value):
        # type: (object) -> None
        """Of the candidate; with that, what both sides have may be another, too."""
        if self.texts is not None and self.texts.is_under_way():
            self.texts.take([value, *self._given.values(), *[each[0] for each in self.containers.entries.values()]])

    def _watched(self, operation, fields):
        # type: (str, list[Any]) -> tuple[bytes, Any]
        """Ask what changes nothing that was noted. No container becomes what the script has made meanwhile, either."""
        began, before = now(), self.refilled
        self.refilled = [] if before is None else before
        try:
            kind, value = self._exchange_or_leave(operation, fields)
            refilled = [number for when, number in self.refilled if when > began]
        finally:
            self.refilled = before
        named = [id(each) for name in self._given for each in (self._given[name], self._namespace.get(name))]
        if refilled and hold_what_was_made(self, refilled, [id(self._view), *named], value, began):
            self.refuse(BECAME % "what the program has given the script")
        return kind, value

    def _exchange_or_leave(self, operation, fields):
        # type: (str, list[Any]) -> tuple[bytes, Any]
        try:
            kind, value = Link.exchange(self, operation, fields)
        except Broken as error:
            self._leave(messages.CANDIDATE_GONE, "the candidate is gone, or what it said is no answer (%s)" % error)
        except Unsent as error:
            # What the candidate gave may have made it so large; before that it is the script's own doing.
            end = messages.NOT_PLAIN if self._has_answered else messages.CANNOT_CROSS
            self._leave(end, "the script hands over more than may cross at once (%s)" % error)
        if kind == TOO_LARGE and operation != "states":
            self._leave(messages.NOT_PLAIN, "the candidate returned more than may cross at once (%s)" % value)
        return kind, value

    def _tell(self, operation, *fields):
        # type: (str, Any) -> Any
        return self._exchange_or_leave(operation, [None, *fields])[1]

    def _hear(self, name, stream):
        # type: (str, Any) -> None
        """What the candidate has printed since the last time goes to this stream, if there is one."""
        printed = self._tell("printed", name)
        if type(printed) is str and printed and stream is not None:
            stream.write(printed)

    def listens(self):
        # type: () -> list[str]
        """In the place of which streams the script has put something else, as `redirect_stdout` does."""
        if sys.stdout is self._context.stdout and sys.stderr is self._context.stderr:
            return []
        own = {"stdout": self._context.stdout, "stderr": self._context.stderr}
        return [name for name in own if getattr(sys, name) is not own[name]]

    def _lend(self):
        # type: () -> None
        """The program reads what the script has in the place of standard input, and calls what it has for `input`."""
        stdin, ask = sys.stdin, builtins.input
        if stdin is not self._lent[0] or ask is not self._lent[1]:
            self._lent = (stdin, ask)
            own = self._own
            self._tell("lend", None if stdin is own[0] else stdin, None if ask is own[1] else ask)
        for change in self._lender.changes() if self._lender is not None else ():
            if change[0] == "refused":
                self.refuse(change[1])
            self._tell("borrow", *change)

    def _leave(self, kind, text):
        # type: (bytes, str) -> None
        """Report the reason and end. Never returns."""
        self._context.send(frames.frame([kind, self._context.numbers(), records.text_bytes(text)]))
        os._exit(messages.EXIT_DONE)

    def refuse(self, why):
        # type: (str) -> Any
        """At once: a test that expects an error would take this one for the program's."""
        self._leave(messages.NOT_PLAIN, why)

    def invalid(self, why):
        # type: (str) -> Any
        """As `refuse`, where it is the script that no program can pass."""
        self._leave(messages.CANNOT_CROSS, why)

    def at_end(self):
        # type: () -> None
        """The script is through, and nothing has failed."""
        if self.idle and not self._has_called:
            self.invalid(NO_EXAMPLES)

    def means_a_class(self, cls):
        # type: (object) -> bool
        """By the name that the script has for it: `add(1, 2)` is meant to give a number, whatever `add` is."""
        return any(self._namespace.get(name) is cls for name in self._names_of_classes)

    def note(self):
        # type: () -> None
        self.notes.take(self, self._open)

    def note_again(self, value):
        # type: (object) -> None
        self.notes.is_complete = False
        if self.notes.has_changed(self, value):
            self.refuse(BECAME % ("a %s" % type(value).__name__))

    def may_have_texts(self):
        # type: () -> bool
        """May the script hold texts of the candidate by now?"""
        return self._has_answered or self._shows_texts

    def leave_at_text(self, line):
        # type: (int) -> None
        """The script is about to run code that may be the candidate's."""
        self._leave(messages.CANNOT_CROSS, _RUNS_TEXT % line)

    def _may(self, operation, target, rest):
        # type: (str, Any, list[Any]) -> bool
        """What the candidate may do: call, and use, what it was handed; never what leads from there to the script."""
        self._has_answered = True  # what comes with a question may make large what the script hands over
        if not self.objects.shows(target):
            return False
        self._took(rest)
        if operation == "set" and is_a_mock(target):  # an IntEnum, say, would answer in the place of a mock
            rest[1:] = map(without_class, rest[1:])
        if operation in ("get", "set", "del"):
            return type(rest[0]) is str and (may_get if operation == "get" else may_set)(target, *rest)
        return operation in ("call", "special", "copy") or (operation == "fields" and isinstance(target, type))

    def made_by_itself(self, error, traceback):
        # type: (BaseException, Any) -> bool
        """Is the exception the script's own doing, with no part in it of what the candidate gave?"""
        return raises_by_itself(self._source, self._namespace, error, traceback)

    # ---- the names of the program ----------------------------------------------------------------------------------

    def provide(self, script, source, entry_point):
        # type: (CodeType, str, str) -> None
        """Put what the script uses of the program into its namespace, and what it tests under `candidate`."""
        root, self._source = root_of(entry_point), source
        bound = self.ask("names", None)
        if type(bound) is not list or any(type(name) is not str for name in bound):
            self._leave(messages.CANDIDATE_GONE, "the candidate's names are no names")
        # Not those that a module has by itself: `__name__` would decide whether what it guards runs.
        named = dissect(script).all_names
        used = named | names_in_texts(script).difference(STDLIB_MODULES)
        self._is_of_its_own = uses_its_own(script)
        lender = Lender(script, constant_texts(script), self._namespace)
        used = used.union(lender.names).difference(self._namespace, ["__annotations__", "__file__"])
        self._names_of_classes = tuple(
            [name for name in bound if (name in used or name == root) and name.lstrip("_")[:1].isupper()]
        )
        if "source" in source:
            follow_sources(self)
        if "doctest" in source:
            follow_doctests(self)
        used = used | shown_names(bound) if looks_at_all(source, named) else used
        names = [name for name in bound if name in used or name == root]
        if root:
            names = [name for name in names if name == root or not (hasattr(builtins, name) or name == "candidate")]
        self._look(names, root, source, len(bound))
        if not root:
            self._give_builtins_back(script)
        self._follow(bound_names(script))
        lender.begin(self._view, root)
        self._lender = lender
        if root in self._namespace:
            self._namespace["candidate"] = resolve(self._namespace, entry_point)

    def _look(self, names, root, source, count):
        # type: (list[str], str, str, int) -> None
        found = self.ask("look", None, *names)
        if type(found) is not tuple or len(found) != 2 or type(found[0]) is not dict or type(found[1]) is not dict:
            self._leave(messages.CANDIDATE_GONE, "the candidate's names are no names")
        self._view, modules = found
        # Functions and classes alone make nothing large that the script hands over; data of the program may.
        is_bare = all(type(each) is RemoteType or issubclass(type(each), RemoteObject) for each in self._view.values())
        if not is_bare or len(self.containers.entries) > _MOST_OF_NAMES or count > _MANY_NAMES:
            self._has_answered = True
        self._shows_texts = not all(type(each).__name__ in _NAMELESS for each in self._view.values())
        meant = used_as_modules(source, [name for name in names if name in STDLIB_MODULES and name != root])
        for name in names:
            if name in meant or name in modules:
                module = own_module(name, modules.get(name, name))
                # `datetime.strptime` is the class's that the program has from the module of that name.
                if name in modules or all(hasattr(module, attribute) for attribute in meant[name]):
                    if module is not None:
                        self._namespace[name] = module
                    continue
            if name in self._view:
                self._namespace[name] = self._given[name] = self._view[name]
        hashed = [each for each in self.objects.present() if "__hash__" in vars(type(each))]
        if hashed and not is_bare:  # which classes are meant is known now
            self.objects.placing.again(hashed, [each[0] for each in self.containers.entries.values()])

    def _give_builtins_back(self, script):
        # type: (object) -> None
        """A script that names no entry point tests a program's `sum` if that is all it expects of the program; beside
        other names, bound by the program or not, `sum` is Python's own: or a program that redefines `abs` could have
        any number come close, and one that redefines `zip` could have no test run."""
        redefined = [name for name in self._given if hasattr(builtins, name)]
        if redefined:
            loaded = loaded_names(script)
            if expects_names(script) or any(name in loaded and name not in redefined for name in self._given):
                for name in redefined:
                    del self._namespace[name], self._given[name]

    def _follow(self, own):
        # type: (set[str] | None) -> None
        """Which names may come to stand for something else: none that the script binds (`own`; None: it may bind any to
        what both sides have). Or a program would take the script's own `Counter` for its, and change that."""
        for name, value in list(self._given.items()):
            is_proxy = type(value) is RemoteType or issubclass(type(value), RemoteObject)
            if not is_proxy if own is None else name in own:
                del self._given[name]

    def _rebind(self):
        # type: () -> None
        """Where the program has bound a name anew, the script sees it, unless it has done so itself."""
        for name, before in self._given.items():
            now = self._view.get(name, before)
            if self._namespace.get(name) is before:
                self._namespace[name] = now
            self._given[name] = now
