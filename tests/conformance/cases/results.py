"""Hostile results. A value crosses as bytes of plain data; what is not plain decides nothing on the trusted side."""

from __future__ import annotations

from conformance.case import ANY_BUT_X, Case, call, calls, case

REDUCE = """
import os
class A:
    def __reduce__(self): return (os.system, ('touch @{world}/unpickled',))
    def __eq__(self, other): return False
def f(): return A()
"""
REPR = """
import os
class A:
    def __repr__(self): {0}
    def __hash__(self): {0}
    def __eq__(self, other): return False
def f(): return A()
"""
KEY = "class A:\n    def __hash__(self): {0}\n    def __eq__(self, other): return True\ndef f(): return {{A(): 1}}"

CASES: list[Case] = [
    case("reduce-payload", "a __reduce__ payload", call("F", REDUCE, expected="1"), call("F", REDUCE, expected="[1]")),
    case(
        "hostile-repr-and-hash",
        "__repr__ and __hash__ that exit, loop, bloat",
        call("FCT", REPR.format("os._exit(0)")),
        call("FCT", REPR.format("raise SystemExit(0)")),
        call("FCT", REPR.format("return len(list(iter(int, 1)))"), memory_bytes=48 << 20, cpu_ms=300),
        call("FCTM", REPR.format("return 'x' * 10**10")),
        call("FCT", KEY.format("raise SystemExit(0)"), expected="{1: 1}"),
    ),
    case(
        "huge-int",
        "int of more than 4300 digits",
        call("P", "def f(): return 10**5000", expected="10**5000"),
        call("F", "def f(): return 10**5000 + 1", expected="10**5000"),
        call("F", "def f(): return 10**5000", expected="7"),
    ),
    case(
        "nan-zero-true",
        "NaN, -0.0, 1 / True / 1.0",
        call("FI", "def f(): return float('nan')", expected="float('nan')"),
        call("FI", "def f(): return [float('nan')]", expected="[float('nan')]"),
        call("F", "def f(): return float('nan')", expected="1"),
        call("P", "def f(): return -0.0", expected="0.0"),
        call("P", "def f(): return [True, 1.0, 1]", expected="[1, 1, 1]"),
        call("P", "def f(): return {True: 1}", expected="{1.0: True}"),
        call("F", "def f(): return '1'", expected="1"),
        call("F", "def f(): return 1e308 * 10", expected="1"),
    ),
    case(
        "holds-itself",
        "a list that holds itself",
        call("F", "def f():\n    a = [1]\n    a.append(a)\n    return a", expected="[1, [1]]"),
        call("F", "def f():\n    a = {}\n    a[1] = a\n    return a", expected="{1: {}}"),
    ),
    case(
        "deep-list",
        "a list 10**5 deep",
        call("FC", "def f():\n    a = []\n    for _ in range(10**5): a = [a]\n    return a", expected="[[]]"),
    ),
    case(
        "odd-strings",
        "lone surrogate, NUL in a string",
        call("P", r"def f(): return '\ud800\x00x'", expected=r"'\ud800\x00x'"),
        call("F", r"def f(): return '\ud800\x00x'", expected=r"'\ud801\x00x'"),
        call("F", r"def f(): return '\ud800'", expected="'?'"),
        call("F", r"def f(): raise ValueError('\ud800\x00\x1b')", expected="1"),
    ),
    case(
        "huge-result",
        "a result of 1 GB",
        call("OM", "def f(): return 'a' * 10**9", expected="'a'"),
        call("OMF", "def f(): return 'a' * (32 << 20)", expected="'a'"),
        call("OMF", "def f(): return [0] * (4 << 20)", expected="[0]"),
    ),
    case(
        "no-plain-value",
        "infinite iterator, file, lambda, class",
        call("F", "import itertools\ndef f(): return itertools.count()", expected="[0, 1]"),
        call("F", "import sys\ndef f(): return sys.stdin", expected="1"),
        call("F", "def f(): return lambda: 1", expected="1"),
        call("F", "class A: pass\ndef f(): return A", expected="1"),
        call("F", "def f():\n    yield 1", expected="[1]"),
    ),
    case(
        "order-and-kinds",
        "set and dict order, enum, namedtuple, bytes",
        call("P", "def f(): return {'b', 'a'}, {'x': 1, 'y': 2}", expected="({'a', 'b'}, {'y': 2, 'x': 1})"),
        call("F", "def f(): return {'b', 'a'}", expected="['a', 'b']"),
        call("P", "def f(): return b'a\\xff', bytearray(b'x')", expected="(b'a\\xff', b'x')"),
        call("F", "def f(): return b'a'", expected="'a'"),
        call("PF", "import enum\nE = enum.IntEnum('E', 'A B')\ndef f(): return E.A", expected="1"),
        call("PF", "import collections as c\nN = c.namedtuple('N', 'x y')\ndef f(): return N(1, 2)", expected="(1, 2)"),
        call(
            "P",
            "import collections as c\ndef f(): return c.OrderedDict(a=1), c.Counter('aa')",
            expected="({'a': 1}, {'a': 2})",
        ),
        calls(
            "def f(n): return [1, 2, 3][:n]",
            ("f(0)", "[]", "P"),
            ("f(0)", "()", "F"),
            ("f(2)", "[1, 2]", "P"),
            ("f(2)", "None", "F"),
            ("f()", "[]", "F"),
        ),
        call(ANY_BUT_X.replace("P", ""), "def f(): pass", expected="[]"),
    ),
]
