"""What is asked of interpreters before the daemon serves: nobody waits for more than the answer."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from cruxboxd.settings.config import Config, ConfigError, PreloadSpec, RuntimeSpec
from cruxboxd.zygotes import native_build, runtimes
from cruxboxd.zygotes.commands import Commands, Over, TooSlow
from support.daemons import serve
from support.environments import environment
from support.waiting import until

HANGS = "import time\ntime.sleep(50)"
LEAVES_A_CHILD = "import os, time\nif os.fork() == 0: time.sleep(60)\nprint(os.getpgrp())"


def test_what_it_has_started_is_not_waited_for():
    began = time.monotonic()
    group = int(Commands().run([sys.executable, "-c", LEAVES_A_CHILD], 30, {}))
    assert time.monotonic() - began < 20
    until(lambda: not is_there(group))


def is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_one_that_does_not_end_is_ended():
    with pytest.raises(TooSlow):
        Commands().run([sys.executable, "-c", "import time; time.sleep(60)"], 0.2, {})


def test_all_end_together(tmp_path: Path):
    commands, ends = Commands(), []

    def run() -> None:
        try:
            commands.run(
                [sys.executable, "-c", f"open({str(tmp_path / 'begun')!r}, 'w'); import time; time.sleep(60)"], 60, {}
            )
        except Over:
            ends.append(time.monotonic())

    thread = threading.Thread(target=run)
    thread.start()
    until((tmp_path / "begun").exists)
    began = time.monotonic()
    commands.end()
    thread.join(30)
    assert ends[0] - began < 20
    with pytest.raises(Over):
        commands.run([sys.executable, "-c", ""], 60, {})


def test_a_signal_ends_a_daemon_at_once_that_asks(tmp_path: Path):
    begun = tmp_path / "begun"
    slow = environment(tmp_path / "slow", slow=f"open({str(begun)!r}, 'w')\nimport time\ntime.sleep(50)")
    daemon = serve(f"--listen=unix:{tmp_path}/s", f"--runtime=x={slow}", "--preload=x=slow", workers=1)
    try:
        until(begun.exists)
        began = time.monotonic()
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(40) == 0
        assert time.monotonic() - began < 20
    finally:
        daemon.kill()
        daemon.wait()


def test_an_interpreter_that_hangs_ends_with_a_daemon_that_is_killed(tmp_path: Path):
    begun = tmp_path / "begun"
    slow = environment(tmp_path / "slow", slow=f"import os\nopen({str(begun)!r}, 'w').write(str(os.getpid()))\n{HANGS}")
    daemon = serve(f"--listen=unix:{tmp_path}/s", f"--runtime=x={slow}", "--preload=x=slow", workers=1)
    try:
        until(lambda: begun.exists() and bool(begun.read_text()))
    finally:
        daemon.kill()
        daemon.wait()
    until(lambda: not is_there(int(begun.read_text())))


def test_why_one_cannot_be_run_is_said(tmp_path: Path):
    for content, mode, number in (("x", 0o600, errno.EACCES), ("x", 0o700, errno.ENOEXEC), (None, 0, errno.ENOENT)):
        path = tmp_path / f"python-{number}"
        if content is not None:
            path.write_text(content)
            path.chmod(mode)
        for run in (
            lambda path=path: Commands().run([str(path)], 30, {}),
            lambda path=path: Commands().complete([str(path)], 30),
        ):
            with pytest.raises(OSError) as caught:
                run()
            assert (caught.value.errno, caught.value.strerror) == (number, os.strerror(number))


def test_a_compiler_is_not_waited_for_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    begun, compiler = tmp_path / "begun", tmp_path / "cc"
    compiler.write_text(f"#!{sys.executable}\nopen({str(begun)!r}, 'w')\nimport time\ntime.sleep(50)\n")
    compiler.chmod(0o700)
    monkeypatch.setenv("CC", str(compiler))
    commands, ends = Commands(), []

    def build() -> None:
        try:
            native_build.build(Path(sys.executable), tmp_path / "cache", run=runtimes._running_by(commands))
        except Over:
            ends.append(time.monotonic())

    thread = threading.Thread(target=build)
    thread.start()
    until(begun.exists)
    began = time.monotonic()
    commands.end()
    thread.join(40)
    assert ends[0] - began < 20
    assert list((tmp_path / "cache").iterdir()) == []


def test_secrets_of_the_daemon_are_on_no_command_line(monkeypatch: pytest.MonkeyPatch):
    """Whoever is on the host can read those."""
    monkeypatch.setenv("CRUXBOX_TOKEN", "a secret")
    seen: list[str] = []
    popen = subprocess.Popen

    def watched(command: list[str], **more: Any) -> subprocess.Popen[bytes]:
        seen.extend(command)
        return popen(command, **more)

    monkeypatch.setattr(subprocess, "Popen", watched)
    done = Commands().complete([sys.executable, "-c", "import os; print(os.environ['CRUXBOX_TOKEN'])"], 30)
    assert (done.returncode, done.stdout) == (0, "a secret\n")
    assert sys.executable in seen
    assert not [each for each in seen if "a secret" in each]
    assert (
        Commands().run([sys.executable, "-c", "import os; print(os.environ.get('CRUXBOX_TOKEN'))"], 30, {}) == b"None\n"
    )


def test_one_that_is_completed_says_how_it_ended():
    done = Commands().complete([sys.executable, "-c", "import sys; print('a'); sys.exit('b')"], 30)
    assert (done.returncode, done.stdout, done.stderr) == (1, "a\n", "b\n")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("print('hello')\nimport json, sys\njson.dumps = sys.stdout = None", ""),
        ("import threading, time\nthreading.Timer(50, print).start()", "importing odd starts threads"),
        ("import os\nos._exit(0)", "is not a working Python, importing json, odd (--preload)"),
        ("raise ValueError('one\\n two')", "cannot import odd (ValueError: one two)"),
        ("import time\ntime.sleep(50)", "does not answer within 1 s, importing json, odd (--preload)"),
    ],
)
def test_a_module_that_is_preloaded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str):
    python = environment(tmp_path / "odd", odd=text)
    if "does not answer" in sentence:
        monkeypatch.setattr(runtimes, "_ASK_TIMEOUT_S", 1)
    config = Config(runtimes=(RuntimeSpec("x", str(python)),), preloads=(PreloadSpec("x", ("json", "odd")),))
    try:
        assert runtimes.find_runtimes(config, Commands())["x"].preload == ("json", "odd")
        said = ""
    except ConfigError as error:
        said = str(error)
    assert sentence in said if sentence else not said


@pytest.mark.parametrize(("version", "is_said"), [("3.14.9", False), ("3.99.0", True)])
def test_a_python_that_nobody_has_tried_is_warned_of(tmp_path: Path, caplog, version: str, is_said: bool):
    python = environment(tmp_path / "odd", odd=f"import sys\nsys.version = '{version} (main)'")
    config = Config(runtimes=(RuntimeSpec("x", str(python)),), preloads=(PreloadSpec("x", ("odd",)),))
    assert runtimes.find_runtimes(config, Commands())["x"].version == version
    assert ("not tried on a Python as new" in caplog.text) is is_said


def test_without_a_home_nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog):
    """As in a container whose user number has no name, and where HOME is not set."""
    monkeypatch.setattr(Path, "home", has_none)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(native_build, "NATIVE", tmp_path)
    assert runtimes._cache() is None
    assert native_build.ensure(Path(sys.executable), None) is None
    assert "there is no folder to keep it in; set HOME or XDG_CACHE_HOME" in caplog.text


def has_none() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_a_path_that_goes_up_behind_a_link_opens_no_other_folder(tmp_path: Path):
    for name in ("a/lib", "b/c", "b/lib"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "b" / "c")
    paths = {"a/link/../lib": ["b/lib"], "a/link": ["b/c", "a/link"], "b/c/../lib": ["b/lib"]}
    for path, readable in paths.items():
        assert runtimes._readable([f"{tmp_path}/{path}"]) == [f"{tmp_path}/{each}" for each in readable]
