"""The map of modules in docs/design.md names every module of client and sandbox, and only what is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cruxbox.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["client/cruxbox", "sandbox/cruxboxd", "sandbox/cruxcell"]
NAME = re.compile(r"`([a-z][a-z_]*)(/?)`")


def rows(package: str) -> Iterator[tuple[str, str]]:
    """The cells of the package's table."""
    text = (ROOT / "docs/design.md").read_text()
    after = text.partition(f"(`{package}`)")[2]
    table = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)
    assert table, package
    for line in table[0].splitlines()[2:]:
        first, content = line.strip("| ").split(" | ", 1)
        yield first, content


def modules(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "__main__")}


def packages(folder: Path) -> list[Path]:
    return [path.parent for path in sorted(folder.glob("*/__init__.py"))]


def said_in(folder: Path) -> str:
    """The docstring of a package."""
    return (folder / "__init__.py").read_text().partition('"""')[2].partition('"""')[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_and_package_has_its_place(package: str) -> None:
    folder = ROOT / package
    named = [name for first, _ in rows(package) for name in NAME.findall(first)]
    there = {(name, "") for name in modules(folder)} | {(each.name, "/") for each in packages(folder)}
    assert {name for name, _ in named} == {name for name, _ in there}
    assert {name for name in named if name[1]} <= there
    assert len(named) == len(set(named))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_of_a_package_is_named_with_it_or_in_its_docstring(package: str) -> None:
    for first, content in rows(package):
        for name, _ in (each for each in NAME.findall(first) if (ROOT / package / each[0]).is_dir()):
            folder = ROOT / package / name
            named = {each for each, _ in NAME.findall(content)}
            parts = [path.parent for path in sorted(folder.glob("*/**/__init__.py"))]
            for each in (folder, *parts):
                own = set(re.findall(r"\w+", said_in(each)))
                assert modules(each) - named - own - (set(COMMANDS) if name == "cli" else set()) == set(), each
            every = modules(folder).union(*[modules(each) | {each.name} for each in parts])
            if len(NAME.findall(first)) == 1:
                assert named <= every, first
