"""Facts about a program for the data-set filter: properties of its text, and the operands of its operations.

Operands are seen by rewriting the syntax tree: every binary and in-place operation becomes a call that looks at both
operands and then performs the operation. What the program does stays the same: operands are evaluated in the same
order and once, in-place operations stay in place. That way the rules hold alike on every version of the interpreter.
Operations between constants are left alone where the compiler carries them out: no such operation happens at run time.

Only ever used inside a worker, and only the tree's own module `_ast` is needed: `ast` would cost every fork its memory.
"""

import _ast
import _operator
import opcode
import sys

from cruxcell.analysis.bytecode import Anatomy, dissect
from cruxcell.analysis.parsing import compile_alike
from cruxcell.analysis.syntax import tree_of, walk
from cruxcell.analysis.unused_parameters import called_function, has_unused_argument
from cruxcell.namespace import fresh_namespace
from cruxcell.protocol import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_DONT_INHERIT = True
_OPMAP = opcode.opmap
_BINARY = frozenset(
    number
    for name, number in _OPMAP.items()
    if name.startswith(("BINARY_", "INPLACE_")) and name not in ("BINARY_SUBSCR", "BINARY_SLICE")
)
_IMPORT = _OPMAP["IMPORT_NAME"]
_INF = float("inf")

# Operator of the tree -> the name of its function in `_operator`.
_OPERATORS = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "MatMult": "matmul",
    "Div": "truediv",
    "Mod": "mod",
    "Pow": "pow",
    "LShift": "lshift",
    "RShift": "rshift",
    "BitOr": "or_",
    "BitXor": "xor",
    "BitAnd": "and_",
    "FloorDiv": "floordiv",
}
_IN_PLACE = {"or_": "ior", "and_": "iand"}


class Inspector:
    """Inspects the calls of one program. `seen` collects what is seen in one run.

    Args:
        source: the program's text.
        code: the same, compiled.
    """

    def __init__(self, source, code):
        # type: (str, CodeType) -> None
        self._static = {}  # type: dict[str, set[str]]
        self.seen = set()  # type: set[str]
        self._source, self._code = source, code
        self._program = None  # type: CodeType | None
        self._names = {}  # type: dict[str, object]
        self._has_operations = not dissect(code).all_operations.isdisjoint(_BINARY)

    def static(self, call):
        # type: (CodeType) -> set[str]
        """The facts of the program's text, and of the function that the compiled `call` calls."""
        name = called_function(call, self._code)
        if name not in self._static:
            self._static[name] = static_findings(self._source, self._code, name)
        return self._static[name]

    def watch(self, text, call):
        # type: (str, CodeType) -> tuple[CodeType, CodeType, dict[str, object]] | None
        """(program, call, names) to be run once more to see its operands; None when nothing could be seen.

        Args:
            text: the call's text.
            call: the same, compiled.
        """
        watched = has_operations(call)
        if not self._has_operations and not watched:
            return None
        if self._program is None:
            self._program = rewrite(self._source, "exec") if self._has_operations else self._code
            self._names = operations(self.seen)
        return self._program, rewrite(text, "eval") if watched else call, dict(self._names)

    def look(self, text, call, begin, evaluate):
        # type: (str, CodeType, Callable[[], None], Callable[[CodeType, dict[str, object]], object]) -> set[str]
        """What is seen in a run of its own, under the names of `messages`. `begin` is called before it, and `evaluate`
        runs code of the task. Its value and errors count for nothing: the run without rewriting has given those, and
        this one has the clocks for limits."""
        try:
            watched = self.watch(text, call)
        except Exception:  # nested too deep to be rewritten
            return {messages.UNINSPECTED}
        if watched is None:
            return set()
        program, call, namespace = watched
        self.seen.clear()
        streams = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = _Nowhere()
        begin()
        try:
            namespace.update(fresh_namespace())
            evaluate(program, namespace)
            evaluate(call, namespace)
        except BaseException:
            pass
        sys.stdout, sys.stderr = streams  # the next check finds all as it was
        return set(self.seen)


class _Nowhere:
    """A stream for what was printed once before."""

    def write(self, text):
        # type: (str) -> int
        return len(text)

    def flush(self):
        # type: () -> None
        pass


# ---- facts of the text ---------------------------------------------------------------------------------------------


