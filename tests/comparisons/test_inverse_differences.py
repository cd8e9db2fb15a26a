"""Large queries with the relative cost, whose far scores are interpolated, against matrices that are written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from kernelrank.base.labels import Queries
from kernelrank.comparisons import RelativeScores
from kernelrank.comparisons.relative import LARGE, InverseDifferences
from kernelrank.estimators import RankRLS

SCORES = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "many decades": lambda rng, n: np.exp(8.0 * rng.standard_normal(n)),
    "far from zero": lambda rng, n: 1e9 + rng.standard_normal(n),
    "two clusters": lambda rng, n: np.where(np.arange(n) % 2, rng.standard_normal(n), 1.0 + 1e-8 * rng.normal(size=n)),
    "near ties": lambda rng, n: np.repeat(rng.standard_normal(n), 2)[:n] + 1e-8 * (np.arange(n) % 2),
    "an arithmetic sequence": lambda rng, n: rng.permutation(n) * 0.1,
}


def written_out(y, codes, weight):
    """The weights of all pairs of different scores, and by how much they differ, as dense matrices."""
    difference = y[:, None] - y
    apart = (codes[:, None] == codes) & (difference != 0.0)
    return np.where(apart, np.outer(weight, weight) / np.where(apart, difference, 1.0) ** 2, 0.0), difference


@pytest.mark.parametrize("kind", SCORES)
def test_every_sum_has_nearly_all_digits(kind):
    rng = np.random.default_rng(0)
    sizes = [1200, 3, LARGE + 1, 1, LARGE, 40]
    scores = [np.unique(SCORES[kind](rng, size)) for size in sizes]
    u, bounds = np.concatenate(scores), np.concatenate([[0], np.cumsum([len(part) for part in scores])])
    found = InverseDifferences(u, bounds, 0, 2**20)
    V = rng.standard_normal((len(u), 2))
    for power in (1, 2):
        for start, stop in itertools.pairwise(bounds):
            difference = u[start:stop, None] - u[start:stop]
            inverse = np.where(difference == 0.0, 0.0, 1.0 / np.where(difference == 0.0, 1.0, difference) ** power)
            error = np.abs(found.sums(V, power)[start:stop] - inverse @ V[start:stop])
            assert np.all(error <= 2e-13 * np.abs(inverse) @ np.abs(V[start:stop]))


@pytest.mark.parametrize("kept", [0, 10**7])
@pytest.mark.parametrize("kind", ["normal", "near ties"])
def test_the_graph_of_a_large_query_beside_small_ones(kind, kept, monkeypatch):
    monkeypatch.setattr("kernelrank.comparisons.relative.STORED_PAIRS", kept)
    monkeypatch.setattr("kernelrank.comparisons.relative.COLUMN_BYTES", 8 * 2500 * 2)
    rng = np.random.default_rng(1)
    m = 1500
    codes = np.where(rng.random(m) < 0.6, 0, rng.integers(1, 40, m))
    y, weight = SCORES[kind](rng, m), rng.uniform(0.5, 2.0, m)
    y[rng.random(m) < 0.2] = 0.5
    weight[rng.random(m) < 0.05] = 0.0
    graph = RelativeScores(y[:, None], Queries.from_labels(codes, m), weight=weight)
    A, difference = written_out(y, codes, weight)
    L = np.diag(A.sum(axis=1)) - A
    X = rng.standard_normal((m, 5))
    for _ in range(2):  # the second time with what was kept
        error = np.abs(graph.apply(X) - L @ X)
        assert np.all(error <= 1e-12 * np.diag(L)[:, None] * np.abs(X).max() + 1e-300)
    np.testing.assert_allclose(graph.diagonal(), np.diag(L), rtol=1e-12)
    assert np.all(np.abs(graph.target()[:, 0] - (A * difference).sum(axis=1)) <= 1e-12 * np.abs(A * difference).sum(1))
    assert graph.n_pairs == np.count_nonzero(A) // 2
    for Phi in (X, np.asfortranarray(X), sparse.csr_array(X), X.astype(np.float32)):
        expected = np.asarray(X.astype(Phi.dtype), dtype=np.float64)
        expected = expected.T @ L @ expected
        np.testing.assert_allclose(graph.gram(Phi), expected, atol=1e-12 * np.abs(expected).max())


def test_a_model_of_one_large_query_is_the_minimum():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((900, 6))
    y = X @ rng.standard_normal(6) + rng.standard_normal(900)
    A, difference = written_out(y, np.zeros(900), np.ones(900))
    L = np.diag(A.sum(axis=1)) - A
    for alpha in (2.0**-15, 1.0, 2.0**15):
        expected = np.linalg.solve(X.T @ L @ X + alpha * np.eye(6), X.T @ (A * difference).sum(axis=1))
        model = RankRLS(alpha, cost="relative").fit(X, y)
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-9)
        far = RankRLS(alpha, cost="relative").fit(X + 1e4, y + 1e4)
        np.testing.assert_allclose(far.coef_, expected, rtol=1e-4)


def test_scores_that_overflow_are_still_named():
    y = np.linspace(-1.0, 1.0, 700) * 1e200
    with pytest.raises(ValueError, match="too large or too small for a float"):
        RankRLS(cost="relative").fit(np.ones((700, 1)) * np.arange(700.0)[:, None], y)
