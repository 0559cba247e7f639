"""What a program that reads and prints finds as a script that Python runs."""

from __future__ import annotations

import pytest
from cruxbox import CallCheck, Client, RunCheck, ScriptCheck, StdioCheck, Task

pytestmark = pytest.mark.kernel

# As attributes of a class builtin functions are no methods; nor is what is in their place.
BUILTIN_LIKE = """
import copy, io, os, pickle, resource
class Files:
    open, stat = io.open, os.stat
    limits, limit = resource.getrlimit, resource.setrlimit
files = Files()
files.limit(resource.RLIMIT_STACK, files.limits(resource.RLIMIT_STACK))
print(files.open('/dev/stdin').readline().strip(), files.stat(os.__file__).st_size > 0,
      pickle.loads(pickle.dumps(open)) is open, copy.deepcopy([open])[0] is open, open, resource.setrlimit.__name__)
"""
# What a program finds as a script that Python runs: (program, standard input, what it prints).
AS_A_SCRIPT = [
    ("import pickle\nclass A: x = 1\nprint(pickle.loads(pickle.dumps(A())).x)", "", "1"),
    ("import __main__, sys\nx = 5\nprint(__main__.x, sys.modules[__name__].x)", "", "5 5"),
    ("print(__doc__, __spec__, __package__, __file__)\nx: int = 1\nprint(__annotations__['x'])", "",
     "None None None program.py\n<class 'int'>"),
    ("import sys\nprint(repr(input()), len(sys.stdin.read()))", "a\r\nb\r\n", "'a\\r' 3"),
    ("class A:\n    def __del__(self): print('gone')\n_first, a = A(), [A()]\n"
     "a.append(a)\nglobals()[1] = 2\nprint(1)", "", "1\ngone\ngone"),
    ("out = open(1, 'w', closefd=False)\nout.write('7')", "", "7"),
    ("import io, sys\nout = io.TextIOWrapper(sys.stdout.buffer)\nprint(7, file=out)\nsys.exit()", "", "7"),
    ("import inspect\nclass A:\n    x = 1\ndef f(): return 1\nprint(inspect.getsource(f) + inspect.getsource(A))", "",
     "def f(): return 1\nclass A:\n    x = 1"),
    (BUILTIN_LIKE, "7\n8", "7 True True True <built-in function open> setrlimit"),
    ("import getpass, os\nprint(getpass.getuser(), len(os.environ['PATH'].split(':')))", "", "nobody 2"),
    ("import os\nout = os.fdopen(os.dup(1), 'w')\nprint(7)\nout.write('8')", "", "7\n8"),
    ("from resource import *\nsetrlimit(RLIMIT_STACK, (RLIM_INFINITY, RLIM_INFINITY))\n"
     "setrlimit(RLIMIT_STACK, [1 << 28, -1])\nsetrlimit(RLIMIT_STACK, (getrlimit(RLIMIT_STACK)[1],) * 2)\n"
     "try: setrlimit(RLIMIT_NPROC, (-1, -1))\nexcept (ValueError, OSError): print('fixed')", "", "fixed"),
]  # fmt: skip


def test_a_program_finds_what_a_script_does(native: Client):
    verdicts = native.check([Task(program, [StdioCheck(stdin, out)]) for program, stdin, out in AS_A_SCRIPT])
    assert [(verdict.outcome, verdict.stdout) for verdict in verdicts if not verdict.passed] == []


