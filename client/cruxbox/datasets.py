"""Functions for `datasets.Dataset.map(..., batched=True)`: columns in, columns out, and they pickle.

>>> dataset.map(Checker("dns:///cruxboxd:50051"), batched=True)
>>> dataset.map(Filter("dns:///cruxboxd:50051"), batched=True, remove_columns=dataset.column_names)

A column is a list with an item for each row. Only what they were told travels when they are pickled; each process
connects when it gets its first batch, and again when the server went away.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cruxbox import arguments
from cruxbox.arguments import FLAG, TEXT, of_type
from cruxbox.client import Client
from cruxbox.errors import DataError
from cruxbox.filtering import PAPER, BadRow, Judged, Rules, candidate, filter_candidates, kept_row, rejected_row
from cruxbox.model import CallCheck, Limits, Task
from cruxbox.sentences import own_words

Columns = Mapping[str, Sequence[Any]]


class Checker:
    """Adds to each row of `program`, `call` and `expected` what became of the check: `outcome`, `passed`, `value`,
    `steps` and `error`. `passed` is None where the sandbox could not decide.

    Args:
        target: the server, as for `cruxbox.Client`; None starts one in each process.
        runtime: name of the server's interpreter; "" is its default.
        limits: of each check; None is the server's defaults.
        client_options: more arguments of `cruxbox.Client`.
    """

    def __init__(
        self, target: str | None = None, *, runtime: str = "", limits: Limits | None = None, **client_options: Any
    ) -> None:
        arguments.check_one("runtime", runtime, TEXT)
        arguments.check_one("limits", limits, of_type(Limits, "Limits").or_none())
        self._client = Client(target, **client_options)
        self._runtime, self._limits = runtime, limits or Limits()

    def __call__(self, columns: Columns) -> dict[str, list[Any]]:
        """The columns of a batch, and those of the verdicts. Raises DataError for columns that are none."""
        _check_lengths(columns)
        programs, calls, expected = (_column(columns, name) for name in ("program", "call", "expected"))
        tasks = [
            Task(program, [CallCheck(call, value)], limits=self._limits, runtime=self._runtime)
            for program, call, value in zip(programs, calls, expected)
        ]
        verdicts = self._client.check(tasks)
        return {
            **{name: list(items) for name, items in columns.items()},
            "outcome": [verdict.outcome.name for verdict in verdicts],
            "passed": [verdict.passed for verdict in verdicts],
            "value": [verdict.value for verdict in verdicts],
            "steps": [verdict.steps for verdict in verdicts],
            "error": [
                f"{verdict.exception.type}: {verdict.exception.message}" if verdict.exception else own_words(verdict)
                for verdict in verdicts
            ],
        }


class Filter:
    """From rows of `code` and `input` (or `inputs`) to the pairs that pass the rules, as `cruxbox filter` writes them.

    Duplicates are looked for within a batch only. Columns beside these are kept.

    Args:
        target: the server, as for `cruxbox.Client`; None starts one in each process.
        rules: what is refused.
        runtime: name of the server's interpreter; "" is its default.
        keep_refused: give the refused pairs as well; `reasons` is empty for those that pass.
        client_options: more arguments of `cruxbox.Client`.
    """

    def __init__(
        self,
        target: str | None = None,
        *,
        rules: Rules = PAPER,
        runtime: str = "",
        keep_refused: bool = False,
        **client_options: Any,
    ) -> None:
        arguments.check_one("rules", rules, of_type(Rules, "Rules"))
        arguments.check_one("runtime", runtime, TEXT)
        arguments.check_one("keep_refused", keep_refused, FLAG)
        self._client = Client(target, **client_options)
        self._rules, self._runtime, self._keep_refused = rules, runtime, keep_refused

    def __call__(self, columns: Columns) -> dict[str, list[Any]]:
        """The columns of the pairs of a batch. Raises DataError for a row that cannot be used."""
        _check_lengths(columns)
        names = list(columns)
        records = [dict(zip(names, row)) for row in zip(*columns.values())]
        items = [candidate(_without_nulls(record), at, at + 1) for at, record in enumerate(records)]
        results = filter_candidates(items, self._client, self._rules, runtime=self._runtime)
        rows = [self._row(result) for result in results if self._keep_refused or _is_kept(result)]
        extra = [name for name in names if name not in ("code", "input", "inputs", "output", "outputs", "id")]
        fields = ["code", "input", "output", "id", "steps", "given_output", "reasons", "source", *extra]
        return {name: [row.get(name) for row in rows] for name in fields}

    def _row(self, judged: BadRow | Judged) -> dict[str, Any]:
        """A row whose fields are the same for every pair, as columns need it."""
        assert isinstance(judged, Judged)
        row = kept_row(judged, "", self._rules) if judged.is_kept else rejected_row(judged, "")
        row["reasons"] = list(judged.reasons)
        row["source"] = json.dumps(row["source"])
        return row


def _is_kept(result: BadRow | Judged) -> bool:
    if isinstance(result, BadRow):
        raise DataError(f"row {result.row} of the batch: {result.reason}")
    return result.is_kept


def _without_nulls(record: Mapping[str, Any]) -> dict[str, Any]:
    """A column has an item for every row: an absent value is a null there."""
    return {name: value for name, value in record.items() if value is not None}


def _check_lengths(columns: Columns) -> None:
    lengths = {name: len(items) for name, items in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise DataError(f"columns have an item for each row; the numbers of items differ: {told}")


def _column(columns: Columns, name: str) -> Sequence[Any]:
    if name not in columns:
        raise DataError(f"there is no column {name!r}; there are {', '.join(columns) or 'none'}")
    return columns[name]
