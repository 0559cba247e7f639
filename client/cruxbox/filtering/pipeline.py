"""From candidates to judged pairs, in order, with everything in flight and nothing kept: the stream of a filter.

Each candidate is one task, with a check for each of its inputs, so that they can share a worker. What needs no check
(bad rows, duplicates) waits in the same line as what does, because order is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Protocol, Union

from cruxbox.filtering.candidates import BadRow, Candidate, Item
from cruxbox.filtering.judging import Judged, Pair, judge, judge_events, text_reasons
from cruxbox.filtering.rules import PAPER, Rules
from cruxbox.filtering.seen import Seen
from cruxbox.model import EvaluateCheck, Isolation, Priority, ScriptCheck, StepCount, Task, Verdict

# Results without a check that may wait for one with a check; then an artificial check is sent, so that they are
# released.
_WAITING = 1024
# Pairs whose events are counted together.
_EVENTS_AT_ONCE = 2048
# Places of the pairs of one row: more inputs than that and duplicates in far rows might be taken for earlier ones.
_PLACES_A_ROW = 1 << 20

Result = Union[BadRow, Judged]
_Line = deque[Union[BadRow, Judged, Pair, None]]  # None: an artificial check


class Checker(Protocol):
    """What is needed of a sandbox; `cruxbox.Client` is one."""

    def check(self, tasks: Iterable[Task]) -> list[Verdict]:
        """The verdicts of all checks of all tasks, in order."""

    def stream(self, tasks: Iterable[Task]) -> Iterator[Verdict]:
        """The same as they come, in order, for any number of tasks."""


def filter_candidates(
    items: Iterable[Item], checker: Checker, rules: Rules = PAPER, *, runtime: str = "", seen: Seen | None = None
) -> Iterator[Result]:
    """What becomes of each pair of each candidate, in order; bad rows pass through.

    Args:
        items: candidates and bad rows; read as there is room.
        checker: a sandbox, usually a `cruxbox.Client`.
        rules: what is refused.
        runtime: name of the server's interpreter to run on; "" is its default.
        seen: where it is remembered which pairs came before; None keeps that in memory.
    """
    results = _evaluated(items, checker, rules, runtime, seen or Seen())
    return _with_events(results, checker, rules, runtime) if rules.count is StepCount.EVENTS else results


def _evaluated(items: Iterable[Item], checker: Checker, rules: Rules, runtime: str, seen: Seen) -> Iterator[Result]:
    """Every pair that is not a duplicate is run, under two hash seeds if the rules ask for that."""
    line: _Line = deque()
    verdicts = checker.stream(_tasks(items, rules, runtime, seen, line))
    for verdict in verdicts:
        while not isinstance(line[0], Pair) and line[0] is not None:
            yield line.popleft()  # type: ignore[misc]
        pair = line.popleft()
        if isinstance(pair, Pair):
            yield judge(pair, verdict, rules)
    yield from line  # type: ignore[misc]


def _tasks(items: Iterable[Item], rules: Rules, runtime: str, seen: Seen, line: _Line) -> Iterator[Task]:
    """A task for each candidate; `line` gets what the verdicts, and the results between them, belong to."""
    unchecked = 0
    for item in items:
        checks = []
        is_refused = True
        if isinstance(item, BadRow):
            line.append(item)
        else:
            for pair in _pairs(item, rules, seen):
                if "DUPLICATE" in pair.reasons:
                    line.append(Judged(pair, pair.reasons))
                else:
                    line.append(pair)
                    checks.append(EvaluateCheck(pair.call, True))
                    is_refused = is_refused and bool(pair.reasons)
        unchecked = 0 if checks else unchecked + 1
        if checks:
            yield _task(item.code, checks, rules, runtime, is_refused)  # type: ignore[union-attr]
        elif unchecked >= _WAITING:
            unchecked = 0
            line.append(None)
            yield _task("", [EvaluateCheck("0")], rules, runtime)


def _pairs(candidate: Candidate, rules: Rules, seen: Seen) -> Iterator[Pair]:
    looks_for_duplicates = "DUPLICATE" in rules.refuse
    for at, argument in enumerate(candidate.inputs):
        found = text_reasons(candidate.code, argument, rules, candidate.extra.get("function_name", ""))
        if looks_for_duplicates and seen.came_before(candidate.code, argument, candidate.row * _PLACES_A_ROW + at):
            found += ("DUPLICATE",)
        yield Pair(candidate, at, found)


def _task(code: str, checks: list[EvaluateCheck], rules: Rules, runtime: str, is_refused: bool = False) -> Task:
    """`is_refused`: the texts alone refuse all of it, so nothing it gives is kept. A second run could only tell one
    reason more, and that its checks might see traces of each other does no harm."""
    return Task(
        code,
        checks,
        limits=rules.limits,
        runtime=runtime,
        isolation=Isolation.TASK if is_refused else Isolation.AUTO,
        repeat=1 if is_refused else rules.repeat,
        priority=Priority.BULK,
    )


def _with_events(results: Iterator[Result], checker: Checker, rules: Rules, runtime: str) -> Iterator[Result]:
    """The pairs that are kept so far run once more, with every event of their assertion counted."""
    while True:
        chunk = list(islice(results, _EVENTS_AT_ONCE))
        if not chunk:
            return
        tasks = [_events_task(item, rules, runtime) for item in chunk if isinstance(item, Judged) and item.is_kept]
        verdicts = iter(checker.check(tasks) if tasks else [])
        for item in chunk:
            if isinstance(item, Judged) and item.is_kept:
                yield judge_events(item, next(verdicts), rules)
            else:
                yield item


def _events_task(judged: Judged, rules: Rules, runtime: str) -> Task:
    script = ScriptCheck(f"assert {judged.pair.call} == {judged.output}")
    limits = rules.limits
    return Task(
        judged.pair.candidate.code,
        [script],
        limits=limits,
        runtime=runtime,
        step_count=StepCount.EVENTS,
        priority=Priority.BULK,
    )
