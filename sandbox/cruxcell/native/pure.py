"""The pure twin of the native helper: the same functions without a compiler, slower.

Confinement goes through ctypes, which costs memory and a few hundred microseconds in each worker; steps are counted by
a Python function, which costs about 70 ns each. What is counted is the same as in `_native`, instruction for
instruction, except where the interpreter runs the program's code inside or instead of that function:

* A program that exhausts the recursion limit. There the function finds no room either, and up to 3.11 the interpreter
  stops tracing altogether when it fails: the clocks remain as limits.
* Finalizers run by the garbage collector, when a collection starts inside the function.
* Up to 3.10, finalizers of what a local variable lets go: tracing in Python keeps it alive until the next call.

There is no seal (see `native/src/seal.c`): in Python it costs more than a worker of its own for each check, and could
not be kept from the candidate. So no check that runs code of a task shares a worker.
"""

import os
import struct
import sys
from _thread import get_ident as _get_ident
from sys import getprofile, gettrace, setprofile, settrace

from cruxcell.protocol import frames, messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments
    from types import CodeType, FrameType  # noqa: F401 - in type comments
    from typing import Any, NoReturn  # noqa: F401 - in type comments

# Taken now: what a candidate puts in their place later changes nothing.
_exit, _write = os._exit, os.write

NAME = "pure"
SEALS = False  # nothing here can vouch for what checks leave to each other

_EXIT_STEPS = messages.EXIT_STEPS

_RECORD = struct.Struct("<IIQQ")  # resource, padding, soft, hard
_INSTRUCTION_BYTES, _MOST_INSTRUCTIONS = 8, 4096
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SECCOMP_SET_MODE_FILTER = 1
_CLONE_PARENT, _SIGCHLD = 0x8000, 17
_SIGKILL, _ESRCH = 9, 3
_MOST_ARGUMENTS = 6
_WORD = (1 << 64) - 1

# The numbers of the calls that `fork_beside` and `enter` make, by machine.
_NUMBERS = {
    "x86_64": {"clone": 56, "prctl": 157, "setrlimit": 160, "seccomp": 317},
    "aarch64": {"clone": 220, "prctl": 167, "setrlimit": 164, "seccomp": 277},
}

_TOOL_NAME = "cruxcell"
_CodeType = type((lambda: None).__code__)
_monitoring: "Any" = vars(sys).get("monitoring")  # from 3.12 on


class _State:
    """What changes with each run."""

    __slots__ = ("running", "steps")

    def __init__(self):
        # type: () -> None
        self.running, self.steps = False, 0


_state = _State()
_libc = None  # type: Callable[..., int] | None


# ---- system calls ----------------------------------------------------------------------------------------------------


def syscall(number, *args):
    # type: (int, int | bytes | bytearray | None) -> int
    """One raw system call; buffers pass their address, None is NULL. Raises OSError(errno, text)."""
    if len(args) > _MOST_ARGUMENTS:
        raise TypeError(
            "syscall takes a number and up to %d arguments, not %d values" % (_MOST_ARGUMENTS, 1 + len(args))
        )
    if not isinstance(number, int):
        raise TypeError("the number of a system call must be an int")
    import ctypes

    words = [_argument(value) for value in args]
    words += [ctypes.c_ulong(0)] * (_MOST_ARGUMENTS - len(words))
    result = _libc_syscall()(ctypes.c_long(number), *words)
    if result == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def fork_beside():
    # type: () -> int
    """As os.fork, but the new process is a child of this one's parent. Raises OSError(errno, text)."""
    import ctypes

    python = ctypes.PyDLL(None, use_errno=True)  # whose functions are called with the interpreter's lock held
    words = [
        ctypes.c_long(word) for word in (_NUMBERS[os.uname().machine]["clone"], _CLONE_PARENT | _SIGCHLD, 0, 0, 0, 0)
    ]
    before, clone, in_child, in_parent = (
        python.PyOS_BeforeFork, python.syscall, python.PyOS_AfterFork_Child, python.PyOS_AfterFork_Parent
    )  # fmt: skip
    clone.restype = ctypes.c_long
    before()
    pid = clone(*words)
    if pid == 0:
        in_child()
        return 0
    in_parent()
    if pid < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(pid)


def _argument(value):
    # type: (object) -> object
    """One argument: an int as it is, a buffer as its address, None as NULL."""
    import ctypes

    if value is None:
        return ctypes.c_ulong(0)
    if isinstance(value, bytes):
        return ctypes.c_char_p(value)
    if isinstance(value, bytearray):
        return (ctypes.c_char * len(value)).from_buffer(value)
    if isinstance(value, int):
        return ctypes.c_ulong(value & _WORD)
    raise TypeError("syscall takes int, bytes, bytearray or None, not %s" % type(value).__name__)


