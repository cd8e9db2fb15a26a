"""Sparse columns that are large beside their variation inside the queries keep their digits, as dense ones do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredQueries
from kernelrank.comparisons.scatter import shift_queries
from kernelrank.estimators import RankRLS

FORMATS = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix]


def draw(large, m=60):
    """A date, a property of the query, two plain columns, and one that is mostly zero; the queries are shuffled."""
    rng = np.random.default_rng(0)
    qid = rng.integers(0, 9, size=m)
    X = rng.standard_normal((m, 5))
    X[:, 0] += large
    X[:, 1] = large * rng.random(9)[qid]
    X[:, 4] *= rng.random(m) < 0.2
    weight = rng.integers(0, 3, size=m).astype(float)
    return X, rng.integers(0, 4, size=m).astype(float), qid, weight


def literal(X, qid, weight):
    shifted = X.copy()
    for q in set(qid):
        items = np.flatnonzero(qid == q)
        part = items[weight[items] > 0]
        if len(part):
            full = np.all(X[part] != 0, axis=0)
            mean = np.average(X[part], axis=0, weights=weight[part])
            shifted[items] = np.where(full & (X[items] != 0), X[items] - mean, X[items])
    return shifted


@pytest.mark.parametrize("make", FORMATS)
def test_columns_that_a_whole_query_stores_lose_their_mean(make):
    X, _, qid, weight = draw(10.0)
    found = shift_queries(make(X), Queries.from_labels(qid, len(qid)), weight)
    assert found.nnz == np.count_nonzero(X)
    np.testing.assert_allclose(found.toarray(), literal(X, qid, weight), atol=1e-13)


def test_an_entry_that_is_stored_twice_counts_once():
    Phi = sparse.csr_array(([1.0, 2.0], [0, 0], [0, 2, 2]), shape=(2, 1))
    assert shift_queries(Phi, Queries.from_labels(None, 2), np.ones(2)).toarray().tolist() == [[3.0], [0.0]]
    assert Phi.nnz == 2


@pytest.mark.parametrize("ties", ["include", "exclude"])
@pytest.mark.parametrize("large", [1e3, 1e6, 1e9])
def test_the_equations(ties, large):
    X, y, qid, weight = draw(large)
    graph = ScoredQueries(y[:, None], Queries.from_labels(qid, len(y)), weight=weight, ties=ties)
    gram, right = graph.normal_equations(X)
    root = np.sqrt(np.maximum(np.diagonal(gram), 1.0))
    for make in FORMATS:
        found, found_right = graph.normal_equations(make(X))
        # What is left of large numbers has the digits that they had beyond it.
        assert np.abs((found - gram) / np.outer(root, root)).max() < 1e-13 + 1e-15 * large
        assert np.abs((found_right - right) / root[:, None]).max() < 1e-12 + 1e-14 * large
        np.testing.assert_array_equal(graph.gram(make(X)), found)
        np.testing.assert_allclose(graph.gram_diagonal(make(X)), np.diagonal(found), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"solver": "conjugate_gradient", "tol": 1e-12}])
@pytest.mark.parametrize("n", [0, 80])
def test_models(options, n):
    """With more columns than items the kernel matrix is centred: large numbers must not come into it."""
    X, y, qid, _ = draw(1e6)
    X = np.hstack([X, np.random.default_rng(1).standard_normal((len(y), n))])
    expected = RankRLS().fit(X, y, qid=qid).coef_
    found = RankRLS(**options).fit(sparse.csr_array(X), y, qid=qid).coef_
    assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("n", [0, 80])
def test_other_graphs(n):
    X, y, qid, _ = draw(1e6)
    rng = np.random.default_rng(1)
    X = np.hstack([X, rng.standard_normal((len(y), n))])
    X[:, 1] -= X[:, 1]  # pairs go across queries, where a property of the query varies
    pairs = rng.permutation(np.argwhere(y[:, None] > y))[:200]
    expected = RankRLS().fit_pairs(X - [1e6, *np.zeros(n + 4)], pairs).coef_
    found = RankRLS().fit_pairs(sparse.csr_array(X), pairs).coef_
    assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()
    expected = RankRLS(cost="relative").fit(X, y, qid=qid).coef_
    found = RankRLS(cost="relative").fit(sparse.csr_array(X), y, qid=qid).coef_
    assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()


def test_columns_that_are_stored_here_and_there_cost_no_copy():
    Phi = sparse.csr_array([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0], [0.0, 7.0, 8.0]])
    queries = Queries.from_labels([0, 0, 0, 1], 4)
    assert shift_queries(Phi, queries, np.ones(4)) is Phi
    # Without the third item the first two store the last column, both of them.
    moved = shift_queries(Phi, queries, np.array([1.0, 1.0, 0.0, 1.0]))
    assert moved.toarray()[:2, 2].tolist() == [-1.0, 1.0]
