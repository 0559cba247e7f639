"""Transfer of sympy's expressions, which never change.

Each is written as words and plain data in the order in which it is put together (postfix): an operation stands behind
what it is applied to. It is made by its own class, which computes nothing (`evaluate=False`), of expressions alone:
sympy would run a text that it is given in the place of one. Nothing is imported to write a value.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator  # noqa: F401 - in type comments

_MOST, _DEEPEST = 2_000, 100  # expressions in one
_FURTHEST = 1 << 20  # exponent of a number with a point
_NUMBERS = {"Integer": "int", "Zero": "int", "One": "int", "NegativeOne": "int", "Rational": "ratio", "Half": "ratio"}
_NUMBERS["Float"] = "point"
# Of each of these there is one.
_CONSTANTS = frozenset(
    [
        "BooleanFalse", "BooleanTrue", "Catalan", "ComplexInfinity", "Complexes", "EmptySet", "EulerGamma", "Exp1",
        "GoldenRatio", "ImaginaryUnit", "Infinity", "Integers", "NaN", "Naturals", "Naturals0", "NegativeInfinity",
        "Pi", "Rationals", "Reals", "UniversalSet",
    ]
)  # fmt: skip
# What is told that it shall compute nothing, and what computes nothing by itself.
_TOLD = frozenset(
    [
        "Abs", "Add", "And", "Chi", "Ci", "Complement", "Derivative", "DiracDelta", "Ei", "Equality", "FiniteSet",
        "GreaterThan", "Heaviside", "Implies", "Intersection", "KroneckerDelta", "LambertW", "LessThan", "Max",
        "Min", "Mod", "Mul", "Not", "Or", "Piecewise", "Pow", "Shi", "Si", "StrictGreaterThan", "StrictLessThan",
        "Unequality", "Union", "Xor", "acos", "acosh", "acot", "acoth", "acsc", "arg", "asec", "asin", "asinh",
        "atan", "atan2", "atanh", "beta", "binomial", "ceiling", "conjugate", "cos", "cosh", "cot", "coth", "csc",
        "csch", "erf", "erfc", "exp", "factorial", "factorial2", "fibonacci", "floor", "frac", "gamma", "harmonic",
        "im", "log", "loggamma", "re", "sec", "sech", "sign", "sin", "sinc", "sinh", "tan", "tanh", "zeta",
    ]
)  # fmt: skip
_PLAIN = frozenset(["ImageSet", "Integral", "Interval", "Lambda", "Limit", "Product", "ProductSet", "Sum", "Tuple"])
_PAIR = "ExprCondPair"
_PLACES = {_PAIR: "sympy.functions.elementary.piecewise"}
_OPERATIONS = _TOLD | _PLAIN | {_PAIR}


def parts_of(value):
    # type: (Any) -> tuple[bytes, tuple[Any, ...]] | None
    """The letter of the value, and what `made` makes it of again; None if it does not cross."""
    try:
        parts = tuple(_written(value))
        again = made(parts)
        # Of a function that has but a name there are many classes, which are equal.
        is_same = bool(type(again) == type(value)) and bool(again == value)  # noqa: E721
    except Exception:  # whatever sympy may raise
        return None
    return (b"E", parts) if is_same else None


def made(parts):
    # type: (Any) -> Any
    """What has been taken apart by `parts_of`. Raises ValueError where it is not what that gives."""
    __import__("sympy")
    try:
        return _Making(parts).made()
    except Exception as error:  # whatever sympy may raise
        raise ValueError(str(error)) from None


# ---- taking apart ----------------------------------------------------------------------------------------------------


def _written(value):
    # type: (Any) -> list[Any]
    """What an operation is applied to stands before it, the first one first."""
    pending, found = [value], []  # type: list[Any], list[list[Any]]
    for _ in range(_MOST + 1):
        if not pending:
            return [each for part in reversed(found) for each in part]
        value = pending.pop()
        word, more = _word_of(value), ()  # type: str, tuple[Any, ...]
        if word in ("of", "undefined"):
            more = value.args
            found.append([word, type(value).__name__, len(more)])
        else:
            found.append([word, *_TAKE[word](value)])
        pending += more
    raise ValueError("an expression of so many parts")


def _word_of(value):
    # type: (Any) -> str
    """By the class itself, whatever it says of itself."""
    kind = type(value)
    name = kind.__name__
    if name in _CONSTANTS:
        return "constant" if value is _constant(name) else ""
    if type(kind) is sys.modules["sympy.core.function"].UndefinedFunction:
        return "undefined"
    if kind is not _class_of(name):
        return ""
    return "symbol" if name == "Symbol" else _NUMBERS.get(name, "of")


def _constant(name):
    # type: (str) -> Any
    return getattr(sys.modules["sympy"].S, name)


def _class_of(name):
    # type: (str) -> Any
    """None of one that no expression here is of."""
    if name in _NUMBERS:
        return getattr(sys.modules["sympy.core.numbers"], name)
    known = name == "Symbol" or name in _OPERATIONS
    return getattr(sys.modules[_PLACES.get(name, "sympy")], name, None) if known else None


def _symbol(value):
    # type: (Any) -> list[Any]
    named = dict(getattr(value, "_assumptions_orig", None) or value._assumptions.generator)
    return [value.name, len(named), *[each for pair in sorted(named.items()) for each in pair]]


_TAKE = {
    "int": lambda value: [int(value.p)],
    "ratio": lambda value: [int(value.p), int(value.q)],
    "point": lambda value: [*map(int, value._mpf_[:3]), int(value._prec)],
    "constant": lambda value: [type(value).__name__],
    "symbol": _symbol,
}  # type: dict[str, Any]


# ---- making ----------------------------------------------------------------------------------------------------------


class _Making:
    """`parts` are read once, from the left; `_done` is what was made of them and stands in no expression yet."""

    def __init__(self, parts):
        # type: (Any) -> None
        self._sympy, self._parts = sys.modules["sympy"], iter(parts)  # type: Any, Iterator[Any]
        self._done = []  # type: list[tuple[Any, int]]  # with how deep it is

    def made(self):
        # type: () -> Any
        for count, word in enumerate(self._parts):
            if count >= _MOST or type(word) is not str or word not in _MAKE:
                raise ValueError("not what an expression is made of")
            self._done.append(_MAKE[word](self))
        ((found, _),) = self._done
        return found

    def _next(self, kind):
        # type: (type) -> Any
        value = next(self._parts)
        if type(value) is not kind:
            raise ValueError("not what an expression is made of")
        return value

    def integer(self):
        # type: () -> Any
        return self._sympy.Integer(self._next(int)), 0

    def ratio(self):
        # type: () -> Any
        over, under = self._next(int), self._next(int)
        if under < 1:
            raise ValueError("a ratio that cannot be")
        return self._sympy.Rational(over, under), 0

    def point(self):
        # type: () -> Any
        sign, whole, exponent, precision = [self._next(int) for _ in range(4)]
        is_zero = not whole and not sign and not exponent
        is_number = whole > 0 and whole & 1 and sign in (0, 1) and abs(exponent) < _FURTHEST
        if not (is_zero or is_number) or not 0 < precision < _FURTHEST:
            raise ValueError("a number that cannot be")
        return self._sympy.Float._new((sign, whole, exponent, whole.bit_length()), precision, zero=False), 0

    def constant(self):
        # type: () -> Any
        name = self._next(str)
        if name not in _CONSTANTS:
            raise ValueError("a constant that is none")
        return _constant(name), 0

    def symbol(self):
        # type: () -> Any
        name, count = self._next(str), self._next(int)
        return self._sympy.Symbol(name, **{self._next(str): self._next(bool) for _ in range(count)}), 0

    def operation(self):
        # type: () -> Any
        name = self._next(str)
        if name not in _OPERATIONS:
            raise ValueError("an operation that cannot be")
        arguments, depth = self._arguments()
        return _class_of(name)(*arguments, **({"evaluate": False} if name in _TOLD else {})), depth

    def undefined(self):
        # type: () -> Any
        """A function that only has a name, applied to something."""
        make = self._sympy.Function(self._next(str))
        arguments, depth = self._arguments()
        return make(*arguments), depth

    def _arguments(self):
        # type: () -> tuple[list[Any], int]
        """(what was made last and is applied to, how deep an expression of that is)."""
        begin = len(self._done) - self._next(int)
        if not 0 <= begin <= len(self._done):
            raise ValueError("an operation that cannot be")
        taken, self._done[begin:] = self._done[begin:], []
        depth = 1 + max([depth for _, depth in taken], default=0)
        if depth > _DEEPEST:
            raise ValueError("an expression that is too deep")
        return [each for each, _ in taken], depth


_MAKE = {
    "int": _Making.integer,
    "ratio": _Making.ratio,
    "point": _Making.point,
    "constant": _Making.constant,
    "symbol": _Making.symbol,
    "of": _Making.operation,
    "undefined": _Making.undefined,
}  # type: dict[Any, Any]
