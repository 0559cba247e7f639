"""What a daemon needs of its host: descriptors for all that zygotes may have open, whatever others hold."""

from __future__ import annotations

import resource
from dataclasses import replace
from pathlib import Path

import pytest
from cruxbox import Outcome, ScriptCheck, StdioCheck, Task
from cruxboxd.server import process
from cruxboxd.server.process import RefusedToServe, descriptors_needed, fit_surroundings, most_connections
from cruxboxd.settings.config import Config
from support.daemons import Served

CONFIG = Config(workers=2, zygotes=8)


class Limit:
    """A limit on descriptors, in place of this process's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> None:
        self.soft, self.hard = soft, hard
        monkeypatch.setattr(resource, "getrlimit", lambda _which: (self.soft, self.hard))
        monkeypatch.setattr(resource, "setrlimit", self.set)
        monkeypatch.setattr(process, "_check_processes", lambda _zygotes: None)

    def set(self, _which: int, limits: tuple[int, int]) -> None:
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
