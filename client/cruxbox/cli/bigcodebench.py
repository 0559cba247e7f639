"""`cruxbox bigcodebench`: samples for BigCodeBench's problems in, pass@k out."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from cruxbox.cli.running import Running, runs_programs
from cruxbox.cli.samples import Request, judge, takes_samples
from cruxbox.problems.bigcodebench import problem_of
from cruxbox.problems.running import CPU_LIMIT_S


@runs_programs(cpu_limit_s=CPU_LIMIT_S)
@takes_samples
def command(
    *,
    calibrated: Annotated[
        bool,
        typer.Option(
            "--calibrated/--no-calibrated",
            help="Put the problem's imports and signature in front of each sample, as the benchmark's own scores do.",
        ),
    ] = True,
    in_process: Annotated[
        bool,
        typer.Option(
            "--in-process",
            help="Run suites that need the candidate in their process there: those that the problem's own solution "
            "fails otherwise. Such a pass can be forged; without this nothing is known about "
            "samples that fail these suites.",
        ),
    ] = False,
    request: Request,
    running: Running,
) -> None:
    """Run samples against BigCodeBench's suites: pass@k, and a result line for each sample.

    It needs the libraries: an interpreter that has them (--python), or a runtime of the server (--runtime).
    """
    read = partial(problem_of, calibrated=calibrated, together=in_process)
    judge(request, running, read, calibrated=calibrated, in_process=in_process)
