"""`cruxbox stdio`: samples for problems of contests in (APPS, CodeContests, LiveCodeBench), pass@k out."""

from __future__ import annotations

import enum
from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer

from cruxbox.cli.running import Running, runs_programs
from cruxbox.cli.samples import Request, judge, takes_samples
from cruxbox.errors import InvalidRequest
from cruxbox.problems.contests import Comparison, problem_of
from cruxbox.problems.records import may_bind_check
from cruxbox.problems.running import CPU_LIMIT_S
from cruxbox.reading import read_text

_MOST_SOURCE = 1 << 20


class Compare(enum.Enum):
    """How printed output is compared."""

    exact = "exact"
    lines = "lines"
    tokens = "tokens"
    casefold = "casefold"


@runs_programs(cpu_limit_s=CPU_LIMIT_S)
@takes_samples
def command(
    *,
    compare: Annotated[
        Optional[Compare], typer.Option(help="How output is compared. Default: as the benchmark does.")
    ] = None,
    tolerance: Annotated[
        Optional[float],
        typer.Option(help="Numbers are equal if they differ by at most this, absolutely or relatively."),
    ] = None,
    checker: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE.py", help="Source of check(stdin, stdout, expected), which replaces the comparison."
        ),
    ] = None,
    prelude: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE.py",
            help="Text to put in front of every program. Default: the benchmarks' usual imports, for functions only.",
        ),
    ] = None,
    request: Request,
    running: Running,
) -> None:
    """Run samples against the tests of APPS, CodeContests or LiveCodeBench: pass@k, and a line for each sample.

    A sample passes if all tests of its problem pass. The comparison runs in another process than the program. The
    limits apply to one test.
    """
    if checker is not None and (compare is not None or tolerance is not None):
        raise InvalidRequest("--checker decides by itself: --compare and --tolerance do not go with it.")
    if tolerance is not None and not 0 <= tolerance < float("inf"):
        raise InvalidRequest(f"--tolerance must be a number of at least 0, not {tolerance:g}.")
    if tolerance and compare is Compare.exact:
        raise InvalidRequest("--tolerance does not go with --compare exact.")
    source = "" if checker is None else read_text(checker, _MOST_SOURCE)
    if checker is not None and not source.strip():
        raise InvalidRequest(f"{checker}: is empty; a checker must define check(stdin, stdout, expected).")
    if checker is not None and not may_bind_check(source):
        raise InvalidRequest(f"{checker}: defines no check; a checker must define check(stdin, stdout, expected).")
    front = None if prelude is None else read_text(prelude, _MOST_SOURCE)
    comparison = Comparison(None if compare is None else compare.value, tolerance, source)
    read = partial(problem_of, comparison=comparison, prelude=front)
    # Where one of these cannot run, that is said once, and not of each sample.
    sources = {path: text for path, text in ((prelude, front), (checker, source)) if path is not None and text}
    judge(request, running, read, sources, comparison=comparison, prelude=front)
