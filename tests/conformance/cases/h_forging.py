"""H: forging. The forging matrix by case number, and the cases that are about the check rather than about an attack."""

from __future__ import annotations

from dataclasses import replace

from cruxbox.model import Assurance, CallCheck, ScriptCheck

from conformance.case import Case, Shot, call, calls, case, script, shot, stdio
from conformance.forging.attack import ANSWER
from conformance.forging.kinds import HONEST
from conformance.forging.matrix import cells

SEPARATED = Assurance.SEPARATED
TITLES = {
    119: "sys.exit(0), exit(), SystemExit",
    120: "os._exit(0)",
    121: "exit from __eq__, __del__, atexit, a thread",
    122: "prints PASSED, JSON, a pytest summary",
    123: "garbage to every descriptor",
    124: "well-formed frames built from harness code",
    125: "duplicate, reordered, surplus frames",
    126: "an object that equals everything",
    127: "subclasses of builtins with __eq__",
    128: "an object close to everything",
    129: "reflected operand of a subclass",
    130: "__class__ and metaclass spoofs",
    131: "AssertionError rebound",
    132: "excepthook, unraisablehook",
    133: "patched len, all, isinstance, compile, __import__",
    134: "patched unittest, math.isclose",
    135: "harness __code__ and modules swapped",
    136: "frame walk",
    137: "gc.get_objects",
    138: "small-int cache flip",
    139: "tracing switched off",
    140: "a thread that writes after the verdict",
    141: "swallows the timeout",
    142: "defines check, run_tests, candidate",
    143: "replaces __builtins__",
    144: "source that swallows what follows",
    145: "PYTHONOPTIMIZE, optimize=2",
    146: "a coroutine or generator for a value",
    147: "answers by the count of calls",
    148: "reads the tests",
    151: "exception with a lying __str__",
    152: "__str__ that loops or is huge, deep ExceptionGroup",
    153: "raises TimeoutError or MemoryError to choose its outcome",
    154: "aliases the expected value; CRUXEval's own forgeries",
}
FLOOD = "import os\ndef f():\n    data = {0}\n    for _ in range(15): os.write(3, data)\n    os._exit(0)"
FORGED = str(int(ANSWER) + 5)
# Alone it does nothing; beside the program it changes f. What it returns asks for being run there.
TWO_FACED = (
    "f((lambda g: (g and g.__setattr__('__code__', (lambda x: " + FORGED + ").__code__), lambda: 0)[1])"
    "(__import__('sys')._getframe(0).f_globals.get('f')))"
)
COUNTING = "calls = []\ndef f(x):\n    calls.append(x)\n    return len(calls)\n"

# Shots that a matrix cell cannot say.
EXTRA = {
    125: (
        # As much as a report may hold, in the smallest pieces there are, then in one that never ends.
        call("FVO", FLOOD.format("bytes(1 << 20)"), output_bytes=16 << 20),
        call("FVO", FLOOD.format("b'\\x04\\0\\0\\0\\0\\0\\0\\0' * (1 << 17)"), output_bytes=16 << 20),
        call("FVO", FLOOD.format("b'\\xff\\xff\\xff\\x7f' + bytes(1 << 20)"), output_bytes=16 << 20),
        call("FVO", FLOOD.format("b'\\x04\\0\\0\\0\\0\\0\\0\\0' * (1 << 13)")),
    ),
    139: (call("T", "import sys\ndef f():\n    sys.settrace(None)\n    while True: pass"),),
    141: (
        call(
            "T",
            "def f():\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
        ),
    ),
    147: (
        # Each check gets a program executed anew, so contradictory expectations cannot both hold.
        calls(COUNTING, ("f(0)", "1", "P"), ("f(0)", "2", "F")),
        script("F", COUNTING, "assert f(0) == 1\nassert f(0) == 1"),
    ),
    153: (
        call("F", "def f(): raise TimeoutError"),
        call("F", "def f(): raise MemoryError"),
        call("F", "class MemoryError(Exception): pass\ndef f(): raise MemoryError"),
    ),
    154: (
        shot(HONEST, [CallCheck(TWO_FACED, FORGED, entry_point="f")], ["I"]),
        Shot(replace(shot(HONEST, [CallCheck(TWO_FACED, FORGED)], ["I"]).task, require_assurance=SEPARATED), ("I",)),
        call("F", "def f(x):\n    x.append(3)\n    return x", "f([1, 2])", "[1, 2]"),
        script("F", "def f(x):\n    x.clear()\n    return [0]", "a = [1, 2]\nassert f(a) == [1, 2]"),
        script("F", "def f(x):\n    x.append(9)\n    return x", "a = [1]\nassert f(a) == [1]"),
    ),
}


def _forging(number: int) -> Case:
    shots = [cell.shot for cell in cells() if cell.number == number and cell.shot is not None]
    return case(number, TITLES[number], *shots, *EXTRA.get(number, ()))


CASES: list[Case] = [
    *[_forging(number) for number in sorted(TITLES)],
    case(
        149,
        "check `assert (x, 'msg')`",
        script("I", "def f(x): return -1", "assert (f(1) == 2, 'always true')"),
        script("I", "def f(x): return -1", "def check(candidate):\n    assert (candidate(1) == 2, 'm')\ncheck(f)"),
    ),
    case(
        150,
        "zero checks: nothing asked, nothing passes",
        shot("def f(x): return x", [], []),
        script("I", "def f(x): return -1", ""),
        script("I", "def f(x): return -1", "# nothing but a comment"),
        stdio("I", "print()", ""),
        stdio("I", "print()", "  \n "),
        shot("def f(x): return -1", [ScriptCheck("pass", "f")], ["I"]),
    ),
]
CASES.sort(key=lambda one: one.number)
