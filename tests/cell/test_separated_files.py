"""Files of a separated script: what each half tells the other, and what the script does not take."""

from __future__ import annotations

import filecmp
import os
import shutil
import time
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from cruxcell.jobs.separated.state import files, folders
from cruxcell.jobs.separated.state.files import PassedFiles, ProgramFiles
from cruxcell.jobs.separated.state.folders import NOTHING_ABOUT, Folder

ABOUT = (0, 0o600, 0)  # a file: its time and permissions, and when it was changed


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
    monkeypatch.setattr("cruxcell.jobs.separated.state.files.os.chdir", working.append)
    halves.ask()
    halves.ask()
    monkeypatch.undo()
    assert (working, content(halves.program)) == ([str(halves.program / "d")], {"d": None, "d/a": "1"})


@pytest.mark.parametrize(
    "told",
    [
        ["expected", b"7", ABOUT],
        ["expected", False, ABOUT],
        ["expected", None, ABOUT],
        ["golden/new", b"7", ABOUT],
        ["golden", False, ABOUT],
        ["golden/../expected", b"7", ABOUT],
        ["./expected", b"7", ABOUT],
        ["/expected", b"7", ABOUT],
        ["", b"7", ABOUT],
        ["link/new", b"7", ABOUT],
        ["link", b"7", ABOUT],
        ["a\0", b"7", ABOUT],
        [".pdbrc", b"7", ABOUT],
        [".config", None, ABOUT, ".config/rc", b"7", ABOUT],
        ["a", "text", ABOUT],
        ["a", 7, ABOUT],
        *[["a", b"7", about] for about in ("now", 5, (5,), (5, 7), (5, 7, "7"), (5, 7, 7, 7), [5, 7, 7], (True, 7, 7))],
        ["a", b"7"],
        [5, b"7", ABOUT],
        "a",
        None,
        {"a": b"7"},
    ],
)
def test_what_is_the_scripts_stays_whatever_a_candidate_says(halves: Halves, told: object):
    (halves.test / "expected").write_text("42")
    (halves.test / "golden").mkdir()
    (halves.test / "golden" / "a").write_text("42")
    (halves.test / "link").symlink_to("golden")
    before = content(halves.test)
    halves.passed.take(told)
    assert content(halves.test) == before


def test_a_folder_of_the_script_s_takes_what_is_new_while_it_holds_nothing_else(halves: Halves):
    (halves.test / "out").mkdir()
    (halves.test / "link").symlink_to("out")
    halves.passed.take(["out/a", b"7", ABOUT, "out/b", None, ABOUT, "out/b/c", b"8", ABOUT, "link/d", b"9", ABOUT])
    assert content(halves.test / "out") == {"a": "7", "b": None, "b/c": "8"}
    (halves.test / "out" / "own").write_text("42")
    halves.passed.take(["out/a", b"77", ABOUT, "out/e", b"9", ABOUT, "out/own", b"9", ABOUT])
    assert content(halves.test / "out") == {"a": "77", "b": None, "b/c": "8", "own": "42"}


def test_a_folder_that_both_have_made_is_gone_for_both_when_the_script_removes_it(halves: Halves):
    (halves.test / "out").mkdir()
    (halves.test / "out").chmod(0o711)
    halves.ask(run=lambda: halves.do(("out", None), ("out/a", "1")))
    assert content(halves.test) == {"out": None, "out/a": "1"}
    assert mode_of(halves.test / "out") == 0o711
    shutil.rmtree(halves.test / "out")

    def run() -> None:
        assert not (halves.program / "out").exists()
        halves.do(("out", None), ("out/a", "2"))

    halves.ask(run=run)
    assert content(halves.test) == {"out": None, "out/a": "2"}


def test_a_folder_with_what_is_the_script_s_stays_its_own_whatever_the_program_makes(halves: Halves):
    (halves.test / "out").mkdir()
    (halves.test / "out" / "expected").write_text("1")
    halves.ask(run=lambda: halves.do(("out", None), ("out/a", "1")))
    assert content(halves.test) == {"out": None, "out/expected": "1"}
    halves.ask(run=lambda: halves.do(("out/a", False), ("out", False)))
    assert content(halves.test) == {"out": None, "out/expected": "1"}


