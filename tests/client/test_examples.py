"""What the examples promise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from cruxbox.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_reward_is_one_for_the_right_program_only(server):
    ran = subprocess.run(
        [sys.executable, EXAMPLES / "reward.py"],
        capture_output=True,
        text=True,
        env={**os.environ, "CRUXBOX_SERVER": server},
    )
    assert ran.stdout.split("\n")[:-1] == ["right: 1.0", "wrong: 0.0", "endless: 0.0", "forged: 0.0", "gone: 0.0"]
    assert ran.returncode == 0


def test_the_filter_keeps_what_its_page_says(server, tmp_path, capsys):
    words = ["filter", str(EXAMPLES / "candidates.jsonl"), "--out", str(tmp_path / "kept.jsonl"), "--server", server]
    assert main([*words, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["rows"], summary["pairs"], summary["kept"]) == (5, 7, 2)
    assert set(summary["reasons"]) >= {"RAISED", "STEPS", "FORBIDDEN_TEXT", "LENGTH"}


def test_only_right_samples_pass(server, tmp_path, capsys):
    files = [str(EXAMPLES / "samples.jsonl"), "--problems", str(EXAMPLES / "problems.jsonl")]
    words = ["humaneval", *files, "--out", str(tmp_path / "r.jsonl"), "--server", server, "--cpu-limit", "3"]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"] == {"PASSED": 2, "FAILED": 3, "RAISED": 1}
    passed = [json.loads(line)["passed"] for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert passed == [True, False, False, True, False, False]
