"""The changes that are made to a module: Cosmic Ray's, and the two by which a check disappears."""

from __future__ import annotations

import ast
import copy
import difflib
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import parso
from cosmic_ray import plugins
from cosmic_ray.ast import get_ast
from cosmic_ray.operators.operator import Operator

# A place in a source, as parso and ast count: (line from 1, column from 0).
Place = tuple[int, int]


def _left_out(node: parso.tree.NodeOrLeaf) -> Iterator[tuple[parso.tree.NodeOrLeaf, str]]:
    """Operands of `and` and `or`: `a and b` becomes `True and b`, `a or b` becomes `False or b`."""
    if node.type in ("and_test", "or_test"):
        for operand in node.children[::2]:
            yield operand, "True" if node.type == "and_test" else "False"


def _conditions(node: parso.tree.NodeOrLeaf) -> Iterator[tuple[parso.tree.NodeOrLeaf, str]]:
    """Conditions of `if`, `elif`, `while`, `x if a else y` and `for … if a`, which never or always hold."""
    if node.type in ("if_stmt", "test", "comp_if", "while_stmt"):
        for word, condition in pairwise(node.children):
            if getattr(word, "value", "") in ("if", "elif", "while"):
                yield condition, "False"
                if word.value != "while":  # a loop that never ends says nothing
                    yield condition, "True"


def _handled(node: parso.tree.NodeOrLeaf) -> Iterator[tuple[parso.tree.NodeOrLeaf, str]]:
    """Classes that a handler names, one at a time. Cosmic Ray's own change of them fails at `(module.Error, A)`."""
    if node.type == "except_clause":
        named = node.children[1]
        several = named.type == "atom" and named.children[1].type == "testlist_comp"
        for each in named.children[1].children[::2] if several else [named]:
            yield each, _NEVER_RAISED


_NEVER_RAISED = "BytesWarning"
_CONDITION = re.compile(
    r"core/(AddNot|Replace(True|False|And|Or|Break|Continue)With|NumberReplacer|ZeroIteration|"
    r"ReplaceComparison|ReplaceUnaryOperator_Delete)"
)
# `is` for `==` differs by what the interpreter keeps once, `is` by any other operator raises: both say nothing.
_SAYS_NOTHING = re.compile(r"ReplaceComparisonOperator_(Is_(?!IsNot)|IsNot_(?!Is$)|(?!Is|IsNot)\w+_Is(Not)?$)")
_INSTEAD = "core/ExceptionReplacer"  # see `_handled`
# What is asked for, and the operators it is made of.
KINDS = ("guards", "conditions", "all")


@dataclass(frozen=True)
class Mutant:
    """One change of a module in line `line`; `change` shows it, `source` is the module with it.

    `lines` are those of its statement (of its head, if it has a body); `is_inside` says that it is inside a function,
    `place` which one and how many lines below its head.
    """

    module: str
    operator: str
    line: int
    change: str
    source: str
    lines: range
    is_inside: bool
    place: str


def operators(kind: str) -> dict[str, Operator]:
    """Cosmic Ray's operators of a kind: none for guards, those that change a condition, or all there are."""
    found: dict[str, Operator] = {}
    for name in () if kind == "guards" else plugins.operator_names():
        if name == _INSTEAD or _SAYS_NOTHING.search(name) or (kind == "conditions" and not _CONDITION.match(name)):
            continue
        try:
            found[name] = plugins.get_operator(name)()
        except TypeError:  # wants arguments that only a project could name
            continue
    return found


def mutants(
    root: Path, module: str, kind: str, chance: random.Random, bounds: tuple[int, int] = (1, 10**6)
) -> Iterator[Mutant]:
    """Every mutant of a module within some lines, each change once, shuffled.

    Annotations are left out, as nothing reads them, and TYPE_CHECKING, which only mypy sets.
    """
    source = (root / "sandbox" / module).read_text()
    tree = ast.parse(source)
    skipped = [((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)) for node in _annotations(tree)]
    nodes = list(_nodes(get_ast(source)))
    made = [_replacing(source, *each) for node in nodes for each in (*_left_out(node), *_conditions(node))]
    if kind != "guards":
        made += [_replacing(source, *each) for node in nodes for each in _handled(node)]
    for name, operator in operators(kind).items():
        found = [(node, at, each[0]) for node in nodes for at, each in enumerate(operator.mutation_positions(node))]
        made += [(name, place, partial(_mutated, source, operator, node, at)) for node, at, place in found]
    made = [each for each in made if not any(start <= each[1] < end for start, end in skipped)]
    chance.shuffle(made)
    seen = {source}
    for name, (line, _), change in made:
        changed = change() if bounds[0] <= line <= bounds[1] else None
        if changed is not None and changed not in seen and _compiles(changed):
            seen.add(changed)
            yield Mutant(module, name, line, _shown(source, changed), changed, *_statement(tree, line))


def _replacing(source: str, node: parso.tree.NodeOrLeaf, instead: str) -> tuple[str, Place, Callable[[], str]]:
    """(the kind of change, its place, what makes the source with it): `node` becomes a constant."""
    return "guard", node.start_pos, partial(_spliced, source, node.start_pos, node.end_pos, instead)


def _spliced(source: str, start: Place, stop: Place, instead: str) -> str:
    """`source` with something else between two places."""
    lines = source.splitlines(keepends=True)
    (first, begin), (last, end) = start, stop
    head, tail = "".join(lines[: first - 1]), "".join(lines[last:])
    return head + lines[first - 1][:begin] + instead + (lines[last - 1][end:] if last <= len(lines) else "") + tail


def _mutated(source: str, operator: Operator, node: parso.tree.NodeOrLeaf, at: int) -> str:
    """`source` with the change number `at` that an operator makes of a node. Only a copy of the node is changed:
    Cosmic Ray's `mutate_code` reads and walks the whole source once more for each change."""
    parent, node.parent = node.parent, None  # or all of the tree would be copied
    copied = copy.deepcopy(node)
    node.parent = copied.parent = parent
    changed = operator.mutate(copied, at)
    return _spliced(source, node.get_start_pos_of_prefix(), node.end_pos, changed.get_code() if changed else "")


def _nodes(node: parso.tree.NodeOrLeaf) -> Iterator[parso.tree.NodeOrLeaf]:
    """Depth first, in the order of the visitor that makes the change."""
    yield node
    for child in getattr(node, "children", []):
        yield from _nodes(child)


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def _statement(tree: ast.Module, line: int) -> tuple[range, bool, str]:
    """The lines of the innermost statement around a line, or those of its head; is it inside a function? In which?"""
    found, is_inside, place = range(line, line + 1), False, ""
    for node in ast.walk(tree):  # outer statements come first
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or line
            found = range(node.lineno, max(end, node.lineno) + 1)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                place = f"{place.partition('+')[0]}/{node.name}+{line - node.lineno}"
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.body[0].lineno <= line:
                is_inside = True
    return found, is_inside, place


def _annotations(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield node.test
        if isinstance(node, ast.Assign) and ast.unparse(node) == "TYPE_CHECKING = False":
            yield node.value
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                yield getattr(node, name)


def _shown(source: str, changed: str) -> str:
    """The change as people read it."""
    lines = difflib.unified_diff(source.splitlines(), changed.splitlines(), n=0, lineterm="")
    words = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return "  =>  ".join(line[1:].strip() for line in words)
