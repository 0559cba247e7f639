"""Modules of the harness have builtins and imports of their own; nobody else's are touched."""

from __future__ import annotations

import builtins
import importlib
import io
import json
import os
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from cruxcell import own_names

PART = """
import builtins, colorsys, io, json, os, sys
from .other import own_os
from ownpkg.other import thing
called = __import__("json")
def size(x): return len(x)
def here(): return os.getcwd()
def late():
    import os, this_is_late
    return os, this_is_late
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a package lies that stands for the harness."""
    made = tmp_path / "ownpkg"
    made.mkdir()
    (made / "__init__.py").touch()
    (made / "part.py").write_text(PART)
    (made / "other.py").write_text("import os as own_os\nthing = 1")
    (tmp_path / "theirs.py").write_text("import os")
    (tmp_path / "this_is_late.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(own_names, "_PACKAGE", "ownpkg")
    monkeypatch.setattr(own_names, "_copies", {})
    before = list(sys.meta_path)
    yield made
    sys.meta_path[:] = before
    for name in [name for name in sys.modules if name.partition(".")[0] in ("ownpkg", "theirs", "this_is_late")]:
        del sys.modules[name]


@pytest.fixture
def part(folder: Path) -> ModuleType:
    """A module of the harness; another one's program was loaded at the same time."""
    own_names.give()
    theirs, found = importlib.import_module("theirs"), importlib.import_module("ownpkg.part")
    assert (theirs.os is os, theirs.__builtins__ is not found.__builtins__) == (True, True)
    own_names.are_given()
    return found


def test_who_binds_a_builtin_or_a_module_s_function_anew_meets_no_harness(
    part: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(os, "getcwd", lambda: "changed")
        patch.setattr(builtins, "len", lambda _: 7)
        found = part.size("ab"), part.here()
    assert found == (2, os.getcwd())


def test_what_programs_see_through_the_harness_is_everybodys(part: ModuleType):
    assert (part.builtins, part.io, part.sys, part.json, part.called) == (builtins, io, sys, json, json)
    assert part.os is part.own_os is not os
    assert set(own_names._copies) == {"colorsys", "os"}


def test_once_the_harness_is_loaded_what_is_new_is_everybodys(part: ModuleType):
    own_os, late = part.late()
    assert (own_os, late) == (part.os, sys.modules["this_is_late"])
    assert own_names._Finder not in sys.meta_path


def test_only_the_harness_s_sources_are_found(folder: Path):
    (folder / "compiled.py").write_text("thing = 2")
    py_compile.compile(str(folder / "compiled.py"), cfile=str(folder / "compiled.pyc"))
    (folder / "compiled.py").unlink()
    own_names.give()
    assert importlib.import_module("ownpkg.compiled").thing == 2
    for name in ("json", "theirs", "ownpkg.absent"):
        assert own_names._Finder.find_spec(name, [str(folder), str(folder.parent)]) is None
