"""`cruxbox finetune`: forms, what is dropped, and that nothing of the benchmark is left, however it is written."""

from __future__ import annotations

import json

import pytest
from cruxbox.building import Row, anonymize, read_rows
from cruxbox.building.finetune import Form, normal_form, training_text
from cruxbox.cli import main

CODE = "def f(text, n):\n    out = text * n\n    return out"
BENCHMARK = [{"code": CODE, "input": "'ab', 2", "output": "'abab'", "id": "sample_0"}]
POOL = [
    {"code": CODE, "input": "'ab', 2", "output": "'abab'", "id": "same"},
    {"code": CODE.replace("text", "word"), "input": "'ab',2", "output": "'abab'", "id": "renamed"},
    {
        "code": "def f(a,  b): # twice\n  c = a*b\n  return (c)",
        "input": "'ab', (2)",
        "output": "'abab'",
        "id": "formatted",
    },
    {"code": CODE, "input": "'x', 3", "output": "'xxx'", "id": "other input"},
    {"code": "def f(a):\n    return [a]", "input": "1", "output": "[1]", "id": "other"},
    {"code": "def f(b):\n    return [b]", "input": "1", "output": "[1]", "id": "other again"},
]


@pytest.fixture
def files(tmp_path):
    pool, benchmark = tmp_path / "pool.jsonl", tmp_path / "benchmark.jsonl"
    pool.write_text("".join(json.dumps(row) + "\n" for row in POOL) + "{broken\n")
    benchmark.write_text("".join(json.dumps(row) + "\n" for row in BENCHMARK))
    return pool, benchmark, tmp_path / "train.jsonl"


def run(capsys, files, *more):
    pool, benchmark, out = files
    arguments = ["finetune", str(pool), "--out", str(out), "--against", str(benchmark), *more, "--json"]
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out), [json.loads(line) for line in out.read_text().splitlines()]


def test_weak_drops_pairs_and_strong_drops_programs(files, capsys):
    counts, rows = run(capsys, files, "--form", "output", "--decontaminate", "weak")
    assert [row["id"] for row in rows] == ["other input", "other"]
    assert (counts["rows"], counts["kept"], counts["same_pair"], counts["duplicate"], counts["bad"]) == (6, 2, 3, 1, 1)
    counts, rows = run(capsys, files, "--form", "output", "--decontaminate", "strong")
    assert [row["id"] for row in rows] == ["other"]
    assert (counts["same_pair"], counts["same_program"], counts["written"]) == (3, 1, 1)


def test_the_forms(files, capsys):
    _, rows = run(capsys, files, "--form", "output")
    assert rows == [{"id": "other", "form": "output", "text": "def f(a):\n    return [a]\nassert f(1) == [1]"}]
    _, rows = run(capsys, files, "--form", "input")
    assert rows[0]["text"].endswith("\nassert [1] == f(1)")
    _, rows = run(capsys, files, "--form", "input", "--mix")
    assert [(row["id"], row["form"]) for row in rows] == [("other", "input"), ("other", "output")]


def test_cheating_takes_the_benchmarks_programs_with_other_inputs(files, capsys):
    counts, rows = run(capsys, files, "--form", "output", "--cheating")
    assert [row["id"] for row in rows] == ["other input"]
    assert (counts["same_pair"], counts["other_program"]) == (3, 2)
    assert main(["finetune", str(files[0]), "--form", "output", "--out", str(files[2]), "--cheating"]) == 2
    assert "--cheating needs --against" in capsys.readouterr().err


def test_texts_are_programs_that_hold():
    for row in (Row(**{key: each[key] for key in ("code", "input", "output")}) for each in POOL):
        for form in Form:
            exec(training_text(row, form), {})


@pytest.mark.data
def test_no_pair_of_the_benchmark_is_left(cruxeval, tmp_path, capsys):
    """All 800 rows as they are, anonymised, and with another layout; a benchmark of every second one."""
    rows, _ = read_rows(cruxeval / "cruxeval.jsonl")
    pool, benchmark, out = (tmp_path / name for name in ("pool.jsonl", "benchmark.jsonl", "train.jsonl"))
    benchmark.write_text("".join(json.dumps(row.as_dict()) + "\n" for row in rows[::2]))
    with pool.open("w") as file:
        for row in rows:
            form = anonymize(row.code, row.input)
            spaced = "# again\n" + row.code.replace("\n", "\n\n")
            for kind, code, input in (("as is", row.code, row.input), ("renamed", form.code, form.input),
                                      ("spaced", spaced, f" {row.input}")):  # fmt: skip
                file.write(
                    json.dumps({"code": code, "input": input, "output": row.output, "id": f"{row.id} {kind}"}) + "\n"
                )
    counts, texts = run(capsys, (pool, benchmark, out), "--form", "output", "--decontaminate", "weak")
    left = {text["id"].split()[0] for text in texts}
    assert left <= {row.id for row in rows[1::2]}
    assert len(left) == 400
    asked = {normal_form(row) for row in rows[::2]}
    by_id = {item["id"]: item for item in map(json.loads, pool.read_text().splitlines())}
    for text in texts:
        item = by_id[text["id"]]
        assert normal_form(Row(item["code"], item["input"], item["output"])) not in asked
    assert counts["same_pair"] >= 1190
