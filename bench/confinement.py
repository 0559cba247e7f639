"""What confining a worker costs: the same fork loop with and without it, in interleaved rounds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import cruxcell
from cruxboxd.seccomp import compiler

from bench import folders
from bench.figures import Figure
from bench.methods import CORES, PEERS, Result, answer_of, lines
from bench.workload import tasks

CHECKS = 3000


def figures(rounds: int, scale: float, seed: int, say: Callable[[str], None]) -> Iterator[Figure]:
    """How much more CPU time a confined worker takes, in percent.

    Raises:
        RuntimeError: this host does not allow the confinement.
    """
    checks = lines(list(tasks(seed, round(CHECKS * scale / 10), 10)))
    micros: dict[bool, list[float]] = {False: [], True: []}
    for index in range(rounds):
        say(f"confinement: round {index + 1}/{rounds}")
        for confine in (False, True):
            micros[confine].append(_loop(checks, confine).cpu_micros)
    adds = median(with_ / without - 1 for with_, without in zip(micros[True], micros[False]))
    detail = f"CPU time: {median(micros[True]):.0f} µs against {median(micros[False]):.0f} µs"
    yield Figure("confinement_adds", "confinement adds to a worker", adds * 100, "%", detail)


def _loop(checks: list[tuple[str, str, str]], confine: bool) -> Result:
    with folders.folder() as held:
        folder = held / "empty"
        for each in (held, folder):
            each.mkdir(exist_ok=True)
            each.chmod(0o755)  # the user that the loops become must get in
        message = {"checks": checks, "cores": CORES, "confine": confine, "empty_dir": str(folder), **_setup()}
        result = answer_of([sys.executable, "-I", "-S", str(PEERS / "confinedloop.py")], message)
    if not any(result.passed):
        raise RuntimeError("no confined worker gave an answer: this host does not allow the confinement")
    return result


def _setup() -> dict[str, object]:
    """What the daemon would tell a zygote: the filter, and what may be read."""
    return {
        "bpf": compiler.compile(compiler.Profile.COMPUTE).bpf,
        "sandbox": str(Path(cruxcell.__file__).resolve().parent.parent),
        "readable": [str(Path(sys.base_prefix) / "lib")],
    }
