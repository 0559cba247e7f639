"""Finds the classes of a script whose tests hang on what the program gives: whether these are run is for it to say.

By the script's text alone. Who runs the tests knows whether such a class is one of them after all. A script may hold
megabytes of data, so only the expressions are looked into that a class is made of.
"""

import _ast
import builtins

from cruxcell.analysis.syntax import below, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator  # noqa: F401 - in type comments
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)
_IMPORTS = (_ast.Import, _ast.ImportFrom)
_TARGETS = ("targets", "target", "optional_vars")
_VALUES = ("value", "iter", "context_expr")  # what a node with a target binds to it
_OPTIMIZED = 1  # a flag of the code of functions, not of classes
_WITH_PARAMETERS = "<generic parameters of "  # in this code stands that of a class or function that has some


def class_names(code):
    # type: (CodeType) -> Iterator[str]
    """The names of the classes that stand outside of functions, by the code of a script."""
    for each in code.co_consts:
        if type(each) is type(code):
            is_class = not each.co_flags & _OPTIMIZED
            if is_class:
                yield each.co_name
            if is_class or each.co_name.startswith(_WITH_PARAMETERS):
                yield from class_names(each)


def given_tests(tree, given, program_module):
    # type: (Any, frozenset[str], str) -> list[_ast.ClassDef]
    """The classes that have tests, and bases, a metaclass or a decorator by names that are the program's: which neither
    the script nor Python binds, which it imports from the program, or which it makes of such.

    Args:
        tree: of the script.
        given: names that the program gives the script, for it to read builtins by them.
        program_module: by which name the script imports the program, "" if it does not.
    """
    bound, imported = _bindings(tree, program_module)
    own = {*bound, *dir(builtins)}.difference(imported, given.difference(bound))
    found = []
    for node in below(tree, (_ast.expr, *_FUNCTIONS)):
        if isinstance(node, _ast.ClassDef):
            names, made_of = _reached(node, bound)
            if names - own and any(map(_has_tests, made_of)):
                found.append(node)
    return found


def _bindings(tree, program_module):
    # type: (Any, str) -> tuple[dict[str, list[Any]], set[str]]
    """(name -> the statements and parts of statements that bind it, the names that are imported from the program)"""
    bound, imported = {}, set()  # type: dict[str, list[Any]], set[str]
    for node in below(tree, (_ast.expr,)):
        for name, module in _imported_by(node) if isinstance(node, _IMPORTS) else ():
            bound.setdefault(name, []).append(node)
            if module == program_module:
                imported.add(name)
        named = [node.name] if isinstance(node, (_ast.ClassDef, *_FUNCTIONS)) else _names_in(_at(node, _TARGETS))
        for name in named:
            bound.setdefault(name, []).append(node)
    return bound, imported


def _reached(node, bound):
    # type: (Any, dict[str, list[Any]]) -> tuple[set[str], list[Any]]
    """(the names, what binds them) that a class is made of in any number of steps; it is the first of these."""
    names, nodes = set(), [node]  # type: set[str], list[Any]
    for each in nodes:
        more = _names_in(_made_of(each)) - names
        names |= more
        nodes += [one for name in more for one in bound.get(name, ())]
    return names, nodes


def _made_of(node):
    # type: (Any) -> list[Any]
    """What decides what a statement binds to a name. Of a class bases, metaclass, and decorators without what these
    are given; what a function reads, it may return."""
    if isinstance(node, _ast.ClassDef):
        return [*node.bases, *node.keywords, *[getattr(each, "func", each) for each in node.decorator_list]]
    return [node] if isinstance(node, _FUNCTIONS) else _at(node, _VALUES)


def _imported_by(node):
    # type: (Any) -> list[tuple[str, str]]
    """(name, the first part of the name of its module)"""
    module = getattr(node, "module", None)
    names = [(each.asname or each.name.partition(".")[0], module or each.name) for each in node.names]
    return [(name, whole.partition(".")[0]) for name, whole in names]


def _at(node, fields):
    # type: (Any, tuple[str, ...]) -> list[Any]
    found = []  # type: list[Any]
    for value in [getattr(node, field, None) for field in fields]:
        found += value if type(value) is list else [value]
    return [each for each in found if isinstance(each, _ast.AST)]


def _has_tests(node):
    # type: (Any) -> bool
    return isinstance(node, _ast.ClassDef) and any(map(_is_a_test, node.body))


def _is_a_test(node):
    # type: (Any) -> bool
    return isinstance(node, _FUNCTIONS) and (node.name.startswith("test") or node.name == "runTest")


def _names_in(nodes):
    # type: (list[Any]) -> set[str]
    return {each.id for node in nodes for each in walk(node) if isinstance(each, _ast.Name)}
