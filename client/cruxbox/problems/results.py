"""What became of a sample: its result line, and pass@k over all of them with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from cruxbox.model import Assurance, Outcome, Verdict
from cruxbox.passk import pass_at_k
from cruxbox.problems.shapes import Problem, Sample
from cruxbox.sentences import own_words

Fields = Mapping[str, Any]
Marks = Mapping[str, Sequence[Optional[bool]]]
# What a result begins with that is no verdict on the sample's program.
FAULT = "invalid: "
# What the detail of an INVALID begins with where the problem is at fault: the test, or a field of the request that has
# a part of it. The server says first what is wrong with the program.
_OF_THE_TEST = ("the script", "the checker", "a checker", "the check holds", "script.", "stdio.")
# How that of an INVALID begins in which the program may have a part: the test has a part of it run as code, or a suite
# asks it which tests to skip. What the problem's own solution comes to says whose fault it is.
_OF_BOTH = ("code that may be the program's", "the suite holds no test", "every test of the suite was skipped")


def fields_of(problem: Problem, verdicts: Sequence[Verdict], tests: int) -> dict[str, Any]:
    """What a result line adds to a sample: the released harness's `result` and `passed`, outcome and assurance.

    Args:
        problem: what the sample is for.
        verdicts: those of the checks that were run, in order.
        tests: how many checks there would have been.

    `passed` is None for a fault of ours. Where checks have names, what became of each stands under its name; where
    there are many, how many there are and the first that did not pass. The line is about that one.
    """
    decisive = next((verdict for verdict in verdicts if _mark(verdict) is False), None)
    decisive = decisive or next((verdict for verdict in verdicts if _mark(verdict) is None), verdicts[0])
    sides = [verdict.assurance for verdict in verdicts if verdict.assurance is not None]
    weakest = min(sides, key=list(Assurance).index, default=None)  # which stand weakest first
    found: dict[str, Any] = {
        "result": _result(decisive, problem.where),
        "passed": _passed(verdicts),
        "outcome": decisive.outcome.name,
        "assurance": None if weakest is None else weakest.name,
        **{name: _mark(verdict) for name, verdict in zip(problem.names, verdicts)},
    }
    if tests > 1 and not problem.names:
        found["tests"] = tests
        if decisive.passed is not True:
            found["failed"] = decisive.check_id
    if decisive.tests:
        found["tests"] = len(decisive.tests)
        bad = [test.name for test in decisive.tests if test.outcome.name in ("FAILED", "ERROR")]
        if bad:
            found["failed"] = bad[0]
    return found


def fields_of_fault(sample: Sample, fault: str, counts: bool) -> dict[str, Any]:
    """The same of a row that cannot be run: INVALID, and wrong where that is the generation's own fault."""
    return {
        "result": f"{FAULT}{fault if not sample.where else f'{sample.where}: {fault}'}",
        "passed": False if counts else None,
        "outcome": Outcome.INVALID.name,
        "assurance": None,
    }


def is_of_the_test(verdict: Verdict) -> bool:
    """Does it say that the test or its checker cannot be used, and nothing of the program?"""
    return verdict.outcome is Outcome.INVALID and own_words(verdict).startswith(_OF_THE_TEST)


def may_be_of_the_test(verdict: Verdict) -> bool:
    """Has it failed, or cannot be used, where that may be for the test's being elsewhere than the program?"""
    if verdict.outcome is Outcome.INVALID:
        return own_words(verdict).startswith(_OF_BOTH)
    return verdict.passed is False


def _passed(verdicts: Sequence[Verdict]) -> bool | None:
    """Did every test pass? None where that is not known for a fault of ours or of the test, and nothing failed."""
    marks = [_mark(verdict) for verdict in verdicts]
    if False in marks:
        return False
    return None if None in marks else True


def _mark(verdict: Verdict) -> bool | None:
    """As `Verdict.passed`, but None where the test or its checker cannot be used, which no candidate has a part in."""
    return None if is_of_the_test(verdict) else verdict.passed


def _result(verdict: Verdict, where: str) -> str:
    """The released harness's words: passed, timed out, or failed and why; `invalid` for a fault of the test."""
    if verdict.outcome is Outcome.PASSED:
        return "passed"
    if verdict.outcome is Outcome.TIMED_OUT:
        return "timed out"
    if verdict.outcome is Outcome.SANDBOX_ERROR:
        return f"sandbox error: {own_words(verdict)}"
    if _mark(verdict) is None:
        return f"{FAULT}{where}: {own_words(verdict)}"
    return f"failed: {_why(verdict)}"


def _why(verdict: Verdict) -> str:
    error = verdict.exception
    if error is None:
        return own_words(verdict)
    if error.type != "AssertionError":
        return f"{error.type}: {error.message}"
    line = f" (line {error.line} of the test)" if error.line else ""
    return f"{error.message or own_words(verdict)}{line}"


# ---- pass@k --------------------------------------------------------------------------------------------------------


def marks_of(samples: Sequence[Sample], fields: Sequence[Fields], name: str = "passed") -> Marks:
    """By task, what each of its samples came to; rows of no task are not there."""
    marks: dict[str, list[bool | None]] = {}
    for sample, own in zip(samples, fields):
        if sample.task_id:
            marks.setdefault(sample.task_id, []).append(own.get(name, False if own["passed"] is False else None))
    return marks


def mean_pass_at_k(marks: Marks, ks: Sequence[int]) -> dict[int, float]:
    """Mean pass@k in percent over the tasks with a mark, for each k that every one of them has marks enough for.

    What has no mark (a fault of ours) is left out of n; a task without any is left out of the mean.
    """
    fewest = min(map(len, _known(marks)), default=0)
    return {k: sum(scores := scores_of(marks, k)) / len(scores) * 100 for k in ks if k <= fewest}


def scores_of(marks: Marks, k: int) -> list[float]:
    """pass@k of each task with marks enough."""
    return [pass_at_k(len(row), sum(row), k) for row in _known(marks) if len(row) >= k]


def _known(marks: Marks) -> list[list[bool]]:
    rows = [[mark for mark in row if mark is not None] for row in marks.values()]
    return [row for row in rows if row]
