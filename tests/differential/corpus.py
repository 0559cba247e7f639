"""What is judged: our own honest programs, generated ones, and the public sets where CRUXBOX_DATA names them."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench import workload

T = TypeVar("T")
HONEST = Path(__file__).parent / "honest"


@dataclass(frozen=True)
class Case:
    """One program and one thing to do with it: "call", "script" or "stdio"."""

    name: str
    kind: str
    program: str
    call: str = ""
    script: str = ""
    entry_point: str = ""
    stdin: str = ""
    since: tuple[int, int] = (3, 8)

    def line(self) -> str:
        """The case as plain.py reads it."""
        return json.dumps(asdict(self))


def honest() -> Iterator[Case]:
    """The idioms of honest programs: sections of the texts in `honest`, each a program and what is asked of it.

    `call: …` asks for a value; `stdin: …` runs the program with that line; `script: NAME` takes the rest as a script
    with that entry point; `since: 3.10` says from which version on it is Python.
    """
    for section in (each for file in sorted(HONEST.glob("*.txt")) for each in file.read_text().split("#### ")[1:]):
        name, text = section.split("\n", 1)
        program, _, rest = text.partition("----\n")
        since, cases = (3, 8), []
        for at, line in enumerate(rest.split("\n")):
            word, _, value = line.partition(": ")
            if word == "since":
                since = (int(value.split(".")[0]), int(value.split(".")[1]))
            elif word == "call":
                cases.append({"kind": "call", "call": value})
            elif word == "stdin":
                cases.append({"kind": "stdio", "stdin": value.replace("\\n", "\n") + "\n"})
            elif word == "script":
                script = "\n".join(rest.split("\n")[at + 1 :])
                cases.append({"kind": "script", "script": script, "entry_point": value})
                break
        for number, case in enumerate(cases):
            yield Case(name=f"honest/{name}/{number}", program=program, since=since, **case)


def generated(count: int, seed: int) -> Iterator[Case]:
    """Programs in the style of CRUXEval, put together from templates."""
    kinds = {workload.Kind.GOOD: 85, workload.Kind.RAISES: 15}
    for work in workload.tasks(seed, -(-count // 2), checks_per_task=2, kinds=kinds):
        for probe in work.probes:
            yield Case(f"generated/{seed}/{work.id}/{probe.call[:40]}", "call", work.program, call=probe.call)


def composed(count: int, seed: int) -> Iterator[Case]:
    """Programs put together from pieces that disturb each other: state, closures, exceptions, generators, text."""
    for number in range(count):
        rng = random.Random(seed * 1_000_003 + number)
        heads = rng.sample(_HEADS, rng.randint(0, 4))
        body = [rng.choice(_PIECES) for _ in range(rng.randint(1, 6))]
        lines = ["def f(x, y=0):", "    out = []"] + [f"    {line}" for piece in body for line in piece.split("\n")]
        program = "\n".join([*_ALWAYS, *heads, *lines, "    return (out, y)", ""])
        for x in rng.sample(range(5), 2):
            yield Case(f"composed/{seed}/{number}/{x}", "call", program, call=f"f({x})")


_ALWAYS = ["kept = []", "n = 0"]
_HEADS = [
    "import math",
    "from itertools import accumulate, chain, groupby",
    "import string",
    "import collections",
    "import re",
    "import functools",
    "class Point:\n    def __init__(self, x):\n        self.x = x\n    def __eq__(self, o):\n        return self is o",
    "def memo(k, seen={}):\n    seen[k] = seen.get(k, 0) + 1\n    return dict(seen)",
    "def numbers(k):\n    for i in range(k):\n        yield i * i\n        kept.append(i)",
    "def outer(k):\n    def inner():\n        nonlocal k\n        k += 1\n        return k\n    return inner",
    "class Odd(ValueError):\n    pass",
    "from math import *",
    "from typing import List, Optional",
    "import random\nrandom.seed(7)",
    "print('loaded')",
    "table = {i: chr(97 + i) for i in range(5)}",
    "def twice(g):\n    def run(*a, **k):\n        return [g(*a, **k), g(*a, **k)]\n    return run",
]
_PIECES = [
    "y = n + x\nout.append(y)",
    "kept.append(x)\nout.append(list(kept))",
    "y = [i ** 2 for i in range(x)]",
    "out.append({k: v for k, v in zip('abcde', range(x))})",
    "out.append(sorted({str(i) for i in range(x + 2)}))",
    "try:\n    out.append(1 / (x - 1))\nexcept ZeroDivisionError as error:\n    out.append(str(error))",
    "try:\n    out.append([][x])\nexcept IndexError as error:\n    out.append(error.args)\nfinally:\n    y = x",
    "out.append('{:>{}}|{!r}'.format(x, 5, y))",
    "out.append(f'{x:03d}{y!s:>10}'[:40])",
    "out.append('%s-%05d' % (x, x))",
    "print(x, y)",
    "print('z' * x, end='')",
    "for i, c in enumerate('hello'[:x]):\n    out.append((i, c.upper()))",
    "while len(out) < x:\n    out.append(len(out))",
    "out.append(max(range(x), default=None))",
    "out.append(list(map(lambda a: a * x, range(3))))",
    "out.append(list(zip(*[[1, x], [2, y]])))",
    "a, *b = range(x + 1)\nout.append((a, b))",
    "out.append(x.bit_length() if x else -1)",
    "out.append('é ß ǅ'.casefold().title().encode('utf-8')[:x + 3])",
    "out.append('b' in 'abc'[:x])",
    "out.append(int(str(x) * 20) % 97)",
    "out.append(sum(i for i in range(x * 50) if i % 3))",
    "out.append([x] * 3 if x else None)",
    "out.append(dict.fromkeys('aab', x))",
    "out.append(divmod(-x, 3) + (round(x / 7, 3),))",
    "out.append(bytes(range(x)).hex())",
    "out.append([*'ab', *range(x)])",
    "out.append(list(reversed(range(x))))",
    "out.append(isinstance(x, (int, str)) and callable(print))",
    "if x > 2:\n    raise KeyError('too large', x)",
    "if x == 4:\n    return out",
    "assert x < 4, f'{x} is large'",
    "y = 'abc'.translate({97: 'x', 98: None})",
    "y = ' a,b ,, c'.split(',', x)",
    "del out[:x]",
    "out.sort(key=str)",
    "out.append(0.1 + 0.2 * x)",
    "out.append(float('1e%d' % (x * 100)))",
    "out.append(2 ** (x * 40))",
    "global n\nn += x\nout.append(n)",
    "out.append([z := x, z + 1])\nout.append((w := x * 2) and w)",
    "g = (v * x for v in range(3))\nout.append(next(g))\nout.append(list(g))",
    "h = [lambda: q for q in range(x)]\nout.append([k() for k in h])",
    "try:\n    try:\n        int('x' * x)\n    finally:\n        y = 1\nexcept ValueError:\n    out.append(y)",
    "for i in range(x):\n    if i == 2: break\nelse:\n    out.append('no break')",
    "m = [[0] * 2] * x\nif m: m[0][0] = x\nout.append(m)",
    "first, *middle, last = 'abc' + 'd' * x\nout.append((first, middle, last))",
    "out.append(sorted([(x, 'b'), (1, 'a'), (x, 'a')], key=lambda t: (-t[0], t[1])))",
    "d = {}\nfor c in 'abca'[:x]: d.setdefault(c, []).append(len(d))\nout.append(d)",
    "out.append(f'{x!r:>{x + 1}}|{x:b}|{[x]!s}|{x / 3:.{x}f}')",
    "def inner(k, acc=[]):\n    acc.append(k)\n    return acc if k <= 0 else inner(k - 1)\nout.append(inner(x))",
    "out.append({i: {j for j in range(i)} for i in range(x)})",
    "out.append(' '.join(map(str, filter(None, range(x)))))",
    "out.append([i for i in range(9) if i % 2 if i > x])",
    "out.append(any(i == x for i in range(3)) or all([]))",
    "s = 'hello world'\nout.append(s[x:] + s[:x] + s[::-1][:x])",
    "out.append((lambda *a, k=x, **m: (a, k, m))(1, *[2, 3], z=4))",
    "out.append(dict(zip('ab', [x, y])) == {'a': x, 'b': y})",
    "out.append(ord('a') + x)",
    "out.append([1, 2, 3].index(x))",
    "out.append({'a': 1}['a' * x])",
    "out.append(int('12' * x or '0', 16) ^ 255)",
    "out.append('%.2f %s %r' % (x / 3, x, str(x)))",
    "out += [x] if x % 2 else (x,)\nout *= 1",
    "out.append(list('aé😀'.encode('utf-8')[x:]))",
    "out.append(min((x, 2), (2, x)) < (x, x))",
    "out.append(type(x).__name__ + str(isinstance(y, tuple)))",
    "out.append([[j for j in range(i)] for i in range(x)])",
    "x = x + 1 if x < 3 else x\nout.append(x)",
    "del y\ny = len(out)",
    "nested = {'a': [1, {'b': (2, [3])}]}\nnested['a'][1]['b'][1].append(x)\nout.append(nested)",
    "a = b = []\na.append(x)\nout.append((b, a is b))",
    "out.append(set('abc') - set('abc'[:x]) == set('abc'[x:]))",
    "out.append(round(x * 2.675, 2))",
    "out.append(str(10 ** (x * 1200))[:5])",
    "return out if x else None",
    "out.append(hash((x, y if not isinstance(y, (list, dict)) else 0)) == hash((x, 0)))",
]


def cruxeval() -> Iterator[Case]:
    """CRUXEval's rows: each program on its input."""
    for row in _rows("cruxeval/cruxeval.jsonl"):
        yield Case(f"cruxeval/{row['id']}", "call", row["code"], call=f"f({row['input']})")


