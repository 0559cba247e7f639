"""`cruxbox humaneval` and `cruxbox mbpp`: samples for functions with tests in, result lines and pass@k out."""

from __future__ import annotations

from cruxbox.cli.running import Running, runs_programs
from cruxbox.cli.samples import Request, judge, takes_samples
from cruxbox.problems.functions import problem_of
from cruxbox.problems.running import CPU_LIMIT_S


@runs_programs(cpu_limit_s=CPU_LIMIT_S)
@takes_samples
def command(*, request: Request, running: Running) -> None:
    """Run samples against the tests of HumanEval, MBPP or EvalPlus: pass@k, and a result line for each sample.

    Candidate and test run in two processes; `assurance` says if they could not. EvalPlus's base and plus tests are
    reported separately; a sample that fails base has not passed plus.
    """
    judge(request, running, problem_of)
