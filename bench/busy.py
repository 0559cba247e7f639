"""Do verdicts change when the machine is busy? The same checks, quiet and beside eight busy loops."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence

from cruxbox import Client
from cruxbox.model import Task, Verdict

from bench.figures import Figure

LOOPS = 8


@contextlib.contextmanager
def busy_loops(count: int = LOOPS) -> Iterator[None]:
    """`count` processes that do nothing but take the CPU."""
    command = [sys.executable, "-I", "-S", "-c", "print(flush=True)\nwhile True: pass"]
    loops = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for loop in loops:
            assert loop.stdout is not None
            loop.stdout.readline()
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
            assert loop.stdout is not None
            loop.stdout.close()


def compare(client: Client, tasks: Sequence[Task]) -> Iterator[Figure]:
    """Count the verdicts that differ between a quiet and a busy run of `tasks`."""
    quiet = client.check(tasks)
    with busy_loops():
        busy = client.check(tasks)
    changed = [(before, after) for before, after in zip(quiet, busy) if _essence(before) != _essence(after)]
    detail = f"{len(quiet):,} verdicts"
    if changed:
        before, after = changed[0]
        detail += f"; first: {before.outcome.name} → {after.outcome.name} {after.detail or before.detail}"
    yield Figure("busy_changed", f"verdicts that change beside {LOOPS} busy loops", len(changed), "", detail)


def _essence(verdict: Verdict) -> tuple[object, ...]:
    """What must not depend on the load: the outcome, and the steps of everything that ran to its end."""
    ended = verdict.outcome.name in {"PASSED", "FAILED", "RAISED"}
    return verdict.outcome, verdict.steps if ended else 0
