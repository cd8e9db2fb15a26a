"""The concordance of dyads equals counting pairs, and its interval knows what cells share."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.metrics import dyadic_concordance, pairwise_accuracy


def influence_by_pairs(truth, scores):
    """The derivative of the concordance of all pairs by the weight of each cell, one pair at a time."""
    y, f = truth.ravel(), scores.ravel()
    wins, compared = np.zeros(len(y)), np.zeros(len(y))
    for p in range(len(y)):
        for q in range(len(y)):
            if y[p] != y[q]:
                compared[p] += 1
                wins[p] += 0.5 + 0.5 * np.sign((y[p] - y[q]) * (f[p] - f[q]))
    value = wins.sum() / compared.sum()
    return value, (2 * (wins - value * compared) / compared.sum()).reshape(truth.shape)


@pytest.mark.parametrize("seed", range(5))
def test_values_are_those_of_pairs(seed):
    rng = np.random.default_rng(seed)
    Y, scores = rng.integers(0, 4, (7, 5)).astype(float), rng.integers(0, 5, (7, 5)).astype(float)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    for per, truth, predicted in (("row", Y, scores), ("column", Y.T, scores.T)):
        rows, columns = np.nonzero(~np.isnan(truth))
        expected = pairwise_accuracy(truth[rows, columns], predicted[rows, columns], qid=rows)
        assert dyadic_concordance(Y, scores, per=per).value == pytest.approx(expected)
    known = ~np.isnan(Y)
    found = dyadic_concordance(Y, scores)
    assert found.value == pytest.approx(pairwise_accuracy(Y[known], scores[known]))
    assert found.n_dyads == known.sum()


@pytest.mark.parametrize("one_set", [False, True])
def test_the_variance_is_that_of_the_shared_objects(one_set):
    rng = np.random.default_rng(6)
    Y, scores = rng.integers(0, 4, (6, 6)).astype(float), rng.integers(0, 5, (6, 6)).astype(float)
    value, influence = influence_by_pairs(Y, scores)
    if one_set:
        sums = influence.sum(axis=1) + influence.sum(axis=0) - np.diag(influence)
        variance = (sums**2).sum() * 6 / 4
    else:
        rows, columns = (influence.sum(axis=1) ** 2).sum() * 6 / 5, (influence.sum(axis=0) ** 2).sum() * 6 / 5
        variance = max(rows + columns - (influence**2).sum(), rows, columns)
    from scipy.special import stdtrit

    z, n = stdtrit(5, 0.975), value * (1 - value) / variance
    found = dyadic_concordance(Y, scores, one_set=one_set)
    middle, half = (value + z**2 / (2 * n)) / (1 + z**2 / n), found.interval.width / 2
    assert found.value == pytest.approx(value)
    assert np.mean(list(found.interval)) == pytest.approx(middle)
    assert half == pytest.approx(z / (1 + z**2 / n) * np.sqrt(value * (1 - value) / n + z**2 / (4 * n**2)))


def test_rows_that_share_everything_widen_the_interval():
    rng = np.random.default_rng(7)
    truth, noise = rng.standard_normal((20, 1)), rng.standard_normal((20, 1))
    alone = dyadic_concordance(rng.standard_normal((20, 30)), rng.standard_normal((20, 30)))
    repeated = dyadic_concordance(np.repeat(truth, 30, axis=1), np.repeat(noise, 30, axis=1))
    assert repeated.interval.width > 3 * alone.interval.width


def test_results_and_bad_input():
    perfect = dyadic_concordance(np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3))
    assert perfect.value == 1.0
    assert perfect.interval.low < 1.0
    assert "concordance 1.0000" in str(perfect)
    with pytest.raises(NothingToCompareError, match="no two dyads that are compared have different scores"):
        dyadic_concordance(np.ones((2, 2)), np.ones((2, 2)))
    with pytest.raises(InvalidInputError, match=r"matrices of one shape, got \(2, 2\) and \(2, 3\)"):
        dyadic_concordance(np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match="per must be one of 'overall', 'row', 'column', got 'rows'"):
        dyadic_concordance(np.ones((2, 2)), np.ones((2, 2)), per="rows")
