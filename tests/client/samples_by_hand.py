"""Runs the commands that run samples."""

from __future__ import annotations

import json
from pathlib import Path

from cruxbox.cli import main

DOUBLE = {
    "task_id": "Mine/0",
    "prompt": "def double(x):\n",
    "entry_point": "double",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
}


def write(path: Path, *records: dict) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(tmp_path: Path, capsys, problem: dict, samples: list[dict], *words: str, command: str = "humaneval"):
    """(summary, result lines)."""
    files = write(tmp_path / "s.jsonl", *samples), "--problems", write(tmp_path / "p.jsonl", problem)
    assert main([command, *files, "--out", str(tmp_path / "r.jsonl"), "--json", *words]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out), lines_of(tmp_path / "r.jsonl")
