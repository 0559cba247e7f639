"""Interpreters that the tests of filtering need."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path


@functools.cache
def python39() -> str:
    """A Python 3.9, "" if there is none: the released filter was made for it."""
    found = [*map(str, sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python3.9"))), shutil.which("python3.9")]
    for path in filter(None, found):
        done = subprocess.run([path, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True)
        if done.stdout.strip() == "(3, 9)":
            return path
    return ""
