"""`cruxbox prompts`: what to ask a model, as JSONL."""

import enum
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from cruxbox.building import recipe
from cruxbox.building.prompt_set import PromptSet, load_prompt_set
from cruxbox.building.prompts import Style, prompt_set
from cruxbox.building.rows import Row, check_records, read_rows, write_records
from cruxbox.building.toml_file import file_of
from cruxbox.cli.outputs import file_path
from cruxbox.cli.show import note, say_bad
from cruxbox.errors import DataError
from cruxbox.printable import counted

Cot = Annotated[bool, typer.Option("--cot", help="Ask for a chain of thought first.")]
StyleOption = Annotated[
    Style, typer.Option("--style", help="tagged: tags around the parts. assert: plain files with assertions.")
]
Template = Annotated[
    Optional[str],
    typer.Option("--template", help="Prompt set: a .toml file, or the name of a built-in set.", metavar="FILE.toml"),
]


class Kind(str, enum.Enum):
    """What the prompts ask for."""

    CANDIDATES = "candidates"
    INPUT = "input"
    OUTPUT = "output"


def command(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="candidates: ask for functions to build a benchmark from. input, output: ask for predictions."
        ),
    ],
    data: Annotated[
        Optional[Path], typer.Argument(help="The data set, for input and output.", metavar="DATA", show_default=False)
    ] = None,
    *,
    cot: Cot = False,
    style: StyleOption = Style.TAGGED,
    template: Template = None,
    schedule: Annotated[
        recipe.Schedule,
        typer.Option(help="For candidates. released: the published 2,040 prompts. even: 1,725 with equal weights."),
    ] = recipe.Schedule.RELEASED,
    out: Annotated[
        Optional[Path], typer.Option(parser=file_path, help="File to write. Default: standard output.", metavar="FILE")
    ] = None,
) -> None:
    """Write prompts as JSON Lines: `{id, prompt, stop}` for predictions, with `messages` for a chat.

    Those for candidates are `{method, prompt, stop}`.
    """
    if (kind is Kind.CANDIDATES) == (data is not None):
        need = "takes no DATA" if kind is Kind.CANDIDATES else "needs DATA, the file with the tasks"
        raise DataError(f"prompts {kind.value} {need}")
    if kind is Kind.CANDIDATES and (cot or template or style is not Style.TAGGED):
        raise DataError("prompts candidates takes neither --cot nor --style nor --template")
    if kind is not Kind.CANDIDATES and schedule is not recipe.Schedule.RELEASED:
        raise DataError(f"prompts {kind.value} takes no --schedule")
    check_records(out, data, file_of(template))
    if data is None:
        records = list(_candidates(schedule))
    else:
        chosen = choose_set(kind.value, template, cot, style)
        records = [chosen.record(row) for row in _rows(data, kind)]
    if out is not None:
        write_records(out, records)
        note(f"{counted(len(records), 'prompt')} written to {out}")
        return
    for record in records:
        sys.stdout.write(json.dumps(record) + "\n")


def _rows(data: Path, kind: Kind) -> list[Row]:
    needs = ("code", "output") if kind is Kind.INPUT else ("code", "input")
    rows, bad = read_rows(data, needs=needs, unique=True)  # completions of one id would be added up
    say_bad(bad)
    return rows


def _candidates(schedule: recipe.Schedule) -> Iterator[dict[str, Any]]:
    for prompt in recipe.candidate_prompts(schedule):
        yield {"method": prompt.method, "prompt": prompt.text, "stop": list(recipe.STOPS)}


def choose_set(mode: str, template: Optional[str], cot: bool, style: Style) -> PromptSet:
    """The prompt set of the options. DataError for options that exclude each other, and for a set of another mode."""
    if template is None:
        return prompt_set(mode, cot=cot, style=style)
    if cot or style is not Style.TAGGED:
        raise DataError("--template says it all; leave --cot and --style out")
    chosen = load_prompt_set(template)
    if chosen.mode != mode:
        raise DataError(f"{template}: is a prompt set for {chosen.mode} prediction, not for {mode}")
    return chosen
