"""pass@k, bootstrap, noise: each against an independent computation."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from cruxbox.errors import DataError
from cruxbox.stats import Scored, interval, panel_of, pass_at_k, resample_means, type1, type1_closed, type2
from cruxbox.stats.panel import unit_histogram
from stats_models import made_up


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_pass_at_k_is_the_share_of_subsets_with_a_pass(k):
    for n in range(1, 8):
        for c in range(n + 1):
            samples = [True] * c + [False] * (n - c)
            subsets = list(itertools.combinations(samples, k))
            got = pass_at_k(np.array([n]), np.array([c]), k)[0]
            if k > n:
                assert math.isnan(got)
            else:
                assert got == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-12)


def test_pass_at_k_of_hundreds_of_samples_agrees_with_binomials():
    n, c = np.array([200, 200, 1000]), np.array([0, 13, 999])
    want = [1 - math.comb(int(a - b), 7) / math.comb(int(a), 7) for a, b in zip(n, c)]
    assert pass_at_k(n, c, 7) == pytest.approx(want)
    with pytest.raises(ValueError, match="k must be 1 or more, is 0"):
        pass_at_k(n, c, 0)


def test_an_interval_does_not_load_what_tests_of_significance_need():
    script = "import sys, cruxbox.stats.bootstrap; print([name for name in sys.modules if name.startswith('scipy.')])"
    assert "scipy.stats" not in subprocess.check_output([sys.executable, "-c", script], text=True)


def test_resample_means_are_the_means_of_drawn_tasks():
    p = np.random.default_rng(1).random((37, 4))
    picks = np.random.default_rng(5).integers(0, 37, size=(200, 37))
    assert resample_means(p, resamples=200, seed=5) == pytest.approx(np.array([p[row].mean(axis=0) for row in picks]))


def test_resample_means_with_unknown_tasks_and_another_size():
    p = np.random.default_rng(1).random((29, 3))
    p[3, 0] = p[7, 0] = p[7, 2] = np.nan
    picks = np.random.default_rng(9).integers(0, 29, size=(150, 80))
    want = np.array([[np.nanmean(p[row, model]) for model in range(3)] for row in picks])
    assert resample_means(p, resamples=150, seed=9, size=80) == pytest.approx(want)


def test_all_resamples_of_four_tasks_agree_with_the_bootstrap():
    p = np.array([[0.0], [0.3], [0.4], [1.0]])
    exact = np.array([np.mean(draw) for draw in itertools.product(p[:, 0], repeat=4)])
    means = resample_means(p, resamples=40_000, seed=3)
    assert means.mean() == pytest.approx(exact.mean(), abs=0.005)
    assert type1(means)[0] == pytest.approx(exact.std(), rel=0.02)
    low, high = interval(means, 0.9)
    assert (low[0], high[0]) == pytest.approx(tuple(np.quantile(exact, [0.05, 0.95])), abs=0.03)


def test_same_seed_same_draws_whatever_the_number_of_models():
    p = np.random.default_rng(1).random((50, 6))
    together = resample_means(p, resamples=2500, seed=4)
    assert np.array_equal(together, resample_means(p, resamples=2500, seed=4))
    assert together[:, [2]] == pytest.approx(resample_means(p[:, [2]], resamples=2500, seed=4))
    assert not np.array_equal(together, resample_means(p, resamples=2500, seed=5))


def test_twenty_models_by_ten_thousand_resamples():
    p = np.random.default_rng(1).random((800, 20))
    means = resample_means(p)
    assert means.shape == (10_000, 20)
    assert type1(means) == pytest.approx(type1_closed(p), rel=0.03)
    assert type1_closed(p) == pytest.approx(p.std(axis=0) / math.sqrt(800))


def test_type2_is_the_deviation_of_a_mean_of_binomials():
    """Over all outcomes of sampling, its square is the variance of the mean: n - 1 makes it so."""
    p, n = np.array([[0.2], [0.5], [1.0]]), np.array([[2], [3], [2]])
    outcomes = []
    for hits in itertools.product(*(range(int(k) + 1) for k in n[:, 0])):
        weight = math.prod(
            math.comb(int(k), h) * q**h * (1 - q) ** (int(k) - h) for k, h, q in zip(n[:, 0], hits, p[:, 0])
        )
        shares = np.array([[h / int(k)] for h, k in zip(hits, n[:, 0])])
        outcomes.append((weight, float(shares.mean()), float(type2(shares, n)[0])))
    mean = sum(weight * value for weight, value, _ in outcomes)
    variance = sum(weight * (value - mean) ** 2 for weight, value, _ in outcomes)
    assert sum(weight * noise**2 for weight, _, noise in outcomes) == pytest.approx(variance)


def test_type2_leaves_unknown_tasks_out():
    p, n = np.array([[0.5], [np.nan], [0.5]]), np.array([[4], [0], [4]])
    assert type2(p, n)[0] == pytest.approx(math.sqrt(2 * 0.25 / 3) / 2)


def test_one_sample_a_task_says_nothing_of_its_noise():
    assert np.isnan(type2(np.array([[1.0], [0.5]]), np.array([[1], [2]]))[0])


def test_panel_masks_nulls_and_keeps_shared_tasks_only():
    one = Scored("one", {"a": (True, None, False), "b": (None,), "c": (True,)})
    two = Scored("two", {"b": (False,), "a": (True, True), "d": (True,)})
    panel = panel_of([one, two])
    assert panel.ids == ("a", "b")
    assert panel.left_out == 2
    assert panel.n.tolist() == [[2, 2], [0, 1]]
    assert panel.c.tolist() == [[1, 2], [0, 0]]
    assert panel.p[0].tolist() == [0.5, 1.0]
    assert math.isnan(panel.p[1, 0])


def test_panel_refuses_what_cannot_be_compared():
    one = Scored("one", {"a": (True,)})
    with pytest.raises(DataError, match="no task in common"):
        panel_of([one, Scored("two", {"b": (True,)})])
    with pytest.raises(DataError, match="two: not one check of the 1 shared tasks is decided"):
        panel_of([one, Scored("two", {"a": (None,)})])
    with pytest.raises(DataError, match="no scored file"):
        panel_of([])
    with pytest.raises(DataError, match="no model is called 'x'; there are: one"):
        panel_of([one]).column("x")


def test_shares_on_an_edge_fall_to_its_right():
    shares = np.array([k / 10 for k in range(11)] + [0.1 + 0.2, np.nan])
    assert unit_histogram(shares, 10).tolist() == [1, 1, 1, 2, 1, 1, 1, 1, 1, 2]


@pytest.mark.data
def test_noise_of_code_llama_is_what_the_paper_says(code_llama):
    """Type 1 about 1.6 points and type 2 about 0.2 points, both for 800 tasks; here are 400 of them."""
    panel = panel_of(code_llama)
    assert pass_at_k(panel.n, panel.c, 1).mean(axis=0) == pytest.approx([0.36875, 0.35475])
    half = math.sqrt(400 / 800)
    assert type1(resample_means(panel.p)) * half == pytest.approx([0.016, 0.016], abs=0.001)
    assert type2(panel.p, panel.n) * half == pytest.approx([0.002, 0.002], abs=0.0005)


def test_made_up_models_are_what_the_other_tests_think():
    panel = panel_of([made_up("low", 1), made_up("high", 2, lift=0.3)])
    assert panel.p.mean(axis=0)[0] < panel.p.mean(axis=0)[1]
