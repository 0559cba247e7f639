"""A rule on the daemon's source: an `await` is the last statement of a clean-up.

gRPC may cancel a call once more while it ends, and the cancellation comes out of the `await`: what stands behind it is
skipped, and what it would have given back is lost.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import cruxboxd
import pytest

_WAITS = (ast.Await, ast.AsyncFor, ast.AsyncWith)


def cleanups(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """The `finally` blocks, and what handles a cancellation."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            yield node.finalbody
            for handler in node.handlers:
                caught = "" if handler.type is None else ast.unparse(handler.type)
                if not caught or "BaseException" in caught or "CancelledError" in caught:
                    yield handler.body


def after_an_await(body: list[ast.stmt]) -> list[str]:
    waits = [at for at, line in enumerate(body) if any(isinstance(node, _WAITS) for node in ast.walk(line))]
    behind = body[waits[0] + 1 :] if waits else []
    return [ast.unparse(line) for line in behind if not isinstance(line, ast.Raise)]


def skipped(text: str) -> list[str]:
    """What a second cancellation would skip."""
    return [line for body in cleanups(ast.parse(text)) for line in after_an_await(body)]


def test_nothing_is_given_back_behind_an_await():
    found = {path.name: skipped(path.read_text()) for path in Path(cruxboxd.__file__).parent.rglob("*.py")}
    assert len(found) > 50
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("head", ["finally", "except BaseException", "except", "except (ValueError, CancelledError)"])
def test_the_rule_sees(head):
    assert skipped(f"async def f():\n try: pass\n {head}:\n  await a()\n  b()\n  raise") == ["b()"]
    assert skipped(f"async def f():\n try: pass\n {head}:\n  b()\n  await a()") == []
