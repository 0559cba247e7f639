"""What `docs/two-processes.md` says of each script is what becomes of it, and in one process it passes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cruxbox import Assurance, Client, ScriptCheck, Task
from separated_cases import cases_of

CASES = cases_of("two_processes.txt")
PAGE = Path(__file__).parents[2] / "docs/two-processes.md"
ROW = re.compile(r"^\| (.+) \| (.+) \| ([A-Z].+) \|$", re.M)


def test_the_page_has_each_case_and_no_other():
    rows = ROW.findall(PAGE.read_text())
    assert [name for name, _, _ in rows] == list(CASES)
    for name, example, _ in rows:
        program, script, _, _ = CASES[name]
        for code in re.findall(r"`([^`]+)`", example):
            assert code in program + script, name


@pytest.mark.kernel
def test_each_gets_the_verdict_of_the_page_and_passes_in_one_process(native: Client):
    tasks = [Task(program, [ScriptCheck(script)], id=name) for name, (program, script, _, _) in CASES.items()]
    for verdict, (name, _, told) in zip(native.check(tasks), ROW.findall(PAGE.read_text())):
        raised = f": {verdict.exception.type}" if verdict.exception and verdict.outcome.name == "RAISED" else ""
        assert verdict.outcome.name + raised == told, (name, verdict.detail, verdict.exception)
        assert verdict.assurance is Assurance.SEPARATED
    in_one = [Task(task.program, task.checks, id=task.id, require_assurance=Assurance.IN_PROCESS) for task in tasks]
    for verdict in native.check(in_one):
        assert verdict.passed, (verdict.task_id, verdict.detail, verdict.exception)