def _libc_syscall():
    # type: () -> Callable[..., int]
    global _libc
    if _libc is None:
        import ctypes

        function = ctypes.CDLL(None, use_errno=True).syscall
        function.restype = ctypes.c_long
        _libc = function
    return _libc


# ---- frames and values -----------------------------------------------------------------------------------------------


def read_frame(fd, limit):
    # type: (int, int) -> list[bytes]
    """The fields of one frame. Raises OSError, or ValueError for what is not a frame."""
    return frames.read_frame(fd, limit)


def read_payload(fd, limit):
    # type: (int, int) -> list[bytes]
    """The fields of a payload without its third, the tokens of seals. Raises OSError, or ValueError for what is not a
    payload."""
    fields = frames.read_frame(fd, limit)
    if len(fields) < 3:
        raise frames.FrameError("a payload has at least three fields")
    del fields[2]
    return fields


def say(fd, record):
    # type: (int, bytes) -> None
    """Write one record to the report. Raises OSError."""
    if len(record) < 4 or int.from_bytes(record[:4], "little") != len(record) - 4:
        raise ValueError("say takes one whole record")
    frames.write_all(fd, record)


def watch(entries):
    # type: (list[tuple[Any, ...]]) -> None
    """Nothing is compared here."""


def arm():
    # type: () -> bool
    """False: nothing will be sealed."""
    return False


def seal(fd, index, record=b""):
    # type: (int, int, bytes) -> None
    raise RuntimeError("there is nothing to seal")


def plain_names(code, kinds, flags, anywhere, attributes, builtins, special):  # noqa: PLR0917 - as the native one
    # type: (CodeType, bytes, int, frozenset[str], frozenset[str], dict[str, object], frozenset[str]) -> frozenset[str] | None
    """None: the rule looks at each program itself."""


def plain_call(code, kinds, safe, builtins, bound):
    # type: (CodeType, bytes, frozenset[str], dict[str, object], frozenset[str]) -> bool
    """False: the rule looks at each call itself."""
    return False


def report_value(fd, index, steps, cpu_ns, wall_ns, value, budget, text_limit, stdout, stderr):  # noqa: PLR0917
    # type: (int, int, int, int, int, object, int, int, bytes, bytes) -> bool
    """False, and nothing written: the job's context does it."""
    return False


# ---- the parent of a zygote ------------------------------------------------------------------------------------------


def end_as(child):
    # type: (int) -> NoReturn
    """Wait for a child of this process, and end as that ends: by the same signal or with the same status.

    The native helper gives back the memory of the process first, which cannot be done from inside of the interpreter.
    """
    import _signal

    if child <= 0:
        raise ValueError("%d is not the number of a child" % child)
    for number in range(1, _signal.NSIG):
        if _signal.getsignal(number) not in (_signal.SIG_DFL, None) and number != _SIGKILL:
            _signal.signal(number, _signal.SIG_DFL)
    status = 1 << 8  # as of exit(1)
    try:
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            os.kill(os.getpid(), os.WTERMSIG(status))
    finally:
        _exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)


# ---- confinement of a worker -----------------------------------------------------------------------------------------


