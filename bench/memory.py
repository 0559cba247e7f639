"""What the daemon weighs, what its start costs, and whether a stream of a million checks makes either side grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

import psutil
from cruxbox import Client
from cruxbox.model import Isolation

from bench import daemon as daemons
from bench import ours
from bench.daemon import MB, Daemon
from bench.figures import Figure
from bench.workload import tasks

MILLION = 1_000_000


def footprint(daemon: Daemon) -> Iterator[Figure]:
    """Resident memory of the daemon and its zygotes; shared pages counted once in the figure that has a target."""
    rss, pss = daemon.weight()
    detail = (
        f"the daemon and {daemon.children()} processes; sum of RSS {rss:.0f} MB; the daemon alone {daemon.rss():.0f} MB"
    )
    if pss is not None:
        yield Figure("resident", "resident, shared pages counted once (PSS)", pss, "MB", detail)
    yield Figure("resident_rss", "resident, sum of RSS", rss, "MB")


def starts(rounds: int) -> Iterator[Figure]:
    """CPU and wall time of a daemon until it serves: its imports, its zygotes, and what it tries before it serves."""
    seconds, cpu = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        with daemons.running() as started:
            seconds.append(time.perf_counter() - began)
            cpu.append(started.cpu())
            zygotes = started.children()
    whole = [sum(parts.values()) for parts in cpu]
    parts = ", ".join(f"{name} {median(one[name] for one in cpu):.2f} s" for name in ("daemon", "zygotes"))
    yield Figure("start_cpu", "start of a daemon, CPU time", median(whole), "s", f"{parts}; {zygotes} processes")
    yield Figure("start_wall", "start of a daemon until it serves", median(seconds), "s", f"median of {rounds}")


def million(client: Client, daemon: Daemon, checks: int, seed: int, say: Callable[[str], None]) -> Iterator[Figure]:
    """Stream `checks` distinct checks and compare memory after the first tenth with the most there was later."""
    own = psutil.Process()
    every = checks // 10
    samples: list[tuple[float, float]] = []
    passed = wrong = 0
    for answered, verdict in enumerate(client.stream(ours.tasks_of(tasks(seed, checks // 10, 10), Isolation.AUTO)), 1):
        passed += verdict.passed is True
        wrong += verdict.passed is None
        if answered % every == 0:
            samples.append((own.memory_info().rss / MB, daemon.settled_rss()))
            say(f"{answered:,} answered: client {samples[-1][0]:.1f} MB, daemon {samples[-1][1]:.1f} MB")
    for side, index in (("client", 0), ("daemon", 1)):
        first, most = samples[0][index], max(sample[index] for sample in samples)
        detail = f"{first:.1f} MB after {every:,}, at most {most:.1f} MB up to {checks:,}"
        yield Figure(
            f"million_{side}_growth", f"{checks:,} streamed checks: {side}'s growth", most - first, "MB", detail
        )
    yield Figure("million_errors", "sandbox errors among them", wrong, "", f"{passed:,} passed")
