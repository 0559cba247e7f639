"""What a core of small programs must come to, on every interpreter and with both twins of the native helper.

Each line reads "name: task, outcome, facts of the verdict". Programs that import nothing also take the same steps with
both twins.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cruxbox import (
    Assurance,
    CallCheck,
    Clock,
    EvaluateCheck,
    Isolation,
    Limits,
    Outcome,
    ScriptCheck,
    StdioCheck,
    Task,
)

sys.path.append(str(Path(__file__).resolve().parents[1] / "cell"))

from interpreters import found_interpreters

LITERAL, SEPARATED, IN_PROCESS = Assurance.LITERAL, Assurance.SEPARATED, Assurance.IN_PROCESS


@dataclass(frozen=True)
class Behaviour:
    """A task of one check, its outcome, and whatever else must be true of the verdict."""

    task: Task
    outcome: Outcome
    facts: dict[str, Any] = field(default_factory=dict)


def does(program: str, check: Any, outcome: str, limits: Limits | None = None, **facts: Any) -> Behaviour:
    limits = limits or Limits(cpu_ms=5000, steps=1_000_000)
    return Behaviour(Task(program, [check], limits=limits), Outcome[outcome], facts)


def call(expression: str, expected: str, entry_point: str = "") -> CallCheck:
    return CallCheck(expression, expected, entry_point)


ADD = "def f(x):\n    return x + 1\n"
ECHO = "def f(x):\n    return x\n"
ORDERED = "from collections import OrderedDict\ndef f():\n    return OrderedDict([(3, 4), (1, 2)])\n"
EQUAL = "class E:\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return E()\n"
# What objects had that are gone, others can have, but for a small part.
FREES = "def f(x):\n    texts = list(map(str, range(10**6)))\n    del texts\n    return len(bytearray(x << 20))\n"
SMALL = Limits(cpu_ms=5000, memory_bytes=128 << 20)
TEST = "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(candidate(1)) == 3\ncheck(f)\n"


BEHAVIOURS = {
    # values
    "the right value": does(ADD, call("f(1)", "2"), "PASSED", assurance=SEPARATED, value="2"),
    "another value": does(ADD, call("f(1)", "3"), "FAILED", assurance=SEPARATED, value="2"),
    "a number is a number": does(ECHO, call("f([True, 2.0])", "[1, 2]"), "PASSED"),
    "order of a dict": does(ECHO, call("f({1: 2, 3: 4})", "{3: 4, 1: 2}"), "PASSED"),
    "an order that counts": does(ORDERED, call("f()", "__import__('collections').OrderedDict(((1, 2), (3, 4)))"),
                                 "FAILED", assurance=SEPARATED),
    "an order that counts, by the program's import": does(ORDERED, call("f()", "OrderedDict([(1, 2), (3, 4)])"),
                                                          "FAILED"),
    "the order that counts": does(ORDERED, call("f()", "OrderedDict([(3, 4), (1, 2)])"), "PASSED"),
    "a Counter beside a dict": does("from collections import *\ndef f(): return Counter(a=1, b=0)",
                                    call("f()", "dict(a=1)"), "FAILED"),
    "an order that does not": does(ORDERED, call("f()", "{1: 2, 3: 4}"), "PASSED"),
    "a tuple is no list": does(ECHO, call("f((1, 2))", "[1, 2]"), "FAILED"),
    "NaN equals nothing": does("def f(x): return float(x)", call("f('nan')", "float('nan')"), "INVALID"),
    "NaN is no number": does("def f(x): return float(x)", call("f('nan')", "1.0"), "FAILED"),
    "equal to everything": does(EQUAL, call("f(1)", "2"), "FAILED", value="<E object>"),
    "a function": does(ECHO, call("f(len)", "1"), "FAILED"),
    "only a value": does(ADD, EvaluateCheck("f(1)"), "EVALUATED", value="2"),
    # what a check is
    "constants": does("", call("1 + 1", "2"), "PASSED", assurance=LITERAL),
    "arguments to be computed": does(ADD, call("f(int('1'))", "2", "f"), "PASSED", assurance=SEPARATED),
    "an expected value to be computed": does(ADD, call("f(1)", "int('2')"), "PASSED", assurance=SEPARATED),
    "an expression": does(ADD, call("[f(1)][0]", "2"), "PASSED", assurance=IN_PROCESS),
    "not one call": does(ADD, call("[f(1)][0]", "2", "f"), "INVALID"),
    "an argument that asks the program": does(ADD, call("f(f(1))", "3", "f"), "INVALID"),
    "a program that does not parse": does("def f(:", call("f(1)", "2"), "INVALID"),
    "a call that does not parse": does(ADD, call("f(1", "2"), "INVALID"),
    "an expected value that does not parse": does(ADD, call("f(1)", "2)"), "INVALID"),
    "parentheses without end": does(ADD, call("f(" * 3000, "2"), "INVALID"),
    # exceptions
    "an exception": does("def f(x):\n    return 1 / x", call("f(0)", "1"), "RAISED"),
    "an exception while loading": does("x = y\n" + ADD, call("f(0)", "1"), "RAISED"),
    "no such name": does(ADD, call("g(0)", "1"), "RAISED"),
    "recursion": does("def f(x):\n    return f(x)", call("f(0)", "1"), "RAISED"),
    "SystemExit": does("def f(x):\n    raise SystemExit(0)", call("f(0)", "1"), "RAISED"),
    "a made-up MemoryError": does("def f(x):\n    raise MemoryError", call("f(0)", "1"), "RAISED"),
    # limits
    "steps": does("def f(x):\n    while True: pass", call("f(1)", "1"), "STEP_LIMIT", Limits(steps=5000)),
    "steps that are caught": does(
        "def f(x):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
        call("f(1)", "1"), "STEP_LIMIT", Limits(steps=5000),
    ),
    "CPU time": does("def f(x):\n    return sum(range(x))", call("f(10**15)", "1"), "TIMED_OUT", Limits(cpu_ms=100),
                     clock=Clock.CPU),
    "wall time": does("import time\ndef f(x):\n    time.sleep(x)", call("f(1000)", "1"), "TIMED_OUT",
                      Limits(wall_ms=200), clock=Clock.WALL),
    "freed memory, in a call": does(FREES, call("f(100)", "100 << 20"), "PASSED", limits=SMALL),
    "freed memory, in a script": does(FREES, ScriptCheck("assert f(100) == 100 << 20", "f"), "PASSED", limits=SMALL),
    "memory": does("def f(x):\n    return [0] * x", call("f(10**9)", "1"), "MEMORY_LIMIT",
                   Limits(memory_bytes=64 << 20)),
    "output": does("def f(x):\n    print('y' * x)", call("f(10**5)", "None"), "OUTPUT_LIMIT",
                   Limits(output_bytes=1000)),
    "output that fits": does("def f(x):\n    print('y' * x)", call("f(10)", "None"), "PASSED",
                             Limits(output_bytes=1000), stdout="yyyyyyyyyy\n"),
    # leaving
    "leaving": does("import os\ndef f(x):\n    os._exit(0)", call("f(1)", "1"), "CRASHED"),
    "a crash": does("import ctypes\ndef f(x):\n    ctypes.string_at(0)", call("f(1)", "1"), "CRASHED"),
    "no files": does("def f(x):\n    return open(x)", call("f('/etc/passwd')", "1"), "RAISED"),
    "no sockets": does("import socket\ndef f(x):\n    socket.socket()", call("f(1)", "None"), "RAISED"),
    "no processes": does("import os\ndef f(x):\n    return os.fork()", call("f(1)", "1"), "RAISED"),
    # programs
    "standard streams": does("print(int(input()) + 1)", StdioCheck("1\n", "2"), "PASSED", stdout="2\n"),
    "other output": does("print(int(input()) + 1)", StdioCheck("1\n", "3"), "FAILED"),
    "no output": does("x = 1", StdioCheck("", "1"), "FAILED"),
    "output and a closed stream": does("import sys\nprint(1)\nsys.stdout.close()", StdioCheck("", "1"), "PASSED"),
    "output and no stream": does("import sys\nprint(1, flush=True)\nsys.stdout = None", StdioCheck("", "1"), "PASSED"),
    "output and an exception": does("print(1)\n1 / 0", StdioCheck("", "1"), "RAISED"),
    "a text that no stream takes": does("def f(x):\n    print('\\ud800')\n    return x", call("f(1)", "1"), "RAISED"),
    "the same of a program": does("print('\\ud800')", StdioCheck("", "1"), "RAISED"),
    "bytes that are no text": does("def f(x):\n    print('\\udcff')\n    return x", call("f(1)", "1"), "PASSED"),
    "a text that the stream of errors takes": does(
        "import sys\ndef f(x):\n    print('\\ud800', file=sys.stderr)\n    return x", call("f(1)", "1"), "PASSED"
    ),
    "a script": does(ADD, ScriptCheck(TEST, "f"), "PASSED", assurance=SEPARATED),
    "a script that does not hold": does(ECHO, ScriptCheck(TEST, "f"), "FAILED", assurance=SEPARATED),
    "a script's candidate": does(ADD, ScriptCheck("assert candidate(1) == 2", "f"), "PASSED", assurance=SEPARATED),
    "a script on a liar": does(EQUAL, ScriptCheck(TEST, "f"), "FAILED", assurance=SEPARATED),
    "a script that hands over no data": does(
        "def f(x): return next(x)", ScriptCheck("assert candidate(iter([1])) == 1", "f"), "PASSED", assurance=SEPARATED
    ),
    "an assertion": does(ADD, ScriptCheck("assert f(1) == 2"), "PASSED", assurance=SEPARATED),
}  # fmt: skip


def differences(verdicts: list[Any]) -> list[str]:
    """What is not as the table says, in words."""
    found = []
    for (name, behaviour), verdict in zip(BEHAVIOURS.items(), verdicts):
        facts = {"outcome": behaviour.outcome, **behaviour.facts}
        said = {key: getattr(verdict, key) for key in facts}
        if said != facts:
            found.append(f"{name}: {said}, {verdict.detail!r}, {verdict.exception}")
    return found


def alone(task: Task) -> Task:
    """The task with a worker for each check."""
    return Task(task.program, task.checks, limits=task.limits, runtime=task.runtime, isolation=Isolation.PROCESS)


def runtimes() -> dict[str, Path]:
    """Name -> interpreter; the one the tests run on is the default."""
    others = [(version, python) for version, python in found_interpreters() if version != sys.version_info[:2]]
    return {"default": Path(sys.executable), **{f"py{major}{minor}": python for (major, minor), python in others}}


def tested_runtimes() -> list[str]:
    """The names of the oldest, the default and the newest interpreter; of all with CRUXBOX_INTERPRETERS=all.

    What depends on the version by itself (bytecode, steps, the C helper) is tested on all of them in tests/cell.
    """
    names = list(runtimes())
    if os.environ.get("CRUXBOX_INTERPRETERS") == "all" or len(names) < 3:
        return names
    return ["default", names[1], names[-1]]
