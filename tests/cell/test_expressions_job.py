"""What is read of a text before anything runs, and which arguments can be computed without the program."""

from __future__ import annotations

from collections import Counter

import pytest
from cruxcell.analysis.parsing import Invalid
from cruxcell.jobs import expressions
from cruxcell.protocol import frames, messages
from cruxcell.protocol.payloads import EXPECTED, LARGE_SCRIPT, SCRIPT


class Context:
    output_limit = 1000

    def __init__(self) -> None:
        self.said = b""

    def begin(self, _index: int) -> None: ...

    def next_check(self) -> None: ...

    def send(self, record: bytes) -> None:
        self.said += record


def read(text: str, kind: bytes) -> list[bytes]:
    context = Context()
    expressions.run_read(context, [kind, text.encode()])  # type: ignore[arg-type]
    return frames.split(context.said)[0][0]


def kind_of(text: str, kind: bytes) -> bytes:
    return read(text, kind)[0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", messages.READ_CONSTANT),
        ("f", messages.READ_EXPRESSION),
        ("(lambda: 1)()", messages.READ_EXPRESSION),
        ("1 +", messages.READ_INVALID),
    ],
)
def test_an_expected_value_is_a_constant_or_an_expression(text: str, kind: bytes):
    assert kind_of(text, EXPECTED) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("assert f(1) == 2", messages.READ_ASSERTION),
        ("assert f(1) == 2\nassert f(2) == 3", messages.READ_SERIES),
        ("x = f(1)\nassert x", messages.READ_EXPRESSION),
        ("pass", messages.READ_INVALID),
    ],
)
def test_a_script_is_an_assertion_a_series_or_any_other(text: str, kind: bytes):
    assert kind_of(text, SCRIPT) == kind


def test_what_holds_nan_equals_nothing():
    assert [read(text, EXPECTED)[1] for text in ("1", "[1e999 - 1e999]")] == [b"i1;", b""]


@pytest.mark.parametrize(("text", "is_told"), [("x = f(1)\nassert x", True), ("pass", False), ("1 +", False)])
def test_of_a_large_script_the_code_is_told_if_it_can_fail(text: str, is_told: bool):
    kind, code, _ = read(text, LARGE_SCRIPT)
    assert (kind, code != b"") == (messages.READ_EXPRESSION, is_told)


def test_a_large_script_of_rows_is_taken_apart_up_to_a_size(monkeypatch: pytest.MonkeyPatch):
    script = "for x, y in zip([1, 2], [3, 4]):\n    assert f(x) == y\n"
    assert read(script, LARGE_SCRIPT)[2]
    for size in (len(script), len(script) - 1):
        monkeypatch.setattr(expressions, "_MOST_OF_ROWS", size)
        assert bool(read(script, LARGE_SCRIPT)[2]) is (size == len(script))


def test_the_tree_of_a_large_script_that_ends_with_a_call_is_not_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(expressions, "parse_text", None)
    assert read("x = 1\ncheck(f)", LARGE_SCRIPT)[1]


ALONE = [
    ("", "f(1, [2], *(3,), a=4, **{'b': 5})", ((1, [2], 3), {"a": 4, "b": 5})),
    ("y = 1", "f(len('ab'))", ((2,), {})),
    ("from math import sin", "f(pow(2, 3))", ((8,), {})),
    ("from math import *", "f(len('ab'))", ((2,), {})),
    ("from math import pow", "f(pow(2, 3))", ((8.0,), {})),
    ("from collections import Counter as C\ndef f(x): return x", "f(C('ab'), *C('a'))", ((Counter("ab"), "a"), {})),
    (
        "from collections import Counter\nclass A:\n    def g(self): self.x = 1",
        "f(Counter('a'))",
        ((Counter("a"),), {}),
    ),
    ("from collections import Counter\ndef g(x): x().y = x.update", "f(Counter('a'))", ((Counter("a"),), {})),
    ("", "f(__name__)", (("here",), {})),
    ("", "f(__builtins__ is None)", ((False,), {})),
]


@pytest.mark.parametrize(("program", "call", "given"), ALONE)
def test_arguments_are_computed_without_the_program(program: str, call: str, given: object):
    code, callee, names = expressions._take_apart(program, call)
    assert (eval(code, {"__name__": "here", **names}), callee) == (given, "f")


@pytest.mark.parametrize(
    ("program", "call"),
    [
        ("y = 1", "f(y)"),
        ("", "f(y)"),  # which an `exec` may bind
        ("from math import *", "f(pow(2, 3))"),
        ("from nowhere import *", "f(len('ab'))"),
        ("from nowhere import pow", "f(pow(2, 3))"),
        ("from random import random", "f(random())"),
        ("from decimal import *\ngetcontext().prec = 3", "f(Decimal(1) / 3)"),
        ("from decimal import Decimal, getcontext\ngetcontext().prec = 3", "f(Decimal(1) / 3)"),
        ("from math import nowhere", "f(nowhere)"),
        ("from math import pow\nfor pow in (): pass", "f(pow(2, 3))"),
        ("from math import pow\ndef pow(x, y): pass", "f(pow(2, 3))"),
        ("from math import pow\ndef f():\n    global pow\n    import pow", "f(pow(2, 3))"),
        ("from math import pow\nexec('pow = 1')", "f(pow(2, 3))"),
        ("import math\nmath.pow = abs\nfrom math import pow", "f(pow(2, 3))"),
        ("from collections import Counter\ndef g(c): c.total = 1\ng(Counter)", "f(Counter('ab').total)"),
        ("from collections import Counter\ndef g(c): c.sum = 1\ng(Counter)", "f(Counter.sum)"),
        ("import math\ndef g(m): m.pow = abs\ng(math)\nfrom math import pow", "f(pow(2, 3))"),
        ("from collections import Counter\ndef g(c): del c.update\ng(Counter)", "f(Counter('ab'))"),
        ("import math\nmath.gcd = abs\nfrom fractions import Fraction", "f(Fraction(1, 2))"),
        ("import os\nos.path.gcd = abs\nfrom fractions import Fraction", "f(Fraction(1, 2))"),
        ("if f:\n    from math import pow", "f(pow(2, 3))"),
        ("from .math import pow", "f(pow(2, 3))"),
        ("import math", "f(math.pow(2, 3))"),
        ("def g():\n    global len\n    len = 1", "f(len('ab'))"),
    ],
)
def test_arguments_that_may_be_the_programs_are_not(program: str, call: str):
    with pytest.raises(Invalid, match="of the program"):
        expressions._take_apart(program, call)
