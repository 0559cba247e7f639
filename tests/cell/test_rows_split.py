"""Scripts that call the program with constants: which are taken for such, and which are not."""

from __future__ import annotations

import time
from typing import Any

import pytest
from cruxcell.analysis.compiled import loaded_list
from cruxcell.analysis.parsing import compile_text, parse_text
from cruxcell.analysis.rows import MOST_ROWS, may_have_rows, split_rows
from cruxcell.jobs.replay import _NoMore, _Played
from cruxcell.protocol import frames
from cruxcell.protocol.payloads import LINE, WHOLE
from cruxcell.values import transfer
from cruxcell.values.trees import encode_tree

HELPERS = """import numpy as np
from math import inf
def is_floats(x) -> bool:
    "Are these floats?"
    if isinstance(x, (list, tuple)):
        return all(isinstance(i, float) for i in x)
    if isinstance(x, np.ndarray):
        return x.dtype == np.float64
    return False
def assertion(out, exp, atol):
    exact = out == exp
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if not exact and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert exact, f"{out} {exp!r:>9}"
"""
CHECK = f"""{HELPERS}
METADATA = {{'by': 'me'}}
def check(candidate):
    "Many."
    inputs = [[1, [2]], ['a', {{'b': (-1, None)}}]]
    results = [3, 4]
    for i, (inp, exp) in enumerate(zip(inputs, results)):
        assertion(candidate(*inp), exp, 0)
check(f)
"""
CASES = "cases = [(1, 2), (3, [4])]\nfor given, wanted in cases:\n    assert f(given) == wanted, 'no'\n"
SHAPES: dict[str, tuple[str, str, list[list[Any]], int]] = {
    "a table of two": (CHECK, "f", [[1, [2]], ["a", {"b": (-1, None)}]], 25),
    "an array or a list": (
        CHECK.replace("np.ndarray)", "(np.ndarray, list))"),
        "f",
        [[1, [2]], ["a", {"b": (-1, None)}]],
        25,
    ),
    "pairs": (CASES, "f", [[1], [3]], 3),
    "one list": ("for x in [1, 2]:\n    assert f(x, ) < 3", "f", [[1], [2]], 2),
    "counted": ("for i, x in enumerate([1, 2]):\n    assert f(x) == i", "f", [[1], [2]], 2),
    "side by side": ("for a, b, c in zip([1, 2], (3, 4), [5, 6]):\n    assert f(a, b) == c", "f", [[1, 3], [2, 4]], 2),
    "the shorter": ("for a, c in zip([1, 2], [3]):\n    assert f(a) == c", "f", [[1]], 2),
    "several lines": ("for x in [1]:\n    assert f(\n        x) == 1", "f", [[1]], 0),
    "a name of its own": ("def check(g):\n    for x in [1]:\n        assert g(x) == 1\ncheck(g)", "g", [[1]], 3),
    "called first": ("for x in [1]:\n    assert f(x) == 1 and True", "f", [[1]], 2),
    "in a function": ("def g(a): return a\nfor x in [1]:\n    assert g([f(x) + 1]) == [1]", "f", [[1]], 3),
    "a byte before a text": ("for x in [b'a', 'a']:\n    assert f(x) == 1", "f", [[b"a"], ["a"]], 2),
    "a byte": ("for x in [b'a']:\n    assert f(x) == 1", "f", [[b"a"]], 2),
    "made": (
        "from math import inf\nfor x, y in [(inf, set()), (-inf, {1})]:\n    assert f(x) == y",
        "f",
        [[1e999], [-1e999]],
        3,
    ),
    "used again": ("for x, y in [(1, ('a', 2))]:\n    assert f(x, y) == [x, y]", "f", [[1, ("a", 2)]], 2),
    "used again, without the list": ("for x in [['a'], (2, 3)]:\n    assert f(*x) in x", "f", [["a"], [2, 3]], 2),
    "none or true": ("for x in [1]:\n    assert f(x) is None", "f", [[1]], 2),
    "in a builtin": ("pass\nfor x in [1]:\n    assert abs(f(x)) == 1", "f", [[1]], 3),
    "in a function of numpy's": ("import numpy\nfor x in [1]:\n    assert numpy.isnan(f(x))", "f", [[1]], 3),
    "another name of a module's": ("from math import e, inf\nfor x in [inf]:\n    assert f(x) < e", "f", [[1e999]], 3),
    "a tuple before a list": ("for x in [(1,), [2]]:\n    assert f(x) == 1", "f", [[(1,)], [[2]]], 2),
}


