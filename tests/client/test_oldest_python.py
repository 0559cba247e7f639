"""Client, command line and daemon installed on the oldest Python that they promise to run on.

What only a newer one has is not seen by any other test: the tests run on one Python. A pattern that only 3.11 can
compile kept the daemon from starting on 3.9 and 3.10.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cell.interpreters import found_interpreters

ROOT = Path(__file__).resolve().parents[2]
# Every module there is. What is not installed with these extras belongs to others.
IMPORT_ALL = """
import importlib, pkgutil
for package in (cruxbox, cruxboxd):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            assert error.name.partition(".")[0] in ("numpy", "scipy", "matplotlib", "jinja2", "openai", "ray"), error
"""
SCORE = [
    "score", "examples/generations_input.json", "--dataset", "examples/tasks.jsonl", "--mode", "input", "--json",
]  # fmt: skip


def run(*command: str | Path) -> str:
    done = subprocess.run([str(each) for each in command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder with the programs of an installation on it."""
    promised = re.search(r'^requires-python = ">=3\.(\d+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert promised
    oldest = (3, int(promised[1]))
    python = dict(found_interpreters()).get(oldest)
    if python is None:
        pytest.skip(f"no Python {oldest[0]}.{oldest[1]} here")
    folder = tmp_path_factory.mktemp("oldest")
    run(python, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", f"{ROOT}[server,cli]")
    return folder / "bin"


@pytest.mark.timeout(600)
def test_every_module_can_be_imported(installed):
    run(installed / "python", "-c", f"import cruxbox, cruxboxd{IMPORT_ALL}")


def test_examples_are_scored_as_on_this_python(installed):
    here = json.loads(run(Path(sys.executable).with_name("cruxbox"), *SCORE))
    there = json.loads(run(installed / "cruxbox", *SCORE))
    assert there["files"][0]["outcomes"] == here["files"][0]["outcomes"]
