"""`python -m bench.forging [--kinds KIND ...]`: the forging suite through in-process scoring and through cruxbox.

The attacks are those of tests/conformance/forging. In-process scoring runs them unconfined, so it runs in a throw-away
process: an ordinary user without capabilities, an empty folder, limits of its own. Only attacks on the verdict are run
there, none that destroy anything.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from conformance.forging.attack import Attack
from conformance.forging.kinds import CONTROLS, KINDS
from conformance.forging.matrix import Cell, cells
from conformance.gate import refuse_unless_confined
from conformance.lab import Lab
from cruxbox.model import CallCheck, ScriptCheck, StdioCheck, Task
from rich.console import Console
from rich.table import Table

from bench import folders

ROOT = Path(__file__).resolve().parents[1]
# A descriptor attack writes to whatever is open; the judge's own answers are among that.
ONE_BY_ONE_SECONDS = 20.0
AT_ONCE = 8

# How a test framework is run in the namespace of program and test.
RUN_EXAMPLES = """
import doctest
if doctest.DocTestRunner(verbose=False).run(doctest.DocTestParser().get_doctest({!r}, globals(), "", None, 0)).failed:
    raise AssertionError
"""
RUN_SUITE = """
import unittest
tried = unittest.TestResult()
for each in [each for each in globals().values() if isinstance(each, type) and issubclass(each, unittest.TestCase)]:
    unittest.defaultTestLoader.loadTestsFromTestCase(each).run(tried)
if not tried.testsRun or not tried.wasSuccessful():
    raise AssertionError