def split(script: str) -> list[bytes]:
    told = split_rows(parse_text(script, "exec"), compile_text(script, "<check>", "exec"))
    return frames.unpack(told) if told else []


@pytest.mark.parametrize("name", SHAPES)
def test_the_rows_of_a_script(name: str):
    script, called, rows, line = SHAPES[name]
    head, said, _, calls = split(script)
    encoded, *views = frames.unpack(calls)
    made = loaded_list(encoded)
    assert (made is None) == name.startswith("a byte")
    assert (said.decode(), made or transfer.decode(encoded)) == (called, [(row, {}) for row in rows])
    assert ([*LINE.iter_unpack(head)], views) == ([(line,)] * len(rows), [WHOLE] * len(rows))
    assert may_have_rows(script)


LISTED: dict[str, tuple[str, list[Any], list[int]]] = {
    "assertions": (
        "assert set(f([3, 1])) == {1, 3}\nassert abs(f(-1.5, k=(2,)) - 2) < 1e-6",
        [[[3, 1]], [-1.5]],
        [1, 2],
    ),
    "in a check": (
        "import math\nMETADATA = {}\ndef check(candidate):\n    'Some.'\n    assert math.isclose(candidate(), 2), 'a'\n"
        "    assert tuple(\n        candidate(1)) == (1, )\ncheck(f)",
        [[], [1]],
        [5, 0],
    ),
}


@pytest.mark.parametrize("name", LISTED)
def test_the_calls_of_assertions(name: str):
    script, arguments, lines = LISTED[name]
    head, said, _, calls = split(script)
    made = loaded_list(frames.unpack(calls)[0]) or []
    assert (said, [row for row, _ in made]) == (b"f", arguments)
    assert [named for _, named in made] == [{}, {"k": (2,)} if name == "assertions" else {}]
    assert [line for (line,) in LINE.iter_unpack(head)] == lines


def test_the_names_that_a_program_may_not_bind():
    _, _, others, _ = split(CHECK)
    assert frames.unpack(others) == [b"all", b"bool", b"enumerate", b"float", b"isinstance", b"list", b"tuple", b"zip"]
    _, _, others, _ = split("def unread(a): return a\n" + CASES)
    assert frames.unpack(others) == [b"given", b"unread", b"wanted"]


def changed(before: str, after: str, script: str = CHECK) -> str:
    assert before in script
    return script.replace(before, after, 1)


