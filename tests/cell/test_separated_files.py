"""Files of a separated script: what each half tells the other, and what the script does not take."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from cruxcell.jobs.separated.files import PassedFiles, ProgramFiles


class Halves:
    """Two folders with the files of both halves; `ask` is a question with these arguments, which does `run`."""

    def __init__(self, above: Path) -> None:
        self.test, self.program = above / "test", above / "program"
        for each in (self.test, self.program):
            each.mkdir()
        self.passed = PassedFiles({"open"}, place=str(self.test))
        self.made = ProgramFiles(str(self.program))

    def ask(self, *arguments: Any, run: Any = None) -> None:
        self.passed.note(list(arguments))
        told = self.passed.given()
        if told:
            self.made.have(None, *told)
        if run is not None:
            run()
        self.passed.take(self.made.made(None))

    def do(self, *steps: tuple[str, str | bool | None]) -> None:
        """The program writes a text, makes a folder (None), or removes what there is (False)."""
        for name, content in steps:
            place = self.program / name
            if isinstance(content, str):
                place.write_text(content)
            elif content is None:
                place.mkdir()
            elif place.is_dir():
                place.rmdir()
            else:
                place.unlink()

    def path(self, name: str) -> str:
        return str(self.test / name)


@pytest.fixture
def halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Halves:
    made = Halves(tmp_path)
    monkeypatch.chdir(made.test)
    return made


def content(folder: Path) -> dict[str, str | None]:
    found = sorted(folder.rglob("*"))
    return {str(each.relative_to(folder)): None if each.is_dir() else each.read_text() for each in found}


def test_only_a_script_that_names_files_and_has_a_folder_has_any(tmp_path: Path):
    place = str(tmp_path)
    assert PassedFiles({"open"}, place=place).are_needed
    assert not PassedFiles({"close"}, place=place).are_needed
    assert not PassedFiles({"open"}, place=str(tmp_path / "none")).are_needed
    assert PassedFiles({"close"}, ["math", "xml.dom"], place).are_needed
    assert not PassedFiles({"close"}, ["math", "collections.abc", "numpy.linalg"], place).are_needed


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
    for name in ("in", "out", "a*"):
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


def test_a_file_is_opened_for_both_that_the_program_has_or_that_is_not_there(halves: Halves):
    (halves.test / "mine").write_text("1")
    (halves.test / "passed").write_text("1")
    halves.ask("passed", run=lambda: halves.do(("made", "2")))
    names = ("mine", "passed", "made", "none", "../test/mine")
    found = [halves.passed.may_be_opened(halves.path(name)) for name in names]
    assert found == [False, True, True, True, False]
    (halves.test / "folder").mkdir()
    moved = [halves.passed.may_be_opened(halves.path(name), is_moved=True) for name in (*names, "folder")]
    assert moved == [False, True, True, True, False, False]
    assert halves.passed.may_be_opened(halves.path("folder"))


def test_changes_of_each_half_reach_the_other_at_the_next_question(halves: Halves):
    mine, its = halves.test / "a", halves.program / "a"
    mine.write_text("0")
    for round_ in range(9):  # within a tick of the clock, and of one size
        halves.ask("a", run=lambda: its.write_text(str(int(its.read_text()) + 1)[-1]))
        assert mine.read_text() == str(round_ + 1)
    mine.unlink()
    halves.ask()
    assert not its.exists()


def test_times_cross_with_files(halves: Halves):
    (halves.test / "a").write_text("1")
    os.utime(halves.test / "a", (5, 5))
    halves.ask("a", run=lambda: os.utime(halves.program / "a", (9, 9)))
    assert (halves.test / "a").stat().st_mtime == 9


def test_what_the_program_makes_changes_and_removes_the_script_has(halves: Halves):
    halves.ask(run=lambda: halves.do(("d", None), ("d/a", "1")))
    assert content(halves.test) == {"d": None, "d/a": "1"}
    halves.ask(run=lambda: halves.do(("d/a", "2")))
    assert content(halves.test) == {"d": None, "d/a": "2"}
    halves.ask(run=lambda: halves.do(("d/a", False), ("d", False)))
    assert content(halves.test) == {}


def test_a_file_that_becomes_a_folder_and_the_other_way_round(halves: Halves):
    halves.ask(run=lambda: halves.do(("x", "1")))
    halves.ask(run=lambda: halves.do(("x", False), ("x", None)))
    assert content(halves.test) == {"x": None}
    halves.ask(run=lambda: halves.do(("x", False), ("x", "2")))
    assert content(halves.test) == {"x": "2"}


def test_the_working_folder_follows_and_is_passed(halves: Halves, monkeypatch: pytest.MonkeyPatch):
    (halves.test / "d").mkdir()
    (halves.test / "d" / "a").write_text("1")
    monkeypatch.chdir(halves.test / "d")
    working: list[str] = []
    monkeypatch.setattr("cruxcell.jobs.separated.files.os.chdir", working.append)
    halves.ask()
    halves.ask()
    monkeypatch.undo()
    assert (working, content(halves.program)) == ([str(halves.program / "d")], {"d": None, "d/a": "1"})


@pytest.mark.parametrize(
    "told",
    [
        ["expected", b"7", 0],
        ["expected", False, 0],
        ["expected", None, 0],
        ["golden/new", b"7", 0],
        ["golden", False, 0],
        ["golden/../expected", b"7", 0],
        ["./expected", b"7", 0],
        ["/expected", b"7", 0],
        ["", b"7", 0],
        ["link/new", b"7", 0],
        ["link", b"7", 0],
        ["a\0", b"7", 0],
        [".pdbrc", b"7", 0],
        [".config", None, 0, ".config/rc", b"7", 0],
        ["a", "text", 0],
        ["a", 7, 0],
        ["a", b"7", "now"],
        ["a", b"7"],
        [5, b"7", 0],
        "a",
        None,
        {"a": b"7"},
    ],
)
def test_what_is_the_scripts_stays_whatever_a_candidate_says(halves: Halves, told: object):
    (halves.test / "expected").write_text("42")
    (halves.test / "golden").mkdir()
    (halves.test / "link").symlink_to("golden")
    before = content(halves.test)
    halves.passed.take(told)
    assert content(halves.test) == before


def test_what_the_script_makes_anew_is_its_own(halves: Halves):
    halves.ask(run=lambda: halves.do(("a", "7")))
    (halves.test / "a").write_text("42")
    halves.ask(run=lambda: halves.do(("a", "8")))
    assert (halves.test / "a").read_text() == "42"


def test_a_time_that_cannot_be_is_left(halves: Halves):
    halves.passed.take(["a", b"7", 1 << 80])
    assert (halves.test / "a").read_text() == "7"


def test_so_many_paths_are_remembered(halves: Halves):
    for each in ("a", "b"):
        (halves.test / each).write_text(each)
    halves.passed.note(["a", *[f"none{number}" for number in range(300)], "b"])
    halves.ask()
    assert content(halves.program) == {"b": "b"}


def test_a_name_that_no_file_can_have_is_left_out(halves: Halves):
    halves.passed.note([str(halves.test)])
    halves.passed.take(["a\ud800", b"1", 1, "a\ud800/b", b"1", 1, "c", b"2", 1])
    assert content(halves.test) == {"c": "2"}
