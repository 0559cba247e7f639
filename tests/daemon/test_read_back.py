"""Files of a scratch folder are read as they were left, through no link, by either way to open them."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from cruxboxd.zygotes import read_back
from cruxboxd.zygotes.read_back import FilesRead, read_files

DEEP = "d/" * 90 + "f"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    work = tmp_path / "work"
    (work / DEEP).parent.mkdir(parents=True)
    (work / DEEP).write_bytes(b"deep")
    (work / "a").write_bytes(b"12345")
    (work / "b").write_bytes(b"")
    (work / "link").symlink_to("a")
    (work / "up").symlink_to("..")
    (work / "through").symlink_to("d")
    (tmp_path / "secret").write_bytes(b"secret")
    os.mkfifo(work / "fifo")
    opened = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    yield opened
    os.close(opened)


@pytest.mark.parametrize("at_once", [True, False])
def test_what_is_read_and_what_is_not(folder: int, at_once: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(read_back, "_resolves_at_once", lambda: at_once)
    before = len(os.listdir("/proc/self/fd"))
    wrong = ["link", "up/secret", "../secret", "through/" + DEEP[2:], "fifo", "d", "none", "a/b", "/etc/passwd"]
    if not at_once:  # names of these forms are refused before a worker starts
        wrong.remove("../secret")
        wrong.remove("/etc/passwd")
    found = read_files(folder, [*wrong, "a", "b", DEEP], 9)
    assert found == FilesRead((("a", b"12345"), ("b", b""), (DEEP, b"deep")))
    assert read_files(folder, ["b", "a", DEEP], 8) == FilesRead((), True)
    assert len(os.listdir("/proc/self/fd")) == before


def test_nothing_is_read_of_a_file_that_is_too_large(folder: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(read_back, "_read", lambda *_: pytest.fail("it was read"))
    assert read_files(folder, ["a"], 4).is_over


def test_a_deep_name_takes_one_call_of_the_system(folder: int, monkeypatch: pytest.MonkeyPatch):
    """Where the kernel knows openat2, as each that has scratch folders does."""
    monkeypatch.setattr(read_back, "_open_step_by_step", lambda *_: pytest.fail("step by step"))
    assert read_files(folder, [DEEP], 4).files == ((DEEP, b"deep"),)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_shortage_of_the_host_is_no_missing_file(folder: int, at_once: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(read_back, "_resolves_at_once", lambda: at_once)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(folder)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            read_files(folder, ["a"], 9)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
