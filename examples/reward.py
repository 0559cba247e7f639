"""cruxbox as a reward: 1.0 for a right completion, 0.0 for a wrong one, None where the sandbox itself failed.

A reward of 0.0 for a failure of the infrastructure teaches the model that right answers are wrong now and then; None
lets the trainer leave the sample out. The client is made once: it connects when it is first used, in each process for
itself, and may be shared by threads.
"""

from __future__ import annotations

import os

from cruxbox import Client, Limits, ScriptCheck, Task

# The sandbox of the cluster if there is one, else a daemon of our own.
CLIENT = Client(os.environ.get("CRUXBOX_SERVER"))
LIMITS = Limits(cpu_ms=1_000, steps=1_000_000)


def reward(completions: list[str], tests: list[str], entry_points: list[str]) -> list[float | None]:
    """The reward of each completion, in order.

    Args:
        completions: programs a model wrote.
        tests: for each, code that raises if the program is wrong; it may call the entry point `candidate`.
        entry_points: for each, the name of the function under test.
    """
    tasks = [
        Task(program, [ScriptCheck(test, entry_point)], limits=LIMITS)
        for program, test, entry_point in zip(completions, tests, entry_points)
    ]
    return [None if verdict.passed is None else float(verdict.passed) for verdict in CLIENT.check(tasks)]


if __name__ == "__main__":
    TEST = "assert candidate([3, 1, 2]) == [1, 2, 3]\nassert candidate([]) == []"
    programs = {
        "right": "def order(xs):\n    return sorted(xs)",
        "wrong": "def order(xs):\n    return xs",
        "endless": "def order(xs):\n    while True:\n        pass",
        "forged": "class Any:\n    def __eq__(self, other):\n        return True\ndef order(xs):\n    return Any()",
        "gone": "import sys\nsys.exit(0)",
    }
    rewards = reward(list(programs.values()), [TEST] * len(programs), ["order"] * len(programs))
    for name, value in zip(programs, rewards):
        print(f"{name}: {value}")
