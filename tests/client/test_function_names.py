"""Rows whose function is not called f, or whose input is a whole call, as in LiveCodeBench's test of execution."""

from __future__ import annotations

import json

import pytest
from cruxbox.accounting import RELEASED, STRICT, without_input_text
from cruxbox.building.calls import end_of_bracket, end_of_expression, function_and_call, is_one_call
from cruxbox.building.rows import Row, row_source
from cruxbox.cli import main
from cruxbox.model import Limits, Outcome, Verdict

CODE = "def minimumCost(nums, k=1):\n    first = nums[0]\n    return first + sum(sorted(nums[1:])[:2]) * k"
LIVE = [
    {
        "question_id": "2921",
        "id": "sample_0",
        "function_name": "minimumCost",
        "code": CODE,
        "input": "minimumCost(nums = [1, 2, 3, 12])",
        "output": "6",
        "numsteps": 27,
    },
    {"id": "sample_1", "function_name": "minimumCost", "code": CODE, "input": "[5, 4, 3], k=2", "output": "19"},
    {"id": "sample_2", "code": CODE, "input": "minimumCost([1, 1, 1])", "output": "3"},
]

# ---- texts ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "input", "name", "expected"),
    [
        ("def f(x): 1", "1", "", ("f", "f(1)")),
        ("def f(x): 1", "", "", ("f", "f()")),
        ("def f(x): 1", "f(1)", "", ("f", "f(f(1))")),
        ("def f(x): 1\ndef g(x): 2", "g(1)", "", ("f", "f(g(1))")),
        ("x = 1", "g(1)", "", ("f", "f(g(1))")),
        ("def g(x): 2", "g(1)", "", ("g", "g(1)")),
        ("async def g(x): 2", " g (1) ", "", ("g", "g (1)")),
        ("def g(x): 2", "g(1) + g(2)", "", ("f", "f(g(1) + g(2))")),
        ("def g(x): 2", "g(1) + g(2)", "g", ("g", "g(g(1) + g(2))")),
        ("def g(x): 2", "g(')', [1, (2)])", "g", ("g", "g(')', [1, (2)])")),
        ("def g(x): 2", "[1]", "g", ("g", "g([1])")),
        ("def f(x): 2", "f(1)", "f", ("f", "f(1)")),
        ("def g(x): 2", "h(1)", "g", ("g", "g(h(1))")),
    ],
)
def test_the_call_of_a_row(code, input, name, expected):
    assert function_and_call(code, input, name) == expected


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("(1)", 3),
        ("(')', \"(\", '''\n)''')x", 20),
        ("([{}])()", 6),
        ("('\\')')", 7),
        ("(1 # )\n)", 8),
        ("(", None),
        ("(]", None),
        ("('", None),
        ("('\n')", None),
        ("(" * 100_000, None),
    ],
)
def test_where_a_bracket_closes(text, end):
    assert end_of_bracket(text, 0) == end


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        (" [1,\n 2] # done", " [1,\n 2] "),
        ("'a#b'\nassert", "'a#b'"),
        ("'''x\ny'''\n1", "'''x\ny'''"),
        ("(1", "(1"),
        ("1 \\\n+ 2\n3", "1 \\\n+ 2"),
        ("", ""),
    ],
)
def test_where_an_expression_ends(text, expression):
    assert text[: end_of_expression(text)] == expression


def test_one_call_and_nothing_else():
    assert is_one_call("g(1, x=[2])", "g")
    assert not is_one_call("g(g(1))", "g")
    assert not is_one_call("g(1) or g", "g")
    assert not is_one_call("h(1)", "g")


def test_a_row_with_a_name_that_is_none_is_told(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**LIVE[0], "function_name": "a b"}) + "\n" + json.dumps(LIVE[0]) + "\n")
    bad, good = row_source(path)
    assert str(bad) == f"{path}, line 1: field 'function_name' must be the name of a function, is 'a b'"
    assert (good.function, good.call, good.steps) == ("minimumCost", "minimumCost(nums = [1, 2, 3, 12])", 27)


# ---- accounting -----------------------------------------------------------------


def test_guards_and_entry_point_follow_the_name():
    row = Row(CODE, "minimumCost(nums = [1])", "1", extra={"function_name": "minimumCost"})
    limits = Limits()
    assert STRICT.task(row, "minimumCost([1])", "input", limits).checks[0].entry_point == "minimumCost"
    assert RELEASED.task(row, "f([1])", "input", limits) is None
    assert RELEASED.task(row, "minimumCost([1])", "input", limits) is not None
    assert RELEASED.task(row, "minimumCost(nums = [1])", "output", limits) is None


