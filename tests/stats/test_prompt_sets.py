"""Prompt sets as files: ours are true and readable, and what is wrong with one is one sentence."""

from __future__ import annotations

import json

import pytest
from cruxbox.building import Row
from cruxbox.building.extraction import extract_arguments, extract_expression
from cruxbox.building.prompt_set import SHIPPED, _filled, load_prompt_set, shipped_sets
from cruxbox.cli import main

ROW = Row("def f(a, b=')'):\n    return {a: '{output}'}", "'(', b='{code}'", "{'(': '{output}'}", "sample_0")
OTHER = Row("def total(xs):\n    return sum(xs)", "total([1, 2])", "3", "sample_1")


def test_every_kind_of_set_is_there_in_both_modes():
    kinds = ("assert", "chat", "chat-cot", "cot", "direct", "zero-shot")
    assert shipped_sets() == sorted(f"{kind}-{mode}" for kind in kinds for mode in ("input", "output"))


@pytest.mark.parametrize("name", shipped_sets())
def test_worked_examples_are_true(name):
    for shot in load_prompt_set(name).shots:
        space: dict[str, object] = {}
        exec(shot.code, space)
        assert repr(eval(f"f({shot.input})", space)) == shot.output


@pytest.mark.parametrize("name", shipped_sets())
@pytest.mark.parametrize("row", [ROW, OTHER], ids=["f", "other"])
def test_a_right_completion_is_read_back(name, row):
    """What the set's own reply says of a row is what extraction finds, with the stop word or cut off there."""
    chosen = load_prompt_set(name)
    shown = row if row is ROW else Row(row.code, "[1, 2]", row.output, extra={"function_name": "total"})
    reply = _filled(chosen.reply or "[ANSWER]\nassert {call} == {output}\n[/ANSWER]", shown, "Well.")
    wanted = shown.call if chosen.mode == "input" else row.output
    for completion in (reply, reply.split(chosen.stop[0])[0], reply + "\n\ndef f(x): 1"):
        assert chosen.generation(completion, function=shown.function) == wanted


@pytest.mark.parametrize("name", shipped_sets())
def test_a_prompt_shows_the_program_and_not_the_answer(name):
    chosen = load_prompt_set(name)
    record = chosen.record(ROW)
    assert record["stop"]
    assert ("messages" in record) is (chosen.form == "chat")
    text = record["prompt"] if "prompt" in record else record["messages"][-1]["content"]
    assert ROW.code in text
    secret = ROW.input if chosen.mode == "input" else ROW.output
    assert secret not in text
    assert "function" not in record
    assert chosen.record(OTHER)["function"] == "total"


def test_chat_messages_take_turns():
    record = load_prompt_set("chat-output").record(ROW)
    assert [one["role"] for one in record["messages"]] == ["system", *["user", "assistant"] * 2, "user"]
    assert record["messages"][1]["content"].startswith("Below is a Python function f")
    assert [one["role"] for one in load_prompt_set("zero-shot-input").record(ROW)["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("completion", "call"),
    [
        ("1, 2)", "f(1, 2)"),
        ("')', [(1)])  # done", "f(')', [(1)])"),
        (")", "f()"),
        ("1,\n  2)\nassert 3", "f(1,\n  2)"),
        ("1, 2", "f(1, 2"),
        ("1]", "f(1]"),
    ],
)
def test_a_call_is_read_up_to_its_closing_bracket(completion, call):
    assert extract_arguments(completion) == call


def test_an_expression_is_read_up_to_the_end_of_its_line():
    assert extract_expression(" 'a == b' # done\n\ndef g(): 1", stops=("# done",)) == "'a == b'"
    assert extract_expression(" [1,\n 2]\nassert f(3) == 4") == "[1,\n 2]"
    assert extract_expression("\n") == ""


def test_a_file_of_ones_own(tmp_path, capsys):
    """Prompts, completions and generations of a set with tags and words of its own."""
    mine = tmp_path / "mine.toml"
    mine.write_text(
        'mode = "input"\nform = "chat"\nquestion = "{code}\\n{function}(?) -> {output}"\n'
        'stop = ["</a>"]\nanswer_tags = ["<a>", "</a>"]\n'
    )
    data, prompts, raw, out = (tmp_path / name for name in ("data.jsonl", "prompts.jsonl", "raw.json", "out.json"))
    data.write_text(json.dumps({**OTHER.as_dict(), "function_name": "total"}) + "\n")
    assert main(["prompts", "input", str(data), "--template", str(mine), "--out", str(prompts)]) == 0
    record = json.loads(prompts.read_text())
    content = f"{OTHER.code}\ntotal(?) -> 3"
    assert record == {
        "id": "sample_1",
        "messages": [{"role": "user", "content": content}],
        "stop": ["</a>"],
        "function": "total",
    }
    raw.write_text(json.dumps({"sample_1": ["Hm. <a>assert total ([3]) == 3", "<a>total([3])</a> or", "f([3])"]}))
    arguments = ["extract", "input", str(raw), "--template", str(mine), "--prompts", str(prompts), "--out", str(out)]
    assert main(arguments) == 0
    assert json.loads(out.read_text()) == {"sample_1": ["total([3])", "total([3])", "f([3])"]}
    capsys.readouterr()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("question = 'x'", "mode is missing"),
        ("mode = 'input'", "question is missing"),
        ("mode = 'both'\nquestion = 'x'", "mode is 'both'; allowed are input, output"),
        ("mode = 'input'\nquestion = 5", "question must be a string, is 5"),
        ("mode = 'input'\nquestion = 'x'\nshot = 1", "'shot' is no key of a prompt set; known are mode, question"),
        ("mode = 'input'\nquestion = '{call}'", "may not give away {call}"),
        ("mode = 'output'\nquestion = '{output}'", "may not give away {output}"),
        ("mode = 'output'\nquestion = 'x'\nanswer = 'arguments'", "answer 'arguments' is one of mode 'input'"),
        ("mode = 'input'\nquestion = 'x'\nstop = 'x'", "stop must be a list of strings"),
        ("mode = 'input'\nquestion = 'x'\nanswer_tags = ['a']", "answer_tags must be two texts"),
        ("mode = 'input'\nquestion = 'x'\n[[shots]]\ncode = 'c'", "shot 1: input is missing"),
        ("mode = 'input'\nquestion = 'x'\n[[shots]]\nx = 'c'", "shot 1: 'x' is no key of a shot"),
        (
            "mode = 'input'\nquestion = 'x'\n[[shots]]\ncode = 'c'\ninput = ''\noutput = ''",
            "reply is missing, which says how the shots are answered",
        ),
        ("mode = ", "is not TOML"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path, capsys, text, sentence):
    path, data = tmp_path / "bad.toml", tmp_path / "data.jsonl"
    path.write_text(text)
    data.write_text(json.dumps(ROW.as_dict()) + "\n")
    assert main(["prompts", "input", str(data), "--template", str(path)]) == 2
    told = capsys.readouterr().err
    assert f"{path}: " in told
    assert sentence in told


def test_the_sets_are_part_of_the_package():
    assert SHIPPED.parent.name == "building"
