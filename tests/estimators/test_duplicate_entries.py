"""Sparse matrices may store an entry in parts, and in any order: they mean the sums, and stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.report import explain

rng = np.random.default_rng(0)
X = np.where(rng.random((24, 5)) < 0.6, rng.standard_normal((24, 5)), 0.0)
y = X[:, 0] + 0.1 * rng.standard_normal(24)
qid = np.repeat(np.arange(4), 6)


def in_parts(X, kind=sparse.csr_array):
    """Return the same matrix with every entry stored as two, the columns of a row in descending order."""
    rows = kind(X)
    bounds = 2 * rows.indptr
    data, indices = np.empty(2 * rows.nnz), np.empty(2 * rows.nnz, dtype=rows.indices.dtype)
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        part = slice(2 * start, 2 * stop)
        data[part] = np.concatenate([rows.data[start:stop][::-1] + 3.0, np.full(stop - start, -3.0)])
        indices[part] = np.tile(rows.indices[start:stop][::-1], 2)
    found = kind((data, indices, bounds), shape=X.shape)
    assert not found.has_sorted_indices
    np.testing.assert_allclose(found.toarray(), X, atol=1e-14)
    return found


MODELS = {
    "linear": kr.RankRLS(),
    "iterated": kr.RankRLS(solver="conjugate_gradient"),
    "gaussian": kr.RankRLS(kernel="rbf"),
    "cosine": kr.RankRLS(kernel="cosine"),
    "basis": kr.RankRLS(kernel="rbf", basis=[0, 5, 9, 20]),
    "regression": kr.RLS(kernel="rbf"),
    "squared hinge": kr.RankSVM(loss="squared_hinge", tol=1e-12),
    "squared hinge, kernel": kr.RankSVM(loss="squared_hinge", kernel="rbf", tol=1e-12),
    "search": kr.RankRLSCV([0.1, 1.0], kernel="rbf"),
    "views": kr.CoRankRLS(nu=0.0, random_state=0),
}


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("name", MODELS)
def test_fit_and_predict(name, kind):
    model, items = MODELS[name], in_parts(X, kind)
    before = items.copy()
    expected = model.fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(model.predict(items), expected, rtol=1e-6, atol=1e-7)
    found = model.fit(items, y, qid=qid).predict(items)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(items, part), getattr(before, part))
    assert not items.has_sorted_indices


def test_a_batch_of_a_stream():
    model = kr.RankRLS(kernel="rbf", basis=[0, 3, 7]).partial_fit(in_parts(X[:12]), y[:12], qid=qid[:12])
    model.partial_fit(in_parts(X[12:]), y[12:], qid=qid[12:])
    whole = kr.RankRLS(kernel="rbf", basis=[0, 3, 7]).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.dual_coef_, whole.dual_coef_, rtol=1e-7)


@pytest.mark.parametrize("selection", ["uniform", "k_means", "leverage"])
def test_nystrom_map(selection):
    nystrom = kr.NystromMap(6, basis_selection=selection, random_state=0)
    expected = nystrom.fit_transform(sparse.csr_array(X))
    np.testing.assert_allclose(nystrom.transform(in_parts(X)), expected, atol=1e-7)
    np.testing.assert_allclose(nystrom.fit_transform(in_parts(X)), expected, atol=1e-7)


def test_holding_out():
    model = kr.RankRLS(kernel="rbf")
    expected = kr.leave_query_out(model, X, y, qid)
    np.testing.assert_allclose(kr.leave_query_out(model, in_parts(X), y, qid), expected, atol=1e-7)
    pairs = kr.leave_pair_out(model, in_parts(X), y).difference
    np.testing.assert_allclose(pairs, kr.leave_pair_out(model, X, y).difference, atol=1e-7)


def test_unscored_items_and_transduction():
    missing = np.where(qid < 2, y, np.nan)
    views = kr.CoRankRLS(random_state=0)
    expected = views.fit(X[qid < 2], y[qid < 2], qid=qid[qid < 2], X_unscored=X[qid > 1], qid_unscored=qid[qid > 1])
    expected = expected.predict(X)
    views.fit(
        in_parts(X[qid < 2]), y[qid < 2], qid=qid[qid < 2], X_unscored=in_parts(X[qid > 1]), qid_unscored=qid[qid > 1]
    )
    np.testing.assert_allclose(views.predict(X), expected, rtol=1e-5, atol=1e-6)
    transduced = kr.TransductiveRankRLS(kernel="rbf").fit(in_parts(X), missing, qid=qid).transduction_
    np.testing.assert_allclose(
        transduced, kr.TransductiveRankRLS(kernel="rbf").fit(X, missing, qid=qid).transduction_, atol=1e-6
    )


def test_contributions_of_features():
    for model in (kr.RankRLS().fit(X, y, qid=qid), Ridge().fit(X, y)):
        found = explain(model, in_parts(X[:2]))
        expected = explain(model, X[:2])
        np.testing.assert_allclose(found.contributions, expected.contributions, atol=1e-12)


def test_a_flag_that_is_older_than_the_entries():
    items = sparse.csr_array((np.ones(4), [0, 1, 0, 1], [0, 2, 4]), shape=(2, 5))
    assert items.has_canonical_format
    items.indices[1] = 0
    np.testing.assert_allclose(
        kr.RankRLS(kernel="rbf").fit(X, y).predict(items), kr.RankRLS(kernel="rbf").fit(X, y).predict(items.toarray())
    )


def test_a_sum_that_is_no_number():
    items = sparse.csr_array(([1.7e308, 1.7e308, 1.0], [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    with pytest.raises(InvalidInputError, match="duplicate sparse entries whose sum overflows"):
        kr.RankRLS().fit(items, [1.0, 2.0])
