"""The daemon and the client use nothing that Python 3.9 lacks: neither is run on it by other tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

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
