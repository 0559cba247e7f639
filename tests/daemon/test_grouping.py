"""Sharing a worker changes nothing: whatever a program does, a check alone and a check in company come to the same."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from cruxbox import CallCheck, Client, EvaluateCheck, Limits, Outcome, Task
from hypothesis import given, settings
from hypothesis import strategies as st
from in_company import LEAKS, differing

pytestmark = pytest.mark.kernel

LIMITS = Limits(cpu_ms=5000, steps=50_000, output_bytes=2000, memory_bytes=128 << 20)


def task(program: str, *calls: str) -> Task:
    return Task(program, [EvaluateCheck(call, id=call) for call in calls], limits=LIMITS)


# ---- programs that try to leave something behind ----------------------------------


@pytest.mark.parametrize("name", LEAKS)
def test_nothing_is_left_for_the_next_check(native: Client, name: str):
    calls = ["f(1)", "f(2)", "f(3)", "f(x=1)", "f(4)", "7", "f(int('5'))", "[f(6)][0]", "g("]
    assert differing(native, [task(LEAKS[name], *calls)]) == []


FORMATTING = [
    "def f(t, x):\n return t.format(x, *[x], a=x)",
    "def f(t, x):\n return t.format_map({'a': x, '0': 1})",
    "def f(t, x):\n return [t.format(t, each, a=each) for each in (x, t, [t])]",
    "seen = []\ndef f(t, x):\n seen.append(t.format(seen, seen, a=seen))\n return seen",
    "def f(t, x):\n try:\n  1 / x\n except Exception as e:\n  return t.format(e, e, a=e)",
    "def f(t, x):\n s = '{a}'\n return ['{}', s][x].format(t, a=[x]) + t.format(s, s, a=s)",
    "def g(x):\n return '{0.real}'\ndef f(t, x):\n return (g(x) if x else t).format(x, 2, a=x)",
]


@pytest.mark.parametrize("program", FORMATTING)
def test_what_is_formatted_is_the_same_in_company(native: Client, program: str):
    texts = ["{}", "{a}", "{:{}}", "{0!r:>9}", "{", "{0.real}", "{a.__class__.__name__}", "{0[0]}", "{0.x} }"]
    plain, every = ([f"f({text!r}, {x})" for text in given for x in (0, 1)] for given in (texts[:4], texts))
    assert differing(native, [task(program, *plain), task(program, *every), task(program, *plain)]) == []


# Texts of a few thousand characters whose constants are megabytes, which the calls that share a worker hold together.
LARGE = ["f([" + ", ".join(f"'{letter}{at}' * 1000" for at in range(400)) + "], 1)" for letter in "abcdefghijklmn"]
NEEDS = {
    "no room to be parsed": "def f(x, y):\n return len(x)",
    "no room to be parsed beside what is not hermetic": "import os\ndef f(x, y):\n return len(x)",
    "no room to run": "def f(x, y):\n return len(bytearray(12 << 20))",
    "no room to run what is not hermetic": "import os\ndef f(x, y):\n return len(bytearray(12 << 20))",
}


@pytest.mark.parametrize("name", NEEDS)
def test_the_texts_of_others_take_no_memory_of_a_check(native: Client, name: str):
    one = task(NEEDS[name], *(LARGE if "parsed" in name else [call.replace("* 2000", "* 500") for call in LARGE]))
    assert differing(native, [replace(one, limits=replace(LIMITS, memory_bytes=16 << 20))]) == []


# ---- any program ------------------------------------------------------------------

# Pieces of the module, and pieces of f's body that use them.
HEADS = [
    "n = 0",
    "kept = []",
    "def helper(x, memo={}):\n    memo[x] = memo.get(x, 0) + 1\n    return memo",
    "def gen(x):\n    for i in range(x):\n        yield i\n        kept.append(i)",
    "def cleaning(x):\n    try:\n        yield x\n    finally:\n        print('cleaned')",
    "def deep(x):\n    return deep(x - 1) + 1 if x else 0",
    "pick = lambda x, a=[]: (a.append(x), list(a))[1]",
]
BODIES = [
    "n += x",
    "kept.append(x)",
    "y = helper(x)",
    "y = pick(x)",
    "f.last = y",
    "it = gen(x)\n    y = next(it, None)\n    kept.append(it)",
    "it = cleaning(x)\n    y = next(it)\n    kept.append([it, kept])",
    "y = deep(x * 9)",
    "y = deep(x * 400)",
    "print(x, y)",
    "print('z' * x * 500, end='')",
    "try:\n        y = 1 / (x - 1)\n    except ZeroDivisionError as e:\n        y = str(e)",
    "y = list({'a', 'b', 'c', str(x)})",
    "y = {k: v for k, v in enumerate('abc' * x)}",
    "y = sum(i * i for i in range(x * 100))",
    "y = 'é'.encode(['utf-8', 'cp1252', 'latin-1', 'cp437'][x])",
    "y = '{:>{}}|{!r}'.format(x, 5, y)",
    "import math\n    y = math.sqrt(x)",
    "import builtins\n    y = max(1, 2)\n    builtins.max = min",
    "while x == 3: pass",
    "assert x != 2, y",
    "raise KeyError(y)",
    "y = [[None] * 999 for _ in range(x * 99)] and x",
]
DECLARED = ["global n", "y = None"]
ENDS = [
    "return y",
    "return x, y, n, len(kept)",
    "return [str(k)[:10] for k in kept if k == x]",
    "return helper(x)",
    "pass",
]


@st.composite
def programs(draw: st.DrawFn) -> str:
    body = draw(st.lists(st.sampled_from(BODIES), min_size=1, max_size=4))
    return _module(list(dict.fromkeys(body)), draw(st.sampled_from(ENDS)))


def _module(body: list[str], end: str) -> str:
    return "\n".join([*HEADS, "def f(x):\n    " + "\n    ".join([*DECLARED, *body, end])])


@settings(max_examples=20)
@given(st.lists(programs(), min_size=8, max_size=8))
def test_any_program_does_the_same_in_company(native: Client, sources: list[str]):
    calls = ["f(2)", "f(1)", "f(3)", "f(0)", "f(x=2)"]
    assert differing(native, [task(source, *calls) for source in sources]) == []


def test_the_programs_are_of_every_sort(native: Client):
    """Or the property above would say little."""
    sources = [_module([piece], "return y") for piece in BODIES]
    verdicts = native.check([task(source, "f(0)", "f(1)", "f(2)", "f(3)") for source in sources])
    outcomes = {verdict.outcome for verdict in verdicts}
    assert outcomes >= {Outcome.EVALUATED, Outcome.RAISED, Outcome.STEP_LIMIT}
    assert Outcome.INVALID not in outcomes


# ---- what models wrote ------------------------------------------------------------


@pytest.mark.data
def test_published_generations_have_the_same_verdicts_in_company(native: Client):
    """Ten generations for every fourth of the published tasks, on the program they are for."""
    if "CRUXBOX_DATA" not in os.environ:
        pytest.skip("CRUXBOX_DATA does not name a folder with the public data sets")
    folder = Path(os.environ["CRUXBOX_DATA"]) / "cruxeval"
    lines = (folder / "cruxeval.jsonl").read_text().splitlines()
    rows = {row["id"]: row for row in map(json.loads, lines)}
    generations = json.loads((folder / "codellama7b_t0.2_input_generations.json").read_text())
    limits = Limits(cpu_ms=2000, steps=100_000, memory_bytes=256 << 20)
    tasks = []
    for name, texts in list(generations.items())[1::4]:
        row = rows[name]
        checks = [CallCheck(text, row["output"], "f", id=text) for text in dict.fromkeys(texts)]
        tasks.append(Task(row["code"], checks, id=name, limits=limits))
    assert differing(native, tasks) == []
