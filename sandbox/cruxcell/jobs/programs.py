"""Jobs that run a whole program: with standard input (stdio checks), or with a script beside it (script checks)."""

import _io
import errno
import gc
import os
import sys
from sys import settrace

from cruxcell.analysis.bytecode import all_codes
from cruxcell.analysis.parsing import PROGRAM, Invalid, compile_text, parse_text
from cruxcell.analysis.vacuous import refuse_vacuous
from cruxcell.jobs import stand_ins
from cruxcell.jobs.audit_guard import Guard
from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.jobs.program_module import compiled
from cruxcell.jobs.suites import open_suite
from cruxcell.namespace import PROGRAM_FILE, module_namespace, resolve
from cruxcell.protocol import messages, records
from cruxcell.protocol.payloads import COUNT_EVENTS, LOOK, RUN_ONLY, SCRIPT_FLAGS, STDIO_FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments


class _Cut(_io.FileIO):
    """Standard error: what is beyond its limit is dropped, because only standard output is judged."""

    def write(self, data):
        # type: (Any) -> Any
        try:
            return _io.FileIO.write(self, data)
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            return memoryview(data).nbytes


def _open_streams(is_counted):
    # type: (bool) -> None
    """The three standard streams on the file descriptors as they are now. They end with the process. `is_counted`: the
    steps are; those of a stream that cuts would be the program's."""
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", newline="\n", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", newline="\n", closefd=False)  # noqa: SIM115
    raw = (_io.FileIO if is_counted else _Cut)(2, "w", closefd=False)  # type: Any
    stderr = _io.TextIOWrapper(_io.BufferedWriter(raw), "utf-8", "backslashreplace", None, True)  # type: Any
    stderr.mode = "w"
    sys.stderr = stderr
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        stream.buffer.raw.name = "<%s>" % name
        setattr(sys, "__%s__" % name, stream)


_READ_LINES = (b"traceback", b"inspect")  # the modules that do
_OWN_FILE = (b"__file__", b"argv[0]")  # by which a program finds the file that it is from
# What is done once a program has come to its end: (module, function).
_AT_THE_END = (("threading", "_shutdown"), ("atexit", "_run_exitfuncs"))


def run_stdio(context, fields, at_the_end=_AT_THE_END):
    # type: (JobContext, list[bytes], tuple[tuple[str, str], ...]) -> None
    """fields: flags, program. Input is a pipe; output goes to memory files that the daemon reads afterwards."""
    is_run = STDIO_FLAGS.unpack(fields[0])[0] & RUN_ONLY
    try:
        source = fields[1].decode("utf-8", "surrogatepass")
        program = compile_text(source, PROGRAM, "exec")
    except Invalid as error:
        context.refuse("the program: %s" % error)
        return
    context.start(messages.DIRECT, 3)
    _open_streams(bool(context.step_limit))
    stand_ins.install_for(source, context.scratch_bytes)
    if any(name in fields[1] for name in _READ_LINES):
        _show_lines_of(source)
    if context.scratch_bytes and any(name in fields[1] for name in _OWN_FILE):
        _write_file_of(source)
    sys.argv = [PROGRAM_FILE, *context.arguments]
    raised, status, steps = _outcome_of(context, program, at_the_end, source if is_run else None)
    if raised is None or (issubclass(type(raised), SystemExit) and (is_run or not status)):
        context.send(records.ended(context.numbers(0, steps)))
    else:
        context.send_raised(raised, steps)
    if is_run:
        context.finish(status)


def _outcome_of(context, program, at_the_end, source):
    # type: (JobContext, CodeType, tuple[tuple[str, str], ...], str | None) -> tuple[BaseException | None, int, int]
    """Run it; what it raised, its exit status, its steps. That its output cannot be written is an exception. Where the
    program is run as Python does, its `source` is there: that is the interpreter's status, and a traceback is shown."""
    is_run = source is not None
    namespace = module_namespace("__main__")
    namespace.update(OF_A_SCRIPT, __annotations__={})
    raised, status = ended_by(source, context.run, program, namespace)
    steps = context.steps()
    later, its_status = ended_by(source, _do_at_the_end, at_the_end, not is_run)
    if later is not None and not status:
        raised, status = later, its_status
    is_flushed = _flush_each()
    _let_go(namespace)
    is_flushed = is_flushed and _flush_each()
    if is_run and not is_flushed:
        status = _NOT_FLUSHED
    return raised, status, steps


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


_NOT_FLUSHED = 120  # the interpreter's exit status where what was printed last cannot be written


def _flush_each():
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


def _show_ignored(stream, error):
    # type: (Any, BaseException) -> None
    try:
        print("Exception ignored in: %r\n%s: %s" % (stream, type(error).__name__, error), file=sys.stderr, flush=True)
    except BaseException:
        pass


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


def _show_lines_of(source):
    # type: (str) -> None
    """The modules that read them have the program's lines, as those of a file."""
    try:
        import linecache

        lines = [line + "\n" for line in source.split("\n")]
        for name in (PROGRAM, PROGRAM_FILE):  # of code, and of classes
            linecache.cache[name] = (len(source), None, lines, name)
    except BaseException:
        pass


