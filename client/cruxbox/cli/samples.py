"""What the commands that run samples for problems have in common: options, the run that can be gone on with, the table.

`@takes_samples` gives a command these options and calls it with `request`; `judge` does all of the work.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.table import Table

from cruxbox.building.rows import check_columns, check_records, write_records
from cruxbox.cli.check import refuse_unless_they_run
from cruxbox.cli.connect import AsJson
from cruxbox.cli.outputs import file_path, goes_to_stdout
from cruxbox.cli.resuming import Done, Going, Restart, Resume, check_types, digest, going_on
from cruxbox.cli.running import Running, parameter, with_options
from cruxbox.cli.show import note, print_json, print_table, progress_bar
from cruxbox.cli.whereabouts import Whereabouts
from cruxbox.errors import InvalidRequest
from cruxbox.printable import counted
from cruxbox.problems.reading import ReadProblem, read_problems, read_samples, refuse_if_none_can_run
from cruxbox.problems.results import FAULT, Fields, fields_of_fault, marks_of, mean_pass_at_k, scores_of
from cruxbox.problems.running import Runner, Way
from cruxbox.problems.shapes import NoProblem, Problem, Problems, Sample
from cruxbox.reading import STANDARD

_KS = (1, 10, 100)
_NOTES = 5
_TEXT_OR_NONE = (str, type(None))
# Of what became of a sample.
_TYPES = {"result": (str,), "passed": (bool, type(None)), "outcome": _TEXT_OR_NONE, "assurance": _TEXT_OR_NONE}
_PARTS = {"base": (bool, type(None)), "plus": (bool, type(None))}  # where it has them
_FEWEST = 2  # tasks of an interval

_SAMPLES = typer.Argument(
    metavar="SAMPLES.jsonl",
    help="Rows {task_id, completion} or {task_id, solution}; docs/samples.md lists other fields.",
)
_PROBLEMS = typer.Option(metavar="PROBLEMS.jsonl[.gz]", help="The problems of the samples, with their tests.")
_OUT = typer.Option(
    metavar="RESULTS.jsonl", parser=file_path, help="Results file. Default: SAMPLES.jsonl_results.jsonl."
)
_K = typer.Option("--k", help="The k of pass@k; repeatable. Default: 1, 10, 100, where there are enough.")
_SANITIZE = typer.Option("--sanitize", help="Extract the code from Markdown fences and chat text.")
_COLUMN = typer.Option(
    "--runtime-column",
    metavar="NAME",
    help="Field of the sample, or else of its problem, that names the runtime or, without --server, the path of an "
    "interpreter. Rows without the field run on --runtime; without --runtime they are INVALID.",
)


@dataclass(frozen=True)
class Request:
    """What the shared options say."""

    samples: Path
    problems: Path
    out: Path
    ks: Sequence[int]
    sanitize: bool
    runtime_column: str
    resume: bool
    restart: bool
    as_json: bool


def takes_samples(function: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the shared options in the place of its parameter `request`."""
    shared = [
        parameter("samples", Annotated[Path, _SAMPLES], ...),
        parameter("problems", Annotated[Path, _PROBLEMS], ...),
        parameter("out", Annotated[Optional[Path], _OUT], None),
        parameter("k", Annotated[Optional[list[int]], _K], None),
        parameter("sanitize", Annotated[bool, _SANITIZE], False),
        parameter("runtime_column", Annotated[str, _COLUMN], ""),
        parameter("resume", Resume, False),
        parameter("restart", Restart, False),
        parameter("as_json", AsJson, False),
    ]
    return with_options(function, "request", shared, _request)


def _request(
    samples: Path,
    problems: Path,
    out: Path | None,
    k: list[int] | None,
    sanitize: bool,
    runtime_column: str,
    resume: bool,
    restart: bool,
    as_json: bool,
) -> Request:
    for each in k or ():
        if each < 1:
            raise InvalidRequest(f"--k must be at least 1, not {each}.")
    if out is None and (os.fspath(samples) == STANDARD or _is_stream(samples)):
        raise InvalidRequest("--out is needed where the samples come from standard input: it has no name to add to.")
    if os.fspath(samples) == os.fspath(problems) == STANDARD:
        raise InvalidRequest("standard input (-) can be read but once.")
    goes_to_stdout(as_json, out=out)
    target = out or samples.with_name(os.path.basename(samples) + "_results.jsonl")
    return Request(samples, problems, target, sorted(set(k or ())), sanitize, runtime_column, resume, restart, as_json)


