"""Problems with tests, samples and results, in the files of HumanEval, EvalPlus and MBPP.

Mistakes are named by file and line; what is wrong with one sample is that sample's INVALID.
"""

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
from cruxbox.problems.evalplus import scripts_of
from cruxbox.problems.sanitizing import sanitized
from cruxbox.reading import NotJson, lines, parse_json, read_json


@dataclass(frozen=True)
class Problem:
    """One problem: the prompt is the head of a program, each script of `tests` calls `entry_point` ("" if the script
    uses the program's names as they are). The tests of HumanEval have no name; EvalPlus has "base" and "plus"."""

    task_id: str
    prompt: str
    entry_point: str
    tests: Mapping[str, str]
    canonical: str = ""  # a whole program that solves it, where the file has one


@dataclass(frozen=True)
class Sample:
    """One line of a samples file, as it stood there: `completion` goes on behind the prompt, `solution` is whole."""

    task_id: str
    program: str
    record: Mapping[str, Any]


Problems = Mapping[str, Problem]


def read_problems(path: Path) -> Problems:
    """The problems of a file, by their ids: JSONL or a JSON array, `.gz` or not. DataError names file and line.

    Read are HumanEval's and HumanEval+'s rows (prompt, entry_point, test), EvalPlus's own (base_input, plus_input), and
    MBPP's and MBPP+'s (test, or test_list with test_imports and test_setup_code).
    """
    found: dict[str, Problem] = {}
    for where, record in _records(path):
        problem = _problem(record, where)
        if problem.task_id in found:
            raise DataError(f"{where}: task_id {problem.task_id!r} is there twice")
        found[problem.task_id] = problem
    if not found:
        raise DataError(f"{path}: holds no problems")
    return found


def _problem(record: Mapping[str, Any], where: str) -> Problem:
    """A record of any of the formats, told by its fields."""
    task_id = _id(record, where)
    if "base_input" in record:
        return _of_evalplus(record, task_id, where)
    if "entry_point" in record or not ({"test", "test_list"} & set(record)):
        texts = [_text(record, name, where) for name in ("prompt", "entry_point", "test")]
        canonical = _canonical(record, "canonical_solution", texts[0])
        return Problem(task_id, texts[0], _name(texts[1], where), {"": f"{texts[2]}\ncheck({texts[1]})"}, canonical)
    return Problem(task_id, "", "", {"": _mbpp_script(record, where)}, _canonical(record, "code", ""))


def _canonical(record: Mapping[str, Any], name: str, prompt: str) -> str:
    value = record.get(name)
    return prompt + value if isinstance(value, str) and value.strip() else ""


def _of_evalplus(record: Mapping[str, Any], task_id: str, where: str) -> Problem:
    entry_point = _name(_text(record, "entry_point", where), where)
    prompt, canonical = _text(record, "prompt", where), _text(record, "canonical_solution", where)
    try:
        tests = scripts_of({**record, "canonical_solution": canonical, "prompt": prompt})
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(f"{where}: is no problem of EvalPlus's: {error}") from None
    # MBPP's prompt is a docstring, which completions stand behind as well as whole programs do.
    return Problem(task_id, prompt, entry_point, tests, prompt + canonical)


def _mbpp_script(record: Mapping[str, Any], where: str) -> str:
    if isinstance(record.get("test"), str):
        return cast(str, record["test"])
    parts = [*_texts(record, "test_imports", where), str(record.get("test_setup_code") or "")]
    return "\n".join([*parts, *_texts(record, "test_list", where)])


def _texts(record: Mapping[str, Any], name: str, where: str) -> list[str]:
    value = record.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DataError(f"{where}: field {name!r} must be a list of strings")
    return value


