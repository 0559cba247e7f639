"""`cruxbox finetune`: training texts out of filtered rows, without what a benchmark asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from cruxbox.building.finetune import Decontaminate, Form, Selection, training_text
from cruxbox.building.rows import Row, check_records, no_usable_row, read_rows, row_source, write_records
from cruxbox.cli.connect import AsJson
from cruxbox.cli.outputs import file_path, goes_to_stdout, sum_up
from cruxbox.cli.show import BadRows
from cruxbox.errors import InvalidRequest


def command(
    candidates: Annotated[Path, typer.Argument(metavar="CANDIDATES", help="Filtered rows {code, input, output}.")],
    *,
    form: Annotated[Form, typer.Option(help="output: assert f(input) == output. input: assert output == f(input).")],
    out: Annotated[
        Path,
        typer.Option(
            metavar="TRAIN.jsonl", parser=file_path, help="File for the rows {id, form, text}; .parquet for Parquet."
        ),
    ],
    against: Annotated[
        Optional[Path],
        typer.Option(metavar="BENCHMARK.jsonl", help="Benchmark whose rows must not be in the training data."),
    ] = None,
    decontaminate: Annotated[
        Decontaminate,
        typer.Option(help="weak: drop the benchmark's pairs of program and input. strong: drop its programs."),
    ] = Decontaminate.STRONG,
    mix: Annotated[bool, typer.Option("--mix", help="Write each row in both forms, this form first.")] = False,
    cheating: Annotated[
        bool, typer.Option("--cheating", help="Keep only the benchmark's programs with other inputs.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write fine-tuning texts. Programs and inputs are compared without names of variables, layout and comments."""
    if cheating and against is None:
        raise InvalidRequest("--cheating needs --against, the benchmark whose programs it takes.")
    goes_to_stdout(as_json, out=out)
    check_records(out, candidates, against)
    selection = Selection(decontaminate, cheating)
    if against is not None:
        selection.keep_out(read_rows(against, needs=("code", "input"), strict=True)[0])
    forms = [form, *(one for one in Form if mix and one is not form)]
    bad = BadRows()

    def records() -> Iterator[dict[str, Any]]:
        for row in selection.select(_usable(candidates, bad)):
            for one in forms:
                yield {"id": row.id, "form": one.value, "text": training_text(row, one)}

    written = write_records(out, records())
    counts = selection.counts
    names = ("rows", "kept", "same_pair", "same_program", "other_program", "duplicate")
    summary = {**{name: counts[name] for name in names}, "bad": bad.count, "written": written, "out": str(out)}
    dropped = ", ".join(f"{counts[name]:,} {name.replace('_', ' ')}" for name in names[2:] if counts[name])
    sentence = f"{counts['kept']:,} of {counts['rows']:,} rows, {written:,} texts (dropped: {dropped or 'none'}): {out}"
    sum_up(sentence, summary, as_json=as_json, out=out)


def _usable(candidates: Path, bad: BadRows) -> Iterator[Row]:
    """The rows that can be used; the others are named. DataError if none can be used."""
    is_any = False
    for item in row_source(candidates):
        if isinstance(item, Row):
            is_any = True
            bad.usable()
            yield item
        else:
            bad(item)
    if not is_any:
        raise no_usable_row(candidates, bad.first)
    bad.finish()
