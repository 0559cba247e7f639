"""Building the native helper: once, again when its sources change, and why not."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from cruxboxd.zygotes import native_build
from interpreters import Twin, helper, twins


@pytest.mark.parametrize("twin", [twin for twin in twins() if twin.name == "native"][:1], ids=str)
def test_a_helper_is_built_once_and_again_when_its_sources_change(
    twin: Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper(twin.python)  # skips where nothing can be built
    cell = tmp_path / "cruxcell"
    cell.mkdir()
    for name in (*native_build.SOURCES, *native_build.HEADERS):
        (cell / name).write_bytes((native_build.SOURCE_FOLDER / name).read_bytes())
    monkeypatch.setattr(native_build, "NATIVE", cell)
    monkeypatch.setattr(native_build, "SOURCE_FOLDER", cell)
    cache = tmp_path / "cache"
    built = native_build.ensure(twin.python, cache)
    assert built is not None
    assert built.parent.parent == cache
    first = built.stat().st_ino
    assert native_build.ensure(twin.python, cache) == built
    assert built.stat().st_ino == first
    old = (cell / "module.c").read_text()
    (cell / "module.c").write_text(f"{old}/* newer */\n")
    newer = native_build.ensure(twin.python, cache)
    assert newer is not None
    assert newer.parent.parent == cache
    # A daemon of the other version may run, and load its own for the next zygote.
    (cell / "module.c").write_text(old)
    assert native_build.is_current(built)
    assert not native_build.is_current(newer)
    assert native_build.ensure(twin.python, cache) == built
    assert built.stat().st_ino == first
    assert [path.name for path in built.parent.iterdir()] == [built.name]


def test_helpers_that_nobody_uses_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With them what is left of a build that was killed. What a daemon has started with stays."""
    compiled = helper(Path(sys.executable))
    monkeypatch.setattr(native_build, "NATIVE", tmp_path / "nowhere")
    monkeypatch.setattr(native_build, "_compile", lambda _answers, target, _run: shutil.copy(compiled, target))
    cache = tmp_path / "cache"
    built = native_build.ensure(Path(sys.executable), cache)
    assert built is not None
    (cache / "tmpabc").mkdir()
    (cache / "_native.so").write_bytes(b"of a version that kept its file here")
    long_ago = time.time() - 100 * 86_400
    for each in cache.iterdir():
        os.utime(each, (long_ago, long_ago))
    assert native_build.ensure(Path(sys.executable), cache) == built  # which uses it
    built.unlink()
    os.utime(built.parent)
    assert native_build.ensure(Path(sys.executable), cache) == built
    assert list(cache.iterdir()) == [built.parent]


def _script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_no_helper_is_one_sentence_that_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An interpreter that is none; a compiler that fails; no compiler; sources that do not compile."""
    monkeypatch.setattr(native_build, "is_current", lambda built: False)
    python = Path(sys.executable)
    old = _script(
        tmp_path / "old", '#!/bin/sh\necho \'{"suffix": ".so", "include": [], "compiler": "", "version": [3, 7]}\'\n'
    )
    bare = _script(
        tmp_path / "bare",
        f'#!/bin/sh\necho \'{{"suffix": ".so", "include": ["{tmp_path}"], "compiler": "", "version": [3, 9]}}\'\n',
    )
    broken = _script(tmp_path / "broken", "#!/bin/sh\necho 'fatal error: no luck' >&2\nexit 1\n")
    cases = [
        (tmp_path / "missing", "", "does not answer questions about itself"),
        (old, "", "is not a CPython of 3.8 or later"),
        (bare, "", "its C headers are not installed"),
        (python, str(broken), "refuses it: fatal error: no luck"),
    ]
    for interpreter, compiler, reason in cases:
        monkeypatch.setenv("CC", compiler)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert native_build.ensure(interpreter, tmp_path / "cache") is None
        assert len(caplog.messages) == 1
        assert reason in caplog.messages[0]


def test_without_any_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(native_build.BuildError, match="no C compiler is installed"):
        native_build.build(Path(sys.executable), tmp_path / "cache")
