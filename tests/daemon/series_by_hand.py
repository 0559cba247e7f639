"""Scripts that are judged by their calls, and who judges them."""

from __future__ import annotations

import re
from dataclasses import replace

from cruxbox import Client, Isolation, Limits, Task
from cruxcell.protocol import frames, payloads
from in_company import seen

SCRIPT = """METADATA = {'author': 'me'}


def check(candidate):
    "Asserts."
    assert True, "always"
    assert candidate(0, []) == [], "nothing"
    assert candidate(3, [1, (2, 'a')], k={'b': None}) == [1, (2, 'a'), 3.0]
    assert candidate(2, ['x'],
                     k={}) == ['x', 2]
    print
    assert candidate(4, []) == [4], 'told: ' + str(candidate(-4, [{'x': {1}}]))
    assert candidate(1, [2.5]) == [2.5, True], "the last"


check(f)
"""
RIGHT = "def f(x, items, k=None):\n    return items + [x] if x else items\n"


def alone(made: list[Task]) -> list[Task]:
    return [replace(task, isolation=Isolation.PROCESS) for task in made]


LIMITS = Limits(cpu_ms=3000, steps=300_000, output_bytes=2000, memory_bytes=128 << 20)


def of(body: str, heads: str = "") -> str:
    return f"{heads}\ndef f(x, items, k=None):\n    {body}\n    return items + [x] if x else items\n"


PROGRAMS = {
    "right": RIGHT,
    "annotated": "from typing import Dict, List, Optional\n"
    "def f(x: int, items: List[int], k: Optional[str]=None) -> List[float]:\n    return items + [x] * bool(x)\n",
    "wrong where the message is computed": of("if x == 4: return 7"),
    "wrong at first": of("return None"),
    "wrong at last": of("if x == 1: return 7"),
    "wrong on several lines": of("if x == 2: return 7"),
    "a tuple for a list": of("return tuple(items) + (x,)"),
    "what it returned changes later": of("kept.clear(); kept.extend(items + [x] * bool(x)); return kept", "kept = []"),
    "a default that grows": "def f(x, items, k=None, seen=[]):\n    seen.append(x)\n    return items + seen[1:]\n",
    "a global that counts": of("global n; n += 1\n    if n > 2: return n", "n = 0"),
    "it changes its arguments": of("items.append(x); return items[: len(items) - (not x)]"),
    "it prints": of("print('hi', x)"),
    "it prints, and is wrong": of("print('hi', x)\n    if x == 3: return 0"),
    "it prints when it is loaded": "print('loaded')\n" + RIGHT,
    "it raises": of("raise ValueError('no', x)"),
    "it raises in the middle": of("if x == 3: raise KeyError('x')"),
    "it raises an assertion": of("assert x != 3, 'mine'"),
    "it raises on several lines": of("if x == 2: return [][1]"),
    "it names what is not there": of("return nothing"),
    "it takes less": "def f(x):\n    return x\n",
    "it stops an iteration": of("next(iter([]))"),
    "it writes an error's text": of("raise KeyError(E())", "class E:\n    def __repr__(self): return 'mine'"),
    "it leaves": of("raise SystemExit(0)"),
    "a recursion without end": of("return f(x, items)"),
    "as deep as may be": of(
        "return [d(0)] if x == 3 else items", "def d(n):\n    try: return d(n + 1)\n    except RecursionError: return n"
    ),
    "as deep as may be, when loaded": of(
        "return [D] if x == 3 else items",
        "def d(n):\n    try: return d(n + 1)\n    except RecursionError: return n\nD = d(0)",
    ),
    "a generator": of("yield x"),
    "a function": of("return lambda: x"),
    "not a number": of("return [float('nan')]"),
    "a large value": of("return ['x' * 100_000]"),
    "steps without end": of("while x == 3: pass"),
    "steps without end behind a wrong value": of("while x == 2: pass\n    if x == 3: return 0"),
    "memory without end": of("if x == 3: items = [0] * 10**9"),
    "output without end": of("if x == 3: print('x' * 5000)"),
    "no such name": "def g(x):\n    return x\n",
    "a name for a builtin": "f = sorted\n",
    "a class": "class f:\n    def __init__(self, *a, **k): pass\n    def __eq__(self, other): return True\n",
    "a class of equals": of("return E()", "class E:\n    def __eq__(self, other): return True"),
    "a list of its own": of("return L(items + [x] * bool(x))", "class L(list): pass"),
    "bound anew": of("global f\n    f = None"),
    "an import": of("return list(map(math.floor, items)) if x == 9 else items + [x] * bool(x)", "import math, typing"),
    "a syntax error": "def f(x:\n",
    "it fails when loaded": "1 / 0\n" + RIGHT,
    "nothing at all": "# none\n",
    "hidden evil": RIGHT + "\nprint('{0.__class__}'.format(f))",
}  # fmt: skip


def differing(client: Client, made: list[Task]) -> list[tuple]:
    """The triples (in company, alone, run as they stand) that are not the same."""
    every = [client.check(each) for each in (made, alone(made), run_as_scripts(made))]
    said = zip(*[map(plainly, verdicts) for verdicts in every])
    return [(task.id, *three) for task, three in zip(made, said) if len(set(three)) > 1]


def came(*parts: tuple[bytes, bytes, int]) -> bytes:
    return frames.pack(
        [field for kind, data, steps in parts for field in (payloads.SERIES_CAME.pack(kind, steps), data)]
    )


def plainly(verdict: object) -> tuple:
    """All that is said of a check, but for addresses."""
    return tuple(re.sub("0x[0-9a-f]+", "0x", str(part)) for part in seen(verdict))  # type: ignore[arg-type]


def run_as_scripts(made: list[Task]) -> list[Task]:
    return [
        replace(task, checks=[replace(check, script=check.script + LAST) for check in task.checks]) for task in made
    ]


LAST = "\nlast = len('')"
TRUE = "def f(x):\n    return x > 0\n"
