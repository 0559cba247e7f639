"""Jobs that a template does itself before it forks, on texts of our own.

What the interpreter notes down while it first runs something (where attributes are found, a faster form of the
harness's code, versions of classes) it notes on the pages of the code and the classes. What is noted before the fork,
no worker notes on copies of its own. For a half of a separated script this saves a fifth of its CPU time.
"""

import _socket
import fcntl
import gc
import os
import sys

from cruxcell.analysis import bytecode
from cruxcell.analysis.compiled import told
from cruxcell.analysis.parsing import CHECK, compile_text
from cruxcell.jobs import programs
from cruxcell.jobs.calls import run_calls
from cruxcell.jobs.context import JobContext
from cruxcell.jobs.separated import CHANNEL, run_serve, run_test
from cruxcell.jobs.separated.proxies.runs import LINK
from cruxcell.jobs.streams import run_streams
from cruxcell.namespace import CANDIDATE
from cruxcell.protocol import frames, messages
from cruxcell.protocol.payloads import CALLS_FLAGS, INSPECT, LIMITS, SHARE, STDIO_FLAGS, TEST_FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments

    from cruxcell.native import Helper  # noqa: F401 - in type comments

# 3.11 looks for a faster form at the eighth call, and where there is none, again after more. A pair takes 6 ms, a
# hundred times what a call takes, and calls most of what it calls more than once: after five, more save nothing.
_CALLS, _PROGRAMS, _PAIRS = 32, 16, 5
_FUNCTION = (
    b"def f(items, least=0):\n    out, n = {}, 1\n    for x in items:\n        n += 1\n"
    b"        out[str(x)] = max(x, least)\n    names = [k.strip() for k in out.keys() if k not in '']\n"
    b"    return sorted(names, key=lambda k: (len(k), k)), ', '.join(x for x in names), n\n"
)
_PROGRAM = b"# read\nn = int(input())\nfor _ in range(1):\n    print(n, 'a')\n"
_COUNTING = (
    b"from collections import Counter, OrderedDict, defaultdict, deque\nfrom functools import lru_cache\n"
    b"def g():\n    yield 1\nd = {1: 2}\n"
    b"for each in [[1], (1,), 'a', b'a', {1}, frozenset([1]), d, range(1), deque([1]), defaultdict(int), Counter(),\n"
    b"             OrderedDict(), bytearray(b'a'), d.keys(), d.values(), d.items()]:\n"
    b"    Counter(each)\n    Counter(iter(each))\n"
    b"for each in [g(), map(abs, []), filter(None, []), zip(), enumerate([]), reversed([]), iter(int, 0)]:\n"
    b"    Counter(each)\n"
    b"@lru_cache(None)\ndef f(x):\n    return x\nprint(f(1), Counter('aab').most_common(1))\n"
)
_CANDIDATE = (
    b'def f(a, b=1.5):\n    """>>> f([1])"""\n    if not a:\n        raise ValueError("empty")\n'
    b"    out = []\n    for x in a:\n        out.append(x)\n    return out\n"
)
_SCRIPT = (
    b"METADATA = {'a': 'b'}\n\n\ndef check(candidate):\n"
    b"    assert candidate([1, 'a', 2.5, True]) == [1, 'a', 2.5, True]\n"
    b"    assert candidate(('ab', None)) == ['ab', None]\n    assert candidate([[1, 2], {3: 'c'}], b=2)[1][3] == 'c'\n"
    b"    try:\n        candidate([])\n    except ValueError:\n        pass\n"
    b"    for i in range(8):\n        assert candidate([i]) == [i], 'no'\n%s\n\ncheck(f)\n"
)


def rehearse(helper):
    # type: (Helper) -> None
    """Do jobs such as most are, of each kind. Nothing of it stays but what the interpreter has noted down."""
    before = sys.getrecursionlimit(), sys.stdin, sys.stdout, sys.stderr
    own, main = (sys.__stdin__, sys.__stdout__, sys.__stderr__), sys.modules["__main__"]
    stage = _Stage(helper)
    try:
        for turn in range(_CALLS):
            _call(stage, turn)
        for _ in range(_PROGRAMS):
            _read_and_print(stage)
        _read_and_print_often(stage)
        _pairs(stage)
    finally:
        sys.setrecursionlimit(before[0])
        sys.stdin, sys.stdout, sys.stderr = before[1:]
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = own  # type: ignore[misc]
        sys.modules["__main__"] = main  # a script's module took its place
        sys.modules.pop(CANDIDATE, None)
        bytecode.forget()
        stage.close()
        gc.unfreeze()  # with what the jobs left behind


