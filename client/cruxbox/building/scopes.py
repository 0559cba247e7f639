"""Which variable an identifier in a syntax tree stands for: the scoping rules of Python, over `ast`.

`resolve` lists every place where a variable is named, with the scope that binds it. What no scope of the program binds
is a builtin (or an error), and its scope is None.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Union, cast


class Kind(enum.Enum):
    """What opened a scope. Names of a CLASS scope are attributes, and are not seen by the functions inside it."""

    MODULE = "module"
    FUNCTION = "function"
    COMPREHENSION = "comprehension"
    CLASS = "class"


@dataclass(eq=False)
class Scope:
    """One scope: what it binds, and what it declares to be bound elsewhere."""

    kind: Kind
    parent: Scope | None
    bound: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)

    def module(self) -> Scope:
        """The outermost scope."""
        return self if self.parent is None else self.parent.module()

    def binder(self, name: str) -> Scope | None:
        """The scope whose variable `name` means here, or None if the program binds it nowhere that is visible."""
        if name in self.global_names:
            module = self.module()
            return module if name in module.bound else None
        if name in self.bound and name not in self.nonlocal_names:
            return self
        outer = self.parent
        while outer is not None and outer.kind is Kind.CLASS:
            outer = outer.parent
        return outer.binder(name) if outer is not None else None


@dataclass(frozen=True)
class Site:
    """One place that names a variable: the node, its field, and for lists of names the index in it."""

    node: ast.AST
    attribute: str
    name: str
    scope: Scope
    index: int | None = None

    def rename(self, new: str) -> None:
        """Puts `new` where the name stands in the tree."""
        if self.index is None:
            setattr(self.node, self.attribute, new)
        else:
            cast("list[str]", getattr(self.node, self.attribute))[self.index] = new


Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]


@dataclass
class Resolution:
    """Everything `resolve` found out about a tree."""

    sites: list[Site] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    imported: set[str] = field(default_factory=set)
    class_names: set[str] = field(default_factory=set)
    calls: list[tuple[ast.Call, Scope]] = field(default_factory=list)


def resolve(tree: ast.Module) -> Resolution:
    """Scopes and variable sites of the program, in the order of a walk through it."""
    walker = _Walker()
    walker.scope = walker.open(Kind.MODULE)
    walker.each(tree.body)
    return walker.found


class _Walker(ast.NodeVisitor):
    """Walks a tree with the current scope at hand; each visit method is one rule of the language reference."""

    scope: Scope

    def __init__(self) -> None:
        self.found = Resolution()

    def open(self, kind: Kind, parent: Scope | None = None) -> Scope:
        scope = Scope(kind, parent)
        self.found.scopes.append(scope)
        return scope

    def each(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def inside(self, scope: Scope, nodes: Iterable[ast.AST | None]) -> None:
        outer, self.scope = self.scope, scope
        self.each(nodes)
        self.scope = outer

    def name_at(self, node: ast.AST, attribute: str, name: str, index: int | None = None) -> None:
        self.found.sites.append(Site(node, attribute, name, self.scope, index))

    def bind(self, name: str) -> None:
        scope = self.scope
        if name in scope.global_names:
            scope = scope.module()
        scope.bound.add(name)

    # -- names --------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bind(node.id)
        self.name_at(node, "id", node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        # PEP 572: inside a comprehension the walrus binds in the function around it.
        self.visit(node.value)
        outer, scope = self.scope, self.scope
        while scope.kind is Kind.COMPREHENSION and scope.parent is not None:
            scope = scope.parent
        self.scope = scope
        self.visit(node.target)
        self.scope = outer

    def visit_Global(self, node: ast.Global) -> None:
        self.scope.global_names.update(node.names)
        self.scope.module().bound.update(node.names)
        for index, name in enumerate(node.names):
            self.name_at(node, "names", name, index)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.scope.nonlocal_names.update(node.names)
        for index, name in enumerate(node.names):
            self.name_at(node, "names", name, index)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name is not None:
            self.bind(node.name)
            self.name_at(node, "name", node.name)
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        name = (node.asname or node.name).partition(".")[0]
        self.found.imported.add(name)
        self.bind(name)

    def visit_Call(self, node: ast.Call) -> None:
        self.found.calls.append((node, self.scope))
        self.generic_visit(node)

    def _capture(self, node: Any, attribute: str) -> None:
        name = getattr(node, attribute)
        if name is not None:
            self.bind(name)
            self.name_at(node, attribute, name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: Any) -> None:
        self._capture(node, "name")

    def visit_MatchStar(self, node: Any) -> None:
        self._capture(node, "name")

    def visit_MatchMapping(self, node: Any) -> None:
        self._capture(node, "rest")

    # -- scopes -------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.each(node.decorator_list)
        self.bind(node.name)
        self.name_at(node, "name", node.name)
        self._function(node, [node.returns], node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node, [], [node.body])

    def _function(self, node: Function, outside: list[ast.expr | None], body: Iterable[ast.AST]) -> None:
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
        parameters = [argument for argument in every if argument is not None]
        # Defaults and annotations are evaluated where the function is defined.
        self.each([*arguments.defaults, *arguments.kw_defaults, *(p.annotation for p in parameters), *outside])
        scope = self.open(Kind.FUNCTION, self.scope)
        outer, self.scope = self.scope, scope
        for parameter in parameters:
            self.bind(parameter.arg)
            scope.parameters.add(parameter.arg)
            self.name_at(parameter, "arg", parameter.arg)
        self.each(body)
        self.scope = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.each([*node.decorator_list, *node.bases, *node.keywords])
        self.bind(node.name)
        self.found.class_names.add(node.name)
        self.inside(self.open(Kind.CLASS, self.scope), node.body)

    def _comprehension(self, node: Any, results: list[ast.expr]) -> None:
        # The first iterable is evaluated outside, everything else inside.
        first = node.generators[0]
        self.visit(first.iter)
        inner: list[ast.AST] = [first.target, *first.ifs]
        for generator in node.generators[1:]:
            inner += [generator.target, generator.iter, *generator.ifs]
        self.inside(self.open(Kind.COMPREHENSION, self.scope), [*inner, *results])

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> None:
        self._comprehension(node, [node.elt])

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self.visit_ListComp(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self.visit_ListComp(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node, [node.key, node.value])
