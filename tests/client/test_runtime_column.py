"""`--runtime-column`: rows choose the runtimes that they run on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cruxbox.cli import main
from problems_by_hand import judged
from samples_by_hand import DOUBLE, lines_of, write


def run(tmp_path: Path, capsys, problems: list[dict], samples: list[dict]):
    """(summary, result lines)."""
    files = write(tmp_path / "s.jsonl", *samples), "--problems", write(tmp_path / "p.jsonl", *problems)
    words = ["--out", str(tmp_path / "r.jsonl"), "--json", "--runtime-column", "python"]
    assert main(["humaneval", *files, *words]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out), lines_of(tmp_path / "r.jsonl")


@pytest.mark.kernel
def test_rows_choose_their_runtimes(tmp_path, capsys):
    """Interpreters by their paths, on a server of the command's own; what is none is that row's INVALID."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    [packages] = environment.glob("lib/python*/site-packages")
    (packages / "library.py").write_text("VERSION = 2\n")
    (packages / "library-2.dist-info").mkdir()
    problem = {**DOUBLE, "python": str(environment / "bin" / "python")}
    uses = "    import library\n    return library.VERSION * x\n"
    plain = sys.executable
    samples = [
        {"task_id": "Mine/0", "completion": uses},  # the problem names it
        {"task_id": "Mine/0", "completion": uses, "python": plain},
        {"task_id": "Mine/0", "completion": "    return 2 * x\n", "python": plain},
        {"task_id": "Mine/0", "completion": uses, "python": "/nowhere/python"},
        {"task_id": "Mine/0", "completion": uses, "python": 3},
        {"task_id": "Mine/0", "completion": uses, "python": str(tmp_path / "broken")},
        {"task_id": "Mine/0", "completion": uses, "python": "/usr/bin/yes"},
    ]
    (tmp_path / "broken").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "broken").chmod(0o755)
    summary, lines = run(tmp_path, capsys, [problem], samples)
    assert [line["passed"] for line in lines] == [True, False, True, None, None, None, None]
    assert "ModuleNotFoundError" in lines[1]["result"]
    assert "s.jsonl, line 4: '/nowhere/python' is no file" in lines[3]["result"]
    for line, path in zip(lines[5:], (tmp_path / "broken", "/usr/bin/yes")):
        assert f"{str(path)!r} is not a working CPython from 3.8 on" in line["result"]
    assert summary["masked"] == 4
    problem["test"] = f"import numpy\n{problem['test']}"
    other = {"task_id": "Other/0", "solution": "def double(x):\n    return 2 * x\n", "python": plain}
    _, lines = run(tmp_path, capsys, [problem, {**DOUBLE, "task_id": "Other/0"}], [*samples[:3], other])
    assert lines.pop()["passed"] is True
    lacks = "the tests import numpy, which the runtime "
    found = [line["result"].partition(lacks)[2] for line in lines]
    assert found == [f"{str(path)!r} does not have" for path in (problem["python"], plain, plain)]
    _, lines = run(tmp_path, capsys, [DOUBLE], [samples[0], samples[2]])
    assert "s.jsonl, line 1: field 'python', which names the runtime, is missing" in lines[0]["result"]


@pytest.mark.kernel
def test_what_a_runtime_has_is_found_by_links_to_it(tmp_path, capsys):
    """A link says which of several environments is the current one, or where somebody's home is."""
    environment, home, current = (tmp_path / name for name in ("release", "home", "current"))
    home.symlink_to(tmp_path)
    current.symlink_to(home / "release")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    [packages] = environment.glob("lib/python*/site-packages")
    text = "import os\nVERSION = 2 * (os.path.exists(__file__) and len(open(__file__).read(1)))\n"
    (packages / "library.py").write_text(text)
    uses = "    import library\n    import xml.dom\n    return library.VERSION * x\n"
    paths = [str(folder / "bin" / "python") for folder in (current, home / "current")]
    samples = [{"task_id": "Mine/0", "completion": uses, "python": path} for path in paths]
    _, lines = run(tmp_path, capsys, [DOUBLE], samples)
    assert [line["passed"] for line in lines] == [True, True], lines


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("sample", "words", "sentence"),
    [
        ({}, [], "s.jsonl: no sample has the field 'python', which names the runtime, nor has its problem"),
        ({}, ["--runtime", "default"], "s.jsonl: no sample has the field 'python'"),
        ({"python": None}, [], "s.jsonl, line 1: field 'python', which names the runtime, is missing"),
        ({"python": "nope"}, [], "s.jsonl, line 1: the server has no runtime 'nope'; it has default"),
        ({"python": 3}, [], "s.jsonl, line 1: field 'python' must name a runtime, is a number"),
    ],
)
def test_a_column_of_runtimes_by_which_no_sample_runs_is_refused(server, tmp_path, capsys, sample, words, sentence):
    samples = write(tmp_path / "s.jsonl", {"task_id": "Mine/0", "completion": "    return 2 * x\n", **sample})
    files = [samples, "--problems", write(tmp_path / "p.jsonl", DOUBLE), "--out", str(tmp_path / "r.jsonl")]
    before = sorted(tmp_path.iterdir())
    assert main(["humaneval", *files, "--server", server, "--runtime-column", "python", *words]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.kernel
def test_a_package_that_a_test_imports_and_nobody_has_says_nothing_of_its_samples(tmp_path, capsys, server):
    """No other row is affected, as no benchmark is known to need it."""
    asks = {**DOUBLE, "task_id": "Mine/1", "test": f"import no_such_package.part\n{DOUBLE['test']}"}
    text = 'NOTE = """\nimport no_such_package\n"""\ntry:\n    import no_such_package\nexcept ImportError:\n    pass\n'
    copes = {**DOUBLE, "task_id": "Mine/2", "test": text + DOUBLE["test"]}
    samples = [{"task_id": f"Mine/{at}", "solution": "def double(x):\n    return 2 * x\n"} for at in range(3)]
    _, lines = judged(tmp_path, capsys, server, "humaneval", [DOUBLE, asks, copes], samples)
    assert [line["passed"] for line in lines] == [True, None, True]
    assert lines[1]["result"].endswith("the tests import no_such_package, which the default runtime does not have")
