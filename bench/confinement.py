"""What confining a worker costs: the same fork loop with and without it, in interleaved rounds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from bench.figures import Figure
from bench.methods import CORES, PEERS, answer_of, lines
from bench.workload import tasks

CHECKS = 3000


def figures(rounds: int, scale: float, seed: int, say: Callable[[str], None]) -> Iterator[Figure]:
    """How much longer a confined worker takes, in percent, and the microseconds that this is.

    Raises:
        RuntimeError: this host does not allow the confinement.
    """
    checks = lines(list(tasks(seed, round(CHECKS * scale / 10), 10)))
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for index in range(rounds):
        say(f"confinement: round {index + 1}/{rounds}")
        for confine in (False, True):
            seconds[confine].append(_loop(checks, confine))
    adds = median(with_ / without - 1 for with_, without in zip(seconds[True], seconds[False]))
    micros = (
        median(with_ - without for with_, without in zip(seconds[True], seconds[False])) * CORES / len(checks) * 1e6
    )
    detail = f"{micros:.0f} µs on top of {median(seconds[False]) * CORES / len(checks) * 1e6:.0f} µs"
    yield Figure("confinement_adds", "confinement adds to a worker", adds * 100, "%", detail)


def _loop(checks: list[tuple[str, str, str]], confine: bool) -> float:
    import cruxcell
    from cruxboxd import policy

    message = {
        "checks": checks,
        "cores": CORES,
        "confine": confine,
        "bpf": policy.compile(policy.Profile.COMPUTE).bpf,
        "sandbox": str(Path(cruxcell.__file__).resolve().parent.parent),
        "readable": [str(Path(sys.base_prefix) / "lib")],
    }
    result = answer_of([sys.executable, "-I", "-S", str(PEERS / "confinedloop.py")], message)
    if not any(result.passed):
        raise RuntimeError("no confined worker gave an answer: this host does not allow the confinement")
    return result.seconds
