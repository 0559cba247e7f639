"""The metric `code_eval` of Hugging Face's `evaluate`, with candidates and tests apart, in the sandbox.

>>> scores, results = CodeEval("dns:///cruxboxd:50051").compute(predictions=candidates, references=tests, k=[1, 10])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from cruxbox import arguments
from cruxbox.arguments import TEXT, TEXTS, Rule, seconds, whole
from cruxbox.client import Client
from cruxbox.errors import DataError
from cruxbox.model import Limits
from cruxbox.problems.functions import TestedFunction
from cruxbox.problems.reading import sample_of
from cruxbox.problems.results import marks_of, mean_pass_at_k
from cruxbox.problems.running import judged
from cruxbox.problems.shapes import Problem, Sample

Results = dict[int, list[tuple[int, dict[str, Any]]]]
_KS = Rule(
    "a list of whole numbers of at least 1",
    lambda value: isinstance(value, Sequence) and all(map(whole(1).holds, value)),
)


class CodeEval:
    """What `evaluate.load("code_eval")` gives: `compute` takes and returns the same.

    Args:
        target: the server, as for `cruxbox.Client`; None starts one.
        runtime: name of the server's interpreter; "" is its default.
        client_options: more arguments of `cruxbox.Client`.
    """

    def __init__(self, target: str | None = None, *, runtime: str = "", **client_options: Any) -> None:
        arguments.check_one("runtime", runtime, TEXT)
        self._client = Client(target, **client_options)
        self._runtime = runtime

    def compute(
        self,
        *,
        predictions: Sequence[Sequence[str]],
        references: Sequence[str],
        k: Sequence[int] = (1, 10, 100),
        num_workers: int = 4,  # noqa: ARG002 (the server knows its own)
        timeout: float = 3.0,
    ) -> tuple[dict[str, float], Results]:
        """pass@k as fractions, for each k that every problem has candidates enough for; and what became of each.

        Args:
            predictions: for each problem its candidates, whole programs.
            references: for each problem the test that is run with a candidate, as source text.
            k: how many candidates are drawn.
            num_workers: not used.
            timeout: seconds of CPU time for a candidate with its test.

        In the results, by the problem's place, stand pairs of a candidate's place and its `task_id`, `passed`, `result`
        and `completion_id`. `passed` is None for a fault of the sandbox or of the test: such a candidate leaves n.
        Raises DataError if the numbers of problems differ.
        """
        arguments.check_one("references", references, TEXTS)
        arguments.check_one("k", k, _KS)
        arguments.check_one("timeout", timeout, seconds(0))
        if len(predictions) != len(references):
            numbers = f"{len(predictions)} lists of predictions, {len(references)} references"
            raise DataError(f"the numbers of problems differ: {numbers}")
        problems = {str(at): _problem(at, test) for at, test in enumerate(references)}
        samples = list(self._samples(predictions, problems))
        fields = judged(self._client, problems, samples, Limits(cpu_ms=max(1, round(timeout * 1000))))
        results: Results = {at: [] for at in range(len(references))}
        for sample, own in zip(samples, fields):
            mine = results[int(sample.task_id)]
            said = {"task_id": int(sample.task_id), "passed": own["passed"], "result": own["result"]}
            mine.append((len(mine), {**said, "completion_id": len(mine)}))
        scores = mean_pass_at_k(marks_of(samples, fields), k)
        return {f"pass@{each}": percent / 100 for each, percent in scores.items()}, results

    def _samples(self, predictions: Sequence[Sequence[str]], problems: dict[str, Problem]) -> Iterator[Sample]:
        for at, programs in enumerate(predictions):
            arguments.check_one(f"predictions[{at}]", programs, TEXTS)
            for program in programs:
                sample = sample_of(program, problems[str(at)], {}, is_rest=False, clean=False)
                yield replace(sample, runtime=self._runtime)


def _problem(at: int, test: str) -> Problem:
    return TestedFunction(str(at), f"reference {at}", tests={"": test})