def _write_file_of(source):
    # type: (str) -> None
    """The program is in its folder, as a script that Python runs; but for a file of the task's with that name."""
    try:
        with open(PROGRAM_FILE, "x", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(source)
    except OSError:
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
        _show_lines_of(source)
        __import__("traceback").print_exception(type(error), error, trace)  # only here: it is large
    except BaseException:
        return False
    return True


def _do_at_the_end(at_the_end, may_flush):
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


# What a script's module has by itself.
OF_A_SCRIPT = dict.fromkeys(["__cached__", "__doc__", "__loader__", "__package__", "__spec__"])  # type: dict[str, Any]


def _let_go(namespace):
    # type: (dict[str, Any]) -> None
    """What is left when all is done goes, as it does then: what its `__del__` prints is output, and what a file that is
    still open holds is written."""
    names = [name for name in namespace if type(name) is str and name != "__builtins__"]
    for name in sorted(names, key=lambda each: not each.startswith("_") or each.startswith("__")):
        namespace[name] = None
    gc.collect()


_EXCEPTHOOK = sys.excepthook
_INTERRUPTED = 130  # the interpreter's status where the signal does not end it
_HARNESS = __file__.rpartition("/jobs/")[0] + "/"
_LONGEST_CODEC = 30  # characters of a codec's name
_FOLDER_OF_A_SCRIPT = os.__file__.rpartition("/")[0] + "/json"


def run_script(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: flags, program, script, entry point, framework, name of the program's module, token. All in one process,
    and in one namespace where the script does not import the program: IN_PROCESS."""
    token = fields.pop()
    flags = SCRIPT_FLAGS.unpack(fields[0])[0]
    source, script = [field.decode("utf-8", "surrogatepass") for field in fields[1:3]]
    if flags & COUNT_EVENTS:
        source, script = source + "\n" + script, ""
    try:
        program = compile_text(source, PROGRAM, "exec")
        suite = open_suite(fields[4].decode(), script, fields[5].decode())
        test = compiled(suite.code, suite.program_module, suite.is_main)
        if flags & LOOK:
            refuse_vacuous(parse_text(script, "exec"))
    except Invalid as error:
        context.refuse(str(error))
        return
    namespace = suite.namespace
    context.start(messages.EXPRESSION, 2)
    steps, results = 0, None
    guard = Guard()
    try:
        if flags & COUNT_EVENTS:
            steps, found = _count_events(program, namespace)
            context.send(records.findings(0, [found]))
        else:
            _import_what_makes_code(source + script)
            stand_ins.install_for(source + script, context.scratch_bytes)
            guard.raise_it()
            suite.is_compiled(test, guard)
            _run_both(context, program, test, suite, fields[3].decode())
            steps, results = context.steps(), suite.run()
    except BaseException as error:
        guard.lower_it()
        context.send_raised(error)
    else:
        guard.lower_it()
        if results is not None:
            context.send(results.record())
        context.send(records.ended(context.numbers(0, steps), *context.output(), token))


def _import_what_makes_code(texts):
    # type: (str) -> None
    """asyncio, and unittest.mock by it, makes code objects as it is imported, which the guard refuses to everybody. It
    refuses frames, too, at which a loop in debug mode looks; unittest's IsolatedAsyncioTestCase would have one."""
    if "mock" in texts or "asyncio" in texts.lower():
        try:
            loop = __import__("asyncio").base_events.BaseEventLoop
            set_debug = loop.set_debug
            loop.set_debug = lambda self, _is_on: set_debug(self, False)
        except ImportError:
            pass  # the program will be told


def _run_both(context, program, test, suite, entry_point):
    # type: (JobContext, CodeType, CodeType, Any, str) -> None
    namespace = suite.namespace
    suite.install()
    context.run(program, suite.of_program)
    suite.begin()
    if entry_point:
        namespace["candidate"] = resolve(suite.of_program, entry_point)
    try:
        if not suite.is_whole:
            context.run(test, namespace)
    except SystemExit as error:
        if not suite.has_left(error):
            raise


def _load_codecs(code):
    # type: (CodeType) -> None
    """Load the codecs a program names: the released numbers are those of a process that had used them before."""
    import _codecs
    import encodings
    import encodings.aliases

    aliases = encodings.aliases.aliases
    known = {*aliases, *aliases.values()}
    for name in _texts_of(code):
        if len(name) > _LONGEST_CODEC or not name.isascii():
            continue
        if encodings.normalize_encoding(name).lower() in known:
            try:
                _codecs.lookup(name)
            except LookupError:
                pass


def _texts_of(code):
    # type: (CodeType) -> list[str]
    """The texts among the constants of a code and those within it, also in tuples."""
    constants = [constant for each in all_codes(code) for constant in each.co_consts]
    parts = [part for each in constants for part in (each if isinstance(each, tuple) else (each,))]
    return [part for part in parts if isinstance(part, str)]


def _count_events(code, namespace):
    # type: (CodeType, dict[str, Any]) -> tuple[int, set[str]]
    """numsteps of the released code: every call, line, opcode, return and exception event of every Python frame.

    Also whether there was an exception, and whether a frame was not the program's own (the import of a codec): the
    released filter applied its rules to those frames, too.
    """
    count = 0
    found = set()  # type: set[str]

    def trace(frame, event, _argument):
        # type: (FrameType, str, Any) -> Any
        nonlocal count
        if frame.f_code.co_filename.startswith(_HARNESS):
            return None  # what stands in for C, which has no events: stdout in memory, opening instead of stat
        count += 1
        if event == "exception":
            found.add(messages.EXCEPTION_EVENT)
        elif event == "call" and frame.f_code.co_filename != PROGRAM:
            found.add(messages.LIBRARY_CODE)
        frame.f_trace_opcodes = True
        return trace

    _load_codecs(code)
    # An import looks into the script's own folder first; a folder of the runtime that holds no such module stands in.
    # A look for what is not there lets the import system know all folders, as a script's own imports would have.
    sys.path.insert(0, _FOLDER_OF_A_SCRIPT)
    sys.meta_path[-1].find_spec("no_such_module", None)
    settrace(trace)
    try:
        exec(code, namespace)
    finally:
        settrace(None)
    return count, found
