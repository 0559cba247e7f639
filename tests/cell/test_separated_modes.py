"""Permissions of files and folders are the same in both halves of a separated script."""

from __future__ import annotations

import os
from typing import Any

import pytest
from halves_by_hand import Halves, content, mode_of


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
