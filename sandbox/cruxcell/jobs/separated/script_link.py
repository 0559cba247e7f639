"""The test's link: asks the candidate, and ends the script where it cannot go on."""

import sys
from _thread import get_ident as _get_ident

from cruxcell.analysis.bytecode import IMPORTS, SETS_ATTRIBUTES, dissect, names_in, names_of, uses_its_own
from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.jobs.program_module import of_main
from cruxcell.jobs.separated.crossing.exceptions import answered
from cruxcell.jobs.separated.exchange import permissions
from cruxcell.jobs.separated.exchange.alongside import Alongside
from cruxcell.jobs.separated.exchange.leaving import Leaving
from cruxcell.jobs.separated.exchange.link import QUIET, TOO_LARGE, VALUE, Broken, Link, Unsent, connect
from cruxcell.jobs.separated.exchange.one_thread import may_begin
from cruxcell.jobs.separated.exchange.partners import Partners
from cruxcell.jobs.separated.exchange.refills import Refills
from cruxcell.jobs.separated.exchange.steady import Steady
from cruxcell.jobs.separated.followed import follow_what_is_named
from cruxcell.jobs.separated.proxies.awaiting import Lent
from cruxcell.jobs.separated.proxies.compared_tables import ComparedTables
from cruxcell.jobs.separated.proxies.copies import copied
from cruxcell.jobs.separated.proxies.doubts import Doubts
from cruxcell.jobs.separated.proxies.equality import BECAME, hold_what_is_made, hold_what_was_made, shown_by
from cruxcell.jobs.separated.proxies.facts import now, number_of
from cruxcell.jobs.separated.proxies.marks import keep_unmarked
from cruxcell.jobs.separated.proxies.notes import Notes
from cruxcell.jobs.separated.proxies.runs import exited, is_exit
from cruxcell.jobs.separated.proxies.signatures import outline_of
from cruxcell.jobs.separated.rules.configurations import follow_named
from cruxcell.jobs.separated.rules.docstrings import NO_EXAMPLES
from cruxcell.jobs.separated.rules.pickles import Pickles
from cruxcell.jobs.separated.rules.program_names import ProgramNames
from cruxcell.jobs.separated.rules.script import constant_texts, expects, raises_by_itself
from cruxcell.jobs.separated.rules.texts import Texts  # noqa: F401 - in type comments
from cruxcell.jobs.separated.state import changed_times
from cruxcell.jobs.separated.state.figures import SharedFigures
from cruxcell.jobs.separated.state.files import PassedFiles
from cruxcell.jobs.separated.state.lending import Lender
from cruxcell.jobs.separated.state.listening import Listener
from cruxcell.jobs.separated.state.mocks import Mocks
from cruxcell.jobs.separated.state.redirected import Redirected
from cruxcell.jobs.separated.state.waits import follow_waits
from cruxcell.namespace import resolve, root_of
from cruxcell.protocol import messages, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any, Callable  # noqa: F401 - in type comments

_CALLS = frozenset(["call", "special", "drive"])
_SETS_BY_NAME = frozenset(["__dict__", "setattr", "vars"])


