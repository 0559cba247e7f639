"""How sympy's expressions cross: what comes out equals what went in, and nothing is computed or run on the way."""

from __future__ import annotations

from typing import Any

import pytest
from containers_by_hand import Ends
from cruxcell.values import formulas
from cruxcell.values.canonical import NotPlain

sympy: Any = pytest.importorskip("sympy")
x, y = sympy.symbols("x y")
n = sympy.Symbol("n", integer=True, positive=True)
g, S, inf = sympy.Function("g"), sympy.S, sympy.oo

EXPRESSIONS = [
    *map(sympy.Integer, [5, 0, 1, -1, 2**200]), sympy.Rational(-1, 3), S.Half, sympy.Float(1.5),
    sympy.Float("1.1", 50), sympy.Float(0), sympy.Float(-(2.0**-70)),
    *[getattr(S, name) for name in sorted(formulas._CONSTANTS)], x, n, sympy.Symbol("two words"), x + 1, 2 * x * y,
    x**2, sympy.sqrt(x), 1 / x, sympy.sin(x) + sympy.cos(y) ** 2, sympy.exp(x), sympy.log(x, 2), abs(x),
    sympy.Max(x, y), sympy.Min(x, 1), sympy.Eq(x, 1), sympy.Ne(x, y), x < y, x >= 1, sympy.And(x < 1, y > 2),
    sympy.Or(x < 1, y > 2), ~sympy.Eq(x, 1), sympy.FiniteSet(1, 2, x), sympy.Interval(0, 1), sympy.Interval.open(0, x),
    sympy.Interval(-inf, 2), sympy.Union(sympy.Interval(0, 1), sympy.FiniteSet(5)), sympy.Tuple(x, 1), sympy.Tuple(),
    sympy.Piecewise((x, x > 1), (0, True)), sympy.Integral(x**2, x), sympy.Integral(x, (x, 0, 1)),
    sympy.Sum(n, (n, 1, inf)), sympy.Derivative(sympy.sin(x) / y, x), g(x), g(), g(x).diff(x, 2),
    sympy.Lambda(x, x**2), sympy.Lambda((x, y), x), sympy.Limit(sympy.sin(x) / x, x, 0), sympy.expand((x + y) ** 8),
    sympy.solve(x**4 - x - 1, x)[0], sympy.series(sympy.exp(x), x, 0, 5).removeO(), sympy.Mul(2, 3, evaluate=False),
    sympy.Pow(2, 3, evaluate=False), sympy.Add(x, x, evaluate=False),
    sympy.ImageSet(sympy.Lambda(n, n**2), S.Integers), sympy.ProductSet(sympy.Interval(0, 1), sympy.FiniteSet(2)),
    sympy.Mod(x, 3), sympy.atan2(y, x),
]  # fmt: skip


@pytest.mark.parametrize("value", EXPRESSIONS, ids=str)
def test_an_expression_crosses(value: Any):
    found = Ends().send(value)
    assert type(found) == type(value)  # noqa: E721 - of a function that has but a name there are many
    assert found is value or found == value
    assert hash(found) == hash(value)
    assert str(found) == str(value)
    letter, parts = formulas.parts_of(value)  # type: ignore[misc]
    assert letter == b"E"
    assert {type(each) for each in parts} <= {str, int, bool}


def test_what_it_knows_of_a_symbol_crosses():
    found = Ends().send(n + 1)
    assert found.is_positive
    assert found.is_integer
    assert found != sympy.Symbol("n") + 1
    assert Ends().send(sympy.Float("1.1", 50))._prec == sympy.Float("1.1", 50)._prec


class Own(sympy.Symbol):  # type: ignore[misc]
    """A class that somebody has made."""


def deep(depth: int) -> Any:
    found = x
    for _ in range(depth):
        found = sympy.sin(found, evaluate=False)
    return found


