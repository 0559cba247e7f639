"""Rows, sampling, prompts and extraction: text in, text out."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from decimal import Decimal

import pytest
from cruxbox.building import (
    METHODS,
    Row,
    Style,
    candidate_prompts,
    extract_candidate,
    extract_input,
    extract_output,
    input_prompt,
    output_prompt,
    read_rows,
    row_source,
    select,
    write_records,
)
from cruxbox.building.completions import read_completions
from cruxbox.building.extraction import Rules
from cruxbox.building.recipe import Schedule
from cruxbox.building.sampling import select_permuted
from cruxbox.building.shots import LIST_SHOTS, STRING_SHOTS
from cruxbox.errors import DataError

# ---- rows -------------------------------------------------------------------


def test_bad_rows_are_named_by_line_and_the_others_kept(tmp_path):
    good = {"code": "c", "input": "i", "output": "o", "id": "x", "steps": 3, "origin": {"pool": 1}}
    lines = [
        json.dumps(good),
        "{broken",
        "",
        "[1]",
        json.dumps({"code": "c", "input": "i"}),
        json.dumps({**good, "code": 7}),
        json.dumps({**good, "steps": "many"}),
        json.dumps({**good, "code": "x" * (10 << 20)}),
        "[" * 200_000,
        json.dumps({"code": "c2", "input": "i2", "output": "o2"}),
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines))
    rows, bad = read_rows(path)
    assert [row.id for row in rows] == ["x", "sample_8"]
    assert rows[0].as_dict() == good
    assert [problem.line for problem in bad] == [2, 4, 5, 6, 7, 8, 9]
    assert str(bad[2]) == f"{path}, line 5: field 'output' is missing"
    assert "must be a string, is a number" in bad[3].reason
    assert "'steps' must be a whole number" in bad[4].reason
    assert "larger than 1048576 bytes" in bad[5].reason
    with pytest.raises(DataError, match="line 2: is not JSON"):
        read_rows(path, strict=True)


def test_files_that_cannot_be_used(tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n\n")
    with pytest.raises(DataError, match="no usable row, it is empty"):
        read_rows(empty)
    with pytest.raises(DataError, match="cannot be read"):
        read_rows(tmp_path / "absent.jsonl")
    with pytest.raises(DataError, match="cannot be written"):
        write_records(tmp_path / "absent" / "x.jsonl", [])


def test_parquet_holds_the_same_rows(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    records = [
        {"code": "a", "input": "1", "output": "2", "id": "p", "steps": 4},
        {"code": "b", "input": "", "output": "3"},
    ]
    assert write_records(tmp_path / "rows.parquet", records) == 2
    rows = list(row_source(tmp_path / "rows.parquet"))
    assert [row.id for row in rows] == ["p", "sample_1"]
    assert [row.steps for row in rows] == [4, None]
    other = {"when": datetime(2026, 1, 2), "raw": [b"\xff", None], "price": Decimal("1.50"), "deep": {"a": [1.5]}}
    write_records(tmp_path / "rows.parquet", [{"code": "a", "input": "1", "output": "2", **other}])
    [row] = row_source(tmp_path / "rows.parquet")
    as_json = {"when": "2026-01-02 00:00:00", "raw": ["\\xff", None], "price": "1.50", "deep": {"a": [1.5]}}
    assert row.extra == as_json  # rows are written as JSON, which has no dates
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(DataError, match="is not a Parquet file"):
        read_rows(tmp_path / "bad.parquet")


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    def records():
        yield {"id": 1}
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match="No space left"):
        write_records(tmp_path / "out.jsonl", records())
    assert list(tmp_path.iterdir()) == []


# ---- sampling ---------------------------------------------------------------

POOL = [Row(f"def f(x): return {at // 5}", str(at % 5), id=str(at)) for at in range(500)]


def test_a_sample_does_not_depend_on_the_order_of_rows():
    sample = select(POOL, 40, seed=3)
    assert sample == select(reversed(POOL), 40, seed=3)
    assert sample == select(POOL + POOL[:100], 40, seed=3)
    assert sample[:15] == select(POOL, 15, seed=3)
    assert sample != select(POOL, 40, seed=4)
    assert len({row.code for row in sample}) == 40


def test_any_pair_may_be_chosen_too():
    sample = select(POOL, 300, seed=1, one_per_program=False)
    assert len({(row.code, row.input) for row in sample}) == 300
    assert len({row.code for row in sample}) < 101


def test_every_program_and_every_input_is_as_likely():
    programs, inputs = Counter(), Counter()
    for seed in range(400):
        for row in select(POOL, 10, seed):
            programs[row.code] += 1
            inputs[row.input] += 1
    # 4,000 draws: 40 of each program and 800 of each input are expected.
    assert min(programs.values()) > 15
    assert max(programs.values()) < 75
    assert all(680 < count < 920 for count in inputs.values())


def test_the_released_way_takes_the_first_of_a_permutation():
    sample = select_permuted(POOL, 40, seed=3)
    assert sample == select_permuted(POOL, 40, seed=3)
    assert sample[:15] == select_permuted(POOL, 15, seed=3)
    assert sample != select_permuted(POOL, 40, seed=4)
    assert sample != select_permuted(POOL[::-1], 40, seed=3)
    assert len({row.code for row in sample}) == 40
    assert len(select_permuted(POOL, 500, one_per_program=False)) == 500
    with pytest.raises(DataError, match="n is 101, but there are only 100 different programs"):
        select_permuted(POOL, 101)
    with pytest.raises(DataError, match="n must be 1 or more"):
        select_permuted(POOL, 0)


def test_a_sample_larger_than_the_pool_is_refused():
    with pytest.raises(DataError, match="n is 101, but there are only 100 different programs"):
        select(POOL, 101)
    with pytest.raises(DataError, match="only 500 different pairs"):
        select(POOL + POOL, 501, one_per_program=False)
    with pytest.raises(DataError, match="n must be 1 or more"):
        select(POOL, 0)


def test_the_sample_of_a_seed_never_changes():
    assert [row.id for row in select(POOL, 3, seed=0)] == ["495", "305", "42"]


# ---- prompts ----------------------------------------------------------------


def test_the_released_schedule():
    prompts = list(candidate_prompts())
    assert len(prompts) == 2040
    assert len({prompt.text for prompt in prompts}) == 1490
    counts = Counter(prompt.method for prompt in prompts)
    assert set(counts) == {f"{kind}.{name}" for kind, names in METHODS.items() for name in names}
    assert len(counts) == 69
    assert {counts[method] for method in counts if method.startswith("str.")} == {20}
    assert {counts[method] for method in counts if not method.startswith("str.")} == {50}


def test_the_even_schedule():
    counts = Counter(prompt.method for prompt in candidate_prompts(Schedule.EVEN))
    assert set(counts.values()) == {25}
    assert len(set(candidate_prompts(Schedule.EVEN))) == 1725


def test_a_construction_prompt_is_open_at_its_end():
    text = next(candidate_prompts()).text
    assert text.endswith("[TASK]\nstr.capitalize\n[/TASK]\n[PYTHON]\n")
    assert text.count("[TEST]\n") == 2
    assert text.count("== ??") == 10


@pytest.mark.parametrize("shot", [*STRING_SHOTS, *LIST_SHOTS], ids=lambda shot: shot.method)
def test_shots_use_their_method_and_run(shot):
    kind, name = shot.method.split(".")
    assert name in METHODS[kind]
    assert f".{name}(" in shot.code
    assert len(set(shot.inputs)) == 5
    values = []
    for text in shot.inputs:
        space: dict[str, object] = {}
        exec(shot.code, space)
        values.append(repr(eval(f"f({text})", space)))
        assert 75 <= len(f"{shot.code}\nassert f({text}) ==") <= 400
    assert len(set(values)) > 1


@pytest.mark.parametrize("cot", [False, True])
def test_prediction_prompts_end_where_the_model_goes_on(cot):
    code = "def f(x):\n    return x"
    tag = "[THOUGHT]\n" if cot else "[ANSWER]\n"
    asked = output_prompt(code, "[1, '{}']", cot=cot)
    assert asked.endswith(f"[PYTHON]\n{code}\nassert f([1, '{{}}']) == ??\n[/PYTHON]\n{tag}")
    given = input_prompt(code, "17", cot=cot)
    assert given.endswith(f"[PYTHON]\n{code}\nassert f(??) == 17\n[/PYTHON]\n{tag}")
    for text in (asked, given):
        assert ("[/THOUGHT]" in text) is cot
        assert text.count("[/ANSWER]") >= 2


def test_the_assert_style_goes_on_in_the_line_of_the_assertion():
    text = output_prompt("def f(x):\n    return x", "3", style=Style.ASSERT)
    assert text.endswith("def f(x):\n    return x\nassert f(3) ==")
    assert text.count("# done\n") == 2
    with pytest.raises(DataError, match="no room for a chain of thought"):
        output_prompt("", "", cot=True, style=Style.ASSERT)
    given = input_prompt("def f(x):\n    return x", "3", style=Style.ASSERT)
    assert given.endswith("def f(x):\n    return x\nassert 3 == f(")


# ---- extraction -------------------------------------------------------------


@pytest.mark.parametrize(
    ("completion", "cot", "generation"),
    [
        ("assert f([1, 2], x=3) == 17\n[/ANSWER]", False, "f([1, 2], x=3)"),
        ("assert f(16) == 17", False, "f(16)"),
        ("f(16) == 17", False, "f(16)"),
        ("f(16)", False, "f(16)"),
        ("  assert f('a == b') == 'x'", False, "f('a"),
        ("assert g(1) == 2", False, "g(1)"),
        ("assert  my_sum (n = 2, k = 3) == 2", False, "my_sum(n = 2, k = 3)"),
        ("assert (f(1) == 2)", False, "assert (f(1)"),
        ("assert f ([1]) == 1", False, "f([1])"),
        ("assert f(1), 'why'\nassert f(2) == 3", False, "f(1), 'why'"),
        ("", False, ""),
        ("Well.\n[/THOUGHT]\n[ANSWER]\nassert f(16) == 17\n[/ANSWER]", True, "f(16)"),
        ("[ANSWER]assert f(1) == 2[/ANSWER] or [ANSWER]assert f(2) == 2", True, "f(1)"),
        ("So it is:\nassert f(5) == 6\n", True, "f(5)"),
        ("\n", True, ""),
    ],
)
def test_input_generations(completion, cot, generation):
    assert extract_input(completion, cot=cot) == generation


@pytest.mark.parametrize(
    ("completion", "cot", "generation"),
    [
        ("assert f(17) == 17\n[/ANSWER]", False, "17"),
        ("assert f(17) == 17 == 18", False, "17"),
        ("'bare'", False, "'bare'"),
        ("assert f('=') == '='", False, "'='"),
        ("assert f(1) == '@!', 'because'", False, "'@!', 'because'"),
        ("It is x == y.\n[ANSWER]\nassert f(1) == [2]\n[/ANSWER]", True, "[2]"),
        ("Thus f(1) gives\n[2]", True, "[2]"),
        ("", True, ""),
    ],
)
def test_output_generations(completion, cot, generation):
    assert extract_output(completion, cot=cot) == generation


# (completion, generation by the rules of: openai, hf, lenient); the release's two paths, line by line.
DIFFERING = [
    ("input", "So:\nassert f(5) == 6", ["assert f(5) == 6", "f(5)", "f(5)"]),
    ("input", "It is f(5)\n", ["", "It is f(5)", "It is f(5)"]),
    ("input", "x == 1, so\nf(2)", ["f(2)", "x", "f(2)"]),
    ("input", "[ANSWER]\nassert f (5) == 6\n[/ANSWER]", ["f(5)"] * 3),
    ("input", "[ANSWER] f(1) [ANSWER] f(2)", ["f(1)"] * 3),
    ("input", "No [/ANSWER] yet. [ANSWER] f(1)", ["No", "No", "f(1)"]),
    ("input", "assert g(1) == 2", ["assert g(1) == 2", "assert g(1)", "g(1)"]),
    ("output", "So:\nassert f(5) == 6", ["assert f(5) == 6", "6", "6"]),
    ("output", "It is\n6\n", ["", "It is\n6", "6"]),
    ("output", "if x == 1:\n6", ["6", "1:\n6", "6"]),
    ("output", "[ANSWER]\nassert f(5) == 6\n[/ANSWER]", ["6"] * 3),
]


@pytest.mark.parametrize(("mode", "completion", "generations"), DIFFERING)
def test_three_rules_for_a_chain_of_thought(mode, completion, generations):
    extract = {"input": extract_input, "output": extract_output}[mode]
    assert [extract(completion, cot=True, rules=Rules(name)) for name in ("openai", "hf", "lenient")] == generations


@pytest.mark.parametrize("rules", Rules)
def test_without_a_chain_of_thought_the_rules_agree(rules):
    assert extract_input("assert f ([1]) == 1", rules=rules) == "f([1])"
    assert extract_input("f(1)\nassert f(2)\nassert f(3) == 4", rules=rules) == "f(2)"
    assert extract_output("assert f(1) == 2 == 3\n[/ANSWER]", rules=rules) == "2"


def test_the_assert_style_stops_at_its_own_word():
    assert extract_output(" 'x9ja' # done\n\ndef f(s):", stops=Style.ASSERT.stops) == "'x9ja'"


def test_candidates_come_with_their_inputs():
    completion = (
        "\ndef f(x):\n    return x + 1\n[/PYTHON]\n[TEST]\nassert f(1) == ??\nassert f( (2) ) == ??\n"
        'assert f(1) == ??\nassert f("b") = ??\nassert f(3) == 4\nprint(1)\n'
        "assert f() == ??\n[/TEST]\nassert f(9) == ??"
    )
    assert extract_candidate(completion) == ("def f(x):\n    return x + 1", ["1", " (2) ", '"b"', ""])
    assert extract_candidate("[PYTHON]\ndef f(): 1\n[/PYTHON]\n[TEST]\nassert f() == ??") == ("def f(): 1", [""])
    for broken in (
        "",
        "def f(): 1",
        "def f(): 1[/PYTHON]",
        "[/PYTHON][TEST]assert f() == ??",
        "x[/PYTHON][TEST]\n[/TEST]",
    ):
        assert extract_candidate(broken) is None


def test_shots_survive_their_own_extraction():
    for prompt in (next(candidate_prompts()), *list(candidate_prompts())[-1:]):
        for part in prompt.text.split("[/TASK]\n")[1:3]:
            found = extract_candidate(part)
            assert found is not None
            assert len(found[1]) == 5


def test_completions_in_every_shape(tmp_path):
    path = tmp_path / "completions"
    path.write_text('{"a": ["1", "2"], "b": []}')
    assert read_completions(path) == {"a": ["1", "2"], "b": []}
    path.write_text('{"id": "a", "completion": "1"}\n\n{"task_id": "a", "completions": ["2", "3"]}\n')
    assert read_completions(path) == {"a": ["1", "2", "3"]}
    path.write_text('{"completion": "1"}\n{"completion": "2"}')
    assert read_completions(path, numbered=True) == {"0": ["1"], "1": ["2"]}
    path.write_text('{"id": "a", "completions": ["2"]}')
    assert read_completions(path) == {"a": ["2"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"completion": "1"}', "line 1: 'id' must be a string, is missing"),
        ('{"id": 3, "completion": "1"}', "line 1: 'id' must be a string, is 3"),
        ('{"id": "a"}', "line 1: needs a 'completion' or 'completions'"),
        ('{"id": "a", "completion": 1}', "line 1: completions must be a list of strings"),
        ('{"a": [1]}', "completions of 'a' must be a list of strings"),
        ("x", "line 1: is not JSON"),
        ("\n3\n", "line 2: must be an object, is a number"),
        ("", "holds no completions"),
    ],
)
def test_broken_completions_are_named_by_line(tmp_path, content, message):
    path = tmp_path / "completions"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        read_completions(path)
    assert message in str(caught.value)