def test_what_contains_the_input_leaves_n():
    rule = without_input_text(STRICT)
    row = Row("def f(x): return x", "[1, 2]", "[1, 2]")
    assert rule.task(row, "[1, 2]", "output", Limits()) is None
    assert rule.task(row, "[1,2]", "output", Limits()) is not None
    assert rule.task(row, "f([1, 2])", "input", Limits()) is not None
    passed, failed = (Verdict("", "", outcome) for outcome in (Outcome.PASSED, Outcome.FAILED))
    assert rule.marks([passed, None, failed]) == [True, False]
    assert rule.marks([failed, None]) == [False]
    assert rule.marks([None, None]) == [False, False]
    assert without_input_text(RELEASED).marks([failed, None]) == [False]


# ---- with a sandbox -------------------------------------------------------------


@pytest.fixture
def live(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in LIVE))
    return path


def run(capsys, *arguments) -> dict:
    code = main([*map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize("accounting", ["strict", "published", "released"])
@pytest.mark.parametrize("mode", ["input", "output"])
def test_score(server, capsys, tmp_path, live, mode, accounting):
    generations = {
        "input": {
            "sample_0": ["minimumCost([1, 2, 3])", "minimumCost(nums = [0])", "f([1, 2, 3])"],
            "sample_1": ["minimumCost([19])", "19", "minimumCost()"],
            "sample_2": ["minimumCost([3])", "minimumCost([4])", ""],
        },
        "output": {
            "sample_0": ["6", "minimumCost(nums = [1, 2, 3, 12])", "7"],
            "sample_1": ["19", "minimumCost([5, 4, 3], k=2)", "7"],
            "sample_2": ["3", "minimumCost([1, 1, 1])", "7"],
        },
    }[mode]
    path, out = tmp_path / "generations.json", tmp_path / "out.json"
    path.write_text(json.dumps(generations))
    arguments = [path, "--dataset", live, "--mode", mode, "--accounting", accounting, "--out", out, "--server", server]
    run(capsys, "score", *arguments)
    marks = json.loads(out.read_text())["raw_scored_generations"]
    assert [row[0] for row in marks.values()] == [True] * 3
    assert not any(any(row[1:]) for row in marks.values())
    kept = {"input": [2, 2, 2], "output": [2, 2, 2]}[mode] if accounting == "released" else [3, 3, 3]
    assert [len(row) for row in marks.values()] == kept


@pytest.mark.parametrize("accounting", ["strict", "published", "released"])
@pytest.mark.parametrize("mode", ["input", "output"])
def test_what_is_no_text_at_all_is_wrong_and_spoils_nothing(server, capsys, tmp_path, live, mode, accounting):
    good = {"input": "minimumCost([1, 2, 3])", "output": "6"}[mode]
    texts = ["", " \n", "minimumCost(\0)", "minimumCost('\ud800')", "minimumCost('" + "x" * (1 << 20) + "')", good]
    path, out = tmp_path / "generations.json", tmp_path / "out.json"
    path.write_text(json.dumps({"sample_0": texts}))
    arguments = [path, "--dataset", live, "--mode", mode, "--accounting", accounting, "--out", out, "--server", server]
    run(capsys, "score", *arguments)
    marks = json.loads(out.read_text())["raw_scored_generations"]["sample_0"]
    skipped = 2 if (mode, accounting) == ("input", "released") else 0
    assert marks == [False] * (5 - skipped) + [True]


def test_score_without_what_contains_the_input(server, capsys, tmp_path, live):
    path, out = tmp_path / "generations.json", tmp_path / "out.json"
    path.write_text(json.dumps({"sample_1": ["19", "for [5, 4, 3], k=2"], "sample_2": ["minimumCost([1, 1, 1])"] * 2}))
    arguments = ["score", path, "--dataset", live, "--server", server, "--skip-input-text", "--mode"]
    found = run(capsys, *arguments, "output", "--out", out)
    assert json.loads(out.read_text())["raw_scored_generations"] == {"sample_1": [True], "sample_2": [False, False]}
    assert found["files"][0]["outcomes"] == {"SKIPPED": 3, "PASSED": 1}
    assert main([*map(str, arguments), "input"]) == 2
    assert "--skip-input-text is a rule of --mode output" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["instructions", "events"])
def test_steps(server, capsys, live, count):
    rows = run(capsys, "steps", live, "--count", count, "--server", server)["rows"]
    assert rows
    assert all(row["steps"] > 5 for row in rows)


def test_steps_do_not_depend_on_the_name(server, capsys, tmp_path):
    path = tmp_path / "two.jsonl"
    same = {"code": CODE.replace("minimumCost", "f"), "input": "[1, 2, 3]", "output": "6", "id": "f"}
    other = {"code": CODE, "input": "minimumCost([1, 2, 3])", "output": "6", "id": "other"}
    path.write_text(json.dumps(same) + "\n" + json.dumps(other) + "\n")
    one, two = run(capsys, "steps", path, "--server", server)["rows"]
    assert one["steps"] == two["steps"]


def test_filter(server, capsys, tmp_path):
    path, kept, refused = (tmp_path / name for name in ("candidates.jsonl", "kept.jsonl", "refused.jsonl"))
    code = "def tidy(text):\n    words = text.split()\n    words.reverse()\n    return '-'.join(words).upper()"
    inputs = ["tidy('a b c')", "'one two'", "tidy('x') or tidy('y')", "tidy('ab')", "tidy(tidy('a b'))"]
    path.write_text(json.dumps({"code": code, "inputs": inputs, "function_name": "tidy"}) + "\n")
    # The release's own test for a call inside the call never comes to be, so its rules let such calls pass.
    nested = {"tidy('x') or tidy('y')": "'X'", "tidy(tidy('a b'))": "'B-A'"}
    for rules in ("paper", "released"):
        run(capsys, "filter", path, "--out", kept, "--rejects", refused, "--rules", rules, "--server", server)
        rows = [json.loads(line) for line in kept.read_text().splitlines()]
        assert {row["input"]: row["output"] for row in rows} == {
            "tidy('a b c')": "'C-B-A'",
            "'one two'": "'TWO-ONE'",
            "tidy('ab')": "'AB'",
            **(nested if rules == "released" else {}),
        }
        assert {row["function_name"] for row in rows} == {"tidy"}
        reasons = [json.loads(line)["reasons"] for line in refused.read_text().splitlines()]
        assert reasons == ([] if rules == "released" else [["CALL_SHAPE"], ["CALL_SHAPE"]])
        kept.unlink()
        refused.unlink()


def test_filter_looks_at_the_arguments_of_the_function_that_is_called(server, capsys, tmp_path):
    path, kept, refused = (tmp_path / name for name in ("candidates.jsonl", "kept.jsonl", "refused.jsonl"))
    helper = "def f(text, spare):\n    return text.upper()\n\n"
    uses = "def tidy(text, times):\n    words = text.split()\n    words.reverse()\n    return '-'.join(words) * times"
    leaves = "def tidy(text, times):\n    words = text.split()\n    words.reverse()\n    return '-'.join(words).upper()"
    rows = [(uses, "tidy"), (leaves, "tidy"), (helper + uses, "tidy"), (leaves.replace("tidy", "f"), "f")]
    path.write_text(
        "".join(
            json.dumps({"id": str(at), "code": code, "input": "'a b', 2", "function_name": name}) + "\n"
            for at, (code, name) in enumerate(rows)
        )
    )
    run(capsys, "filter", path, "--out", kept, "--rejects", refused, "--rules", "paper", "--server", server)
    assert [json.loads(line)["id"] for line in kept.read_text().splitlines()] == ["0", "2"]
    told = {row["id"]: row["reasons"] for row in map(json.loads, refused.read_text().splitlines())}
    assert told == {"1": ["UNUSED_ARGUMENT"], "3": ["UNUSED_ARGUMENT"]}


def test_a_prelude_stands_before_every_program(server, capsys, tmp_path):
    """LiveCodeBench's programs rely on imports that its own harness puts in front of them."""
    code = "def total(nums: List[int]) -> int:\n    return reduce(lambda a, b: a + b, nums)"
    row = {"id": "sample_0", "function_name": "total", "code": code, "input": "total(nums = [1, 2])", "output": "3"}
    data, generations, prelude = tmp_path / "data.jsonl", tmp_path / "generations.json", tmp_path / "prelude.py"
    data.write_text(json.dumps(row) + "\n")
    generations.write_text(json.dumps({"sample_0": ["total([2, 1])", "total([1, 1])"]}))
    prelude.write_text("from typing import List\nfrom functools import reduce\n\n")
    out = tmp_path / "scored.json"
    common = ["score", str(generations), "--dataset", str(data), "--mode", "input", "--server", server]
    run(capsys, *common, "--out", str(out))
    assert json.loads(out.read_text())["raw_scored_generations"]["sample_0"] == [False, False]
    run(capsys, *common, "--out", str(out), "--prelude", str(prelude))
    assert json.loads(out.read_text())["raw_scored_generations"]["sample_0"] == [True, False]
    counted = tmp_path / "counted.jsonl"
    arguments = ["steps", str(data), "--server", server, "--prelude", str(prelude), "--out", str(counted)]
    assert run(capsys, *arguments)["rows"][0]["steps"] > 0
    assert json.loads(counted.read_text())["code"] == code  # the row is written as it was


def test_anonymize(server, capsys, tmp_path, live):
    out = tmp_path / "anonymised.jsonl"
    found = run(capsys, "anonymize", live, "--out", str(out), "--server", server)
    assert (found["written"], found["problems"]) == (3, [])
    first, second, third = map(json.loads, out.read_text().splitlines())
    assert first["code"].startswith("def minimumCost(x1, x2=1):")
    assert (first["input"], second["input"]) == ("minimumCost(x1 = [1, 2, 3, 12])", "[5, 4, 3], x2=2")
    assert (third["input"], first["function_name"]) == ("minimumCost([1, 1, 1])", "minimumCost")
