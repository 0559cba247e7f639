"""Whole programs: run with no expectation, compared in every way, judged by a checker, in a setting of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from behaviours import runtimes, tested_runtimes
from cruxbox import Assurance, CallCheck, Client, Limits, Outcome, RunCheck, ScriptCheck, StdioCheck, Task, Tolerance

pytestmark = pytest.mark.kernel

# program -> (exit code, stdout, exception)
RUNS = {
    "print(input()[::-1])": (0, "cba\n", None),
    "import sys\nprint(1)\nsys.exit(3)": (3, "1\n", None),
    "import sys\nsys.exit('no')": (1, "", None),
    "print('before')\n1 / 0": (1, "before\n", "ZeroDivisionError"),
    "import os\nos.write(1, b'out')\nos._exit(7)": (7, "out", None),
    "import os\nos._exit(61)": (61, "", None),
    "raise KeyboardInterrupt": (130, "", "KeyboardInterrupt"),
    "pass": (0, "", None),
    "import sys\nprint(1, flush=True)\ndel sys.stdout": (0, "1\n", None),
    "import atexit, sys\natexit.register(sys.exit, 3)\nprint(1)": (0, "1\n", None),
    "import sys\nclass Odd(int):\n    def __and__(self, other):\n        return 0\nsys.exit(Odd(3))": (3, "", None),
    # What cannot be written at the end is the interpreter's status 120, whatever the program's own was.
    "import os, sys\nprint(1)\nos.close(1)\nsys.exit(3)": (120, "", None),
    "import os\nprint(1)\nos.close(1)\n1 / 0": (120, "", "ZeroDivisionError"),
    "import os, sys\nsys.stderr.write('x')\nos.close(2)": (120, "", None),
    "import sys\nprint(sys.stdin.name, sys.stderr.name)\nsys.stdout.close()": (0, "<stdin> <stderr>\n", None),
    "import sys\nsys.excepthook = lambda *raised: sys.exit(7)\n1 / 0": (7, "", "ZeroDivisionError"),
    "import sys\nsys.excepthook = None\n1 / 0": (1, "", "ZeroDivisionError"),
    # However a program comes to its end, what it registered comes behind that, and its traceback before.
    "import atexit, sys\natexit.register(print, 2)\nsys.excepthook = lambda *raised: print(1)\n1 / 0": (
        1,
        "1\n2\n",
        "ZeroDivisionError",
    ),
    # What it traces with is told of no code but its own.
    "import sys\ndef told(*about):\n    print(about[1])\n    return told\nsys.settrace(told)\n(lambda: 0)()": (
        0,
        "call\nline\nreturn\n",
        None,
    ),
    "import sys\nsys.setprofile(lambda _f, event, _of: event == 'call' and print(event))\n(lambda: 0)()\n1 / 0": (
        1,
        "call\n",
        "ZeroDivisionError",
    ),
    "class Odd(SystemExit):\n    def __getattribute__(self, name):\n        1 / 0\nraise Odd(3)": (1, "", None),
}


@pytest.mark.parametrize("runtime", tested_runtimes())
def test_a_run_is_executed_and_never_passes(native: Client, runtime: str):
    for verdict in native.check([Task(program, [RunCheck("abc\n")], program, runtime=runtime) for program in RUNS]):
        raised = verdict.exception.type if verdict.exception else None
        assert (verdict.outcome, verdict.assurance) == (Outcome.EXECUTED, Assurance.SEPARATED), verdict
        assert (verdict.exit_code, verdict.stdout, raised) == RUNS[verdict.task_id], verdict
        assert verdict.passed is False


WARNED = (
    "import warnings\nwith warnings.catch_warnings(record=True) as told:\n    warnings.warn('a')\n"
    "    warnings.warn('b', %s)\ndef f():\n    return len(told)\nprint(f())\nwarnings.warn('c')\n"
)
OF_THE_TEXT = "x = 'a\\d'\nassert (x is 'a') is False\n"  # of which the compiler warns


@pytest.mark.parametrize("runtime", tested_runtimes())
def test_warnings_are_those_of_a_process_of_its_own(native: Client, runtime: str):
    """A program was told of none that it did not ask for."""
    shown, hidden = WARNED % "DeprecationWarning", WARNED % "PendingDeprecationWarning"
    recorded = "import warnings\nwith warnings.catch_warnings(record=True) as told:\n    warnings.warn('a')\n"
    script = ScriptCheck(OF_THE_TEXT + recorded + "assert len(told) == candidate() == 1", "f")
    tasks = [Task(shown, [RunCheck(), StdioCheck("", "2")]), Task(hidden, [CallCheck("f()", "1"), script])]
    run, *others = native.check([Task(OF_THE_TEXT + task.program, task.checks, runtime=runtime) for task in tasks])
    assert [verdict.outcome for verdict in others] == [Outcome.PASSED] * 3, others
    assert run.stdout == "2\n"
    assert run.stderr.startswith("<program>:10: UserWarning: c\n")


@pytest.mark.parametrize("runtime", tested_runtimes())
def test_a_run_shows_its_traceback(native: Client, runtime: str):
    (verdict,) = native.check([Task("def f():\n    raise KeyError(3)\nf()", [RunCheck()], runtime=runtime)])
    assert verdict.stderr.splitlines()[0] == "Traceback (most recent call last):"
    assert 'File "<program>", line 3, in <module>\n    f()\n' in verdict.stderr
    assert verdict.stderr.endswith("KeyError: 3\n")
    assert "cruxcell" not in verdict.stderr


BYTES = """
import os
for stream in (1, 2):
    left = memoryview(b"\\xff" * %d)
    while left: left = left[os.write(stream, left):]
