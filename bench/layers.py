"""What the layers between checks that share a worker cost: the same work by daemons that differ only in their layers.

Nobody but tests and this benchmark can leave a layer out (`tests/support/opened.py`). With none of them every check
shares a worker whatever it is, and nothing is compared: the floor. Then each layer alone, and all of them with the
defaults. Rounds are many and short, their sides interleaved in a random order, and a ratio is taken within a round, so
that what else the machine does falls on all alike. How far the rounds lie apart is told with each figure.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles

from cruxbox import Client
from cruxbox.model import CallCheck, Isolation, Limits, Task

from bench import daemon, ours, workload
from bench.figures import Figure
from bench.methods import Result
from bench.real import STALLED, Pair

ROUNDS = 3  # of ours for each that is asked for
GROUPED_TASKS = 250  # of ten checks each, a round: half a second of CPU, of which the kernel's clock misses a percent
PART = 1500  # generations a round
LIMITS = Limits(cpu_ms=3000, steps=1_000_000)
NO_AUDIT = "--audit-share=0"

# A daemon: the layers that are left out of it, and its options.
WAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "none": ("rule,seal", (NO_AUDIT,)),
    "rule": ("seal", (NO_AUDIT,)),
    "seal": ("rule", (NO_AUDIT,)),
    "audit": ("rule,seal", ()),
    "all": ("", ()),
}


@dataclass(frozen=True)
class Work:
    """What all of them are given, `size` tasks a round, from the beginning again behind the last."""

    key: str
    title: str
    size: int
    tasks: Sequence[Task]

    def part(self, number: int) -> list[Task]:
        begin = number * self.size % len(self.tasks)
        return [*self.tasks[begin:], *self.tasks[:begin]][: self.size]


def works(seed: int, scale: float, generations: Mapping[str, Sequence[Sequence[Pair]]]) -> list[Work]:
    """Generated checks grouped by ten, and the generations of each mode as `cruxbox score` asks for them."""
    count = max(1, round(GROUPED_TASKS * scale))
    grouped = list(ours.tasks_of(workload.tasks(seed, 4 * count, 10), Isolation.AUTO))
    found = [Work("layers_grouped", "grouped by ten", count, grouped)]
    for mode, pairs in generations.items():
        asked = _asked(mode, pairs)
        found.append(Work(f"layers_{mode}", f"real generations, {mode}", max(1, round(PART * scale)), asked))
    return found


def _asked(mode: str, pairs: Sequence[Sequence[Pair]]) -> list[Task]:
    """A task for each distinct generation."""
    distinct = dict.fromkeys(pair for task in pairs for pair in task)
    return [
        Task(pair.program if mode == "input" else "", [CallCheck(pair.generation, pair.expected)], limits=LIMITS)
        for pair in distinct
    ]


def figures(rounds: int, given: Sequence[Work], say: Callable[[str], None]) -> Iterator[Figure]:
    """How much more CPU time each layer, and all together, take than none, in percent of the floor.

    Raises:
        RuntimeError: layers changed what honest work comes to.
    """
    chance = random.Random(0)
    with contextlib.ExitStack() as stack:
        served = {name: _serve(stack, *way) for name, way in WAYS.items()}
        for whole in given:
            work = _calm(served["all"][0], whole)
            found: dict[str, list[Result]] = {name: [] for name in WAYS}
            for number in range(-1, ROUNDS * rounds):  # the first is to get warm
                say(f"layers: {work.title}, round {number + 1}/{ROUNDS * rounds}")
                tasks = work.part(number + 1)
                for name in chance.sample(list(WAYS), len(WAYS)):
                    client, server = served[name]
                    result = ours.measured(client, server, tasks)[0]
                    if number >= 0:
                        found[name].append(result)
                if number >= 0 and len({results[-1].passed for results in found.values()}) > 1:
                    raise RuntimeError(f"{work.title}: layers change verdicts")
            yield from _prices(work, found)


def _serve(stack: contextlib.ExitStack, opened: str, flags: tuple[str, ...]) -> tuple[Client, daemon.Daemon]:
    server = stack.enter_context(daemon.running("", "--canary-s=0", *flags, opened=opened))
    return stack.enter_context(Client(server.target)), server


def _calm(client: Client, work: Work) -> Work:
    """The work without what stalls, which would drown everything else."""
    verdicts = iter(client.check(work.tasks))
    stalls = [STALLED & {next(verdicts).outcome for _ in task.checks} for task in work.tasks]
    return replace(work, tasks=[task for task, found in zip(work.tasks, stalls) if not found])


def _prices(work: Work, found: Mapping[str, Sequence[Result]]) -> Iterator[Figure]:
    floor = [result.cpu_micros for result in found["none"]]
    for name in WAYS:
        if name != "none":
            micros = [result.cpu_micros for result in found[name]]
            every = [(with_ / without - 1) * 100 for with_, without in zip(micros, floor)]
            low, adds, high = quantiles(every, n=4) if len(every) > 1 else every * 3
            rate = median(with_.rate / without.rate for with_, without in zip(found[name], found["none"]))
            detail = f"half of the rounds {low:+.0f} to {high:+.0f}; CPU: {median(micros):.0f} µs a check against "
            detail += f"{median(floor):.0f}; checks a second {rate:.2f} ×"
            title = f"{'all layers' if name == 'all' else 'the ' + name} between checks, {work.title}"
            yield Figure(f"{work.key}_{name}", title, adds, "%", detail)
