"""Replacing identifiers in a program's text where the syntax tree says they stand, leaving its layout alone.

Positions are what `ast` gives: lines from 1, columns in bytes of UTF-8. A tree does not say exactly where some names
stand (`def name`, `global name`), and before Python 3.12 not at all inside f-strings; so an edit is a proposal, and
`rewrite` accepts the edited text only if it parses to the tree that is wanted.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, order=True)
class Edit:
    """`old` stands at or after this place (the first whole word counts) and becomes `new`."""

    line: int
    column: int
    old: str
    new: str

    @staticmethod
    def at(node: Any, old: str, new: str) -> Edit:
        """An edit that starts looking where `node` starts."""
        return Edit(node.lineno, node.col_offset, old, new)


# Nodes that start with a keyword: the name stands after it. An identifier cannot be a keyword, so skipping is safe.
_KEYWORD = {ast.FunctionDef: "def", ast.AsyncFunctionDef: "def", ast.ExceptHandler: "as"}


def rewrite(text: str, sites: list[tuple[Edit, Any]], wanted: ast.Module) -> str:
    """`text` with the edits made, or, where that does not give the wanted tree, the tree written out afresh."""
    edited = apply_edits(text, [edit for edit, _ in sites], [_KEYWORD.get(type(node), "") for _, node in sites])
    if edited is not None and _parses_to(edited, wanted):
        return edited
    written = ast.unparse(wanted)
    if not _parses_to(written, wanted):
        raise ValueError("the renamed program cannot be written out")
    return written


def apply_edits(text: str, edits: list[Edit], keywords: list[str]) -> str | None:
    """The text with every edit made, or None if one does not fit. `keywords[i]` must precede edit i, if not empty."""
    lines = text.encode("utf-8").split(b"\n")
    for edit, keyword in sorted(zip(edits, keywords), reverse=True):
        if edit.line > len(lines):
            return None
        before = rf"\b{keyword}\s+" if keyword else r"(?<!\w)"
        line = lines[edit.line - 1]
        decoded = line[edit.column :].decode("utf-8", "replace")
        match = re.compile(rf"{before}(?P<name>{re.escape(edit.old)})(?!\w)").search(decoded)
        if match is None:
            return None
        head, tail = decoded[: match.start("name")], decoded[match.end("name") :]
        lines[edit.line - 1] = line[: edit.column] + (head + edit.new + tail).encode("utf-8")
    return b"\n".join(lines).decode("utf-8")


def _parses_to(text: str, wanted: ast.Module) -> bool:
    try:
        return ast.dump(ast.parse(text)) == ast.dump(wanted)
    except SyntaxError:
        return False
