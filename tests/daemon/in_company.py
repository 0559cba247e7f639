"""Checks in company and alone, and programs that try to leave something behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cruxbox import Client, Isolation, Task, Verdict

_TEXT = (Path(__file__).parent / "leaking_programs.txt").read_text()
LEAKS = dict(section.split("\n", 1) for section in _TEXT.split("#### ")[1:])
# A call that changes what all that follows in its interpreter computes, without a word of it in any program.
EVIL = 'exec("imp\\x6frt builtins\\nbuiltins.sorted=lambda x:[66]\\n")'
RIGHT = "sorted('ba')", "['a', 'b']"
HERMETIC = "def f(x):\n    return x"


def seen(verdict: Verdict) -> tuple:
    """All that a verdict says of its check, but for times and memory."""
    said = (verdict.outcome, verdict.value, verdict.steps, verdict.stdout, verdict.stderr, verdict.exception)
    return (verdict.check_id, *said, verdict.detail, verdict.assurance, verdict.clock)


def differing(client: Client, tasks: list[Task]) -> list[tuple]:
    """The pairs (in company, alone) that are not the same."""
    together = client.check([replace(task, isolation=Isolation.AUTO) for task in tasks])
    alone = client.check([replace(task, isolation=Isolation.PROCESS) for task in tasks])
    assert len(together) == len(alone) == sum(len(task.checks) for task in tasks)
    return [(a, b) for a, b in zip(map(seen, together), map(seen, alone)) if a != b]