"""
TEXT = "import sys\ndef f():\n    for stream in (sys.stdout, sys.stderr): stream.write('\\xe9' * %d)\n    return 1"


def test_what_one_prints_makes_no_answer_larger_than_a_client_takes(native: Client):
    """Bytes that are no text became three each, and characters counted as one byte: the whole call failed."""
    most = 16 << 20
    limits = Limits(output_bytes=most, memory_bytes=1 << 30, cpu_ms=20_000, wall_ms=60_000)
    large = [
        Task(BYTES % (most - 9), [RunCheck()], limits=limits),
        Task(TEXT % (most - 1), [CallCheck("f()", "1")], limits=limits),
    ]
    run, call, other = native.check([*large, Task("def f(): return 1", [CallCheck("f()", "1")])])
    assert (run.outcome, len(run.stdout), len(run.stderr)) == (Outcome.EXECUTED, most - 9, most - 9)
    assert (call.outcome, other.outcome) == (Outcome.OUTPUT_LIMIT, Outcome.PASSED)


# Texts that are odd as files, and what CPython prints of such a file; None where it refuses it.
FILES = {
    "\ufeffprint('é')": "é\n",
    "\ufeff\x0cprint(1)": "1\n",
    "\ufeff# -*- coding: utf-8 -*-\nprint(1)": "1\n",
    "\ufeff\ufeffprint(1)": None,
    "print(1)\n\ufeffprint(2)": None,
    "\x0cif 1:\n    print(1)\n\x0c\n    print(2)": "1\n2\n",
    "print(1)\rif 1:\r    print(2)\r": "1\n2\n",
    'print(repr("""a\rb\r\nc"""))\r\n': "'a\\nb\\nc'\n",
    "print(1)\n\x1a": None,
    "print(1)\u2028print(2)": None,
}


@pytest.mark.parametrize("runtime", tested_runtimes())
def test_a_text_is_what_a_file_of_it_is(native: Client, tmp_path: Path, runtime: str):
    """A byte order mark made a program INVALID that CPython runs."""
    function, checker, tasks = "\ndef f(*a): return True\n", "\ncheck = lambda *a: True", []
    for text, printed in FILES.items():
        if runtime == tested_runtimes()[0]:
            (tmp_path / "a.py").write_bytes(text.encode())
            ran = subprocess.run([sys.executable, "-Xutf8", tmp_path / "a.py"], capture_output=True, check=False)
            assert (None if ran.returncode else ran.stdout.decode()) == printed
        checks = [RunCheck(), CallCheck("f()", "True"), ScriptCheck("assert f()"), ScriptCheck("assert f()", "f")]
        tasks.append(Task(text + function, checks, text, runtime=runtime))
        script, judged = f"{text}\nassert f()", StdioCheck("", "1", checker=text + checker)
        tasks.append(
            Task(function, [ScriptCheck(script), ScriptCheck(script, "f"), judged], f"-{text}", runtime=runtime)
        )
    for verdict in native.check(tasks):
        printed = FILES[verdict.task_id.removeprefix("-")]
        expected = {Outcome.INVALID} if printed is None else {Outcome.PASSED, Outcome.EXECUTED}
        assert verdict.outcome in expected, verdict
        assert verdict.stdout in {"", printed or ""}, verdict
    # A text has been decoded: what it says of its bytes decides nothing.
    (run,) = native.check([Task("# -*- coding: latin-1 -*-\nprint('é')", [RunCheck()], runtime=runtime)])
    assert run.stdout == "é\n"


ENDS = {
    "while True: pass": Outcome.TIMED_OUT,
    "import ctypes\nctypes.string_at(0)": Outcome.CRASHED,
    "x = bytearray(1 << 40)": Outcome.MEMORY_LIMIT,
    "print('x' * (1 << 24))": Outcome.OUTPUT_LIMIT,
    "x = (": Outcome.INVALID,
    # A forged report is none of an honest program's ends.
    "import os\nos.write(3, b'\\x04\\0\\0\\0junk')": Outcome.VIOLATION,
}


@pytest.mark.parametrize("program", ENDS)
def test_a_run_that_comes_to_no_end_of_its_own(native: Client, program: str):
    (verdict,) = native.check([Task(program, [RunCheck()], limits=Limits(cpu_ms=500))])
    assert verdict.outcome is ENDS[program], verdict
    assert verdict.exit_code is None


SETTING = "import os, sys\nprint(sys.argv[1:], os.environ.get('WHERE'), os.environ.get('MORE'))"


def test_arguments_and_environment(native: Client):
    checks = [
        RunCheck(arguments=["-v", "é"], env={"WHERE": "check"}, id="run"),
        StdioCheck("", "['a'] task None", arguments=["a"], id="stdio"),
        ScriptCheck("assert where() == 'task'", "where", id="script"),
        CallCheck("where()", "'task'", id="call"),
        CallCheck("where(*['x'])", "'task'", id="argued"),
        CallCheck("where()", "__import__('os').environ['WHERE']", id="expected"),
    ]
    program = SETTING + "\ndef where(x=0):\n    return os.environ.get('WHERE')\n"
    run, *others = native.check([Task(program, checks, env={"WHERE": "task"})])
    assert run.stdout == "['-v', 'é'] check None\n"
    assert [verdict.outcome for verdict in others] == [Outcome.PASSED] * 5, others


@pytest.mark.skipif(not Path("/usr/share/zoneinfo").is_dir(), reason="the host has no time zones")
def test_a_zone_in_the_environment_is_that_of_every_kind(native: Client):
    program = (
        "import time\ndef zone(x=0):\n    return time.tzname[0], time.localtime(0).tm_hour\n"
        "if __name__ == '__main__':\n    print(*zone())\n"
    )
    checks = [
        RunCheck(id="run"),
        StdioCheck("", "EST 19", env={"TZ": "America/New_York"}, id="stdio"),
        ScriptCheck("import time\nassert zone() == ('JST', 9) and time.tzname[0] == 'JST'", id="script"),
        CallCheck("zone()", "('JST', 9)", id="call"),
        CallCheck("zone(*['x'])", "('JST', __import__('time').localtime(0).tm_hour)", id="argued"),
    ]
    run, *others = native.check([Task(program, checks, env={"TZ": "Asia/Tokyo"})])
    assert run.stdout == "JST 9\n"
    assert [verdict.outcome for verdict in others] == [Outcome.PASSED] * 4, others


@pytest.mark.skipif(not Path("/usr/share/zoneinfo").is_dir(), reason="the host has no time zones")
def test_the_hosts_time_zones_are_there_and_nothing_beside_them(native: Client, pure: Client):
    program = (
        "import os\nfrom datetime import datetime\nfrom zoneinfo import ZoneInfo\n"
        "print(datetime(2020, 7, 1, tzinfo=ZoneInfo('Asia/Tokyo')).isoformat(), os.path.exists('/usr/share/doc'))"
    )
    for client in (native, pure):
        [verdict] = client.check([Task(program, [RunCheck()])])
        assert verdict.stdout == "2020-07-01T00:00:00+09:00 False\n", verdict


NULL = """
import io, os, pathlib
for mode in ("r", "w", "a", "r+", "w+", "rb", "wb", "ab", "r+b", "br", "wt"):
    with open(os.devnull, mode) as file:
        print(mode, type(file).__name__, file.mode, file.name, file.readable(), file.writable(), file.seekable())
        if file.readable():
            print(repr(file.read()), repr(file.readline()), list(file))
        if file.writable():
            print(file.write("abc" if isinstance(file, io.TextIOBase) else b"abc"), file.flush(), file.seek(0))
