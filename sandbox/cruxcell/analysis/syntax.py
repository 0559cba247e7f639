"""Syntax trees by the module `_ast` alone; importing `ast` would add pages to every fork."""

import _ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_ONLY_AST, _DONT_INHERIT = 0x400, True


def tree_of(source, filename="<program>", mode="exec"):
    # type: (str, str, str) -> Any
    """The tree of a text; raises what the compiler raises."""
    return compile(source, filename, mode, _ONLY_AST, _DONT_INHERIT)


def children(node):
    # type: (Any) -> list[Any]
    """The nodes right below a node, in the order of its fields."""
    found = []  # type: list[Any]
    for name in node._fields:
        value = getattr(node, name, None)
        if type(value) is list:
            found.extend([item for item in value if isinstance(item, _ast.AST)])
        elif isinstance(value, _ast.AST):
            found.append(value)
    return found


def only_parameter(function):
    # type: (Any) -> str
    """The name of the one parameter of a function that takes nothing else, without a default, type or decorator; ""."""
    takes = function.args
    others = [
        takes.posonlyargs, takes.vararg, takes.kwonlyargs, takes.kwarg, takes.defaults, function.decorator_list,
        function.returns, getattr(function, "type_params", None),
    ]  # fmt: skip
    if any(others) or len(takes.args) != 1 or takes.args[0].annotation:
        return ""
    return str(takes.args[0].arg)


def walk(node):
    # type: (Any) -> Iterator[Any]
    """The node and all below it, each before what is below it."""
    pending = [node]
    for item in pending:
        yield item
        pending.extend(children(item))


def below(tree, closed):
    # type: (object, tuple[type, ...]) -> Iterator[Any]
    """Every node below `tree`, but not what stands in those of the `closed` types. No recursion: trees are deep."""
    todo = [tree]  # type: list[Any]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, closed):
            todo.extend(children(node))
