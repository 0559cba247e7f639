"""Functions for tasks of the LM Evaluation Harness, which judge the completions of all documents in one batch.

A task's utils.py has them, and its YAML names them with !function (docs/frameworks.md):

>>> judged = Judge("dns:///cruxboxd:50051")  # filter_fn: !function utils.judged
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Optional

from cruxbox.passk import mean_percent
from cruxbox.passk import pass_at_k as _pass_at_k
from cruxbox.problems.records import Record
from cruxbox.rewards import Reward

Marks = Sequence[Optional[float]]


class Judge:
    """A custom filter: for each document what its completions earn.

    Args:
        target: the server, as for `cruxbox.Client`; None starts one.
        column: what the problem is called in a document; without it the document is the problem.
        options: more arguments of `cruxbox.rewards.Reward`.
    """

    def __init__(self, target: str | None = None, column: str = "problem", **options: Any) -> None:
        self._reward, self._column = Reward(target, column=column, **options), column

    def __call__(self, resps: Sequence[Sequence[str]], docs: Sequence[Record]) -> list[list[float | None]]:
        """1.0, 0.0, or None where nothing is known, in the order of `resps`."""
        completions = [text for texts in resps for text in texts]
        problems = [doc.get(self._column, doc) for texts, doc in zip(resps, docs) for _ in texts]
        rewards = iter(self._reward(completions, **{self._column: problems}))
        return [[next(rewards) for _ in texts] for texts in resps]


def pass_at_k(references: Sequence[Any], predictions: Sequence[Marks], k: int | Sequence[int]) -> dict[str, float]:  # noqa: ARG001
    """A metric of what `Judge` made of one document: `pass@k` for each k. Not a number where less than k are known."""
    known = [mark == 1.0 for mark in predictions[0] if mark is not None]
    ks = [k] if isinstance(k, int) else k
    return {f"pass@{each}": _pass_at_k(len(known), sum(known), each) if each <= len(known) else math.nan for each in ks}


def mean_of_known(scores: Sequence[float]) -> float:
    """An aggregation: the mean of the documents of which something is known; not a number if there are none."""
    known = [score for score in scores if not math.isnan(score)]
    return mean_percent(known) / 100 if known else math.nan
