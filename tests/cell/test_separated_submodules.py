"""Which submodules a script has that it takes of a package without importing them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cruxcell.jobs.separated.rules.submodules import import_submodules


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`outer` has `inner`, `other`, `broken` and a name of its own; `lonely` is a module."""
    (tmp_path / "outer").mkdir()
    for name, text in {"__init__": "own = 1", "inner": "", "other": "", "own": "", "broken": "1 / 0"}.items():
        (tmp_path / "outer" / f"{name}.py").write_text(text)
    (tmp_path / "lonely.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


SCRIPTS = {
    "import outer\nouter.inner.x": ["outer", "outer.inner"],
    "def test():\n    import outer\n    return outer.inner, outer.other.x": ["outer", "outer.inner", "outer.other"],
    "import outer as o, outer as p\no.inner + p.other": ["outer", "outer.inner", "outer.other"],
    "import outer\nx.inner, inner, outer.nothing": [],
    "import outer\nouter.broken": ["outer"],
    "import lonely\nlonely.inner": [],
    "import nothing_such\nnothing_such.inner": [],
    "inner = 'outer.inner'": [],
    "import outer.inner\nouter.other": [],
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_submodules_that_are_taken_are_imported(script: str):
    import_submodules(compile(script, "", "exec"), script)
    assert sorted(name for name in sys.modules if name.partition(".")[0] in ("outer", "lonely")) == SCRIPTS[script]


def test_what_a_package_has_by_itself_stays(packages: Path):
    import outer  # type: ignore[import-not-found]

    script = "import outer\nouter.own, outer.inner"
    import_submodules(compile(script, "", "exec"), script)
    assert outer.own == 1
    assert "outer.inner" in sys.modules
    assert "outer.own" not in sys.modules


def test_a_package_that_says_odd_things_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    module = type(sys)("outer")
    module.__path__ = ["\0"]
    monkeypatch.setitem(sys.modules, "outer", module)
    script = "import outer\nouter.inner"
    import_submodules(compile(script, "", "exec"), script)
    assert "outer.inner" not in sys.modules
