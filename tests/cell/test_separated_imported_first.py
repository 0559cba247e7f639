"""A package that the script imports is there before a class of it is made."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cruxcell.jobs.separated.crossing.objects import Objects
from cruxcell.jobs.separated.proxies import runs
from cruxcell.jobs.separated.proxies.doubts import Doubts
from cruxcell.values.containers import Containers
from cruxcell.values.reader import Reader


def text(data: str) -> bytes:
    return b"s" + struct.pack("<I", len(data)) + data.encode()


@pytest.mark.parametrize(
    ("package", "place", "is_there"),
    [
        ("imported_first", "imported_first.sub:A", True),
        ("another", "imported_first.sub:A", True),  # which has it from there, as pydantic has what is pydantic_core's
        ("another", "cruxcell:A", False),  # which is loaded
        ("another", "", False),
    ],
)
def test_what_the_script_imports_is_imported_before_a_class_of_what_is_not(
    package: str, place: str, is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "imported_first.py").touch()
    (tmp_path / "another.py").write_text("import imported_first")
    monkeypatch.syspath_prepend(str(tmp_path))
    test = Objects(True)
    test.imports = {package}
    data = b"K" + struct.pack("<I", 1) + text("A") + b"j" + struct.pack("<i", 0)
    reader = Reader(data + text("") + text("") + text(place), Containers(0), test)
    try:
        runs.LINK[:] = [SimpleNamespace(is_test=True, objects=test, doubts=Doubts(), named=frozenset())]
        assert reader.checked(reader.value, 1).__name__ == "A"
        assert ("imported_first" in sys.modules, not test.imports) == (is_there, is_there)
    finally:
        for name in ("imported_first", "another"):
            sys.modules.pop(name, None)
