"""`cruxbox prompts`: what to ask a model, as JSONL."""

import enum
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from cruxbox.building import recipe
from cruxbox.building.prompts import Style, input_prompt, output_prompt
from cruxbox.building.rows import Row, read_rows, write_records
from cruxbox.cli.show import note
from cruxbox.errors import DataError


class Kind(str, enum.Enum):
    """What the prompts ask for."""

    CANDIDATES = "candidates"
    INPUT = "input"
    OUTPUT = "output"


def command(
    kind: Annotated[
        Kind, typer.Argument(help="candidates: functions to build a benchmark from. input, output: predictions.")
    ],
    data: Annotated[
        Optional[Path], typer.Argument(help="The tasks, for input and output.", metavar="DATA", show_default=False)
    ] = None,
    *,
    cot: Annotated[bool, typer.Option("--cot", help="Ask for a chain of thought first.")] = False,
    style: Annotated[Style, typer.Option(help="Tags around the parts, or bare files with assertions.")] = Style.TAGGED,
    schedule: Annotated[
        recipe.Schedule, typer.Option(help="candidates: the published 2,040 prompts, or 1,725 with even weights.")
    ] = recipe.Schedule.RELEASED,
    out: Annotated[Optional[Path], typer.Option(help="A file instead of standard output.", metavar="FILE")] = None,
) -> None:
    """Prompts as JSONL: `{id, prompt, stop}` for predictions, `{method, prompt, stop}` for candidates."""
    if (kind is Kind.CANDIDATES) == (data is not None):
        need = "takes no DATA" if kind is Kind.CANDIDATES else "needs DATA, the file with the tasks"
        raise DataError(f"prompts {kind.value} {need}")
    if kind is Kind.CANDIDATES and (cot or style is not Style.TAGGED):
        raise DataError("prompts candidates takes neither --cot nor --style")
    records = list(_candidates(schedule) if data is None else _predictions(kind, _rows(data, kind), cot, style))
    if out is not None:
        write_records(out, records)
        note(f"{len(records)} prompts are in {out}")
        return
    for record in records:
        sys.stdout.write(json.dumps(record) + "\n")


def _rows(data: Path, kind: Kind) -> list[Row]:
    needs = ("code", "output") if kind is Kind.INPUT else ("code", "input")
    rows, bad = read_rows(data, needs=needs)
    for problem in bad:
        note(str(problem))
    return rows


def _candidates(schedule: recipe.Schedule) -> Iterator[dict[str, Any]]:
    for prompt in recipe.candidate_prompts(schedule):
        yield {"method": prompt.method, "prompt": prompt.text, "stop": list(recipe.STOPS)}


def _predictions(kind: Kind, rows: Iterable[Row], cot: bool, style: Style) -> Iterator[dict[str, Any]]:
    for row in rows:
        if kind is Kind.INPUT:
            text = input_prompt(row.code, row.output, cot=cot, style=style)
        else:
            text = output_prompt(row.code, row.input, cot=cot, style=style)
        yield {"id": row.id, "prompt": text, "stop": list(style.stops)}