"""
# Controls whose attack is an expression, or that have no control.
NOT_A_PROGRAM = ("argument", "call", "expected", "raising", "strict")


@dataclass(frozen=True)
class Outcome:
    """How one cell ended: passed in-process, letter and assurance of cruxbox."""

    cell: Cell
    in_process: bool
    letter: str
    shared: bool


def spliced(task: Task) -> dict[str, object]:
    """The text that in-process scoring would run for this task: program and test in one."""
    check = task.checks[0]
    if isinstance(check, CallCheck):
        text = f"{task.program}\nassert {check.expected} == {check.call}\n"
    elif isinstance(check, ScriptCheck) and check.framework == "doctest":
        text = f"{task.program}\n{RUN_EXAMPLES.format(check.script)}"
    elif isinstance(check, ScriptCheck):
        text = f"{task.program}\n{check.script}\n{RUN_SUITE if 'unittest.TestCase' in check.script else ''}"
    else:
        assert isinstance(check, StdioCheck)
        expected = None if check.checker else check.expected_stdout
        return {"text": task.program, "stdin": check.stdin, "stdout": expected, "checker": check.checker}
    return {"text": text, "stdin": "", "stdout": None, "checker": ""}


def in_process(tasks: list[Task]) -> list[bool]:
    """Verdicts of in-process scoring, each task in a judge process of its own."""
    return [one_in_process(task) for task in tasks]


def one_in_process(task: Task) -> bool:
    """The verdict on one task; an answer that never comes is not a pass."""
    command = [sys.executable, str(ROOT / "tests" / "unprivileged.py"), sys.executable, "-m", "bench.peers_inprocess"]
    line = json.dumps({"id": "0", **spliced(task)}) + "\n"
    with folders.folder("forging-") as folder:
        folder.chmod(0o777)
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        try:
            said = process.communicate(line.encode(), timeout=ONE_BY_ONE_SECONDS)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said = process.communicate()[0]
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # whatever an attack left behind in this session
    for answer in said.splitlines():
        try:
            return bool(json.loads(answer)["passed"])
        except (ValueError, KeyError, TypeError):
            continue  # what an attack wrote to every descriptor
    return False


def through_cruxbox(tasks: list[Task]) -> list[tuple[str, bool]]:
    """(letter, judged IN_PROCESS) of each task, on a server started for it."""
    lab = Lab()
    try:
        refuse_unless_confined(lab)
        replies = []
        for start in range(0, len(tasks), AT_ONCE):
            part = tasks[start : start + AT_ONCE]
            futures = [lab.start([task]) for task in part]
            replies += [lab.answers([task], future)[0] for task, future in zip(part, futures)]
    finally:
        lab.close()
    return [(reply.letter, reply.verdict is not None and reply.verdict.assurance == 1) for reply in replies]


def compare(kinds: Collection[str]) -> list[Outcome]:
    """Every cell of these kinds through both."""
    chosen = [cell for cell in cells() if cell.shot is not None and cell.kind in kinds]
    tasks = [cell.shot.task for cell in chosen if cell.shot is not None]
    ours, theirs = through_cruxbox(tasks), in_process(tasks)
    return [Outcome(cell, there, *here) for cell, there, here in zip(chosen, theirs, ours)]


def controls(kinds: Collection[str]) -> None:
    """The honest counterparts must pass both ways and a wrong program in none, or the comparison proves nothing."""
    honest = {kind: task for kind, task in CONTROLS.items() if kind in kinds}
    wrong = {
        kind: KINDS[kind](Attack(0, "wrong", "def f(x): return 0\n")) for kind in honest if kind not in NOT_A_PROGRAM
    }
    passed = [kind for kind, one in zip(wrong, in_process(list(wrong.values()))) if one]
    passed += [kind for kind, (letter, _) in zip(wrong, through_cruxbox(list(wrong.values()))) if letter == "P"]
    if passed:
        raise SystemExit(f"a wrong program passes: {', '.join(passed)}")
    tasks = list(honest.values())
    failed = [kind for kind, is_right in zip(honest, in_process(tasks)) if not is_right]
    failed += [kind for kind, (letter, _) in zip(honest, through_cruxbox(tasks)) if letter != "P"]
    if failed:
        raise SystemExit(f"honest programs do not pass: {', '.join(failed)}")


def show(outcomes: list[Outcome]) -> None:
    """Rows are attacks, columns kinds; a cell says `in-process / cruxbox`."""
    kinds = list(dict.fromkeys(one.cell.kind for one in outcomes if one.cell.kind != "generation"))
    rows: dict[tuple[int, str], dict[str, Outcome]] = defaultdict(dict)
    for one in outcomes:
        rows[(one.cell.case, one.cell.attack)][one.cell.kind] = one  # type: ignore[index]
    table = Table(title="forged passes: in-process / cruxbox", show_lines=False)
    for title in ("case", "attack", *kinds):
        table.add_column(title)
    for (case, attack), found in rows.items():
        if "generation" in found:
            continue
        table.add_row(case, attack[:48], *[_mark(found.get(kind)) for kind in kinds])
    console = Console(width=160)
    console.print(table)
    for one in (one for one in outcomes if one.cell.kind == "generation"):
        console.print(f"generation {one.cell.attack!r}: {_mark(one)}", markup=False, highlight=False)


def _mark(one: Outcome | None) -> str:
    if one is None:
        return "n/a"
    return f"{'PASS' if one.in_process else '-'} / {'PASS' if one.letter == 'P' else one.letter}"


def totals(outcomes: list[Outcome]) -> dict[str, object]:
    """Counts, a kind at a time."""
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        by_kind[one.cell.kind].update(
            {"cells": 1, "in_process": one.in_process, "cruxbox": one.letter == "P", "shared": one.shared}
        )
    return {kind: dict(count) for kind, count in by_kind.items()}


def main() -> int:
    """Print the table and the sums; 1 when cruxbox let one pass."""
    parser = argparse.ArgumentParser(prog="python -m bench.forging", description=__doc__)
    kinds = list(dict.fromkeys(cell.kind for cell in cells()))
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds, metavar="KIND", help=", ".join(kinds))
    asked = parser.parse_args().kinds
    controls(asked)
    outcomes = compare(asked)
    show(outcomes)
    for kind, count in totals(outcomes).items():
        print(f"{kind:12} {count}")
    theirs = sum(one.in_process for one in outcomes)
    ours = sum(one.letter == "P" for one in outcomes)
    print(f"forged passes of {len(outcomes)}: in-process scoring {theirs}, cruxbox {ours}")
    print(f"judged IN_PROCESS by cruxbox: {sum(one.shared for one in outcomes)}")
    return 1 if ours else 0


if __name__ == "__main__":
    sys.exit(main())
