"""What the layers between checks that share a worker cost: the same work by daemons that differ only in their layers.

Nobody but tests and this benchmark can leave a layer out (`tests/support/opened.py`). With none of them every check
shares a worker whatever it is, and nothing is compared: the floor. The other daemons have one layer each, and all of
them with the defaults.

How it is measured, so that what else the machine does falls on all alike: the sides judge the same batch of a tenth
of a second one after the other, in an order that changes with each batch (`_orders`). The kernel's count of CPU time is
read only every few batches, a *block*: it counts workers in hundredths of a second, but loses none, so that many
batches have the error of one. The figure is the quotient of the sums over all blocks, its interval comes from them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean, stdev

from cruxbox import Client
from cruxbox.model import CallCheck, Isolation, Limits, Task

from bench import daemon, ours, workload
from bench.figures import Figure
from bench.real import STALLED, Pair

BLOCKS = 3  # for each round that is asked for: as many as there are layers that take turns
BATCHES = 6  # a block
GROUPED_TASKS = 100  # of ten checks each, a batch
PART = 640  # generations a batch
LIMITS = Limits(cpu_ms=3000, steps=1_000_000)
NO_AUDIT = "--audit-share=0"
SETTLING_S = 0.02  # in which a worker that has answered is gone and counted
_Z = 1.96  # of a normal distribution, 95 %

# A daemon: the layers that are left out of it, and its options.
WAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "none": ("rule,seal", (NO_AUDIT,)),
    "rule": ("seal", (NO_AUDIT,)),
    "seal": ("rule", (NO_AUDIT,)),
    "audit": ("rule,seal", ()),
    "all": ("", ()),
}
ALWAYS = ("none", "all")  # the others take turns, a block each


@dataclass(frozen=True)
class Work:
    """What all of them are given, `size` tasks a batch, from the beginning again behind the last."""

    key: str
    title: str
    size: int
    tasks: Sequence[Task]

    def part(self, number: int) -> list[Task]:
        begin = number * self.size % len(self.tasks)
        return [*self.tasks[begin:], *self.tasks[:begin]][: self.size]


@dataclass
class Spent:
    """What a side took for a block: CPU seconds by whose they are, and wall seconds."""

    checks: int = 0
    wall: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)

    @property
    def cpu(self) -> float:
        return sum(self.parts.values())


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
    with contextlib.ExitStack() as stack:
        served = {name: _serve(stack, *way) for name, way in WAYS.items()}
        for whole in given:
            work = _calm(served["all"][0], whole)
            for name in WAYS:  # to get warm
                served[name][0].check(work.part(0))
            found: dict[str, list[tuple[Spent, Spent]]] = {name: [] for name in WAYS}
            in_turn = [name for name in WAYS if name not in ALWAYS]
            for number in range(BLOCKS * rounds):
                say(f"layers: {work.title}, block {number + 1}/{BLOCKS * rounds}")
                sides = [*ALWAYS, *in_turn[number % BLOCKS :][:1]]
                block = _block({name: served[name] for name in sides}, work, number * BATCHES)
                for name in sides:
                    found[name].append((block[name], block["none"]))
            yield from _prices(work, found)


def _serve(stack: contextlib.ExitStack, opened: str, flags: tuple[str, ...]) -> tuple[Client, daemon.Daemon]:
    server = stack.enter_context(daemon.running("", "--canary-s=0", *flags, opened=opened))
    return stack.enter_context(Client(server.target)), server


def _calm(client: Client, work: Work) -> Work:
    """The work without what stalls, which would drown everything else."""
    verdicts = iter(client.check(work.tasks))
    stalls = [STALLED & {next(verdicts).outcome for _ in task.checks} for task in work.tasks]
    return replace(work, tasks=[task for task, found in zip(work.tasks, stalls) if not found])


def _block(served: Mapping[str, tuple[Client, daemon.Daemon]], work: Work, first: int) -> dict[str, Spent]:
    """What each side takes for some batches, which they judge in turn."""
    found = {name: Spent(parts={"client": 0.0}) for name in served}
    orders = _orders(list(served))
    before = {name: server.cpu() for name, (_, server) in served.items()}
    for number in range(first, first + BATCHES):
        tasks = work.part(number)
        passed = set()
        for name in orders[number % len(orders)]:
            spent, cpu, started = found[name], time.process_time(), time.perf_counter()
            verdicts = served[name][0].check(tasks)
            spent.wall += time.perf_counter() - started
            spent.parts["client"] += time.process_time() - cpu
            spent.checks += len(verdicts)
            passed.add(tuple(verdict.passed for verdict in verdicts))
        if len(passed) > 1:
            raise RuntimeError(f"{work.title}: layers change verdicts")
    time.sleep(SETTLING_S)
    for name, (_, server) in served.items():
        after = server.cpu()
        found[name].parts.update({part: after[part] - before[name][part] for part in after})
    return found


def _orders(sides: list[str]) -> list[list[str]]:
    """In which orders the sides follow each other, batch by batch and from the beginning again.

    Each stands at each place equally often, and none follows itself: a side that has just run finds its memory in the
    caches. Two daemons that are the same differed by 3 % where one of them followed itself more often.
    """
    turned = [[*sides[at:], *sides[:at]] for at in range(len(sides))]
    back = [order[::-1] for order in turned]
    return [*turned, back[0], *back[:0:-1]]


def _prices(work: Work, found: Mapping[str, Sequence[tuple[Spent, Spent]]]) -> Iterator[Figure]:
    for name in WAYS:
        if name != "none":
            mine, floor = zip(*found[name])
            adds, error = _added([one.cpu for one in mine], [one.cpu for one in floor])
            wall, wall_error = _added([one.wall for one in mine], [one.wall for one in floor])
            detail = f"± {error:.1f} over {len(mine)} blocks; µs a check: {_shares(mine)} against {_shares(floor)}; "
            detail += f"wall time {wall:+.1f} ± {wall_error:.1f} %"
            title = f"{'all layers' if name == 'all' else 'the ' + name} between checks, {work.title}"
            yield Figure(f"{work.key}_{name}", title, adds, "%", detail)


def _added(mine: Sequence[float], floor: Sequence[float]) -> tuple[float, float]:
    """(by how many percent the sum of `mine` is more, half the width of its interval, 95 %)."""
    quotient = sum(mine) / sum(floor)
    # How much each block's own quotient is off, as a part of the floor's mean: the standard error of a ratio.
    off = [(one - quotient * base) / mean(floor) for one, base in zip(mine, floor)]
    error = _students(len(off) - 1) * stdev(off) / len(off) ** 0.5 if len(off) > 1 else float("inf")
    return (quotient - 1) * 100, error * 100


def _students(freedom: int) -> float:
    """The 97.5 % quantile of Student's distribution, by two terms of its expansion: from 4 on within 2 %."""
    return _Z + (_Z**3 + _Z) / (4 * freedom) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * freedom**2)


def _shares(spent: Sequence[Spent]) -> str:
    """CPU time for people: in all, and of whom."""
    checks = sum(one.checks for one in spent)
    parts = {name: sum(one.parts[name] for one in spent) / checks * 1e6 for name in spent[0].parts}
    return f"{sum(parts.values()):.0f} ({', '.join(f'{name} {micros:.0f}' for name, micros in parts.items())})"
