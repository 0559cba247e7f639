"""What a bench that was killed leaves behind goes with the next."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cruxbox import scratch

from bench import folders

_HELD = "from bench import folders\nwith folders.folder('cruxbench-test-') as path: print(path, flush=True); input()"


def test_the_folder_of_a_bench_that_was_killed_is_removed_by_the_next() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HELD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as killed:
        assert killed.stdout is not None
        left = Path(killed.stdout.readline().strip())
        with folders.folder("cruxbench-test-") as mine:
            assert left.is_dir(), "somebody holds it"
        killed.kill()
    assert left.is_dir()
    with folders.folder("cruxbench-test-") as mine:
        assert not left.exists()
        assert mine.parent == Path(tempfile.gettempdir())
    assert not mine.exists()


def test_a_folder_that_is_just_being_made_is_nobodys_to_remove(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process looks for what was left just before it is locked."""
    lock, looked = fcntl.flock, []

    def late(descriptor: int, how: int) -> None:
        if not looked:
            looked.append(True)
            scratch._sweep(Path(tempfile.gettempdir()), "cruxbench-test-")
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with folders.folder("cruxbench-test-") as mine:
        assert looked
        assert [path.name for path in mine.iterdir()] == ["lock"]
