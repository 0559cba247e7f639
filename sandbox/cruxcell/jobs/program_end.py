"""How a program ends, as under `python FILE`: its exit status, the traceback on standard error, what it registered for
its end, and its streams flushed."""

import gc
import sys
from _weakref import ref

from cruxcell.analysis.parsing import PROGRAM
from cruxcell.namespace import PROGRAM_FILE
from cruxcell.protocol import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

# What is done once a program has come to its end: (module, function).
AT_THE_END = (("threading", "_shutdown"), ("atexit", "_run_exitfuncs"))
NOT_FLUSHED = 120  # the interpreter's exit status where what was printed last cannot be written
_INTERRUPTED = 130  # its status where the signal does not end it
_EXCEPTHOOK = sys.excepthook


def ended_by(source, function, *arguments):
    # type: (str | None, Any, Any) -> tuple[BaseException | None, int]
    """(what it raised, the exit status that this makes)."""
    try:
        function(*arguments)
    except BaseException as error:
        if issubclass(type(error), SystemExit):
            return error, status_of(error)
        return error, 1 if source is None else _show(error, source)
    return None, 0


def do_at_the_end(at_the_end, may_flush):
    # type: (tuple[tuple[str, str], ...], bool) -> None
    """As Python does: once the program has come to an end, whichever that is, its threads are waited for, but for
    daemons, and what it registered with atexit is called. That is not counted in steps."""
    for name, function in at_the_end:
        if name in sys.modules:
            try:
                getattr(sys.modules[name], function)()
            except SystemExit:  # which says nothing by then
                pass
            except Exception as error:  # changes no exit code
                sys.excepthook(type(error), error, records.traceback_of(error))
    if may_flush:
        flush()


def flush():
    # type: () -> None
    """As the interpreter does at its end. What a program has taken the streams' place with has to be written; of what
    stood there before it may have taken the buffer (`detach`)."""
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        try:
            stream = getattr(sys, name, None)
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except ValueError:
            if not name.startswith("__"):
                raise


def flush_each():
    # type: () -> bool
    """The same where it is no failure that a stream cannot be flushed: whether the program's own could be."""
    is_flushed = True
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        stream = getattr(sys, name, None)
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except BaseException as error:
            if name == "stdout":
                _show_ignored(stream, error)
            is_flushed = is_flushed and name.startswith("__")
    return is_flushed


def flush_what_is_printed():
    # type: () -> None
    """As the interpreter does when the program has run, as what is done at its end may leave at once; and when all has
    gone. That it cannot be written is no failure there: it is where the streams are flushed at the end."""
    for name in ("stderr", "stdout"):
        try:
            getattr(sys, name).flush()
        except BaseException:
            pass


class _Mark:
    """It is in the program's names, and lives as long as they do."""


def let_go(holding):
    # type: (list[dict[str, Any]]) -> None
    """What is left when all is done goes, as it does then: what its `__del__` prints is output, and what a file that is
    still open holds is written. All goes at once, so each `__del__` finds all names; but if something else holds the
    program's names, one after the other does. `holding`: them, which nothing else of the harness holds."""
    for name in ("stdin", "stdout", "stderr"):  # the program's own are none any more
        setattr(sys, name, getattr(sys, "__%s__" % name, None))
    sys.modules.pop("__main__", None)
    held = [holding.pop()]  # newer than what it holds, which the collector so puts behind it, in the order of going
    gc.collect()
    held[0]["__loader__"] = mark = _Mark()
    found = ref(mark)
    del mark, held[:]
    gc.collect()
    for namespace in [] if found() is None else gc.get_referrers(found()):
        if type(namespace) is dict:
            _clear(namespace)
            gc.collect()


def _clear(namespace):
    # type: (dict[str, Any]) -> None
    names = [name for name in namespace if type(name) is str and name != "__builtins__"]
    for name in sorted(names, key=lambda each: not each.startswith("_") or each.startswith("__")):
        namespace[name] = None


def status_of(error):
    # type: (Any) -> int
    """The exit status the interpreter makes of what a SystemExit holds: what is no number, it prints."""
    try:
        code = error.code  # type: Any
    except BaseException:  # what a class of the program's says of it
        code = error
    if code is None:
        return 0
    if issubclass(type(code), int):
        number = int.__int__(code)  # a class of the program's may say that it is another when it is compared
        return number & 0xFF if -(1 << 63) <= number < 1 << 63 else 0xFF  # -1 where C has no such number
    try:
        print(code, file=sys.stderr, flush=True)
    except BaseException:
        pass
    return 1


def _show_ignored(stream, error):
    # type: (Any, BaseException) -> None
    try:
        print("Exception ignored in: %r\n%s: %s" % (stream, type(error).__name__, error), file=sys.stderr, flush=True)
    except BaseException:
        pass


def _show(error, source):
    # type: (BaseException, str) -> int
    """A traceback on standard error, as the interpreter prints it; it begins with the program's own frame. The exit
    status: a hook of the program's may leave with another."""
    trace = records.traceback_of(error)
    while trace is not None and trace.tb_frame.f_code.co_filename != PROGRAM:
        trace = trace.tb_next
    try:
        records.set_traceback(error, trace)
        if sys.excepthook is not _EXCEPTHOOK or not _show_with_lines(error, trace, source):
            sys.excepthook(type(error), error, trace)
        sys.stderr.flush()
    except SystemExit as left:
        return status_of(left)
    except BaseException:
        pass
    return _INTERRUPTED if type(error) is KeyboardInterrupt else 1


def _show_with_lines(error, trace, source):
    # type: (BaseException, Any, str) -> bool
    """Whether Python's own module could show it: the interpreter has no file in which to look for the lines."""
    try:
        show_lines_of(source)
        __import__("traceback").print_exception(type(error), error, trace)  # only here: it is large
    except BaseException:
        return False
    return True


def show_lines_for(source, file=PROGRAM_FILE):
    # type: (str, str) -> None
    """Before a program runs that names a module which reads its lines."""
    if any(name in source for name in _READ_LINES):
        show_lines_of(source, file)


_READ_LINES = ("traceback", "inspect")  # the modules that do


def show_lines_of(source, file=PROGRAM_FILE):
    # type: (str, str) -> None
    """The modules that read them have the program's lines, as those of a file."""
    try:
        import linecache

        lines = [line + "\n" for line in source.split("\n")]
        for name in (PROGRAM, file):  # of code, and of classes
            linecache.cache[name] = (len(source), None, lines, name)
    except BaseException:
        pass
