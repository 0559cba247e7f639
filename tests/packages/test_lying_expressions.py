"""Programs that give a test what sympy, pandas or PIL takes for its own, and asks: none is told what is expected."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from cruxbox import Client, Limits, ScriptCheck, Task

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif("CRUXBOX_PACKAGES" not in os.environ, reason="CRUXBOX_PACKAGES is not set"),
]
LIMITS = Limits(cpu_ms=8_000, wall_ms=60_000, memory_bytes=1 << 30)
HEAD = "import pandas as pd\nimport sympy\nfrom PIL import Image, ImageChops\nx = sympy.Symbol('x')\n"
LIAR = """
class L:
    is_Matrix = is_zero_matrix = True
    shape, _class_priority, _op_priority, _typ, ndim = (2, 2), 1000, 0, "dataframe", 2
    def _sympy_(self): return self
    def __neg__(self): return self
    def norm(self): return 0
    def _yes(self, *a, **k): return True
    def _itself(self, *a, **k): return self
    equals = dummy_eq = compare = _eval_Eq = _yes
    _eval_add = _eval_sub = load = chop_difference = _new = _itself
    mode, size, im = "L", (2, 2), property(_itself)
    def getbbox(self): return None
def f(x): return L()
"""
EMPTIES = """
import pandas as pd
class D(pd.DataFrame):
    def _constructor_from_mgr(self, *a, **k): return pd.DataFrame({"a": []})
def f(x): return D({"a": [9]})
"""
LIES = [
    (LIAR, "assert sympy.Eq(f(x), x + 1)"),
    (LIAR, "assert sympy.simplify(sympy.Eq(x + 1, f(x)))"),
    (LIAR, "assert f(x).equals(x + 1)"),
    (LIAR, "assert f(x).dummy_eq(sympy.Lambda(x, x + 1))"),
    (LIAR, "assert f(x) in sympy.FiniteSet(1, 2)"),
    (LIAR, "assert (sympy.Matrix([[1, 2], [3, 4]]) - f(x)).norm() == 0"),
    (LIAR, "assert ImageChops.difference(f(x), Image.new('L', (2, 2), 7)).getbbox() is None"),
    (EMPTIES, "assert pd.concat([f(1), pd.DataFrame({'a': [1, 2]})]).drop_duplicates(keep=False).empty"),
]
RIGHT = """
import pandas as pd
import sympy
from PIL import Image
def f(x): return x + 1
def table(n): return pd.DataFrame({"a": [1, n]})
def image(n): return Image.new("L", (2, n), 7)
def matrix(x): return sympy.Matrix([[x, 1], [2, 3]])
class Row:
    def sum(self, row): return row["a"] + row["b"]
"""
ALL_RIGHT = """
assert sympy.Eq(f(x), x + 1) and f(x).equals(x + 1) and f(sympy.Integer(1)) in sympy.FiniteSet(1, 2)
assert matrix(x).equals(sympy.Matrix([[x, 1], [2, 3]])) and matrix(x).subs(x, 2)[0, 0] == 2
assert sympy.Matrix([[x, 1]]).applyfunc(f) == sympy.Matrix([[x + 1, 2]])
assert pd.concat([table(2), pd.DataFrame({"a": [1, 2]})]).drop_duplicates(keep=False).empty
assert ImageChops.difference(image(2), Image.new("L", (2, 2), 7)).getbbox() is None
assert pd.DataFrame({"a": [1, 2], "b": [3, 4]}).apply(Row().sum, axis=1).tolist() == [4, 6]
"""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    arguments = [f"--runtime=sci={os.environ['CRUXBOX_PACKAGES']}", "--preload=sci=pandas,sympy", "--canary-s=0"]
    with Client(server_args=arguments) as client:
        yield client


def judged(client: Client, program: str, script: str) -> str:
    [verdict] = client.check([Task(program, [ScriptCheck(HEAD + script)], runtime="sci", limits=LIMITS)])
    return f"{verdict.outcome.name} {verdict.detail}"


@pytest.mark.parametrize(("program", "script"), LIES)
def test_what_libraries_would_ask_is_not_said(client: Client, program: str, script: str):
    found = judged(client, program, script)
    assert found.startswith("FAILED "), found
    assert "is for the candidate to say" in found


def test_a_program_that_computes_passes(client: Client):
    assert judged(client, RIGHT, ALL_RIGHT).startswith("PASSED")
