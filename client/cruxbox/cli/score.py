"""`cruxbox score`: CRUXEval's files in, pass@k and verdicts out."""

from __future__ import annotations

import contextlib
import enum
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from cruxbox.accounting import ACCOUNTINGS, Accounting, without_input_text
from cruxbox.cli.check import error_of, refuse_unless_they_run
from cruxbox.cli.connect import AsJson
from cruxbox.cli.outputs import goes_to_stdout
from cruxbox.cli.remembering import Remembering, remembered
from cruxbox.cli.resuming import Going, Restart, Resume, digest, going_on
from cruxbox.cli.running import Running, runs_programs
from cruxbox.cli.score_table import say_faults, show
from cruxbox.cli.show import note, print_json, progress_bar
from cruxbox.cruxeval import Dataset, Generations, read_dataset, read_generations, read_prelude, with_prelude
from cruxbox.errors import DataError, InvalidRequest
from cruxbox.files import OutputFile, check_output
from cruxbox.model import Verdict
from cruxbox.printable import counted
from cruxbox.reading import STANDARD
from cruxbox.scoring import FileReport, Job, score

# A pure-Python infinite loop ends here within milliseconds; honest programs of the benchmark take a few thousand.
_MAX_STEPS = 1_000_000
_CPU_LIMIT_S = 3.0


class Mode(str, enum.Enum):
    """What the generations predict."""

    input = "input"
    output = "output"


class AccountingName(str, enum.Enum):
    """How verdicts are counted."""

    strict = "strict"
    published = "published"
    released = "released"
    reference = "reference"


@runs_programs(cpu_limit_s=_CPU_LIMIT_S, max_steps=_MAX_STEPS)
def command(
    generations: Annotated[
        list[Path],
        typer.Argument(metavar="GENERATIONS.json", help="Generations of a model: {id: [text, ...]}; - is stdin."),
    ],
    dataset: Annotated[Path, typer.Option(metavar="DATA.jsonl", help="The data set: rows {code, input, output, id}.")],
    mode: Annotated[Mode, typer.Option(help="What the generations predict.")],
    accounting: Annotated[
        AccountingName,
        typer.Option(
            help="strict: only predictions count. published: as in the published files. released, reference: as the "
            "released scorer counts."
        ),
    ] = AccountingName.strict,
    skip_input_text: Annotated[
        bool,
        typer.Option(
            "--skip-input-text",
            help="Output mode: remove generations that contain the input's text from n, as LiveCodeBench does.",
        ),
    ] = False,
    out: Annotated[
        Optional[str],
        typer.Option(
            metavar="SCORED.json",
            help="File for marks and verdicts; a folder if it ends in / or there are several GENERATIONS; - is stdout.",
        ),
    ] = None,
    prelude: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE.py", help="Text to put in front of every program, such as LiveCodeBench's imports."),
    ] = None,
    k: Annotated[Optional[list[int]], typer.Option("--k", help="The k of pass@k; repeatable. Default: 1, 5.")] = None,
    resume: Resume = False,
    restart: Restart = False,
    as_json: AsJson = False,
    *,
    running: Running,
) -> None:
    """Score CRUXEval generations: pass@k and a verdict for each generation.

    What a run has done is kept beside --out until the file is written. After a kill, --resume runs only the checks that
    are missing, and --restart runs all of them again.
    """
    ks = _checked_ks(k or [1, 5])
    is_stdout_taken = goes_to_stdout(as_json, out=None if out is None else Path(out))
    if [*generations, dataset].count(Path(STANDARD)) > 1:
        raise InvalidRequest("standard input (-) can be read but once.")
    prelude_text = read_prelude(prelude)
    rows = with_prelude(read_dataset(dataset), prelude_text)
    files = [read_generations(path, rows) for path in generations]
    for path, each in zip(generations, files):
        _say_gaps(path, each, len(rows))
        if accounting is AccountingName.strict:  # the others give a figure
            _say_short(path, each, k or [])
    way = _way_of_counting(accounting, mode, skip_input_text)
    with _outputs(out, generations, dataset, prelude) as outputs:
        started = time.monotonic()
        going = Going([output.path for output in outputs], resume, restart)
        identity = {
            **_digests(zip(generations, files), [dataset, *([prelude] if prelude else [])], rows),
            "options": [mode.value, way.name, skip_input_text],
            **_way_of_running(running),
        }
        with going_on(going, identity, remembered) as done:
            with running.connect() as client, progress_bar("checks") as progress:
                refuse_unless_they_run({} if prelude is None else {prelude: prelude_text}, client)
                job = Job(rows, mode.value, way, running.limits, ks, progress)
                reports, distinct = score(Remembering(client, done.fields, done.add), job, files)
            elapsed_s = time.monotonic() - started
            _write(outputs, reports)
            if resume:
                done.note_whole(going.results)
    say_faults(dataset, reports)
    summary = summary_of(generations, reports, distinct, elapsed_s)
    if as_json:
        print_json(summary)
    elif not is_stdout_taken:
        show(summary, way.name)


def _digests(generations: Iterable[tuple[Path, Generations]], of_rows: Sequence[Path], rows: Dataset) -> dict[str, Any]:
    """Digests of the files that are scored, and of the files `of_rows` that `rows` were read from."""
    return {
        "generations": [digest(path, read=partial(dict, each)) for path, each in generations],
        "dataset": digest(*of_rows, read=lambda: repr(list(rows.values()))),
    }


