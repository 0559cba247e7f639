"""The search path of modules that both halves of a separated script set."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from cruxcell.jobs.separated.state.search_path import SearchPath, put, read, search_paths_in


@pytest.fixture(autouse=True)
def search(monkeypatch: pytest.MonkeyPatch) -> SearchPath:
    monkeypatch.setattr(sys, "path", ["/runtime", "/packages"])
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])
    return SearchPath()


@pytest.mark.parametrize(
    ("script", "is_there"),
    [
        ("import sys; sys.path.append('/a')", True),
        ("from sys import path", True),
        ("def f():\n    import sys\n    return sys.path", True),
        ("patch('sys.path', [])", True),
        ("patch.object(sys, 'path', [])", True),
        ("monkeypatch.syspath_prepend('/a')", True),
        ("import sys, os; sys.exit(os.path.exists('/a'))", False),
        ("x.path", False),
    ],
)
def test_a_script_that_takes_or_patches_it_has_one(script: str, is_there: bool):
    code = compile(script, "", "exec")
    names = {*code.co_names, *[name for each in code.co_consts if hasattr(each, "co_names") for name in each.co_names]}
    assert bool(search_paths_in(code, names, [each for each in code.co_consts if type(each) is str])) is is_there


def test_what_the_script_changes_is_told_once(search: SearchPath):
    assert search.changes() == []
    sys.path.append("/mine")
    told = ["/runtime", "/packages", "/mine"]
    assert search.changes() == [("search_path", "", "", False, told)]
    assert search.changes() == []
    sys.path.pop()
    search.take(told)  # which the program has not changed since
    assert sys.path == ["/runtime", "/packages"]


def test_what_the_program_changes_is_shown_and_finds_nothing(search: SearchPath, tmp_path: Path):
    (tmp_path / "of_program_42.py").write_text("")
    search.take([str(tmp_path), "/packages"])
    assert sys.path == [str(tmp_path), "/packages"]
    assert search.own() == ["/packages", "/runtime"]
    assert search.changes() == []
    importlib.invalidate_caches()
    with pytest.raises(ImportError):
        importlib.import_module("of_program_42")
    search.take(["/runtime", "/packages"])
    assert search.own() == ["/runtime", "/packages"]
    sys.path.insert(0, str(tmp_path))
    assert importlib.import_module("of_program_42")


def test_what_the_script_adds_besides_the_program_is_its_own(search: SearchPath):
    search.take(["/runtime", "/packages", "/both"])
    assert search.own() == ["/runtime", "/packages"]
    sys.path.append("/both")
    search.changes()
    assert search.own() == ["/runtime", "/packages", "/both", "/both"]


@pytest.mark.parametrize("told", [None, "/a", ("/a",), ["/a", 1], ["/a"] * 257])
def test_what_is_no_path_is_not_taken(search: SearchPath, told: object):
    search.take(told)
    assert sys.path == ["/runtime", "/packages"]


def test_what_is_in_the_place_of_the_list(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", ("/a", 1))
    assert read() == ["/a"]
    put("", ["/b"])
    assert sys.path == ["/b"]
    monkeypatch.setattr(sys, "path", None)
    assert read() == []
