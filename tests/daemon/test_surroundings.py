"""What a daemon needs of its host: descriptors for all that zygotes may have open, whatever others hold."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from cruxbox import Limits, Outcome, ScriptCheck, StdioCheck, Task
from cruxboxd.server import process
from cruxboxd.server.process import RefusedToServe, descriptors_needed, fit_surroundings, most_connections
from cruxboxd.settings.config import Config
from support.daemons import Served

CONFIG = Config(workers=2, zygotes=8)


class Limit:
    """A limit on descriptors, or another one, in place of this process's; there are no others."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, which: int = resource.RLIMIT_NOFILE
    ) -> None:
        self.soft, self.hard, self._which = soft, hard, which
        monkeypatch.setattr(resource, "getrlimit", self.get)
        monkeypatch.setattr(resource, "setrlimit", self.set)
        monkeypatch.setattr(process, "_check_processes", lambda _zygotes: None)

    def get(self, which: int) -> tuple[int, int]:
        return (self.soft, self.hard) if which == self._which else (resource.RLIM_INFINITY,) * 2

    def set(self, which: int, limits: tuple[int, int]) -> None:
        assert which == self._which
        self.soft, self.hard = limits


def test_a_limit_that_is_too_low_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    needed = descriptors_needed(replace(CONFIG, zygotes=2))
    Limit(monkeypatch, 64, needed - 1)
    with pytest.raises(RefusedToServe, match=f"^{needed} descriptors cannot be open, as many as 8 zygotes need; raise"):
        fit_surroundings(CONFIG)


@pytest.mark.parametrize(("missing", "zygotes"), [(0, 8), (1, 7), (13, 7), (14, 6), (6 * 13, 2)])
def test_there_are_as_many_zygotes_as_have_descriptors(monkeypatch: pytest.MonkeyPatch, missing: int, zygotes: int):
    Limit(monkeypatch, 64, descriptors_needed(CONFIG) - missing)
    assert fit_surroundings(CONFIG) == replace(CONFIG, zygotes=zygotes)


def test_a_host_without_a_limit_has_enough(monkeypatch: pytest.MonkeyPatch):
    limit = Limit(monkeypatch, 1024, resource.RLIM_INFINITY)
    assert fit_surroundings(CONFIG) == CONFIG
    assert limit.soft == descriptors_needed(CONFIG) + 4_096
    limit.soft = resource.RLIM_INFINITY
    assert fit_surroundings(CONFIG) == CONFIG
    assert (limit.soft, most_connections(CONFIG)) == (resource.RLIM_INFINITY, 4_096)


def test_one_that_may_be_raised_is_raised(monkeypatch: pytest.MonkeyPatch):
    limit = Limit(monkeypatch, 64, 1 << 20)
    fit_surroundings(CONFIG)
    assert (limit.soft, limit.hard) == (descriptors_needed(CONFIG) + 4_096, 1 << 20)
    assert most_connections(CONFIG) == 4_096
    limit.soft = 1 << 19
    fit_surroundings(CONFIG)
    assert limit.soft == 1 << 19


@pytest.mark.parametrize(("left", "connections"), [(0, 16), (100, 100), (9_999, 4_096)])
def test_connections_have_what_zygotes_leave(monkeypatch: pytest.MonkeyPatch, left: int, connections: int):
    Limit(monkeypatch, descriptors_needed(CONFIG) + left, 1 << 20)
    assert most_connections(CONFIG) == connections


@pytest.mark.parametrize(("soft", "hard"), [(1, 61), (61, 61), (0, 1)])
def test_a_limit_on_cpu_time_that_a_check_may_need_is_one_sentence(monkeypatch: pytest.MonkeyPatch, soft, hard):
    """It would end a worker, and then the daemon, without a word."""
    Limit(monkeypatch, soft, hard, resource.RLIMIT_CPU)
    with pytest.raises(RefusedToServe, match=rf"^a process may use {hard} s of CPU time here, and a check needs 62; "):
        fit_surroundings(CONFIG)


