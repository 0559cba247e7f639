"""A scorer for Inspect: the tests of a sample's problem, in the sandbox, without a container for each sample.

>>> Task(dataset=..., solver=generate(), scorer=passes_tests("dns:///cruxboxd:50051"))

Inspect finds it as `cruxbox/passes_tests`, too: `inspect score LOG --scorer cruxbox/passes_tests`.
"""

from __future__ import annotations

from typing import Any

from anyio import to_thread
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

from cruxbox.rewards import Reward


@scorer(metrics=[accuracy(), stderr()])  # type: ignore[untyped-decorator]
def passes_tests(target: str | None = None, column: str = "problem", **options: Any) -> Scorer:
    """Does what the model wrote pass the tests? Correct, incorrect, or without a score where nothing is known.

    Args:
        target: the server, as for `cruxbox.Client`; None starts one.
        column: what the problem is called in a sample's metadata; without it the metadata is the problem, as in
            inspect_evals' HumanEval and MBPP.
        options: more arguments of `cruxbox.rewards.Reward`.
    """
    reward = Reward(target, column=column, **options)

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        problem = state.metadata.get(column, state.metadata)
        written = state.output.completion
        [fields] = await to_thread.run_sync(reward.judge, [written], [problem])
        said = {"answer": written, "explanation": fields["result"], "metadata": {"outcome": fields["outcome"]}}
        if fields["passed"] is None:
            return Score.unscored(reason="scoring_failed", **said)
        return Score(value=CORRECT if fields["passed"] else INCORRECT, **said)

    return score
