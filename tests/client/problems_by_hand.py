"""Problems and samples, and what a command says of them."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from pathlib import Path

from cruxbox.cli import main

BODY = "    return sum(xs) / len(xs)\n"
WHOLE = f"def mean(xs):\n{BODY}"
NATIVE = {
    "task_id": "HumanEval/900",
    "prompt": "def mean(xs):\n    '''The mean.'''\n",
    "entry_point": "mean",
    "canonical_solution": BODY,
    "base_input": [[[1.0, 2.0]], [[4.0]]],
    "plus_input": [[[0.1, 0.2, 0.3]], [[float("inf"), 1.0]]],
    "atol": 0,
}
MBPP = {
    "task_id": 11,
    "text": "Remove the first and last occurrence.",
    "code": "",
    "test_setup_code": "limit = 3",
    "test_list": ["assert remove('hello','l') == 'heo'", "assert remove('abcda', 'a')[:limit] == 'bcd'"],
}


def packed(value: object, protocol: int = 4) -> str:
    """As LiveCodeBench packs its hidden tests."""
    return base64.b64encode(zlib.compress(pickle.dumps(value, protocol))).decode()


def write(path: Path, *records: dict) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def judged(tmp_path: Path, capsys, server: str, command: str, problems: list[dict], samples: list[dict]):
    """(summary, result lines) of a command."""
    problem_file, sample_file = write(tmp_path / "p.jsonl", *problems), write(tmp_path / "s.jsonl", *samples)
    out = tmp_path / "r.jsonl"
    words = [command, str(sample_file), "--problems", str(problem_file), "--server", server, "--out", str(out)]
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out), [json.loads(line) for line in out.read_text().splitlines()]
