"""`cruxbox anonymize`: the same programs with variables called x1, x2, …"""

from pathlib import Path
from typing import Annotated

import typer

from cruxbox.building.anonymize import Anonymized, AnonymizeError, anonymize
from cruxbox.building.rows import Row, check_records, read_rows, write_records
from cruxbox.building.running import compare_behaviour
from cruxbox.cli.connect import AsJson
from cruxbox.cli.outputs import file_path, goes_to_stdout, sum_up
from cruxbox.cli.running import Running, runs_programs
from cruxbox.cli.show import say_bad


@runs_programs()
def command(
    data: Annotated[Path, typer.Argument(help="JSON Lines or Parquet rows {code, input, output, id}.", metavar="DATA")],
    *,
    out: Annotated[
        Path, typer.Option(parser=file_path, help="File for the renamed rows; .parquet for Parquet.", metavar="FILE")
    ],
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Run both forms and compare.")] = True,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad row.")] = False,
    as_json: AsJson = False,
    running: Running,
) -> None:
    """Rename variables, arguments and local functions; `f` (or `function_name`), attributes and builtins stay.

    A row whose renamed form does not behave like the original, or that cannot be renamed safely, is left out and named;
    the exit code is then 1. Ids stay the same, so that results can be compared with those of the original.
    """
    goes_to_stdout(as_json, out=out)
    check_records(out, data)
    rows, bad = read_rows(data, needs=("code",), strict=strict)
    problems = [str(problem) for problem in bad]
    done: list[tuple[Row, Anonymized]] = []
    for row in rows:
        try:
            done.append((row, anonymize(row.code, row.input, row.extra.get("function_name", ""))))
        except AnonymizeError as error:
            problems.append(f"{data}, line {row.line} ({row.id}): {error}")
    if verify and done:
        done = _alike(done, problems, data, running)
    written = write_records(out, (_renamed(row, form) for row, form in done))
    summary = {"rows": len(rows) + len(bad), "written": written, "verified": verify, "problems": problems}
    if not as_json:
        say_bad(problems)
    checked = "run in both forms" if verify else "not run"
    sum_up(f"{written} of {summary['rows']} rows renamed, {checked}: {out}", summary, as_json=as_json, out=out)
    if problems:
        raise typer.Exit(1)


def _alike(
    done: list[tuple[Row, Anonymized]], problems: list[str], data: Path, running: Running
) -> list[tuple[Row, Anonymized]]:
    rows, forms = [row for row, _ in done], [form for _, form in done]
    with running.connect() as client:
        differences = compare_behaviour(rows, forms, client)
    problems += [
        f"{data}, line {row.line} ({row.id}): {difference}" for row, difference in zip(rows, differences) if difference
    ]
    return [pair for pair, difference in zip(done, differences) if not difference]


def _renamed(row: Row, form: Anonymized) -> dict[str, object]:
    # Steps are those of the original: names do not change what is executed.
    return {
        **row.as_dict(),
        "code": form.code,
        "input": form.input,
        "names": [list(pair) for pair in form.names.items()],
    }