def static_findings(source, code, name):
    # type: (str, CodeType, str) -> set[str]
    """IMPORT_NAME, UNUSED_ARGUMENT (of the function `name`): what the text alone says; UNINSPECTED where that is too
    deep to see."""
    found = set()
    if _IMPORT in dissect(code).all_operations:
        found.add(messages.IMPORT_NAME)
    try:
        if has_unused_argument(source, code, name):
            found.add(messages.UNUSED_ARGUMENT)
    except RecursionError:
        found.add(messages.UNINSPECTED)
    return found


def call_findings(text, code, is_direct):
    # type: (str, CodeType, bool) -> set[str]
    """CALL_SHAPE unless the text is one call of `f` whose arguments do not name `f`."""
    if is_direct:
        return set() if code.co_names == ("f",) else {messages.CALL_SHAPE}
    body = _parse(text, "eval").body
    if not isinstance(body, _ast.Call) or not isinstance(body.func, _ast.Name) or body.func.id != "f":
        return {messages.CALL_SHAPE}
    names = sum(isinstance(node, _ast.Name) and node.id == "f" for node in walk(body))
    return {messages.CALL_SHAPE} if names > 1 else set()


def is_literal(value):
    # type: (object) -> bool
    """Does the repr of `value` read as a constant, list, tuple, set or dict, and signs before numbers?"""
    pending = [value]  # type: list[Any]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is int or kind is str or kind is bool or kind is bytes or item is None:
            continue
        if kind is list or kind is tuple or (kind is set and item):
            pending.extend(item)
        elif kind is dict:
            pending.extend(item)
            pending.extend(item.values())
        elif kind is float:
            if not -_INF < item < _INF:
                return False
        elif kind is complex:
            if str(item)[0] == "(" or not -_INF < item.imag < _INF:
                return False
        else:
            return False
    return True


# ---- operations ----------------------------------------------------------------------------------------------------


def has_operations(code):
    # type: (CodeType) -> bool
    """Does the code hold a binary or in-place operation that happens at run time?"""
    return not Anatomy(code).all_operations.isdisjoint(_BINARY)


def operations(seen):
    # type: (set[str]) -> dict[str, object]
    """The functions that stand for operations in a rewritten tree; what they see goes into `seen`."""
    names = {}  # type: dict[str, object]
    for operator, name in _OPERATORS.items():
        names["@" + operator] = _watched(getattr(_operator, name), operator, seen)
        names["@i" + operator] = _watched(getattr(_operator, _IN_PLACE.get(name, "i" + name)), operator, seen)
    names["@slice"] = slice
    return names


def _watched(operate, operator, seen):
    # type: (Callable[[Any, Any], Any], str, set[str]) -> object
    """`operate`, with the operand rules applied before it."""
    is_power, is_division = operator == "Pow", operator == "Div"

    def operation(left, right):
        # type: (Any, Any) -> Any
        first, second = type(left), type(right)
        if (first is int or first is float) and (second is int or second is float):
            if abs(left) > 3 and abs(right) > 3:
                seen.add(messages.OPS_BIG)
            if is_power and abs(left) > 1:
                seen.add(messages.POWER_BIG)
            if is_division:
                seen.add(messages.TRUE_DIVIDE)
            if first is float or second is float:
                seen.add(messages.FLOAT_OPS)
        elif (first is list or first is str) and (second is list or second is str) and len(left) > 3 and len(right) > 3:
            seen.add(messages.OPS_LONG)
        return operate(left, right)

    return operation


# ---- the tree ------------------------------------------------------------------------------------------------------


def _parse(text, mode):
    # type: (str, str) -> Any
    return tree_of(text.strip(" \t\f\r\n") if mode == "eval" else text, "<check>", mode)


def rewrite(text, mode):
    # type: (str, str) -> Any
    """`text` compiled with each of its operations as a call of one of `operations`."""
    tree = _Rewriter().node(_parse(text, mode))
    return compile_alike(tree, "<program>", mode)


