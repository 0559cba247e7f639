"""Files of problems and of samples. What is wrong with one row is that row's; the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cruxbox.errors import DataError
from cruxbox.problems.records import BadRow, Record, identity, records
from cruxbox.problems.sanitizing import sanitized
from cruxbox.problems.shapes import NoProblem, Problem, Problems, Sample
from cruxbox.reading import kind_of
from cruxbox.sentences import too_large

ReadProblem = Callable[[Record, str], Problem]
# What a row is called, by the benchmarks' own names for it.
ID_FIELDS = ("task_id", "question_id", "problem_id", "id", "name")
# Where a sample's programs are; the rest of a program behind the prompt; what one of several is called.
_REST = ("completion", "completions")
_PROGRAMS = ("code_list", "solution", *_REST, "code")
_ONE_OF = {"code_list": "code", "completions": "completion"}


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
        problem = problem_or_fault(record, where, read)
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


def problem_or_fault(record: Record | BadRow, where: str, read: ReadProblem) -> Problem:
    """The problem that `read` makes of a record; a NoProblem where it is none."""
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
            prompt), `solution` or `code` (a whole program), or a list of them. Or a folder TASK/*.py of whole programs.
        problems: what they are for; MBPP's may be named `2` or `Mbpp/2`.
        clean: take code out of fences and chat before it is run (`sanitized`).
        runtime_column: the field, of the sample or else of its problem, that names the interpreter.
    """
    found = [sample for where, record in records(path) for sample in _samples(record, where, problems, clean)]
    if not found:
        raise DataError(f"{path}: holds no samples")
    if runtime_column:
        _check_column(path, found, problems, runtime_column)
        found = [sample if sample.fault else _with_runtime(sample, problems, runtime_column) for sample in found]
    refuse_if_none_can_run(found)
    return found


def refuse_if_none_can_run(samples: Sequence[Sample]) -> None:
    """DataError with the fault of the first, where each of the samples has one."""
    if all(sample.fault for sample in samples):
        raise DataError(f"{samples[0].where}: {samples[0].fault}")


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
        yield sample_without_problem(problem, record, where)
        return
    try:
        field = _field_of(record)
    except BadRow as error:
        yield Sample(problem.task_id, "", record, where, str(error))
        return
    value, rest = record[field], {name: each for name, each in record.items() if name != field}
    is_several = isinstance(value, list)
    if value == []:
        yield Sample(problem.task_id, "", record, where, f"field {field!r} is an empty list, which is no sample", False)
    for number, written in enumerate(value if is_several else [value]):
        own = {**rest, _ONE_OF.get(field, field): written, "sample": number} if is_several else record
        if isinstance(written, str):
            yield sample_of(written, problem, own, where, is_rest=field in _REST, clean=clean)
        else:
            which = f"item {number} of field" if is_several else "field"
            fault = f"{which} {field!r} must be a string, is {kind_of(written)}"
            yield Sample(problem.task_id, "", own, where, fault)


def _problem_of(name: str, problems: Problems) -> Problem:
    for each in (name, name.replace("_", "/")):  # EvalPlus's folders, which cannot hold a slash
        benchmark, _, number = each.rpartition("/")
        is_numbered = benchmark.lower() in ("", "mbpp")
        for known in (each, number, f"Mbpp/{number}") if is_numbered else (each,):
            if known in problems:
                return problems[known]
    raise BadRow(f"{name!r:.100} is no task_id of the problems (they look like {next(filter(None, problems))!r:.100})")


def _field_of(record: Record) -> str:
    """The field that holds the program, or several. In EvalPlus's rows with both, the solution counts, too."""
    there = [name for name in _PROGRAMS if name in record]
    if not there:
        has = ", ".join(f"{name!r:.40}" for name in list(record)[:6])
        raise BadRow(f"has none of the fields {', '.join(map(repr, _PROGRAMS))}; it has {has}")
    return next((name for name in there if record[name] is not None), there[0])


def sample_without_problem(problem: NoProblem, record: Record, where: str = "") -> Sample:
    """One of which nothing is known, as what it is for is no problem."""
    return Sample(problem.task_id, "", record, where, f"{problem.where}: {problem.fault}", False)


def sample_of(written: str, problem: Problem, record: Record, where: str = "", *, is_rest: bool, clean: bool) -> Sample:
    """What a model wrote for a problem: a whole program, or (`is_rest`) one that goes on behind the prompt."""
    fault, program = too_large(written), written
    if fault:
        program = ""
    elif clean:
        program = sanitized(written, problem.entry_point, problem.prompt if is_rest else "")
    elif is_rest:
        program = problem.completed(written)
    return Sample(problem.task_id, program, record, where, fault)


def _check_column(path: Path, samples: Sequence[Sample], problems: Problems, column: str) -> None:
    """A field that no row has is a misspelt one, even where --runtime names a runtime for rows without it."""
    whole = [sample for sample in samples if not sample.fault]
    if whole and not any(column in one for each in whole for one in (each.record, problems[each.task_id].record)):
        raise DataError(f"{path}: no sample has the field {column!r:.80}, which names the runtime, nor has its problem")


def _with_runtime(sample: Sample, problems: Problems, column: str) -> Sample:
    for record in (sample.record, problems[sample.task_id].record):
        value = record.get(column)
        if isinstance(value, str) and value:
            return replace(sample, runtime=value)
        if value is not None and value != "":
            fault = f"field {column!r} must name a runtime, is {kind_of(value)}"
            return replace(sample, fault=fault, counts=False)
    return sample