def humaneval() -> Iterator[Case]:
    """HumanEval's canonical solutions with their tests."""
    for row in _rows("humaneval/HumanEval.jsonl.gz"):
        yield _tested(f"humaneval/{row['task_id']}", row["prompt"] + row["canonical_solution"], row)


def evalplus() -> Iterator[Case]:
    """HumanEval+ and MBPP+; their tests want numpy of the runtime."""
    for row in _rows("evalplus/HumanEvalPlus-OriginFmt_first40.jsonl.gz"):
        yield _tested(f"humaneval+/{row['task_id']}", row["prompt"] + row["canonical_solution"], row)
    for row in _rows("evalplus/MbppPlus-OriginFmt_first90.jsonl.gz"):
        name = row["test_list"][0].partition("(")[0].replace("assert ", "").strip()
        for word in ("set", "sorted", "math.isclose", "abs", "not", "round", "len"):
            if name == word:
                name = row["test_list"][0].partition("(")[2].partition("(")[0]
        yield Case(f"mbpp+/{row['task_id']}", "script", row["code"], script=row["test"], entry_point=name.strip("( "))


def _tested(name: str, program: str, row: dict[str, str]) -> Case:
    script = f"{row['test']}\ncheck(candidate)\n"
    return Case(name, "script", program, script=script, entry_point=row["entry_point"])


def _rows(path: str) -> Iterator[dict]:
    folder = os.environ.get("CRUXBOX_DATA")
    file = Path(folder, path) if folder else None
    if file is None or not file.exists():
        return
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    for line in data.splitlines():
        yield json.loads(line)


SETS: dict[str, Callable[[int, int], Iterable[Case]]] = {
    "honest": lambda count, seed: _shuffled_by_program(seed),
    "generated": generated,
    "composed": composed,
    "cruxeval": lambda count, seed: islice(_shuffled(cruxeval(), seed), count),
    "humaneval": lambda count, seed: islice(_shuffled(humaneval(), seed), count),
    "evalplus": lambda count, seed: islice(_shuffled(evalplus(), seed), count),
}


def _shuffled(cases: Iterable[T], seed: int) -> list[T]:
    found = list(cases)
    random.Random(seed).shuffle(found)
    return found


def _shuffled_by_program(seed: int) -> list[Case]:
    """The honest programs in another order, those of one program together."""
    programs = [list(cases) for _, cases in groupby(honest(), key=lambda case: case.name.rpartition("/")[0])]
    return [case for cases in _shuffled(programs, seed) for case in cases]
