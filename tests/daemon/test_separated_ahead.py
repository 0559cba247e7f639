"""Calls that are asked for ahead: a script that does so comes to what the same script comes to call by call."""

from __future__ import annotations

import pytest
from behaviours import tested_runtimes
from cruxbox import Client, Limits, ScriptCheck, Task, Verdict

pytestmark = pytest.mark.kernel

COUNTS = "def f(x):\n    print(x)\n    return x + 1"
SCRIPT = """import MODULE
def assertion(out, exp):
    assert out == exp
def check(candidate):
    inputs = [[i] for i in range(12)]
    results = [i + 1 for i in range(12)]
    for i, (inp, exp) in enumerate(zip(inputs, results)):
        assertion(candidate(*inp), exp)
check(f)
"""
BREAKS = SCRIPT.replace("        assertion(", "        if i == 8: break\n        assertion(")


def loop(inputs: str, body: str, before: str = "", after: str = "pass") -> str:
    body = body.replace("\n", "\n        ")
    return f"import MODULE\n{before}\ninputs = {inputs}\nfor i, inp in enumerate(inputs):\n        {body}\n{after}\n"


LISTS = "[[[i, 9, 3]] for i in range(12)]"
CASES = {
    "right": (COUNTS, SCRIPT, "PASSED"),
    "wrong at first": (COUNTS.replace("+ 1", "+ 2"), SCRIPT, "FAILED"),
    "wrong in the midst": (COUNTS + " - (x == 8)", SCRIPT, "FAILED"),
    "wrong at last": (COUNTS + " - (x == 11)", SCRIPT, "FAILED"),
    "raises": (COUNTS + " if x != 8 else x[0]", SCRIPT, "RAISED"),
    "dies": ("import os\n" + COUNTS + " if x != 8 else os._exit(3)", SCRIPT, "CRASHED"),
    "loops": (COUNTS.replace("print(x)", "print(x)\n    while x == 8: pass"), SCRIPT, "STEP_LIMIT"),
    "wrong, then dies": ("import os\n" + COUNTS + " + (x == 7) if x != 8 else os._exit(3)", SCRIPT, "FAILED"),
    "wrong, then loops": (
        COUNTS.replace("print(x)", "print(x)\n    while x == 8: pass") + " + (x == 7)", SCRIPT, "FAILED",
    ),
    "wrong, then prints too much": (
        COUNTS.replace("print(x)", "print('x' * (1 if x != 8 else 1 << 22))") + " + (x == 7)", SCRIPT, "FAILED",
    ),
    "not asked any more": (COUNTS, BREAKS, "PASSED"),
    "not asked any more, would die": ("import os\n" + COUNTS + " if x != 8 else os._exit(3)", BREAKS, "PASSED"),
    "not asked any more, would loop": (
        COUNTS.replace("print(x)", "print(x)\n    while x == 8: pass"), BREAKS, "PASSED",
    ),
    "left out": (COUNTS, SCRIPT.replace("        assertion(", "        if i != 8: assertion("), "PASSED"),
    "sorts its argument": (
        "def f(x):\n    x.sort()\n    return x",
        loop(LISTS, "assert f(*inp) is inp[0]\nassert inp[0] == sorted([i, 9, 3])"), "PASSED",
    ),
    "changes what it was given before": (
        "seen = []\ndef f(x):\n    seen.append(x)\n    if len(seen) > 1: seen[-2].append(0)\n    return len(x)",
        loop(LISTS, "assert f(*inp) == 3\nassert len(inp[0]) == 3\nassert i == 0 or len(inputs[i - 1][0]) == 4"),
        "PASSED",
    ),
    "returns one list": (
        "kept = []\ndef f(x):\n    kept.append(x)\n    return kept",
        loop("[[i] for i in range(12)]", "assert len(f(*inp)) == i + 1", "", "assert len(f(12)) == 13"), "PASSED",
    ),
    "returns one list, which the script changes": (
        "kept = []\ndef f(x):\n    kept.append(x)\n    return kept",
        loop("[[i] for i in range(12)]", "out = f(*inp)\nassert len(out) == 2 * i + 1\nout.append(0)"), "PASSED",
    ),
    "the script changes what it gave": (
        "seen = []\ndef f(x):\n    seen.append(x)\n    return sum(map(len, seen))",
        loop(LISTS, "assert f(*inp) == 3 + 4 * i\ninp[0].append(0)"), "PASSED",
    ),
    "the script changes what it gives next": (
        "def f(x):\n    return len(x)",
        loop(LISTS, "assert f(*inp) == 3 + (i == 8)\nif i == 7: inputs[8][0].append(0)"), "PASSED",
    ),
    "errors that are caught": (
        "def f(x):\n    print(x)\n    return 12 // (x % 4)",
        loop("[[i] for i in range(12)]", "try:\n    f(*inp)\nexcept ZeroDivisionError:\n    found.append(i)",
             "found = []", "assert found == [0, 4, 8]"), "PASSED",
    ),
    "calls back": (
        "def f(x, call):\n    call(x)\n    return x",
        loop("[[i, seen.append] for i in range(12)]", "seen.append('call')\nassert f(*inp) == i", "seen = []",
             "assert seen == [each for i in range(12) for each in ('call', i)]"), "PASSED",
    ),
    "generators": (
        "def f(x):\n    yield x\n    print(x)\n    yield x",
        loop("[[i] for i in range(12)]", "assert list(f(*inp)) == [i, i]"), "PASSED",
    ),
    "objects": (
        "class A:\n    def __init__(self, x):\n        self.x = x\n    def __del__(self):\n        print('-', self.x)\n"
        "def f(x):\n    print(x)\n    return A(x)",
        loop("[[i] for i in range(12)]", "assert f(*inp) is not None", "", "assert f(3).x == 3"), "PASSED",
    ),
    "two functions": (
        "def f(x):\n    print(x)\n    return x + 1\ndef g(x):\n    print('g', x)\n    return x - 1",
        loop("[[i] for i in range(12)]", "assert f(*inp) == i + 1\nif i == 8: assert g(3) == 2"), "PASSED",
    ),
    "what the script lets go of": (
        "alive = []\nclass A:\n    def __init__(self): alive.append(1)\n    def __del__(self): alive.pop()\n"
        "def f(x):\n    return A()\ndef g():\n    return len(alive)",
        "import MODULE\ndef check():\n    a = f(1)\n    b = f(2)\n    assert g() == 2\n    a = b = None\n"
        "    assert g() == 0\ncheck()", "PASSED",
    ),
    "a view of what changes": (
        "def f(x):\n    return len(x)",
        loop("[[one.keys()] for i in range(12)]", "assert f(*inp) == i\none[i] = 0", "one = {}"), "PASSED",
    ),
    "bytes of what changes": (
        "def f(x):\n    return x[0]",
        loop("[[memoryview(one)] for i in range(12)]", "assert f(*inp) == i\none[0] += 1", "one = bytearray(4)"),
        "PASSED",
    ),
    "one tuple": (
        "def f(x, y):\n    return x is y",
        loop("[[one, one] for i in range(12)]", "assert f(*inp)", "one = (1, 2)"), "PASSED",
    ),
}  # fmt: skip


def told(verdict: Verdict) -> tuple[object, ...]:
    exception = verdict.exception and (verdict.exception.type, verdict.exception.line)
    return verdict.outcome.name, exception, verdict.stdout, verdict.stderr, verdict.steps


@pytest.mark.parametrize("runtime", tested_runtimes()[1:])
def test_a_script_that_asks_ahead_comes_to_the_same(native: Client, runtime: str):
    limits = Limits(cpu_ms=5_000, steps=1_000_000)
    tasks = [
        Task(program, [ScriptCheck(script.replace("MODULE", module), "")], runtime=runtime, limits=limits)
        for program, script, _ in CASES.values()
        for module in ("math", "time")  # who could see the time asks for nothing ahead
    ]
    verdicts = native.check(tasks)
    for name, ahead, plain in zip(CASES, verdicts[0::2], verdicts[1::2]):
        assert plain.outcome.name == CASES[name][2], f"{name}: {plain}"
        assert told(ahead) == told(plain), name
