"""`cruxbox leaderboard`: files by name to one table, and the published ones to the published figures."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from cruxbox.cli import main


def write(path: Path, marks: dict[str, list], n: int = 0) -> Path:
    generations = {id: ["f(1)"] * (n or len(row)) for id, row in marks.items()}
    path.write_text(json.dumps({"raw_generations": generations, "raw_scored_generations": marks}))
    return path


def models(capsys, *arguments) -> dict[str, dict]:
    assert main(["leaderboard", *map(str, arguments), "--json"]) == 0
    return {entry.pop("model"): entry for entry in json.loads(capsys.readouterr().out)["models"]}


T, F = True, False


@pytest.fixture
def files(tmp_path):
    five = {"a": [T, T, F, F, F], "b": [F] * 5}
    return [
        write(tmp_path / "small_temp0.2_input.json", five),
        write(tmp_path / "small_temp0.8_input.json", five),
        write(tmp_path / "small_temp0.2_output.json", {"a": [T] * 5, "b": [F] * 5}),
        write(tmp_path / "large+cot_temp0.2_input.json", {"a": [T], "b": [T, F]}, n=3),
        write(tmp_path / "large+cot_temp0.8_input.json", {"a": [T], "b": [T, F]}, n=3),
    ]


def test_each_column_comes_from_its_temperature(files, capsys):
    found = models(capsys, *files)
    assert list(found) == ["large+cot", "small"]
    assert found["small"] == {
        "i@1": pytest.approx(20.0),
        "o@1": 50.0,
        "i@5": 50.0,
        "o@5": None,
        "n": [5, 5],
        "tasks": 2,
    }
    assert found["large+cot"] == {"i@1": 75.0, "o@1": None, "i@5": None, "o@5": None, "n": [3, 3], "tasks": 2}


def test_what_leaves_n_does_not_change_n(tmp_path, capsys):
    """The later released scorer shortens lists: five generations were drawn all the same."""
    file = write(tmp_path / "m_temp0.8_output.json", {"a": [T, F], "b": [F] * 5}, n=5)
    assert models(capsys, file)["m"]["o@5"] == 50.0


def test_csv_and_page(files, tmp_path, capfd):
    table, page = tmp_path / "table.csv", tmp_path / "page.html"
    assert main(["leaderboard", *map(str, files), "--csv", str(table), "--html", str(page), "--title", "A <b>"]) == 0
    assert table.read_text().splitlines() == ["Model,i@1,i@5,o@1,o@5", "large+cot,75.0,-,-,-", "small,20.0,50.0,50.0,-"]
    assert "large+cot" in capfd.readouterr().out
    assert main(["leaderboard", *map(str, files), "--csv", "-"]) == 0
    assert capfd.readouterr().out == table.read_text()
    assert main(["leaderboard", *map(str, files), "--csv", "-", "--json"]) == 2
    text = page.read_text()
    assert "A &lt;b&gt;" in text
    assert "Input prediction" in text
    assert "Output prediction" in text
    assert "<script" not in text


def test_a_folder_may_carry_the_name(tmp_path, capsys):
    folder = tmp_path / "m+cot_temp0.2_output"
    folder.mkdir()
    assert models(capsys, write(folder / "scored.json", {"a": [T]}))["m+cot"]["o@1"] == 100.0


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["scored.json"], "must be called MODEL_temp0.2_input.json"),
        (["m_temp0.5_input.json"], "no file of T = 0.2 or T = 0.8"),
        (["m_temp0.2_input.json", "m_temp0.20_input.json"], "i@1 of 'm' comes from"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, capsys, names, sentence):
    assert main(["leaderboard", *(str(write(tmp_path / name, {"a": [T]})) for name in names)]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert "Traceback" not in told


@pytest.mark.data
def test_the_published_files(cruxeval, tmp_path, capsys):
    """Tasks 0 to 399 of nine files; the figures are those of the release's own formula over the published marks."""
    import numpy as np

    folder = cruxeval.parent / "scored"
    table = tmp_path / "table.csv"
    found = models(capsys, *sorted(folder.iterdir()), "--csv", table)
    assert set(found) == {"codellama-34b", "gpt-3.5-turbo-0613+cot", "gpt-4-0613+cot", "gpt-4o+cot"}
    filled = {(model, column) for model, entry in found.items() for column in entry if entry[column] and "@" in column}
    assert len(filled) == 9
    for model, column in filled:
        temperature, mode = {"1": "0.2", "5": "0.8"}[column[-1]], {"i": "input", "o": "output"}[column[0]]
        marks = json.loads((folder / f"{model}_temp{temperature}_{mode}.json").read_text())["raw_scored_generations"]
        values, k = [], int(column[-1])
        for row in marks.values():
            n, c = len(row), sum(row)
            values.append(1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1)))
        assert found[model][column] == sum(values) / len(values) * 100
    assert found["gpt-4o+cot"]["n"] == [3, 3]
    lines = list(csv.reader(table.open()))
    assert lines[0] == ["Model", "i@1", "i@5", "o@1", "o@5"]
    assert {line[0]: line[1:] for line in lines}["gpt-4o+cot"][1:] == ["-", "-", "-"]
