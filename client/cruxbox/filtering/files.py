"""A file of candidates in, a file of kept rows and one of refused ones out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cruxbox.building.rows import check_records, no_usable_row
from cruxbox.errors import DataError, InvalidRequest
from cruxbox.filtering.candidates import BadRow, read_candidates
from cruxbox.filtering.judging import kept_row, rejected_row
from cruxbox.filtering.outputs import Outputs, journal_of
from cruxbox.filtering.pipeline import Checker, Result, filter_candidates
from cruxbox.filtering.reasons import BAD_ROW
from cruxbox.filtering.rules import PAPER, Rules
from cruxbox.filtering.seen import Seen
from cruxbox.filtering.summary import Summary, ends_row
from cruxbox.reading import blocks_of


@dataclass(frozen=True)
class Plan:
    """One run.

    Args:
        candidates: JSONL or Parquet rows `{code, input}` or `{code, inputs}`. Paths may be given as strings.
        out: where the kept rows go; `.parquet` for Parquet.
        rejects: where the refused rows and the bad ones go; None for nowhere.
        rules: what is refused.
        runtime: name of the server's interpreter; "" is its default.
        strict: stop at the first bad row, with a DataError.
        resume: go on with a run that was killed, if there is one.
        restart: forget about it.
        checkpoint_s: seconds between two moments from which a killed run can go on.
    """

    candidates: Path
    out: Path
    rejects: Path | None = None
    rules: Rules = PAPER
    runtime: str = ""
    strict: bool = False
    resume: bool = False
    restart: bool = False
    checkpoint_s: float = 1.0

    def __post_init__(self) -> None:
        for name in ("candidates", "out", "rejects"):
            path = getattr(self, name)
            if path is not None:
                object.__setattr__(self, name, Path(path))
        if self.resume and self.restart:
            raise InvalidRequest("--resume and --restart exclude each other.")


def filter_file(
    plan: Plan,
    checker: Checker,
    *,
    on_bad_row: Callable[[str], None] = lambda _sentence: None,
    on_progress: Callable[[Summary], None] = lambda _summary: None,
) -> Summary:
    """Run the plan; what was done, in numbers. The order of rows is that of the candidates.

    Args:
        plan: what to do.
        checker: a sandbox, usually a `cruxbox.Client`.
        on_bad_row: called with a sentence for each row that cannot be used.
        on_progress: called after each row of the input.

    Raises DataError for files that cannot be used or hold no usable row, and what the sandbox's client raises.
    """
    _check_paths(plan)
    _check_unfinished(plan)
    memory = plan.out.with_name(plan.out.name + ".seen")
    identity = _identity(plan)
    paths = [plan.out, *([plan.rejects] if plan.rejects else [])]
    outputs = Outputs(paths, identity, plan.checkpoint_s)
    outputs.claim()
    going_on = plan.resume and journal_of(plan.out).exists()
    if not going_on:
        _remove(memory)
    is_own = not going_on  # what is there is this run's, and not another's that it only looks at
    try:
        with closing(Seen(memory)) as seen:
            outputs.go_on(seen) if going_on else outputs.start(seen)
            is_own = True
            first = _run(plan, checker, seen, outputs, on_bad_row=on_bad_row, on_progress=on_progress)
            if outputs.summary.rows == outputs.summary.bad_rows:
                outputs.rows_done = 0
                raise no_usable_row(plan.candidates, first or "one of the run before" * bool(outputs.summary.rows))
            outputs.finish()
    except BaseException:
        if is_own and not outputs.rows_done:  # there is nothing to go on with
            outputs.discard()
        raise
    finally:
        if not journal_of(plan.out).exists():
            _remove(memory)
        outputs.close()
    return outputs.summary


def _check_unfinished(plan: Plan) -> None:
    journal = journal_of(plan.out)
    if journal.exists() and not plan.resume and not plan.restart:
        raise DataError(
            f"{plan.out}: an unfinished run is here ({journal.name}); --resume continues it, --restart starts over"
        )


def _run(
    plan: Plan,
    checker: Checker,
    seen: Seen,
    outputs: Outputs,
    *,
    on_bad_row: Callable[[str], None],
    on_progress: Callable[[Summary], None],
) -> str:
    """Judge the candidates that are left, and write their rows; what is wrong with the first bad row of them."""
    first = ""
    items = read_candidates(plan.candidates, skip=outputs.rows_done)
    results = filter_candidates(items, checker, plan.rules, runtime=plan.runtime, seen=seen)
    for result in results:
        problem = _take(plan, plan.candidates.name, outputs, result)
        if problem:
            on_bad_row(problem)
            first = first or problem
        if ends_row(result):
            outputs.rows_done += 1
            outputs.checkpoint()
            on_progress(outputs.summary)
    return first


def _take(plan: Plan, file: str, outputs: Outputs, result: Result) -> str:
    """Count a result and write its row; what is wrong with it, where it is a bad one."""
    outputs.summary.add(result)
    if isinstance(result, BadRow):
        sentence = f"{plan.candidates}, line {result.line}: {result.reason}"
        if plan.strict:
            raise DataError(sentence)
        if plan.rejects is not None:
            source = {"file": file, "line": result.line}
            outputs.write(1, {"reasons": [BAD_ROW], "detail": result.reason, "source": source})
        return sentence
    if result.is_kept:
        outputs.write(0, kept_row(result, file, plan.rules))
    elif plan.rejects is not None:
        outputs.write(1, rejected_row(result, file))
    return ""


def _check_paths(plan: Plan) -> None:
    outputs = [plan.out, *([plan.rejects] if plan.rejects else [])]
    for path in (plan.candidates, *outputs):
        if path.exists() and not path.is_file():
            raise DataError(f"{path}: is not a regular file, which a resumable run needs")
    for path in outputs:
        check_records(path, plan.candidates)
    if len({os.path.realpath(path) for path in outputs}) < len(outputs):
        raise DataError(f"{plan.rejects}: is named twice; kept and refused rows are two files")


def _identity(plan: Plan) -> dict[str, Any]:
    """What must be the same for a run to be gone on with."""
    content = hashlib.blake2b(digest_size=16)
    try:
        for block in blocks_of(plan.candidates):
            content.update(block)
    except OSError as error:
        raise DataError(f"{plan.candidates}: cannot be read: {error.strerror or error}") from None
    return {
        "candidates": {"name": plan.candidates.name, "content": content.hexdigest()},
        "rejects": plan.rejects is not None,
        "rules": plan.rules.as_dict(),
        "runtime": plan.runtime,
    }


def _remove(memory: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            memory.with_name(memory.name + suffix).unlink()
