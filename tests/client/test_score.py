"""`cruxbox score` end to end, on the examples and on CRUXEval's published generations and verdicts."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from pathlib import Path

import pytest
from cruxbox.accounting import may_splice
from cruxbox.cli import main
from cruxbox.passk import reference_pass_at_k

EXAMPLES = Path(__file__).parents[2] / "examples"
TASKS = EXAMPLES / "tasks.jsonl"


def score(capsys, *arguments) -> dict:
    code = main(["score", *map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def examples(mode: str) -> Path:
    return EXAMPLES / f"generations_{mode}.json"


def verdicts_of(scored: dict) -> dict[str, str]:
    """Outcome of each distinct generation in a scored file."""
    return {
        text: verdict["outcome"]
        for name, texts in scored["raw_generations"].items()
        for text, verdict in zip(texts, scored["verdicts"][name], strict=True)
    }


# ---- the examples ---------------------------------------------------------------


@pytest.fixture(scope="module")
def scored(server, tmp_path_factory):
    """Both modes, strictly and as the reference does it: (summary, scored file)."""
    folder = tmp_path_factory.mktemp("scored")
    found = {}
    for mode in ("input", "output"):
        for accounting in ("strict", "reference"):
            out = folder / f"{mode}_{accounting}.json"
            arguments = [examples(mode), "--dataset", TASKS, "--mode", mode, "--accounting", accounting, "--out", out]
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = main([*map(str, ["score", *arguments]), "--server", server, "--cpu-limit", "0.5", "--json"])
            assert code == 0
            found[mode, accounting] = json.loads(said.getvalue())["files"][0], json.loads(out.read_text())
    return found


# Who passes in the reference's eyes without being right: each must be seen for what it is.
INPUT = {
    "f(0)": "STEP_LIMIT",
    "f(10 ** 9)": "MEMORY_LIMIT",
    "f(None)": "RAISED",
    "type('E', (), {'__eq__': lambda self, other: True})()  # f(": "INVALID",
    "1 or f('', 1)": "INVALID",
    "'ligh|thou|se..'  # f(": "INVALID",
    "f([5]), 'because 5 is the largest'": "INVALID",
    "f('mississippi'": "INVALID",
}
OUTPUT = {
    "type('E', (), {'__eq__': lambda self, other: True})()": "FAILED",
    "1 or True": "FAILED",
    "f(12)": "RAISED",
    "len('a' * 10 ** 12)": "MEMORY_LIMIT",
    "9 ** 9 ** 9": "TIMED_OUT",
    "'m'\nassert True": "INVALID",
    "[16, 23, 4, 8, 15], 'because'": "FAILED",
    "__import__('sys').exit(0)": "RAISED",
    "'mpi": "INVALID",
}


@pytest.mark.parametrize(("mode", "outcomes"), [("input", INPUT), ("output", OUTPUT)])
def test_each_misfit_of_the_examples_has_its_outcome(scored, mode, outcomes):
    found = verdicts_of(scored[mode, "strict"][1])
    assert {text: found[text] for text in outcomes} == outcomes


@pytest.mark.parametrize("mode", ["input", "output"])
def test_the_predicted_reference_figures_are_the_real_ones(scored, mode):
    strict, reference = scored[mode, "strict"][0], scored[mode, "reference"][0]
    assert strict["reference"]["pass_at_k"] == reference["pass_at_k"]
    assert strict["reference"]["differs"]["spliced"] > 0
    assert "reference" not in reference


@pytest.fixture
def small(tmp_path):
    """Three generations of one task: right, wrong, and one that the released scorer sees otherwise."""
    path = tmp_path / "small.json"
    path.write_text(json.dumps({"demo_2": ["f(12)", "f(11)", "f(12), 'why'"]}))
    return path


def test_the_summary_has_the_promised_keys(server, capsys, small):
    summary = score(capsys, small, small, "--dataset", TASKS, "--mode", "input", "--server", server, "--k", "1")
    assert {"files", "checks", "distinct", "elapsed_s"} <= set(summary)
    first, second = summary["files"]
    assert {"path", "pass_at_k", "checks", "outcomes", "masked"} <= set(first)
    assert first == second
    assert first["pass_at_k"] == {"1": pytest.approx(100 / 3)}
    assert first["outcomes"] == {"FAILED": 1, "INVALID": 1, "PASSED": 1}
    assert (first["checks"], first["masked"], summary["checks"], summary["distinct"]) == (3, 0, 6, 3)


def test_the_scored_file_has_the_references_format(scored):
    _, file = scored["input", "strict"]
    assert list(file) == ["raw_generations", "raw_scored_generations", "pass_at_1", "pass_at_5", "verdicts"]
    assert file["raw_generations"] == json.loads(examples("input").read_text())
    for name, marks in file["raw_scored_generations"].items():
        assert [verdict["outcome"] == "PASSED" for verdict in file["verdicts"][name]] == marks
        for verdict in file["verdicts"][name]:
            assert list(verdict) == ["outcome", "assurance", "steps", "cpu_ms", "value", "error"]


def test_several_files_go_into_a_folder(server, capsys, tmp_path):
    inputs = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        inputs.append(tmp_path / name / "generations.json")
        inputs[-1].write_text(json.dumps({"demo_2": ["f(12)", "f(11)"]}))
    out = tmp_path / "scored"
    score(capsys, *inputs, "--dataset", TASKS, "--mode", "input", "--server", server, "--out", out)
    assert sorted(path.name for path in out.iterdir()) == ["one.json", "two.json"]
    file = json.loads((out / "one.json").read_text())
    assert file["raw_scored_generations"] == {"demo_2": [True, False]}
    assert (file["pass_at_1"], file["pass_at_5"]) == (50.0, None)
    score(capsys, inputs[0], "--dataset", TASKS, "--mode", "input", "--server", server, "--out", f"{tmp_path}/alone/")
    assert (tmp_path / "alone/generations.json").is_file()


def test_the_table_is_for_people(server, capsys, small):
    code = main(["score", str(small), "--dataset", str(TASKS), "--mode", "input", "--server", server])
    out, err = capsys.readouterr()
    assert code == 0
    assert "strict accounting" in out
    assert "33.33" in out
    assert "the released scorer would give pass@1 66.67" in err
    assert "3 checks, 3 of them distinct" in err


@pytest.fixture
def stdin_of():
    """Makes a text the standard input of this process."""
    kept = os.dup(0)

    def give(text: str) -> None:
        read, write = os.pipe()
        os.write(write, text.encode())
        os.close(write)
        os.dup2(read, 0)
        os.close(read)

    yield give
    os.dup2(kept, 0)
    os.close(kept)


def test_a_dash_is_standard_input_and_output(server, capfd, small, stdin_of):
    words = ["--dataset", str(TASKS), "--mode", "input", "--server", server]
    stdin_of(small.read_text())
    assert main(["score", "-", *words, "--out", "-"]) == 0
    assert json.loads(capfd.readouterr().out)["pass_at_1"] == pytest.approx(100 / 3)
    stdin_of(json.dumps({"nobody": ["f(1)"]}))
    assert main(["score", "-", *words]) == 2
    assert "cruxbox: -: 'nobody' is no id of the data set" in capfd.readouterr().err
    for wrong in (["-", "-"], [str(small), "--out", "-", "--json"], [str(small), str(small), "--out", "-"]):
        assert main(["score", *wrong, *words]) == 2
        assert re.search(r"can be read but once|leave one of them out|is for one file", capfd.readouterr().err)


def test_rows_that_no_generation_can_pass_and_masked_ones_are_said(server, capsys, tmp_path):
    good = {"code": "def f(x):\n    return x", "input": "1", "output": "1"}
    rows = [good, {**good, "code": "def f(:"}, {**good, "output": "1 +"}]
    data, texts = tmp_path / "data.jsonl", tmp_path / "texts.json"
    data.write_text("".join(json.dumps({**row, "id": f"r{at}"}) + "\n" for at, row in enumerate(rows)))
    large = [f"f({'1' * size})" for size in (14 << 20, 15 << 20)]  # with what stands before it; by itself
    texts.write_text(json.dumps({"r0": ["f(1)", "f((", *large], "r1": ["f(1)"], "r2": ["f(1)"]}))
    (tmp_path / "front.py").write_text("#" * (3 << 20))
    words = ["--dataset", str(data), "--prelude", str(tmp_path / "front.py"), "--mode", "input", "--k", "2"]
    assert main(["score", str(texts), *words, "--server", server, "--out", str(tmp_path / "o.json")]) == 0
    assert json.loads((tmp_path / "o.json").read_text())["raw_scored_generations"]["r0"] == [True, False, None, False]
    err = capsys.readouterr().err
    assert f"{texts} has 1 generation of 'r1', so it has no pass@2." in err
    assert f"{data} has 2 rows that no generation can pass (such as 'r1': the program: invalid syntax (line 2))" in err
    assert "1 generation masked, the first of r0: program and check are 17,8" in err


# ---- the published verdicts -------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize("mode", ["input", "output"])
def test_reference_accounting_gives_every_published_verdict(data, daemons, capsys, tmp_path, mode):
    """4,000 generations a mode, through a daemon on TCP; and the figures computed from the published verdicts."""
    out = tmp_path / "scored.json"
    published = json.loads((data / f"codellama7b_t0.2_{mode}_verdicts.json").read_text())
    summary = score(
        capsys,
        data / f"codellama7b_t0.2_{mode}_generations.json",
        *("--dataset", data / "cruxeval_first400.jsonl", "--mode", mode, "--accounting", "reference"),
        *("--out", out, "--server", daemons("--workers", "2").target, "--cpu-limit", "1"),
    )
    file = json.loads(out.read_text())
    differing = [
        (name, verdict)
        for name, marks in published.items()
        for mark, verdict in zip(marks, file["verdicts"][name], strict=True)
        if mark != (verdict["outcome"] == "PASSED")
    ]
    assert differing == []
    assert file["raw_scored_generations"] == published
    for k in (1, 5):
        values = [reference_pass_at_k(len(marks), sum(marks), k) for marks in published.values()]
        assert file[f"pass_at_{k}"] == pytest.approx(100 * sum(values) / len(values))
        assert summary["files"][0]["pass_at_k"][str(k)] == file[f"pass_at_{k}"]
    assert summary["files"][0]["masked"] == 0


# The nine published files of tasks 0 to 399: the first released scorer made them, but for gpt-4o's.
NINE = {
    "codellama-34b_temp0.2_input": "published",
    "codellama-34b_temp0.2_output": "published",
    "codellama-34b_temp0.8_input": "published",
    "codellama-34b_temp0.8_output": "published",
    "gpt-3.5-turbo-0613+cot_temp0.8_input": "published",
    "gpt-3.5-turbo-0613+cot_temp0.8_output": "published",
    "gpt-4-0613+cot_temp0.2_input": "published",
    "gpt-4-0613+cot_temp0.2_output": "published",
    "gpt-4o+cot_temp0.2_input": "released",
}


@pytest.mark.data
@pytest.mark.parametrize("name", NINE)
def test_each_published_file_comes_out_exactly(data, server, capsys, tmp_path, name):
    """Every mark, and both figures to the last bit."""
    published = json.loads((data.parent / "scored" / f"{name}.json").read_text())
    generations, out = tmp_path / "generations.json", tmp_path / "scored.json"
    generations.write_text(json.dumps(published["raw_generations"]))
    arguments = [generations, "--dataset", data / "cruxeval_first400.jsonl", "--mode", name.rpartition("_")[2]]
    score(capsys, *arguments, "--accounting", NINE[name], "--out", out, "--server", server, "--cpu-limit", "1")
    found = json.loads(out.read_text())
    assert found["raw_scored_generations"] == published["raw_scored_generations"]
    assert {k: found[f"pass_at_{k}"] for k in (1, 5)} == {k: released_figure(published, k) for k in (1, 5)}


def released_figure(file: dict, k: int) -> float:
    """pass@k from published marks, as the release computes it."""
    import numpy as np

    values = []
    for marks in file["raw_scored_generations"].values():
        n, c = len(marks), sum(marks)
        values.append(1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1)))
    return sum(values) / len(values) * 100


@pytest.mark.data
def test_strict_accounting_knows_what_the_reference_would_say(data, server, capsys, tmp_path):
    """Output mode of the published generations: every difference is told, and told right."""
    arguments = [
        data / "codellama7b_t0.2_output_generations.json",
        *("--dataset", data / "cruxeval_first400.jsonl", "--mode", "output", "--server", server, "--cpu-limit", "1"),
    ]
    strict = score(capsys, *arguments)["files"][0]["reference"]
    reference = score(capsys, *arguments, "--accounting", "reference")["files"][0]
    assert strict["pass_at_k"] == reference["pass_at_k"]


@pytest.mark.data
def test_every_published_output_is_the_value_of_its_call(data, server, capsys):
    """All 800 rows: f(input) == output, SEPARATED, in both directions."""
    from cruxbox import CallCheck, Client, Outcome, Task
    from cruxbox.cruxeval import read_dataset

    rows = read_dataset(data / "cruxeval.jsonl").values()
    with Client(server) as client:
        verdicts = client.check(Task(row.code, [CallCheck(f"f({row.input})", row.output)], id=row.id) for row in rows)
    assert [verdict.task_id for verdict in verdicts if verdict.outcome is not Outcome.PASSED] == []


# ---- what may be spliced ------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["f(1)", "f([1, 'a)'], x={2: 3})", "(1, 2)", "'x'", "-1", "3 + 4", "'a, b'", "[i for i in x]"]
)
def test_a_text_that_is_one_operand_cannot_splice(text):
    assert not may_splice(text)


@pytest.mark.parametrize(
    "text", ["1 or True", "'a', 'b'", "1, 2", "'x'  # f(", "1\nassert 2", "not 1", "1 < 2", "f(1", "1 if x else 2",
             "x := 3", "(" * 100 + "1" + ")" * 100, "a" * 20_000,
             '\\"' * 4_999, "1 + 'x"],
)  # fmt: skip
def test_a_text_that_means_more_behind_a_comparison_may_splice(text):
    assert may_splice(text)


# ---- files that attack each other -----------------------------------------------------

# A generation that changes what follows it in its interpreter: what its harness reports, and `sorted`.
TAKEOVER = """exec("imp\\x6frt sys, builtins\\nframe = sys._getframe()\\nwhile 'bench' not in frame.f_locals:\\n \
 frame = frame.f_back\\nbench = type(frame.f_locals['bench'])\\nbuiltins.sorted = lambda x: [66]\\n\
bench.send_value = lambda self, value, steps=None, send=bench.send_value: send(self, [66], steps)\\n")"""


def test_evil_generations_of_one_file_change_no_other(server, tmp_path):
    """Output mode: a file of evil ones, one whose answers are all right, and one whose answers are all [66], wrong."""
    rows = [
        {"id": f"sample_{at}", "code": f"def f(x):\n    return [x, {at}]", "input": "1", "output": f"[1, {at}]"}
        for at in range(200)
    ]
    rows += [{"id": "sample_200", "code": "def f(x):\n    return [66]", "input": "1", "output": "[66]"}]
    dataset = tmp_path / "rows.jsonl"
    dataset.write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = {
        "evil": {row["id"]: [TAKEOVER] for row in rows[:50]},
        "right": {row["id"]: [row["output"]] for row in rows},
        "wrong": {row["id"]: ["[66]"] for row in rows[:200]},
    }
    for name, generations in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(generations))
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        paths = [str(tmp_path / f"{name}.json") for name in files]
        code = main(["score", *paths, "--dataset", str(dataset), "--mode", "output", "--server", server, "--json"])
    assert code == 0
    shares = [scored["pass_at_k"]["1"] for scored in json.loads(said.getvalue())["files"]]
    assert shares == [0.0, 100.0, 0.0]


# Outputs that are written with what their code imports; a generation that is right, and one that is wrong.
IMPORTED = {
    "Counter({'a': 2})": ("from collections import Counter", "Counter('aa')", "Counter('a')"),
    "deque([range(3)], maxlen=2)": ("from collections import deque", "deque([range(0, 3)])", "[range(3)]"),
    "datetime.date(2020, 1, 2)": ("import datetime", "datetime.date(2020, 1, 2)", "datetime.datetime(2020, 1, 2)"),
    "{'a': F(1, 3)}": ("from fractions import Fraction as F", "{'a': F(2, 6)}", "{'a': 1 / 3}"),
}


def test_an_output_may_use_what_its_code_imports(server, capsys, tmp_path):
    rows = [
        {
            "id": f"r{at}",
            "code": f"{imports}\ndef f(x):\n    return {output if at else right}",
            "input": "0",
            "output": output,
        }
        for at, (output, (imports, right, _)) in enumerate(IMPORTED.items())
    ]
    data, texts = tmp_path / "data.jsonl", {mode: tmp_path / f"{mode}.json" for mode in ("input", "output")}
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    texts["input"].write_text(json.dumps({row["id"]: ["f(5)", "f()"] for row in rows}))
    said = {f"r{at}": [right, wrong, "f(0)"] for at, (_, right, wrong) in enumerate(IMPORTED.values())}
    texts["output"].write_text(json.dumps(said))
    for mode, marks in (("input", [True, False]), ("output", [True, False, False])):
        words = ["--dataset", data, "--mode", mode, "--server", server, "--out", tmp_path / "o.json"]
        summary = score(capsys, texts[mode], *words, "--k", "1")
        found = json.loads((tmp_path / "o.json").read_text())
        assert found["raw_scored_generations"] == {row["id"]: marks for row in rows}
        assert set(summary["files"][0]["assurances"]) == {"SEPARATED"}
