"""`cruxbox check`, `info` and `steps` against a real daemon."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys

import pytest
from cruxbox.cli import main

PROGRAM = "def f(x):\n    return [x, 1 / x]\n"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.mark.parametrize(
    ("call", "expected", "code", "outcome"),
    [
        ("f(2)", "[2, 0.5]", 0, "PASSED"),
        ("f(2)", "[2, 1]", 1, "FAILED"),
        ("f(0)", "1", 1, "RAISED"),
        ("f(", "1", 1, "INVALID"),
        ("__import__('sys').exit(0)", "1", 1, "RAISED"),
    ],
)
def test_check(server, program, capsys, call, expected, code, outcome):
    arguments = ["check", "--program", program, "--call", call, "--expected", expected, "--server", server]
    assert main(arguments) == code
    assert capsys.readouterr().out.startswith(f"{outcome} · ")
    assert main([*arguments, "--json"]) == code
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["outcome"] == outcome
    assert verdict["steps"] >= 0


def test_a_program_may_come_from_stdin(server, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))
    assert main(["check", "--program", "-", "--call", "f(1)", "--expected", "[1, 1]", "--server", server]) == 0


def test_a_candidates_words_do_not_steer_the_terminal(server, tmp_path, capsys):
    path = tmp_path / "p.py"
    path.write_text("def f():\n    raise ValueError('\\x1b[2Jgone')\n")
    assert main(["check", "--program", str(path), "--call", "f()", "--expected", "1", "--server", server]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_info(server, capsys):
    assert main(["info", "--server", server]) == 0
    assert "seccomp" in capsys.readouterr().out
    assert main(["info", "--server", server, "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert info["default_limits"]["cpu_ms"] > 0
    assert {"version", "runtimes", "layers", "workers", "maximum_limits"} <= set(info)


def test_the_server_may_come_from_the_environment(server, capsys, monkeypatch):
    monkeypatch.setenv("CRUXBOX_SERVER", server)
    assert main(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["workers"] == 2


ROWS = [
    {"code": "def f(x):\n    return x", "input": "1", "output": "1", "id": "a"},
    {"code": "def f(x):\n    return [y for y in range(x)]", "input": "50", "output": repr(list(range(50))), "id": "b"},
]


@pytest.fixture
def rows(tmp_path):
    def write(rows):
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(path)

    return write


@pytest.mark.parametrize("count", ["instructions", "events"])
def test_steps(server, rows, capsys, count):
    assert main(["steps", rows(ROWS), "--count", count, "--server", server, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in report["rows"]] == ["a", "b"]
    few, many = (row["steps"] for row in report["rows"])
    assert 0 < few < 50 < many
    assert report["sum"] == few + many
    assert main(["steps", rows(ROWS), "--count", count, "--server", server, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == report


def test_a_row_that_does_not_run_has_no_steps(server, rows, capsys):
    bad = {"code": "def f(x):\n    return 1 / x", "input": "0", "output": "0", "id": "c"}
    assert main(["steps", rows([*ROWS, bad]), "--server", server, "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["rows"][2]["steps"] is None
    assert "c: RAISED: ZeroDivisionError" in err


def test_standard_output_on_a_full_disk_is_one_sentence(server, rows, capsys, monkeypatch):
    for line in (["steps", rows(ROWS)], ["steps", rows(ROWS), "--json"]):
        with open("/dev/full", "w") as full:
            monkeypatch.setattr("sys.stdout", full)
            assert main([*line, "--server", server]) == 2
            monkeypatch.undo()
            with pytest.raises(OSError):
                full.close()
        assert "cruxbox: standard output cannot be written: No space left on device\n" in capsys.readouterr().err


CALLED = "from cruxbox.cli import main; import sys; sys.exit(main(sys.argv[1:]))"


@pytest.mark.parametrize(("expected", "code"), [("[1, 1.0]", 0), ("3", 1)])
def test_the_exit_code_is_the_verdict_where_standard_output_is_closed(server, program, expected, code):
    words = ["check", "--program", str(program), "--call", "f(1)", "--expected", expected, "--server", server]
    line = shlex.join([sys.executable, "-c", CALLED, *words])
    for closed in (">&-", ">&- 2>&-", "<&- >&-"):
        ran = subprocess.run(f"exec {line} {closed}", shell=True, stderr=subprocess.PIPE, text=True)
        assert (ran.returncode, ran.stderr) == (code, "")
    for more in (["--version"], ["prompts", "candidates"]):
        ran = subprocess.run(f"exec {shlex.join([*shlex.split(line)[:3], *more])} >&-", shell=True)
        assert ran.returncode == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_gone_is_no_verdict(server, program, monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    words = ["check", "--program", str(program), "--call", "f(1)", "--expected", "[1, 1]", "--server", server]
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([sys.executable, "-c", CALLED, *words], stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, "")


def test_a_runtime_that_is_not_there(server, rows, capsys):
    assert main(["steps", rows(ROWS), "--runtime", "nope", "--server", server]) == 2
    assert "nope" in capsys.readouterr().err
