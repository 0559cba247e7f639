"""Scripts that only assert what calls with constants give: taken apart into calls, and what is expected of each.

    METADATA = {}                              def check(candidate):
    def check(candidate):                          assert candidate(1, k=[2]) == 3, "a message"
        ...                          or            assert not candidate(4)
    check(f)                                       assert candidate(5) is None

or the same assertions on `f` at the top. The calls can then be made in a worker that is never told what is expected,
one after the other in one namespace, as the script would; and the values are compared elsewhere. Whatever has another
shape, or a name where a constant should stand, is no series: it has to be run.

Read off the syntax tree. The constants are evaluated here, all by one expression that holds nothing else.
"""

import _ast
import builtins

from cruxcell.analysis.parsing import Invalid, compile_tree, is_constant
from cruxcell.analysis.syntax import only_parameter, walk
from cruxcell.protocol import frames
from cruxcell.protocol.payloads import AS_IT_IS, SERIES_LINE, SINGLE, TRUTH
from cruxcell.protocol.records import text_bytes
from cruxcell.values import transfer
from cruxcell.values.canonical import NotPlain, TooLarge, canon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Asserted = tuple[bytes, int, str, Any, Any]  # view, line, message, call, expected (a node, or a value)

_MOST_CALLS, _MOST_BYTES = 200, 1 << 20
_SINGLES = (True, False, None)
# What changes nothing for the script around it where it is not evaluated.
_OF_MESSAGES = (
    _ast.Constant, _ast.Name, _ast.Attribute, _ast.Subscript, _ast.Call, _ast.keyword, _ast.BinOp, _ast.operator,
    _ast.JoinedStr, _ast.FormattedValue, _ast.Tuple, _ast.List, _ast.expr_context, getattr(_ast, "Index", _ast.Load),
    _ast.UnaryOp, _ast.unaryop, _ast.Dict, _ast.Set,
)  # fmt: skip


class _Other(Exception):
    """The script has another shape."""


def split_series(tree):
    # type: (Any) -> tuple[bytes, bytes] | None
    """(what is expected, the calls), packed; None if the script is no series.

    `tree` is what `parse_text(script, "exec")` gave. The first holds the name that is called, then for each call its
    `SERIES_LINE`, message and canonical value; the second the encoded arguments of all calls, then the view of each.
    """
    try:
        name, asserted, others = _taken_apart(tree.body)
        return _packed(name, asserted, _evaluated(asserted, others))
    except (_Other, Invalid, NotPlain, TooLarge):
        return None


def _taken_apart(body):
    # type: (list[Any]) -> tuple[str, list[Asserted], list[Any]]
    """(the name that is called, what is asserted, other expressions that have to be constants)."""
    others = []  # type: list[Any]
    asserted, function, given = [], None, ""  # type: list[Asserted], Any, str
    for node in body:
        if given:
            raise _Other
        if isinstance(node, _ast.FunctionDef) and function is None and not asserted:
            function = node
        elif isinstance(node, _ast.Assign):
            others.append(_assigned(node))
        elif function is not None:
            given = _given(node, function)
        else:
            asserted += _asserted_by(node, "")
    if function is not None:
        asserted = _asserted_in(function)
    names = {each[3].func.id for each in asserted}
    if len(names) != 1 or len(asserted) > _MOST_CALLS or (function is not None and not given):
        raise _Other
    name = given or names.pop()
    if hasattr(builtins, name) or name.startswith("__") or name.isupper():
        raise _Other
    return name, asserted, others


def _assigned(node):
    # type: (Any) -> Any
    """METADATA and the like: what is assigned to names that nothing here is called by."""
    for target in node.targets:
        if not isinstance(target, _ast.Name) or not target.id.isupper():
            raise _Other
    return node.value


def _given(node, function):
    # type: (Any, Any) -> str
    """The name that `check(name)` hands to the function; "" for a text that stands alone."""
    if not isinstance(node, _ast.Expr):
        raise _Other
    call = node.value
    if isinstance(call, _ast.Constant):
        return ""
    if not isinstance(call, _ast.Call) or call.keywords or len(call.args) != 1:
        raise _Other
    (argument,) = call.args
    if not isinstance(call.func, _ast.Name) or call.func.id != function.name or not isinstance(argument, _ast.Name):
        raise _Other
    if argument.id == function.name:
        raise _Other
    return str(argument.id)


def _asserted_in(function):
    # type: (Any) -> list[Asserted]
    """What a function of one plain parameter asserts of it."""
    parameter = only_parameter(function)
    if not parameter or function.name.isupper():
        raise _Other
    return [each for node in function.body for each in _asserted_by(node, parameter)]


