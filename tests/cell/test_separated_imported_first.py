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


@pytest.mark.parametrize(("package", "is_there"), [("imported_first", True), ("another", False)])
def test_the_package_of_a_class_is_imported_if_the_script_imports_it(
    package: str, is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "imported_first.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    test = Objects(True)
    test.imports = {package}
    data = b"K" + struct.pack("<I", 1) + text("A") + b"j" + struct.pack("<i", 0)
    reader = Reader(data + text("") + text("") + text("imported_first.sub:A"), Containers(0), test)
    try:
        runs.LINK[:] = [SimpleNamespace(is_test=True, objects=test, doubts=Doubts(), named=frozenset())]
        assert reader.checked(reader.value, 1).__name__ == "A"
        assert ("imported_first" in sys.modules, not test.imports) == (is_there, is_there)
    finally:
        sys.modules.pop("imported_first", None)