class ScriptLink(Leaving, Link):
    """What cannot go on ends the script at once, so that it cannot catch it."""

    def __init__(self, context, namespace, token=b"", of_program=None):
        # type: (JobContext, dict[str, Any], bytes, dict[str, Any] | None) -> None
        lent = Lent()
        Link.__init__(self, True, lambda asked, *given: permissions.run(lent.stands_for(asked), *given), self._may)
        Leaving.__init__(self, context, token)
        self._namespace, self.is_quiet = namespace, False  # is there nothing beside the last answer?
        self._source = ""
        self.alongside = Alongside(self, context.stdout, context.stderr)
        self._names = ProgramNames(self, namespace, namespace if of_program is None else of_program)
        self.objects.by_name.program = self._names.namespace
        # Has the candidate given anything that may be large, or a text, as the task's files are? Was anything called?
        self.has_answered, self._has_called = context.has_files, False
        self.idle = []  # type: list[Any]  # doctest runs that have tested nothing
        self.compared_by_identity = self._is_of_its_own = False
        self.hashed = 0  # the object whose hash was asked for last, if only for whether it equals others since
        self.doubts = Doubts(lambda: "" if self.results is None else self.results.under_way)
        self._notes = {}  # type: dict[int, Notes]  # of each thread
        self._steady = Steady(self)
        self.value_of = self._steady.value_of
        self.texts = None  # type: Texts | None
        self._lender = None  # type: Lender | None
        self.pickles = Pickles(self)
        self._mocks, self._tables = Mocks(set()), ComparedTables()
        self.before_answer = lambda: self.notes.forget_from(self.depth())
        self.more.update(copy=copied, outline=outline_of)
        self.ran = 0  # when the candidate was last asked for what may change anything
        self._refills = Refills()
        self.objects.serve = permissions.run
        connect(self)

    @property
    def notes(self):
        # type: () -> Notes
        """What this thread has noted, whatever others ask meanwhile."""
        thread = _get_ident()
        if thread not in self._notes:
            self._notes[thread] = Notes()
        return self._notes[thread]

    @property
    def flags(self):
        # type: () -> int
        """What a report on the script says besides."""
        told = records.BY_IDENTITY * self.compared_by_identity | records.OF_ITS_OWN * self._is_of_its_own
        return told | records.PYTHONS_OWN * self._names.has_pythons_own

    def provide(self, script, suite, entry_point, is_redefined=False):
        # type: (CodeType, Any, str, bool) -> None
        """Put what the script uses of the program into its namespace, and what it tests under `candidate`."""
        self._source = source = suite.code
        self.objects.module = suite.program_module or self.objects.module
        named = names_in(script)
        imports = names_of(script, IMPORTS)
        files, listener = PassedFiles(named, imports), Listener(named)
        self.has_cancelled, self.objects.in_script = "CancelledError" in named, named
        self.objects.imports = {each.partition(".")[0] for each in imports} - {suite.program_module}
        bound, lacking = self._names.told()
        self._is_of_its_own, self._mocks = uses_its_own(script), Mocks(named)
        texts = [of_main(each, suite.program_module) for each in constant_texts(script)]
        keep_unmarked([*names_of(script, SETS_ATTRIBUTES), *([] if _SETS_BY_NAME.isdisjoint(named) else texts)])
        self.named = frozenset([each for each in (*dissect(script).all_names, *texts) if each[:2] == "__"])
        lender = Lender(script, texts, self._namespace, self._names.namespace)
        follow_what_is_named(self, source)
        follow_waits(self)
        follow_named(self.texts, source)
        changed_times.install_for(source)
        root = root_of(entry_point)
        self._names.provide(script, source, root, bound, lender.names | suite.names, is_redefined)
        self._lender = lender
        given = self._names.given if self._names.namespace is not self._namespace else None
        lender.begin(self._names.view, root, self.objects.shown.__contains__, lacking, given)
        # Not before: names of the program are not heard.
        self.alongside.begin(lender, files, listener, SharedFigures(self, named), Redirected(self.tell, named))
        if root in self._names.namespace:
            self._namespace["candidate"] = resolve(self._names.namespace, entry_point)

    def begin_partners(self):
        # type: () -> None
        """Where threads can be started, several may ask at a time."""
        partners = Partners(self) if may_begin() else None
        if partners is not None and partners.begin() and self.tell("share") is True:
            self.threads = partners

    def exchange(self, operation, fields):
        # type: (str, list[Any]) -> tuple[bytes, Any]
        self.look_for_declined()
        may_stop = self.ends()
        with self.line:
            return self._asked_for(operation, fields, may_stop)

    def _asked_for(self, operation, fields, may_stop):
        # type: (str, list[Any], Any) -> tuple[bytes, Any]
        if operation == "special" and fields[1] == "__next__":
            may_stop = StopIteration
        self._note_hashed(operation, fields)
        told = Steady.asked(operation, fields)
        if told is None or self.alongside.listens():
            self._forget_what_was_steady()
        elif self._steady.holds(told) and not self.containers.changed():  # which the object may look at
            return b"v", self._steady.again(told)
        mark = self._steady.mark()
        why = self._mocks.hinder(operation, fields) or self._tables.hinder(operation, fields)
        place = tuple(fields[:2])
        if why:
            self.refuse(why)
        kind, value = self._exchanged(operation, fields)
        if operation not in ("names", "look"):
            self.has_answered = True
            self._has_called = self._has_called or operation in _CALLS
        if kind != b"v":
            value = answered(value, may_stop, self._expects, self.has_cancelled)
        else:
            self._mocks.got(operation, place, value)
            self._tables.got(operation, place, value)
        rebound = self._names.rebind()
        if rebound and self._lender is not None:
            self._lender.see(rebound)
        self._took(value if kind == b"v" else None)  # a text cannot hold what it raises
        if told is None:
            self._forget_what_was_steady()
        elif kind == b"v":
            self._steady.keep(told, value, mark)
        return kind, value

    def _expects(self, classes):
        # type: (list[type]) -> bool
        """Does the script, where it is, say that it expects an exception of one of these classes?"""
        return expects(self._source, classes, self._namespace, self.is_of_program)

    def _note_hashed(self, operation, fields):
        # type: (str, list[Any]) -> None
        asked = fields[1] if operation == "special" else ""
        if operation != "states" and asked != "__eq__":
            self.hashed = number_of(fields[0]) if asked == "__hash__" else 0

    def _forget_what_was_steady(self):
        # type: () -> None
        """Something else was asked, for all threads if it is a thread of the script's that has asked by itself: what it
        does when the candidate calls it may be at any time."""
        self._steady.forget(own=self.depth() > 0)

    def _do_notes_hold(self, operation, fields):
        # type: (str, list[Any]) -> bool
        """Does what this thread has noted hold after this question? What others have is old, where it may not."""
        own = self.notes
        holds = own.outlast(self, operation, fields, self.depth())
        if not holds:
            self.ran = now()
        if not holds or operation == "call":
            for each in list(self._notes.values()):
                each.is_old = each.is_old or each is not own
        return holds

    def _took(self, value):
        # type: (object) -> None
        """Of the candidate; with that, what both halves have may be another, too."""
        if self.texts is not None and self.texts.is_under_way():
            self.texts.take([value, *self._names.given.values(), *self._shared()])

    def _shared(self):
        # type: () -> list[Any]
        """The containers that both halves have."""
        return [each[0] for each in self.containers.entries.values()]

    def _perform(self, fields):
        # type: (list[Any]) -> Any
        return self.alongside.called(lambda told: Link._perform(self, told), fields[0], fields[1], fields)

    def taken(self, data, has_room=False):
        # type: (bytes, bool) -> tuple[bytes, int, list[Any]]
        self.objects.named = []
        message = Link.taken(self, data, has_room)
        why = permissions.reason_against(self.objects, data, message)
        if why:
            self.refuse(why)
        if self.alongside.files is not None:
            self.alongside.files.hear(data)
        if self.texts is not None and self.texts.is_under_way_anywhere():
            self.texts.take(self._shared())  # whichever thread the message is for
        return message

    def _exchanged(self, operation, fields):
        # type: (str, list[Any]) -> tuple[bytes, Any]
        if not self._do_notes_hold(operation, fields):
            return self.alongside.exchange(operation, fields)
        began, makes = now(), operation == "call"

        def becomes(refilled, named, value):
            # type: (list[Any], list[int], object) -> bool
            made, given = (value, fields[2:]) if makes else (None, ())
            return hold_what_was_made(self, refilled, named, made, began, given=given)

        return self._watched(lambda: self.alongside.exchange(operation, fields), began, becomes)

    def rest(self, wait):
        # type: (Callable[[], Any]) -> Any
        """`wait()`, and hear what threads of the program do meanwhile: they change nothing that was noted, and no
        container comes to hold what the script has made since it last had the program do anything."""
        self.look_for_declined()
        began, threads = self.ran, self.threads  # type: int, Any  # of several threads: one alone never may

        def rested():
            # type: () -> tuple[Any, Any]
            found = threads.rest(wait)
            self.alongside.exchange("rest", [None])
            return found, None

        with self.line:
            self._forget_what_was_steady()
            return self._watched(rested, began, lambda held, named, _: hold_what_is_made(self, held, named, began))[0]

    def _watched(self, ask, began, becomes):
        # type: (Callable[[], tuple[Any, Any]], int, Callable[[list[Any], list[int], Any], bool]) -> tuple[Any, Any]
        """Ask what changes nothing that was noted. No container becomes what the script has made meanwhile, either."""
        (kind, value), refilled = self._refills.during(ask, began)
        given = self._names.given
        named = [id(each) for name in given for each in (given[name], self._names.namespace.get(name))]
        if refilled and becomes(refilled, [id(self._names.view), *named], value):
            self.refuse(BECAME % "what the program has given the script")
        return kind, value

    def is_refilled(self, number):
        # type: (int) -> None
        """What another thread's message brings is there before that thread knows."""
        entry = self.containers.entries[number]
        self._refills.note(number, entry)
        self.has_answered = self.has_answered or entry[0] is not self._names.view

    def exchange_or_leave(self, operation, fields):
        # type: (str, list[Any]) -> tuple[bytes, Any]
        self.look_for_declined()
        try:
            kind, value = Link.exchange(self, operation, fields)
        except Broken as error:
            self.gone("the candidate is gone, or what it said is no answer (%s)" % error)
        except Unsent as error:
            # What the candidate gave may have made it so large; before that it is the script's own doing.
            end = messages.NOT_PLAIN if self.has_answered else messages.CANNOT_CROSS
            self.leave(end, "the script hands over more than may cross at once (%s)" % error)
        if kind == TOO_LARGE and operation != "states":
            self.leave(messages.NOT_PLAIN, "the candidate returned more than may cross at once (%s)" % value)
        self.is_quiet = kind == QUIET
        return VALUE if self.is_quiet else kind, value

    def call(self, target, arguments, keywords):
        # type: (Any, tuple[Any, ...], dict[str, Any]) -> Any
        """What is an exit in the test's process lets a failed assertion through, whatever the candidate says."""

        def ask(*told):
            # type: (Any) -> Any
            return Link.call(self, target, (*arguments[: len(arguments) - len(told)], *told), keywords)

        return exited(ask, *arguments[-3:]) if is_exit(arguments, sys._getframe(1)) else ask()

    def tell(self, operation, *fields):
        # type: (str, Any) -> Any
        return self.exchange_or_leave(operation, [None, *fields])[1]

    def at_end(self, results=None):
        # type: (Any) -> None
        """The script is through. `results` of its tests, if it is a suite."""
        self.look_for_declined()
        has_failed = results is not None and results.has_failed()
        whys = self.doubts.clear_up(self)
        for test, why in whys.items() if results is not None else ():
            results.spoil(test, why)
        if self.why_invalid:
            self.invalid(self.why_invalid)
        if whys and not has_failed:
            self.refuse(next(iter(whys.values())))
        if self.idle and not self._has_called:
            self.invalid(NO_EXAMPLES)

    def is_of_program(self, module):
        # type: (Any) -> bool
        """Is it the module as which the script imports the program?"""
        return vars(module) is self._names.namespace and self._names.namespace is not self._namespace

    def means_a_class(self, cls):
        # type: (object) -> bool
        """By the name that the script has for it: `add(1, 2)` is meant to give a number, whatever `add` is."""
        return self._names.means_a_class(cls)

    def note(self, values):
        # type: (tuple[object, ...]) -> Any
        self.notes.take(self, self.depth())
        return shown_by(values)

    def note_again(self, value, shown, began):
        # type: (object, Any, int) -> None
        self.notes.is_complete = False
        if self.notes.is_another(self, value, shown, began):
            self.refuse(BECAME % ("a %s" % type(value).__name__))

    def may_have_texts(self):
        # type: () -> bool
        """May the script hold texts of the candidate by now?"""
        return self.has_answered or self._names.shows_texts

    def may_open(self, path, is_moved=False):
        # type: (str, bool) -> bool
        """May an object of the library open this for the candidate, or move it?"""
        files = self.alongside.files
        return files is None or files.may_be_opened(path, is_moved)

    def _may(self, operation, target, rest):
        # type: (str, Any, list[Any]) -> bool
        self.has_answered = True  # what comes with a question may make large what the script hands over
        if target not in self.objects.shown:
            return False
        self._steady.served += 1
        self._took(rest)
        return permissions.may(self.objects, operation, target, rest)

    def made_by_itself(self, error, traceback):
        # type: (BaseException, Any) -> bool
        """Is the exception the script's own doing, with no part in it of what the candidate gave?"""
        return raises_by_itself(self._source, self._namespace, error, traceback)
