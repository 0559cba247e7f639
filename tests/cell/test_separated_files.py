"""Files of a separated script: what each half tells the other, and what the script does not take."""

from __future__ import annotations

import filecmp
import os
import shutil
from pathlib import Path

import pytest
from cruxcell.jobs.separated.state import files
from cruxcell.jobs.separated.state.files import PassedFiles, ProgramFiles
from cruxcell.jobs.separated.state.folders import NOTHING_ABOUT, Folder
from halves_by_hand import ABOUT, Halves, content, message, mode_of


def test_only_a_script_that_names_files_and_has_a_folder_has_any(tmp_path: Path):
    place = str(tmp_path)
    assert PassedFiles({"open"}, place=place).are_needed
    assert not PassedFiles({"close"}, place=place).are_needed
    assert not PassedFiles({"open"}, place=str(tmp_path / "none")).are_needed
    assert PassedFiles({"close"}, ["math", "xml.dom"], place).are_needed
    assert not PassedFiles({"close"}, ["math", "collections.abc", "numpy.linalg"], place).are_needed


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


def test_a_name_that_no_file_can_have_is_left_out(halves: Halves):
    halves.passed.note([str(halves.test)])
    halves.passed.take(["a\ud800", b"1", ABOUT, "a\ud800/b", b"1", ABOUT, "c", b"2", ABOUT])
    assert content(halves.test) == {"c": "2"}


def test_what_becomes_a_link_is_gone_for_the_program(halves: Halves):
    (halves.test / "a").write_text("1")
    halves.ask("a")
    (halves.test / "a").unlink()
    (halves.test / "a").symlink_to("b")
    halves.ask("a")
    assert content(halves.program) == {}


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


def test_a_long_file_crosses_whole(halves: Halves):
    (halves.test / "a").write_bytes(b"x" * (3 << 20))
    halves.ask("a")
    assert (halves.program / "a").stat().st_size == 3 << 20


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


def test_what_is_new_is_told_to_who_asks_for_it(halves: Halves):
    made, file = halves.made, halves.program / "new"
    file.write_text("a")
    assert not made.has_news()  # nobody has asked
    assert made.made(None)[0] == "new"
    assert not made.has_news()
    file.write_text("other")
    assert [made.has_news(), made.has_news(), made.made(None)[1]] == [True, True, b"other"]
    assert (made.has_news(), made.made(None)) == (False, [])


def test_nobody_waits_for_who_looks_for_what_is_new(halves: Halves):
    made = halves.made
    assert (made.made(None), made.has_news()) == ([], False)
    (halves.program / "new").write_text("a")
    with made._lock:
        assert (made.has_news(), made.made(None)) == (True, [])
    assert made.made(None)[0] == "new"
