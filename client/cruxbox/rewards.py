"""What completions earn by the tests of the problems that they are for, in the form in which trainers ask for it.

>>> trainer = GRPOTrainer(..., reward_funcs=Reward("dns:///cruxboxd:50051"), train_dataset=dataset)  # TRL

Only what a Reward was told travels when it is pickled; each process connects when it gets its first batch, and again
when the server went away.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Union

from cruxbox import arguments
from cruxbox.arguments import TEXT, of_type
from cruxbox.client import Client
from cruxbox.errors import DataError
from cruxbox.model import Limits, Priority, Task
from cruxbox.problems import bigcodebench, contests, functions
from cruxbox.problems.reading import problem_or_fault, sample_of, sample_without_problem
from cruxbox.problems.records import BadRow, Record
from cruxbox.problems.results import Fields
from cruxbox.problems.running import CPU_LIMIT_S, judged
from cruxbox.problems.shapes import NoProblem, Problem, Problems, Sample
from cruxbox.reading import NotJson, kind_of, parse_json

Row = Union[str, Record]
# Which fields a benchmark's rows are known by, and what reads them; `functions` reads all others.
_BENCHMARKS = ((frozenset(["code_prompt"]), bigcodebench.problem_of), (contests.FIELDS, contests.problem_of))
_OPTIONAL = {"task_id": "problem", "prompt": ""}


class Reward:
    """1.0 for a completion that passes the tests of its problem and 0.0 for one that does not. None where that is not
    known, for a fault of the sandbox or of the problem: the trainer has to leave such a completion out.

    A problem is a row of HumanEval, MBPP, EvalPlus, APPS, CodeContests, LiveCodeBench or BigCodeBench, told by its
    fields: an object, or its JSON text. It needs neither an id nor a prompt. A completion is what a model wrote, chat
    and all; or the messages of a conversation, of which the last one counts.

    Args:
        target: the server, as for `cruxbox.Client`; None starts one in each process.
        column: the column of a data set that holds the problems.
        runtime: name of the server's interpreter; "" is its default.
        limits: of each test; None is what the commands that run samples have.
        client_options: more arguments of `cruxbox.Client`.
    """

    def __init__(
        self,
        target: str | None = None,
        *,
        column: str = "problem",
        runtime: str = "",
        limits: Limits | None = None,
        **client_options: Any,
    ) -> None:
        arguments.check_one("column", column, TEXT)
        arguments.check_one("runtime", runtime, TEXT)
        arguments.check_one("limits", limits, of_type(Limits, "Limits").or_none())
        self._client = Client(target, **client_options)
        self._column, self._runtime = column, runtime
        self._limits = limits or Limits(cpu_ms=int(CPU_LIMIT_S * 1000))

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """The rewards of a batch, in order, as TRL's trainers ask for them: with the data set's columns by their names.

        `log_metric`, where the trainer has that, is told for what share of the batch nothing is known. Raises DataError
        if there is no column of problems.
        """
        if self._column not in columns:
            raise DataError(f"the data set has no column {self._column!r}, which holds the problems")
        passed = [fields["passed"] for fields in self.judge(completions, columns[self._column])]
        if passed and columns.get("log_metric") is not None:
            columns["log_metric"]("cruxbox/unknown", passed.count(None) / len(passed))
        return [None if each is None else float(each) for each in passed]

    def judge(self, completions: Sequence[Any], problems: Sequence[Row]) -> list[Fields]:
        """What became of each completion, in order: `passed` (True, False or None), `outcome`, `result` and what else a
        result line says (docs/samples.md). Raises DataError if their numbers differ."""
        if len(completions) != len(problems):
            raise DataError(f"the numbers of items differ: {len(completions)} completions, {len(problems)} problems")
        if not completions:
            return []
        rows = list(problems)  # a column may make them anew each time
        names = list(map(_name, rows))
        known = _known(dict(zip(names, rows)))
        samples = [
            self._sample(_text(written, at), known[name]) for at, (written, name) in enumerate(zip(completions, names))
        ]
        return judged(self._client, known, samples, self._limits, _first)

    def _sample(self, written: str, problem: Problem) -> Sample:
        if isinstance(problem, NoProblem):
            return sample_without_problem(problem, {})
        return replace(sample_of(written, problem, {}, is_rest=True, clean=True), runtime=self._runtime)


def _first(task: Task) -> Task:
    """A trainer waits for it, and nobody for what the same tenant evaluates in bulk."""
    return replace(task, priority=Priority.INTERACTIVE)


def _name(row: Row) -> str:
    """What a problem is known by, as it needs no id: its own text. One that holds what is no JSON is like no other."""
    try:
        return row if isinstance(row, str) else json.dumps(row, sort_keys=True)
    except (TypeError, ValueError):
        return f"at {id(row)}"


def _known(rows: Mapping[str, Row]) -> Problems:
    """The problems of a batch, by their names, with a warning of each row that is none: no training ends for one."""
    known = {}
    for at, (name, row) in enumerate(rows.items()):
        known[name] = replace(problem_or_fault(_record(row), f"problem {at}", _read), task_id=name)
    for one in known.values():
        if isinstance(one, NoProblem):
            warnings.warn(f"{one.where}: {one.fault}; its completions have no reward", stacklevel=4)
    return known


def _read(record: Record, where: str) -> Problem:
    read = next((read for fields, read in _BENCHMARKS if fields & record.keys()), functions.problem_of)
    return read({**_OPTIONAL, **record}, where)


def _record(row: Row) -> Record | BadRow:
    """Without what is null: a column of objects has all fields that any of them has."""
    try:
        value = parse_json(row) if isinstance(row, str) else row
    except NotJson as error:
        return BadRow(str(error))
    if not isinstance(value, Mapping):
        return BadRow(f"must be an object, is {kind_of(value)}")
    return {name: each for name, each in value.items() if each is not None}


def _text(completion: Any, at: int) -> str:
    """What the model wrote, also of a conversation, whose messages may be in parts."""
    if isinstance(completion, str):
        return completion
    try:
        content = completion[-1]["content"]
        parts = [content] if isinstance(content, str) else [part.get("text") for part in content or ()]
        return "".join(filter(None, parts))
    except (TypeError, LookupError, AttributeError):
        raise DataError(f"completion {at} must be a text, or messages with a content, is {completion!r:.80}") from None
