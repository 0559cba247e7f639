"""What goes alongside a question of the test.

Before it the program gets what the script has set for it: streams, names, files, figures, how it listens. After the
answer the script has what the program printed, wrote, warned of and logged; and before the program calls something of
the script's.
"""

import builtins
import sys
from _thread import RLock as _RLock

from cruxcell.jobs.separated.proxies.operations import is_a_mock
from cruxcell.jobs.separated.proxies.shared_names import BUILTIN_TYPE, MODULE_TYPE
from cruxcell.jobs.separated.state.figures import SharedFigures  # noqa: F401 - in type comments
from cruxcell.jobs.separated.state.files import PassedFiles  # noqa: F401 - in type comments
from cruxcell.jobs.separated.state.lending import Lender  # noqa: F401 - in type comments
from cruxcell.jobs.separated.state.listening import Listener  # noqa: F401 - in type comments
from cruxcell.jobs.separated.state.redirected import Redirected  # noqa: F401 - in type comments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments


class Alongside:
    """`link`: the test's. `stdout`, `stderr`: the worker's own streams."""

    def __init__(self, link, stdout, stderr):
        # type: (Any, Any, Any) -> None
        self._link = link
        self._streams = {"stdout": stdout, "stderr": stderr}
        self._own = self._lent = (sys.stdin, builtins.input)
        self._hears = ([], False)  # type: tuple[list[str], bool]  # what the program was told of that
        self._heard = {}  # type: dict[str, Any]  # where what the candidate prints to a stream goes instead
        self._lender = None  # type: Lender | None
        self.files = None  # type: PassedFiles | None
        self._listener = None  # type: Listener | None
        self._figures = None  # type: SharedFigures | None
        self._redirected = None  # type: Redirected | None
        self._lock = _RLock()
        self._asked = set()  # type: set[tuple[str, ...]]  # what is asked for after answers

    def begin(self, lender, files, listener, figures, redirected):
        # type: (Lender, PassedFiles, Listener, SharedFigures, Redirected) -> None
        """The script is about to run."""
        self._redirected = redirected if redirected.is_needed else None
        self._lender = lender
        self.files = files if files.are_needed else None
        self._listener = listener if listener.is_needed else None
        self._figures = figures if figures.is_needed else None
        lender.take(self._told_of)

    def exchange(self, operation, fields):
        # type: (str, list[Any]) -> tuple[bytes, Any]
        """The candidate's answer, with all that goes alongside; not where a finalizer asks in the thread that reads, as
        another may have begun with that, and wait for an answer."""
        if self._link.threads.reads():
            return self._link.exchange_or_leave(operation, fields)  # type: ignore[no-any-return]
        heard, streams = self._one_at_a_time(self._before, fields)
        is_quiet = False
        try:
            kind, value = self._link.exchange_or_leave(operation, fields)
            is_quiet = self._link.is_quiet
        finally:
            self._heard = heard if self._link.depth() else streams
        if self._figures is not None:
            self._figures.is_old = True
        if streams or self.files is not None or self._listener is not None or self._borrows:
            self._one_at_a_time(self._after, streams, is_quiet)
        if self._redirected is not None and operation == "special":
            self._redirected.follow(fields[1], value)
        return kind, value

    def called(self, call, operation, target, fields):
        # type: (Callable[[list[Any]], Any], str, object, list[Any]) -> Any
        """`call(fields)`, with which the candidate has code of the test's run: that prints to the streams that the
        program has by then."""
        if self._redirected is None or not _runs_code(operation, target, self._heard):
            return self._called(call, operation, target, fields)
        before = self._redirected.begin()
        try:
            return self._called(call, operation, target, fields)
        finally:
            self._redirected.end(before)

    def _called(self, call, operation, target, fields):
        # type: (Callable[[list[Any]], Any], str, object, list[Any]) -> Any
        """Before it the script has what the program has done so far, and after it the program what that has done to
        files."""
        streams, files, listener = self._heard, self.files, self._listener
        if not (streams or files or listener or self._borrows) or not _runs_code(operation, target, streams):
            return call(fields)
        files = None if is_a_mock(target) else files
        with self._lock:
            self._take(dict(streams), files)
        value = call(fields)
        if files is not None:
            with self._lock:
                self._pass_files(files, [value])
        return value

    def _one_at_a_time(self, function, *arguments):
        # type: (Any, Any) -> Any
        """`function(*arguments)` of one thread, while others wait."""
        self._link.threads.outside(self._lock.acquire)
        try:
            return function(*arguments)
        finally:
            self._lock.release()

    @property
    def _borrows(self):
        # type: () -> bool
        return self._lender is not None and self._lender.borrows

    # ---- before ----------------------------------------------------------------------------------------------------

    def _before(self, fields):
        # type: (list[Any]) -> tuple[dict[str, Any], dict[str, Any]]
        """(where the candidate's output went before, where what the script listens to goes now)."""
        self._lend_streams()
        fields = fields + self._lend()
        if self.files is not None:
            self._pass_files(self.files, fields)
        figures = self._figures.given(fields) if self._figures is not None else None
        if figures:
            self._link.tell("have_figures", *figures)
        wishes = self._listener.wishes() if self._listener is not None else None
        if wishes:
            self._link.tell("listen", *wishes)
        heard, streams = self._heard, {name: self._stream(name) for name in self.listens()}
        for name, stream in streams.items():  # of output from before, what is not for another stream
            self._hear(name, heard.get(name) if self._link.depth() or heard.get(name) is stream else None)
        hears = self._heard_by(streams)
        if hears != self._hears:
            self._hears = hears
            self._link.tell("hear", *hears)
        self._heard = streams
        return heard, streams

    def _heard_by(self, streams):
        # type: (dict[str, Any]) -> tuple[list[str], bool]
        """To which of its streams the program prints for the script, and whether these are one. In the midst of another
        question, also to those of that, which goes on afterwards."""
        names = [name for name in self._streams if name in streams or (self._link.depth() and name in self._hears[0])]
        return names, len(streams) > 1 and streams["stdout"] is streams["stderr"]

    def listens(self):
        # type: () -> list[str]
        """In the place of which streams the script has put something else, as `redirect_stdout` does."""
        return [name for name, own in self._streams.items() if self._stream(name) is not own]

    def _stream(self, name):
        # type: (str) -> Any
        """What the script has there, which may be behind what the program has put in its place."""
        return getattr(sys, name) if self._redirected is None else self._redirected.behind(name)

    def _lend_streams(self):
        # type: () -> None
        """The program reads what the script has in the place of standard input, and calls what it has for `input`."""
        stdin, ask = sys.stdin, builtins.input
        if stdin is not self._lent[0] or ask is not self._lent[1]:
            self._lent = (stdin, ask)
            own = self._own
            self._link.tell("lend", None if stdin is own[0] else stdin, None if ask is own[1] else ask)

    def _lend(self):
        # type: () -> list[Any]
        """What the script has set for the program since the last question, which gets it."""
        changes = self._lender.changes() if self._lender is not None else []
        for change in changes:
            if change[0] == "refused":
                self._link.refuse(change[1])
            self._link.tell("borrow", *change)
        return [change[-1] for change in changes]

    def _pass_files(self, files, values):
        # type: (PassedFiles, list[Any]) -> None
        files.note(values)
        try:
            told = files.given()
        except ValueError as error:
            self._link.refuse(str(error))
        if told:
            self._link.tell("have_files", *told)

    # ---- after -----------------------------------------------------------------------------------------------------

    def _after(self, names, is_quiet=False):
        # type: (Any, bool) -> None
        self._take({name: self._stream(name) for name in names}, self.files, is_quiet)

    def _take(self, streams, files, is_quiet=False):
        # type: (dict[str, Any], PassedFiles | None, bool) -> None
        """What the program has printed to these, written, warned of and logged since the last time. `is_quiet`: it has
        said that there is nothing of what it was asked for before."""
        for name, stream in streams.items():
            if not (is_quiet and self._has_asked("printed", name)):
                self._hear(name, stream)
        if files is not None and not (is_quiet and self._has_asked("made_files")):
            files.take(self._told_of("made_files"))
        if self._listener is not None and not (is_quiet and self._has_asked("heard")):
            self._show(self._listener.hear, self._told_of("heard"))
        if self._lender is not None and self._lender.borrows:
            self._lender.take(self._told_of)

    def _told_of(self, *asked):
        # type: (str) -> Any
        """What the candidate tells besides is an answer, before that to the question is."""
        told = self._link.tell(*asked)
        self._link.has_answered = self._link.has_answered or bool(told)
        return told

    def _has_asked(self, *asked):
        # type: (str) -> bool
        """Before this time, which is another from now on."""
        has_asked = asked in self._asked
        self._asked.add(asked)
        return has_asked

    def _hear(self, name, stream):
        # type: (str, Any) -> None
        """What the candidate has printed since the last time goes to this stream, if there is one."""
        printed = self._told_of("printed", name)
        for each in printed if type(printed) is tuple and stream is not None else ():
            if type(each) is str:
                self._show(stream.write, each)

    def _show(self, show, told):
        # type: (Callable[[Any], object], Any) -> None
        """To a stream or a handler of the script's. What that raises, the program would have heard, and perhaps caught:
        in the script it would look like an error of the program's, which a test may expect."""
        try:
            show(told)
        except Exception as error:
            self._link.refuse(_NOT_SHOWN % type(error).__name__)


_NOT_SHOWN = (
    "to show the script what the program has printed, warned of or logged raises %s, which the program would hear:"
    " require IN_PROCESS"
)


def _runs_code(operation, target, streams):
    # type: (str, Any, dict[str, Any]) -> bool
    """May what is asked of this read or write what the program has at hand? Not what a method of C does with its
    object, unless that is one of the streams."""
    kind = type(target)
    if operation == "call" and kind is BUILTIN_TYPE:
        owner = target.__self__
        return type(owner) is MODULE_TYPE or any(owner is each for each in streams.values())
    return operation == "call" or (operation == "special" and (kind.__module__ == "__main__" or kind is _GENERATOR))


_GENERATOR = type(_ for _ in ())