def test_a_file_of_the_program_s_that_the_script_empties_is_empty_for_both(halves: Halves):
    halves.ask(run=lambda: halves.do(("log", "1")))
    (halves.test / "log").write_text("")
    (halves.test / "own").write_text("")

    def run() -> None:
        assert content(halves.program) == {"log": ""}
        halves.do(("log", "2"))

    halves.ask(run=run)
    assert content(halves.test) == {"log": "2", "own": ""}


def test_what_the_script_makes_anew_is_its_own(halves: Halves):
    halves.ask(run=lambda: halves.do(("a", "7")))
    (halves.test / "a").write_text("42")
    halves.ask(run=lambda: halves.do(("a", "8")))
    assert (halves.test / "a").read_text() == "42"


def test_a_time_that_cannot_be_is_left(halves: Halves):
    halves.passed.take(["a", b"7", (1 << 80, 0o600, 0)])
    assert (halves.test / "a").read_text() == "7"


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


def test_a_name_that_no_file_can_have_is_left_out(halves: Halves):
    halves.passed.note([str(halves.test)])
    halves.passed.take(["a\ud800", b"1", ABOUT, "a\ud800/b", b"1", ABOUT, "c", b"2", ABOUT])
    assert content(halves.test) == {"c": "2"}


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


def test_a_folder_shows_files_and_folders_alone(tmp_path: Path):
    (tmp_path / "a").write_text("1")
    (tmp_path / "link").symlink_to("a")
    os.mkfifo(tmp_path / "pipe")
    folder = Folder(str(tmp_path))
    assert list(folder.present()) == ["a"]
    assert [folder.content(name) for name in ("a", "link", "pipe", "none")] == [b"1", False, False, False]


@pytest.mark.parametrize("call", ["open", "read"])
def test_a_file_that_cannot_be_read_is_not_there(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise PermissionError

    (tmp_path / "a").write_text("1")
    monkeypatch.setattr(os, call, refuse)
    assert Folder(str(tmp_path)).content("a") is False


def test_beside_a_folder_that_cannot_be_looked_at_others_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def scan(path: str) -> Any:
        seen.append(path)
        if len(seen) == 2:  # the first one below it
            raise PermissionError
        return scandir(path)

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("1")
    scandir, seen = os.scandir, list[str]()
    monkeypatch.setattr(os, "scandir", scan)
    assert len(Folder(str(tmp_path)).present()) == len(["a", "b", "x of one of them"])


def test_a_folder_is_looked_at_to_a_depth(tmp_path: Path):
    (tmp_path / "/".join("d" * 70)).mkdir(parents=True)
    assert len(Folder(str(tmp_path)).present()) == folders._DEEPEST + 1


def test_nothing_is_put_below_a_link(tmp_path: Path):
    for name in ("other", "mine"):
        (tmp_path / name).mkdir()
    (tmp_path / "mine" / "link").symlink_to("../other")
    Folder(str(tmp_path / "mine")).put("link/a", b"1", ABOUT)
    assert content(tmp_path / "other") == {}


def test_no_link_is_entered_nor_what_is_below_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "other" / "below").mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "link").symlink_to("../other")
    monkeypatch.chdir(tmp_path)
    folder = Folder(str(tmp_path / "mine"))
    assert [folder.enter("link"), folder.enter("link/below"), os.getcwd()] == [False, False, str(tmp_path)]
    assert (folder.enter(""), os.getcwd()) == (True, str(tmp_path / "mine"))


@pytest.mark.parametrize("path", ["..", "../test/a", "d/../a", "../../a"])
def test_a_path_that_goes_up_is_of_no_folder(halves: Halves, path: str):
    folder = Folder(str(halves.test))
    assert (folder.below(path), folder.below(halves.path(path))) == (None, None)
    assert folder.below("d/./a") == folder.below(halves.path("d//a")) == "d/a"


def test_what_becomes_a_link_is_gone_for_the_program(halves: Halves):
    (halves.test / "a").write_text("1")
    halves.ask("a")
    (halves.test / "a").unlink()
    (halves.test / "a").symlink_to("b")
    halves.ask("a")
    assert content(halves.program) == {}


