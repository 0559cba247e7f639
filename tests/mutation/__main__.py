"""Change the trusted modules one place at a time, run their fast tests, and list the changes that no test noticed.

Cosmic Ray makes the changes; one more kind is made here, the one that matters most: an operand of an `and` or `or` is
left out, which is how a check disappears. Each mutant lives in a copy of the sources, never in the working tree. A
survivor is listed with its place and change, unless `harmless.txt` says why it changes nothing that counts.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import parso
from cosmic_ray import plugins
from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator

ROOT = Path(__file__).resolve().parents[2]
HARMLESS = Path(__file__).with_name("harmless.txt")
TIMEOUT_S = 240

# A module below sandbox/ -> the fast tests that are to notice what changes in it.
TESTS = {
    "cruxboxd/zygotes/report.py": ["daemon/test_report.py", "daemon/test_charging.py"],
    "cruxboxd/judging/charging.py": ["daemon/test_charging.py"],
    "cruxboxd/judging/outcomes.py": ["daemon/test_verdict.py", "daemon/test_charging.py"],
    "cruxboxd/judging/calls.py": [
        "daemon/test_workers_used.py", "daemon/test_forged_reports.py", "daemon/test_used.py",
    ],
    "cruxboxd/judging/judge.py": ["daemon/test_workers_used.py", "daemon/test_forged_reports.py"],
    "cruxboxd/judging/scripts.py": [
        "daemon/test_workers_used.py", "daemon/test_forged_reports.py", "daemon/test_separated.py",
    ],
    "cruxboxd/judging/expected.py": ["daemon/test_workers_used.py", "fuzz/test_fuzz_bytes.py"],
    "cruxboxd/judging/literals.py": ["fuzz/test_fuzz_literals.py"],
    "cruxboxd/scheduling/bundles.py": ["daemon/test_bundles.py"],
    "cruxboxd/scheduling/fair_queue.py": ["daemon/test_fairness.py"],
    "cruxboxd/tenancy/admission.py": ["daemon/test_admission.py"],
    "cruxboxd/tenancy/identity.py": ["daemon/test_identity.py"],
    "cruxboxd/rpc/codec.py": ["daemon/test_requests.py", "fuzz/test_fuzz_requests.py"],
    "cruxcell/analysis/hermetic.py": ["cell/test_hermetic.py"],
    "cruxcell/values/canonical.py": ["cell/test_values.py", "fuzz/test_fuzz_values.py"],
    "cruxcell/values/transfer.py": ["cell/test_plain.py", "fuzz/test_fuzz_bytes.py"],
    "cruxcell/jobs/separated.py": ["daemon/test_separated.py", "daemon/test_separated_raw.py"],
}  # fmt: skip


class LeaveOut(Operator):
    """`a and b` becomes `True and b`, `a or b` becomes `False or b`, and so on for each operand."""

    def mutation_positions(self, node: parso.tree.NodeOrLeaf) -> Iterator[tuple[object, object]]:
        if node.type in ("and_test", "or_test"):
            for operand in node.children[::2]:
                yield operand.start_pos, operand.end_pos

    def mutate(self, node: parso.tree.NodeOrLeaf, index: int) -> parso.tree.NodeOrLeaf:
        operand = node.children[2 * index]
        neutral = "True" if node.type == "and_test" else "False"
        node.children[2 * index] = parso.python.tree.Name(neutral, operand.start_pos, operand.get_first_leaf().prefix)
        return node

    @classmethod
    def examples(cls) -> list[object]:
        return []


@dataclass(frozen=True)
class Mutant:
    """One change of a module: the `occurrence`-th place of an operator, in line `line`."""

    module: str
    operator: str
    occurrence: int
    line: int


def operators() -> dict[str, type[Operator]]:
    found = {name: plugins.get_operator(name) for name in plugins.operator_names()}
    return {**found, "LeaveOut": LeaveOut}


def mutants(module: str) -> list[Mutant]:
    """Every mutant of a module, annotations left out: nothing reads them."""
    source = (ROOT / "sandbox" / module).read_text()
    skipped = [(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) for node in _annotations(source)]
    found = []
    for name, operator in operators().items():
        try:
            made = operator()
        except TypeError:  # wants arguments that only a project could name
            continue
        occurrence = 0
        nodes = [get_ast(source)]
        while nodes:  # depth first, in the order of the visitor that makes the change
            node = nodes.pop()
            for (line, column), _ in made.mutation_positions(node):
                if not any(start <= (line, column) < end for start, end in ((s[:2], s[2:]) for s in skipped)):
                    found.append(Mutant(module, name, occurrence, line))
                occurrence += 1
            nodes.extend(reversed(getattr(node, "children", [])))
    return found


def _annotations(source: str) -> Iterator[ast.expr]:
    for node in ast.walk(ast.parse(source)):
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                yield getattr(node, name)


def change_of(mutant: Mutant, source: str, changed: str) -> tuple[int, str]:
    """(line, the change) as people read it."""
    lines = difflib.unified_diff(source.splitlines(), changed.splitlines(), n=0, lineterm="")
    words = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return mutant.line, "  =>  ".join(f"{line[1:].strip()}" for line in words)


def is_noticed(mutant: Mutant, changed: str, copy: Path, python: str) -> bool:
    """Do the module's tests fail with this change?"""
    target = copy / mutant.module
    source = target.read_text()
    target.write_text(changed)
    try:
        tests = [str(Path("tests") / name) for name in TESTS[mutant.module] if (ROOT / "tests" / name).exists()]
        command = [python, "-m", "pytest", "-x", "-q", "--no-header", "--timeout=100", *tests]
        environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0
    finally:
        target.write_text(source)


