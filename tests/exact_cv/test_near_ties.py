"""Nearly equal scores with the relative cost, a pair that weighs 10²⁰ times what others do, against fifty digits.

And held-out scores that are equal: one column of whole numbers, in fractions.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from kernelrank.estimators import RankRLS
from kernelrank.model_selection import RankRLSCV, leave_pair_out, leave_query_out
from kernelrank.model_selection.holdout import holdout
from tests.oracles.holdout import exact_kernel, exact_scores

QID = np.repeat(np.arange(3), 4)


def problem(gap, seed, first=1, second=3):
    """Two queries have a near tie each; where it stands decides whether a spectrum could keep the digits."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    y[first], y[6] = y[second] + gap, y[4] - 3 * gap
    K = rbf_kernel(X, gamma=0.5)
    return (K + K.T) / 2, y


def assert_differences(found, expected):
    exact = np.diff(expected)
    assert np.abs(np.diff(found) - exact).max() <= 1e-12 * np.abs(exact).max()


@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("alphas", [[1.0], [1.0, 2.0**-10, 3.0, 8.0, 1e20]])
def test_leave_query_out(gap, alphas):
    for seed in (0, 1):
        K, y = problem(gap, seed)
        learner = RankRLS(cost="relative", kernel="precomputed")
        found = leave_query_out(learner, K, y, QID, alphas=alphas)
        exact = exact_kernel(K)
        for q in range(3):
            held = np.flatnonzero(q == QID)
            for column, alpha in enumerate(alphas[:2]):
                assert_differences(found[held, column], exact_scores(learner, exact, y, held, alpha, QID))


@pytest.mark.parametrize("gap", [1e-6, 1e-10])
def test_parts_of_queries_fits_and_paths(gap):
    K, y = problem(gap, 2)
    learner = RankRLS(cost="relative", kernel="precomputed")
    exact = exact_kernel(K)
    held = np.array([0, 2, 8, 9])
    assert_differences(holdout(learner, K, y, [held], qid=QID)[0], exact_scores(learner, exact, y, held, 1.0, QID))
    path = learner.fit_path(K, y, [0.01, 1.0, 100.0], qid=QID)
    for model in (learner.fit(K, y, qid=QID), path[1]):
        assert_differences(model.predict(K), exact_scores(learner, exact, y, [], 1.0, QID, scored=range(12)))


def one_column_differences(x, y, items, alpha):
    """Hold out every pair of the items that differ, in fractions; return {pair: difference}, by trained slopes."""
    found = {}
    for i, j in combinations(items, 2):
        rest = [item for item in items if item not in (i, j)]
        mean_x, mean_y = (Fraction(int(sum(values[item] for item in rest)), len(rest)) for values in (x, y))
        products = sum((int(x[item]) - mean_x) * (int(y[item]) - mean_y) for item in rest)
        squares = sum((int(x[item]) - mean_x) ** 2 for item in rest)
        if y[i] != y[j]:
            found[i, j] = products / (squares + Fraction(alpha) / len(rest)) * (int(x[i]) - int(x[j]))
    return found


def whole_numbers(seed):
    """Draw one column of zeros and ones, some of them far from the origin, and two classes."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(6, 9))
    x = (rng.random(m) < 0.3) + rng.choice([0.0, 1.0, 100.0, 1000.0])
    y = np.zeros(m)
    y[rng.permutation(m)[: m // 2]] = 1.0
    return x, y


@pytest.mark.parametrize("seed", range(30))
def test_one_column_of_whole_numbers_is_tied_exactly(seed):
    x, y = whole_numbers(seed)
    alphas = [2.0**-14, 2.0**-5, 1.0, 2.0**13]
    held = leave_pair_out(RankRLS(), x[:, None], y, alphas=alphas)
    for column, alpha in enumerate(alphas):
        exact = one_column_differences(x, y, range(len(y)), alpha)
        sign = [1.0 if i < j else -1.0 for i, j in zip(held.first, held.second, strict=True)]
        pairs = np.sort(np.stack([held.first, held.second], axis=1), axis=1)
        expected = sign * np.array([float(exact[i, j]) for i, j in pairs])
        np.testing.assert_allclose(held.difference[:, column], expected, rtol=1e-8, atol=0)


@pytest.mark.parametrize("seed", range(8))
def test_one_column_of_whole_numbers_is_tied_exactly_where_alpha_is_chosen(seed):
    x, y = whole_numbers(seed)
    alphas = [2.0**-14, 2.0**-5, 1.0, 2.0**13]
    held = leave_pair_out(RankRLSCV(alphas), x[:, None], y)
    for i, j, difference in zip(held.first, held.second, held.difference, strict=True):
        rest = [item for item in range(len(y)) if item not in (i, j)]
        right = []
        for alpha in alphas:
            inner = one_column_differences(x, y, rest, alpha)
            right.append(sum(int(np.sign(d)) * int(np.sign(y[a] - y[b])) for (a, b), d in inner.items()))
        exact = one_column_differences(x, y, range(len(y)), alphas[int(np.argmax(right))])
        expected = float(exact[min(i, j), max(i, j)]) * (1.0 if i < j else -1.0)
        np.testing.assert_allclose(difference, expected, rtol=1e-8, atol=0)
