"""Virtual environments with modules made by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def environment(folder: Path, **modules: str) -> Path:
    """A virtual environment with modules of our own in it; its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [packages] = folder.glob("lib/python3.*/site-packages")
    for name, text in modules.items():
        (packages / f"{name}.py").write_text(text)
        (packages / f"{name}-1.5.dist-info").mkdir()
    return folder / "bin" / "python"
