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
from bench.figures import Figure, ratio
from bench.methods import CORES, peer
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
    client: Client, pairs: Sequence[Sequence[Pair]], rounds: int, say: Callable[[str], None]
) -> Iterator[Figure]:
    """Everything there is to say about real generations: speed, sameness, the cost of the stalls."""
    flat = [pair for task in pairs for pair in task]
    say(f"real data: {len(flat):,} generations by cruxbox")
    everything_s, verdicts = ours.timed(client, tasks_of(pairs))
    stalled = [verdict.outcome in STALLED for verdict in verdicts]
    calm = _without(pairs, stalled)
    yield from _speed(client, calm, rounds, say)
    calm_s = median(ours.timed(client, tasks_of(calm))[0] for _ in range(rounds))
    yield _stall_cost(flat, verdicts, everything_s, calm_s)
    say(f"real data: {len(flat):,} generations by the reference method, which takes its time")
    yield _sameness(flat, verdicts)


def _speed(client: Client, calm: Sequence[Sequence[Pair]], rounds: int, say: Callable[[str], None]) -> Iterator[Figure]:
    flat = [pair.work() for task in calm for pair in task]
    sample = flat[:: max(1, len(flat) // SAMPLE)]
    reference = peer("reference.py", timeout_s=CPU_LIMIT_MS / 1000)
    ours_rates, reference_rates = [], []
    for index in range(rounds):
        say(f"real data: round {index + 1}/{rounds} of those that do not stall")
        ours_rates.append(len(flat) / ours.timed(client, tasks_of(calm))[0])
        reference_rates.append(reference(sample).rate)
    distinct = len({(work.program, work.probes[0].call) for work in flat})
    detail = f"{len(flat):,} generations, {distinct:,} distinct; gRPC, client and daemon as two processes"
    yield Figure("real_rate", "real generations that do not stall", median(ours_rates), "generations/s", detail)
    detail = f"{len(sample)} of them a round"
    yield Figure("real_reference", "the same by the reference method", median(reference_rates), "generations/s", detail)
    yield Figure("real_to_reference", "real generations against the reference", ratio(ours_rates, reference_rates), "×")


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


def _sameness(flat: Sequence[Pair], verdicts: Sequence[Verdict]) -> Figure:
    theirs = peer("reference.py", timeout_s=CPU_LIMIT_MS / 1000)([pair.work() for pair in flat])
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
