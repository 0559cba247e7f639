"""Decides whether the called function of a program (`f` or another) reads all of its parameters.

Scopes are told apart on the syntax tree: the interpreter's own table of symbols no longer says, from 3.12 on, what the
comprehensions in a function read.
"""

import _ast
import opcode

from cruxcell.analysis.bytecode import dissect
from cruxcell.analysis.syntax import children, tree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_OPMAP = opcode.opmap
_LOAD_FAST, _EXTENDED_ARG = _OPMAP["LOAD_FAST"], _OPMAP["EXTENDED_ARG"]
_LOAD_TWO = _OPMAP.get("LOAD_FAST_LOAD_FAST", -1)  # from 3.13 on, of four bits each
# Where a variable may be loaded that the text does not read: in-place operations, comprehensions without a frame.
_LOADING = frozenset(
    number for name, number in _OPMAP.items() if name.startswith("INPLACE_") or name == "LOAD_FAST_AND_CLEAR"
)
_BINARY_OP, _FIRST_IN_PLACE = _OPMAP.get("BINARY_OP", -1), 13  # from 3.11 on
_ODD = ("class", "super", "type ")  # words with which names are bound or read without showing
_VARARGS, _VARKEYWORDS = 0x4, 0x8
_FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)
_COMPREHENSIONS = (_ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, *_COMPREHENSIONS, _ast.Lambda, _ast.ClassDef)


def called_function(call, code):
    # type: (Any, object) -> str
    """The name of the function whose arguments matter: the first that the compiled `call` names, if the program has a
    function of that name, else `f`."""
    name = call.co_names[0] if call.co_names else "f"  # type: str
    return name if any(item.co_name == name for item in dissect(code).codes) else "f"


def has_unused_argument(source, code, name="f"):
    # type: (str, object, str) -> bool
    """Does the last module-level function `name` of a program (`code`, compiled from `source`) have a parameter that
    it, and what it holds, never reads? Raises RecursionError where that is nested too deep to be seen."""
    return not _loads_all(source, code, name) and _leaves_one_unread(source, name)


def _loads_all(source, code, name="f"):
    # type: (str, object, str) -> bool
    """Does the bytecode of the one function `name` load each parameter for reading? False where that takes a closer
    look, which costs ten times as much."""
    parts = dissect(code)
    functions = [at for at, item in enumerate(parts.codes) if item.co_name == name]
    if len(functions) != 1 or source.count("def") != 1 or any(word in source for word in _ODD):
        return False
    function, bytecode = parts.codes[functions[0]], parts.bytecodes[functions[0]]
    operations, arguments = bytecode[0::2], bytecode[1::2]
    if not _LOADING.isdisjoint(operations) or function.co_cellvars:
        return False
    loaded = set()
    previous = 0
    for operation, argument in zip(operations, arguments):
        if operation == _LOAD_FAST and previous != _EXTENDED_ARG:
            loaded.add(argument)
        elif operation == _LOAD_TWO and previous != _EXTENDED_ARG:
            loaded.update((argument >> 4, argument & 15))
        elif operation == _BINARY_OP and argument >= _FIRST_IN_PLACE:
            return False
        previous = operation
    return loaded.issuperset(range(_number_of_arguments(function)))


def _number_of_arguments(function):
    # type: (Any) -> int
    """The first so many of its local variables are parameters, those with stars included."""
    count = function.co_argcount + function.co_kwonlyargcount  # type: int
    return count + bool(function.co_flags & _VARARGS) + bool(function.co_flags & _VARKEYWORDS)


# ---- the tree ------------------------------------------------------------------------------------------------------


def _leaves_one_unread(source, name):
    # type: (str, str) -> bool
    module = _Scope([tree_of(source)])
    named = [node for node in module.inner if getattr(node, "name", "") == name]
    if not named or not isinstance(named[-1], _FUNCTIONS):
        return False
    function = _inside(named[-1])
    return any(not _reads(function, parameter) for parameter in _parameters(named[-1]))


def _reads(scope, name):
    # type: (_Scope, str) -> bool
    """Is `name` read in this scope, or in one inside that does not bind it anew?"""
    if name in scope.read:
        return True
    for node in scope.inner:
        inner = _inside(node)
        if name not in inner.bound and name not in _parameters(node) and _reads(inner, name):
            return True
    return False


class _Scope:
    """What one scope reads and binds, and the scopes that stand in it. Nodes of those that are evaluated out here (the
    defaults of a function, the first iterable of a comprehension) count here."""

    def __init__(self, nodes, is_comprehension=False):
        # type: (list[Any], bool) -> None
        self.read = set()  # type: set[str]
        self.bound = set()  # type: set[str]
        self.inner = []  # type: list[Any]
        outer = set()  # type: set[str]
        pending = list(nodes)
        for node in pending:
            if isinstance(node, _ast.Name):
                (self.read if isinstance(node.ctx, _ast.Load) else self.bound).add(node.id)
            elif isinstance(node, _ast.Nonlocal):
                outer.update(node.names)
            elif isinstance(node, _ast.NamedExpr) and is_comprehension:
                outer.add(node.target.id)
            elif isinstance(node, _SCOPES):
                self.inner.append(node)
                pending.extend(_outside(node))
            if not isinstance(node, _SCOPES):
                pending.extend(children(node))
            self._bind(node)
        self.bound -= outer

    def _bind(self, node):
        # type: (Any) -> None
        """Names that are bound by something else than a Name: `def`, `class`, `except ... as`, imports, patterns."""
        for field in ("name", "asname", "rest"):
            name = getattr(node, field, None)
            if type(name) is str:
                self.bound.add(name)


def _inside(node):
    # type: (Any) -> _Scope
    outside = _outside(node)
    nodes = [child for child in children(node) if not any(child is item for item in outside)]
    if isinstance(node, _COMPREHENSIONS):
        first = node.generators[0]
        nodes = [child for child in nodes if child is not first] + [first.target, *first.ifs]
    elif not isinstance(node, _ast.ClassDef):
        nodes = [child for child in nodes if not isinstance(child, _ast.arguments)]
    return _Scope(nodes, isinstance(node, _COMPREHENSIONS))


def _outside(node):
    # type: (Any) -> list[Any]
    """The parts of a scope's node that are evaluated where it stands."""
    if isinstance(node, _COMPREHENSIONS):
        return [node.generators[0].iter]
    if isinstance(node, _ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    arguments = node.args
    found = [*arguments.defaults, *[item for item in arguments.kw_defaults if item is not None]]
    if isinstance(node, _FUNCTIONS):
        found += node.decorator_list
        found += [item.annotation for item in _arguments(node) if item.annotation is not None]
        found += [] if node.returns is None else [node.returns]
    return found


def _parameters(node):
    # type: (Any) -> list[str]
    """The names of a function's parameters; none for other scopes."""
    return [item.arg for item in _arguments(node)] if isinstance(node, (*_FUNCTIONS, _ast.Lambda)) else []


def _arguments(function):
    # type: (Any) -> list[Any]
    every = function.args
    stars = [item for item in (every.vararg, every.kwarg) if item is not None]
    return [*every.posonlyargs, *every.args, *every.kwonlyargs, *stars]
