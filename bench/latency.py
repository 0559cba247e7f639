"""How long one check takes on an idle daemon, and what a stall costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

from cruxbox import Client
from cruxbox.model import Isolation, Limits, Outcome

from bench import ours
from bench.figures import Figure, percentile
from bench.workload import Kind, Work, tasks

SCORE_STEPS = 1_000_000  # the default step limit of `cruxbox score`
STALL_CPU_MS = 500


def single_check(client: Client, transport: str, checks: int, seed: int) -> Iterator[Figure]:
    """p50 and p99 of `checks` checks, each a call of its own, one after the other."""
    millis = [_millis(client, work) for work in tasks(seed, checks + 20)][20:]
    detail = f"{checks} checks, one at a time; slowest {max(millis):.1f} ms"
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        title = f"one check, idle daemon, {transport}, {name}"
        yield Figure(f"latency_{transport}_{name}", title, percentile(millis, share), "ms", detail)


def stalls(client: Client, repeats: int, seed: int) -> Iterator[Figure]:
    """What a loop in Python costs at the step limit of `score`, and what a C call costs beyond its CPU limit."""
    limits = Limits(steps=SCORE_STEPS, cpu_ms=STALL_CPU_MS)
    loops = [_millis(client, work, limits, "STEP_LIMIT") for work in tasks(seed, repeats, 1, {Kind.LOOPS: 1})]
    detail = f"{SCORE_STEPS:,} steps; median of {repeats}, slowest {max(loops):.0f} ms"
    yield Figure("python_loop", "an endless loop in Python", median(loops), "ms", detail)
    stalled = [
        _millis(client, work, limits, "TIMED_OUT") for work in tasks(seed, max(3, repeats // 3), 1, {Kind.STALLS: 1})
    ]
    detail = f"CPU limit {STALL_CPU_MS} ms; this is what comes on top; median of {len(stalled)}"
    yield Figure("c_stall_excess", "a stall inside one C call", median(stalled) - STALL_CPU_MS, "ms", detail)


def _millis(client: Client, work: Work, limits: Limits = Limits(), wanted: str = "") -> float:  # noqa: B008 (frozen)
    task = ours.task_of(work, Isolation.AUTO, limits)
    started = time.perf_counter()
    verdict = client.check([task])[0]
    millis = (time.perf_counter() - started) * 1000
    if wanted and verdict.outcome is not Outcome[wanted]:
        raise RuntimeError(f"{work.program!r} should end as {wanted}, not {verdict.outcome.name}: {verdict.detail}")
    return millis


def scale(client: Client, sizes: list[int], seed: int, say: Callable[[str], None]) -> Iterator[Figure]:
    """Checks a second, grouped by ten, for batches of several sizes: the cost of a check should not grow with them."""
    rates = []
    for size in sizes:
        say(f"scale: {size:,} checks")
        work = list(ours.tasks_of(tasks(seed + size, size // 10, 10), Isolation.AUTO))
        repeats = max(1, 5_000 // size)
        seconds = min(ours.timed(client, work)[0] for _ in range(repeats))
        rates.append(size / seconds)
        yield Figure(f"rate_{size}", f"{size:,} checks in one call", rates[-1], "checks/s", "grouped by ten, gRPC")
    detail = f"rate at {sizes[-1]:,} over rate at {sizes[0]:,}; 1 is flat"
    yield Figure("scale_flat", "cost of a check as batches grow", rates[-1] / rates[0], "×", detail)