def test_any_other_limit_on_cpu_time_is_raised_and_told(monkeypatch: pytest.MonkeyPatch, caplog):
    limit = Limit(monkeypatch, 1, resource.RLIM_INFINITY, resource.RLIMIT_CPU)
    fit_surroundings(CONFIG)
    assert (limit.soft, caplog.records) == (resource.RLIM_INFINITY, [])
    limit.soft, limit.hard = 1, 62
    fit_surroundings(CONFIG)
    assert limit.soft == 62
    assert [record.seconds for record in caplog.records] == [62]


def test_zygotes_of_all_kinds_have_enough(tmp_path: Path):
    """Under the least limit that a daemon serves with."""
    needed = descriptors_needed(replace(CONFIG, zygotes=2))
    program = "import {}\nprint(input())\ndef f(x):\n    return [x]"
    tasks = [
        Task(program.format(module) + f"# {number}", [check])
        for module in ("math", "asyncio", "os, tempfile", "asyncio, tempfile")
        for number in range(8)
        for check in (StdioCheck("3", "3"), ScriptCheck("a = f(1)\na.append(2)\nassert a == [1, 2]"))
    ]
    prefix = ("prlimit", f"--nofile={needed}:{needed}")
    with Served(tmp_path, prefix=prefix) as daemon, daemon.client(retries=0) as client:
        outcomes = [verdict.outcome for verdict in client.check(tasks, deadline=60)]
    assert Outcome.SANDBOX_ERROR not in outcomes
    assert outcomes.count(Outcome.PASSED) >= len(tasks) // 2


# What a program does that only a low limit of its surroundings could keep from it, and the limit.
NEEDS_A_STACK = """
import sys
sys.setrecursionlimit(10_000)
def deep(n):
    return sorted([n], key=lambda _: deep(n - 1) if n else 0)[0]
print(deep(600))
"""
NEEDS_A_FILE = "open('x', 'wb').write(bytes(8 << 20))\nprint(600)"
NEEDS_MEMORY = "x = bytearray(1 << 30)\nprint(600)"


@pytest.mark.parametrize(
    ("limit", "size", "program"),
    [
        ("stack", 256 << 10, NEEDS_A_STACK),
        ("fsize", 1 << 20, NEEDS_A_FILE),
        ("as", 1_500 << 20, NEEDS_MEMORY),
        ("data", 1_000 << 20, NEEDS_MEMORY),
    ],
)
def test_a_limit_that_the_daemon_was_started_under_is_no_fault_of_a_program(
    tmp_path: Path, limit: str, size: int, program: str
):
    """It does not serve, or the check is our failure; where the daemon may raise limits it passes."""
    daemon, said = None, f"the daemon was started under a lower RLIMIT_{limit.upper()}"
    with suppress(AssertionError):
        daemon = Served(tmp_path, prefix=("prlimit", f"--{limit}={size}:{size}"))
    if daemon is None:
        assert said in (tmp_path / "log").read_text()
        return
    task = Task(program, [StdioCheck("", "600")], limits=Limits(memory_bytes=2 << 30))
    with daemon, daemon.client(retries=0) as client:
        (verdict,) = client.check([task], deadline=60)
    if verdict.outcome is not Outcome.PASSED:
        assert verdict.outcome is Outcome.SANDBOX_ERROR
        assert said in verdict.detail


@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_low_limit_on_memory_is_not_said_to_be_one_on_processes(tmp_path, limit):
    """Where a thread finds no room for its stack the host says what it says where there are too many."""
    prefix = [sys.executable, "-c", _LITTLE_MEMORY, limit]
    command = [sys.executable, "-m", "cruxboxd", "serve", f"--listen=unix:{tmp_path}/s", "--workers=2"]
    ended = subprocess.run([*prefix, *command], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (1, 1), ended.stderr
    assert "raise the limit on memory (ulimit -v, ulimit -d), or lower --workers" in ended.stderr


@pytest.mark.parametrize("size", [45_000_000, 60_000_000])
def test_too_little_memory_to_import_its_modules_is_said_in_a_sentence(tmp_path, size):
    command = ["prlimit", f"--as={size}", sys.executable, "-m", "cruxboxd", "serve", f"--listen=unix:{tmp_path}/s"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (1, 1), ended.stderr
    assert "raise the limit on" in ended.stderr


_LITTLE_MEMORY = """
import os, resource, sys
resource.setrlimit(getattr(resource, sys.argv[1]), (200 << 20, 200 << 20))
os.execv(sys.argv[2], sys.argv[2:])
"""
