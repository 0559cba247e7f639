"""Everything that looks at two models at once, against plain loops and scipy."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from cruxbox.stats import (
    conditional_failure,
    correlations,
    cot_confusion,
    differences,
    diversity,
    holm,
    panel_of,
    resample_means,
    reversal,
    shares,
    two_sided,
)
from cruxbox.stats.compare import ahead
from cruxbox.stats.paired import paired_t
from stats_models import made_up


@pytest.fixture
def p():
    panel = panel_of([made_up("a", 1), made_up("b", 2, lift=0.1), made_up("c", 3, lift=0.4, nulls=0.02)])
    p = panel.p.copy()
    p[5, 1] = np.nan
    return p


def test_difference_is_paired_on_the_same_draws(p):
    found = differences(p, "abc", 0, resamples=400, seed=2, sizes=(20,))
    picks = np.random.default_rng(2).integers(0, len(p), size=(400, len(p)))
    for one, column in zip(found, (1, 2)):
        gap = p[:, column] - p[:, 0]
        means = np.array([np.nanmean(gap[row]) for row in picks])
        assert (one.baseline, one.model) == ("a", "abc"[column])
        assert one.tasks == (~np.isnan(gap)).sum()
        assert one.difference == pytest.approx(np.nanmean(gap))
        assert (one.low, one.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))
        smaller = min(sum(means <= 0), sum(means >= 0))
        assert one.p_value == pytest.approx(min(1, 2 * (smaller + 1) / 401))


def test_a_model_against_itself_is_no_difference(p):
    same = np.repeat(p[:, [0]], 2, axis=1)
    (one,) = differences(same, ("a", "twin"), 0, resamples=300)
    assert (one.difference, one.low, one.high, one.p_value, one.t_test) == (0, 0, 0, 1, 1)
    assert not one.significant()
    assert set(one.reversed.values()) == {0}
    assert differences(p[:, [0]], ("a",), 0) == []


def test_p_values_of_no_difference_are_spread_evenly():
    """Under the null hypothesis a p value below 5 % comes up in 5 % of cases."""
    random = np.random.default_rng(7)
    gaps = random.normal(size=(100, 400))
    share = (two_sided(resample_means(gaps, resamples=1000)) < 0.05).mean()
    assert 0.02 < share < 0.09


def test_paired_t_is_scipys():
    from scipy import stats  # takes seconds of CPU time to load

    random = np.random.default_rng(1)
    x, y = random.random(50), random.random(50)
    assert paired_t(x - y) == pytest.approx(stats.ttest_rel(x, y).pvalue)
    assert math.isnan(paired_t(np.array([0.1])))
    assert paired_t(np.array([0.1, 0.1, np.nan])) == 0.0


def test_holm_rejects_exactly_what_its_step_down_procedure_rejects():
    random = np.random.default_rng(3)
    for level in (0.01, 0.05, 0.2):
        for _ in range(50):
            values = random.random(6) ** 3
            rejected = set()
            for rank, index in enumerate(np.argsort(values)):
                if values[index] > level / (len(values) - rank):
                    break
                rejected.add(int(index))
            assert {int(index) for index in np.flatnonzero(holm(values) <= level)} == rejected


def test_reversal_counts_opposite_signs_only():
    means = np.array([[0.1, -0.1, 0.2], [-0.2, 0.0, 0.1], [0.3, 0.4, -0.1], [0.0, -0.3, 0.2]])
    assert reversal(means, np.array([0.1, -0.1, 0.0])).tolist() == [0.25, 0.25, 0.0]


def test_fewer_tasks_reverse_the_order_more_often():
    from scipy import stats

    panel = panel_of([made_up("a", 1, tasks=400), made_up("b", 2, tasks=400, lift=0.02)])
    (one,) = differences(panel.p, panel.names, 0)
    chances = list(one.reversed.values())
    assert list(one.reversed) == [200, 400, 800, 1600]
    assert chances == sorted(chances, reverse=True)
    # The chance is that of a normal variable with this mean and deviation to lie beyond zero.
    gap = panel.p[:, 1] - panel.p[:, 0]
    for size, chance in one.reversed.items():
        assert chance == pytest.approx(stats.norm.cdf(-abs(gap.mean()) / (gap.std() / math.sqrt(size))), abs=0.02)


def test_ahead_counts_resamples_and_halves_ties():
    means = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [3.0, 0.0]])
    assert ahead(means)[0, 1] == 0.625
    assert ahead(means)[1, 0] == 0.375
    assert math.isnan(ahead(means)[0, 0])


def test_correlations_against_their_definitions(p):
    found = correlations(p)
    for i, j in itertools.combinations(range(3), 2):
        both = ~np.isnan(p[:, i]) & ~np.isnan(p[:, j])
        x, y = p[both, i], p[both, j]
        assert found["pearson"][i, j] == pytest.approx(np.corrcoef(x, y)[0, 1])
        assert found["spearman"][i, j] == pytest.approx(np.corrcoef(ranks(x), ranks(y))[0, 1])
        assert found["kendall"][i, j] == pytest.approx(tau_b(x, y))
    for matrix in found.values():
        assert np.array_equal(matrix, matrix.T)
        assert np.diag(matrix).tolist() == [1, 1, 1]


def test_a_constant_model_has_no_correlation():
    p = np.array([[1.0, 0.2], [1.0, 0.4], [1.0, 0.1]])
    for matrix in correlations(p).values():
        assert np.isnan(matrix[0]).all()
        assert matrix[1, 1] == 1


def ranks(values):
    """Mean rank of each value among all."""
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) - 1) / 2 for value in values
    ]


def tau_b(x, y):
    """Kendall's tau with ties, pair by pair."""
    concordance = ties_x = ties_y = 0
    pairs = list(itertools.combinations(range(len(x)), 2))
    for a, b in pairs:
        concordance += np.sign(x[a] - x[b]) * np.sign(y[a] - y[b])
        ties_x += x[a] == x[b]
        ties_y += y[a] == y[b]
    return concordance / math.sqrt((len(pairs) - ties_x) * (len(pairs) - ties_y))


