"""Finds the classes of a script whose tests hang on what the program gives: whether these are run is for it to say.

By the script's text alone. Who runs the tests knows whether such a class is one of them after all.
"""

import _ast
import builtins

from cruxcell.analysis.syntax import below, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)
_RUN_LATER = (*_FUNCTIONS, _ast.Lambda)
_TARGETS = ("targets", "target", "optional_vars")
_VALUES = ("value", "iter", "context_expr")  # what a node with a target binds to it


def given_tests(tree, given, program_module):
    # type: (Any, frozenset[str], str) -> list[_ast.ClassDef]
    """The classes that have tests, and bases, a metaclass or a decorator by names that are the program's.

    Args:
        tree: of the script.
        given: names that the program gives the script, for it to read builtins by them.
        program_module: by which name the script imports the program, "" if it does not.
    """
    classes = [node for node in below(tree, _RUN_LATER) if isinstance(node, _ast.ClassDef)]
    made_of = [({node.name}, _names_in(_made_of(node))) for node in classes]
    tested = _spread({node.name for node in classes if any(map(_is_a_test, node.body))}, made_of)
    theirs = _of_the_program(tree, given, program_module)
    return [node for node, (_, names) in zip(classes, made_of) if node.name in tested and names & theirs]


def _of_the_program(tree, given, program_module):
    # type: (Any, frozenset[str], str) -> set[str]
    """The names of a script by which it may have what the program makes: those that neither it nor Python binds, what
    it imports from the program, and what it makes of either."""
    nodes = list(walk(tree))
    bindings = [each for node in nodes for each in _bindings_of(node)]
    imported = [each for node in nodes for each in _imported_by(node)]
    bound = {name for names, _ in bindings for name in names}.union([name for name, _ in imported])
    theirs = {each.id for each in nodes if isinstance(each, _ast.Name)}.difference(bound, set(dir(builtins)) - given)
    theirs.update([name for name, module in imported if module == program_module])
    return _spread(theirs, bindings)


def _spread(found, bindings):
    # type: (set[str], list[tuple[set[str], set[str]]]) -> set[str]
    """With all names that are bound, in any number of steps, to what is made of one of these."""
    while True:
        more = [names for names, made_of in bindings if made_of & found and not names <= found]
        if not more:
            return found
        found = found.union(*more)


def _bindings_of(node):
    # type: (Any) -> list[tuple[set[str], set[str]]]
    """(the names that a statement binds, those of what it binds to them). The body of a class does not decide whether
    it is a test; what a function reads, it may return."""
    if isinstance(node, _ast.ClassDef):
        return [({node.name}, _names_in(_made_of(node)))]
    if isinstance(node, _FUNCTIONS):
        return [({node.name}, _names_in([node]))]
    return [(_names_in(_at(node, _TARGETS)), _names_in(_at(node, _VALUES)))]


def _at(node, fields):
    # type: (Any, tuple[str, ...]) -> list[Any]
    found = []  # type: list[Any]
    for value in [getattr(node, field, None) for field in fields]:
        found += value if type(value) is list else [value]
    return [each for each in found if isinstance(each, _ast.AST)]


def _imported_by(node):
    # type: (Any) -> list[tuple[str, str]]
    """(name, the first part of the name of its module)"""
    if not isinstance(node, (_ast.Import, _ast.ImportFrom)):
        return []
    module = getattr(node, "module", None)
    names = [(each.asname or each.name.partition(".")[0], module or each.name) for each in node.names]
    return [(name, whole.partition(".")[0]) for name, whole in names]


def _made_of(node):
    # type: (_ast.ClassDef) -> list[Any]
    """What says which class this is: bases, metaclass, and decorators without what these are given."""
    return [*node.bases, *node.keywords, *[getattr(each, "func", each) for each in node.decorator_list]]


def _is_a_test(node):
    # type: (Any) -> bool
    return isinstance(node, _FUNCTIONS) and (node.name.startswith("test") or node.name == "runTest")


def _names_in(nodes):
    # type: (list[Any]) -> set[str]
    return {each.id for node in nodes for each in walk(node) if isinstance(each, _ast.Name)}
