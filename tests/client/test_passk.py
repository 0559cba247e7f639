"""pass@k against counting every draw."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from cruxbox import pass_at_k
from cruxbox.passk import mean_percent, reference_pass_at_k
from hypothesis import given
from hypothesis import strategies as st

cases = [(n, c, k) for n in range(1, 9) for c in range(n + 1) for k in range(1, n + 1)]


@pytest.mark.parametrize(("n", "c", "k"), cases)
def test_it_is_the_share_of_draws_with_a_right_one(n, c, k):
    draws = list(combinations(range(n), k))
    share = Fraction(sum(any(i < c for i in draw) for draw in draws), len(draws))
    assert pass_at_k(n, c, k) == float(share)
    assert reference_pass_at_k(n, c, k) == pytest.approx(float(share), abs=1e-12)


@given(st.integers(1, 5000), st.data())
def test_it_is_a_probability_that_grows_with_k_and_c(n, data):
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    value = pass_at_k(n, c, k)
    assert 0.0 <= value <= 1.0
    assert value <= pass_at_k(n, c, min(k + 1, n))
    assert value <= pass_at_k(n, min(c + 1, n), k)
    assert pass_at_k(n, c, 1) == c / n


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, 0, 1), "n must be at least 1"),
        ((5, 6, 1), "c must be between 0 and n = 5, not 6"),
        ((5, -1, 1), "c must be between 0"),
        ((5, 1, 6), "k must be between 1 and n = 5, not 6"),
        ((5, 1, 0), "k must be between 1"),
        ((5, True, 1), "c must be an integer"),
        ((5.0, 1, 1), "n must be an integer"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        pass_at_k(*arguments)


def test_the_references_quirks():
    assert reference_pass_at_k(1, 0, 5) == 1.0
    assert reference_pass_at_k(0, 0, 1) == 1.0
    assert reference_pass_at_k(4, 0, 4) == 0.0


def test_the_mean_is_the_same_to_the_last_bit_on_every_interpreter():
    assert mean_percent([0.5, 1.0]) == 75.0
    mixed = [0.1] * 6 + [0.7]  # which sum() rounds otherwise from Python 3.12 on
    assert mean_percent(mixed) == 18.57142857142857


def test_mean_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no tasks"):
        mean_percent([])
