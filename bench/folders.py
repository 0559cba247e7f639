"""Temporary folders of the benches: one that was killed leaves its folder, and the next removes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cruxbox.scratch import ScratchFolder

PREFIX = "cruxbench-"


@contextmanager
def folder(prefix: str = PREFIX) -> Iterator[Path]:
    """A folder for as long as the block lasts; those of this prefix whose process is dead are removed first."""
    held = ScratchFolder(prefix)
    try:
        yield held.path
    finally:
        held.remove()
