"""Finds scripts that cannot fail, because a check without a test must not pass.

Read off the syntax tree, in a worker that runs nothing of the task.
"""

import _ast

from cruxcell.analysis.parsing import CALLS, Invalid
from cruxcell.analysis.syntax import below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_DEFINITIONS = (_ast.FunctionDef, _ast.ClassDef)
_RUN_LATER = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.Lambda)


def refuse_vacuous(tree):
    # type: (_ast.AST) -> None
    """Raises Invalid if an assertion of the script always holds by its form, or if the script asserts no more than
    constants, raises and calls nothing, and defines no test case."""
    for node in below(tree, (_ast.expr,)):  # in an expression, which may be a megabyte of data, stands no statement
        if isinstance(node, _ast.Assert) and isinstance(node.test, _ast.Tuple) and node.test.elts:
            raise Invalid(
                "the assertion on line %d is on a tuple, which always holds; leave out its parentheses" % node.lineno
            )
    if not any(map(_can_fail, below(tree, _RUN_LATER))) and not _decorates_with_a_run(tree):
        raise Invalid("the script tests nothing: outside of the functions it defines it has no assertion and no call")


def surely_tests(source, code):
    # type: (str, Any) -> bool
    """Is the last line of the script a call, as `check(f)` is? Then its tree, which takes as long to make as its code,
    need not be asked. A line with quotes may be the end of a text; one that continues another stands in a call or in
    code that makes none. Not where an assertion may be on a tuple, of which the code has no trace."""
    if any(after.lstrip(" \t\f\r\n\\").startswith("(") for after in source.split("assert")[1:]):
        return False
    line = source.rstrip().rpartition("\n")[2]
    name, _, rest = line.partition("(")
    is_call = name in code.co_names and rest.endswith(")") and not {"'", '"'}.intersection(rest)
    return is_call and not CALLS.isdisjoint(code.co_code[0::2])


def _can_fail(node):
    # type: (Any) -> bool
    """A raise, a call, an assertion that is not `assert True`, or unittest's test cases, which the suite runs."""
    if isinstance(node, _ast.Assert):
        return not (isinstance(node.test, _ast.Constant) and node.test.value)
    if isinstance(node, _ast.ClassDef):
        return is_a_case(node)
    return isinstance(node, (_ast.Raise, _ast.Call))


def is_a_case(node):
    # type: (_ast.ClassDef) -> bool
    """Does a class derive from what is called as unittest's test cases are?"""
    return any((getattr(base, "attr", "") or getattr(base, "id", "")).endswith("TestCase") for base in node.bases)


def _decorates_with_a_run(tree):
    # type: (Any) -> bool
    """Is a function of the script decorated with one of its own that calls what it is given? `@run` above a test runs
    it. Others (pytest's marks, a registry) only note it."""
    defined = {node.name: node for node in tree.body if isinstance(node, _DEFINITIONS)}
    found = [each for node in defined.values() for each in node.decorator_list]
    return any(isinstance(each, _ast.Name) and _calls_what_it_is_given(defined.get(each.id)) for each in found)


def _calls_what_it_is_given(node):
    # type: (Any) -> bool
    """A function, or a class whose `__init__` does."""
    if isinstance(node, _ast.ClassDef):
        methods = [each for each in node.body if isinstance(each, _ast.FunctionDef) and each.name == "__init__"]
        return any(map(_calls_what_it_is_given, methods))
    if not isinstance(node, _ast.FunctionDef):
        return False
    given = {each.arg for each in node.args.args}
    calls = [each.func for part in node.body for each in below(part, _RUN_LATER) if isinstance(each, _ast.Call)]
    return any(isinstance(each, _ast.Name) and each.id in given for each in calls)
