"""Programs and tasks that do one thing each."""

from __future__ import annotations

from cruxbox import CallCheck, Limits, Task

SPIN = "def f(x):\n    while True:\n        pass\n"
NAP = "import time\ndef f(x):\n    time.sleep(x)\n    return x\n"
HARMLESS = "def f(x):\n    return x + 1\n"


def sums(count: int, salt: int = 0, **options: object) -> list[Task]:
    """Tasks that all pass, each different from all others."""
    return [
        Task(f"def f(x):\n    return x + {salt} + {number}", [CallCheck("f(1)", str(1 + salt + number))], **options)
        for number in range(count)
    ]


def spins(count: int, cpu_ms: int = 500) -> list[Task]:
    """Tasks that hang, and burn CPU time until it is used up."""
    limits = Limits(cpu_ms=cpu_ms, steps=10**12)
    return [Task(f"{SPIN}# {number}", [CallCheck("f(1)", "1")], limits=limits) for number in range(count)]
