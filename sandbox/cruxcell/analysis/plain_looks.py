"""Code that only looks at values: it changes none, keeps nothing, and gives the same for the same values at any time.

Read off syntax trees. Every node, name and attribute has to be on a list of what is known to be harmless:

* no statement or attribute that changes a value, and no question for an object's identity;
* no name but the code's own, plain builtins (PLAIN_BUILTINS) and those of a few modules (MODULES).
"""

import _ast

from cruxcell.analysis import annotations
from cruxcell.analysis.hermetic import SAFE_BUILTINS
from cruxcell.analysis.syntax import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

# `print` would be heard, `hash` tells addresses, and an iterator is another after it was asked.
PLAIN_BUILTINS = SAFE_BUILTINS - {"callable", "hash", "iter", "next", "print"}
_NUMPY = frozenset(
    [
        "abs", "allclose", "array", "array_equal", "asarray", "bool_", "float16", "float32", "float64", "floating",
        "generic", "inf", "int32", "int64", "integer", "isclose", "isinf", "isnan", "nan", "ndarray", "number", "pi",
    ]
)  # fmt: skip
_MATH = frozenset(
    [
        "ceil", "comb", "copysign", "cos", "e", "exp", "fabs", "factorial", "floor", "fmod", "fsum", "gcd", "inf",
        "isclose", "isfinite", "isinf", "isnan", "isqrt", "log", "log10", "log2", "nan", "pi", "pow", "sin", "sqrt",
        "tan", "tau", "trunc",
    ]
)  # fmt: skip
MODULES = {"numpy": _NUMPY, "math": _MATH, "typing": annotations.NAMES}
# Classes that are asked about; a new one may hold anything.
KINDS = frozenset(["floating", "generic", "integer", "ndarray", "number"])
# Of values. None gives a function that could change what it is of.
_ATTRIBUTES = frozenset(["dtype", "imag", "ndim", "real", "shape", "size"])

_NODES = (
    _ast.Assert, _ast.Assign, _ast.Attribute, _ast.BinOp, _ast.BoolOp, _ast.Call, _ast.Compare, _ast.Constant,
    _ast.Dict, _ast.DictComp, _ast.Expr, _ast.For, _ast.FormattedValue, _ast.FunctionDef, _ast.GeneratorExp, _ast.If,
    _ast.IfExp, _ast.JoinedStr, _ast.List, _ast.ListComp, _ast.Name, _ast.Pass, _ast.Return, _ast.Set, _ast.SetComp,
    _ast.Slice, _ast.Starred, _ast.Subscript, _ast.Tuple, _ast.UnaryOp, _ast.alias, _ast.arg, _ast.arguments,
    _ast.boolop, _ast.cmpop, _ast.comprehension, _ast.expr_context, _ast.keyword, _ast.operator, _ast.unaryop,
    getattr(_ast, "Index", _ast.Load), getattr(_ast, "ExtSlice", _ast.Load),
)  # fmt: skip
_SINGLES = (None, True, False)


class Unknown(Exception):
    """The code holds what is on no list."""


def uses_of(looked_at, modules):
    # type: (list[Any], dict[str, str]) -> dict[str, list[Any]]
    """Where each name stands, in what can be any code. Raises Unknown for what is on no list."""
    uses = {}  # type: dict[str, list[Any]]
    kinds = asked = 0
    for part in looked_at:
        for node in walk(part):
            if not isinstance(node, _NODES) or not _IS_PLAIN.get(type(node), bool)(node):
                raise Unknown
            if isinstance(node, _ast.Name):
                uses.setdefault(node.id, []).append(node)
            elif isinstance(node, _ast.Attribute):
                _refuse_unknown(node, modules)
                kinds += node.attr in KINDS
            elif isinstance(node, _ast.Call) and getattr(node.func, "id", "") == "isinstance":
                asked += sum(getattr(each, "attr", "") in KINDS for each in _asked_for(node))
    if asked < kinds:
        raise Unknown
    return uses


def _asked_for(call):
    # type: (Any) -> list[Any]
    """The classes that an `isinstance` is handed, as they stand: what is done with one there is another matter."""
    return [each for arg in call.args[1:] for each in (arg.elts if isinstance(arg, _ast.Tuple) else [arg])]


def _refuse_unknown(node, modules):
    # type: (Any, dict[str, str]) -> None
    module = modules.get(node.value.id) if isinstance(node.value, _ast.Name) else None
    if node.attr not in (_ATTRIBUTES if module is None else MODULES[module]):
        raise Unknown


def decides_what_names_mean(name):
    # type: (str) -> bool
    """`isinstance`, which is handed classes, or what Python looks up by itself, as `__builtins__`?"""
    return name == "isinstance" or name[:2] == "__"


def _is_pattern(target):
    # type: (Any) -> bool
    """Are these names, side by side?"""
    if isinstance(target, (_ast.Tuple, _ast.List)):
        return all(map(_is_pattern, target.elts))
    return isinstance(target, _ast.Name)


def _is_by_value(node):
    # type: (Any) -> bool
    """Is nothing compared by identity but with None, True or False?"""
    found = node.comparators[0]
    if not any(isinstance(kind, (_ast.Is, _ast.IsNot)) for kind in node.ops):
        return True
    return len(node.ops) == 1 and isinstance(found, _ast.Constant) and any(found.value is one for one in _SINGLES)


# What has to be looked at beside the class of a node. What is handed to `isinstance` is only asked about.
_IS_PLAIN = {
    _ast.Assign: lambda node: all(map(_is_pattern, node.targets)),
    _ast.Compare: _is_by_value,
    _ast.For: lambda node: _is_pattern(node.target),
    _ast.FunctionDef: lambda node: (
        not decides_what_names_mean(node.name)
        and not any(
            [node.decorator_list, node.args.defaults, any(node.args.kw_defaults), getattr(node, "type_params", None)]
        )
    ),
    _ast.Name: lambda node: isinstance(node.ctx, _ast.Load) or not decides_what_names_mean(node.id),
    _ast.arg: lambda node: not decides_what_names_mean(node.arg),
    _ast.comprehension: lambda node: not node.is_async and _is_pattern(node.target),
    _ast.keyword: lambda node: node.arg not in (None, "where"),  # what numpy's functions leave as it was in memory
}  # type: dict[type, Callable[[Any], bool]]
