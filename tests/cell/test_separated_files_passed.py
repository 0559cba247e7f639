"""Which of its files a separated script passes to the program, and which it never does."""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import Any

import pytest
from cruxcell.jobs.separated.state import files
from halves_by_hand import ABOUT, Halves, content, message


@pytest.mark.parametrize(
    "arguments",
    [
        ("a.txt",),
        ([{"k": ("x", {"a.txt"})}],),
        ({"a.txt": 1},),
        ("./a.txt",),
        (PurePosixPath("a.txt"),),
        (frozenset(["a.txt"]),),
    ],
)
def test_what_is_passed_by_a_path_the_program_has(halves: Halves, arguments: tuple[Any, ...]):
    (halves.test / "a.txt").write_text("1")
    (halves.test / "b.txt").write_text("2")
    halves.ask(*arguments)
    assert content(halves.program) == {"a.txt": "1"}


@pytest.mark.parametrize("argument", ["", ".", "..", "../a.txt", "a\0", "a\nb", "x" * 600, "/etc", b"a.txt", 5, None])
def test_what_is_no_path_passes_nothing(halves: Halves, argument: object):
    (halves.test / "a.txt").write_text("1")
    halves.ask(argument)
    assert content(halves.program) == {}


def test_what_stands_in_a_text_or_a_file_that_is_passed_is_passed(halves: Halves):
    (halves.test / "far").mkdir()
    for name in ("a", "b", "c", "d", "far/e", "far/f"):
        (halves.test / name).write_text(name)
    (halves.test / "list").write_text(f"{halves.path('a')}\nb {halves.path('far/e')}")
    (halves.test / "config").write_text(f'{{"in": "{halves.path("list")}"}}')
    (halves.test / "late").write_text("x" * (1 << 16) + halves.path("d"))
    halves.ask(halves.path("config"), halves.path("late"), f"cp {halves.path('c')} x")
    assert set(content(halves.program)) == {"config", "list", "late", "a", "c", "far", "far/e"}


def test_what_a_pattern_may_find_is_passed(halves: Halves):
    for name in ("in", "out", "a*", "b"):
        (halves.test / name).mkdir()
        (halves.test / name / "x.txt").write_text(name)
    halves.ask(halves.path("in/[a-x]?.*"), "*.txt", "out/*")
    assert set(content(halves.program)) == {"in", "in/x.txt", "out", "out/x.txt"}
    halves.ask(halves.path("a*"))
    assert set(content(halves.program)) == {"in", "in/x.txt", "out", "out/x.txt", "a*", "a*/x.txt"}


def test_a_folder_is_passed_with_all_in_it_but_links(halves: Halves):
    (halves.test / "d" / "e").mkdir(parents=True)
    (halves.test / "d" / "e" / "a").write_text("1")
    (halves.test / "d" / "link").symlink_to("e")
    halves.ask(halves.path("d"))
    assert content(halves.program) == {"d": None, "d/e": None, "d/e/a": "1"}


def test_what_leads_to_a_path_is_there_for_a_file_to_be_made(halves: Halves):
    (halves.test / "d" / "e").mkdir(parents=True)
    (halves.test / "d" / "other").write_text("1")
    halves.ask(halves.path("d/e/out"), run=lambda: halves.do(("d/e/out", "2")))
    assert content(halves.program) == {"d": None, "d/e": None, "d/e/out": "2"}
    assert (halves.test / "d" / "e" / "out").read_text() == "2"


def test_what_a_value_holds_is_looked_through_to_a_bound(halves: Halves, monkeypatch: pytest.MonkeyPatch):
    noted: list[str] = []
    monkeypatch.setattr(halves.passed, "_note", noted.append)
    monkeypatch.setattr(files, "_MOST_PARTS", 3)
    halves.passed.note([["a", "b"], ["c"]])
    assert noted == ["a"]


