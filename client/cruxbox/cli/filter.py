"""`cruxbox filter`: candidates in, the pairs that pass out, with their outputs."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.table import Table

from cruxbox.building.rows import count_rows
from cruxbox.building.toml_file import file_of
from cruxbox.cli.connect import AsJson
from cruxbox.cli.outputs import file_path
from cruxbox.cli.running import Running, runs_programs
from cruxbox.cli.show import BadRows, print_json, print_table, resumable, say
from cruxbox.errors import InvalidRequest
from cruxbox.files import check_output
from cruxbox.filtering import SENTENCES, Plan, Summary, filter_file, load_rules
from cruxbox.filtering.outputs import journal_of
from cruxbox.printable import counted
from cruxbox.reading import STANDARD
from cruxbox.terminal import Terminal

_YOUNG_OBJECTS = 20_000


@runs_programs()
def command(
    candidates: Annotated[
        Path,
        typer.Argument(metavar="CANDIDATES", help="JSON Lines or Parquet rows {code, input} or {code, inputs: [...]}."),
    ],
    *,
    out: Annotated[
        Path, typer.Option(metavar="KEPT", parser=file_path, help="File for the kept rows; .parquet for Parquet.")
    ],
    rejects: Annotated[
        Optional[Path],
        typer.Option(metavar="REJECTED", parser=file_path, help="File for the refused rows, with all reasons."),
    ] = None,
    rules: Annotated[str, typer.Option(metavar="paper|released|FILE.toml", help="The rules of refusal.")] = "paper",
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Discard an interrupted run and begin again.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad row.")] = False,
    as_json: AsJson = False,
    running: Running,
) -> None:
    """Run each function on each of its inputs and keep the pairs that meet the rules.

    The limits are those of the rules unless an option sets them. The exit code is 1 if the sandbox could not decide a
    pair (reason UNDECIDED); such a pair is not kept.
    """
    _check_paths(candidates, out, rejects, file_of(rules))
    limited = load_rules(rules).with_limits(running.limits)
    plan = Plan(candidates, out, rejects, limited, running.runtime, strict, resume, restart)
    bad = BadRows()
    started = time.monotonic()
    spare_the_collector()
    journal = journal_of(out)
    kept = resumable(lambda: journal if journal.exists() else None)
    with running.connect() as client, kept, _progress(candidates) as progress:

        def move(so_far: Summary) -> None:
            if so_far.rows > so_far.bad_rows:
                bad.usable()
            progress(so_far)

        summary = filter_file(plan, client, on_bad_row=bad, on_progress=move)
    bad.finish()
    elapsed_s = time.monotonic() - started
    if as_json:
        print_json({**summary.as_dict(), "rules": plan.rules.name, "elapsed_s": round(elapsed_s, 3), "out": str(out)})
    else:
        _show(summary, elapsed_s)
    if summary.undecided:
        raise typer.Exit(1)


def _check_paths(candidates: Path, out: Path, rejects: Optional[Path], rules: Optional[Path]) -> None:
    for option, path in (("CANDIDATES", candidates), ("--out", out), ("--rejects", rejects)):
        if path is not None and str(path) == STANDARD:
            raise InvalidRequest(f"{option} must name a file, not -: a run that is killed goes on with it.")
        if option != "CANDIDATES":
            check_output(path, rules)


def spare_the_collector() -> None:
    """Have the garbage collector run less often, in a process that only filters. Thousands of pairs are in flight, and
    examining them after each 700 new objects takes a tenth of the CPU time."""
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)


@contextmanager
def _progress(candidates: Path) -> Iterator[Callable[[Summary], None]]:
    """A function that moves a bar on stderr; it does nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _summary: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    rate = TextColumn("{task.fields[rate]:,.0f} pairs/s, {task.fields[kept]:,} kept")
    columns = TextColumn("filtering"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn()
    with Progress(*columns, console=Terminal(stderr=True), transient=True, refresh_per_second=4) as progress:
        bar = progress.add_task("", total=count_rows(candidates), rate=0.0, kept=0)
        started, before, shown = time.monotonic(), [-1], [0.0]

        def move(summary: Summary) -> None:
            now = time.monotonic()
            if before[0] < 0:
                before[0] = summary.pairs
            if now - shown[0] >= 0.25:
                shown[0] = now
                rate = (summary.pairs - before[0]) / max(now - started, 1e-9)
                progress.update(bar, completed=summary.rows, rate=rate, kept=summary.kept)

        yield move


def _show(summary: Summary, elapsed_s: float) -> None:
    table = Table("why not", "", "pairs", show_footer=True)
    table.columns[2].justify = "right"
    table.columns[0].footer, table.columns[2].footer = "refused", f"{summary.rejected:,}"
    for name, count in summary.reasons.most_common():
        table.add_row(name, SENTENCES[name], f"{count:,}")
    if summary.rejected:
        print_table(table)
    facts: list[Any] = [f"{summary.kept:,} of {counted(summary.pairs, 'pair')} kept, {counted(summary.rows, 'row')}"]
    if summary.bad_rows:
        facts.append(counted(summary.bad_rows, "bad row"))
    if summary.given_differs:
        facts.append(counted(summary.given_differs, "wrong output") + " given")
    facts.append(f"{elapsed_s:.1f} s, {summary.pairs / max(elapsed_s, 1e-9):,.0f} pairs/s")
    say(" · ".join(facts))
