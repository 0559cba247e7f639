"""How full the disk is, as programs are told it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from cruxcell.jobs import disk_figures

SIZE = 1 << 20


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The scratch folder of a program that asks for that."""
    monkeypatch.setattr(disk_figures, "SCRATCH_FOLDER", str(tmp_path))
    for name in ("statvfs", "fstatvfs"):
        monkeypatch.setattr(os, name, getattr(os, name))  # taken back afterwards
    disk_figures.install_for("shutil.disk_usage('.')", SIZE)
    return tmp_path


def test_the_disk_is_the_scratch_folder(folder: Path):
    assert shutil.disk_usage(folder) == (SIZE, 0, SIZE)
    (folder / "a").write_bytes(b"7" * 5000)
    usage, figures = shutil.disk_usage("/"), os.statvfs(folder / "a")
    assert usage.used >= 8192
    assert usage.used + usage.free == usage.total == SIZE
    assert (figures.f_files - figures.f_ffree, figures.f_bsize, figures.f_namemax) == (1, 4096, 255)


def test_what_is_not_there_has_no_disk(folder: Path):
    with pytest.raises(FileNotFoundError):
        shutil.disk_usage(folder / "none")


def test_a_folder_that_is_full_has_nothing_free(folder: Path):
    (folder / "a").write_bytes(b"7" * (2 * SIZE))
    assert shutil.disk_usage(folder).free == 0


@pytest.mark.parametrize(("source", "size"), [("shutil.rmtree('a')", SIZE), ("shutil.disk_usage('.')", 0)])
def test_other_programs_have_the_functions_of_python(source: str, size: int):
    before = os.statvfs
    disk_figures.install_for(source, size)
    assert os.statvfs is before
