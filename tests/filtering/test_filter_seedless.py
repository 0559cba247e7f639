"""Programs that are not run under a second hash seed: are they blind to it?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cruxbox import EvaluateCheck, Outcome, Task
from cruxcell.hermetic import is_hermetic
from cruxcell.seedless import has_sets, is_seedless

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.workload import candidates

SEEING = [
    "def f(a):\n    return list({b for b in a})",
    "def f(a):\n    return [b for b in {*a}]",
    "def f(a):\n    return list(set(a))",
    "def f(a):\n    return sorted(frozenset(a), key=len)",
    "def f(a):\n    for b in {'x', 'y', 'z'}:\n        return b",
    "def f(a):\n    return [b for b in {'x': 1, 'y': 2}.keys() | a]",
    "def f(a):\n    return str(b for b in a)",
    "def f(a):\n    return f'{map(len, a)}'",
    "def f(a):\n    return '%s' % (lambda: 1)",
    "def f(a):\n    return repr(f)",
    "def g():\n    pass\ndef f(a):\n    return str([g])",
    "def g():\n    yield 1\ndef f(a):\n    return str(g())",
    "def f(a):\n    def g():\n        pass\n    return str(g)",
    "def f(a):\n    return str(a.upper)",
    "def f(a):\n    try:\n        [].index(lambda: 1)\n    except ValueError as error:\n        return error.args[0]",
    "x = [].append\ndef f(a):\n    return str(x)",
    "def f(a):\n    pass\ng = f\ndef f(a):\n    return str(g)",
    "def f(a):\n    return '{}'.format(iter(a))",
    "def f(a):\n    return hash(a)",
    "def f(a):\n    return [str(b) for b in [map]]",
    "def f(a):\n    return [str(b) for b in [map(len, a)]]",
    "def f(a):\n    return max((b for b in a), 3, key=str)",
    "def f(a):\n    return str(max([a], default=lambda: 1))",
    "def f(a):\n    return str(dict(key=lambda: 1))",
    "def f(a):\n    return str(list(lambda: 1 for b in a))",
    "def f(a):\n    return str(sum((b for b in a), a))if a else str(sum([], (b for b in a)))",
    "def f(a):\n    return str(sorted(*[[lambda: 1]]))",
    "def f(a, sorted=str):\n    return sorted(b for b in a)",
    "def sorted(a):\n    return str(a)\ndef f(a):\n    return sorted(b for b in a)",
    "def f(a):\n    global list\n    list = str\n    return list(b for b in a)",
    "def f(a):\n    for list in [str]:\n        return list(map(len, a))",
    "def f(a):\n    return [list for list in [str]][0](b for b in a)",
    "def f(a):\n    try:\n        return a.index(map)\n    except ValueError as error:\n        return str(error)",
    "def f(a):\n    e = ValueError()\n    e.join = str\n    return e.join(b for b in a)",
    "def f(a):\n    b = map(len, a)\n    return str(b)",
    "def f(a):\n    a.sort(key=lambda b: (c for c in b))\n    return str(a)",
    "def f(a):\n    return str([*map(len, a), *[b for b in [zip(a)]]])",
]
BLIND = [
    "def f(a):\n    return a[::-1].title()",
    "def f(a):\n    return {b: a.count(b) for b in a if b != 'x'}",
    "def f(a):\n    return ''.join(b for b in a if b.isalpha())",
    "def f(a):\n    return [str(b) + f'{b:>3}' for b in a]",
    "def f(a):\n    return sorted(a, key=lambda b: (len(b), b))",
    "def g(a):\n    return a + 1\ndef f(a):\n    return [g(b) for b in a]",
    "def f(a):\n    return list(zip(a, map(len, a)))",
    "def f(a):\n    return [k for k in a.keys() if a.get(k)]",
    "def f(a):\n    return ''.join(str(b) for b in a)",
    "def f(a):\n    return sorted(map(str, a), key=lambda b: (len(b), b))",
    "def f(a):\n    for i, b in enumerate(a):\n        a[i] = f'{b}'\n    return a",
    "def f(a):\n    a.sort(key=lambda b: str(b))\n    return dict(zip(a, reversed(a)))",
    "def f(a):\n    return str(sum(b for b in a)) + str(all(map(str, filter(None, a))))",
]


@pytest.mark.parametrize("source", SEEING)
def test_what_may_see_the_seed(source):
    assert not is_seedless(source, compile(source, "<program>", "exec"))


@pytest.mark.parametrize("source", BLIND)
def test_what_cannot_see_the_seed(source):
    assert is_seedless(source, compile(source, "<program>", "exec"))


def test_sets_in_a_call():
    for call, expected in (("f({1, 2})", True), ("f([{'a'}])", True), ("f([1], {'a': 2})", False)):
        assert has_sets(compile(call, "<check>", "eval")) is expected


def test_blind_programs_give_the_same_under_two_seeds(client, rows):
    """Found by running all of them, and plainly, so that nothing is left out."""
    programs = [(row["code"], [row["input"]]) for row in rows]
    programs += [(work["code"], work["inputs"][:2]) for work in candidates(7, 400)]
    blind = [(code, inputs) for code, inputs in programs if _is_blind(code)]
    assert len(blind) > 800
    tasks = [Task(code, [EvaluateCheck(f"f({text})") for text in inputs], repeat=2) for code, inputs in blind]
    verdicts = client.check(tasks)
    assert not [verdict.value for verdict in verdicts if verdict.nondeterministic]
    assert sum(verdict.outcome is Outcome.EVALUATED for verdict in verdicts) > 800


def _is_blind(code):
    if "10 **" in code:  # hogs and stalls
        return False
    compiled = compile(code, "<program>", "exec")
    return is_hermetic(code, compiled) and is_seedless(code, compiled)
