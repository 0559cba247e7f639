"""The pure twin of the native helper: the same functions without a compiler, slower.

Confinement goes through ctypes, which costs memory and a few hundred microseconds in each worker; steps are counted by
a Python function, which costs about 70 ns each. What is counted is the same as in `_native`, instruction for
instruction, except where the interpreter runs the program's code inside or instead of that function:

* A program that exhausts the recursion limit. There the function finds no room either, and up to 3.11 the interpreter
  stops tracing altogether when it fails: the clocks remain as limits.
* Finalizers run by the garbage collector, when a collection starts inside the function.
* Up to 3.10, finalizers of what a local variable lets go: tracing in Python keeps it alive until the next call.

There is no seal (see `native/src/seal.c`): in Python it costs more than a worker of its own for each check, and could
not be kept from the candidate. So no check that runs code of a task shares a worker. Nor does it know the order of a
set (`values/sets.py`).
"""

import os
import struct
import sys

from cruxcell.native import counting
from cruxcell.protocol import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any, NoReturn  # noqa: F401 - in type comments

# Taken now: what a candidate puts in their place later changes nothing.
_exit = os._exit

NAME = "pure"
run, evaluate, steps = counting.run, counting.evaluate, counting.steps
SEALS = False  # nothing here can vouch for what checks leave to each other

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


def keep_arenas(most_bytes):
    # type: (int) -> None
    """From now on memory of small objects that is free again stays with the process, up to so many bytes and 64 MiB.
    The native helper can do this; here the kernel has to give it each time."""


def hear(events, listener):
    # type: (tuple[str, ...], Callable[[str, Any], object]) -> None
    """From now on and once in a process: call listener(event, arguments) for the audit events of these names."""

    def hook(event, arguments):
        # type: (str, Any) -> None
        if event in events:
            listener(event, arguments)

    sys.addaudithook(hook)


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
