"""The changes that are made to a module: Cosmic Ray's, and the two by which a check disappears."""

from __future__ import annotations

import ast
import difflib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import parso
from cosmic_ray import plugins
from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator


def _constant(name: str, instead_of: parso.tree.NodeOrLeaf) -> parso.tree.NodeOrLeaf:
    return parso.python.tree.Name(name, instead_of.start_pos, instead_of.get_first_leaf().prefix)


class LeaveOut(Operator):
    """`a and b` becomes `True and b`, `a or b` becomes `False or b`, and so on for each operand."""

    def mutation_positions(self, node: parso.tree.NodeOrLeaf) -> Iterator[tuple[object, object]]:
        if node.type in ("and_test", "or_test"):
            for operand in node.children[::2]:
                yield operand.start_pos, operand.end_pos

    def mutate(self, node: parso.tree.NodeOrLeaf, index: int) -> parso.tree.NodeOrLeaf:
        node.children[2 * index] = _constant("True" if node.type == "and_test" else "False", node.children[2 * index])
        return node

    @classmethod
    def examples(cls) -> list[object]:
        return []


class Never(Operator):
    """A condition never holds: `if a` becomes `if False`; also of `elif`, `while`, `x if a else y`, `for … if a`."""

    answer = "False"

    @classmethod
    def _places(cls, node: parso.tree.NodeOrLeaf) -> list[int]:
        if node.type in ("if_stmt", "test", "comp_if", "while_stmt") and (
            node.type != "while_stmt" or cls.answer == "False"  # a loop that never ends says nothing
        ):
            words = ("if", "elif", "while")
            return [at + 1 for at, child in enumerate(node.children) if getattr(child, "value", "") in words]
        return []

    def mutation_positions(self, node: parso.tree.NodeOrLeaf) -> Iterator[tuple[object, object]]:
        for at in self._places(node):
            yield node.children[at].start_pos, node.children[at].end_pos

    def mutate(self, node: parso.tree.NodeOrLeaf, index: int) -> parso.tree.NodeOrLeaf:
        at = self._places(node)[index]
        node.children[at] = _constant(self.answer, node.children[at])
        return node

    @classmethod
    def examples(cls) -> list[object]:
        return []


class Always(Never):
    """A condition always holds."""

    answer = "True"


_OWN = {"LeaveOut": LeaveOut, "Never": Never, "Always": Always}
_CONDITION = re.compile(
    r"core/(AddNot|Replace(True|False|And|Or|Break|Continue)With|ExceptionReplacer|NumberReplacer|ZeroIteration|"
    r"ReplaceComparison|ReplaceUnaryOperator_Delete)"
)
# `is` for `==` differs by what the interpreter keeps once, `is` by any other operator raises: both say nothing.
_SAYS_NOTHING = re.compile(r"ReplaceComparisonOperator_(Is_(?!IsNot)|IsNot_(?!Is$)|(?!Is|IsNot)\w+_Is(Not)?$)")
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
    """The operators of a kind: those that take a condition away, those that change one, or all there are."""
    found: dict[str, Operator] = {name: made() for name, made in _OWN.items()}
    for name in () if kind == "guards" else plugins.operator_names():
        if _SAYS_NOTHING.search(name) or (kind == "conditions" and not _CONDITION.match(name)):
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

    Annotations are left out, as nothing reads them, and `if TYPE_CHECKING`, as mypy does.
    """
    source = (root / "sandbox" / module).read_text()
    tree = ast.parse(source)
    skipped = [((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)) for node in _annotations(tree)]
    nodes = list(_nodes(get_ast(source)))
    places = []
    for name, operator in operators(kind).items():
        found = [position[0] for node in nodes for position in operator.mutation_positions(node)]
        places += [(name, operator, occurrence, place[0]) for occurrence, place in enumerate(found)
                   if not any(start <= place < end for start, end in skipped)]  # fmt: skip
    chance.shuffle(places)
    seen = {source}
    for name, operator, occurrence, line in places:
        if not bounds[0] <= line <= bounds[1]:
            continue
        changed = mutate_code(source, operator, occurrence)
        if changed is not None and changed not in seen and _compiles(changed):
            seen.add(changed)
            yield Mutant(module, name, line, _shown(source, changed), changed, *_statement(tree, line))


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
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                yield getattr(node, name)


def _shown(source: str, changed: str) -> str:
    """The change as people read it."""
    lines = difflib.unified_diff(source.splitlines(), changed.splitlines(), n=0, lineterm="")
    words = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return "  =>  ".join(line[1:].strip() for line in words)