def _asserted_by(node, parameter):
    # type: (Any, str) -> list[Asserted]
    """What one statement asserts: nothing, if it does nothing or asserts what is true. `parameter`: that of the
    function it stands in, which is all that is called there."""
    if isinstance(node, _ast.Pass) or _is_idle(node):
        return []
    if not isinstance(node, _ast.Assert):
        raise _Other
    message, test = _message(node.msg), node.test
    if isinstance(test, _ast.Constant) and test.value is True:
        return []
    view, wanted = TRUTH, True  # type: bytes, Any
    if isinstance(test, _ast.UnaryOp) and isinstance(test.op, _ast.Not):
        test, wanted = test.operand, False
    elif isinstance(test, _ast.Compare):
        view, test, wanted = _compared(test)
    if not isinstance(test, _ast.Call) or not isinstance(test.func, _ast.Name):
        raise _Other
    if parameter and test.func.id != parameter:
        raise _Other
    keywords = [item.arg for item in test.keywords]
    if any(isinstance(item, _ast.Starred) for item in test.args) or None in keywords:
        raise _Other
    if len(set(keywords)) != len(keywords):
        raise _Other
    # Where all begins on one line, an error of the call and a failure have that line, whatever follows below.
    is_known = message is not None and node.lineno == node.test.lineno == test.lineno
    return [(view, node.lineno if is_known else 0, message or "", test, wanted)]


def _compared(test):
    # type: (Any) -> tuple[bytes, Any, Any]
    """(view, call, expected) of a comparison by `==`, or by `is` with True, False or None."""
    if len(test.ops) != 1:
        raise _Other
    call, wanted = test.left, test.comparators[0]
    if isinstance(test.ops[0], _ast.Is) and isinstance(wanted, _ast.Constant):
        if not any(wanted.value is one for one in _SINGLES):
            raise _Other
        return SINGLE, call, [wanted.value is one for one in _SINGLES]
    if not isinstance(test.ops[0], _ast.Eq):
        raise _Other
    return (AS_IT_IS, call, wanted) if isinstance(call, _ast.Call) else (AS_IT_IS, wanted, call)


def _is_idle(node):
    # type: (Any) -> bool
    """A docstring, or the name of a builtin (`print`): a statement without effect."""
    if not isinstance(node, _ast.Expr):
        return False
    value = node.value
    return isinstance(value, _ast.Constant) or (isinstance(value, _ast.Name) and hasattr(builtins, value.id))


def _message(node):
    # type: (Any) -> str | None
    """The text of an assertion; None if it would have to be computed, where the assertion fails."""
    if node is None:
        return ""
    if isinstance(node, _ast.Constant) and type(node.value) is str:
        return node.value
    if not all(isinstance(each, _OF_MESSAGES) for each in walk(node)):
        raise _Other
    compile_tree(_ast.Expression(body=node))
    return None


def _evaluated(asserted, others):
    # type: (list[Asserted], list[Any]) -> list[Any]
    """For each call (arguments, keywords, expected): the value of one expression, which has to be constant."""
    parts = []
    for view, _, _, call, wanted in asserted:
        keys = [_ast.Constant(value=item.arg, kind=None) for item in call.keywords]  # type: list[Any]
        parts += [_tuple(call.args), _ast.Dict(keys=keys, values=[item.value for item in call.keywords])]
        parts += [wanted] if view == AS_IT_IS else []
    tree = _ast.Expression(body=_tuple([*parts, *others]))
    for node in [tree.body, *parts] + [key for part in parts if isinstance(part, _ast.Dict) for key in part.keys]:
        if node is not None and not hasattr(node, "lineno"):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    code = compile_tree(tree)
    if not is_constant(code):
        raise _Other
    try:
        values = iter(eval(code, {"__builtins__": {}}))
    except Exception:  # 1 / 0, say: it is raised where it stands
        raise _Other from None
    return [(next(values), next(values), next(values) if each[0] == AS_IT_IS else each[4]) for each in asserted]


def _tuple(elements):
    # type: (list[Any]) -> _ast.Tuple
    return _ast.Tuple(elts=elements, ctx=_ast.Load())


def _packed(name, asserted, values):
    # type: (str, list[Asserted], list[Any]) -> tuple[bytes, bytes]
    # A tuple that stands in several calls is one object, as in a pair: so all are encoded at once. What all arguments
    # of two calls make up is not, which is why they are a list.
    encoded = transfer.encode([(list(arguments), keywords) for arguments, keywords, _ in values], _MOST_BYTES)
    expected, calls = [name.encode()], [encoded]
    for (view, line, message, _, _), (_, _, wanted) in zip(asserted, values):
        canonical, has_nan = canon(wanted, _MOST_BYTES)
        if has_nan:
            raise _Other
        expected += [SERIES_LINE.pack(line), text_bytes(message), canonical]
        calls.append(view)
    packed = frames.pack(expected), frames.pack(calls)
    if len(packed[0]) + len(packed[1]) > _MOST_BYTES:
        raise _Other
    return packed
