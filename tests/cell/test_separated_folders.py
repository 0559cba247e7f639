"""A folder of one half of a separated script: what is in it, what has changed, and where nothing is put."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from cruxcell.jobs.separated.state import folders
from cruxcell.jobs.separated.state.folders import Folder
from halves_by_hand import ABOUT, Halves, content, mode_of


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


def test_paths_that_the_candidate_says_are_plain():
    paths = ["a", "a/b", "/".join("d" * 65), "/".join("d" * 66), "a\0", "a/\0/b", "../a", "a/../b", "a//b", "", ".a", 5]
    assert [folders.is_path(path) for path in paths] == [True, True, True] + [False] * 9


def test_no_folder_is_permitted_below_a_link_or_is_a_file(tmp_path: Path):
    (tmp_path / "outside" / "e").mkdir(parents=True, mode=0o755)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "in" / "a").write_text("1")
    (tmp_path / "in" / "a").chmod(0o600)
    for path in ("link", "link/e", "a", "none"):
        Folder(str(tmp_path / "in")).permit(path, 0)
    assert [mode_of(tmp_path / each) for each in ("outside", "outside/e", "in/a")] == [0o755, 0o755, 0o600]