class _Stage:
    """A context whose report and progress come back here."""

    def __init__(self, helper):
        # type: (Helper) -> None
        self._reading, self._writing = [_moved_away(end) for end in os.pipe()]
        self.context = JobContext(helper, self._writing, self._writing, helper.SEALS)

    def read_back(self, data):
        # type: (bytes) -> list[bytes]
        """The fields of a payload, read as a worker does."""
        os.write(self._writing, data)
        fields = self.context.helper.read_payload(self._reading, messages.MAX_PAYLOAD)  # type: list[bytes]
        return fields

    def sweep(self):
        # type: () -> None
        os.read(self._reading, 1 << 16)

    def close(self):
        # type: () -> None
        os.close(self._reading)
        os.close(self._writing)


def _moved_away(descriptor):
    # type: (int) -> int
    """Under another number, where it is not in the way of those that workers have."""
    other = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 32)
    os.close(descriptor)
    return other


def _call(stage, turn):
    # type: (_Stage, int) -> None
    flags = SHARE * (turn & 1) + INSPECT * (turn >> 1 & 1)
    checks = [CALLS_FLAGS.pack(flags), _FUNCTION, b"", b"f([3, 12, 5], least=4)", b"f", b"f([1])"]
    fields = stage.read_back(frames.frame([messages.JOB_CALLS, LIMITS.pack(1000, 1000), b"", *checks]))
    stage.context.set_limits(*LIMITS.unpack(fields[1]))
    run_calls(stage.context, fields[2:])
    stage.sweep()


def _read_and_print(stage):
    # type: (_Stage) -> None
    """A stdio job; its standard input ends at once, and so does the program."""
    stage.context.set_limits(0, 1000)
    arguments = sys.argv
    try:  # what the zygote has registered is for workers to call
        programs.run_stdio(stage.context, [STDIO_FLAGS.pack(0), _PROGRAM], at_the_end=())
    finally:
        sys.argv = arguments
    stage.sweep()


def _read_and_print_often(stage):
    # type: (_Stage) -> None
    """The same program on several inputs; and the classes that the abstract ones of Python are asked about."""
    for program in (_PROGRAM, _COUNTING):
        stage.context.set_limits(0, 1000)
        run_streams(stage.context, [program] + [b"7\n"] * _PROGRAMS)
        stage.sweep()


def _pairs(stage):
    # type: (_Stage) -> None
    """Both halves of separated scripts, one after the other; a child plays the other half each time."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    child = os.fork()
    if child == 0:
        try:
            ours.close()
            line = _socket.socket(fileno=_moved_away(theirs.detach()))
            _play(_Stage(stage.context.helper), line, [_serve, _test])
        finally:
            os._exit(0)
    theirs.close()
    line = _socket.socket(fileno=_moved_away(ours.detach()))
    try:
        _play(stage, line, [_test, _serve])
    finally:
        line.close()
        os.waitpid(child, 0)


def _play(stage, line, parts):
    # type: (_Stage, _socket.socket, list[Callable[[JobContext, int], None]]) -> None
    """Play each part often, over a new channel each time, which the half that tests makes and hands to the other."""
    for part in parts:
        for turn in range(_PAIRS):
            channel = _new_channel(line) if part is _test else _given_channel(line)
            os.dup2(channel, CHANNEL)
            if channel != CHANNEL:
                os.close(channel)
            try:
                part(stage.context, turn)
            finally:
                del LINK[:]
                os.close(CHANNEL)
            stage.sweep()


def _new_channel(line):
    # type: (_socket.socket) -> int
    near, far = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, far.fileno().to_bytes(4, "little"))]
    line.sendmsg([b"."], rights)
    far.close()
    return near.detach()


def _given_channel(line):
    # type: (_socket.socket) -> int
    ancillary = line.recvmsg(1, _socket.CMSG_SPACE(4))[1]
    return int.from_bytes(ancillary[0][2], "little")


def _test(context, turn):
    # type: (JobContext, int) -> None
    """The script holds, or, every fourth time, does not; every other time it is compiled already."""
    context.set_limits(0, 1000)
    script = _SCRIPT % (b"" if turn % 4 else b"    assert candidate([0]) == 1")
    code = told(compile_text(script.decode(), CHECK, "exec")) if turn % 2 else b""
    run_test(context, [script, b"f", b"", b"", TEST_FLAGS.pack(0), code, b""], is_rehearsal=True)


def _serve(context, _turn):
    # type: (JobContext, int) -> None
    context.set_limits(0, 1000)
    run_serve(context, [_CANDIDATE, b""])