# What is written to a stream around another is there at the latest when that is flushed.
AROUND = """
import io, sys
{0} = io.TextIOWrapper({0}.buffer, encoding="utf-8", line_buffering=True)
print("a", file={0})
"""
# What programs do to their streams while they are loaded, and what reads their own lines.
LOADED = [
    *[AROUND.format("sys." + name) for name in ("stdout", "stderr")],
    "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach(), 'utf-8')\nprint('a', flush=True)",
    "import sys\nfor s in (sys.stdout, sys.stderr):\n    s.reconfigure(encoding='utf-8', errors='replace')",
    "import sys\nsys.stdout.reconfigure(line_buffering=True)\nassert sys.stdout.line_buffering in (False, True)",
    "import io, sys\nout = io.BufferedWriter(sys.stdout.buffer)\nassert out.write(b'ab') == 2\nout.flush()",
    "import sys\nsys.stdout.buffer.writelines([b'a', memoryview(b'b')])\nassert sys.stdout.buffer.writable()",
    "import codecs, sys\nsys.stdout = codecs.getwriter('utf-8')(sys.stdout.buffer)\nprint('a')",
    "import os, sys\nassert (os.write(sys.stdout.fileno(), b'a'), sys.stderr.fileno()) == (1, 2)",
    "import faulthandler\nfaulthandler.enable()",
    "import inspect\nassert inspect.getsource(f) == 'def f(x):\\n    return x + 1\\n'",
    "import inspect\nclass A:\n    def m(self): return 5\nassert inspect.getsource(A.m) in inspect.getsource(A)",
    "import traceback\ntry: 1 / 0\nexcept Exception: assert 'try: 1 / 0' in traceback.format_exc()",
]


@pytest.mark.parametrize("module", ["", "solution"])
def test_a_program_that_is_called_finds_it_too(native: Client, module: str):
    bound = f"from {module} import f\n" if module else ""
    checks = [CallCheck("f(1)", "2"), ScriptCheck(bound + "assert f(1) == 2\nlast = len('')", "", module=module)]
    verdicts = native.check([Task("def f(x):\n    return x + 1\n" + each, checks) for each in LOADED])
    assert [(each.outcome, each.exception) for each in verdicts if not each.passed] == []


def test_what_is_printed_through_a_stream_around_another_the_script_has(native: Client):
    program = "import io, sys\ndef f():" + AROUND.format("sys.stdout").replace("\n", "\n    ")
    script = "import contextlib, io\nwith contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())) as out: f()\n"
    script += "out.seek(0)\nassert out.read() == 'a\\n'"
    assert native.check([Task(program, [ScriptCheck(script)])])[0].passed


# What is left at the end finds all names as they were.
COUNTED = """
left = [1, 2]
class A:
    def __del__(self):
        left.pop()
        print(len(left))
a, b = A(), A()
"""
# A stream of the program's, which needs names of the program to write.
OWN_OUTPUT = """
import io, os, sys
class Output(io.IOBase):
    def __init__(self): self.held = io.BytesIO()
    def write(self, text): self.held.write(text.encode())
    def flush(self):
        os.write(1, self.held.getvalue())
        self.held.truncate(0)
        self.held.seek(0)
sys.stdout = Output()
print(5)
"""
# How a program ends: (program, what it has printed by then, its exit status).
ENDS = [
    (COUNTED, "1\n0\n", 0),
    (COUNTED + "raise SystemExit(4)\n", "1\n0\n", 4),
    ("import typing\nclass A:\n    def __del__(self): print('gone')\na, kept = A(), typing.List[A]\n", "gone\n", 0),
    (COUNTED + "import __main__\nmain = __main__\n", "1\n0\n", 0),
    ("import sys\nclass A:\n    def __del__(self): print('gone')\na, sys.stdout = A(), sys.stderr\n", "gone\n", 0),
    ("def f(): return out\nout = open(1, 'w', closefd=False)\nout.write('7')", "7", 0),
    ("class A(int):\n    def __del__(self): print(self)\neach = [A(n) for n in range(3)]", "2\n1\n0\n", 0),
    (OWN_OUTPUT, "5\n", 0),
    ("import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach(), 'utf-8')\nprint(7)", "7\n", 0),
    ("import atexit, os\natexit.register(os._exit, 3)\nprint(7)", "7\n", 3),
]


def test_a_program_ends_as_a_script_does(native: Client):
    verdicts = native.check([Task(program, [RunCheck()]) for program, _, _ in ENDS])
    assert [(v.stdout, v.exit_code) for v in verdicts] == [(out, status) for _, out, status in ENDS]