def _check_fields(fields: Fields) -> None:
    """Raises KeyError or TypeError for what no run has said of a sample."""
    check_types({**dict.fromkeys(_PARTS), **fields}, {**_TYPES, **_PARTS})


def _is_stream(path: Path) -> bool:
    """Is it a pipe or a device, as `<(...)` and /dev/stdin are?"""
    return path.exists() and not path.is_file() and not path.is_dir()


def judge(
    request: Request, running: Running, read: ReadProblem, sources: Mapping[Path, str] | None = None, **options: Any
) -> None:
    """Run the samples, write their result lines and show what came of it.

    Args:
        request: what the shared options say.
        running: where it runs, and what it may use.
        read: makes a problem of a record.
        sources: files of the caller's that run beside every program, with what they hold.
        options: of the command: a run that is gone on with has to have the same.
    """
    going = Going([request.out], request.resume, request.restart)
    problems = read_problems(request.problems, read)
    samples = read_samples(request.samples, problems, clean=request.sanitize, runtime_column=request.runtime_column)
    check_records(request.out, request.samples, request.problems)
    check_columns(request.out, ({**each.record, **fields_of_fault(each, "", False)} for each in samples))
    started = time.monotonic()
    with going_on(going, _identity(request, running, options, problems, samples), _check_fields) as done:
        before = len(done.fields)
        _run(request, running, problems, samples, done, sources or {})
        fields = [done.fields[at] for at in range(len(samples))]
        write_records(request.out, [{**sample.record, **own} for sample, own in zip(samples, fields)])
        done.note_whole(going.results)
    elapsed_s = time.monotonic() - started
    _say_faults(problems, fields)
    _say_fences(request, samples, fields)
    summary = _summary(request, problems, samples, fields)
    summary.update(resumed=before, elapsed_s=round(elapsed_s, 3))
    _say_too_few(request, summary["pass_at_k"])
    if request.as_json:
        print_json(summary)
    elif os.fspath(request.out) != STANDARD:
        _show(summary)


def _run(
    request: Request,
    running: Running,
    problems: Problems,
    samples: Sequence[Sample],
    done: Done,
    sources: Mapping[Path, str],
) -> None:
    todo = [(at, sample) for at, sample in enumerate(samples) if at not in done.fields]
    if not todo:
        return
    whereabouts = Whereabouts(running, problems, [sample for _, sample in todo], request.runtime_column)
    running = whereabouts.running
    with running.connect(dressed=False, server_args=whereabouts.server_args) as client, progress_bar("samples") as bar:
        todo = list(zip([at for at, _ in todo], whereabouts.checked(client)))
        if not done.fields:
            refuse_if_none_can_run([sample for _, sample in todo])
        runtimes = {sample.runtime for _, sample in todo if not sample.fault}
        refuse_unless_they_run(sources, client, runtimes, running.task)
        way = Way.up_to(client.info().maximum_limits, running.limits, running.task)
        for at, own in Runner(client, problems, way).run(todo):
            done.add(at, own)
            bar(len(done.fields), len(samples))


def _identity(
    request: Request, running: Running, options: Mapping[str, Any], problems: Problems, samples: Sequence[Sample]
) -> dict[str, Any]:
    """What must be the same for a run to be gone on with."""
    return {
        "samples": digest(request.samples, read=lambda: _rows(samples)),
        "problems": digest(request.problems, read=lambda: _rows(list(problems.values()))),
        "options": {name: str(value) for name, value in options.items()},
        "sanitize": request.sanitize,
        "runtime": [running.runtime, request.runtime_column, running.python],
        "limits": vars(running.limits),
        "require": None if running.require is None else running.require.name,
    }


def _rows(rows: Sequence[Problem | Sample]) -> list[Any]:
    return [[row.where, dict(row.record)] for row in rows]


# ---- what is shown --------------------------------------------------------------------------------------------------


def _say_faults(problems: Problems, fields: Sequence[Fields]) -> None:
    faults = [f"{each.where}: {each.fault}" for each in problems.values() if isinstance(each, NoProblem)]
    faults += [own["result"].removeprefix(FAULT) for own in fields if own["result"].startswith(FAULT)]
    faults = list(dict.fromkeys(faults))
    for fault in faults[:_NOTES]:
        note(fault)
    if len(faults) > _NOTES:
        note(f"and {counted(len(faults) - _NOTES, 'more fault')} of rows: see the results.")


def _say_fences(request: Request, samples: Sequence[Sample], fields: Sequence[Fields]) -> None:
    invalid = (sample.program for sample, own in zip(samples, fields) if own["outcome"] == "INVALID")
    fenced = 0 if request.sanitize else sum("```" in program for program in invalid)
    if fenced:
        note(f"Markdown fences in {counted(fenced, 'INVALID sample')}; --sanitize takes the code out of them.")


