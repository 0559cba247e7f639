"""Whole files through a real sandbox: what is kept, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cruxbox.cli import main
from cruxbox.errors import DataError
from cruxbox.filtering import PAPER, RELEASED, Plan, candidate, filter_candidates, filter_file
from filter_interpreters import python39
from filter_lines import BODY, read, write

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


@pytest.mark.parametrize("rules", [PAPER, RELEASED], ids=lambda rules: rules.name)
def test_the_benchmark_itself(client, rows, rules):
    """Computed outputs are the published ones; what breaks a rule is what is known to break it."""
    if rules is RELEASED and not python39():
        pytest.skip("there is no Python 3.9 here, for which the released filter was made")
    runtime = "py39" if rules is RELEASED else ""
    judged = list(filter_candidates(map(candidate, rows), client, rules, runtime=runtime))
    assert [one.output for one in judged] == [row["output"] for row in rows]
    refused = {row["id"]: one.reasons for row, one in zip(rows, judged) if not one.is_kept}
    if rules is PAPER:
        assert refused == {"sample_510": ("UNUSED_ARGUMENT",), "sample_593": ("UNUSED_ARGUMENT",)}
    else:
        assert refused == {}
        steps = {row["id"]: one.steps for row, one in zip(rows, judged)}
        assert (steps["sample_780"], steps["sample_543"], steps["sample_621"]) == (3175, 50, 28)
        assert (sum(steps.values()), max(steps.values())) == (69746, 3175)
        assert round(sum(steps.values()) / len(steps), 2) == 87.18


def test_what_is_kept_and_what_is_not(tmp_path, client):
    source = write(
        tmp_path / "in.jsonl",
        [
            {"code": BODY + "    return parts", "inputs": ["'xab cdx'", "''", "'xab cdx'", "5", "["], "model": "m"},
            {"code": BODY + "    return list({part for part in parts})", "input": "'a b c d e f g h'", "id": "one"},
            {"code": BODY + "    return parts", "input": "'q'", "output": "['P']"},
            {"code": BODY + "    while True:\n        pass", "input": "'q'"},
            {"code": "def f(text):\n    return text + 'a'", "input": "'bcde'"},
        ],
    )
    plan = Plan(str(source), str(tmp_path / "kept.jsonl"), tmp_path / "refused.jsonl")  # type: ignore[arg-type]
    summary = filter_file(plan, client)
    kept, refused = read(plan.out), read(plan.rejects)
    assert [(row["id"], row["output"]) for row in kept] == [
        ("in_0_0", "['Ab', 'Cd']"), ("in_0_1", "[]"), ("in_2", "['Q']"),
    ]  # fmt: skip
    assert kept[0]["model"] == "m"
    assert kept[0]["source"] == {
        "file": "in.jsonl", "line": 1, "input": 0, "python": sys.version.split()[0], "rules": "paper",
    }  # fmt: skip
    assert kept[0]["steps"] > 10
    assert kept[2]["given_output"] == "['P']"
    assert [(row["id"], row["reasons"]) for row in refused] == [
        ("in_0_2", ["DUPLICATE"]),
        ("in_0_3", ["RAISED"]),
        ("in_0_4", ["SYNTAX"]),
        ("one", ["NONDETERMINISTIC"]),
        ("in_3", ["STEPS"]),
        ("in_4", ["LENGTH"]),
    ]
    assert refused[1]["detail"].startswith("AttributeError: ")
    assert (summary.rows, summary.pairs, summary.kept, summary.rejected, summary.given_differs) == (5, 9, 3, 6, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "kept.jsonl", "refused.jsonl"]


def test_every_reason_is_told(tmp_path, client):
    code = "def f(a, b, c):\n    x = hash(a) / 2\n    return a ** a * 1.5"
    (judged,) = filter_candidates([candidate({"code": code, "input": "9, 1, 1"})], client, PAPER)
    assert set(judged.reasons) == {
        "FORBIDDEN_TEXT", "UNUSED_ARGUMENT", "TRUE_DIVIDE", "OPS_BIG", "POWER_BIG", "FLOAT_OPS",
    }  # fmt: skip


def test_bad_rows_are_told_by_line_and_do_not_stop_a_run(tmp_path, client):
    good = {"code": BODY + "    return parts", "input": "'a b'"}
    huge = {"code": "#" * (10 << 20), "input": "1"}
    source = write(tmp_path / "in.jsonl", [good, "{broken\n", {"input": "1"}, {**good, "input": 5}, huge, "\n", good])
    sentences = []
    plan = Plan(source, tmp_path / "kept.jsonl", tmp_path / "refused.jsonl")
    summary = filter_file(plan, client, on_bad_row=sentences.append)
    assert [sentence.split(": ")[0] for sentence in sentences] == [f"{source}, line {line}" for line in (2, 3, 4, 5)]
    assert (summary.rows, summary.bad_rows, summary.kept, summary.rejected) == (6, 4, 1, 1)
    assert [row["reasons"] for row in read(plan.rejects)] == [["BAD_ROW"]] * 4 + [["DUPLICATE"]]
    with pytest.raises(DataError, match=r"in\.jsonl, line 2: is not JSON"):
        filter_file(Plan(source, tmp_path / "other.jsonl", strict=True), client)


def test_many_rows_without_a_check_keep_the_line_moving(client):
    row = {"code": BODY + "    return parts", "input": "'a b'"}
    judged = list(filter_candidates((candidate(row, at) for at in range(5000)), client, PAPER))
    assert [one.reasons for one in judged] == [()] + [("DUPLICATE",)] * 4999


def test_parquet_in_and_out(tmp_path, client):
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"code": [BODY + "    return parts"] * 2, "inputs": [["'a'", "'b c'"], ["'d'"]], "n": [1, 2]})
    parquet.write_table(table, tmp_path / "in.parquet")
    plan = Plan(tmp_path / "in.parquet", tmp_path / "kept.parquet", tmp_path / "refused.jsonl")
    assert filter_file(plan, client).kept == 3
    kept = parquet.read_table(plan.out).to_pylist()
    assert [(row["input"], row["output"], row["n"]) for row in kept] == [
        ("'a'", "['A']", 1), ("'b c'", "['B', 'C']", 1), ("'d'", "['D']", 2),
    ]  # fmt: skip
    assert read(plan.rejects) == []


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "no usable row, it is empty"),
        (["{\n", {"input": "1"}], "no usable row; the first problem is: .*line 1: is not JSON"),
    ],
)
def test_a_file_without_a_usable_row_is_a_mistake_and_leaves_nothing(tmp_path, client, rows, words):
    plan = Plan(write(tmp_path / "in.jsonl", rows), tmp_path / "kept.jsonl", tmp_path / "refused.jsonl")
    with pytest.raises(DataError, match=words):
        filter_file(plan, client)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_command(tmp_path, server, capsys):
    source = write(tmp_path / "in.jsonl", [{"code": BODY + "    return parts", "inputs": ["'a b'", "5"]}, "{\n"])
    out = tmp_path / "kept.jsonl"
    assert main(["filter", str(source), "--out", str(out), "--server", server, "--json"]) == 0
    shown = capsys.readouterr()
    report = json.loads(shown.out)
    assert (report["kept"], report["rejected"], report["bad_rows"], report["reasons"]) == (1, 1, 1, {"RAISED": 1})
    assert "in.jsonl, line 2: is not JSON" in shown.err
    assert main(["filter", str(source), "--out", str(out), "--server", server]) == 0
    assert "1 of 2 pairs kept" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{in}", "--out", "{in}"], "would overwrite a file it is made from"),
        (["{in}", "--out", "{dir}/no/kept.jsonl"], "cannot be written"),
        (["{dir}/none.jsonl", "--out", "{dir}/kept.jsonl"], "cannot be read"),
        (["{in}", "--out", "{dir}/kept.jsonl", "--rules", "mine"], "rules 'mine' are not known"),
        (["{in}", "--out", "{dir}/kept.jsonl", "--cpu-limit", "0"], "--cpu-limit"),
        (["{in}", "--out", "{dir}/kept.jsonl", "--strict"], "line 1: field 'code' is missing"),
        (["{in}", "--out", "{dir}/kept.jsonl", "--runtime", "py2"], "py2"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, server, capsys, arguments, words):
    source = write(tmp_path / "in.jsonl", [{"input": "1"}, {"code": "def f(a): return a", "input": "1"}])
    filled = [text.format(**{"in": source, "dir": tmp_path}) for text in arguments]
    assert main(["filter", *filled, "--server", server]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error
