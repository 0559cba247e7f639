"""`cruxbox stats`: what a data set is made of."""

from pathlib import Path
from typing import Annotated

import typer

from cruxbox.building.methods import Methods
from cruxbox.building.rows import Row, read_rows
from cruxbox.building.running import Steps, measure_steps
from cruxbox.cli.connect import AsJson
from cruxbox.cli.running import Running, runs_programs
from cruxbox.cli.show import note, print_json, say_bad
from cruxbox.cli.steps import Count, CountOption
from cruxbox.errors import CruxboxError, Unavailable
from cruxbox.model import StepCount
from cruxbox.printable import counted


@runs_programs()
def command(
    data: Annotated[Path, typer.Argument(help="JSON Lines or Parquet rows {code, input, output, id}.", metavar="DATA")],
    *,
    run: Annotated[bool, typer.Option("--run/--no-run", help="Run the rows without `steps`, to count them.")] = True,
    count: CountOption = Count.INSTRUCTIONS,
    methods: Annotated[
        Methods,
        typer.Option(help="call: rows that call a method. text: rows whose text contains .name, as in the paper."),
    ] = Methods.CALL,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad row.")] = False,
    as_json: AsJson = False,
    running: Running,
) -> None:
    """Describe a data set: characters, lines and steps with quartiles, and the methods that its programs use."""
    from cruxbox.stats.dataset import describe
    from cruxbox.stats.jsonable import to_json

    rows, bad = read_rows(data, needs=("code",), strict=strict)
    say_bad(bad)
    steps, source = _steps(rows, running, run, count)
    stats = describe(rows, steps.counts, methods=methods)
    if as_json:
        known = {**to_json(stats), "steps_source": source, "problems": steps.problems, "bad_rows": len(bad)}
        print_json(known)
        return
    from cruxbox.stats.tables import print_dataset, terminal

    console = terminal()
    console.print(
        f"{data}: {counted(len(rows), 'row')}" + (f", {counted(len(bad), 'bad one')} left out" if bad else ""),
        style="bold",
    )
    print_dataset(stats, console)
    console.print(f"Steps: {source}.", style="dim")
    for reason in steps.problems[:10]:
        note(f"no steps: {reason}")
    if len(steps.problems) > 10:
        note(f"no steps: {counted(len(steps.problems) - 10, 'more row')}")


def _steps(rows: list[Row], running: Running, run: bool, count: Count) -> tuple[Steps, str]:
    """The steps of all rows, and a phrase that says where they come from."""
    own = Steps(tuple(row.steps for row in rows), ())
    missing = [at for at, row in enumerate(rows) if row.steps is None]
    if not missing:
        return own, "from the rows"
    if not run:
        return own, "from the rows" if len(missing) < len(rows) else "not counted (--no-run)"
    try:
        with running.connect() as client:
            measured = measure_steps([rows[at] for at in missing], client, count=StepCount[count.name])
            version = running.runtime or next((one.version for one in client.info().runtimes if one.is_default), "")
    except Unavailable as error:
        if running.server:
            raise
        return own, f"not counted: {error}"
    except CruxboxError as error:
        raise type(error)(f"counting steps failed: {error}") from error
    found = dict(zip(missing, measured.counts))
    counts = tuple(found.get(at, row.steps) for at, row in enumerate(rows))
    where = f"{count.value} counted on Python {version}".rstrip()
    return Steps(counts, measured.problems), where if len(missing) == len(rows) else f"from the rows, else {where}"