def _id(record: Mapping[str, Any], where: str) -> str:
    """task_id, which is a number in MBPP's files."""
    value = record.get("task_id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _text(record, "task_id", where)


def _name(text: str, where: str) -> str:
    if not text.isidentifier():
        raise DataError(f"{where}: entry_point is {text!r}, which is not a Python name")
    return text


def read_samples(path: Path, problems: Problems, *, clean: bool = False) -> list[Sample]:
    """The samples of a JSONL file, each for one of `problems`. DataError names file and line.

    Args:
        path: the file.
        problems: what they are for; MBPP's may be named `2` or `Mbpp/2`.
        clean: take code out of fences and chat before it is run (`sanitized`).
    """
    found = []
    for where, record in _records(path):
        problem = problems.get(name := _id(record, where)) or problems.get(name.rpartition("/")[2])
        if problem is None:
            raise DataError(
                f"{where}: {name!r} is no task_id of the problems (they look like {next(iter(problems))!r})"
            )
        found.append(Sample(problem.task_id, _program(record, problem, where, clean), record))
    if not found:
        raise DataError(f"{path}: holds no samples")
    return found


def _program(record: Mapping[str, Any], problem: Problem, where: str, clean: bool) -> str:
    """The program that a record makes: a whole one, or what goes on behind the prompt."""
    is_whole = "solution" in record and "completion" not in record
    text = _text(record, "solution" if is_whole else "completion", where)
    if clean:
        return sanitized(text, problem.entry_point, "" if is_whole else problem.prompt)
    return text if is_whole else problem.prompt + text


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(file and line, object) of each line that is not blank; or of each item, where the file is one array."""
    number = 0
    if path.suffix == ".json" and isinstance(array := read_json(path), list):
        for number, record in enumerate(array, 1):
            if not isinstance(record, dict):
                raise DataError(f"{path}, item {number}: must be an object, is {type(record).__name__}")
            yield f"{path}, item {number}", record
        return
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
    """The sample under its problem's tests: a check each, in the order of `problem.tests`."""
    checks = [ScriptCheck(script, problem.entry_point, id=name or "test") for name, script in problem.tests.items()]
    return Task(sample.program, checks, limits=limits)


# ---- what is answered -----------------------------------------------------------


def result_line(sample: Sample, problem: Problem, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The released harness's line for a sample, with outcome and assurance; `passed` is None for a fault of ours.

    Where tests have names, what became of each stands under its name; the line itself is about the first that did not
    pass.
    """
    decisive = next((verdict for verdict in verdicts if verdict.outcome is not Outcome.PASSED), verdicts[0])
    named = {name: verdict.passed for name, verdict in zip(problem.tests, verdicts) if name}
    return {
        **sample.record,
        "result": _result(decisive),
        "passed": passed(verdicts),
        "outcome": decisive.outcome.name,
        "assurance": None if decisive.assurance is None else decisive.assurance.name,
        **named,
    }


def passed(verdicts: Sequence[Verdict]) -> bool | None:
    """Did every test pass? None where that is not known for a fault of ours, and nothing failed."""
    marks = [verdict.passed for verdict in verdicts]
    if False in marks:
        return False
    return None if None in marks else True


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


def mean_pass_at_k(
    samples: Sequence[Sample], verdicts: Sequence[Sequence[Verdict]], ks: Sequence[int]
) -> dict[int, float]:
    """Mean pass@k in percent over the tasks that were tried, for each k that every one of them has samples enough for.

    Samples without a verdict (a fault of ours) are left out of n.
    """
    marks: dict[str, list[bool]] = {}
    for sample, own in zip(samples, verdicts):
        row = marks.setdefault(sample.task_id, [])
        mark = passed(own)
        if mark is not None:
            row.append(mark)
    fewest = min(map(len, marks.values()), default=0)
    rows = marks.values()
    return {k: sum(pass_at_k(len(row), sum(row), k) for row in rows) / len(rows) * 100 for k in ks if k <= fewest}


def default_out(samples: Path) -> Path:
    """Where the released harness puts its results."""
    return samples.with_name(os.path.basename(samples) + "_results.jsonl")
