"""Nearly equal scores with the relative cost, a pair that weighs 10²⁰ times what others do, against fifty digits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from kernelrank.estimators import RankRLS
from kernelrank.model_selection import leave_query_out
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