@pytest.mark.parametrize("looks", [1, 3])
def test_a_change_that_does_not_show_is_seen_while_it_may_be_one(tmp_path: Path, looks: int):
    """A clock of files that has not gone on since: the same size and time."""
    folder, place = Folder(str(tmp_path)), tmp_path / "a"
    place.write_text("1")
    changed_ns = time.time_ns() + 10**9
    os.utime(place, ns=(changed_ns, changed_ns))
    folder.told("a")
    assert [folder.has_changed("a") for _ in range(looks)] == [False] * looks
    place.write_text("2")
    os.utime(place, ns=(changed_ns, changed_ns))
    assert folder.has_changed("a")


def test_a_file_of_long_ago_is_as_it_was(tmp_path: Path):
    folder, place = Folder(str(tmp_path)), tmp_path / "a"
    place.write_text("1")
    os.utime(place, ns=(10**9, 10**9))
    folder.told("a")
    assert not folder.has_changed("a")
    os.link(place, tmp_path / "b")
    folder.put("a", b"2", (10**9, 0o600, 0))
    assert (place.read_text(), (tmp_path / "b").read_text(), folder.has_changed("a")) == ("2", "2", False)


def test_a_folder_has_the_time_of_its_half(tmp_path: Path):
    Folder(str(tmp_path)).put("d", None, ABOUT)
    assert (tmp_path / "d").stat().st_mtime > 10**9


def test_what_was_passed_the_program_changes_though_the_script_has_meanwhile(halves: Halves):
    (halves.test / "a").write_text("1")
    halves.ask("a")
    (halves.test / "a").write_text("22")
    (halves.test / "d").mkdir()
    halves.passed.note(["d"])
    halves.passed.take(["a", b"333", ABOUT, "d/x", b"1", ABOUT])
    assert content(halves.test) == {"a": "333", "d": None, "d/x": "1"}
    (halves.test / "e").mkdir()
    halves.passed.hear(message(b"e"))
    halves.passed.note(["e"])
    halves.passed.take(["e/x", b"1", ABOUT])
    assert content(halves.test / "e") == {"x": "1"}


def test_paths_that_the_candidate_says_are_plain():
    paths = ["a", "a/b", "/".join("d" * 65), "/".join("d" * 66), "a\0", "a/\0/b", "../a", "a/../b", "a//b", "", ".a", 5]
    assert [folders.is_path(path) for path in paths] == [True, True, True] + [False] * 9


def test_a_long_file_crosses_whole(halves: Halves):
    (halves.test / "a").write_bytes(b"x" * (3 << 20))
    halves.ask("a")
    assert (halves.program / "a").stat().st_size == 3 << 20


def message(text: bytes) -> bytes:
    return b"l" + b"s" + len(text).to_bytes(4, "little") + text


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


def test_the_working_folder_of_the_program_is_the_script_s(halves: Halves, monkeypatch: pytest.MonkeyPatch):
    for name in ("d", "golden"):
        (halves.test / name).mkdir()
    (halves.test / "link").symlink_to("d")
    halves.passed.note(["d"])
    halves.passed.given()

    def entered(name: str) -> str:
        halves.passed.take([*["new", None, ABOUT] * (name == "new"), "", name, ABOUT])
        return os.path.relpath(os.getcwd(), halves.test)

    assert [entered(name) for name in ("d", "new", "")] == ["d", "new", "."]
    assert halves.passed.given() == [], "to enter is not to pass"
    halves.passed.hear(message(b"golden"))
    halves.passed.note(["golden"])
    for name in ("golden", "link", "none", "..", "d/..", "/", "d/none", "new/../golden"):
        assert entered(name) == "."
    monkeypatch.setattr(os, "chdir", os.unlink)  # as where a folder lets nobody in
    assert entered("d") == "."


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


