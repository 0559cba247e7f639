"""HumanEval's own files: problems, samples, results. Mistakes are named by file and line."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from cruxbox.errors import DataError
from cruxbox.model import Limits, Outcome, ScriptCheck, Task, Verdict
from cruxbox.passk import pass_at_k
from cruxbox.reading import NotJson, lines, parse_json


@dataclass(frozen=True)
class Problem:
    """One line of HumanEval.jsonl: the prompt is the head of a program, `test` defines `check(candidate)`."""

    task_id: str
    prompt: str
    entry_point: str
    test: str


@dataclass(frozen=True)
class Sample:
    """One line of a samples file, as it stood there: `completion` goes on behind the prompt, `solution` is whole."""

    task_id: str
    program: str
    record: Mapping[str, Any]


Problems = Mapping[str, Problem]


def read_problems(path: Path) -> Problems:
    """The problems of a JSONL file, `.gz` or not, by their ids. DataError names file and line."""
    found: dict[str, Problem] = {}
    for where, record in _records(path):
        texts = [_text(record, name, where) for name in ("task_id", "prompt", "entry_point", "test")]
        if texts[0] in found:
            raise DataError(f"{where}: task_id {texts[0]!r} is there twice")
        if not texts[2].isidentifier():
            raise DataError(f"{where}: entry_point is {texts[2]!r}, which is not a Python name")
        found[texts[0]] = Problem(*texts)
    if not found:
        raise DataError(f"{path}: holds no problems")
    return found


def read_samples(path: Path, problems: Problems) -> list[Sample]:
    """The samples of a JSONL file, each for one of `problems`. DataError names file and line."""
    found = []
    for where, record in _records(path):
        name = _text(record, "task_id", where)
        if name not in problems:
            raise DataError(
                f"{where}: {name!r} is no task_id of the problems (they look like {next(iter(problems))!r})"
            )
        if "solution" in record and "completion" not in record:
            program = _text(record, "solution", where)
        else:
            program = problems[name].prompt + _text(record, "completion", where)
        found.append(Sample(name, program, record))
    if not found:
        raise DataError(f"{path}: holds no samples")
    return found


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(file and line, object) of each line that is not blank."""
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(lines(cast("IO[bytes]", file), path), 1):
                if not line.strip():
                    continue
                record = parse_json(line)
                if not isinstance(record, dict):
                    raise DataError(f"{path}, line {number}: must be an object, is {type(record).__name__}")
                yield f"{path}, line {number}", record
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: is not a gzip file: {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    except NotJson as error:
        raise DataError(f"{path}, line {number}: {error}") from None


def _text(record: Mapping[str, Any], name: str, where: str) -> str:
    if name not in record:
        raise DataError(f"{where}: field {name!r} is missing")
    value = record[name]
    if not isinstance(value, str):
        raise DataError(f"{where}: field {name!r} must be a string, is {type(value).__name__}")
    return value


# ---- what is asked --------------------------------------------------------------


def task_of(sample: Sample, problem: Problem, limits: Limits) -> Task:
    """The sample under its problem's test, which calls check(entry point) as the released harness does."""
    script = f"{problem.test}\ncheck({problem.entry_point})"
    return Task(sample.program, [ScriptCheck(script, entry_point=problem.entry_point)], limits=limits)


# ---- what is answered -----------------------------------------------------------


def result_line(sample: Sample, verdict: Verdict) -> dict[str, Any]:
    """The released harness's line for a sample, with outcome and assurance; `passed` is None for a fault of ours."""
    return {
        **sample.record,
        "result": _result(verdict),
        "passed": verdict.passed,
        "outcome": verdict.outcome.name,
        "assurance": None if verdict.assurance is None else verdict.assurance.name,
    }


def _result(verdict: Verdict) -> str:
    """The released harness's words: passed, timed out, or failed and why."""
    if verdict.outcome is Outcome.PASSED:
        return "passed"
    if verdict.outcome is Outcome.TIMED_OUT:
        return "timed out"
    if verdict.outcome is Outcome.SANDBOX_ERROR:
        return f"sandbox error: {verdict.detail}"
    if verdict.exception is not None and verdict.exception.type != "AssertionError":
        return f"failed: {verdict.exception.type}: {verdict.exception.message}"
    return f"failed: {verdict.exception.message if verdict.exception is not None else verdict.detail}"


def mean_pass_at_k(samples: Sequence[Sample], verdicts: Sequence[Verdict], ks: Sequence[int]) -> dict[int, float]:
    """Mean pass@k in percent over the tasks that were tried, for each k that every one of them has samples enough for.

    Samples without a verdict (a fault of ours) are left out of n.
    """
    marks: dict[str, list[bool]] = {}
    for sample, verdict in zip(samples, verdicts):
        row = marks.setdefault(sample.task_id, [])
        if verdict.passed is not None:
            row.append(verdict.passed)
    fewest = min(map(len, marks.values()), default=0)
    rows = marks.values()
    return {k: sum(pass_at_k(len(row), sum(row), k) for row in rows) / len(rows) * 100 for k in ks if k <= fewest}


def default_out(samples: Path) -> Path:
    """Where the released harness puts its results."""
    return samples.with_name(os.path.basename(samples) + "_results.jsonl")
