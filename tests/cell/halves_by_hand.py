"""The files of both halves of a separated script, in two folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cruxcell.jobs.separated.state.files import PassedFiles, ProgramFiles

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


def content(folder: Path) -> dict[str, str | None]:
    found = sorted(folder.rglob("*"))
    return {str(each.relative_to(folder)): None if each.is_dir() else each.read_text() for each in found}


def message(text: bytes) -> bytes:
    return b"l" + b"s" + len(text).to_bytes(4, "little") + text


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o7777
