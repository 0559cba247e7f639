"""The daemon and the client use nothing that Python 3.9 lacks: neither is run on it by other tests.

They are installed on it here, imported whole, and score the examples; what only some of their code needs is looked for
by its name.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import found_interpreters

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*(ROOT / "sandbox/cruxboxd").rglob("*.py"), *(ROOT / "client/cruxbox").rglob("*.py")])
# Of Python 3.10 or later, without what a linter for 3.9 refuses by its form.
NAMES = {"aiter", "anext"}
ATTRIBUTES = {"F_GETPIPE_SZ", "F_SETPIPE_SZ", "TaskGroup", "aclosing", "bit_count", "eventfd", "pairwise", "splice"}
METHODS = {"total"}  # of a Counter, without arguments


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_name_is_newer_than_python_39(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        newer = (
            (isinstance(node, ast.Name) and node.id in NAMES)
            or (isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES)
            or (isinstance(node, ast.Call) and not node.args and getattr(node.func, "attr", "") in METHODS)
        )
        assert not newer, f"line {getattr(node, 'lineno', 0)}"


# Every module there is. What is not installed with these extras belongs to others.
IMPORT_ALL = """
import importlib, pkgutil
OTHERS = ("numpy", "scipy", "matplotlib", "jinja2", "openai", "ray", "anyio")
for package in (cruxbox, cruxboxd):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            assert error.name.partition(".")[0] in OTHERS, error
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
    """The folder with the programs of an installation on it, with the oldest versions of what it needs."""
    project = (ROOT / "pyproject.toml").read_text()
    promised = re.search(r'^requires-python = ">=3\.(\d+)"$', project, re.MULTILINE)
    assert promised
    needed = project[project.index("\ndependencies = [") : project.index("\nstats = [")]
    bounds = {f"{name}=={version}" for name, version in re.findall(r'"([\w-]+)>=([\d.]+)', needed)}
    bounds = {
        bound for bound in bounds if not bound.startswith("protobuf")
    }  # the server's other packages need a newer one
    assert len(bounds) >= 9, bounds
    oldest = (3, int(promised[1]))
    python = dict(found_interpreters()).get(oldest)
    if python is None:
        pytest.skip(f"no Python {oldest[0]}.{oldest[1]} here")
    folder = tmp_path_factory.mktemp("oldest")
    run(python, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", f"{ROOT}[server,cli]", *bounds)
    return folder / "bin"


@pytest.mark.timeout(600)
def test_every_module_can_be_imported(installed):
    run(installed / "python", "-c", f"import cruxbox, cruxboxd{IMPORT_ALL}")


def test_examples_are_scored_as_on_this_python(installed):
    here = json.loads(run(Path(sys.executable).with_name("cruxbox"), *SCORE))
    there = json.loads(run(installed / "cruxbox", *SCORE))
    assert there["files"][0]["outcomes"] == here["files"][0]["outcomes"]
