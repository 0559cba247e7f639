"""The embedded daemon: lazily started, restarted once, stopped, and never left behind."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path

import pytest
from cruxbox import CallCheck, Client, EmbeddedServerError, Outcome, Task
from cruxbox.files import write_text
from support.waiting import is_alive, until


def folder_of(client: Client) -> Path:
    return client._endpoint.embedded._folder  # type: ignore[return-value]


def pid_of(client: Client) -> int:
    return client._endpoint.embedded.pid  # type: ignore[return-value]


def sums(count: int) -> list[Task]:
    return [
        Task(f"def f(x):\n    return x + {number}", [CallCheck("f(1)", str(number + 1))]) for number in range(count)
    ]


def test_it_starts_when_needed_and_leaves_nothing():
    client = Client(workers=1)
    assert pid_of(client) is None
    assert client.check(sums(1))[0].passed
    pid, folder = pid_of(client), folder_of(client)
    assert is_alive(pid)
    assert folder.stat().st_mode & 0o077 == 0
    client.close()
    assert not is_alive(pid)
    assert not folder.exists()
    assert client.check(sums(1))[0].passed, "it may be used again"
    client.close()


def test_a_client_that_is_forgotten_stops_its_daemon():
    client = Client(workers=1)
    client.info()
    pid, folder = pid_of(client), folder_of(client)
    gone = weakref.ref(client)
    del client
    gc.collect()
    assert gone() is None
    assert not is_alive(pid)
    assert not folder.exists()


def test_killed_in_the_middle_it_is_started_again_and_no_verdict_changes():
    events = []
    with Client(workers=1, window=64, on_event=events.append) as client:
        outcomes = []
        for number, verdict in enumerate(client.stream(sums(400))):
            outcomes.append(verdict.outcome)
            if number == 20:
                os.kill(pid_of(client), signal.SIGKILL)
    assert outcomes == [Outcome.PASSED] * 400
    assert [event.kind for event in events].count("restarted") == 1


def test_killed_again_it_is_an_error_and_never_a_false():
    with Client(workers=1, retries=2, window=64) as client:
        outcomes = []

        def kill_often():
            for number, verdict in enumerate(client.stream(sums(3000))):
                outcomes.append(verdict.outcome)
                if number in (20, 300):
                    os.kill(pid_of(client), signal.SIGKILL)

        with pytest.raises(EmbeddedServerError, match="died again: it was ended by signal 9"):
            kill_often()
        assert set(outcomes) == {Outcome.PASSED}


def test_calls_leave_nothing_in_its_folder():
    with Client(workers=1) as client:
        client.check(sums(1))
        folder = client._endpoint.embedded._folder
        before = {path.name: path.stat().st_size for path in folder.iterdir()}
        for task in sums(5):
            client.check([task])
        assert {path.name: path.stat().st_size for path in folder.iterdir()} == before


def test_a_refusal_to_start_is_told_in_the_daemons_words():
    with Client(server_args=["--nonsense"]) as client, pytest.raises(EmbeddedServerError, match="--nonsense"):
        client.info()
    with Client(workers=100_000) as client, pytest.raises(EmbeddedServerError, match="do not fit"):
        client.info()


def embedded_folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("cruxbox-embedded-*"))


def descendants(pid: int) -> set[int]:
    with contextlib.suppress(FileNotFoundError):
        below = {child for task in Path(f"/proc/{pid}/task").iterdir() for child in children_of(task)}
        return below | {each for child in below for each in descendants(child)}
    return set()


def children_of(task: Path) -> list[int]:
    try:
        return [int(child) for child in (task / "children").read_text().split()]
    except FileNotFoundError:
        return []


def own_folders(before: set[Path]) -> set[Path]:
    return embedded_folders() - before


# A run of the tests in the background, or by nohup, leaves these signals ignored.
_AS_FROM_A_TERMINAL = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
from cruxbox.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_a_command_that_is_ended_leaves_nothing(tmp_path, sign):
    """No process, socket, folder or part of a file; after SIGKILL the next start sweeps what no process could."""
    (tmp_path / "data.jsonl").write_text(
        json.dumps({"code": "def f(x):\n    while x: pass", "input": "1", "output": "1", "id": "a"}) + "\n"
    )
    (tmp_path / "g.json").write_text(json.dumps({"a": [f"f({number})" for number in range(1, 400)]}))
    before = embedded_folders()
    command = [
        "score",
        "g.json",
        "--dataset",
        "data.jsonl",
        "--mode",
        "input",
        "--out",
        "o.json",
        "--max-steps",
        "10" * 6,
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    run = subprocess.Popen(
        [sys.executable, "-c", _AS_FROM_A_TERMINAL, *command],
        cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    until(lambda: len(descendants(run.pid)) > 2 and own_folders(before), 60)
    family, folders = descendants(run.pid), own_folders(before)
    run.send_signal(sign)
    _, err = run.communicate(timeout=60)
    assert b"Traceback" not in err
    assert run.returncode == (-9 if sign is signal.SIGKILL else 128 + sign)
    until(lambda: not any(map(is_alive, family)))
    if sign is signal.SIGKILL:
        assert all(folder.exists() for folder in folders)
        with Client(workers=1) as client:
            client.info()
            (tmp_path / "o.json").unlink(missing_ok=True)
        write_text(tmp_path / "o.json", "")
    assert not any(folder.exists() for folder in folders)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


_LOSING = """
import os, sys, weakref
from cruxbox.cli.ending import Ended, told_by_signals

