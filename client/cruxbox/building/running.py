"""What only running a program can tell: how many steps a call takes, and whether a renamed program behaves alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from cruxbox.building.anonymize import Anonymized
from cruxbox.building.rows import Row
from cruxbox.model import CallCheck, Check, EvaluateCheck, Outcome, ScriptCheck, StepCount, Task, Verdict
from cruxbox.sentences import own_words


class Checker(Protocol):
    """What is needed of a sandbox; `cruxbox.Client` is one."""

    def check(self, tasks: Iterable[Task]) -> list[Verdict]:
        """The verdicts of all checks of all tasks, in order."""


@dataclass(frozen=True)
class Steps:
    """Steps of each row's call, in order; None, with a reason, where the call gave no value."""

    counts: tuple[int | None, ...]
    problems: tuple[str, ...]


def measure_steps(rows: Sequence[Row], checker: Checker, *, count: StepCount = StepCount.INSTRUCTIONS) -> Steps:
    """Runs every row and counts: instructions of `f(<input>)`, or the trace events of the whole assertion."""
    tasks = [Task(row.code, [_counted(row, count)], id=str(at), step_count=count) for at, row in enumerate(rows)]
    counts: list[int | None] = []
    problems: list[str] = []
    for row, verdict in zip(rows, checker.check(tasks)):
        known = verdict.outcome in (Outcome.EVALUATED, Outcome.PASSED)
        counts.append(verdict.steps if known else None)
        if not known:
            problems.append(f"{row.id}: {told(verdict)}")
    return Steps(tuple(counts), tuple(problems))


def _counted(row: Row, count: StepCount) -> Check:
    # The paper's numsteps are those of a script: module, call and assertion.
    if count is StepCount.EVENTS:
        return ScriptCheck(f"assert {row.call} == {row.output}")
    return EvaluateCheck(row.call_with("\n"))


def compare_behaviour(rows: Sequence[Row], renamed: Sequence[Anonymized], checker: Checker) -> list[str]:
    """Runs both forms of every row; for each an empty string if they behave alike, else a sentence that says how not.

    With an output in the row, both must give it. Without one, their values must read alike.
    """
    tasks = []
    for at, (row, other) in enumerate(zip(rows, renamed)):
        for form, code, call in (
            ("original", row.code, row.call_with("\n")),
            ("renamed", other.code, replace(row, code=other.code, input=other.input).call_with("\n")),
        ):
            check = CallCheck(call, row.output) if row.output else EvaluateCheck(call)
            tasks.append(Task(code, [check], id=f"{at} {form}"))
    verdicts = checker.check(tasks)
    return [_difference(row, *pair) for row, *pair in zip(rows, verdicts[::2], verdicts[1::2])]


def _difference(row: Row, original: Verdict, renamed: Verdict) -> str:
    if row.output:
        if original.outcome is not Outcome.PASSED:
            return f"the original does not give its output: {told(original)}"
        return "" if renamed.outcome is Outcome.PASSED else f"renamed, it gives another value: {told(renamed)}"
    if original.outcome is not Outcome.EVALUATED:
        return f"the original gives no value: {told(original)}"
    if renamed.outcome is not Outcome.EVALUATED:
        return f"renamed, it gives no value: {told(renamed)}"
    if original.value_truncated or renamed.value_truncated:
        return "the value is too long to compare; give the rows an output"
    return "" if original.value == renamed.value else f"renamed, it gives {renamed.value:.60}, not {original.value:.60}"


def told(verdict: Verdict) -> str:
    """A verdict in a few words."""
    if verdict.exception is not None:
        return f"{verdict.outcome.value} {verdict.exception.type}: {verdict.exception.message}".strip()
    return f"{verdict.outcome.value} {own_words(verdict) or verdict.value}".strip()