def test_conditional_failure_by_hand():
    p = np.array([[0.0, 0.5, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [np.nan, 1.0, 1.0]])
    found = conditional_failure(p)
    # Where the first fails (two tasks), the second has a mean of 0.25; over the three tasks both know, 0.5.
    assert found[0, 1] == pytest.approx(0.5)
    assert found[0, 0] == 0
    assert found[1, 0] == 0
    assert found[0, 2] == 1
    assert np.isnan(found[2]).all()


def test_conditional_failure_below_a_threshold():
    p = np.array([[0.0, 0.5], [0.05, 0.0], [0.1, 1.0], [1.0, 0.5]])
    assert conditional_failure(p)[0, 1] == pytest.approx(0.5 / 0.5)
    assert conditional_failure(p, 0.1)[0, 1] == pytest.approx(0.25 / 0.5)


def test_cot_confusion_by_hand():
    direct = np.array([1.0, 0.5, 0.0, 0.6, 0.1, np.nan])
    cot = np.array([1.0, 0.6, 0.0, 0.5, 1.0, 1.0])
    one = cot_confusion(direct, cot, ("d", "c"))
    assert (one.both, one.only_direct, one.only_cot, one.neither) == (1, 1, 2, 1)
    bins = dict(zip(((a + b) / 2 for a, b in zip(one.edges, one.edges[1:])), one.counts))
    moved = {round(centre, 9): count for centre, count in bins.items() if count}
    assert moved == {-0.1: 1, 0.0: 2, 0.1: 1, 0.9: 1}
    assert sum(one.counts) == 5


def test_diversity_counts_texts_without_white_space_around_them():
    generations = {"a": ("1", " 1", "2\n"), "b": ()}
    assert diversity(generations, ["a", "b", "c"]) == (2, 0, 0)


def test_shares_have_open_borders():
    found = shares(np.array([0.0, 0.1, 0.5, 0.9, 1.0, 1.0, np.nan]))
    assert found.solved == pytest.approx(2 / 6)
    assert found.unsolved == pytest.approx(1 / 6)
    assert found.functional_diversity == pytest.approx(1 / 6)
    assert math.isnan(shares(np.array([np.nan])).solved)


@pytest.mark.data
def test_code_llama_input_against_output(code_llama):
    """Counted here in plain Python from the published verdicts."""
    given, asked = ({id: sum(row) / len(row) for id, row in model.verdicts.items()} for model in code_llama)
    panel = panel_of(code_llama)
    (one,) = differences(panel.p, panel.names, 0)
    assert one.difference == pytest.approx(sum(asked[id] - given[id] for id in given) / 400)
    assert not one.significant()
    failed = [id for id in given if given[id] == 0]
    ratio = (sum(asked[id] for id in failed) / len(failed)) / (sum(asked.values()) / 400)
    assert conditional_failure(panel.p)[0, 1] == pytest.approx(ratio)
    counts = Counter(len({text.strip() for text in row}) for row in code_llama[0].generations.values())
    assert Counter(diversity(code_llama[0].generations, panel.ids)) == counts
