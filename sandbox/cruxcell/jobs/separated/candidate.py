"""The candidate's worker: loads the program and answers the test's questions."""

import builtins
import sys
from _thread import get_ident as _get_ident
from sys import getrecursionlimit, setrecursionlimit

from cruxcell.analysis.bytecode import IMPORTS, SETS_ATTRIBUTES, lacked_names, names_of
from cruxcell.analysis.parsing import PROGRAM, Invalid, compile_text
from cruxcell.jobs import stand_ins
from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.jobs.program_end import show_lines_for
from cruxcell.jobs.separated.crossing.classes import state_of
from cruxcell.jobs.separated.crossing.told_states import ToldStates, unshared
from cruxcell.jobs.separated.exchange.link import CALL, Link, connect
from cruxcell.jobs.separated.proxies.awaiting import Awaited
from cruxcell.jobs.separated.proxies.copies import copied
from cruxcell.jobs.separated.proxies.deriving import made_class
from cruxcell.jobs.separated.proxies.looking import LOOKING, keep
from cruxcell.jobs.separated.proxies.shared_names import told_import
from cruxcell.jobs.separated.rules.pickles import PickledHere
from cruxcell.jobs.separated.state import changed_times, search_path
from cruxcell.jobs.separated.state.borrowing import Borrower
from cruxcell.jobs.separated.state.figures import ProgramFigures
from cruxcell.jobs.separated.state.files import ProgramFiles
from cruxcell.jobs.separated.state.library_settings import settings_of
from cruxcell.jobs.separated.state.listening import Heard
from cruxcell.jobs.separated.state.measured import most_memory, used
from cruxcell.jobs.separated.state.redirected import Streams
from cruxcell.jobs.separated.state.running_threads import threads_of
from cruxcell.jobs.separated.state.traced import Traced
from cruxcell.jobs.separated.state.waits import rested
from cruxcell.namespace import CANDIDATE, PROGRAM_FILE, module_namespace, named_namespace, set_recursion_depth
from cruxcell.protocol import messages, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_HARNESS_FRAMES = 7  # between this module's `run_serve` and a function of the program that the test calls
_FRAMES_OF_PARTNERS = 4  # more, where its threads have partners
_MODULE_TYPE = type(messages)
OF_OTHER_CLASSES = ""  # among names: the objects that have changed their class


