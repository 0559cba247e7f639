"""When a file was changed that crosses between the halves of a script."""

from __future__ import annotations

import os
import pathlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cruxcell.jobs.separated.state import changed_times
from cruxcell.jobs.separated.state.folders import Folder

LONG_AGO, AS_FLOAT = 1_000_000_000_123_456_789, 1_000_000_000 + 1e-9 * 123_456_789


@pytest.fixture
def shown() -> Iterator[None]:
    """`os` as it is for a text that names that time."""
    looks, choices = (os.stat, os.lstat, os.fstat), (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks)
    before = [set(each) for each in choices]
    changed_times.install_for("os.path.getctime(path)")
    yield
    os.stat, os.lstat, os.fstat = looks
    for each, as_it_was in zip(choices, before):
        each.intersection_update(as_it_was)


@pytest.fixture
def crossed(tmp_path: Path) -> Path:
    """A file that the other half has changed long ago."""
    assert Folder(str(tmp_path)).put("a", b"7", (5, 0o600, LONG_AGO))
    return tmp_path / "a"


@pytest.mark.usefixtures("shown")
def test_a_file_that_has_crossed_was_changed_when_the_other_half_says(crossed: Path):
    for found in (os.stat(crossed), os.lstat(crossed), crossed.stat()):
        assert (found.st_ctime_ns, found.st_ctime, found[9]) == (LONG_AGO, AS_FLOAT, 10**9)
        assert (found.st_mtime_ns, found.st_size, found.st_mode & 0o777) == (5, 1, 0o600)
        assert type(found) is os.stat_result
    with crossed.open() as file:
        assert os.fstat(file.fileno()).st_ctime_ns == LONG_AGO
    assert os.path.getctime(crossed) == AS_FLOAT


@pytest.mark.usefixtures("shown")
def test_one_that_is_changed_here_was_changed_here(crossed: Path):
    before = time.time() - 1
    crossed.write_text("8")
    assert os.path.getctime(crossed) > before
    assert os.path.getctime(crossed.parent) > before


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize("changed", [-1, 1 << 63, 1 << 5000])
def test_what_is_no_time_is_not_taken(tmp_path: Path, changed: int):
    before = time.time() - 1
    assert Folder(str(tmp_path)).put("a", b"7", (5, 0o600, changed))
    assert os.path.getctime(tmp_path / "a") > before


@pytest.mark.usefixtures("shown")
def test_the_library_finds_the_functions_that_it_knows(crossed: Path):
    assert {os.stat, os.lstat} & os.supports_follow_symlinks == {os.stat}
    assert os.stat in os.supports_dir_fd
    assert os.stat in os.supports_fd
    assert (os.stat.__name__, type(os.stat.__doc__)) == ("stat", str)
    with pytest.raises(FileNotFoundError):
        os.stat(crossed.parent / "gone")
    assert pathlib.Path(crossed).stat().st_ctime_ns == LONG_AGO


@pytest.mark.usefixtures("shown")
def test_it_is_to_the_last_digit_what_python_makes_of_it(crossed: Path):
    for at in range(100):
        crossed.write_text(str(at))
        found = crossed.stat()
        changed_times.note(str(crossed), found.st_ctime_ns)
        assert crossed.stat() == found
        assert crossed.stat().st_ctime == found.st_ctime


def test_a_text_that_does_not_name_the_time_has_the_functions_of_python():
    before = os.stat
    changed_times.install_for("os.path.getmtime(path)")
    assert os.stat is before


def test_it_is_told_with_what_has_changed(crossed: Path):
    assert Folder(str(crossed.parent)).told("a") == ("a", b"7", (5, 0o600, crossed.stat().st_ctime_ns))
