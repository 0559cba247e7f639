"""`cruxbox humaneval`: samples for HumanEval's problems in, results in its own format and pass@k out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.table import Table

from cruxbox.building.rows import write_records
from cruxbox.cli.connect import AsJson
from cruxbox.cli.running import Running, runs_programs
from cruxbox.cli.show import note, print_json, print_table, progress_bar
from cruxbox.client import Client
from cruxbox.errors import DataError, InvalidRequest
from cruxbox.humaneval import (
    Problems,
    Sample,
    default_out,
    mean_pass_at_k,
    read_problems,
    read_samples,
    result_line,
    task_of,
)
from cruxbox.model import Limits, Verdict

_CPU_LIMIT_S = 10.0
_KS = (1, 10, 100)


@runs_programs(cpu_limit_s=_CPU_LIMIT_S)
def command(
    samples: Annotated[
        Path, typer.Argument(metavar="SAMPLES.jsonl", help="Lines {task_id, completion} or {task_id, solution}.")
    ],
    problems: Annotated[Path, typer.Option(metavar="HumanEval.jsonl[.gz]", help="The problems with their tests.")],
    out: Annotated[
        Optional[Path],
        typer.Option(metavar="RESULTS.jsonl", help="Where results go; the name of the samples and _results.jsonl."),
    ] = None,
    k: Annotated[Optional[list[int]], typer.Option("--k", help="The k of pass@k; may be repeated.")] = None,
    as_json: AsJson = False,
    *,
    running: Running,
) -> None:
    """Run samples against HumanEval's tests: pass@k, and a result line for each sample.

    Candidate and test run in two processes wherever plain data is all they exchange; `assurance` says where.
    """
    ks = _checked_ks(k or _KS)
    known = read_problems(problems)
    read = read_samples(samples, known)
    target = _checked_out(out or default_out(samples), samples, problems)
    started = time.monotonic()
    with running.connect() as client:
        verdicts = _run(client, read, known)
    elapsed_s = time.monotonic() - started
    write_records(target, [result_line(sample, verdict) for sample, verdict in zip(read, verdicts)])
    summary = {
        "out": str(target),
        "pass_at_k": {str(each): value for each, value in mean_pass_at_k(read, verdicts, ks).items()},
        "samples": len(read),
        "tasks": len({sample.task_id for sample in read}),
        "problems": len(known),
        "outcomes": _counts(verdict.outcome.name for verdict in verdicts),
        "assurances": _counts(verdict.assurance.name for verdict in verdicts if verdict.assurance is not None),
        "masked": sum(verdict.passed is None for verdict in verdicts),
        "elapsed_s": round(elapsed_s, 3),
    }
    if as_json:
        print_json(summary)
    else:
        _show(summary)


def _run(client: Client, samples: Sequence[Sample], problems: Problems) -> list[Verdict]:
    verdicts = []
    with progress_bar("samples") as progress:
        tasks = (task_of(sample, problems[sample.task_id], Limits()) for sample in samples)
        for verdict in client.stream(tasks):
            verdicts.append(verdict)
            progress(len(verdicts), len(samples))
    return verdicts


def _checked_ks(ks: Sequence[int]) -> list[int]:
    for k in ks:
        if k < 1:
            raise InvalidRequest(f"--k must be at least 1, not {k}.")
    return sorted(set(ks))


def _checked_out(out: Path, *sources: Path) -> Path:
    """Refused before anything runs: what would overwrite its own source, or has no folder to be in."""
    if any(out.resolve() == source.resolve() for source in sources):
        raise DataError(f"{out}: would overwrite a file it is made from")
    if out.is_dir():
        raise DataError(f"{out}: is a folder, not a file that can be written")
    if not out.parent.is_dir():
        raise DataError(f"{out}: cannot be written: {out.parent} is not a folder")
    return out


def _counts(names: Any) -> dict[str, int]:
    return dict(Counter(names).most_common())


def _show(summary: Mapping[str, Any]) -> None:
    figures = summary["pass_at_k"]
    table = Table(*(f"pass@{k}" for k in figures), "samples", "outcomes", "assurance", "masked")
    cells = [f"{value:.2f}" for value in figures.values()] + [f"{summary['samples']:,}"]
    for name in ("outcomes", "assurances"):
        cells.append(", ".join(f"{count:,} {word}" for word, count in summary[name].items()) or "–")
    table.add_row(*cells, str(summary["masked"]))
    print_table(table)
    if summary["tasks"] < summary["problems"]:
        note(f"{summary['tasks']} of the {summary['problems']} problems have samples; the others are not counted.")
    note(f"{summary['samples']:,} samples in {summary['elapsed_s']:.2f} s; results: {summary['out']}")
