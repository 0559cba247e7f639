"""Tasks against each other, and scores of other benchmarks beside ours."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from cruxbox.cli import main
from cruxbox.errors import DataError
from cruxbox.stats import Scored, Settings, across, read_external, read_tasks
from cruxbox.stats.across import confusion
from cruxbox.stats.external import against_external, family_of
from stats_models import made_up, write_scored

QUICK = Settings(resamples=300)


def scored(name: str, counts: dict[str, int], n: int = 10) -> Scored:
    return Scored(name, {id: (True,) * c + (False,) * (n - c) for id, c in counts.items()})


@pytest.fixture
def tasks() -> dict[str, list[Scored]]:
    return {
        "input": [
            scored("m", {"a": 10, "b": 0, "c": 0, "d": 3}),
            scored("k", {"a": 0, "b": 0, "c": 10, "d": 0}),
            scored("only", {"a": 1, "b": 1, "c": 1, "d": 1}),
        ],
        "output": [
            scored("k", {"a": 5, "b": 0, "c": 10, "e": 1, "d": 0}),
            scored("m", {"a": 10, "b": 0, "c": 2, "e": 1, "d": 9}),
        ],
    }


# ---- across -----------------------------------------------------------------


def test_by_hand(tasks):
    [found] = across(tasks, unsolved_of=["m", "k"], settings=QUICK)
    assert (found.first, found.second, found.ids, found.left_out) == ("input", "output", ("a", "b", "c", "d"), 1)
    assert [model.name for model in found.models] == ["m", "k"]  # by the mean score
    m, k = found.models
    assert m.pass_at[1] == pytest.approx((13 / 40, 21 / 40))
    assert m.differences[1].difference == pytest.approx(8 / 40)
    assert k.pass_at[1] == pytest.approx((10 / 40, 15 / 40))
    assert (m.unsolved, k.unsolved) == ((2, 1, 1), (3, 2, 2))
    assert m.confusion[10][10] == m.confusion[0][0] == m.confusion[0][2] == m.confusion[3][9] == 1
    assert sum(map(sum, m.confusion)) == 4
    assert m.pearson == pytest.approx(np.corrcoef([1, 0, 0, 0.3], [1, 0, 0.2, 0.9])[0, 1])
    assert found.models_pearson == pytest.approx(1.0)
    assert found.means == ((0.5, 0.75), (0.0, 0.0), (0.5, 0.6), (0.15, 0.45))
    assert found.samples_pearson == pytest.approx(np.corrcoef([0.5, 0, 0.5, 0.15], [0.75, 0, 0.6, 0.45])[0, 1])
    assert [one.models for one in found.unsolved] == [("m",), ("k",), ("m", "k")]
    assert (found.unsolved[0].first, found.unsolved[0].second, found.unsolved[0].both) == (("b", "c"), ("b",), ("b",))
    assert (found.unsolved[2].first, found.unsolved[2].second, found.unsolved[2].both) == (("b",), ("b",), ("b",))
    assert any("only" in note for note in found.notes)


def test_many_models_are_held_against_one_level():
    """Differences between tasks of 20 models are 20 comparisons."""
    first = [made_up(f"m{at}", at) for at in range(20)]
    second = [made_up(f"m{at}", 100 + at) for at in range(20)]
    [found] = across({"a": first, "b": second}, settings=QUICK)
    smallest = min(found.models, key=lambda model: model.differences[1].p_value).differences[1]
    assert smallest.adjusted == pytest.approx(min(1, 20 * smallest.p_value))


def test_confusion_rounds_shares_of_other_n():
    found = confusion(np.array([0.25, 0.35, 0.999, np.nan]), np.array([0.04, 0.15, 1.0, 0.5]))
    assert [(i, j) for i in range(11) for j in range(11) if found[i][j]] == [(3, 0), (4, 2), (10, 10)]


def test_mistakes(tasks):
    with pytest.raises(DataError, match="two tasks are needed"):
        across({"input": tasks["input"]})
    with pytest.raises(DataError, match="no model has both tasks, input and output; there are: m, k, only, z"):
        across({"input": tasks["input"], "output": [scored("z", {"a": 1})]})
    with pytest.raises(DataError, match="no model is called 'x'"):
        across(tasks, unsolved_of=["x"])
    with pytest.raises(DataError, match="--task 'input' must be TASK=FILE"):
        read_tasks(["input"])
    with pytest.raises(DataError, match="no file matches '/absent/\\*'"):
        read_tasks(["input=/absent/*"])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for at in range(8):
        for task, seed in (("input", 0), ("output", 50)):
            model = made_up("x", at + seed, lift=0.03 * at - 0.2)
            write_scored(tmp_path / f"m{'abc'[at % 3]}-{at}b_temp0.2_{task}.json", model)
    return tmp_path


def task_options(folder: Path) -> list[str]:
    return [part for task in ("input", "output") for part in ("--task", f"{task}={folder}/*_{task}.json")]


def test_the_command_as_json_tables_and_page(files, capsys):
    arguments = ["compare", *task_options(files), "--resamples", "300", "--unsolved", "ma-0b_temp0.2"]
    page = files / "page.html"
    assert main([*arguments, "--json", "--html", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["tasks"]) == ["input", "output"]
    assert len(found["tasks"]["input"]["models"]) == len(found["across"][0]["models"]) == 8
    assert {model["name"] for model in found["across"][0]["models"]} >= {"ma-0b_temp0.2", "mb-7b_temp0.2"}
    text = page.read_text()
    for section in ("across-0", "samples-0", "0-scores", "1-scores"):
        assert f'<section id="{section}">' in text
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "Samples at 0/n for ma-0b_temp0.2" in shown
    assert "samples by p on input (line) and output (column)" in shown


def test_files_and_tasks_do_not_mix(files, capsys):
    assert main(["compare"]) == 2
    assert "scored files are needed" in capsys.readouterr().err
    assert main(["compare", str(next(files.iterdir())), "--unsolved", "x"]) == 2
    assert "--unsolved needs --task" in capsys.readouterr().err
    assert main(["compare", *task_options(files), "--baseline", "zzz"]) == 2
    assert "no model is called 'zzz'" in capsys.readouterr().err


def test_the_published_files(cruxeval, capsys):
    """Section 6 on tasks 0 to 399: what GPT-4 with chain of thought has at 0 of 10."""
    folder = cruxeval.parent / "scored"
    if not folder.exists():
        pytest.skip(f"there is no {folder}")
    name = "gpt-4-0613+cot_temp0.2"
    options = ["--json", "--resamples", "300", "--unsolved", name]
    assert main(["compare", *task_options(folder), *options]) == 0
    [found] = json.loads(capsys.readouterr().out)["across"]
    assert len(found["ids"]) == 400
    model = next(one for one in found["models"] if one["name"] == name)
    marks = {
        task: json.loads((folder / f"{name}_{task}.json").read_text())["raw_scored_generations"]
        for task in ("input", "output")
    }
    zero = {task: {id for id, row in rows.items() if not any(row)} for task, rows in marks.items()}
    both = zero["input"] & zero["output"]
    assert model["unsolved"] == [len(zero["input"]), len(zero["output"]), len(both)] == [31, 57, 15]
    assert set(found["unsolved"][0]["both"]) == both
    table = [[0] * 11 for _ in range(11)]
    for id, row in marks["input"].items():
        table[sum(row)][sum(marks["output"][id])] += 1
    assert model["confusion"] == table
    assert model["pass_at"]["1"] == pytest.approx([0.75075, 0.762], abs=1e-3)


# ---- other benchmarks -------------------------------------------------------


def test_external_scores_by_family(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("model,HumanEval@1,MBPP@1\na-1b,10,-\na-2b,20,1\na-3b,40,2\nb-1b,50,\nb-2b,60,3\nother,1,1\n")
    ours = {"a-1b_temp0.2": 0.1, "a-2b_temp0.2_input": 0.3, "a-3b": 0.2, "b-1b+cot": 0.5, "b-1b": 0.4, "b-2b": 0.9}
    first, second = against_external(ours, read_external(path))
    assert (first.benchmark, second.benchmark) == ("HumanEval@1", "MBPP@1")
    assert {point[0] for point in first.points} == set(ours) - {"b-1b+cot"}
    everyone, a, b = first.relations
    assert (everyone.family, everyone.models, a.family, a.models, b.family, b.models) == (
        "all models",
        5,
        "a",
        3,
        "b",
        2,
    )
    x, y = [10, 20, 40, 50, 60], [0.1, 0.3, 0.2, 0.4, 0.9]
    assert everyone.pearson == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert everyone.spearman == pytest.approx(np.corrcoef([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])[0, 1])
    assert a.spearman == pytest.approx(0.5)
    assert math.isnan(b.pearson)  # two points lie on a line
    assert second.relations[0].models == 3
    assert family_of("codellama-13b+cot_temp0.2") == "codellama"


def test_the_file_may_state_families(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("model,family,H\na,x,1\nb,x,2\nc,x,4\nd,,3\n")
    [found] = against_external({"a": 0.1, "b": 0.2, "c": 0.4, "d": 0.3}, read_external(path))
    assert [(one.family, one.models) for one in found.relations] == [("all models", 4), ("d", 1), ("x", 3)]
    assert found.relations[2].pearson == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "line 1: the header must be"),
        ("model\na\n", "line 1: the header must be"),
        ("model,H,H\na,1,1\n", "line 1: the header must be"),
        ("model,H\na,1\na,2\n", "line 3: 'model' must be a name of its own, is 'a'"),
        ("model,H\na,1,2\n", "line 2: has 3 cells, the header 2"),
        ("model,H\na,many\n", "line 2: 'H' must be a number, is 'many'"),
        ("model,H\na,nan\n", "line 2: 'H' must be a number, is 'nan'"),
        ("model,H\nzz,1\n", "scores.csv: has none of the models, such as 'mc-5b_temp0.2_input'"),
    ],
)
def test_external_mistakes(files, capsys, text, sentence):
    path = files / "scores.csv"
    path.write_text(text)
    scored_file = files / "mc-5b_temp0.2_input.json"
    assert main(["compare", str(scored_file), "--external", str(path)]) == 2
    assert sentence in capsys.readouterr().err


def test_external_in_tables_json_and_page(files, capsys):
    path, page = files / "scores.csv", files / "page.html"
    path.write_text("model,HumanEval@1\n" + "".join(f"m{'abc'[at % 3]}-{at}b,{3 * at}\n" for at in range(8)))
    arguments = [
        "compare",
        *map(str, sorted(files.glob("*_input.json"))),
        "--external",
        str(path),
        "--resamples",
        "300",
    ]
    assert main([*arguments, "--html", str(page)]) == 0
    assert "pass@1 against HumanEval@1" in capsys.readouterr().out
    assert '<section id="external-0">' in page.read_text()
    assert main([*arguments, "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["external"]
    assert [one["family"] for one in found["relations"]] == ["all models", "ma", "mb", "mc"]
    assert found["relations"][0]["pearson"] > 0.9