for mode in ("rb", "wb"):
    file = io.open("/dev/null", mode, buffering=0)
    for do in (lambda: file.read(), lambda: file.write(b"abc"), lambda: file.close(), lambda: file.read()):
        try:
            print(mode, file.mode, do())
        except (OSError, ValueError) as error:
            print(type(error).__name__, error)
for mode in ("q", "rw", "bt", "", "wbb", 5):
    try:
        open("/dev/null", mode)
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
print(open(file="/dev/null", mode="w", buffering=1, encoding="ascii").line_buffering)
for place in (None, 1.5, "none", b"none"):
    try:
        open(place)
    except (TypeError, OSError) as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize("runtime", tested_runtimes())
def test_the_null_device_is_what_it_is_for_a_file_of_the_program(native: Client, runtime: str, tmp_path: Path):
    (verdict,) = native.check([Task(NULL, [RunCheck()], runtime=runtime)])
    program = tmp_path / "program.py"
    program.write_text(NULL)
    plain = subprocess.run([runtimes()[runtime], program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert verdict.stdout.splitlines() == plain.stdout.splitlines(), verdict


@pytest.mark.parametrize("require", [None, Assurance.IN_PROCESS])
def test_a_script_may_open_the_null_device(native: Client, require: Assurance | None):
    script = (
        "import contextlib, os\nwith open(os.devnull, 'w') as nothing, contextlib.redirect_stdout(nothing):\n"
        "    found = [f(n) for n in range(3)]\nassert found == [0, 2, 4], found\n"
    )
    for factor, outcome in ((2, Outcome.PASSED), (3, Outcome.FAILED)):
        program = f"def f(n):\n    print('hidden')\n    return n * {factor}\n"
        (verdict,) = native.check([Task(program, [ScriptCheck(script)], require_assurance=require)])
        assert verdict.outcome is outcome, verdict


def test_a_setting_is_its_tasks_own(native: Client):
    program = "import os\ndef f(x):\n    return os.environ.get('A')\n"
    tasks = [Task(program, [CallCheck("f(1)", repr(value))], env={"A": value}) for value in ("1", "2")]
    tasks.append(Task(program, [CallCheck("f(1)", "None")]))
    assert all(verdict.passed for verdict in native.check(tasks))


REFUSED = {
    "env names 'a-b'": Task("x = 1", [RunCheck()], env={"a-b": "1"}),
    "run.env['A'] holds a NUL": Task("x = 1", [RunCheck(env={"A": "\0"})]),
    "stdio has a checker, which decides": Task("x", [StdioCheck("", "1", compare="tokens", checker="check = max")]),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_wrong_is_said(native: Client, why: str):
    verdict, other = native.check([REFUSED[why], Task("print(1)", [StdioCheck("", "1")])])
    assert verdict.outcome is Outcome.INVALID
    assert why in verdict.detail
    assert other.passed


COMPARED = [
    ("print('Yes')", StdioCheck("", "YES", compare="casefold"), "PASSED"),
    ("print('1  2\\n3')", StdioCheck("", "1 2 3", compare="tokens"), "PASSED"),
    ("print(1)", StdioCheck("", "1", compare="exact"), "FAILED"),
    ("print(0.1 + 0.2)", StdioCheck("", "0.3", tolerance=1e-9), "PASSED"),
    ("print(0.31)", StdioCheck("", "0.3", tolerance=Tolerance(absolute=1e-3)), "FAILED"),
    ("print(10**18 + 1)", StdioCheck("", str(10**18), tolerance=Tolerance(absolute=1e-9)), "FAILED"),
    ("print('1.0e1 -0', 10**30)", StdioCheck("", f"10 0 {10**30}.00", tolerance=Tolerance(absolute=1e-9)), "PASSED"),
    ("print('1e999999')", StdioCheck("", "1e-999999", tolerance=1e-9), "FAILED"),
    ("pass", StdioCheck("", "", allow_empty=True), "PASSED"),
    ("print()", StdioCheck("", "", allow_empty=True), "PASSED"),
    ("print(1)", StdioCheck("", "", allow_empty=True), "FAILED"),
    ("import os\nos._exit(0)", StdioCheck("", "", allow_empty=True), "CRASHED"),
    ("raise ValueError", StdioCheck("", "", allow_empty=True), "RAISED"),
    ("import sys\nsys.exit(1)", StdioCheck("", "", allow_empty=True), "RAISED"),
    ("import ctypes\nctypes.string_at(0)", StdioCheck("", "", allow_empty=True), "CRASHED"),
]


def test_ways_to_compare(native: Client):
    verdicts = native.check([Task(program, [check]) for program, check, _ in COMPARED])
    assert [verdict.outcome.name for verdict in verdicts] == [outcome for _, _, outcome in COMPARED]


OWN_CLASSES = """
import pickle, sys, typing
class A:
    x: 'int' = 3
def f(n):
    assert sys.modules[__name__].f is f
    return pickle.loads(pickle.dumps(A())).x + n, typing.get_type_hints(A)['x'] is int
"""


def test_the_program_is_a_module_for_every_kind(native: Client):
    checks = [
        CallCheck("f(1)", "(4, True)", id="alone"),
        CallCheck("f(len('a'))", "(4, True)", entry_point="f", id="argued"),
        ScriptCheck("assert f(1) == (4, True)", "f", id="script"),
    ]
    verdicts = native.check([Task(OWN_CLASSES, checks)])
    assert [verdict for verdict in verdicts if not verdict.passed] == []


def test_a_program_may_ask_for_a_larger_stack_in_every_kind(native: Client):
    program = (
        "import resource, sys\nresource.setrlimit(resource.RLIMIT_STACK, (-1, -1))\nsys.setrecursionlimit(5000)\n"
        "def f(n): return n and 1 + f(n - 1)\n"
    )
    checks = [
        CallCheck("f(2000)", "2000", id="alone"),
        CallCheck("f(int('2000'))", "2000", entry_point="f", id="argued"),
        ScriptCheck("assert f(2000) == 2000", "f", id="by its calls"),
        ScriptCheck("found = f(2000)\nassert found == 2000", "f", id="script"),
    ]
    verdicts = native.check([Task(program, checks), Task(f"{program}print(f(2000))", [StdioCheck("", "2000")])])
    assert [verdict for verdict in verdicts if not verdict.passed] == []


BY_OTHER_MEANS = """
from math import *
from itertools import *
exec('def g(x): return x + 1')
globals()['h'] = lambda x: x + 2
def f(x): return x
"""


def test_names_that_the_text_of_a_program_does_not_tell_are_the_programs(native: Client):
    """Their calls are no calls of a name with arguments of their own: they are evaluated beside the program."""
    beside = ["len(list(permutations('ab')))", "f(g(1))", "f(h(0))", "f(pow(4, 0.5))", "f(sqrt(4))"]
    checks = [CallCheck(text, "2", id=text) for text in beside]
    own = [CallCheck("f(len('ab'))", "2"), CallCheck("f(max([2, *(i for i in (0, 1))]))", "2")]
    *verdicts, first, second = native.check([Task(BY_OTHER_MEANS, [*checks, *own])])
    assert [(verdict.outcome, verdict.assurance) for verdict in verdicts] == [
        (Outcome.PASSED, Assurance.IN_PROCESS)
    ] * 5
    assert [first.assurance, second.assurance] == [Assurance.SEPARATED] * 2