class _Rewriter:
    """Replaces operations, from the leaves up."""

    def __init__(self):
        # type: () -> None
        self._temporaries = 0

    def node(self, node):
        # type: (Any) -> Any
        """The node that takes this one's place; a list of statements where one becomes several."""
        for name in node._fields:
            value = getattr(node, name, None)
            if type(value) is list:
                setattr(node, name, self._nodes(value))
            elif isinstance(value, _ast.AST) and value._fields:
                setattr(node, name, self.node(value))
        if isinstance(node, _ast.BinOp):
            return node if _is_folded(node) else _call(node, "@" + type(node.op).__name__, [node.left, node.right])
        if isinstance(node, _ast.AugAssign):
            return self._in_place(node)
        return node

    def _nodes(self, items):
        # type: (list[Any]) -> list[Any]
        out = []  # type: list[Any]
        for item in items:
            new = self.node(item) if isinstance(item, _ast.AST) else item
            if type(new) is list:
                out.extend(new)
            else:
                out.append(new)
        return out

    def _in_place(self, node):
        # type: (_ast.AugAssign) -> list[Any]
        """`a.b += c` as `t = a; t.b = @iAdd(t.b, c)`: the parts of a target are evaluated once, and first."""
        before = []  # type: list[Any]
        target = node.target
        if isinstance(target, _ast.Name):
            pair = (_name(node, target.id, _ast.Store()), _name(node, target.id, _ast.Load()))  # type: Any
        elif isinstance(target, _ast.Attribute):
            owner = self._keep(target.value, before)
            pair = tuple(
                _placed(_ast.Attribute(value=owner(), attr=target.attr, ctx=ctx), node)
                for ctx in (_ast.Store(), _ast.Load())
            )
        else:
            owner = self._keep(target.value, before)
            index = self._keep(_index(target.slice), before)
            pair = tuple(
                _placed(_ast.Subscript(value=owner(), slice=_as_index(index()), ctx=ctx), node)
                for ctx in (_ast.Store(), _ast.Load())
            )
        value = _call(node, "@i" + type(node.op).__name__, [pair[1], node.value])
        return [*before, _placed(_ast.Assign(targets=[pair[0]], value=value), node)]

    def _keep(self, value, before):
        # type: (Any, list[Any]) -> Any
        """Store `value` under a name no program can have; a function that makes nodes that read it."""
        self._temporaries += 1
        name = "@%d" % self._temporaries
        before.append(_placed(_ast.Assign(targets=[_name(value, name, _ast.Store())], value=value), value))
        return lambda: _name(value, name, _ast.Load())


def _is_folded(node):
    # type: (_ast.BinOp) -> bool
    """Are both operands constants, and does the compiler compute the operation?"""
    if not all(
        isinstance(side, (_ast.Constant, _ast.UnaryOp, _ast.BinOp, _ast.Tuple)) for side in (node.left, node.right)
    ):
        return False
    if any(isinstance(item, (_ast.Name, _ast.Call)) for item in walk(node)):
        return False
    code = compile(_ast.Expression(body=node), "<check>", "eval", 0, _DONT_INHERIT)
    return not has_operations(code)


def _placed(new, old):
    # type: (Any, Any) -> Any
    """`new`, at the place of `old` in the text."""
    for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
        setattr(new, name, getattr(old, name, None) or 1)
    return new


def _name(old, name, context):
    # type: (Any, str, Any) -> Any
    return _placed(_ast.Name(id=name, ctx=context), old)


def _call(old, name, arguments):
    # type: (Any, str, list[Any]) -> Any
    return _placed(_ast.Call(func=_name(old, name, _ast.Load()), args=arguments, keywords=[]), old)


_OLD_INDEX = getattr(_ast, "Index", None)  # the node around a plain index, up to 3.8


def _index(node):
    # type: (Any) -> Any
    """What stands in a subscript, as an expression: slices become calls of `slice`."""
    if isinstance(node, _ast.Slice):
        parts = [
            part or _placed(_ast.Constant(value=None, kind=None), node.lower or node)
            for part in (node.lower, node.upper, node.step)
        ]
        return _call(node.lower or node, "@slice", parts)
    if _OLD_INDEX is not None and isinstance(node, _OLD_INDEX):
        return node.value
    if type(node).__name__ == "ExtSlice":  # up to 3.8
        parts = [_index(part) for part in node.dims]
        return _placed(_ast.Tuple(elts=parts, ctx=_ast.Load()), parts[0])
    if isinstance(node, _ast.Tuple):
        node.elts = [_index(part) for part in node.elts]
    return node


def _as_index(node):
    # type: (Any) -> Any
    return node if _OLD_INDEX is None else _OLD_INDEX(value=node)
