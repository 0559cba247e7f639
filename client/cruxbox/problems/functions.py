"""Problems whose tests call a function: the files of HumanEval, EvalPlus and MBPP."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cruxbox.model import ScriptCheck
from cruxbox.problems.evalplus import scripts_of
from cruxbox.problems.records import BadRow, Record, entry_point, identity, may_bind_check, text, texts
from cruxbox.problems.shapes import Problem, Stage

_IMPORTS = re.compile(r"^[ \t]*(?:import|from)[ \t]+(numpy|pandas|scipy|sympy|networkx)\b", re.MULTILINE)
_FIRST_WORD = re.compile(r"^(?:import|from)[ \t]+(\w+)", re.MULTILINE)
_OF_PYTHON = frozenset(getattr(sys, "stdlib_module_names", ()))  # from 3.10 on; else all of them are asked for

_TESTS = {"test", "test_list", "base_input"}


@dataclass(frozen=True, eq=False)
class TestedFunction(Problem):
    """Each script of `tests` calls the entry point ("" if the script uses the program's names as they are). The tests
    of HumanEval have no name; EvalPlus has "base" and "plus", which compare with what the own solution says
    (`by_own_solution`)."""

    __test__ = False  # no test case of pytest's

    tests: Mapping[str, str] = field(default_factory=dict)
    by_own_solution: bool = False

    def stages(self, _program: str, /) -> Sequence[Stage]:
        return [[ScriptCheck(script, self.entry_point, id=name or "test") for name, script in self.tests.items()]]

    @property
    def names(self) -> Sequence[str]:
        return [name for name in self.tests if name]

    @property
    def needs_proof(self) -> bool:
        return True

    @property
    def needs(self) -> frozenset[str]:
        return frozenset(name for script in self.tests.values() for name in _IMPORTS.findall(script))

    @cached_property
    def imports(self) -> frozenset[str]:
        return frozenset().union(*map(_imported, self.tests.values()))

    @property
    def trusts_solution(self) -> bool:
        return self.by_own_solution


def problem_of(record: Record, where: str) -> Problem:
    """A record of any of the formats, told by its fields. BadRow if it is none."""
    if not _TESTS & set(record):
        raise BadRow("has neither 'test' nor 'test_list' nor 'base_input': no problem of HumanEval, MBPP or EvalPlus")
    task_id = identity(record, "task_id")
    if "base_input" in record:
        return _of_evalplus(record, task_id, where)
    if "entry_point" in record:
        prompt, name, test = [text(record, each) for each in ("prompt", "entry_point", "test")]
        if not may_bind_check(test):
            raise BadRow("field 'test' defines no check(candidate)")
        canonical = _canonical(record, "canonical_solution", prompt)
        script = f"{_by_its_own_helpers(test, name, canonical, prompt)}\ncheck({entry_point(name)})"
        tests = {"": script}
        return TestedFunction(task_id, where, record, prompt, name, canonical, tests)
    name, canonical = _called(record), _canonical(record, "code", "")
    tests = {"": _mbpp_script(record, name, canonical)}
    return TestedFunction(task_id, where, record, entry_point=name, canonical=canonical, tests=tests)


def _called(record: Record) -> str:
    """The function of MBPP's own solution that each assertion calls; "" if that is not one. A test that says what it is
    about takes nothing else that Python has from a sample: task 126 is about `sum`, not about the sample's `zip`."""
    try:
        solution = ast.parse(str(record.get("code") or ""))
        asserts = [ast.walk(ast.parse(each)) for each in texts(record, "test_list")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    found = {node.name for node in solution.body if isinstance(node, ast.FunctionDef)}
    for nodes in asserts:
        found &= {each.func.id for each in nodes if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    return found.pop() if len(found) == 1 and asserts else ""


def _by_its_own_helpers(test: str, name: str, solution: str, prompt: str = "") -> str:
    """`test`, with the prompt's own functions that it uses beside the entry point. The test has them from here: a
    sample that redefines `poly` would have any root be one. The sample must have them, too: in the released harness
    the test's are the sample's.

    They have names of the test's own, and what they import is theirs alone: what a test binds under a name of the
    program may be the program's from then on, which would give a right `encode_cyclic` to one with a wrong one. So do
    those of the problem's solution that the test has itself, as EvalPlus's have that hold their reference: the program
    keeps its own.
    """
    head = _parsed(prompt) or _parsed(f"{prompt}\n pass")  # the entry point may have no body there
    helpers = [node for node in _functions(head) if node.name != name]
    names = {node.name for node in helpers}
    known = names.union(node.name for node in _functions(_parsed(solution))) - {name}
    tree = _parsed(test) if known else None  # which takes its time: a test may be a megabyte of data
    if tree is None:
        return test
    own = {node.name for node in _functions(tree)} & known
    used = ({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & names) - own
    if not used and not own:
        return test
    for helper in helpers:
        helper.body[:0] = filter(_may_stand_in_a_function, head.body if head else ())
    renaming = _Renaming(names | own)
    parts = [renaming.visit(node) for node in [*(helpers if used else []), tree]]
    return "\n".join([*sorted(used), *map(ast.unparse, parts)])


def _functions(tree: ast.Module | None) -> list[ast.FunctionDef]:
    return [node for node in (tree.body if tree else ()) if isinstance(node, ast.FunctionDef)]


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _imported(script: str) -> frozenset[str]:
    """What else it does not run without: packages that its own statements import, in no block."""
    named = frozenset(_FIRST_WORD.findall(script)).difference(_OF_PYTHON, _IMPORTS.findall(script))
    tree = _parsed(script) if named else None  # a line may be one of a text, too
    nodes = tree.body if tree else []
    found = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    found += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return named.intersection(name.partition(".")[0] for name in found)


def _may_stand_in_a_function(node: ast.AST) -> bool:
    """Whether it is an import statement that may."""
    if isinstance(node, ast.ImportFrom):
        return node.module != "__future__" and all(each.name != "*" for each in node.names)
    return isinstance(node, ast.Import)


class _Renaming(ast.NodeTransformer):
    """Gives functions other names, where they are defined and where they are used, and leaves out annotations, which
    may need what is imported. A parameter or method of such a name keeps it.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name: f"_the_prompts_{name}" for name in names}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name, node.returns = self._names.get(node.name, node.name), None
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        node.args = self.visit(node.args)
        within = self._within(node.args)
        node.body = [within.visit(each) for each in node.body]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        methods = [(each, each.name) for each in node.body if isinstance(each, ast.FunctionDef)]
        self.generic_visit(node)
        for method, name in methods:
            method.name = name
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.args = self.visit(node.args)
        node.body = self._within(node.args).visit(node.body)
        return node

    def _within(self, parameters: ast.arguments) -> _Renaming:
        given = [each.arg for each in ast.iter_child_nodes(parameters) if isinstance(each, ast.arg)]
        return _Renaming(self._names.keys() - given)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node


def _canonical(record: Record, name: str, prompt: str) -> str:
    value = record.get(name)
    return prompt + value if isinstance(value, str) and value.strip() else ""


def _of_evalplus(record: Record, task_id: str, where: str) -> Problem:
    name = entry_point(text(record, "entry_point"))
    prompt, canonical = text(record, "prompt"), text(record, "canonical_solution")
    try:
        tests = scripts_of({**record, "canonical_solution": canonical, "prompt": prompt})
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise BadRow(f"is no problem of EvalPlus's: {error}") from None
    if not tests:
        raise BadRow("has no tests")
    # MBPP's prompt is a docstring, which completions stand behind as well as whole programs do.
    return TestedFunction(task_id, where, record, prompt, name, prompt + canonical, tests, by_own_solution=True)


def _mbpp_script(record: Record, name: str, solution: str) -> str:
    if isinstance(record.get("test"), str):
        test = text(record, "test")
        return _by_its_own_helpers(test, name, solution) if name else test
    parts = [*texts(record, "test_imports"), str(record.get("test_setup_code") or "")]
    asserts = texts(record, "test_list")
    if not asserts:
        raise BadRow("has no tests")
    return "\n".join([*parts, *asserts])
