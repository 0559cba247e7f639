"""`cruxbox steps`: how many steps each row of a data set takes."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.table import Table

from cruxbox.building.rows import Row, check_records, write_records
from cruxbox.cli.check import error_of, refuse_unless_they_run
from cruxbox.cli.connect import AsJson
from cruxbox.cli.outputs import file_path, goes_to_stdout
from cruxbox.cli.running import Running, runs_programs
from cruxbox.cli.show import note, print_json, print_table, progress_bar
from cruxbox.cruxeval import Dataset, read_dataset, read_prelude, with_prelude
from cruxbox.model import EvaluateCheck, Outcome, ScriptCheck, StepCount, Task, Verdict

_COUNTED = (Outcome.EVALUATED, Outcome.PASSED)


class Count(str, enum.Enum):
    """What a step is."""

    INSTRUCTIONS = "instructions"
    EVENTS = "events"


CountOption = Annotated[
    Count,
    typer.Option(
        "--count", help="instructions: bytecode instructions of the call. events: trace events, the paper's numsteps."
    ),
]


@runs_programs()
def command(
    dataset: Annotated[Path, typer.Argument(metavar="DATA.jsonl", help="Rows {code, input, output, id}.")],
    count: CountOption = Count.INSTRUCTIONS,
    out: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE", parser=file_path, help="Write the rows with their counts as `steps`."),
    ] = None,
    prelude: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE.py", help="Text to put in front of every program, such as LiveCodeBench's imports."),
    ] = None,
    as_json: AsJson = False,
    *,
    running: Running,
) -> None:
    """Count the steps of each row of a data set.

    The exit code is 1 if a row has no count, because it does not run to its end.
    """
    taken = goes_to_stdout(as_json, out=out)
    check_records(out, dataset, prelude)
    rows, front = read_dataset(dataset), read_prelude(prelude)
    with running.connect() as client, progress_bar("counting") as progress:
        refuse_unless_they_run({} if prelude is None else {prelude: front}, client)
        verdicts = []
        for verdict in client.stream(_tasks(with_prelude(rows, front), count)):
            verdicts.append(verdict)
            progress(len(verdicts), len(rows))
    counted = [verdict.steps for verdict in verdicts if verdict.outcome in _COUNTED]
    if out is not None:
        write_records(out, (_counted(row, verdict) for row, verdict in zip(rows.values(), verdicts)))
    if as_json:
        print_json({"rows": [_row(verdict) for verdict in verdicts], "sum": sum(counted)})
    elif not taken:
        _show(verdicts, sum(counted))
    failed = [verdict for verdict in verdicts if verdict.outcome not in _COUNTED]
    if failed:
        note(
            f"{len(failed)} of {len(verdicts)} rows have no count, the first is {failed[0].task_id}: {_why(failed[0])}"
        )
        raise typer.Exit(1)


def _tasks(rows: Dataset, count: Count) -> Iterator[Task]:
    for row in rows.values():
        if count is Count.INSTRUCTIONS:
            yield Task(row.code, [EvaluateCheck(row.call)], id=row.id)
        else:
            script = ScriptCheck(_assertion(row))
            yield Task(row.code, [script], id=row.id, step_count=StepCount.EVENTS)


def _assertion(row: Row) -> str:
    return f"assert {row.call} == {row.output}"


def _counted(row: Row, verdict: Verdict) -> dict[str, Any]:
    """The row with its count; without one where it has none."""
    return replace(row, steps=verdict.steps if verdict.outcome in _COUNTED else None).as_dict()


def _row(verdict: Verdict) -> dict[str, Any]:
    if verdict.outcome in _COUNTED:
        return {"id": verdict.task_id, "steps": verdict.steps}
    return {"id": verdict.task_id, "steps": None, "error": _why(verdict)}


def _why(verdict: Verdict) -> str:
    error = error_of(verdict)
    return verdict.outcome.name + (f": {error}" if error else "")


def _show(verdicts: list[Verdict], total: int) -> None:
    table = Table("id", "steps", show_footer=True)
    table.columns[0].footer, table.columns[1].footer = "sum", f"{total:,}"
    table.columns[1].justify = "right"
    for verdict in verdicts:
        table.add_row(verdict.task_id, f"{verdict.steps:,}" if verdict.outcome in _COUNTED else _why(verdict))
    print_table(table)