def test_a_working_folder_is_told_once(halves: Halves, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(halves.program)
    made = ProgramFiles(str(halves.program))
    assert made.made(None) == []
    (halves.program / "d").mkdir()
    (halves.program / "d").chmod(0o750)
    monkeypatch.chdir(halves.program / "d")
    assert made.made(None) == ["d", None, (0, 0o750, 0), "", "d", NOTHING_ABOUT]
    assert made.made(None) == []
    monkeypatch.chdir("/")
    assert made.made(None) == [], "it is none of the program's"
    made.have(None, "")
    assert (os.getcwd(), made.made(None)) == (str(halves.program), [])
    made.have(None, "none")
    assert (os.getcwd(), made.made(None)) == (str(halves.program), [])
    monkeypatch.chdir("d")
    assert made.made(None) == ["", "d", NOTHING_ABOUT]


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_permissions_of_files_are_the_same_in_both_halves(halves: Halves):
    (halves.test / "a").write_text("1")
    (halves.test / "a").chmod(0o640)
    halves.ask("a", run=lambda: halves.do(("b", "1")))
    assert mode_of(halves.program / "a") == 0o640
    for mode in (0o755, 0o444):
        for name in ("a", "b"):
            (halves.program / name).chmod(mode)
        halves.ask()
        assert [mode_of(halves.test / name) for name in ("a", "b")] == [mode, mode]
    assert halves.made.made(None) == []
    (halves.test / "a").chmod(0o600)
    halves.ask("a")
    assert mode_of(halves.program / "a") == 0o600


def test_permissions_of_folders_are_the_same_in_both_halves(halves: Halves):
    (halves.test / "d").mkdir()
    (halves.test / "d" / "a").write_text("1")
    (halves.test / "d").chmod(0o711)
    halves.ask("d", run=lambda: halves.do(("d/e", None), ("n", None)))
    assert mode_of(halves.program / "d") == 0o711
    for mode in (0o755, 0o500):
        for name in ("d", "d/e", "n"):
            (halves.program / name).chmod(mode)
        halves.ask()
        assert [mode_of(halves.test / name) for name in ("d", "d/e", "n")] == [mode] * 3
    assert halves.made.made(None) == []
    (halves.test / "d").chmod(0o700)
    halves.ask("d", run=lambda: halves.do(("d/b", "2")))
    assert mode_of(halves.program / "d") == 0o700
    assert (halves.test / "d" / "b").read_text() == "2"


def test_what_is_put_into_a_folder_is_there_before_that_is_closed(halves: Halves):
    (halves.test / "d" / "e").mkdir(parents=True)
    (halves.test / "d" / "e" / "a").write_text("1")
    for name in ("d/e", "d"):
        (halves.test / name).chmod(0o500)
    halves.ask("d")
    assert content(halves.program) == {"d": None, "d/e": None, "d/e/a": "1"}
    assert [mode_of(halves.program / name) for name in ("d", "d/e")] == [0o500, 0o500]


def test_no_folder_with_what_the_program_does_not_have_is_closed_to_the_script(halves: Halves):
    (halves.test / "d" / "e").mkdir(parents=True)
    (halves.test / "d" / "in").write_text("1")
    (halves.test / "d" / "e" / "expected").write_text("2")
    halves.ask("d/in", run=lambda: (halves.program / "d").chmod(0o055))
    assert mode_of(halves.test / "d") == 0o755
    halves.passed.take(["d/e", None, (0, 0, 0)])
    assert mode_of(halves.test / "d" / "e") == 0o755, "it was not passed"
    halves.ask("d", run=lambda: (halves.program / "d").chmod(0o500))
    assert mode_of(halves.test / "d") == 0o500


@pytest.mark.parametrize("call", ["lstat", "scandir"])
def test_what_is_in_a_folder_that_may_not_be_looked_into_is_not_gone(
    halves: Halves, monkeypatch: pytest.MonkeyPatch, call: str
):
    (halves.test / "d").mkdir()
    (halves.test / "d" / "a").write_text("1")
    halves.ask("d")
    function = getattr(os, call)

    def refuse(path: Any) -> Any:
        if str(path).endswith("/d/a" if call == "lstat" else "/d"):
            raise PermissionError
        return function(path)

    monkeypatch.setattr(os, call, refuse)
    assert halves.made.made(None) == []


def test_no_folder_is_permitted_below_a_link_or_is_a_file(tmp_path: Path):
    (tmp_path / "outside" / "e").mkdir(parents=True, mode=0o755)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "in" / "a").write_text("1")
    (tmp_path / "in" / "a").chmod(0o600)
    for path in ("link", "link/e", "a", "none"):
        Folder(str(tmp_path / "in")).permit(path, 0)
    assert [mode_of(tmp_path / each) for each in ("outside", "outside/e", "in/a")] == [0o755, 0o755, 0o600]


