"""CRUXEval's own files: the published generations, judged by us and by the reference scorer's method.

Checks are the reference's own text, `assert <output> == <generation>`, so that a verdict can be compared one to one;
what its guards skip is left out on both sides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from cruxbox import Client
from cruxbox.model import Limits, Outcome, ScriptCheck, Task, Verdict

from bench import ours
from bench.daemon import Daemon
from bench.figures import Figure, ratio
from bench.methods import CORES, Result, peer
from bench.workload import Kind, Probe, Work

CPU_LIMIT_MS = 3000  # what the reference scorer gives a check
MAX_STEPS = 1_000_000
SAMPLE = 300  # generations that the reference method judges a round
STALLED = {Outcome.TIMED_OUT, Outcome.STEP_LIMIT, Outcome.MEMORY_LIMIT}


@dataclass(frozen=True)
class Pair:
    """One generation on its row."""

    program: str
    expected: str
    generation: str

    def work(self) -> Work:
        return Work("", self.program, (Probe(self.generation, self.expected, Kind.GOOD),))


def load(dataset: Path, generations: Path, mode: str) -> list[list[Pair]]:
    """The generations of each task, in the order of the generations file, without those the reference skips.

    Raises:
        ValueError: a generation's task is not in the data set.
    """
    rows = {row["id"]: row for row in map(json.loads, dataset.read_text().splitlines())}
    asked: dict[str, list[str]] = json.loads(generations.read_text())
    unknown = sorted(set(asked) - set(rows))
    if unknown:
        raise ValueError(f"{generations}: {unknown[0]} is not in {dataset}")
    tasks = []
    for id_, texts in asked.items():
        row = rows[id_]
        kept = [text for text in texts if _judged(text, row["input"], mode)]
        tasks.append([Pair(row["code"], row["output"], text) for text in kept])
    return [task for task in tasks if task]


def _judged(generation: str, row_input: str, mode: str) -> bool:
    return "f(" in generation if mode == "input" else f"f({row_input})" not in generation


def tasks_of(pairs: Sequence[Sequence[Pair]]) -> list[Task]:
    """The cruxbox tasks: one a row, one check a generation."""
    limits = Limits(cpu_ms=CPU_LIMIT_MS, steps=MAX_STEPS)
    return [
        Task(
            program=task[0].program,
            checks=[ScriptCheck(script=f"assert {pair.expected} == {pair.generation}") for pair in task],
            limits=limits,
        )
        for task in pairs
    ]


def figures(
    client: Client, server: Daemon, pairs: Sequence[Sequence[Pair]], rounds: int, say: Callable[[str], None]
) -> Iterator[Figure]:
    """Everything there is to say about real generations: speed, sameness, the cost of the stalls."""
    flat = [pair for task in pairs for pair in task]
    say(f"real data: {len(flat):,} generations by cruxbox")
    everything, verdicts = ours.measured(client, server, tasks_of(pairs))
    calm = _without(pairs, [verdict.outcome in STALLED for verdict in verdicts])
    reference = peer("reference.py", timeout_s=CPU_LIMIT_MS / 1000)
    sample = _sample(calm)
    mine, theirs = [], []
    for index in range(rounds):
        say(f"real data: round {index + 1}/{rounds} of those that do not stall")
        mine.append(ours.measured(client, server, tasks_of(calm))[0])
        theirs.append(reference(sample))
    yield from _speed(calm, mine, theirs)
    yield _stall_cost(flat, verdicts, everything.seconds, median(result.seconds for result in mine))
    say(f"real data: {len(flat):,} generations by the reference method, which takes its time")
    yield _sameness(flat, verdicts, reference([pair.work() for pair in flat]))


def _sample(pairs: Sequence[Sequence[Pair]]) -> list[Work]:
    """About SAMPLE generations, evenly spread."""
    flat = [pair.work() for task in pairs for pair in task]
    return flat[:: max(1, len(flat) // SAMPLE)]


def _speed(calm: Sequence[Sequence[Pair]], mine: Sequence[Result], theirs: Sequence[Result]) -> Iterator[Figure]:
    flat = [pair for task in calm for pair in task]
    rates = [[result.rate for result in results] for results in (mine, theirs)]
    cpus = [[result.cpu_micros for result in results] for results in (mine, theirs)]
    shares = f"{median(cpus[0]):.0f} µs of CPU each ({mine[-1].shares()})"
    detail = f"{len(flat):,} generations, {len(set(flat)):,} distinct; {shares}"
    yield Figure("real_rate", "real generations that do not stall", median(rates[0]), "generations/s", detail)
    detail = f"{len(theirs[0].passed)} of them a round; {median(cpus[1]):,.0f} µs of CPU each"
    yield Figure("real_reference", "the same by the reference method", median(rates[1]), "generations/s", detail)
    detail = f"by CPU time {ratio(cpus[1], cpus[0]):.3g} ×"
    yield Figure("real_to_reference", "real generations against the reference", ratio(*rates), "×", detail)


def _stall_cost(flat: Sequence[Pair], verdicts: Sequence[Verdict], everything_s: float, calm_s: float) -> Figure:
    in_c = {pair for pair, verdict in zip(flat, verdicts) if verdict.outcome is Outcome.TIMED_OUT}
    in_python = sum(verdict.outcome is Outcome.STEP_LIMIT for verdict in verdicts)
    floor = calm_s + len(in_c) * CPU_LIMIT_MS / 1000 / CORES
    detail = (
        f"{everything_s:.2f} s with {in_python} loops and {len(in_c)} distinct stalls in C; the floor is {floor:.2f} s"
    )
    return Figure(
        "stalls_to_floor", "real generations with their stalls, over the floor", everything_s / floor, "×", detail
    )


def _sameness(flat: Sequence[Pair], verdicts: Sequence[Verdict], theirs: Result) -> Figure:
    pairs = list(zip(flat, verdicts, theirs.passed))
    different = [
        (pair, verdict, told) for pair, verdict, told in pairs if (verdict.outcome is Outcome.PASSED) is not told
    ]
    detail = f"of {len(flat):,}; the reference method took {theirs.seconds:.0f} s, stalls included"
    if different:
        pair, verdict, told = different[0]
        detail += f"; first: {pair.generation[:60]!r} {verdict.outcome.name}, theirs {'passed' if told else 'failed'}"
    return Figure("real_different", "verdicts that differ from the reference's", len(different), "", detail)


def _without(pairs: Sequence[Sequence[Pair]], left_out: Sequence[bool]) -> list[list[Pair]]:
    """`pairs` without those whose place in the flat order is marked."""
    marks = iter(left_out)
    kept = [[pair for pair in task if not next(marks)] for task in pairs]
    return [task for task in kept if task]
