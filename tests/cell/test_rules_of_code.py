"""Rules that are read off compiled code, on every interpreter there is: programs that are blind to the hash seed, and
parameters that are read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cruxcell.analysis import unused_parameters
from cruxcell.analysis.determinism import has_sets, is_seedless
from interpreters import Twin, pairs

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
    "def f(a):\n    return str(list(map(zip, [a])))",
    "def f(a):\n    for m in map(filter, [None], [a]):\n        return str(m)",
    "def f(a):\n    return str(max(a, key=iter))",
    "def f(a):\n    return str(list(map(lambda v: (yield v), a)))",
    "for a in (b for b in ()):\n    pass\ndef f(x):\n    def g():\n        pass\n    return str(g)",
    "global h, g\ndef g():\n    pass\nh = g\ndef f(x):\n    return str(h)",
    "global g\ndef g():\n    pass\ndef f(x, h=g):\n    return str(h)",
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
    "def f(a):\n    a.extend(b for b in str(a))\n    return dict(zip(a, reversed(a)))",
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


# A function and whether it has a parameter that nothing reads.
ARGUMENTS = {
    "def f(a, b):\n    return a + b": False,
    "def f(a, b):\n    return a": True,
    "def f(a, b=1, *c, d, **e):\n    return a, b, c, d, e": False,
    "def f(a, b=1, *c, d, **e):\n    return a, b, d, e": True,
    "def f(a):\n    a += 1": True,
    "def f(a):\n    a += 1\n    return a": False,
    "def f(a):\n    a[0] += 1": False,
    "def f(a):\n    del a": True,
    "def f(a):\n    a = 1": True,
    "def f(a, b):\n    return [a for a in b]": True,
    "def f(a, b):\n    return [a for _ in b]": False,
    "def f(a, b):\n    return [a for a in a], b": False,
    "def f(a, b):\n    return {a: 1 for a in b}, {a for a in b}, sum(a for a in b)": True,
    "def f(a):\n    return lambda a: a": True,
    "def f(a):\n    return lambda: a": False,
    "def f(a):\n    for a in [1]:\n        pass": True,
    "def f(a):\n    try:\n        pass\n    except ValueError as a:\n        pass": True,
    "def f(a):\n    with open('x') as a:\n        pass": True,
    "def f(a):\n    if 0:\n        return a": False,
    "def f(a):\n    return a\nif 0:\n    def f(b):\n        return 1": True,
    "def f(a):\n    return a\nclass f:\n    b = 1": False,
    "def g(b):\n    return 1\ndef f(a):\n    return a": False,
    "def f(a):\n    global b\n    b = a": False,
    "f = lambda a: 1": False,
    "def f(a):\n    " + "\n    ".join(f"x{n} = 1" for n in range(300)) + "\n    return x256, x299": True,
    "def f("
    + ", ".join(f"a{n}" for n in range(300))
    + "):\n    return a0, a44, "
    + ", ".join(f"a{n}" for n in range(256)): True,
}
ASK = """
import json
from cruxcell.analysis import unused_parameters as arguments
from cruxcell.analysis.determinism import is_seedless
with open(sys.argv[1]) as file:
    seeing, programs = json.load(file)
def compiled(source):
    return compile(source, "<program>", "exec")
blind = [is_seedless(source, compiled(source)) for source in seeing]
unused = [arguments.has_unused_argument(source, compiled(source)) for source in programs]
quick = [arguments._loads_all(source, compiled(source)) for source in programs]
print(json.dumps([blind, unused, quick]))
"""


@pytest.mark.parametrize("python", [pure for _, pure in pairs()], ids=str)
def test_every_interpreter_says_the_same(python: Twin, tmp_path: Path):
    path = tmp_path / "programs.json"
    path.write_text(json.dumps([[*SEEING, *BLIND], list(ARGUMENTS)]))
    blind, unused, quick = python.ask(ASK, str(path))
    assert blind == [False] * len(SEEING) + [True] * len(BLIND)
    assert dict(zip(ARGUMENTS, unused)) == ARGUMENTS
    assert not [source for source, is_quick in zip(ARGUMENTS, quick) if is_quick and ARGUMENTS[source]]


def test_the_quick_look_at_arguments_is_worth_it():
    plain = [source for source, is_unused in ARGUMENTS.items() if not is_unused and source.count("def") == 1]
    seen = [source for source in plain if unused_parameters._loads_all(source, compile(source, "<p>", "exec"))]
    assert len(seen) >= (4 if sys.version_info < (3, 12) else 3)
