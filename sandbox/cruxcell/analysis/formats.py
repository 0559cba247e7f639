"""Decides whether what a program formats by `format` and `format_map` reaches for nothing but what it is given.

The text that is formatted names what is put into it. Where a name goes on with an attribute or an item
(`{0.gi_frame.f_back}`, `{0[key]}`), it leads from one object to the next, at the end to all the interpreter holds.
A text is *plain* if the fields in it, those in their specifications too, are numbers and names alone: then it reaches
for the arguments of `format`, or for `mapping[name]`, which the program could have written itself. Only a text that
stands there as a constant can be known to be plain. So what is formatted must be

* a constant, or one of several between which the program chooses (`[a, b][x]`, `a if x else b`);
* a variable, where whatever binds its name in the whole program is an assignment of such a text;
* or an argument of the call that is judged, where all that this call gives is constants: a parameter whose name nothing
  else binds, of a function that only this call can reach, because the function's name stands nowhere else.

No builtin has the name of such a variable or parameter. So wherever the name has a value, it is that text.
"""

import _ast
import _string
import builtins
import opcode

from cruxcell.analysis.operations import GIVING_OPERATIONS
from cruxcell.analysis.syntax import tree_of, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

METHODS = frozenset(["format", "format_map"])
_LOAD_NAME = opcode.opmap["LOAD_NAME"]
_BUILTINS = vars(builtins)


def are_plain(source, of_calls):
    # type: (str, bool) -> bool
    """Is every text plain that the program calls a method in METHODS of?

    of_calls: is every text plain that a call gives to a function of the program (see `gives_plain_texts`)?"""
    try:
        nodes = list(walk(tree_of(source)))
        formatted = [node.value for node in nodes if isinstance(node, _ast.Attribute) and node.attr in METHODS]
        other = [text for text in formatted if not _is_plain_text(text, frozenset())]
        if not other:  # as most: then nothing is to be known of names
            return True
        plain = _plain_names(nodes, of_calls)
        return all(_is_plain_text(text, plain) for text in other)
    except (RecursionError, MemoryError, ValueError):
        return False


def gives_plain_texts(call):
    # type: (Any) -> bool
    """Does this compiled call give a function nothing but constants and displays of them, each text in them plain?"""
    operations = call.co_code[0::2]
    if not GIVING_OPERATIONS.issuperset(operations) or operations.count(_LOAD_NAME) != 1:
        return False
    try:
        return all(map(_is_plain_constant, call.co_consts))
    except ValueError:  # no format, or one that goes wrong when it has reached for something
        return False


# ---- texts ---------------------------------------------------------------------------------------------------------


def _is_plain_constant(const):
    # type: (object) -> bool
    if isinstance(const, (tuple, frozenset)):
        return all(map(_is_plain_constant, const))
    return not isinstance(const, str) or _is_plain(const)


def _is_plain(text):
    # type: (str) -> bool
    """Do the replacement fields of a text, those in its specifications too, reach for nothing? Raises ValueError."""
    for _, field, spec, _ in _string.formatter_parser(text):
        if field is not None and ("." in field or "[" in field or not _is_plain(spec or "")):
            return False
    return True


def _is_plain_text(node, plain):
    # type: (Any, frozenset[str]) -> bool
    """Is what this expression gives a plain text, or else no text? `plain`: the names of which that is known."""
    if isinstance(node, _ast.Constant):
        return type(node.value) is str and _is_plain(node.value)
    if isinstance(node, _ast.IfExp):
        return _is_plain_text(node.body, plain) and _is_plain_text(node.orelse, plain)
    if isinstance(node, _ast.Subscript) and isinstance(node.value, (_ast.List, _ast.Tuple)):
        return all(_is_plain_text(item, plain) for item in node.value.elts)
    return isinstance(node, _ast.Name) and node.id in plain


# ---- names ---------------------------------------------------------------------------------------------------------


def _plain_names(nodes, of_calls):
    # type: (Sequence[Any], bool) -> frozenset[str]
    """The names that have no value but plain texts, or none at all, anywhere in the program. `nodes`: of a module."""
    loaded, bound = _loaded_and_bound(nodes)
    found = [_assigned(node) for node in nodes if isinstance(node, _ast.Assign)]
    if of_calls:
        for function in nodes[0].body:
            if isinstance(function, _ast.FunctionDef) and function.name not in loaded and bound[function.name] == 1:
                found += _given(function)
    for name in found:
        bound[name] = bound.get(name, 0) - 1  # what is left is bound to something else, too
    return frozenset([name for name in found if bound[name] == 0 and name not in _BUILTINS])


def _assigned(node):
    # type: (Any) -> str
    """The first variable that this assigns a plain text to; "" if it is anything else."""
    target = node.targets[0]
    return target.id if isinstance(target, _ast.Name) and _is_plain_text(node.value, frozenset()) else ""


def _given(function):
    # type: (_ast.FunctionDef) -> list[str]
    """The parameters of a function that hold just what it is called with."""
    names = function.args
    if function.decorator_list or names.defaults or any(names.kw_defaults):
        return []
    return [each.arg for each in [*names.posonlyargs, *names.args, *names.kwonlyargs]]


def _loaded_and_bound(nodes):
    # type: (Sequence[Any]) -> tuple[set[str], dict[str, int]]
    """(variables that are looked up, how often each name stands anywhere else). The word that a node says counts unless
    it is known to bind nothing, so that no way to bind a name is missed. To be global binds nothing."""
    loaded = set()  # type: set[str]
    bound = {}  # type: dict[str, int]
    for node in nodes:
        if isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Load):
            loaded.add(node.id)
        elif not isinstance(node, (_ast.Attribute, _ast.Constant, _ast.keyword)):
            for field in node._fields:
                word = getattr(node, field, None)
                if type(word) is str:
                    bound[word] = bound.get(word, 0) + 1
    return loaded, bound