@pytest.mark.parametrize(
    "value",
    [
        sympy.Dummy("x"), sympy.Wild("x"), sympy.Matrix([1]), Own("x"), x + Own("x"), x + sympy.Dummy(), sympy.sin, g,
        sympy.Function("g", real=True)(x), sympy.Poly(x, x), deep(101), sympy.FiniteSet(*range(2000)), S,
        sympy.Subs(x, x, 1),
    ],
    ids=str,
)  # fmt: skip
def test_what_else_sympy_has_is_an_object(value: Any):
    with pytest.raises(NotPlain):
        Ends().send(value)


def test_a_class_of_its_name_is_none_of_sympy_s():
    value = type("Integer", (), {"p": 1, "__module__": "sympy"})()
    assert formulas.parts_of(value) is None
    assert formulas.parts_of(type("Pi", (), {})()) is None


def test_what_its_class_would_make_another_of_is_an_object():
    value = sympy.Basic.__new__(sympy.Interval, S.Zero, S.One)
    assert type(formulas.made(["int", 0, "int", 1, "of", "Interval", 2])) is type(value)
    assert formulas.parts_of(value) is None


def test_as_many_parts_and_as_deep_as_may_be_cross():
    assert Ends().send(deep(100)) == deep(100)
    found = sympy.Tuple()  # which has nothing in it
    for _ in range(99):
        found = sympy.Tuple(found)
    assert Ends().send(found) == found
    assert Ends().send(sympy.FiniteSet(*range(1999))) == sympy.FiniteSet(*range(1999))


GOOD: list[Any] = ["symbol", "x", 0, "int", 2, "of", "Pow", 2]


@pytest.mark.parametrize(
    "parts",
    [
        [], ["int"], ["int", "2"], ["int", 2.0], ["int", True], ["int", 1, "int", 1], [1], [None], [["int"]],
        ["exec", "1"], ["ratio", 1, 0], ["ratio", 1, -2], ["ratio", 1], ["point", 0, 2, 0, 53], ["point", 2, 1, 0, 53],
        ["point", 0, -1, 0, 53], ["point", 0, 1, 1 << 20, 53], ["point", 0, 1, 0, 0], ["point", 0, 1, 0, 1 << 20],
        ["point", 1, 0, 0, 53], ["point", 0, 0, 1, 53], ["constant", "sympify"], ["constant", "__class__"],
        ["symbol", 5, 0], ["symbol", "x", 1, "positive", 1], ["symbol", "x", 1, "cls", True], ["symbol", "x", 1],
        [*GOOD[:-1], 3], [*GOOD[:-1], -1], [*GOOD[:-2], "sympify", 1],
        ["int", 2, "of", "Integer", 1], ["of", "Symbol", 0], [type("Text", (str,), {})("int"), 1],
        [*GOOD[:-2], "Symbol", 1], [*GOOD[:-2], "Function", 1], [*GOOD[:-2], "Integer", 1], ["of", "Dummy", 0],
        ["undefined", "__import__", 1], ["undefined", 5, 0], ["int", 1, *["of", "sin", 1] * 101],
        ["int", 1, *["int", 1] * 2001, "of", "FiniteSet", 2002], ["of", "ExprCondPair", 0],
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_expression_is_refused(parts: list[Any]):
    assert formulas.made(GOOD) == x**2
    with pytest.raises(ValueError):
        formulas.made(parts)


def test_nothing_is_computed():
    huge = formulas.made(["int", 10, "int", 10, "int", 10, "of", "Pow", 2, "of", "Pow", 2])
    assert (type(huge), huge.args) == (sympy.Pow, (10, sympy.Pow(10, 10, evaluate=False)))
    assert str(formulas.made(["int", 3, "of", "factorial", 1])) == "factorial(3)"
    assert formulas.made(["symbol", "exec('1')", 0]).name == "exec('1')"


def test_no_text_stands_for_an_expression():
    with pytest.raises(ValueError, match="not what an expression"):
        formulas.made(["__import__('os')", "of", "Tuple", 1])
