"""`cruxbox sample`: the benchmark, out of the rows that passed the filter."""

import enum
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from cruxbox.building.rows import Row, check_records, no_usable_row, row_source, write_records
from cruxbox.building.sampling import TooFewRows, select, select_permuted
from cruxbox.cli.connect import AsJson
from cruxbox.cli.outputs import file_path, goes_to_stdout, sum_up
from cruxbox.cli.show import BadRows
from cruxbox.errors import DataError
from cruxbox.printable import counted


class Order(str, enum.Enum):
    """How rows are put into the order of which the first ones are taken."""

    HASH = "hash"
    PERMUTATION = "permutation"


def command(
    kept: Annotated[Path, typer.Argument(help="JSON Lines or Parquet rows {code, input, output}.", metavar="KEPT")],
    *,
    out: Annotated[
        Path, typer.Option(parser=file_path, help="File for the sample; .parquet for Parquet.", metavar="DATA")
    ],
    n: Annotated[int, typer.Option("--n", help="Number of rows.", min=1)] = 800,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    order: Annotated[
        Order,
        typer.Option(
            help="hash: by a hash of each program. permutation: by a permutation of the rows, as in the release."
        ),
    ] = Order.HASH,
    one_per_program: Annotated[
        bool, typer.Option("--one-per-program/--any-pair", help="Take at most one input of a program.")
    ] = True,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad row.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw rows at random. The same seed and the same set of rows give the same sample.

    The order of the rows makes no difference, except with `--order permutation`. The sample's ids are `sample_0`,
    `sample_1`, …; a row's former id stays in its `source_id`.
    """
    goes_to_stdout(as_json, out=out)
    check_records(out, kept)
    counts = {"rows": 0, "bad": 0}
    take = select if order is Order.HASH else select_permuted
    try:
        chosen = take(_rows(kept, strict, counts), n, seed, one_per_program=one_per_program)
    except TooFewRows as error:
        raise DataError(f"{kept}: has {error.found}, and --n is {n}") from None
    write_records(out, (_numbered(row, at) for at, row in enumerate(chosen)))
    left_out = f" ({counted(counts['bad'], 'bad one')} left out)" if counts["bad"] else ""
    sentence = f"{len(chosen)} of {counted(counts['rows'], 'row')}{left_out}, seed {seed}: {out}"
    sum_up(sentence, {**counts, "sampled": len(chosen), "seed": seed, "out": str(out)}, as_json=as_json, out=out)


def _rows(kept: Path, strict: bool, counts: dict[str, int]) -> Iterator[Row]:
    """The usable rows; `counts` says in the end how many there were, and how many bad ones."""
    bad = BadRows()
    for item in row_source(kept):
        if isinstance(item, Row):
            counts["rows"] += 1
            bad.usable()
            yield item
            continue
        if strict:
            raise DataError(str(item))
        bad(item)
    if not counts["rows"]:
        raise no_usable_row(kept, bad.first)
    counts["bad"] = bad.count
    bad.finish()


def _numbered(row: Row, at: int) -> dict[str, object]:
    record = row.as_dict()
    return {**record, "id": f"sample_{at}", "source_id": record.get("source_id", row.id)}
