"""The commands as a person calls them, the sandbox being a real one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from cruxbox import Client
from cruxbox.building import Anonymized, Row, anonymize, read_rows
from cruxbox.building.running import compare_behaviour, measure_steps
from cruxbox.cli import main
from cruxbox.model import StepCount
from stats_models import made_up, write_scored

ROWS = [
    {"code": "def f(text, n):\n    out = text * n\n    return out", "input": "'ab', 2", "output": "'abab'", "id": "a"},
    {"code": "def f(nums):\n    return sorted(nums, reverse=True)", "input": "[1, 3]", "output": "[3, 1]", "id": "b"},
    {
        "code": "def f(d, **more):\n    d.update(more)\n    return d",
        "input": "{}, k=1",
        "output": "{'k': 1}",
        "id": "c",
    },
]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(workers=1) as client:
        yield client


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


# ---- compare, stats ---------------------------------------------------------


def test_compare_as_json_and_page(tmp_path, capsys):
    small = write_scored(tmp_path / "small.json", made_up("x", 1))
    large = write_scored(tmp_path / "large.json", made_up("x", 2, lift=0.3))
    page = tmp_path / "report.html"
    arguments = ["compare", str(small), f"big={large}", "--cot", "small=big", "--resamples", "500", "--json"]
    assert main([*arguments, "--html", str(page), "--title", "Small or large"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [model["name"] for model in found["models"]] == ["big", "small"]  # by score, the best first
    assert found["differences"][0]["baseline"] == "small"
    assert found["settings"]["resamples"] == 500
    assert found["confusions"][0]["cot"] == "big"
    assert "<h1>Small or large</h1>" in page.read_text()
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out) == found


def test_many_models_can_differ_significantly_with_few_resamples(tmp_path, capsys):
    """The smallest p value, times the number of comparisons, must lie below the level: resamples are added."""
    base = write_scored(tmp_path / "base.json", made_up("x", 0))
    better = write_scored(tmp_path / "better.json", made_up("x", 99, lift=0.5))
    others = [write_scored(tmp_path / f"m{at}.json", made_up("x", at)) for at in range(1, 34)]
    assert main(["compare", *map(str, [base, better, *others]), "--resamples", "500", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"]["resamples"] == 2720
    assert next(one for one in found["differences"] if one["model"] == "better")["adjusted"] < 0.05


def test_one_sample_has_no_noise_of_samples(tmp_path, capsys):
    scored = write_scored(tmp_path / "one.json", made_up("x", 1, samples=1))
    assert main(["compare", str(scored), "--resamples", "100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["models"][0]["noise_samples"] is None
    assert main(["compare", str(scored), "--resamples", "100"]) == 0
    assert "±–" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare", "{small}", "--baseline", "x"], "no model is called 'x'; there are: small"),
        (["compare", "{small}", "--cot", "small"], "--cot 'small' must be DIRECT=COT, two of: small"),
        (["compare", "{small}", "--html", "/nowhere/x.html"], "/nowhere/x.html: cannot be written"),
        (["compare", "{data}"], "is not JSON"),
        (["compare", "{small}", "--dataset", "{data}"], "the data set has none of the scored tasks"),
        (["stats", "{small}"], "no usable row"),
        (["sample", "{data}", "--n", "4", "--out", "x"], "has only 3 different programs, and --n is 4"),
        (["prompts", "output"], "prompts output needs DATA"),
        (["prompts", "candidates", "{data}"], "prompts candidates takes no DATA"),
        (["prompts", "candidates", "--cot"], "takes neither --cot nor --style nor --template"),
        (["prompts", "input", "{data}", "--style", "assert", "--cot"], "no room for a chain of thought"),
        (["prompts", "input", "{data}", "--template", "cot-output"], "for output prediction, not for input"),
        (["prompts", "input", "{data}", "--template", "cot-input", "--cot"], "--template says it all"),
        (
            ["prompts", "input", "{data}", "--template", "nope"],
            "prompt set 'nope' is not known; there are assert-input",
        ),
        (["extract", "output", "{small}", "--out", "x"], "line 1"),
        (["anonymize", "{small}", "--out", "x"], "no usable row"),
        (["finetune", "{small}", "--form", "output", "--out", "x"], "no usable row"),
        (["anonymize", "{data}", "--out", "{data}"], "would overwrite a file it is made from"),
        (["steps", "{data}", "--out", "{data}"], "would overwrite"),
        (["sample", "{data}", "--n", "1", "--out", "{data}"], "would overwrite"),
        (["finetune", "{data}", "--form", "output", "--out", "{data}"], "would overwrite"),
        (["extract", "output", "{small}", "--out", "{small}"], "would overwrite"),
        (["prompts", "input", "{data}", "--out", "{data}"], "would overwrite"),
        (["compare", "a={small}", "--html", "{small}"], "would overwrite"),
        (["compare", "--task", "input={small}", "--html", "{small}"], "would overwrite"),
        (["leaderboard", "{small}", "--csv", "{small}"], "would overwrite"),
        (["steps", "{data}", "--out", "nowhere/x"], "nowhere/x: cannot be written: nowhere is not a folder"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(tmp_path, data, capsys, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    small = write_scored(tmp_path / "small.json", made_up("x", 1))
    assert main([one.format(small=small, data=data) for one in arguments]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert "Traceback" not in told


def test_stats_from_the_rows_own_steps(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({**row, "steps": at + 5}) + "\n" for at, row in enumerate(ROWS)) + "{broken\n")
    assert main(["stats", str(path), "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["steps"]["bounds"] == [5, 5.5, 6, 6.5, 7]
    assert found["steps_source"] == "from the rows"
    assert found["bad_rows"] == 1
    assert "line 4: is not JSON" in err
    assert main(["stats", str(path), "--strict"]) == 2
    assert main(["stats", str(path)]) == 0
    assert "Methods never used" in capsys.readouterr().out


def test_stats_without_running_anything(data, capsys):
    assert main(["stats", str(data), "--no-run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] is None
    assert found["steps_source"] == "not counted (--no-run)"


# ---- building ---------------------------------------------------------------


def test_from_prompts_to_generations(tmp_path, data, capsys):
    prompts = tmp_path / "prompts.jsonl"
    assert main(["prompts", "output", str(data), "--out", str(prompts)]) == 0
    asked = lines(prompts)
    assert [one["id"] for one in asked] == ["a", "b", "c"]
    assert asked[0]["stop"] == ["[/ANSWER]"]
    completions = tmp_path / "completions.jsonl"
    completions.write_text(
        "".join(
            json.dumps({"id": one["id"], "completion": f"{one['prompt']}assert f(1) == {row['output']}\n[/ANSWER]"})
            + "\n"
            for one, row in zip(asked, ROWS)
        )
    )
    out = tmp_path / "generations.json"
    assert main(["extract", "output", str(completions), "--prompts", str(prompts), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["empty"] == 0
    assert json.loads(out.read_text()) == {row["id"]: [row["output"]] for row in ROWS}


def test_from_candidate_prompts_to_rows(tmp_path, capsys):
    assert main(["prompts", "candidates", "--schedule", "even"]) == 0
    asked = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(asked) == 1725
    assert asked[0]["method"] == "str.capitalize"
    completions = tmp_path / "completions.jsonl"
    good = {"completion": "def f(a):\n    return a\n[/PYTHON]\n[TEST]\nassert f(1) == ??\nassert f([]) == ??\n"}
    completions.write_text(json.dumps(good) + "\n" + json.dumps({"completion": "no"}) + "\n")
    out = tmp_path / "pool.jsonl"
    assert main(["extract", "candidates", str(completions), "--out", str(out)]) == 0
    assert "2 completions, 1 written, 1 without an answer" in capsys.readouterr().out
    assert lines(out) == [{"code": "def f(a):\n    return a", "inputs": ["1", "[]"], "id": "0"}]


def test_a_sample_is_numbered_anew_and_remembers(tmp_path, data, capsys):
    out = tmp_path / "sample.jsonl"
    assert main(["sample", str(data), "--n", "2", "--seed", "5", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": 3, "bad": 0, "sampled": 2, "seed": 5, "out": str(out)}
    found = lines(out)
    assert [row["id"] for row in found] == ["sample_0", "sample_1"]
    assert {row["source_id"] for row in found} <= {"a", "b", "c"}
    data.write_text(data.read_text() + "{broken\n")
    assert main(["sample", str(data), "--n", "2", "--seed", "5", "--out", str(tmp_path / "again.jsonl")]) == 0
    assert lines(tmp_path / "again.jsonl") == found
    assert main(["sample", str(data), "--n", "2", "--out", str(tmp_path / "x.jsonl"), "--strict"]) == 2


def test_anonymize_without_running(tmp_path, data, capsys):
    out = tmp_path / "renamed.jsonl"
    data.write_text(data.read_text() + json.dumps({"code": "def f(a): return locals()", "id": "d"}) + "\n")
    assert main(["anonymize", str(data), "--out", str(out), "--no-verify", "--json"]) == 1
    summary = json.loads(capsys.readouterr().out)
    assert (summary["rows"], summary["written"]) == (4, 3)
    assert "line 4 (d): uses 'locals'" in summary["problems"][0]
    assert lines(out)[0]["names"] == [["text", "x1"], ["n", "x2"], ["out", "x3"]]


# ---- with a sandbox ---------------------------------------------------------


@pytest.mark.kernel
def test_anonymize_runs_both_forms(tmp_path, data, capsys):
    out = tmp_path / "renamed.jsonl"
    assert main(["anonymize", str(data), "--out", str(out)]) == 0
    assert "3 of 3 rows renamed, run in both forms" in capsys.readouterr().out
    assert [row["output"] for row in lines(out)] == [row["output"] for row in ROWS]


@pytest.mark.kernel
def test_stats_counts_steps(data, capsys):
    assert main(["stats", str(data), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"]["rows"] == 3
    assert found["steps_source"].startswith("instructions counted on Python 3.")
    assert found["problems"] == []


@pytest.mark.kernel
@pytest.mark.parametrize("count", ["instructions", "events"])
def test_steps_are_written_and_used_in_the_quarters(tmp_path, capsys, count):
    """`steps --out` writes a column that `stats` and `compare` read."""
    programs = [
        {"code": "def f(n):\n    for i in range(n):\n        pass\n    return n", "input": str(at), "output": str(at),
         "id": f"sample_{at}"}
        for at in range(8)
    ]  # fmt: skip
    data, out = tmp_path / "rows.jsonl", tmp_path / "counted.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in programs))
    assert main(["steps", str(data), "--count", count, "--out", str(out), "--json"]) == 0
    told = {row["id"]: row["steps"] for row in json.loads(capsys.readouterr().out)["rows"]}
    found = lines(out)
    assert {row["id"]: row["steps"] for row in found} == told
    assert [{key: row[key] for key in row if key != "steps"} for row in found] == programs
    marks = {row["id"]: [at < 4] * 2 for at, row in enumerate(programs)}
    scored = tmp_path / "scored.json"
    scored.write_text(json.dumps({"raw_scored_generations": marks}))
    assert main(["compare", str(scored), "--dataset", str(out), "--resamples", "100", "--json"]) == 0
    quarters = json.loads(capsys.readouterr().out)["quarters"]["steps"]
    assert [group["mean"] for group in quarters] == [1, 1, 0, 0]


@pytest.mark.kernel
def test_a_form_that_behaves_otherwise_is_told(client):
    code = "def f(a):\n    return a + 1"
    right = Row(code, "1", "2", "right")
    wrong = Row(code, "1", "3", "wrong")
    open_ended = Row(code, "1", "", "open")
    raising = Row("def f(a):\n    return nothing", "1", "", "raising")
    good = anonymize(code, "1")
    bad = Anonymized("def f(x1):\n    return x1 + 2", "1", {})
    gone = Anonymized("def f(x1):\n    return x2", "1", {})
    told = compare_behaviour(
        [right, right, right, wrong, open_ended, open_ended, open_ended, raising],
        [good, bad, gone, good, good, bad, gone, good],
        client,
    )
    assert told[0] == ""
    assert told[1].startswith("renamed, it gives another value: FAILED")
    assert told[2].startswith("renamed, it gives another value: RAISED NameError")
    assert told[3].startswith("the original does not give its output: FAILED")
    assert told[4] == ""
    assert told[5] == "renamed, it gives 3, not 2"
    assert told[6].startswith("renamed, it gives no value: RAISED NameError")
    assert told[7].startswith("the original gives no value: RAISED NameError")


@pytest.mark.kernel
def test_steps_of_names_are_the_same(client):
    rows = [Row(row["code"], row["input"], row["output"], row["id"]) for row in ROWS]
    forms = [anonymize(row.code, row.input) for row in rows]
    renamed = [Row(form.code, form.input, row.output, row.id) for form, row in zip(forms, rows)]
    for count in StepCount:
        before, after = measure_steps(rows, client, count=count), measure_steps(renamed, client, count=count)
        assert before == after
        assert before.problems == ()
        assert all(before.counts)
    broken = measure_steps([Row("def f(a): return b", "1", id="x")], client)
    assert broken.counts == (None,)
    assert broken.problems[0].startswith("x: RAISED NameError")


@pytest.mark.kernel
@pytest.mark.data
def test_all_of_cruxeval_is_renamed_and_verified(cruxeval, tmp_path, client):
    rows, _ = read_rows(cruxeval / "cruxeval.jsonl")
    told = compare_behaviour(rows, [anonymize(row.code, row.input) for row in rows], client)
    assert [text for text in told if text] == []