def _say_too_few(request: Request, figures: Mapping[str, float]) -> None:
    unknown = [f"pass@{k}" for k in request.ks if str(k) not in figures]
    if unknown:
        note(f"{', '.join(unknown)}: not every task has so many samples that count.")


def _summary(
    request: Request, problems: Problems, samples: Sequence[Sample], fields: Sequence[Fields]
) -> dict[str, Any]:
    return {
        "out": str(request.out),
        **_figures(samples, fields, request.ks or _KS, problems),
        "samples": len(samples),
        "tasks": len({sample.task_id for sample in samples if sample.task_id}),
        "problems": sum(not isinstance(each, NoProblem) for each in problems.values()),
        "outcomes": _counts(own["outcome"] for own in fields),
        "assurances": _counts(own["assurance"] for own in fields if own["assurance"]),
        "in_process_passes": sum(own["passed"] is True and own["assurance"] == "IN_PROCESS" for own in fields),
        "masked": sum(own["passed"] is None for own in fields),
    }


def _figures(
    samples: Sequence[Sample], fields: Sequence[Fields], ks: Sequence[int], problems: Problems
) -> dict[str, dict[str, Any]]:
    """pass@k and its intervals; those of EvalPlus's base and plus tests beside them, where every sample has them."""
    found: dict[str, dict[str, Any]] = {}
    tried = [problems[each.task_id] for each in samples if each.task_id in problems and not each.fault]
    is_plus = bool(tried) and all("base" in problem.names for problem in tried)
    for name, field in (("", "passed"), *([("base", "base"), ("plus", "passed")] if is_plus else [])):
        marks = marks_of(samples, fields, field)
        means = mean_pass_at_k(marks, ks)
        found[name or "pass_at_k"] = {str(k): value for k, value in means.items()}
        found[f"{name}_intervals" if name else "intervals"] = {
            str(k): list(bounds) for k in means if (bounds := _interval(scores_of(marks, k))) is not None
        }
    return found


def _interval(scores: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the mean of `scores`, in percent: a bootstrap over tasks. None where numpy is missing, and
    of one task, which says nothing of others."""
    if len(scores) < _FEWEST:
        return None
    try:
        import numpy as np

        from cruxbox.stats.bootstrap import interval, resample_means
    except ModuleNotFoundError:
        return None
    low, high = interval(resample_means(np.array([scores]).T * 100))
    return float(low[0]), float(high[0])


def _counts(names: Any) -> dict[str, int]:
    return dict(Counter(names).most_common())


def _show(summary: Mapping[str, Any]) -> None:
    figures, bounds = summary["pass_at_k"], summary["intervals"]
    table = Table(*(f"pass@{k}" for k in figures), "samples", "outcomes", "assurance", "masked")
    cells = [_with_bounds(figures, bounds, k) for k in figures] + [f"{summary['samples']:,}"]
    for name in ("outcomes", "assurances"):
        cells.append(", ".join(f"{count:,} {word}" for word, count in summary[name].items()) or "–")
    table.add_row(*cells, str(summary["masked"]))
    print_table(table)
    for name in ("base", "plus"):
        if name in summary:
            own, ends = summary[name], summary[f"{name}_intervals"]
            note(f"{name}: " + ", ".join(f"pass@{k} {_with_bounds(own, ends, k)}" for k in own))
    if figures and not bounds and summary["tasks"] >= _FEWEST and find_spec("numpy") is None:
        note("intervals need numpy: pip install 'cruxbox[stats]'")
    if summary["tasks"] < summary["problems"]:
        have = "has" if summary["tasks"] == 1 else "have"
        note(f"{summary['tasks']} of the {summary['problems']} problems {have} samples; the others are not counted.")
    if summary["in_process_passes"]:
        note(
            f"{summary['in_process_passes']:,} of the passes were judged IN_PROCESS, where a candidate can forge them."
        )
    if summary["resumed"]:
        note(f"{summary['resumed']:,} of the samples had been run before.")
    note(f"{counted(summary['samples'], 'sample')} in {summary['elapsed_s']:.2f} s; results: {summary['out']}")


def _with_bounds(figures: Mapping[str, float], bounds: Mapping[str, Sequence[float]], k: str) -> str:
    shown = f"{figures[k]:.2f}"
    return f"{shown} ({bounds[k][0]:.2f}–{bounds[k][1]:.2f})" if k in bounds else shown
