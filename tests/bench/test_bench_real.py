"""Reading CRUXEval's files for the benchmark, and what its guards leave out."""

from __future__ import annotations

import json

import pytest

from bench import __main__ as main
from bench import real

ROWS = [
    {"id": "sample_0", "code": "def f(a):\n    return a + 1", "input": "1", "output": "2"},
    {"id": "sample_1", "code": "def f(a):\n    return a * 2", "input": "'x'", "output": "'xx'"},
]


@pytest.fixture
def dataset(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS))
    return path


def _generations(tmp_path, content):
    path = tmp_path / "generations.json"
    path.write_text(json.dumps(content))
    return path


def test_input_mode_leaves_out_what_has_no_call(tmp_path, dataset):
    path = _generations(tmp_path, {"sample_1": ["f('x')", "no call"], "sample_0": ["nothing"]})
    pairs = real.load(dataset, path, "input")
    assert [[pair.generation for pair in task] for task in pairs] == [["f('x')"]]
    assert pairs[0][0].expected == "'xx'"


def test_output_mode_leaves_out_what_repeats_the_call(tmp_path, dataset):
    path = _generations(tmp_path, {"sample_0": ["2", "f(1)", "f(2)"]})
    assert [pair.generation for pair in real.load(dataset, path, "output")[0]] == ["2", "f(2)"]


def test_a_generation_without_a_row_is_named(tmp_path, dataset):
    with pytest.raises(ValueError, match="sample_9 is not in"):
        real.load(dataset, _generations(tmp_path, {"sample_9": ["f(1)"]}), "input")


def test_without_keeps_the_order(tmp_path, dataset):
    path = _generations(tmp_path, {"sample_0": ["f(1)", "f(2)"], "sample_1": ["f(3)"]})
    pairs = real.load(dataset, path, "input")
    kept = real._without(pairs, [False, True, False])
    assert [[pair.generation for pair in task] for task in kept] == [["f(1)"], ["f(3)"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--dataset", "rows.jsonl"], "go together"),
        (["--dataset", "none.jsonl", "--generations", "none.json"], "none.jsonl is not a file"),
        (["--rounds", "0"], "--rounds is 0"),
        (["--only", "nothing"], "invalid choice"),
    ],
)
def test_mistakes_in_the_options_end_with_2(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as ended:
        main.parse(arguments)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_sections():
    assert "million" not in main.sections(main.parse(["--quick"]))
    assert "million" in main.sections(main.parse(["--quick", "--million"]))
    assert "busy" in main.sections(main.parse([]))
    assert "real" not in main.sections(main.parse([]))
    assert main.sections(main.parse(["--only", "scale"])) == {"scale"}
