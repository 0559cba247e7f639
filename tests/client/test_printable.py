"""Text of others on a terminal: markup, escape sequences and what turns the direction of writing are only text."""

from __future__ import annotations

import io
import json

import pytest
from cruxbox.cli import main
from cruxbox.printable import printable
from cruxbox.terminal import Terminal
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

EVIL = "[/]\x1b]0;owned\x07\x1b[2J\u202e[red]x\r\b\ud800:smile:\x9b1m"


def is_tame(text: str) -> bool:
    return all(each.isprintable() or each == "\n" for each in text)


@given(st.text())
def test_what_is_printable_stays_and_the_rest_is_escaped(text):
    shown = printable(text)
    assert shown.isprintable()
    assert shown == text or not text.isprintable()
    assert is_tame(printable(text, lines=True))


def test_a_terminal_cannot_be_steered_by_cells_titles_or_texts():
    out = io.StringIO()
    terminal = Terminal()
    terminal.file = out
    table = Table(EVIL, title=EVIL)
    table.add_row(EVIL)
    table.add_row(Text(EVIL))
    terminal.print(table)
    terminal.print(EVIL)
    terminal.print(Text(EVIL))
    assert is_tame(out.getvalue())
    assert out.getvalue().count("[/]\\x1b]0;owned") == 6
    assert ":smile:" in out.getvalue()


def test_styles_of_ours_are_still_there():
    out = io.StringIO()
    terminal = Terminal()
    terminal._force_terminal, terminal._color_system, terminal.file = True, None, out
    from rich.console import ColorSystem

    terminal._color_system = ColorSystem.STANDARD
    terminal.print(Text("evil \x1b[2J", style="red"))
    assert "\x1b[31m" in out.getvalue()
    assert "\x1b[2J" not in out.getvalue()


@pytest.fixture
def files(tmp_path, monkeypatch):
    rows = [
        {"code": f"def f(x):\n    raise ValueError({EVIL!r})", "input": "1", "output": "1", "id": EVIL},
        {"code": "def f(x):\n    return x", "input": "1", "output": "1", "id": "good"},
    ]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "bad.jsonl").write_text(json.dumps({**rows[0], "code": 1}) + "\n")
    (tmp_path / "gens.json").write_text(json.dumps({EVIL: ["f(1)", EVIL]}))
    (tmp_path / "key.json").write_text(json.dumps({EVIL + "?": ["f(1)"]}))
    scored = {"raw_generations": {EVIL: ["f(1)"]}, "raw_scored_generations": {EVIL: [True]}, "pass_at_1": 100}
    (tmp_path / "scored.json").write_text(json.dumps(scored))
    (tmp_path / "type.json").write_text(json.dumps({"raw_scored_generations": {EVIL: [1]}}))
    (tmp_path / "raise.py").write_text(rows[0]["code"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


NAME = EVIL.replace("/", "|").replace("\ud800", "")
LINES = [
    ["steps", "data.jsonl"],
    ["score", "gens.json", "--dataset", "data.jsonl", "--mode", "input"],
    ["score", "key.json", "--dataset", "data.jsonl", "--mode", "input"],
    ["score", NAME, "--dataset", "data.jsonl", "--mode", "input"],
    ["check", "--program", "raise.py", "--call", "f(1)", "--expected", "1"],
    ["check", "--program", "raise.py", "--call", EVIL.replace("\ud800", ""), "--expected", "1"],
    ["check", "--program", "raise.py", "--call", "f(1)", "--expected", "1", "--runtime", NAME],
    ["stats", "data.jsonl"],
    ["stats", "bad.jsonl"],
    ["anonymize", "data.jsonl", "--out", "a.jsonl"],
    ["filter", "data.jsonl", "--out", "k.jsonl"],
    ["filter", "data.jsonl", "--rules", NAME, "--out", "k.jsonl"],
]
OFFLINE = [
    ["compare", NAME + "=scored.json", "second=scored.json"],
    ["compare", "type.json"],
    ["sample", "data.jsonl", "--n", "1", "--out", NAME],
    ["extract", "input", "gens.json", "--out", NAME],
    ["info", "--" + NAME],
    [NAME],
]


@pytest.mark.parametrize("line", [*LINES, *OFFLINE], ids=lambda line: line[0])
def test_no_command_lets_a_stranger_steer_the_terminal(files, server, capsys, line):
    code = main([*line, "--server", server] if line in LINES else line)
    out, err = capsys.readouterr()
    assert code in (0, 1, 2), err
    assert is_tame(out + err)
    assert out or err