def enter(rlimits, bpf, parent):
    # type: (bytes, bytes, int) -> None
    """Confine this process for good: pdeathsig, limits, no new privileges, undumpable, and the seccomp filter last.

    Args:
        rlimits: '<IIQQ' records: resource, padding, soft, hard.
        bpf: an array of struct sock_filter, never empty.
        parent: the process to die with; 0 does not check who it is.

    Raises OSError(errno, step) for the step that failed, ValueError for what cannot be records or a filter.
    """
    if len(rlimits) % _RECORD.size:
        raise ValueError("rlimits has %d bytes, not a whole number of 24-byte records" % len(rlimits))
    if not bpf or len(bpf) % _INSTRUCTION_BYTES or len(bpf) // _INSTRUCTION_BYTES > _MOST_INSTRUCTIONS:
        raise ValueError("bpf has %d bytes, not 1 to 4096 instructions of 8 bytes" % len(bpf))
    numbers = _NUMBERS[os.uname().machine]
    prctl = numbers["prctl"]
    program, _kept = _filter_program(bpf)
    _step("pdeathsig", prctl, _PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if parent and os.getppid() != parent:
        raise OSError(_ESRCH, "pdeathsig")
    for resource, _, soft, hard in _RECORD.iter_unpack(rlimits):
        _step("setrlimit:%d" % resource, numbers["setrlimit"], resource, struct.pack("<QQ", soft, hard))
    _step("no_new_privs", prctl, _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _step("dumpable", prctl, _PR_SET_DUMPABLE, 0, 0, 0, 0)
    _step("seccomp", numbers["seccomp"], _SECCOMP_SET_MODE_FILTER, 0, program)


def _step(name, number, *args):
    # type: (str, int, int | bytes) -> None
    try:
        syscall(number, *args)
    except OSError as error:
        raise OSError(error.errno, name) from None


def _filter_program(bpf):
    # type: (bytes) -> tuple[bytes, object]
    """A struct sock_fprog (length, address), and what must stay alive as long as it is used."""
    import ctypes

    buffer = ctypes.create_string_buffer(bpf, len(bpf))
    return struct.pack("@HxxxxxxQ", len(bpf) // _INSTRUCTION_BYTES, ctypes.addressof(buffer)), buffer


# ---- the step counter ------------------------------------------------------------------------------------------------


def run(code, globals, limit, fd, report):
    # type: (CodeType, dict[str, object], int, int, bytes) -> object
    """Evaluate a code object and count the steps of the frames it starts.

    Args:
        code: what to evaluate, without free variables.
        globals: its namespace; gets `__builtins__` when it has none.
        limit: the most steps allowed; 0 means no limit. One more writes the report and ends the process.
        fd: where the report goes.
        report: what is written before the process ends with status 61, which nothing can catch.
    """
    if not isinstance(code, _CodeType):
        raise TypeError("run takes a code object, not %s" % type(code).__name__)
    if code.co_freevars:
        raise TypeError("run takes a code object without free variables")
    if _state.running:  # or a candidate could start its count anew
        raise RuntimeError("run is already running")
    _state.running = True
    try:
        return _count(code, globals, limit, fd, report)
    finally:
        _state.running = False


def evaluate(code, globals):
    # type: (CodeType, dict[str, object]) -> object
    """Evaluates a code object and counts nothing."""
    before, _state.running = _state.running, True
    try:
        return eval(code, globals)
    finally:
        _state.running = before


def steps():
    # type: () -> int
    """The count of the last `run`."""
    return _state.steps


def _stop(fd, report):
    # type: (int, bytes) -> None
    """The step limit: nothing of the candidate runs after this, not even an exception handler."""
    try:
        while report:
            report = report[_write(fd, report) :]
    finally:
        _exit(_EXIT_STEPS)


def _count_traced(code, globals, limit, fd, report):
    # type: (CodeType, dict[str, object], int, int, bytes) -> object
    """Up to 3.11: opcode events of sys.settrace."""
    count = 0

    def started(frame, event, arg):
        # type: (FrameType, str, object) -> Any
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return happened

    def happened(frame, event, arg):
        # type: (FrameType, str, object) -> Any
        nonlocal count
        if event == "opcode":
            count += 1
            if count > limit > 0:
                _stop(fd, report)
        return happened

    settrace(started)
    try:
        return eval(code, globals)
    finally:
        settrace(None)
        setprofile(None)  # one that the candidate set must not watch what comes after it
        _state.steps = count


def _count_monitored(code, globals, limit, fd, report):
    # type: (CodeType, dict[str, object], int, int, bytes) -> object
    """From 3.12 on: INSTRUCTION events of sys.monitoring, without the ones of this function."""
    global _tool
    event = _monitoring.events.INSTRUCTION
    count = 0
    thread = _get_ident()

    def happened(code, offset):
        # type: (CodeType, int) -> None
        nonlocal count
        if code is not own and _get_ident() == thread:
            count += 1
            if count > limit > 0:
                _stop(fd, report)

    own = _count_monitored.__code__  # looked up by name: asking for a frame is refused to guarded code
    if _monitoring.get_tool(_tool) != _TOOL_NAME:  # what ran before gave our number away
        _tool = _take_tool()
    _monitoring.register_callback(_tool, event, happened)
    _monitoring.set_events(_tool, event)
    try:
        return eval(code, globals)
    finally:
        if _monitoring.get_tool(_tool) is not None:
            _monitoring.set_events(_tool, 0)
        if gettrace() is not None:
            settrace(None)
        if getprofile() is not None:
            setprofile(None)
        _state.steps = count


def _take_tool():
    # type: () -> int
    """A free tool number of sys.monitoring, from the end that debuggers and profilers do not use by convention."""
    for number in (4, 3, 5, 2, 1, 0):
        try:
            _monitoring.use_tool_id(number, _TOOL_NAME)
        except ValueError:
            continue
        return number
    raise ImportError("every tool number of sys.monitoring is taken")


_tool = _take_tool() if _monitoring else -1
_count = _count_monitored if _monitoring else _count_traced
