"""pass@k: the probability that at least one of k generations, drawn from n of which c are right, is right. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import comb
from operator import add


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased estimator 1 - C(n-c, k) / C(n, k), correctly rounded.

    Args:
        n: number of judged generations, at least 1.
        c: number of right ones, 0 to n.
        k: number drawn, 1 to n.

    Returns:
        A probability from 0 to 1.

    Raises:
        ValueError: an argument is not an integer or out of range.

    Source: Chen et al., "Evaluating Large Language Models Trained on Code", arXiv 2107.03374, equation 1.
    """
    for name, value in (("n", n), ("c", c), ("k", k)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{name} must be an integer, not {value!r}.")
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}: nothing was judged.")
    if not 0 <= c <= n:
        raise ValueError(f"c must be between 0 and n = {n}, not {c}.")
    if not 1 <= k <= n:
        raise ValueError(f"k must be between 1 and n = {n}, not {k}: k drawings need k generations.")
    total = comb(n, k)
    return (total - comb(n - c, k)) / total


def reference_pass_at_k(n: int, c: int, k: int) -> float:
    """pass@k as CRUXEval's scorer computes it: 1.0 whenever fewer than k are wrong, even for n = 0 or k > n."""
    if n - c < k:
        return 1.0
    product = 1.0
    for j in range(n - c + 1, n + 1):
        product *= 1.0 - k / j
    return 1.0 - product


def mean_percent(values: Iterable[float]) -> float:
    """The mean of `values` (fractions) in percent. Raises ValueError if there are none.

    They are added one by one, as `sum` did before Python 3.12: the last bit is the same on every interpreter.
    """
    values = list(values)
    if not values:
        raise ValueError("the mean of nothing is not a number: there are no tasks.")
    return reduce(add, values) / len(values) * 100
