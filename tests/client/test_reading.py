"""Files of strangers: each kind of garbage is one sentence, and a few bytes never become gigabytes."""

from __future__ import annotations

import gzip
import json

import pytest
from cruxbox import reading
from cruxbox.building import rows
from cruxbox.building.completions import read_completions
from cruxbox.building.rows import read_rows
from cruxbox.cli import main
from cruxbox.cruxeval import read_generations
from cruxbox.errors import DataError
from cruxbox.filtering.outputs import _seal_of, read_journal
from cruxbox.problems import contests
from cruxbox.problems.functions import problem_of
from cruxbox.problems.reading import read_problems
from cruxbox.problems.records import BadRow, records
from cruxbox.reading import NotJson, parse_json, parse_row, read_bytes, read_json
from cruxbox.stats.scored import read_scored
from hypothesis import given, settings
from hypothesis import strategies as st

ROW = {"code": "def f(x):\n    return x", "input": "1", "output": "1", "id": "a"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[1,\n2", "is not JSON"),
        ("9" * 5000, "a number of 5,000 digits; at most 4,300 are read"),
        ("[" * 100_000, "nested too deeply"),
        (b"\xff{}", "is not UTF-8 (byte 0)"),
        ("{}".encode("utf-16"), "is not UTF-8 (byte 0)"),
        (gzip.compress(b"{}", mtime=0), "is not UTF-8 (byte 1); it is gzipped, so its name must end in .gz"),
        ('{"a": 1, "a": 2}', "the key 'a' is there twice"),
    ],
)
def test_what_is_not_json_is_a_phrase(text, sentence):
    with pytest.raises(NotJson) as caught:
        parse_json(text, unique=True)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("line", "phrase"),
    [
        (b"[\n", "is not JSON: Expecting value (column 2); a JSON Lines file has one object on each line"),
        (b"{\n", "(column 2); a JSON Lines file has one object on each line"),
        (b'\xef\xbb\xbf[{"id": 1}]', "must be an object, is a list; a JSON Lines file has one object on each line"),
        (b'{"id": "x', "is not JSON: Unterminated string starting at (column 8)"),
        (b'{"id": "x\r\n', "is not JSON: Unterminated string starting at (column 8)"),
        (b"7", "must be an object, is a number"),
        (b" \n", "is empty"),
    ],
)
def test_a_line_that_is_no_row_says_what_a_row_is(line, phrase):
    with pytest.raises(NotJson) as error:
        parse_row(line)
    assert str(error.value).endswith(phrase)


def test_a_file_of_blanks_is_empty_in_no_line(tmp_path):
    path = tmp_path / "blank.json"
    path.write_text(" \n\n\n")
    with pytest.raises(DataError) as error:
        read_json(path)
    assert str(error.value) == f"{path}: is empty"


def test_a_file_without_end_is_refused(monkeypatch):
    with pytest.raises(DataError, match="is larger than 1 MiB"):
        read_bytes("/dev/zero", 1 << 20)
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 1 << 20)
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 2 << 20)
    with pytest.raises(DataError, match="line 1: is longer than 2 MiB"):
        read_rows("/dev/zero")


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_that_is_too_long_is_one_bad_row(tmp_path, monkeypatch, end):
    row = json.dumps({"code": "def f(x): return x", "input": "1", "output": "1", "id": "a"}) + "\n"
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", len(row))
    path = tmp_path / "rows.jsonl"
    for extra in (1, 2, len(row), 2 * len(row), 2 * len(row) + 1):  # about where it is read on
        path.write_text(f"{row}{'x' * (len(row) + extra - 1)}\n{row.replace('a', 'b', 1)}{'y' * 200}{end}")
        good, bad = read_rows(path)
        assert [each.line for each in good] == [1, 3]
        assert [(each.line, each.reason) for each in bad] == [(n, "is longer than 0 MiB") for n in (2, 4)]
        assert [isinstance(record, BadRow) for _, record in records(path)] == [False, True, False, True]


def test_a_packed_file_is_read_as_it_would_be_unpacked(tmp_path):
    row = b'{"code": "def f(x): return x", "input": "1", "output": "1", "id": "a"}'
    for name, data in (("rows.jsonl.gz", row), ("texts.json.gz", b'{"a": ["1"]}'), ("items.json.gz", b"[%s]" % row)):
        (tmp_path / name).write_bytes(gzip.compress(data))
    assert [each.id for each in read_rows(tmp_path / "rows.jsonl.gz")[0]] == ["a"]
    assert read_generations(tmp_path / "texts.json.gz", {"a": None}) == {"a": ["1"]}  # type: ignore[dict-item]
    assert [item["id"] for _, item in records(tmp_path / "items.json.gz")] == ["a"]
    (tmp_path / "cut.gz").write_bytes(gzip.compress(row)[:-9])
    with pytest.raises(DataError, match=r"cut\.gz: is not a gzip file, or not all of one"):
        read_bytes(tmp_path / "cut.gz")


READERS = [
    lambda path: read_generations(path, {"a": None}),  # type: ignore[dict-item]
    lambda path: read_scored(path, "m"),
    read_completions,
    read_rows,
    lambda path: read_problems(path, problem_of),
    lambda path: read_problems(path, contests.problem_of),
]
SCRAPS = rb"""{ } [ ] "a" : , "\ud800" 1e999 NaN null true "code" "raw_scored_generations" "completion" "task_id" """
scraps = st.sampled_from([*SCRAPS.split(), b"9" * 500, b"9" * 5000, b"\n", b"\0", b"\xff"])


