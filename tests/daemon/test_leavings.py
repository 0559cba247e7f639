"""A daemon leaves nothing behind: no descriptor of a zygote that does not start, no process, no folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from cruxboxd.settings.config import Config
from cruxboxd.zygotes import scratch
from cruxboxd.zygotes.commands import Commands
from cruxboxd.zygotes.launch import StartError
from cruxboxd.zygotes.runtimes import ZygoteSetups, find_runtimes
from cruxboxd.zygotes.setup import ZygoteKey
from cruxboxd.zygotes.template import Template
from cruxboxd.zygotes.zygote_process import ZygoteProcess
from support.daemons import Served
from support.tasks import sums
from support.waiting import still_there, until

pytestmark = pytest.mark.kernel

KEY = ZygoteKey("default", False, "0")
SETUPS = ZygoteSetups(Config(), find_runtimes(Config(), Commands()))
CALLS = {
    "socketpair": (socket, "socketpair"),
    "pipe": (os, "pipe2"),
    "non-blocking": (os, "set_blocking"),
    "exec": (subprocess, "Popen"),
    "folder": (scratch, "empty_folder"),
}


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("name", CALLS)
async def test_whichever_call_fails_no_descriptor_is_left(monkeypatch, name):
    scratch.empty_folder()
    module, attribute = CALLS[name]
    real = getattr(module, attribute)
    setup = SETUPS(KEY)
    for place in range(4):
        made, template = ZygoteProcess(KEY, lambda zygote: None, lambda job: None), Template(setup)
        count = [0]

        def fails(*arguments, place=place, count=count, **options):
            count[0] += 1
            if count[0] == place + 1:
                raise OSError(24, "Too many open files")
            return real(*arguments, **options)

        before = descriptors()
        with monkeypatch.context() as patch:
            patch.setattr(module, attribute, fails)
            with contextlib.suppress(StartError, OSError):
                await made.start(template)
            made.kill("")
            template.close()
        assert descriptors() <= before, (name, place)  # what other tests had open may be closed meanwhile
        assert place or count == [1], "a start makes this call, and ends there"


def test_folders_of_dead_daemons_are_swept_and_others_are_not(tmp_path):
    dead, alive, strange = (tmp_path / f"cruxboxd-{name}" for name in ("dead", "alive", "strange"))
    for folder in (dead, alive, strange):
        folder.mkdir()
    (dead / "lock").touch()
    (tmp_path / "cruxboxd-link").symlink_to(tmp_path)
    with (alive / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        scratch.sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cruxboxd-alive", "cruxboxd-link", "cruxboxd-strange"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_no_signal_leaves_anything(tmp_path, monkeypatch, number):
    scratch_root = tmp_path / "temporary files, of all kinds"
    scratch_root.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch_root))
    monkeypatch.setattr(tempfile, "tempdir", None)
    daemon = Served(tmp_path / "one")
    with daemon.client() as client:
        assert client.check(sums(1))[0].outcome.name == "PASSED"
    below = daemon.children()
    assert len(list(scratch_root.glob("cruxboxd-*"))) == 1
    daemon.process.send_signal(number)
    assert daemon.process.wait(60) == (-9 if number == signal.SIGKILL else 0)
    assert still_there(below, 20) == []
    if number == signal.SIGKILL:
        with Served(tmp_path / "two"):
            assert len(list(scratch_root.glob("cruxboxd-*"))) == 1
        return
    assert list(scratch_root.iterdir()) == []


def test_it_ends_at_once_when_told_so_before_it_serves(tmp_path):
    command = [sys.executable, "-m", "cruxboxd", "serve", "--exit-with-parent", "--listen", f"unix:{tmp_path}/s"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        time.sleep(0.8)
        process.terminate()
        assert process.wait(30) in (0, -signal.SIGTERM)
        assert b"Traceback" not in process.stderr.read()


def test_signals_as_the_parent_left_them_do_no_harm(tmp_path):
    """SIGCHLD ignored and SIGTERM blocked, both inherited."""
    code = "import os, signal, sys\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    code += "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\nos.execv(sys.argv[1], sys.argv[1:])"
    with Served(tmp_path, prefix=(sys.executable, "-c", code)) as daemon, daemon.client() as client:
        assert {verdict.outcome.name for verdict in client.check(sums(8))} == {"PASSED"}
        assert daemon.stop() == 0


def test_as_process_one_it_leaves_no_zombie(tmp_path):
    prefix = ("unshare", "--fork", "--pid", "--mount-proc", "--kill-child")
    if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], check=False).returncode:
        pytest.skip("process numbers of its own cannot be had here")
    with Served(Path(tmp_path), prefix=prefix) as daemon, daemon.client() as client:
        for turn in range(4):
            assert client.check(sums(1, salt=turn))[0].outcome.name == "PASSED"
            for zygote in daemon.zygotes():
                for one in zygote.children():
                    with contextlib.suppress(psutil.NoSuchProcess):
                        one.kill()
        until(lambda: not any(map(is_zombie, daemon.children())))
        assert client.check(sums(1, salt=99))[0].outcome.name == "PASSED"


def is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
