"""`cruxbox humaneval` and `cruxbox mbpp`: samples for problems with tests in, result lines and pass@k out."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    passed,
    read_problems,
    read_samples,
    result_line,
    task_of,
)
from cruxbox.model import Assurance, Limits, Outcome, Verdict

_CPU_LIMIT_S = 10.0
_KS = (1, 10, 100)


@runs_programs(cpu_limit_s=_CPU_LIMIT_S)
def command(
    samples: Annotated[
        Path, typer.Argument(metavar="SAMPLES.jsonl", help="Lines {task_id, completion} or {task_id, solution}.")
    ],
    problems: Annotated[
        Path,
        typer.Option(
            metavar="PROBLEMS.jsonl[.gz]", help="HumanEval, HumanEval+, MBPP or MBPP+, in any of their files."
        ),
    ],
    out: Annotated[
        Optional[Path],
        typer.Option(metavar="RESULTS.jsonl", help="Where results go; the name of the samples and _results.jsonl."),
    ] = None,
    k: Annotated[Optional[list[int]], typer.Option("--k", help="The k of pass@k; may be repeated.")] = None,
    sanitize: Annotated[
        bool, typer.Option("--sanitize", help="Take the code out of fences and chat before it is run.")
    ] = False,
    as_json: AsJson = False,
    *,
    running: Running,
) -> None:
    """Run samples against the tests of HumanEval, MBPP or EvalPlus: pass@k, and a result line for each sample.

    Candidate and test run in two processes; `assurance` says where they could not. EvalPlus's base and plus tests are
    reported apart; a sample that fails base has not passed plus.
    """
    ks = _checked_ks(k or _KS)
    known = read_problems(problems)
    read = read_samples(samples, known, clean=sanitize)
    target = _checked_out(out or default_out(samples), samples, problems)
    started = time.monotonic()
    # Imported once, and not by every worker, where the server is this command's own.
    preload = [f"--preload=default={','.join(_packages(known))}"] if running.python and _packages(known) else []
    with running.connect(server_args=preload) as client:
        _check_packages(client, known, running.runtime)
        verdicts = _run(client, read, known)
        if running.limits.cpu_ms == _CPU_LIMIT_S * 1000 and not running.limits.memory_bytes:
            _run_heavy_again(client, running, read, known, verdicts)
    elapsed_s = time.monotonic() - started
    write_records(target, [result_line(sample, known[sample.task_id], own) for sample, own in zip(read, verdicts)])
    summary = {
        "out": str(target),
        "pass_at_k": _figures(read, verdicts, ks),
        **_apart(read, known, verdicts, ks),
        "samples": len(read),
        "tasks": len({sample.task_id for sample in read}),
        "problems": len(known),
        "outcomes": _counts(verdict.outcome.name for own in verdicts for verdict in own),
        "assurances": _counts(verdict.assurance.name for own in verdicts for verdict in own if verdict.assurance),
        "in_process_passes": sum(passed(own) is True and any(map(_shared, own)) for own in verdicts),
        "masked": sum(passed(own) is None for own in verdicts),
        "elapsed_s": round(elapsed_s, 3),
    }
    if as_json:
        print_json(summary)
    else:
        _show(summary)


def _run(client: Client, samples: Sequence[Sample], problems: Problems) -> list[list[Verdict]]:
    """The verdicts on each sample, one a test."""
    verdicts: list[list[Verdict]] = []
    counts = [len(problems[sample.task_id].tests) for sample in samples]
    with progress_bar("samples") as progress:
        stream = client.stream(task_of(sample, problems[sample.task_id], Limits()) for sample in samples)
        for count in counts:
            verdicts.append([next(stream) for _ in range(count)])
            progress(len(verdicts), len(samples))
    return verdicts


def _run_within(
    client: Client, running: Running, samples: Sequence[Sample], problems: Problems, limits: Sequence[Limits]
) -> list[list[Verdict]]:
    """The verdicts on each sample within limits of its own, which go over those of the command."""
    tasks = [task_of(sample, problems[sample.task_id], Limits()) for sample in samples]
    asked = [replace(running.task(task), limits=most) for task, most in zip(tasks, limits)]
    verdicts = Client.stream(client, asked)
    return [[next(verdicts) for _ in task.checks] for task in asked]


_OUT = (Outcome.TIMED_OUT, Outcome.MEMORY_LIMIT)


def _run_heavy_again(
    client: Client, running: Running, samples: Sequence[Sample], problems: Problems, verdicts: list[list[Verdict]]
) -> None:
    """Some tests need more than the limits that suit most: who ran out of time or memory is measured against the
    problem's own solution. It is run with all that the server allows; where it passes, and needs more than a quarter of
    the usual, samples that ran out get four times its time and as much memory."""
    tried = [at for at, own in enumerate(verdicts) if any(verdict.outcome in _OUT for verdict in own)]
    names = sorted({samples[at].task_id for at in tried if problems[samples[at].task_id].canonical})
    if not names:
        return
    most = client.info().maximum_limits
    everything = Limits(cpu_ms=most.cpu_ms, wall_ms=most.wall_ms, memory_bytes=most.memory_bytes)
    solutions = [Sample(name, problems[name].canonical, {}) for name in names]
    enough = {}
    for name, own in zip(names, _run_within(client, running, solutions, problems, [everything] * len(names))):
        if all(verdict.passed for verdict in own):
            cpu_ms = min(most.cpu_ms, max(int(_CPU_LIMIT_S * 1000), 4 * max(v.cpu_ns for v in own) // 1_000_000))
            enough[name] = Limits(cpu_ms=cpu_ms, wall_ms=most.wall_ms, memory_bytes=most.memory_bytes)
    again = [at for at in tried if samples[at].task_id in enough]
    limits = [enough[samples[at].task_id] for at in again]
    for at, own in zip(again, _run_within(client, running, [samples[at] for at in again], problems, limits)):
        verdicts[at] = own


_IMPORTS = re.compile(r"^\s*(?:import|from)\s+(numpy|pandas|scipy|sympy|networkx)\b", re.MULTILINE)


def _packages(problems: Problems) -> list[str]:
    """The packages that the tests import."""
    texts = [text for problem in problems.values() for text in problem.tests.values()]
    return sorted({name for text in texts for name in _IMPORTS.findall(text)})


def _check_packages(client: Client, problems: Problems, runtime: str) -> None:
    """Refuse at once what would fail in every test: a package that the runtime does not have."""
    chosen = [one for one in client.info().runtimes if (one.name == runtime if runtime else one.is_default)]
    installed = {name.lower() for one in chosen for name, _ in one.packages}
    missing = [name for name in _packages(problems) if name not in installed]
    if chosen and missing:
        raise InvalidRequest(
            f"the tests import {', '.join(missing)}, which the runtime {chosen[0].name!r} does not have; name an "
            "interpreter that has it with --python PATH, or a runtime of the server with --runtime (cruxbox runtimes)."
        )


def _figures(samples: Sequence[Sample], verdicts: Sequence[Sequence[Verdict]], ks: Sequence[int]) -> dict[str, float]:
    return {str(each): value for each, value in mean_pass_at_k(samples, verdicts, ks).items()}


def _apart(
    samples: Sequence[Sample], problems: Problems, verdicts: Sequence[Sequence[Verdict]], ks: Sequence[int]
) -> dict[str, dict[str, float]]:
    """pass@k of EvalPlus's base tests alone, by their name; nothing where tests have no names."""
    if not all("base" in problems[sample.task_id].tests for sample in samples):
        return {}
    return {"base": _figures(samples, [own[:1] for own in verdicts], ks), "plus": _figures(samples, verdicts, ks)}


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


def _shared(verdict: Verdict) -> bool:
    """Did the test run in the candidate's process, which could have forged the verdict?"""
    return verdict.assurance is Assurance.IN_PROCESS


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
    for name in ("base", "plus"):
        if name in summary:
            note(f"{name}: " + ", ".join(f"pass@{k} {value:.2f}" for k, value in summary[name].items()))
    if summary["tasks"] < summary["problems"]:
        note(f"{summary['tasks']} of the {summary['problems']} problems have samples; the others are not counted.")
    if summary["in_process_passes"]:
        note(
            f"{summary['in_process_passes']:,} of the passes were judged IN_PROCESS, where a candidate can forge them."
        )
    note(f"{summary['samples']:,} samples in {summary['elapsed_s']:.2f} s; results: {summary['out']}")