def test_a_file_that_nobody_may_write_to_is_another_when_it_is_made_anew(halves: Halves):
    (halves.test / "a").write_text("1")
    (halves.test / "a").chmod(0o400)
    os.link(halves.test / "a", halves.test / "kept")

    def run() -> None:
        halves.do(("a", False), ("a", "22"))

    halves.ask("a", run=run)
    assert [(halves.test / name).read_text() for name in ("a", "kept")] == ["22", "1"]


def test_no_file_runs_as_whose_it_is(halves: Halves):
    halves.passed.take(["a", b"7", (0, 0o7755, 0)])
    assert mode_of(halves.test / "a") == 0o755


def test_what_is_told_is_not_told_again(halves: Halves):
    (halves.test / "a").write_text("1")
    halves.passed.note(["a"])
    assert len(halves.passed.given()) == 4
    assert halves.passed.given() == []
    halves.do(("b", "1"))
    assert len(halves.made.made(None)) == 3
    assert halves.made.made(None) == []


def test_what_is_no_content_is_not_taken(halves: Halves):
    (halves.test / "a").write_text("1")
    halves.ask("a")
    halves.passed.take(["a", [], ABOUT])
    assert content(halves.test) == {"a": "1"}


def test_another_working_folder_is_told_without_any_file(halves: Halves, monkeypatch: pytest.MonkeyPatch):
    (halves.test / "d").mkdir()
    halves.ask("d")
    monkeypatch.chdir(halves.test / "d")
    assert halves.passed.given() == ["d"]


def test_the_program_tells_no_more_than_may_cross(halves: Halves, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "_MOST_BYTES", 10)
    halves.ask(run=lambda: halves.do(("a", "1" * 6), ("b", "1" * 11), ("c", "1" * 6), ("d", "1" * 4)))
    assert set(content(halves.test)) == {"a", "d"}


def test_only_who_compares_files_has_their_contents_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = filecmp._sig  # type: ignore[attr-defined]
    monkeypatch.setattr(filecmp, "_sig", before)
    PassedFiles({"open"}, place=str(tmp_path))
    assert filecmp._sig is before  # type: ignore[attr-defined]
    PassedFiles({"filecmp"}, place=str(tmp_path))
    assert filecmp._sig(os.stat(tmp_path)) != filecmp._sig(os.stat(tmp_path))  # type: ignore[attr-defined]


def test_a_file_is_the_program_s_as_long_as_it_is_what_the_program_made(halves: Halves):
    halves.ask(run=lambda: halves.do(("a", "one")))
    assert halves.passed.is_made_there("a")
    assert halves.passed.is_made_there(halves.path("a"))
    (halves.test / "a").write_text("more")
    assert not halves.passed.is_made_there("a")
    assert not halves.passed.is_made_there("b")


def test_another_file_of_the_time_that_the_program_says_is_the_script_s(halves: Halves):
    def make() -> None:
        halves.do(("a", "one"))
        os.utime(halves.program / "a", ns=(0, 0))

    halves.ask(run=make)
    assert halves.passed.is_made_there("a")
    (halves.test / "a").write_text("two")
    os.utime(halves.test / "a", ns=(0, 0))
    assert not halves.passed.is_made_there("a")


def test_what_cannot_be_put_is_still_the_script_s(halves: Halves, monkeypatch: pytest.MonkeyPatch):
    (halves.test / "a").write_text("mine")
    halves.ask("a")
    halves.ask("a", run=lambda: halves.do(("a", "first")))
    assert halves.passed.is_made_there("a")

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Folder, "_put", refuse)
    halves.ask("a", run=lambda: halves.do(("a", "other")))
    assert (halves.test / "a").read_text() == "first"
    assert not halves.passed.is_made_there("a")