def run_serve(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: program, name of its module if it is imported by one. Load it, then answer until the test hangs up; then
    report steps and output."""
    try:
        text = fields[0].decode("utf-8", "surrogatepass")
        program = compile_text(text, PROGRAM, "exec")
    except Invalid as error:
        context.refuse("the program: %s" % error)
        return
    name = fields[1].decode()
    namespace = named_namespace(name) if name else module_namespace()
    if name:
        sys.modules[CANDIDATE] = sys.modules[name]  # by which the other half names it
    server = _Server(context, program, namespace)
    stand_ins.install_for(text, context.scratch_bytes, context.memory_bytes)
    changed_times.install_for(text)
    show_lines_for(text, name + ".py" if name else PROGRAM_FILE)
    keep(text)
    if "__class__" in names_of(program, SETS_ATTRIBUTES) or ("__class__" in text and "setattr" in text):
        server.link.objects.shown.kinds = {}
    context.start(messages.DIRECT, 1)
    depth = getrecursionlimit()
    try:
        context.run(program, namespace)
    except BaseException as error:
        context.send_raised(error)
        return
    if getrecursionlimit() == depth:  # the program has set none of its own
        set_recursion_depth(_HARNESS_FRAMES)
        server.own_depth = getrecursionlimit()
    server.streams.begin(text)
    try:
        server.link.serve()
    except BaseException:  # the candidate has broken what serves it, which is its failure: the test sees it gone
        pass
    context.send(records.ended(context.numbers(server.flags, server.steps), *context.output()))


class _Server:
    """Does what is asked under the step limit. `view` holds the names the test uses, as they are after each answer."""

    def __init__(self, context, program, namespace):
        # type: (JobContext, CodeType, dict[str, object]) -> None
        self._context, self._program, self._namespace = context, program, namespace
        self._is_running, self._thread = False, _get_ident()
        self._given = set(namespace)
        self._modules = frozenset([str(namespace.get("__name__"))])
        self.steps = self.flags = 0
        self.view = {}  # type: dict[str, object]
        self.link = Link(False, self.run)
        self.link.more.update({"names": self.names, "look": self.look, "lend": self.lend})
        self.streams = Streams({"stdout": context.stdout, "stderr": context.stderr})
        self.link.more.update({name: getattr(self.streams, name) for name in ("hear", "printed", "streams")})
        self.link.more.update(
            drive=self.drive,
            copy=self.copy,
            states=self.states,
            borrow=self.borrow,
            share=self.share,
            derive=self.derive,
        )
        files, figures, heard = ProgramFiles(), ProgramFigures(), Heard()
        self.link.more.update(have_files=files.have, made_files=files.made, listen=heard.listen, heard=heard.heard)
        self.link.more.update(have_figures=figures.have, figures=figures.figures)
        self.link.pickles = pickles = PickledHere()
        pickling = {"pickle": pickles.pickle, "pickled": pickles.pickled, "unpickle": pickles.unpickle}
        for name, function in {**LOOKING, **pickling}.items():
            self.link.more[name] = self._looking(function)
        self._awaited, self.own_depth = Awaited(), 0  # a depth that the program has not set
        self._borrower = Borrower(namespace, _HARNESS_FRAMES + _FRAMES_OF_PARTNERS)
        self.link.more.update(variables=self._borrower.variables, settings=settings_of, search_path=search_path.read)
        self.link.more.update(contexts=self._borrower.contexts.told, drawn=self._borrower.drawn)
        self.link.more.update(used=used, most_memory=most_memory, rest=rested)
        self.link.more["threads"] = self._looking(lambda _target: threads_of(self.link))
        self._traced = Traced()
        self.link.more.update(trace=self._traced.trace, traced=self._traced.traced)
        self._told = ToldStates(self.link.objects.shown)
        self._own = (sys.stdin, builtins.input)
        self.link.before_answer = self.refresh
        self._news = (files, heard, self.streams)
        self.link.has_news = self.has_news
        connect(self.link)

    def run(self, function, arguments, keywords):
        # type: (Any, list[Any], dict[str, Any]) -> Any
        if self._is_running or _get_ident() != self._thread:  # from inside a function that the candidate called
            return function(*arguments, **keywords)
        self._is_running, before = True, self._traced.begin()
        try:
            return self._context.run(CALL, {"f": function, "a": arguments, "k": keywords})
        except MemoryError as error:
            if records.is_out_of_memory(error):
                self.flags = records.OUT_OF_MEMORY  # what the test makes of it shows in the test's report
            raise
        finally:
            self._traced.end(before)
            self._is_running = False
            self.steps += self._context.steps()

    def has_news(self):
        # type: () -> bool
        """Is there something that the test asks for after an answer?"""
        try:
            return any(each.has_news() for each in self._news)
        except Exception:  # which the test hears when it asks
            return True

    def share(self, _target):
        # type: (object) -> bool
        is_shared = self.link.share()
        if is_shared and getrecursionlimit() == self.own_depth:
            setrecursionlimit(self.own_depth + _FRAMES_OF_PARTNERS)
        return is_shared

    def drive(self, target, how, *values):
        # type: (Any, str, Any) -> Any
        """A step of something that the test awaits."""
        return self.run(self._awaited.step, [target, how, *values], {})

    def copy(self, target, is_deep, ours, theirs):
        # type: (Any, bool, object, object) -> Any
        return self.run(copied, [target, is_deep, ours, theirs], {})

    def states(self, since, *values):
        # type: (Any, Any) -> list[Any]
        """What these hold; objects within them and what those hold, if there are any; if `since` is a time, then what
        has changed since."""
        with self.link.line:  # what several threads are told is in one table
            are_plain = list(map(self._told.tell, values))
            changed = None if since is None else self._told.changed(since)
        found = [self.run(state_of, [each], {}) for each in values]  # type: list[Any]
        parts = [] if all(are_plain) else self._told.parts_of(values, found, self._modules)
        found = [unshared(each) if is_plain else each for each, is_plain in zip(found, are_plain)]
        return [*found, *([parts] if parts else []), *([] if changed is None else [changed])]

    def derive(self, _target, *told):
        # type: (object, Any) -> type
        return self.run(made_class, list(told), {})  # type: ignore[no-any-return]

    def _looking(self, function):
        # type: (Any) -> Any
        return lambda *asked: self.run(function, list(asked), {})

    def names(self, _target):
        # type: (object) -> tuple[list[str], list[str]]
        """(the names the program binds, those that its functions read and nobody has bound)."""
        bound = [name for name in self._namespace if name not in self._given and type(name) is str]
        return bound, sorted(lacked_names(self._program, self._namespace))

    def look(self, _target, *names):
        # type: (object, str) -> tuple[dict[str, object], dict[str, str]]
        """(what the names stand for, the names of those that are modules or classes that the test has itself, and
        modules within these that the program has imported)."""
        modules = {}
        for name in names:
            value = self._namespace[name]
            if type(value) is _MODULE_TYPE:
                modules[name] = str(value.__name__)
            elif told_import(name, value):
                modules[name] = told_import(name, value)
            else:
                self.view[name] = value
        within = [each for each in names_of(self._program, IMPORTS) if "." in each and each in sys.modules]
        packages = frozenset(modules.values())
        modules.update({each: each for each in within if each.partition(".")[0] in packages})
        return self.view, modules

    def lend(self, _target, stdin, ask):
        # type: (object, Any, Any) -> None
        """What the test has put in the place of its standard input and of `input`; None where it has not."""
        sys.stdin = self._own[0] if stdin is None else stdin
        builtins.input = self._own[1] if ask is None else ask

    def borrow(self, _target, *change):
        # type: (object, Any) -> None
        self._borrower.take(*change)

    def refresh(self):
        # type: () -> None
        others = self.link.objects.shown.of_other_classes()
        if others or OF_OTHER_CLASSES in self.view:
            self.view[OF_OTHER_CLASSES] = others
        for name in [each for each in self.view if each != OF_OTHER_CLASSES]:
            value = self._namespace.get(name)
            if type(value) is not _MODULE_TYPE:
                self.view[name] = value