CALLED = "candidate(*inp)"
NONE = {
    "nothing": "",
    "no loop": "f(1) == 1",
    "assertions of two names": "assert f(1) == 1\nassert g(1) == 1",
    "an assertion of two calls": "assert f(1) == 1\nassert f(1) == f(1)",
    "an assertion that calls nothing": "assert f(1) == 1\nassert True",
    "an assertion that may not call": "assert f(1) == 1\nassert 1 and 2 and f(1)",
    "an assertion that calls where it fails": "assert f(1) == 1, f(2)",
    "assertions and a loop": "assert f(1) == 1\n" + CASES,
    "a loop and assertions": CASES + "assert f(1) == 1",
    "assertions with a table": "x = [1]\nassert f(x) == 1",
    "assertions with stars": "assert f(*[1]) == 1",
    "assertions with names by stars": "assert f(**{'x': 1}) == 1",
    "assertions with what is bound in between": "assert f(1) == 1\ny = 2\nassert f(2) == y",
    "rows of types": "for x in [float]:\n    assert f(x) == 1",
    "assertions of a set": "assert len(f({1})) == 1",
    "assertions behind a call": "x = f(0)\nassert set(f(1)) == {1}\nassert set(f(2)) == {2}",
    "assertions behind a call in a check": "def check(g):\n    x = g(0)\n    assert set(g(1)) == {1}\ncheck(f)",
    "assertions behind a method": "kept = []\nkeep = kept.append\nassert keep(f(1)) is None\nassert (kept, f(2)) == 1",
    "assertions behind a function": "last = lambda x: x\nassert last(f(1)) == 1",
    "assertions behind another name of the program": "g = f\nassert (g(1), f(2)) == 1",
    "assertions behind what is computed": "x = len('')\nassert abs(f(1)) == x",
    "assertions with more behind": "assert f(1) == 1\nprint()",
    "an assertion with what it computes": "assert len(f(len(''))) == 1",
    "more behind the loop": CASES + "print()",
    "more behind the call": CHECK + "pass",
    "two statements that call": "for x in [1]:\n    assert f(x) == 1\n    assert f(x) == 2",
    "two statements": CASES + "    pass",
    "an else": CASES + "else:\n    pass",
    "two loops": CASES + CASES,
    "no call": "for x in [1]:\n    assert x == 1",
    "a call of its own": "def f(x): return x\nfor x in [1]:\n    assert f(x) == 1",
    "a call of what it hands over": changed("check(f)", "f = 1\ncheck(f)"),
    "a builtin": "for x in [[1]]:\n    assert sum(x) == 1",
    "another builtin": "for x in [[1]]:\n    assert open(x) == 1",
    "called twice": changed(CALLED, f"{CALLED} + {CALLED}"),
    "not called each time": changed(CALLED, f"(0 or {CALLED})"),
    "called if asked": changed(CALLED, f"({CALLED} if exp else 0)"),
    "called later": changed(CALLED, f"(lambda: {CALLED})()"),
    "called in a loop": changed(CALLED, f"[{CALLED} for _ in exp]"),
    "called by another": changed("def is_floats", "def again(): return f(1)\ndef is_floats"),
    "called where it fails": "for x in [1]:\n    assert x == 1, f(x)",
    "called beside what a row holds": "def check(g):\n    for h, x in [(1, 2)]:\n        assert h(x) == g(1)\ncheck(f)",
    "called in a chain": "for x in [1]:\n    assert 1 == 2 == f(x)",
    "handed on": changed(CALLED, "map(candidate, inp)"),
    "an attribute": changed(CALLED, "candidate.go(*inp)"),
    "an argument of a name": "y = 1\nfor x in [1]:\n    assert f(y) == y",
    "an argument of a function's name": "def g(a):\n    y = a\n    return y\nfor x in [1]:\n    assert g(f(y)) == x",
    "keywords": changed(CALLED, "candidate(x=inp)"),
    "a constant argument": changed(CALLED, "candidate(*inp, 1)"),
    "the row is used again": changed("exp, 0)", "inp, 0)"),
    "a row that is used again may change": "for x in [(1, [2])]:\n    assert f(x) == x",
    "a row that is used again may hold what changes": "for x in [[1, {}]]:\n    assert f(*x) == x",
    "a row that is bound again": "for x in [1]:\n    assert f(x) == [x for x in [1]]",
    "one row, handed over twice": "for x in [1]:\n    assert f(x, x) == 1",
    "the table is used again": changed("exp, 0)", "inputs, 0)"),
    "the row is a global's": changed("    return False", "    return inp"),
    "the table is made": changed("[3, 4]", "[3] * 2"),
    "the table grows": "cases = [1]\ncases += [2]\nfor x in cases:\n    assert f(x) == 1",
    "the table grows by a call": "cases = [1]\ncases.append(2)\nfor x in cases:\n    assert f(x) == 1",
    "the table is no table": changed("[3, 4]", "{3, 4}"),
    "the table is computed": changed("[3, 4]", "[len([])]"),
    "a table of numpy's": "import numpy\nfor x in numpy.array([1]):\n    assert f(x) == 1",
    "names side by side": "a, b = [1], [2]\nfor x in a:\n    assert f(x) == 1",
    "a table of two names": changed("results = ", "results = more = "),
    "a table bound anew": changed("    results", "    inputs = [[2], [1]]\n    results"),
    "a table bound in the loop": changed("for i, (", "for results, ("),
    "what the rows are not": changed("(inp, exp)", "(inp, exp, more)"),
    "rows that are no rows": changed("[3, 4]", "[3, 4]\n    inputs = [1, 2]"),
    "rows of what is no list": "for x, y in [1]:\n    assert f(x) == y",
    "counted from elsewhere": "for i, x in enumerate([1], start=5):\n    assert f(i) == x",
    "counted from a list": "for i, x in enumerate([1], [2]):\n    assert f(i) == x",
    "backwards": "for x in reversed([1]):\n    assert f(x) == 1",
    "nothing side by side": "for x in zip():\n    assert f(x) == 1",
    "a zip of its own": "def zip(a): return [2]\nfor x in zip([1]):\n    assert f(x) == 1",
    "a zip that is none": "def check(g):\n    zip = 1\n    for x in zip([1]):\n        assert g(x) == 1\ncheck(f)",
    "stars of what is no list": "for x in [1]:\n    assert f(*x) == 1",
    "a NaN by name": "from math import nan\nfor x in [nan]:\n    assert f(x) != 1",
    "a number that is none": "for x in [float('x')]:\n    assert f(x) != 1",
    "a list of its own making": "def list(): return 1\nfor x in [list()]:\n    assert f(x) != 1",
    "a list of another's": "for x in [list(g)]:\n    assert f(x) != 1",
    "what only an evaluation has": "__builtins__ = 1\nfor x in [__builtins__]:\n    assert f(x) == 1",
    "a method": "for x in [[].copy()]:\n    assert f(x) != 1",
    "a function": "for x in [lambda: 1]:\n    assert f(x) != 1",
    "a comprehension": "for x in [[y for y in [1]]]:\n    assert f(x) != 1",
    "a NaN in a dict": "from math import nan\nfor x in [{1: nan}]:\n    assert f(x) != 1",
    "a NaN": "for x in [1e999 - 1e999]:\n    assert f(x) != 1",
    "a set": "for x in [[{1}]]:\n    assert f(x) == 1",
    "a set that cannot change": "for x in [(1, frozenset())]:\n    assert f(x) == 1",
    "no row": "for x in []:\n    assert f(x) == 1",
    "too many rows": f"for x in {[0] * (MOST_ROWS + 1)}:\n    assert f(x) == 1",
    "too many bytes": f"for x in [{'a' * (1 << 20)!r}]:\n    assert f(x) == 1",
    "an iterator": changed("[3, 4]", "iter([3, 4])"),
    "what changes a value": changed("exact = out == exp", "exact = out.sort() == exp"),
    "what sets an item": changed("exact = out == exp", "out[0] = exact = 1"),
    "what deletes an item": changed("exact = out == exp", "del out[0]"),
    "what sets an attribute": changed("exact = out == exp", "out.real = exact = 1"),
    "what a loop sets": changed("exact = out == exp", "exact = 1\n    for out[0] in exp: pass"),
    "what a comprehension sets": changed("exact = out == exp", "exact = [1 for out[0] in exp]"),
    "what waits": changed("exact = out == exp", "exact = (1 async for _ in exp)"),
    "what adds": changed("exact = out == exp", "exact = out\n    exact += [1]"),
    "identity": changed("exact = out == exp", "exact = out is exp"),
    "identity with a number": changed("exact = out == exp", "exact = out is 1"),
    "identity in a chain": changed("exact = out == exp", "exact = out is None is exp"),
    "an address": changed("exact = out == exp", "exact = id(out) == exp"),
    "another attribute": changed("x.dtype", "x.ctypes"),
    "an array by an isinstance of its own": changed("METADATA", "def isinstance(x, k): return k(3)\nMETADATA"),
    "an isinstance in a function": changed("    exact =", "    def isinstance(x, k): return k(3)\n    exact ="),
    "a class that is called where it is asked for": changed("(x, np.ndarray)", "(x, (np.ndarray(3), list))"),
    "a class in another call": changed("isinstance(x, np.ndarray)", "all(x, np.ndarray)"),
    "a class in a call of a later name": changed("isinstance(x, np.ndarray)", "zip(x, np.ndarray)"),
    "an array by a parameter": changed("is_floats(x)", "is_floats(x, isinstance)"),
    "an array by an isinstance that is bound": changed("METADATA", "isinstance = dict\nMETADATA"),
    "builtins of its own": "__builtins__ = {'enumerate': list}\n" + CASES,
    "builtins of each row": CASES.replace("wanted", "__builtins__"),
    "memory as it was": changed("np.allclose(out,", "np.isnan(1.0, where=False).size + np.allclose(out,"),
    "memory as it was, by a dict": changed("np.allclose(out,", "np.isnan(1.0, **{'where': 0}).size + np.allclose(out,"),
    "a new array": changed("np.allclose(out,", "np.allclose(np.ndarray(3),"),
    "a random one": changed("np.allclose(out,", "np.random.rand(1)(out,"),
    "another module": changed("from math", "import random\nfrom math"),
    "another name of it": changed("import inf", "import inf, nextafter"),
    "all names of it": changed("import inf", "import *"),
    "a module that is near": changed("from math", "from .math"),
    "an import in a function": changed('    "Are', '    import math\n    "Are'),
    "a class": changed("METADATA", "class A: pass\nMETADATA"),
    "a decorator": changed("def is_floats", "@bool\ndef is_floats"),
    "a default that is kept": changed("atol)", "atol, seen=[])"),
    "a default by name": changed("atol)", "*, atol=[])"),
    "a global": changed("    exact = ", "    global exact\n    exact = "),
    "a try": changed("    exact = out == exp", "    try: exact = out == exp\n    except ValueError: pass"),
    "a print": changed("    exact = ", "    print(out)\n    exact = "),
    "an unknown name": changed("out == exp", "out == expected"),
    "a generator": changed("    return False", "    yield False"),
    "code without an end": changed("    return False", "    while x: pass"),
    "what it binds for a while": changed("    return False", "    return (y := False)"),
    "a function bound twice": changed("def assertion", "def is_floats(x): return x\ndef assertion"),
    "a name that is bound in between": changed("METADATA = {'by': 'me'}", "is_floats = 1"),
    "a maker that is the program": "def check(list):\n    ins = [list((1,))]\n    for x in ins:\n"
    "        assert list(x) == [1]\ncheck(f)",
    "a number that is the program": "from math import inf\ndef check(inf):\n    ins = [inf]\n    for x in ins:\n"
    "        assert inf(x) == 1\ncheck(f)",
    "a check of two": changed("check(candidate)", "check(candidate, other=1)"),
    "a check of one with a type": changed("check(candidate)", "check(candidate: int)"),
    "a check that is called again": changed("    return False", "    return check(x)"),
    "a check without a loop": "def check(g):\n    x = g(1)\ncheck(f)",
    "a call of another function": "print(f)",
    "a check by name": changed("check(f)", "check(f, x=1)"),
    "a check of text": changed("check(f)", "check('f')"),
    "a check that is handed more": changed("check(f)", "check(f, 1)"),
    "a check that is handed nothing": changed("check(f)", "check()"),
    "a function that the loop binds": "def unread(a): return a\nfor unread, x in [(1, 2)]:\n    assert f(x) == 1",
    "a builtin's name that is not read": "def sum(a): return a\n" + CASES,
    "a name of what each process has": CASES.replace("given", "seed"),
    "a main script": CHECK.replace("check(f)", "if __name__ == '__main__':\n    check(f)"),
    "a function in the check": changed("    inputs =", "    def g(x): return x\n    inputs ="),
    "an import in the check": changed("    inputs =", "    import math\n    inputs ="),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("name", NONE)
def test_what_is_none(name: str):
    assert split(NONE[name]) == []


def test_many_names_are_taken_apart_in_time_that_grows_with_them():
    def taken(many: int) -> float:
        names = ",".join(f"a{at}" for at in range(many))
        script = f"for {names} in [{[0] * many}]:\n    assert f({names}) == 1"
        tree, code = parse_text(script, "exec"), compile_text(script, "<check>", "exec")
        began = time.thread_time()
        assert split_rows(tree, code)
        return time.thread_time() - began

    assert taken(16_000) < 60 * taken(1_000)


def test_a_loop_is_looked_for_near_the_end():
    assert not may_have_rows("for x in [1]:\n    pass\n" + "x = 1\n" * 1000)
    assert not may_have_rows("forget()\n")


@pytest.mark.parametrize("told", [b"", b"?", b"NN", b"@\0\0\0\0", b"S" + bytes(4) + b"\1\0\0\0\0l" + bytes(8)])
def test_a_value_is_made_when_it_is_asked_for(told: bytes):
    played = _Played([encode_tree([1], 100), told])
    assert (played.call(2), played.made) == ([1], 1)
    with pytest.raises(_NoMore):
        played.call()
    assert played.made == 0  # as of a script that made no call: nothing is judged by it
    played = _Played([])
    with pytest.raises(_NoMore):
        played.call()
    assert played.made == 1
