"""What the script's own classes lack: which of them are its tests, whose methods a library looks for."""

from __future__ import annotations

import pytest
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
