"""Interpreters that hang when they are executed, as those of a file system that has gone: whom that holds up."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from cruxbox import CallCheck, Isolation, Task
from cruxbox.errors import CruxboxError
from cruxboxd.tenancy.identity import make_token
from support.daemons import Served
from support.tasks import sums
from support.waiting import still_there, until

_TENANTS = 10


class Dead:
    """A daemon of whose runtimes all but the default hang from now on; each tenant has one of them."""

    def __init__(self, folder: Path) -> None:
        self._gate = folder / "gone"
        lines, options, self.tokens = list[str](), list[str](), list[str]()
        for number in range(_TENANTS + 1):
            token, line = make_token()
            self.tokens.append(token)
            lines += [f"[tenants.t{number}]", f'tokens = ["{line}"]']
            options += ["--runtime", f"r{number}={self._wrapper(folder, number)}"]
        (folder / "tokens").write_text("\n".join(lines))
        options = ["--runtime", f"default={sys.executable}", *options]
        self.daemon = Served(folder, "--tokens", str(folder / "tokens"), *options)
        self._waiting: list[threading.Thread] = []
        self._gate.touch()

    def _wrapper(self, folder: Path, number: int) -> Path:
        path = folder / f"python{number}"
        path.write_text(f'#!/bin/sh\n[ -e {self._gate} ] && exec sleep 1000\nexec {sys.executable} "$@"\n')
        path.chmod(0o755)
        return path

    def ask(self, number: int, tenant: int | None = None) -> None:
        """A tenant, of its own if none is named, asks for a runtime, and waits."""
        token = self.tokens[number if tenant is None else tenant]

        def wait() -> None:
            with suppress(CruxboxError), self.daemon.client(token=token, retries=0) as client:
                client.check(sums(4, salt=number, runtime=f"r{number}", isolation=Isolation.PROCESS))

        self._waiting.append(threading.Thread(target=wait, daemon=True))
        self._waiting[-1].start()

    def hanging(self) -> list[psutil.Process]:
        return [one for one in self.daemon.children() if one.name() == "sleep"]


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[Dead]:
    made = Dead(tmp_path)
    yield made
    made.daemon.kill()


def test_kinds_that_hang_take_no_place_from_others(dead: Dead):
    """Of ten tenants; an eleventh has work of a kind that there is, and of one that there is not yet."""
    for number in range(_TENANTS):
        dead.ask(number)
    until(lambda: len(dead.hanging()) >= 6)
    time.sleep(1)
    with dead.daemon.client(token=dead.tokens[_TENANTS], retries=0) as client:
        for program in ("def f(x):\n    return x + 1", "import math\ndef f(x):\n    return math.floor(x) + 1"):
            began = time.monotonic()
            (verdict,) = client.check([Task(program, [CallCheck("f(1)", "2")])])
            assert verdict.passed, verdict
            assert time.monotonic() - began < 5


def test_kinds_that_hang_hold_up_others_of_their_tenant_for_a_moment(dead: Dead):
    """They hang for half a minute each."""
    for number in range(_TENANTS):
        dead.ask(number, tenant=_TENANTS)
    until(dead.hanging)
    time.sleep(0.5)
    with dead.daemon.client(token=dead.tokens[_TENANTS], retries=0) as client:
        began = time.monotonic()
        (verdict,) = client.check(
            [Task("import math\ndef f(x):\n    return math.floor(x) + 1", [CallCheck("f(1)", "2")])]
        )
        assert verdict.passed, verdict
        assert time.monotonic() - began < 20
    until(lambda: len(dead.hanging()) > 1)


def test_one_that_hangs_before_it_runs_a_line_ends_with_a_daemon_that_is_killed(dead: Dead):
    dead.ask(0)
    until(dead.hanging)
    below = dead.daemon.children()
    dead.daemon.process.kill()
    dead.daemon.process.wait()
    assert still_there(below, 10) == []
