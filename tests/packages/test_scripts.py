"""Tests in all the ways that people write them: the problems of `scripts.txt`, right and wrong, beside plain Python."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from cruxbox import Client, Limits, ScriptCheck, Task
from packages.behaviours import CLAIMS, HONEST, OTHERWISE, changed
from packages.mutants import mutants

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.timeout(3600),
    pytest.mark.skipif("CRUXBOX_PACKAGES" not in os.environ, reason="CRUXBOX_PACKAGES is not set"),
]
HERE = Path(__file__).parent
PYTHON = os.environ.get("CRUXBOX_PACKAGES", "python")
PER_PROBLEM = int(os.environ.get("CRUXBOX_MUTANTS_OF_SCRIPTS", "1"))
LIMITS = Limits(cpu_ms=5_000, wall_ms=60_000, memory_bytes=1 << 30)


def problems() -> list[tuple[str, str, str]]:
    """(name, program, script) of each problem."""
    found = []
    for part in (HERE / "scripts.txt").read_text().split("#### ")[1:]:
        name, _, rest = part.partition("\n")
        program, _, script = rest.partition("\n----\n")
        found.append((name.strip(), program + "\n", script))
    return found


def samples() -> list[tuple[str, str, str, str]]:
    """(name, what was done to the program, program, script): each right program, and some of what is made of it."""
    found = []
    for name, program, script in problems():
        found.append((name, "nothing", program, script))
        for number, text in enumerate(mutants(program, name, PER_PROBLEM, seed=2)):
            found.append((name, f"mutant {number}", text, script))
        for kind in (HONEST, OTHERWISE, CLAIMS):
            if f"\nclass {name}" in f"\n{program}":  # what is tested is no function
                continue
            for what in random.Random(f"{name}{len(kind)}").sample(sorted(kind), min(PER_PROBLEM, len(kind))):
                found.append((name, what, changed(program, name, kind[what]), script))
    return found


def in_plain_python(cases: list[tuple[str, str, str, str]]) -> list[bool]:
    text = "".join(json.dumps({"program": program, "test": script}) + "\n" for _, _, program, script in cases)
    command = [PYTHON, str(HERE / "plain_judge.py")]
    done = subprocess.run(command, input=text, env={"PLAIN_SECONDS": "5"}, text=True, capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_program_comes_to_what_plain_python_says():
    cases = samples()
    with Client(server_args=[f"--runtime=sci={PYTHON}", "--preload=sci=numpy", "--canary-s=0"]) as client:
        tasks = [Task(text, [ScriptCheck(script)], runtime="sci", limits=LIMITS) for _, _, text, script in cases]
        verdicts = list(client.stream(tasks))
    asks_nothing = {name for (name, what, _, _), verdict in zip(cases, verdicts) if what in CLAIMS and verdict.passed}
    others = [(name, "", changed(text, name, "object()"), script) for name, text, script in problems()]
    others = [each for each in others if each[0] in asks_nothing]
    asks_nothing = {name for (name, *_), is_right in zip(others, in_plain_python(others)) if is_right}
    found = {}
    for (name, what, _, _), verdict, is_right in zip(cases, verdicts, in_plain_python(cases)):
        wanted = is_right and (what not in CLAIMS or name in asks_nothing)
        if verdict.passed is not wanted or (verdict.passed and verdict.assurance.name != "SEPARATED"):
            found[name, what] = (verdict.outcome.name, verdict.exception, verdict.detail)
        if what == "nothing":
            assert is_right, name
    assert found == {}