def _way_of_running(running: Running) -> dict[str, Any]:
    require = None if running.require is None else running.require.name
    return {"runtime": [running.runtime, running.python], "limits": vars(running.limits), "require": require}


# ---- what is asked ----------------------------------------------------------------


def _say_gaps(path: Path, generations: Generations, tasks: int) -> None:
    if len(generations) < tasks:
        note(f"{path} has generations for {len(generations)} of the {tasks} tasks; the others are not counted.")
    empty = [name for name, texts in generations.items() if not texts]
    if empty:
        which = f"{len(empty)} of its tasks (such as {empty[0]!r:.80})"
        note(f"{path} has an empty list of generations for {which}; pass@k needs k generations of each task.")


def _say_short(path: Path, generations: Generations, ks: Sequence[int]) -> None:
    """Say which of the ks that were asked for has no figure: a dash in a table does not tell why."""
    name, texts = min(generations.items(), key=lambda each: len(each[1]))
    beyond = [f"pass@{k}" for k in sorted(set(ks)) if k > len(texts)]
    if beyond and texts:
        some = counted(len(texts), "generation")
        note(f"{path} has {some} of {name!r:.80}, so it has no {', '.join(beyond)}.")


def _way_of_counting(name: AccountingName, mode: Mode, skip_input_text: bool) -> Accounting:
    way = ACCOUNTINGS[name.value]
    if not skip_input_text:
        return way
    if mode is not Mode.output:
        raise InvalidRequest("--skip-input-text is a rule of --mode output.")
    return without_input_text(way)


def _checked_ks(ks: Sequence[int]) -> list[int]:
    for k in ks:
        if k < 1:
            raise InvalidRequest(f"--k must be at least 1, not {k}.")
    return sorted(set(ks))


@contextlib.contextmanager
def _outputs(out: str | None, inputs: Sequence[Path], *others: Path | None) -> Iterator[list[OutputFile]]:
    """The files to write, known to be writable before anything runs; removed if it fails. `others` are read."""
    paths = [] if out is None else _output_paths(out, inputs)
    files: list[OutputFile] = []
    try:
        for path in paths:
            check_output(path, *inputs, *others)
            files.append(OutputFile(path))
        yield files
    finally:
        for file in files:
            file.discard()


def _output_paths(named: str, inputs: Sequence[Path]) -> list[Path]:
    out = Path(named)
    if len(inputs) > 1 and named == STANDARD:
        raise InvalidRequest(f"--out - is for one file; there are {len(inputs)} to score.")
    if len(inputs) == 1 and not named.endswith(os.sep):
        paths = [out]
    else:
        if out.exists() and not out.is_dir():
            if len(inputs) == 1:
                raise DataError(f"{named}: ends in {os.sep} as a folder does, but is a file")
            raise DataError(f"{out}: must be a folder, because there are {len(inputs)} files to score")
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{out}: cannot be made: {error.strerror or error}") from None
        paths = _names_in(out, inputs)
    for number, path in enumerate(paths):
        if path in paths[:number]:
            raise DataError(f"{path}: two of the files to score would have this name; score them one by one")
    return paths


def _names_in(out: Path, inputs: Sequence[Path]) -> list[Path]:
    """Each input's own name; where they share it (CRUXEval's are all called generations.json), that of its folder."""
    names = [path.name for path in inputs]
    if len(set(names)) < len(names):
        names = [f"{path.resolve().parent.name}.json" for path in inputs]
    return [out / name for name in names]


# ---- what is answered ---------------------------------------------------------------


def _write(outputs: Sequence[OutputFile], reports: Sequence[FileReport]) -> None:
    for output, report in zip(outputs, reports):
        output.write_json(scored_file(report))


def scored_file(report: FileReport) -> dict[str, Any]:
    """The released scored format, and the verdicts."""
    return {
        "raw_generations": report.generations,
        "raw_scored_generations": report.scored.marks,
        **{f"pass_at_{k}": value for k, value in report.scored.pass_at_k.items()},
        "verdicts": {name: [_verdict(each) for each in row] for name, row in report.verdicts.items()},
    }


def _verdict(verdict: Verdict | None) -> dict[str, Any]:
    if verdict is None:
        reason = "the accounting does not run it"
        return {"outcome": "SKIPPED", "assurance": None, "steps": 0, "cpu_ms": 0.0, "value": None, "error": reason}
    return {
        "outcome": verdict.outcome.name,
        "assurance": None if verdict.assurance is None else verdict.assurance.name,
        "steps": verdict.steps,
        "cpu_ms": verdict.cpu_ns / 1e6,
        "value": verdict.value or None,
        "error": error_of(verdict),
    }


def summary_of(paths: Sequence[Path], reports: Sequence[FileReport], distinct: int, elapsed_s: float) -> dict[str, Any]:
    return {
        "files": [_file(path, report) for path, report in zip(paths, reports)],
        "checks": sum(report.checks for report in reports),
        "distinct": distinct,
        "elapsed_s": round(elapsed_s, 3),
    }


def _file(path: Path, report: FileReport) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "path": str(path),
        "pass_at_k": {str(k): value for k, value in report.scored.pass_at_k.items()},
        "checks": report.checks,
        "outcomes": report.outcomes,
        "masked": report.scored.masked,
        "assurances": report.assurances,
    }
    if report.difference is not None:
        entry["reference"] = {
            "pass_at_k": {str(k): value for k, value in report.difference.pass_at_k.items()},
            "differs": report.difference.reasons,
            "examples": report.difference.examples,
        }
    return entry
