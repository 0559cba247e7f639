"""Files people have, and the mistakes in them: each is one sentence with file and line."""

from __future__ import annotations

import json
import os
import stat

import pytest
from cruxbox.cruxeval import read_dataset, read_generations
from cruxbox.errors import DataError
from cruxbox.files import OutputFile

ROW = {"code": "def f(x):\n    return x", "input": "1", "output": "1", "id": "sample_0"}


@pytest.fixture
def dataset(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(ROW) + "\n\n" + json.dumps({**ROW, "id": "sample_1"}) + "\n")
    return read_dataset(path)


def test_rows_come_by_id_in_order(dataset):
    assert list(dataset) == ["sample_0", "sample_1"]
    assert dataset["sample_1"].line == 3


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "line 2: .*JSON"),
        ("[]", "line 2"),
        (json.dumps({key: value for key, value in ROW.items() if key != "code"}), "line 2: .*code"),
        (json.dumps({**ROW, "code": 5}), "line 2: .*code"),
        (json.dumps(ROW), "line 2: id 'sample_0' is taken by line 1"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path, line, sentence):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + line + "\n")
    with pytest.raises(DataError, match=sentence) as caught:
        read_dataset(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"sample_0": ["f(1)"],\n"sample_9": []}', "line 2: 'sample_9' is no id of the data set"),
        ('{"sample_0": "f(1)"}', "line 1: sample_0 must be a list of strings, not a string"),
        ('{\n"sample_0": ["f(1)", 5]}', "line 2: generation 1 of sample_0 must be a string, not a number"),
        ('{"sample_0": ["f(1)", null]}', "must be a string, not null"),
        ('{"sample_0": ["f(1)"]', "line 1: is not JSON"),
        ('["f(1)"]', "must hold an object of lists, one for each task, not a list"),
        ("{}", "holds no generations"),
        ('{"sample_0": [], "sample_0": ["f(1)"]}', "the key 'sample_0' is there twice"),
        ("[" * 100_000, "nested too deeply|not JSON"),
    ],
)
def test_bad_generations_are_named(tmp_path, dataset, text, sentence):
    path = tmp_path / "generations.json"
    path.write_text(text)
    with pytest.raises(DataError, match=sentence) as caught:
        read_generations(path, dataset)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_binary_one(tmp_path, dataset):
    with pytest.raises(DataError, match="No such file"):
        read_generations(tmp_path / "nope.json", dataset)
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="is not UTF-8"):
        read_generations(tmp_path / "binary.json", dataset)


def test_an_output_file_is_there_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.json"
    output = OutputFile(path)
    assert not path.exists()
    output.write_json({"a": 1})
    output.discard()
    assert json.loads(path.read_text()) == {"a": 1}
    assert os.listdir(tmp_path) == ["out.json"]
    assert not stat.S_IMODE(path.stat().st_mode) & 0o111
    OutputFile(path).discard()
    assert json.loads(path.read_text()) == {"a": 1}
    assert os.listdir(tmp_path) == ["out.json"]


def test_where_nothing_can_be_written_is_known_before_the_work(tmp_path):
    with pytest.raises(DataError, match="cannot be written: No such file"):
        OutputFile(tmp_path / "nope" / "out.json")
    with pytest.raises(DataError, match="is a folder"):
        OutputFile(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        OutputFile(tmp_path / "file" / "out.json")
