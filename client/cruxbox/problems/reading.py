"""Files of problems and of samples. What is wrong with one row is that row's; the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cruxbox.errors import DataError
from cruxbox.problems.records import BadRow, Record, identity, records, text
from cruxbox.problems.sanitizing import sanitized
from cruxbox.problems.shapes import NoProblem, Problem, Problems, Sample

ReadProblem = Callable[[Record, str], Problem]
# What a row is called, by the benchmarks' own names for it.
ID_FIELDS = ("task_id", "question_id", "problem_id", "id", "name")


def read_problems(path: Path, read: ReadProblem) -> Problems:
    """The problems of a file, by their ids.

    Args:
        path: the file.
        read: makes a problem of a record, or raises BadRow; then the problem is there as a NoProblem.

    Raises DataError, naming file and line, if the file cannot be read, an id is there twice, or no problem is usable.
    """
    found: dict[str, Problem] = {}
    faults = []
    for where, record in records(path):
        problem = _problem(record, where, read)
        if isinstance(problem, NoProblem):
            faults.append(f"{where}: {problem.fault}")
            found.setdefault(problem.task_id, problem)
        elif isinstance(found.get(problem.task_id, _NOTHING), NoProblem):
            found[problem.task_id] = problem
        else:
            raise DataError(f"{where}: task_id {problem.task_id!r} is there twice")
    if all(isinstance(problem, NoProblem) for problem in found.values()):
        raise DataError(faults[0] if faults else f"{path}: holds no problems")
    return found


_NOTHING = NoProblem("")


def _problem(record: Record | BadRow, where: str, read: ReadProblem) -> Problem:
    if isinstance(record, BadRow):
        return NoProblem("", where, fault=str(record))
    try:
        return read(record, where)
    except BadRow as error:
        return NoProblem(_name(record), where, record, fault=str(error))


def _name(record: Record) -> str:
    try:
        return identity(record, *ID_FIELDS)
    except BadRow:
        return ""


def read_samples(path: Path, problems: Problems, *, clean: bool = False, runtime_column: str = "") -> list[Sample]:
    """The samples of a file, each for one of `problems`. DataError if none of them can be run.

    Args:
        path: JSON lines, a JSON array, or an object of lists; a row holds `completion` (what goes on behind the
            prompt), `solution` or `code` (a whole program), or `code_list` (several).
        problems: what they are for; MBPP's may be named `2` or `Mbpp/2`.
        clean: take code out of fences and chat before it is run (`sanitized`).
        runtime_column: the field, of the sample or else of its problem, that names the interpreter.
    """
    found = [sample for where, record in records(path) for sample in _samples(record, where, problems, clean)]
    if not found:
        raise DataError(f"{path}: holds no samples")
    if runtime_column:
        found = [sample if sample.fault else _with_runtime(sample, problems, runtime_column) for sample in found]
    if all(sample.fault for sample in found):
        raise DataError(f"{found[0].where}: {found[0].fault}")
    return found


def _samples(record: Record | BadRow, where: str, problems: Problems, clean: bool) -> Iterator[Sample]:
    if isinstance(record, BadRow):
        yield Sample("", "", {}, where, str(record), False)
        return
    try:
        problem = _problem_of(identity(record, *ID_FIELDS), problems)
    except BadRow as error:
        yield Sample("", "", record, where, str(error), False)
        return
    if isinstance(problem, NoProblem):
        fault = f"{problem.where}: {problem.fault}"
        yield Sample(problem.task_id, "", record, where, fault, False)
        return
    try:
        programs = _programs(record, problem, clean)
    except BadRow as error:
        yield Sample(problem.task_id, "", record, where, str(error))
        return
    several = "code_list" in record
    rest = {name: value for name, value in record.items() if name != "code_list"} if several else record
    for number, program in enumerate(programs):
        own = {**rest, "code": program, "sample": number} if several else record
        if isinstance(program, str):
            yield Sample(problem.task_id, program, own, where)
        else:
            fault = f"program {number} must be a string, is {type(program).__name__}"
            yield Sample(problem.task_id, "", own, where, fault)


def _problem_of(name: str, problems: Problems) -> Problem:
    benchmark, _, number = name.rpartition("/")
    problem = problems.get(name) or (problems.get(number) if benchmark.lower() == "mbpp" else None)
    if problem is None:
        raise BadRow(f"{name!r} is no task_id of the problems (they look like {next(filter(None, problems))!r})")
    return problem


def _programs(record: Record, problem: Problem, clean: bool) -> Sequence[Any]:
    """The programs that a record makes: a whole one, or what goes on behind the prompt; or several, of which any may be
    no string."""
    if "code_list" in record:
        several = record["code_list"]
        if not isinstance(several, list):
            raise BadRow(f"must hold a list of programs, holds {type(several).__name__}")
        return [_cleaned(each, problem, "", clean) if isinstance(each, str) else each for each in several]
    whole = "" if "completion" in record else next((name for name in ("solution", "code") if name in record), "")
    written = text(record, whole or "completion")
    if whole or clean:
        return [_cleaned(written, problem, "" if whole else problem.prompt, clean)]
    return [problem.completed(written)]


def _cleaned(written: str, problem: Problem, prompt: str, clean: bool) -> str:
    return sanitized(written, problem.entry_point, prompt) if clean else written


def _with_runtime(sample: Sample, problems: Problems, column: str) -> Sample:
    for record in (sample.record, problems[sample.task_id].record):
        value = record.get(column)
        if isinstance(value, str) and value:
            return replace(sample, runtime=value)
        if value is not None and value != "":
            fault = f"field {column!r} must name a runtime, is {type(value).__name__}"
            return replace(sample, fault=fault, counts=False)
    return sample
