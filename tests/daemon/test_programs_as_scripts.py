"""What a program that reads and prints finds as a script that Python runs."""

from __future__ import annotations

import pytest
from cruxbox import Client, StdioCheck, Task

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
