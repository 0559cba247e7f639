"""Jobs that run a whole program: with standard input (stdio checks), or with a script beside it (script checks)."""

import _io
import errno
import gc
import sys

from cruxcell.analysis.parsing import PROGRAM, Invalid, compile_text, parse_text
from cruxcell.analysis.vacuous import refuse_vacuous
from cruxcell.jobs import program_end, stand_ins
from cruxcell.jobs.audit_guard import Guard
from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.jobs.program_module import compiled
from cruxcell.jobs.suites import open_suite
from cruxcell.jobs.trace_events import count_events
from cruxcell.namespace import PROGRAM_FILE, module_namespace, resolve
from cruxcell.protocol import messages, records
from cruxcell.protocol.payloads import COUNT_EVENTS, LOOK, RUN_ONLY, SCRIPT_FLAGS, STDIO_FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
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


_OWN_FILE = (b"__file__", b"argv[0]")  # by which a program finds the file that it is from


def run_stdio(context, fields, at_the_end=program_end.AT_THE_END):
    # type: (JobContext, list[bytes], tuple[tuple[str, str], ...]) -> None
    """fields: flags, program. Input is a pipe; output goes to memory files that the daemon reads afterwards."""
    is_run = STDIO_FLAGS.unpack(fields[0])[0] & RUN_ONLY
    try:
        source = fields[1].decode("utf-8", "surrogatepass")
        program = compile_text(source, PROGRAM, "exec")
    except Invalid as error:
        context.refuse("the program: %s" % error)
        return
    gc.freeze()  # what is ours need not be looked through
    context.start(messages.DIRECT, 3)
    _open_streams(bool(context.step_limit))
    stand_ins.install_for(source, context.scratch_bytes, context.memory_bytes)
    program_end.show_lines_for(source)
    if context.scratch_bytes and any(name in fields[1] for name in _OWN_FILE):
        _write_file_of(source)
    sys.argv = [PROGRAM_FILE, *context.arguments]
    raised, status, steps = _outcome_of(context, program, at_the_end, source if is_run else None)
    if raised is None:
        context.send(records.ended(context.numbers(0, steps)))
    else:
        context.send_raised(raised, steps)
    if is_run:
        context.finish(status)


def _outcome_of(context, program, at_the_end, source):
    # type: (JobContext, CodeType, tuple[tuple[str, str], ...], str | None) -> tuple[BaseException | None, int, int]
    """Run it; what it raised that is a failure, its exit status, its steps. That its output cannot be written is one.
    Where the program is run as Python does, its `source` is there: that is its status, and a traceback is shown."""
    is_run = source is not None
    names = [module_namespace("__main__")]
    names[0].update(OF_A_SCRIPT, __annotations__={})
    context.settle()
    raised, status = program_end.ended_by(source, context.run, program, names[0])
    steps = context.steps()
    program_end.flush_what_is_printed()
    later, its_status = program_end.ended_by(source, program_end.do_at_the_end, at_the_end, not is_run)
    if later is not None and not status:
        raised, status = later, its_status
    later = None
    if raised is not None and issubclass(type(raised), SystemExit) and (is_run or not status):
        raised = None  # what is no failure is not reported, and holds the program's names
    is_flushed = program_end.flush_each()
    program_end.let_go(names)
    program_end.flush_what_is_printed()
    if is_run and not is_flushed:
        status = program_end.NOT_FLUSHED
    return raised, status, steps


def _write_file_of(source):
    # type: (str) -> None
    """The program is in its folder, as a script that Python runs; but for a file of the task's with that name."""
    try:
        with open(PROGRAM_FILE, "x", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(source)
    except OSError:
        pass


# What a script's module has by itself.
OF_A_SCRIPT = dict.fromkeys(["__cached__", "__doc__", "__loader__", "__package__", "__spec__"])  # type: dict[str, Any]


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
            steps, found = count_events(program, namespace)
            context.send(records.findings(0, [found]))
        else:
            _import_what_makes_code(source + script)
            stand_ins.install_for(source + script, context.scratch_bytes, context.memory_bytes)
            program_end.show_lines_for(source, namespace["__file__"])
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