@settings(max_examples=300)
@given(st.lists(scraps, max_size=20), st.sampled_from(READERS))
def test_garbage_is_read_or_refused_with_a_sentence(tmp_path_factory, pieces, read):
    path = tmp_path_factory.getbasetemp() / "garbage"
    path.write_bytes(b"".join(pieces))
    sentence = str(path)
    try:
        read(path)
    except DataError as error:
        sentence = str(error)
    assert str(path) in sentence


def test_a_parquet_file_of_a_few_bytes_is_not_gigabytes_of_rows(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    assert rows.MAX_ROWS == 1_000_000
    monkeypatch.setattr(rows, "MAX_ROWS", 10_000)
    count = 1_100_000
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * count, pyarrow.int32()), ["def f(): pass"])
    parquet.write_table(pyarrow.table({"code": column}), tmp_path / "many.parquet", compression="zstd")
    assert (tmp_path / "many.parquet").stat().st_size < 10_000
    with pytest.raises(DataError, match="more than 10,000 rows"):
        read_rows(tmp_path / "many.parquet", needs=("code",))
    large = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 2000, pyarrow.int32()), ["x" * (3 << 20)])
    parquet.write_table(pyarrow.table({"code": large}), tmp_path / "large.parquet", compression="zstd")
    with pytest.raises(DataError, match=r"large\.parquet: "):
        read_rows(tmp_path / "large.parquet", needs=("code",))
    (tmp_path / "broken.parquet").write_bytes((tmp_path / "many.parquet").read_bytes()[:-20] + b"PAR1")
    with pytest.raises(DataError, match="is not a Parquet file"):
        read_rows(tmp_path / "broken.parquet")


@pytest.mark.parametrize("steps", [10**30, -1, 1.5, True, "9"])
def test_steps_that_nobody_counted_are_a_bad_row(tmp_path, steps):
    (tmp_path / "d.jsonl").write_text(json.dumps(ROW) + "\n" + json.dumps({**ROW, "id": "b", "steps": steps}) + "\n")
    _, (bad,) = read_rows(tmp_path / "d.jsonl")
    assert "'steps' must be a whole number from 0 to" in str(bad)


@pytest.mark.parametrize("value", [10**399, -1, float("inf"), float("nan"), "50", True, [50]])
def test_a_score_that_is_no_percentage_is_refused(tmp_path, value):
    (tmp_path / "s.json").write_text(json.dumps({"raw_scored_generations": {"a": [True]}, "pass_at_1": value}))
    with pytest.raises(DataError, match="'pass_at_1' must be a percentage"):
        read_scored(tmp_path / "s.json", "m")


SUMMARY = {"rows": 3, "bad_rows": 0, "pairs": 3, "kept": 3, "rejected": 0, "undecided": 0, "given_differs": 0}
JOURNAL = {
    "identity": {},
    "rows": 3,
    "sizes": [10],
    "digests": ["00"],
    "seen": [1, 1],
    "summary": {**SUMMARY, "reasons": {}},
}


def sealed(state):
    return json.dumps({**state, "seal": _seal_of(state)})


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 10**9},
        {"rows": -1},
        {"rows": True},
        {"sizes": []},
        {"sizes": [-1]},
        {"sizes": ["10"]},
        {"sizes": None},
        {"digests": []},
        {"identity": []},
        {"summary": {}},
        {"summary": {**SUMMARY, "reasons": {"RAISES": "1"}}},
        {"summary": {**SUMMARY, "reasons": {"\x1b[2J": 1}}},
        {"summary": {**SUMMARY, "reasons": {}, "kept": 10**9}},
        {"summary": {**SUMMARY, "reasons": {}, "more": 1}},
    ],
)
def test_a_journal_that_no_run_wrote_is_refused(tmp_path, change):
    path = tmp_path / "k.journal"
    path.write_text(sealed(JOURNAL))
    assert read_journal(path, 1)["rows"] == 3
    path.write_text(sealed({**JOURNAL, **change}))
    with pytest.raises(DataError, match="is not the journal of a run"):
        read_journal(path, 1)


def test_a_journal_beyond_the_end_of_the_candidates_is_refused(tmp_path, server, capsys, monkeypatch):
    from cruxbox.filtering import outputs

    monkeypatch.setattr(outputs.Outputs, "finish", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
    (tmp_path / "c.jsonl").write_text((json.dumps(ROW) + "\n") * 3)
    line = ["filter", f"{tmp_path}/c.jsonl", "--out", f"{tmp_path}/k.jsonl", "--server", server]
    assert main(line) == 130
    monkeypatch.undo()
    path = tmp_path / "k.jsonl.journal"
    state = json.loads(path.read_text())
    state["rows"] = state["summary"]["rows"] = 10**9
    del state["seal"]
    path.write_text(sealed(state))
    capsys.readouterr()
    assert main([*line, "--resume"]) == 2
    assert "has 3 rows, but 1000000000 of them are said to be done" in capsys.readouterr().err
    assert not (tmp_path / "k.jsonl").exists()
