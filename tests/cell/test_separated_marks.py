"""What the script's own classes lack: which of them are its tests, whose methods a library looks for."""

from __future__ import annotations

from typing import Any

import pytest
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.proxies import marks


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("Point", "x", True),
        ("Point", "name", False),
        ("Point", "__getattr__", False),
        ("Point", "test_it", False),
        ("TestIt", "x", False),
    ],
)
def test_a_class_of_the_script_s_that_is_no_test_lacks_what_it_does_not_have(name: str, has: str, lacks: bool):
    cls = type(name, (), {"__module__": "__main__", has: 1})
    assert marks._class_lacks(cls, "name") is lacks


def test_what_the_candidate_has_set_it_may_set_again_until_the_script_does():
    names: dict[str, Any] = {}
    exec(compile("def f(): pass", CHECK, "exec"), names)
    function = names["f"]
    assert marks.marks(function, "route") is False, "there is nothing to delete"
    for value in ("/", "/a"):
        assert marks.marks(function, "route", value)
        function.route = value
        assert marks.is_marked(function, "route")
    assert marks.marks(function, "pytestmark", 1) is False
    function.route = "/own"
    assert marks.is_marked(function, "route") is False
    assert marks.marks(function, "route", "/b") is False


@pytest.mark.parametrize(
    ("kind", "bases", "module"),
    [(type, (), "library"), (type, (dict,), "__main__"), (type("Meta", (type,), {}), (), "__main__")],
)
def test_no_other_class_lacks_anything(kind: type, bases: tuple[type, ...], module: str):
    assert marks._class_lacks(kind("Point", bases, {"__module__": module}), "name") is False
