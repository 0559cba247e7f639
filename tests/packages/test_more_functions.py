"""EvalPlus's formats beyond its published samples: HumanEval's 164 problems and the 260 of `tasks.txt`.

By the command, with plain CPython as the judge.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from cruxbox.cli import main
from packages.mutants import mutants

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.timeout(3600),
    pytest.mark.skipif("CRUXBOX_PACKAGES" not in os.environ, reason="CRUXBOX_PACKAGES is not set"),
]
HERE = Path(__file__).parent
PYTHON = os.environ.get("CRUXBOX_PACKAGES", "python")
SECONDS = "5"  # of CPU time: the slowest right program takes two on a slow host
INPUTS, MUTANTS = 20, int(os.environ.get("CRUXBOX_MUTANTS_OF_MORE", "1"))
# Where the test's reference has the names of the program's own helpers, one process makes wrong helpers right.
_MENDED_BY_ITS_TEST = ("get_coordinates",)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    published = Path(os.environ.get("CRUXBOX_DATA", "/nowhere")) / "humaneval" / "HumanEval.jsonl.gz"
    words = [str(published)] if published.is_file() else []
    command = [PYTHON, str(HERE / "evalplus_like.py"), str(folder), str(INPUTS), *words]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def plain_verdicts(cases: list[dict]) -> list[bool]:
    text = "".join(json.dumps(case) + "\n" for case in cases)
    command = [PYTHON, str(HERE / "plain_judge.py")]
    done = subprocess.run(
        command, input=text, env={"PLAIN_SECONDS": SECONDS}, text=True, capture_output=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def samples_of(record: dict) -> list[str]:
    program = record["code"] if "code" in record else record["prompt"] + record["canonical_solution"]
    return [program, *mutants(program, record.get("entry") or record["entry_point"], MUTANTS, seed=1)]


@pytest.mark.parametrize("command", ["humaneval", "mbpp"])
@pytest.mark.parametrize("form", ["origin", "native"])
def test_each_sample_comes_to_what_plain_python_says(made: Path, tmp_path: Path, capsys, form: str, command: str):
    records = [json.loads(line) for line in (made / f"{form}.jsonl").read_text().splitlines()]
    records = [each for each in records if str(each["task_id"]).startswith("HumanEval") == (command == "humaneval")]
    if not records:
        pytest.skip("CRUXBOX_DATA does not lead to HumanEval")
    problems, samples, out = [tmp_path / name for name in ("p.jsonl", "s.jsonl", "r.jsonl")]
    problems.write_text("".join(json.dumps(record) + "\n" for record in records))
    rows = [(record, at, text) for record in records for at, text in enumerate(samples_of(record))]
    lines = [{"task_id": record["task_id"], "solution": text, "mutant": at} for record, at, text in rows]
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["--python", PYTHON, "--out", str(out), "--cpu-limit", SECONDS, "--json"]
    assert main([command, str(samples), "--problems", str(problems), *words]) == 0
    capsys.readouterr()
    told = [json.loads(line) for line in out.read_text().splitlines()]
    plain = plain_verdicts([case_of(record, text) for record, _, text in rows])
    assert [one["task_id"] for one in told if not one["mutant"] and not one["passed"]] == []
    assert {one["assurance"] for one in told if one["passed"]} == {"SEPARATED"}
    other = [
        (one["task_id"], one["mutant"], one["result"], one["solution"])
        for (record, _, _), one, verdict in zip(rows, told, plain)
        if one["passed"] is not verdict and (record.get("entry") not in _MENDED_BY_ITS_TEST or not verdict)
    ]
    assert other == []
    assert sum(verdict for one, verdict in zip(told, plain) if one["mutant"]) < len(rows) // 3


def case_of(record: dict, program: str) -> dict:
    if "base_input" in record:
        return {"program": program, "native": record}
    is_called = "" if "code" in record else f"\ncheck({record['entry_point']})\n"
    return {"program": program, "test": record["test"] + is_called}