def harmless() -> set[str]:
    """The changes that `harmless.txt` names: `module: change`, each followed by the reason on an indented line."""
    lines = HARMLESS.read_text().splitlines() if HARMLESS.exists() else []
    return {line for line in lines if line and not line.startswith((" ", "#"))}


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="MODULE", help="only modules whose path contains this")
    parser.add_argument("--sample", type=int, default=5, metavar="N", help="mutants of each module; 0 is all (5)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--python", default=str(ROOT / ".venv/bin/python"), help="the interpreter that runs the tests")
    options = parser.parse_args()
    modules = [module for module in TESTS if not options.only or options.only in module]
    if not modules:
        parser.error(f"--only {options.only}: no such module; there are {', '.join(TESTS)}")
    chance = random.Random(options.seed)
    counts: Counter[str] = Counter()
    known = harmless()
    with tempfile.TemporaryDirectory(prefix="cruxbox-mutation-") as folder:
        copy = Path(folder) / "sandbox"
        shutil.copytree(ROOT / "sandbox", copy, ignore=shutil.ignore_patterns("__pycache__"))
        for module in modules:
            source = (ROOT / "sandbox" / module).read_text()
            if is_noticed(Mutant(module, "none", 0, 0), source, copy, options.python):
                print(f"{module}: its tests fail as it is", file=sys.stderr)
                return 2
            every = mutants(module)
            sample = chance.sample(every, min(options.sample, len(every))) if options.sample else every
            for mutant in sorted(sample, key=lambda one: one.line):
                changed = mutate_code(source, operators()[mutant.operator](), mutant.occurrence)
                line, change = change_of(mutant, source, changed or source)
                kind = "killed" if is_noticed(mutant, changed or source, copy, options.python) else "survived"
                if kind == "survived" and f"{module}: {change}" in known:
                    kind = "harmless"
                counts[kind] += 1
                if kind == "survived":
                    print(f"sandbox/{module}:{line}: {change}", flush=True)
            print(f"  {module}: {len(sample)} of {len(every)} mutants tried", file=sys.stderr, flush=True)
    tried = sum(counts.values()) - counts["harmless"]
    print(f"{counts['killed']} of {tried} killed, {counts['survived']} survived, {counts['harmless']} harmless")
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