class Dropped: pass

with told_by_signals():
    try:
        dropped = Dropped()
        noted = weakref.ref(dropped, lambda _: os.kill(os.getpid(), int(sys.argv[1])))
        del dropped
        print("lost", flush=True)
        import time
        time.sleep(60)
    except (Ended, KeyboardInterrupt) as error:
        print(type(error).__name__)
"""


@pytest.mark.parametrize(
    ("sign", "name"),
    [(signal.SIGTERM, "Ended"), (signal.SIGHUP, "Ended"), (signal.SIGINT, "KeyboardInterrupt")],
)
def test_a_signal_that_meets_a_callback_comes_again(sign, name):
    code = _AS_FROM_A_TERMINAL.partition("from")[0] + _LOSING
    done = subprocess.run([sys.executable, "-c", code, str(int(sign))], capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == (f"lost\n{name}\n", "")


def test_a_folder_in_use_is_not_swept():
    with Client(workers=1) as first:
        first.info()
        with Client(workers=1) as second:
            second.info()
            assert folder_of(first).exists()
            assert first.check(sums(1))[0].passed


@pytest.mark.parametrize("name", ["x" * 90, "with space", "per%cent", "q'uote", "é"])
def test_odd_names_of_the_temporary_folder(tmp_path, monkeypatch, name):
    (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    with Client(workers=1) as client:
        assert client.check(sums(1))[0].passed


def test_no_temporary_folder_is_one_sentence(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with Client(workers=1) as client, pytest.raises(EmbeddedServerError, match="no place for the embedded server"):
        client.info()


@pytest.mark.parametrize("missing", ["cruxboxd", "psutil", "grpc_health"])
def test_without_the_server_extra_the_sentence_names_it(missing, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == missing else find(name, *more))
    with Client() as client, pytest.raises(EmbeddedServerError, match=r"cruxbox\[server\]"):
        client.info()


SCRIPT = """
import os, sys
from cruxbox import Client
client = Client(workers=1)
client.info()
print(client._endpoint.embedded.pid, client._endpoint.embedded._folder, flush=True)
{end}
"""


@pytest.mark.parametrize("end", ["sys.exit()", "raise KeyboardInterrupt", "os.kill(os.getpid(), 9)", "os._exit(0)"])
def test_it_dies_with_its_process(end):
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(end=end)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    pid, folder = ran.stdout.decode().split()
    until(lambda: not is_alive(int(pid)))
    if end in ("sys.exit()", "raise KeyboardInterrupt"):
        assert not Path(folder).exists()
    shutil.rmtree(folder, ignore_errors=True)


# An interpreter that begins only when the process that started it is gone.
_LATE = """#!/bin/sh
echo $$ > "$0.pid"
while kill -0 $PPID 2> /dev/null; do sleep 0.01; done
exec {python} "$@" 2> "$0.log"
"""


def test_it_ends_if_its_process_died_before_it_could_look(tmp_path):
    late = tmp_path / "late"
    late.write_text(_LATE.format(python=sys.executable))
    late.chmod(0o755)
    script = f"import sys; sys.executable = {str(late)!r}\nfrom cruxbox import Client; Client(workers=1).info()"
    noted = tmp_path / "late.pid"
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        until(lambda: noted.exists() and noted.read_text().endswith("\n"))
        process.kill()
    until(lambda: not is_alive(int(noted.read_text())))
    assert "the process that started this one is gone" in (tmp_path / "late.log").read_text()


def test_it_outlives_the_thread_that_first_used_it():
    """The kernel ties a child to the thread that started it; a pool's threads come and go."""
    script = """
import threading, time, os
from cruxbox import Client, Task, CallCheck
client = Client(workers=1)
thread = threading.Thread(target=client.info)
thread.start(); thread.join()
pid = client._endpoint.embedded.pid
for _ in range(20):
    assert client.check([Task("", [CallCheck("1", "1")])])[0].passed
assert client._endpoint.embedded.pid == pid
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_fork_uses_the_daemon_of_its_parent_and_does_not_stop_it():
    """In a process that does nothing else: threads of other tests' libraries do not survive a fork."""
    script = """
import os
from cruxbox import Client, Task, CallCheck
task = Task("", [CallCheck("1", "1")])
with Client(workers=1) as client:
    client.info()
    pid = client._endpoint.embedded.pid
    child = os.fork()
    if child == 0:
        passed = client.check([task])[0].passed
        client.close()
        os._exit(0 if passed else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.kill(pid, 0)
    assert client.check([task])[0].passed
"""
    subprocess.run([sys.executable, "-c", script], check=True)
