"""`cruxbox sample`: the benchmark, out of the rows that passed the filter."""

import enum
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from cruxbox.building.rows import BadRow, Row, row_source, write_records
from cruxbox.building.sampling import select, select_permuted
from cruxbox.cli.connect import AsJson
from cruxbox.cli.show import note, print_json, say
from cruxbox.errors import DataError


class Order(str, enum.Enum):
    """How rows are put into the order of which the first ones are taken."""

    HASH = "hash"
    PERMUTATION = "permutation"


def command(
    kept: Annotated[Path, typer.Argument(help="JSONL or Parquet rows {code, input, output}.", metavar="KEPT")],
    *,
    out: Annotated[Path, typer.Option(help="Where the sample goes; .parquet for Parquet.", metavar="DATA")],
    n: Annotated[int, typer.Option("--n", help="How many rows.", min=1)] = 800,
    seed: Annotated[int, typer.Option(help="Another seed, another sample.")] = 0,
    order: Annotated[
        Order,
        typer.Option(help="By a stable hash of each program, or, as the release, by a permutation of the rows."),
    ] = Order.HASH,
    one_per_program: Annotated[
        bool, typer.Option("--one-per-program/--any-pair", help="At most one input of a program.")
    ] = True,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad row.")] = False,
    as_json: AsJson = False,
) -> None:
    """Rows at random: the same seed and the same set of rows give the same sample, in any order of the rows (but for
    `--order permutation`).

    The sample is numbered anew, `sample_0` and on; a row's former id stays in its `source_id`.
    """
    counts = {"rows": 0, "bad": 0}

    def rows() -> Iterator[Row]:
        for item in row_source(kept):
            if isinstance(item, Row):
                counts["rows"] += 1
                yield item
                continue
            _report(item, strict)
            counts["bad"] += 1

    take = select if order is Order.HASH else select_permuted
    chosen = take(rows(), n, seed, one_per_program=one_per_program)
    write_records(out, (_numbered(row, at) for at, row in enumerate(chosen)))
    if as_json:
        print_json({**counts, "sampled": len(chosen), "seed": seed, "out": str(out)})
    else:
        bad = f" ({counts['bad']} bad ones left out)" if counts["bad"] else ""
        say(f"{len(chosen)} of {counts['rows']} rows{bad}, seed {seed}: {out}")


def _report(problem: BadRow, strict: bool) -> None:
    if strict:
        raise DataError(str(problem))
    note(str(problem))


def _numbered(row: Row, at: int) -> dict[str, object]:
    record = row.as_dict()
    return {**record, "id": f"sample_{at}", "source_id": record.get("source_id", row.id)}
