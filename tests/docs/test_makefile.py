"""The Makefile lists its targets, and the demo installs what it needs and no more."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def make(*arguments: str) -> str:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def test_help_names_every_target():
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert phony is not None
    assert {line.split()[0] for line in make("help").splitlines()} == set(phony[1].split())


def test_the_demo_installs_neither_linters_nor_statistics(tmp_path):
    commands = make("--dry-run", "demo", f"VENV={tmp_path}/none")
    assert re.findall(r"'\.\[(.*?)\]'", commands) == ["server,cli"]
    assert re.findall(r"'\.\[(.*?)\]'", make("--dry-run", "test", f"VENV={tmp_path}/none")) == ["dev"]
