"""Forging. The forging matrix by case, and the cases that are about the check rather than about an attack."""

from __future__ import annotations

from dataclasses import replace

from cruxbox.model import Assurance, CallCheck, ScriptCheck

from conformance.case import Case, Shot, call, calls, case, script, shot, stdio
from conformance.forging.attack import ANSWER
from conformance.forging.kinds import HONEST
from conformance.forging.matrix import cells

SEPARATED = Assurance.SEPARATED
TITLES = {
    "sys-exit": "sys.exit(0), exit(), SystemExit",
    "os-exit": "os._exit(0)",
    "exit-in-hooks": "exit from __eq__, __del__, atexit, a thread",
    "printed-verdict": "prints PASSED, JSON, a pytest summary",
    "garbage-to-descriptors": "garbage to every descriptor",
    "harness-frames": "well-formed frames built from harness code",
    "disordered-frames": "duplicate, reordered, surplus frames",
    "equals-everything": "an object that equals everything",
    "builtin-subclasses": "subclasses of builtins with __eq__",
    "close-to-everything": "an object close to everything",
    "reflected-operand": "reflected operand of a subclass",
    "class-spoofs": "__class__ and metaclass spoofs",
    "assertionerror-rebound": "AssertionError rebound",
    "excepthooks": "excepthook, unraisablehook",
    "patched-builtins": "patched len, all, isinstance, compile, __import__",
    "patched-unittest": "patched unittest, math.isclose",
    "harness-code-swapped": "harness __code__ and modules swapped",
    "frame-walk": "frame walk",
    "gc-objects": "gc.get_objects",
    "small-int-flip": "small-int cache flip",
    "tracing-off": "tracing switched off",
    "thread-after-verdict": "a thread that writes after the verdict",
    "swallows-timeout": "swallows the timeout",
    "defines-harness-names": "defines check, run_tests, candidate",
    "replaces-builtins": "replaces __builtins__",
    "swallowing-source": "source that swallows what follows",
    "optimized-asserts": "PYTHONOPTIMIZE, optimize=2",
    "coroutine-value": "a coroutine or generator for a value",
    "counts-calls": "answers by the count of calls",
    "reads-tests": "reads the tests",
    "lying-str": "exception with a lying __str__",
    "endless-str": "__str__ that loops or is huge, deep ExceptionGroup",
    "chosen-outcome": "raises TimeoutError or MemoryError to choose its outcome",
    "aliased-expected": "aliases the expected value; CRUXEval's own forgeries",
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
    "disordered-frames": (
        # As much as a report may hold, in the smallest pieces there are, then in one that never ends.
        call("FVO", FLOOD.format("bytes(1 << 20)"), output_bytes=16 << 20),
        call("FVO", FLOOD.format("b'\\x04\\0\\0\\0\\0\\0\\0\\0' * (1 << 17)"), output_bytes=16 << 20),
        call("FVO", FLOOD.format("b'\\xff\\xff\\xff\\x7f' + bytes(1 << 20)"), output_bytes=16 << 20),
        call("FVO", FLOOD.format("b'\\x04\\0\\0\\0\\0\\0\\0\\0' * (1 << 13)")),
    ),
    "tracing-off": (call("T", "import sys\ndef f():\n    sys.settrace(None)\n    while True: pass"),),
    "swallows-timeout": (
        call(
            "T",
            "def f():\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
        ),
    ),
    "counts-calls": (
        # Each check gets a program executed anew, so contradictory expectations cannot both hold.
        calls(COUNTING, ("f(0)", "1", "P"), ("f(0)", "2", "F")),
        script("F", COUNTING, "assert f(0) == 1\nassert f(0) == 1"),
    ),
    "chosen-outcome": (
        call("F", "def f(): raise TimeoutError"),
        call("F", "def f(): raise MemoryError"),
        call("F", "class MemoryError(Exception): pass\ndef f(): raise MemoryError"),
    ),
    "aliased-expected": (
        shot(HONEST, [CallCheck(TWO_FACED, FORGED, entry_point="f")], ["I"]),
        Shot(replace(shot(HONEST, [CallCheck(TWO_FACED, FORGED)], ["I"]).task, require_assurance=SEPARATED), ("I",)),
        call("F", "def f(x):\n    x.append(3)\n    return x", "f([1, 2])", "[1, 2]"),
        script("F", "def f(x):\n    x.clear()\n    return [0]", "a = [1, 2]\nassert f(a) == [1, 2]"),
        script("F", "def f(x):\n    x.append(9)\n    return x", "a = [1]\nassert f(a) == [1]"),
    ),
}


def _forging(slug: str) -> Case:
    shots = [cell.shot for cell in cells() if cell.case == slug and cell.shot is not None]
    return case(slug, TITLES[slug], *shots, *EXTRA.get(slug, ()))


CASES: list[Case] = [
    *[_forging(slug) for slug in TITLES],
    case(
        "assert-tuple",
        "check `assert (x, 'msg')`",
        script("I", "def f(x): return -1", "assert (f(1) == 2, 'always true')"),
        script("I", "def f(x): return -1", "def check(candidate):\n    assert (candidate(1) == 2, 'm')\ncheck(f)"),
    ),
    case(
        "zero-checks",
        "zero checks: nothing asked, nothing passes",
        shot("def f(x): return x", [], []),
        script("I", "def f(x): return -1", ""),
        script("I", "def f(x): return -1", "# nothing but a comment"),
        stdio("I", "print()", ""),
        stdio("I", "print()", "  \n "),
        shot("def f(x): return -1", [ScriptCheck("pass", "f")], ["I"]),
    ),
]
