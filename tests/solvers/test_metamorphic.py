"""What must not change the answer, and how it must change when it does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelrank.data import make_ranking
from kernelrank.estimators import RLS, RankRLS


@pytest.fixture(scope="module")
def data():
    X, y, qid = make_ranking(n_queries=12, n_items=(1, 9), n_features=6, n_levels=4, random_state=1)
    return np.asarray(X), y, qid


KERNELS = [{}, {"kernel": "rbf", "gamma": 0.2}, {"kernel": "rbf", "gamma": 0.2, "basis": list(range(15))}]


@pytest.mark.parametrize("options", KERNELS[:2])
def test_the_order_of_items_does_not_matter(data, options):
    X, y, qid = data
    order = np.random.default_rng(0).permutation(len(y))
    a = RankRLS(0.5, **options).fit(X, y, qid=qid)
    b = RankRLS(0.5, **options).fit(X[order], y[order], qid=qid[order])
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("options", KERNELS)
def test_shifting_the_scores_of_one_query_changes_nothing(data, options):
    X, y, qid = data
    shifted = y + np.where(qid == qid[-1], 17.0, 0.0)
    a, b = (RankRLS(0.5, **options).fit(X, scores, qid=qid).predict(X) for scores in (y, shifted))
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("options", KERNELS)
def test_a_query_twice_counts_double(data, options):
    X, y, qid = data
    again = np.flatnonzero(qid == qid[-1])
    items = np.concatenate([np.arange(len(y)), again])
    labels = np.concatenate([qid, np.full(len(again), 10**6)])
    repeated = RankRLS(0.5, **options).fit(X[items], y[items], qid=labels).predict(X)
    weight = np.where(qid == qid[-1], np.sqrt(2.0), 1.0)
    weighted = RankRLS(0.5, **options).fit(X, y, qid=qid, sample_weight=weight).predict(X)
    np.testing.assert_allclose(repeated, weighted, rtol=1e-9, atol=1e-11)


def test_alpha_to_infinity_gives_no_differences_and_alpha_to_zero_gives_least_squares(data):
    X, y, qid = data
    assert np.ptp(RankRLS(1e15).fit(X, y, qid=qid).predict(X)) < 1e-9
    first, second = np.nonzero(np.equal.outer(qid, qid) & np.tri(len(y), k=-1, dtype=bool))
    free = np.linalg.lstsq(X[first] - X[second], y[first] - y[second], rcond=None)[0]
    np.testing.assert_allclose(RankRLS(1e-10).fit(X, y, qid=qid).coef_, free, rtol=1e-7)


def test_one_ranking_is_ridge_with_an_intercept(data):
    from sklearn.linear_model import Ridge

    X, y, _ = data
    np.testing.assert_allclose(RankRLS(3.0).fit(X, y).coef_, Ridge(3.0 / len(y)).fit(X, y).coef_, rtol=1e-9)


def test_plain_rls_is_kernel_ridge(data):
    from sklearn.kernel_ridge import KernelRidge

    X, y, _ = data
    ours = RLS(0.3, kernel="rbf", gamma=0.2).fit(X, y).dual_coef_
    np.testing.assert_allclose(ours, KernelRidge(alpha=0.3, kernel="rbf", gamma=0.2).fit(X, y).dual_coef_, rtol=1e-9)


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "conjugate_gradient"])
@pytest.mark.parametrize("columns", [3, 400])
def test_sparse_is_dense(solver, columns):
    X, y, qid = make_ranking(n_queries=10, n_items=8, n_features=columns, density=0.2, random_state=0)
    X = sparse.csr_array(X)
    expected = RankRLS(0.1, solver="cholesky").fit(X.toarray(), y, qid=qid).coef_
    for given in (X, sparse.csr_matrix(X), sparse.csc_array(X)):
        found = RankRLS(0.1, solver=solver, tol=1e-13).fit(given, y, qid=qid)
        np.testing.assert_allclose(found.coef_, expected, rtol=1e-7, atol=1e-10)


def test_float32_is_computed_in_float64(data):
    X, y, qid = data
    single = X.astype(np.float32)
    a = RankRLS(0.5).fit(single, y, qid=qid)
    b = RankRLS(0.5).fit(single.astype(np.float64), y, qid=qid)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-12)
    np.testing.assert_allclose(a.predict(single), b.predict(single.astype(np.float64)), rtol=1e-12)
