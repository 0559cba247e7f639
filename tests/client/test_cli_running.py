"""The options that every command which runs programs shares, against a real daemon."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cruxbox.cli import main

PROGRAM = "import sys\ndef f(x):\n    return [x] * x\ndef v(x):\n    return sys.version_info[:2]\n"
SHARED = [
    "--server",
    "--cpu-limit",
    "--wall-limit",
    "--memory-limit",
    "--output-limit",
    "--max-steps",
    "--runtime",
    "--python",
    "--require",
]


@pytest.fixture
def program(tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    return tmp_path / "p.py"


@pytest.fixture
def ask(program, server, capsys):
    """(exit code, verdict) of a check of the command line."""

    def ask(call: str, expected: str, *options: str) -> tuple[int, dict]:
        where = () if "--python" in options else ("--server", server)
        base = ["check", "--program", str(program), "--call", call, "--expected", expected, "--json"]
        code = main([*base, *where, *options])
        return code, json.loads(capsys.readouterr().out)

    return ask


@pytest.mark.parametrize("name", ["score", "humaneval", "check", "steps", "stats", "filter", "anonymize"])
def test_every_command_that_runs_programs_has_them(name, capsys):
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert [option for option in SHARED if option not in text] == []


def test_limits_reach_the_server(ask):
    assert ask("f(3)", "[3, 3, 3]")[1]["outcome"] == "PASSED"
    assert ask("len(f(3)) and sum(range(9**9))", "1", "--cpu-limit", "0.05")[1]["outcome"] == "TIMED_OUT"
    assert ask("f(30_000_000)", "1", "--memory-limit", "64M")[1]["outcome"] == "MEMORY_LIMIT"
    assert ask("f(3)", "[3, 3, 3]", "--max-steps", "2")[1]["outcome"] == "STEP_LIMIT"
    assert ask("print('x' * 2000) or f(1)", "[1]", "--output-limit", "1k")[1]["outcome"] == "OUTPUT_LIMIT"


def test_what_ran_in_one_process_says_why(program, server, capsys):
    line = ["check", "--program", str(program), "--server", server, "--expected", "3", "--call"]
    assert main([*line, "len(f(3))"]) == 0
    assert "IN_PROCESS · value 3 · the call or the expected value is more than a name" in capsys.readouterr().out
    assert main([*line, "f(3)"]) == 1
    assert "more than a name" not in capsys.readouterr().out


def test_what_must_be_separated_is_refused_otherwise(ask):
    assert ask("len(f(3))", "3")[1]["assurance"] == "IN_PROCESS"
    code, verdict = ask("len(f(3))", "3", "--require", "separated")
    assert (code, verdict["outcome"]) == (1, "INVALID")


def test_a_limit_above_the_servers_is_one_sentence(program, server, capsys):
    line = ["check", "--program", str(program), "--call", "f(1)", "--expected", "[1]", "--server", server]
    assert main([*line, "--memory-limit", "500G"]) == 2
    assert "refused the request: --memory-limit is 500G; allowed are 16M to " in capsys.readouterr().err
    assert main([*line, "--cpu-limit", "0.0001"]) == 2
    assert "refused the request: --cpu-limit is 0.001 s; allowed are 0.01 s to " in capsys.readouterr().err
    assert main([*line, "--runtime", "nope"]) == 2
    assert "refused the request: --runtime is 'nope'" in capsys.readouterr().err


def test_an_interpreter_of_ones_own(ask, capsys):
    other = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
    _code, verdict = ask("v(0)", str(sys.version_info[:2]), "--python", other)
    assert verdict["runtime_version"]
    assert main(["runtimes", "--python", other, "--json"]) == 0
    (runtime,) = json.loads(capsys.readouterr().out)["runtimes"]
    assert (runtime["path"], runtime["is_default"], runtime["version"]) == (other, True, verdict["runtime_version"])


def test_runtimes_are_listed(server, capsys):
    assert main(["runtimes", "--server", server]) == 0
    assert "default" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "why"),
    [("from math imp\n", "invalid syntax (line 1)"), ("\nimport no_such\n", "ModuleNotFoundError: No module named")],
    ids=["no Python", "raises"],
)
def test_what_does_not_run_by_itself_is_no_programs_fault(server, tmp_path, capsys, source: str, why: str):
    """A prelude would have every program fail, and of a checker every sample would say the same."""
    source += "check = len\n"
    row = {"id": "a", "code": "def f(x): return x", "input": "1", "output": "1"}
    problem = {"problem_id": 0, "input_output": json.dumps({"inputs": ["1"], "outputs": ["1"]})}
    files = {"d.jsonl": row, "g.json": {"a": ["f(1)"]}, "p.jsonl": problem, "s.jsonl": {"problem_id": 0, "code": ""}}
    for name, value in files.items():
        (tmp_path / name).write_text(json.dumps(value) + "\n")
    (tmp_path / "own.py").write_text(source)
    for line in (
        "steps d.jsonl --prelude own.py",
        "score g.json --dataset d.jsonl --mode input --out o.json --prelude own.py",
        "stdio s.jsonl --problems p.jsonl --out o.jsonl --prelude own.py",
        "stdio s.jsonl --problems p.jsonl --out o.jsonl --checker own.py",
    ):
        words = [str(tmp_path / word) if "." in word else word for word in line.split()]
        assert main([*words, "--server", server]) == 2
        assert f"{tmp_path}/own.py: does not run by itself: {why}" in capsys.readouterr().err.replace("\n", " ")
    assert not list(tmp_path.glob("o.*"))
