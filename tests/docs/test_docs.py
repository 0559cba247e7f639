"""The documentation names only what exists: commands, options, make targets, files, pages and tests."""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cruxbox.cli import COMMANDS, _app
from cruxboxd.server.command import _parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "deploy/README.md", ROOT / "examples/README.md"])
PAGES.remove(ROOT / "CHANGELOG.md")  # it tells of earlier versions
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PROGRAMS = ("cruxbox", "cruxboxd", "make")
# Where the documentation begins a path: the repository, or one of these packages.
FOLDERS = ("", "sandbox", "sandbox/cruxboxd", "sandbox/cruxcell", "client/cruxbox", "tests/daemon", "deploy", "bench")
KEPT_ELSEWHERE = ("data/", "samples/", "cruxeval/", "scored/", "humaneval/", "build/", "image/", "bench/results/")


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every command of ours in `page`, in blocks and in running text."""
    text = page.read_text()
    blocks = [block for kind, block in FENCE.findall(text) if kind in ("", "console", "sh")]
    lines = [line for block in blocks for line in re.sub(r"\\\n\s*(>\s)?", " ", block).splitlines()]
    for line in [*lines, *INLINE.findall(FENCE.sub("", text))]:
        for part in re.split(r"&&|;|\|", re.sub(r"[\[\]]", " ", line.removeprefix("$ "))):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:  # a piece of a sentence
                continue
            if words and Path(words[0]).name in PROGRAMS and len(words) > 1:
                yield [Path(words[0]).name, *words[1:]]


def options_of(program: str, command: str) -> set[str]:
    if program == "cruxboxd":
        parsers: Any = next(a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
        return set(parsers.choices[command]._option_string_actions)
    import typer

    found: Any = typer.main.get_command(_app(command))
    parameters = found.commands[command].params
    return {"--help"}.union(*(set(each.opts) | set(each.secondary_opts) for each in parameters))


@every_page
def test_commands_and_options_exist(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for program, *words in commands(page):
        options = {word.partition("=")[0] for word in words if word.startswith("--") and len(word) > 2}
        if program == "make":
            assert {word for word in words if re.fullmatch(r"[a-z-]+", word)} <= targets, words
        elif not words[0].startswith("-") and re.fullmatch("[a-z]+", words[0]):
            names = COMMANDS if program == "cruxbox" else {"serve": 0, "preflight": 0, "token": 0}
            assert words[0] in names, [program, *words]
            assert options <= options_of(program, words[0]), [program, *words]


@every_page
def test_links_and_paths_exist(page: Path) -> None:
    text = page.read_text()
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        assert "://" in link or (page.parent / link).exists(), link
    for quoted in INLINE.findall(FENCE.sub("", text)):
        path, _, test = quoted.partition("::")
        if not re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?|test_\w+\.py", path) or path.startswith(KEPT_ELSEWHERE):
            continue
        path = path.replace("NAME.py", "score.py")
        if not (re.search(r"\.(py|c|h|md|txt|proto|toml)$", path) or path.startswith(("tests/", "docs/", "sandbox/"))):
            continue
        found = [ROOT / folder / path for folder in FOLDERS if (ROOT / folder / path).exists()]
        assert found, quoted
        assert not test or f"def {test}(" in found[0].read_text(), quoted


@every_page
def test_what_a_module_is_said_to_have_it_has(page: Path) -> None:
    """Of names such as `judge.judge_kinds`, in what describes the code as it is."""
    said = [
        re.fullmatch(r"(\w+)\.(_?[a-z]+_\w+)", quoted) for quoted in INLINE.findall(FENCE.sub("", page.read_text()))
    ]
    missing = [each[0] for each in said if each and _words_of(each[1]) and each[2] not in _words_of(each[1])]
    assert page.parent.name == "decisions" or missing == []


@functools.cache
def _words_of(module: str) -> frozenset[str]:
    """All words of the modules of that name; none where there is no such module."""
    found = [*ROOT.glob(f"sandbox/**/{module}.py"), *ROOT.glob(f"client/**/{module}.py")]
    return frozenset(word for path in found for word in re.findall(r"\w+", path.read_text()))


@every_page
def test_python_examples_import_what_exists(page: Path) -> None:
    for kind, block in FENCE.findall(page.read_text()):
        for node in ast.walk(ast.parse(block)) if kind == "python" else ():
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("cruxbox"):
                assert {alias.name for alias in node.names} - _names_of(str(node.module)) == set()


def _names_of(module: str) -> set[str]:
    """What a module of ours has. Another's package that it is for may not be there."""
    try:
        return set(dir(importlib.import_module(module)))
    except ModuleNotFoundError:
        source = (ROOT / "client" / module.replace(".", "/")).with_suffix(".py").read_text()
        return {node.name for node in ast.parse(source).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
