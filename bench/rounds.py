"""Interleaved rounds: A B C A B C …, so that what the machine does meanwhile falls on every method alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.methods import Method, Result
from bench.workload import Work, tasks

CHECKS_PER_TASK = 10


@dataclass
class Series:
    """One method over all rounds: checks a second and CPU µs a check in each, and the verdicts that were not true."""

    method: Method
    rates: list[float] = field(default_factory=list)
    cpu_micros: list[float] = field(default_factory=list)
    wrong: int = 0
    failed: int = 0
    examples: list[str] = field(default_factory=list)
    judged: int = 0
    shares: str = ""

    @property
    def rate(self) -> float:
        return median(self.rates)

    def add(self, result: Result, works: Sequence[Work]) -> None:
        pairs = [(work, probe) for work in works for probe in work.probes]
        assert len(pairs) == len(result.passed), f"{self.method.name} answered {len(result.passed)} of {len(pairs)}"
        self.rates.append(result.rate)
        self.cpu_micros.append(result.cpu_micros)
        self.judged += len(pairs)
        self.shares = result.shares()
        for told, (work, probe) in zip(result.passed, pairs):
            if told is not probe.holds:
                self.wrong += told is not None
                self.failed += told is None
                self.examples.append(
                    f"{self.method.name}: {told} for {probe.call} == {probe.expected} on\n{work.program}"
                )


def run(
    methods: Sequence[Method], rounds: int, scale: float, seed: int, say: Callable[[str], None]
) -> dict[str, Series]:
    """Run every method that is not missing `rounds` times, one after the other, on the same work within a round.

    Args:
        methods: in the order of a round.
        rounds: an odd number gives a clean median.
        scale: times the checks that each method asks for.
        seed: of the generated work; every round takes another part of its sequence.
        say: told what runs now.
    """
    present = [method for method in methods if not method.missing]
    series = {method.name: Series(method) for method in present}
    largest = max(_tasks(method, scale) for method in present)
    for index in range(rounds):
        works = list(tasks(seed, largest, CHECKS_PER_TASK, start=index * largest))
        for method in present:
            say(f"round {index + 1}/{rounds}: {method.title}")
            part = [work.repeating(method.distinct) for work in works[: _tasks(method, scale)]]
            series[method.name].add(method.run(part), part)
    return series


def _tasks(method: Method, scale: float) -> int:
    return max(1, round(method.checks * scale / CHECKS_PER_TASK))
