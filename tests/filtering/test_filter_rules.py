"""Rules, rows and reasons: nothing runs here."""

from __future__ import annotations

import json

import pytest
from cruxbox.errors import DataError
from cruxbox.filtering import PAPER, RELEASED, SENTENCES, BadRow, Candidate, Seen, candidate, load_rules, text_reasons
from cruxbox.filtering.rules import FORBIDDEN
from cruxbox.model import StepCount


def test_the_length_rule_holds_for_the_benchmark(rows):
    assert not [row["id"] for row in rows if text_reasons(row["code"], row["input"], PAPER)]


@pytest.mark.parametrize(("length", "refused"), [(74, True), (75, False), (300, False), (301, True)])
def test_length_counts_code_and_call(length, refused):
    code = "def f(a): return a"
    argument = "1" * (length - len(code) - len("\nassert f() =="))
    assert text_reasons(code, argument, PAPER) == (("LENGTH",) if refused else ())


@pytest.mark.parametrize("text", FORBIDDEN)
def test_forbidden_texts(text):
    assert "FORBIDDEN_TEXT" in text_reasons(f"def f(a):\n    return {text}", "1", PAPER)
    assert "FORBIDDEN_TEXT" in text_reasons("def f(a):\n    return a", repr(text), RELEASED)


def test_unprintable_characters():
    assert text_reasons("def f(a):\n\treturn 'é日' + a", "''", RELEASED) == ()
    for char in ("\x7f", "\r", "\x0b", "\u200b", "\ud800"):
        assert text_reasons(f"def f(a): return '{char}'", "1", RELEASED) == ("UNPRINTABLE",)


def test_where_the_two_sets_of_rules_differ():
    assert PAPER.refuse - RELEASED.refuse == {"LENGTH", "UNUSED_ARGUMENT", "NONDETERMINISTIC", "DUPLICATE"}
    assert RELEASED.refuse - PAPER.refuse == {"LIBRARY_CODE", "EXCEPTION_EVENT"}
    assert (PAPER.repeat, RELEASED.repeat) == (2, 1)
    assert RELEASED.count is StepCount.EVENTS


def test_rules_of_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'base = "paper"\nremove = ["LENGTH"]\nadd = ["OUTPUT_DIFFERS"]\nmax_steps = 10\nforbidden = ["x"]\n'
    )
    rules = load_rules(str(path))
    assert (rules.name, rules.max_steps, rules.forbidden) == ("mine", 10, ("x",))
    assert rules.refuse == (PAPER.refuse | {"OUTPUT_DIFFERS"}) - {"LENGTH"}
    assert json.loads(json.dumps(rules.as_dict())) == rules.as_dict()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = ", "is not TOML"),
        ('base = "mine"', "allowed are paper, released"),
        ('add = ["SHAPE"]', "'SHAPE', which is no reason"),
        ('add = "LENGTH"', "must be a list of strings"),
        ("max_stepz = 3", "'max_stepz' is not a rule"),
        ("max_steps = -1", "must be a whole number"),
        ("max_seconds = 0", "must be a number of seconds above 0"),
        ('count = "lines"', "allowed are instructions and events"),
        ('add = ["EXCEPTION_EVENT"]', 'only known with count = "events"'),
        ("min_chars = 400", "above max_chars"),
        ("nested_calls = 1", "must be true or false"),
    ],
)
def test_mistakes_in_a_file_of_rules(tmp_path, text, words):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(DataError, match="mine") as caught:
        load_rules(str(path))
    assert words in str(caught.value)


def test_unknown_rules():
    with pytest.raises(DataError, match="paper, released or the name of a"):
        load_rules("strict")
    with pytest.raises(DataError, match="cannot be read"):
        load_rules("nowhere.toml")


def test_every_reason_has_a_sentence():
    assert PAPER.refuse | RELEASED.refuse <= set(SENTENCES)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"input": "1"}, "'code' is missing"),
        ({"code": "x"}, "'input' is missing"),
        ({"code": "x", "input": "1", "inputs": ["2"]}, "both"),
        ({"code": 3, "input": "1"}, "'code' must be a string, is a number"),
        ({"code": "x", "input": ["1"]}, "'input' must be a string, is a list"),
        ({"code": "x", "inputs": "1"}, "must be a list of strings, is a string"),
        ({"code": "x", "inputs": ["1", None]}, "'inputs'[1] must be a string, is null"),
        ({"code": "x", "inputs": []}, "is empty"),
        ({"code": "x", "inputs": ["1"], "outputs": []}, "1 inputs but 0 outputs"),
        ({"code": "x" * (10 << 20), "input": "1"}, "'code' is larger than 1048576 bytes"),
        ({"code": "x", "input": "1", "id": 7}, "'id' must be a string, is a number"),
    ],
)
def test_rows_that_cannot_be_used(record, words):
    found = candidate(record, 2, 3)
    assert isinstance(found, BadRow)
    assert words in found.reason
    assert (found.row, found.line) == (2, 3)


def test_rows_that_can_be_used():
    one = candidate({"code": "c", "input": "", "output": "1", "id": "a", "model": "m"})
    many = candidate({"code": "c", "inputs": ["1", "2"]}, 4, 9, "file.jsonl")
    assert isinstance(one, Candidate)
    assert isinstance(many, Candidate)
    assert (one.inputs, one.outputs, one.id, one.has_many, one.extra) == (("",), ("1",), "a", False, {"model": "m"})
    assert (many.inputs, many.outputs, many.id, many.has_many) == (("1", "2"), (None, None), "file_4", True)


def test_what_came_before_is_remembered_in_a_file(tmp_path):
    seen = Seen(tmp_path / "seen")
    assert [seen.came_before("c", text, place) for place, text in enumerate("abab")] == [False, False, True, True]
    assert not seen.came_before("ca", "", 9)
    seen.save()
    seen.close()
    again = Seen(tmp_path / "seen")
    assert [again.came_before("c", text, place) for place, text in enumerate("abab")] == [False, False, True, True]
    with pytest.raises(DataError, match="another run"):
        Seen(tmp_path / "seen")
    again.close()
