"""The interpreters on this host that cruxcell supports, and both twins of the kernel on each of them."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cruxboxd.zygotes import native_build
from cruxcell.analysis.hermetic import NEWEST_TRIED

SANDBOX = Path(__file__).resolve().parents[2] / "sandbox"
MINORS = range(8, 15)


@dataclass(frozen=True)
class Twin:
    """One of the two implementations on one interpreter."""

    name: str  # "native" or "pure"
    python: Path
    version: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.name}-{self.version[0]}.{self.version[1]}"

    def start(self, program: str, *args: str) -> subprocess.CompletedProcess[bytes]:
        """Run `program` under this interpreter; it finds the twin in `k`, as a zygote would load it."""
        folder = str(helper(self.python).parent) if self.name == "native" else ""
        prelude = (
            f"import sys; sys.path.insert(0, {str(SANDBOX)!r})\n"
            "from cruxcell import native\n"
            f"k = native.load({self.name == 'pure'}, {folder!r})\n"
            f"assert k.NAME == {self.name!r}, k.NAME\n"
        )
        return subprocess.run(
            [str(self.python), "-I", "-S", "-c", prelude + program, *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=100,
            check=False,
        )

    def ask(self, program: str, *args: str) -> Any:
        """Run `program`, which prints one JSON value, and give that value."""
        done = self.start(program, *args)
        assert done.returncode == 0, f"{self}: exit {done.returncode}\n{done.stderr.decode()}"
        return json.loads(done.stdout)


@functools.cache
def helper(python: Path) -> Path:
    """The native helper of this interpreter, compiled from the sources as they are; skips where that cannot be."""
    # Of the whole run, and nobody's home: cells of other users load from it.
    folder = Path(os.environ["CRUXBOX_TEST_RUN"], "native", str(python).replace("/", "-"))
    for built in folder.glob("_native*"):
        if native_build.is_current(built):
            return built
    try:
        return native_build.build(python, folder)
    except native_build.BuildError as error:
        pytest.skip(f"no native helper for {python}: {error}")


@functools.cache
def twins() -> list[Twin]:
    """Both twins of each supported interpreter on PATH or under pyenv; one interpreter for a version."""
    return [Twin(name, python, version) for version, python in found_interpreters() for name in ("native", "pure")]


def pairs() -> list[tuple[Twin, Twin]]:
    """(native, pure) for each interpreter."""
    everyone = twins()
    return list(zip(everyone[::2], everyone[1::2]))


def programs(file_name: str) -> dict[str, str]:
    """The programs of a text file beside this one, by the names that stand over them."""
    text = (Path(__file__).parent / file_name).read_text()
    sections = [section.split("\n", 1) for section in text.split("#### ")[1:]]
    return dict(sections)


@functools.cache
def found_interpreters() -> list[tuple[tuple[int, int], Path]]:
    """(version, interpreter) of each that is supported, under pyenv or on PATH."""
    found: dict[tuple[int, int], Path] = {}
    for python in [Path(sys.executable), *_under_pyenv()]:
        _learn(found, python)
    for minor in MINORS:
        on_path = shutil.which(f"python3.{minor}")
        if on_path and (3, minor) not in found:  # pyenv's shims take a fifth of a second each to say that they are none
            _learn(found, Path(on_path))
    return sorted(found.items())


def sharing_interpreters() -> list[tuple[tuple[int, int], Path]]:
    """Those of them on which checks may share a worker."""
    return [(version, python) for version, python in found_interpreters() if version <= NEWEST_TRIED]


def _under_pyenv() -> list[Path]:
    return sorted(Path(os.path.expanduser("~/.pyenv/versions")).glob("3.*/bin/python"))


def _learn(found: dict[tuple[int, int], Path], python: Path) -> None:
    version = _version(python)
    if version is not None:
        found.setdefault(version, python)


def _version(python: Path) -> tuple[int, int] | None:
    question = "import sys; print(sys.implementation.name, *sys.version_info[:2])"
    try:
        done = subprocess.run([str(python), "-I", "-S", "-c", question], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    words = done.stdout.split()
    if done.returncode != 0 or len(words) != 3 or words[0] != "cpython":
        return None  # a pyenv shim without a version behind it, for one
    version = int(words[1]), int(words[2])
    return version if version[0] == 3 and version[1] in MINORS else None