def test_what_no_path_can_be_is_not_looked_for(halves: Halves, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    monkeypatch.setattr(halves.passed._folder, "below", asked.append)
    for text in ("", "a" * (files._LONGEST + 1), "a\nb", "a\0b", "a" * files._LONGEST):
        halves.passed._note(text)
    assert asked == ["a" * files._LONGEST]


def test_so_many_paths_are_remembered(halves: Halves):
    for each in ("a", "b"):
        (halves.test / each).write_text(each)
    halves.passed.note(["a", *[f"none{number}" for number in range(300)], "b"])
    halves.ask()
    assert content(halves.program) == {"b": "b"}


def test_the_whole_folder_is_passed_but_for_what_is_hidden_at_its_top(halves: Halves):
    for name in (".cache", "d"):
        (halves.test / name).mkdir()
        (halves.test / name / ".a").write_text(name)
    (halves.test / ".b").write_text("1")
    halves.ask(str(halves.test))
    assert content(halves.program) == {"d": None, "d/.a": "d"}


def test_what_only_looks_like_a_path_as_a_text_is_none(halves: Halves):
    (halves.test / "5").write_text("1")
    halves.ask(5)
    assert content(halves.program) == {}


def test_a_pattern_of_folders_passes_what_is_above_it(halves: Halves):
    (halves.test / "in" / "a").mkdir(parents=True)
    (halves.test / "in" / "a" / "x.txt").write_text("1")
    halves.ask("in/[ab]/x.txt")
    assert set(content(halves.program)) == {"in", "in/a", "in/a/x.txt"}


@pytest.mark.parametrize(
    ("heard", "is_refused"),
    [
        (message(b"mine"), True),
        (message(b"b" * 9) + message(b"see: 'mine'"), True),
        (message(b"other"), False),
        (message(b"x" * 507 + b" mine"), True),
        (message(b"x" * 508 + b" mine"), False),
        (message(b""), False),
        (b"mine", False),
    ],
)
def test_a_path_that_the_program_said_passes_no_file_of_the_script_s(halves: Halves, heard: bytes, is_refused: bool):
    (halves.test / "mine").write_text("1")
    halves.passed.hear(heard)
    if is_refused:
        with pytest.raises(ValueError, match="has from the program"):
            halves.ask("mine")
    else:
        halves.ask("mine")
    assert bool(content(halves.program)) is not is_refused
    assert halves.passed.may_be_opened("mine") is not is_refused


def test_what_the_script_passed_before_the_program_said_it_is_passed(halves: Halves):
    (halves.test / "mine").write_text("1")
    halves.passed.note(["mine"])
    assert halves.passed.may_be_opened("mine")
    halves.passed.hear(message(b"mine"))
    halves.ask("mine")
    assert content(halves.program) == {"mine": "1"}


def test_who_says_too_much_has_said_everything(halves: Halves, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "_MOST_SAID", 2)
    for at in range(9):
        halves.passed.hear(message(b"x%d" % at))
    assert len(halves.passed._said) == 2
    (halves.test / "mine").write_text("1")
    with pytest.raises(ValueError, match="has from the program"):
        halves.ask("mine")


def test_a_path_in_a_file_that_the_program_made_is_said(halves: Halves):
    (halves.test / "mine").write_text("1")
    halves.ask(run=lambda: halves.do(("list", "a mine")))
    with pytest.raises(ValueError, match="has from the program"):
        halves.ask("mine")


def test_what_the_program_made_and_said_the_script_changes_and_passes(halves: Halves):
    halves.passed.hear(message(b"out"))
    halves.ask(run=lambda: halves.do(("out", "1")))
    (halves.test / "out").write_text("22")
    halves.ask("out")
    assert content(halves.program) == {"out": "22"}


def test_a_name_where_the_program_has_led_the_script_shows_no_file(halves: Halves, monkeypatch: pytest.MonkeyPatch):
    (halves.test / "d").mkdir()
    for name in ("a", "d/a"):
        (halves.test / name).write_text("42")
    monkeypatch.chdir("d")
    halves.ask()
    halves.passed.take(["", "", ABOUT])
    assert os.getcwd() == str(halves.test)
    monkeypatch.chdir("d")  # by itself
    halves.ask("a")
    assert content(halves.program) == {"d": None, "d/a": "42"}
    halves.passed.take(["", "", ABOUT])
    with pytest.raises(ValueError, match="has from the program"):
        halves.ask("a")
