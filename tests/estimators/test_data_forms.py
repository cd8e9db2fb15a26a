"""One door: dense and sparse, float32 and float64, NumPy, pandas and Polars, read-only and memory-mapped."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.validation import _get_feature_names

from kernelrank.data import make_ranking
from kernelrank.estimators import RLS, RankRLS

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

X, y, qid = make_ranking(n_queries=8, n_items=(2, 7), n_features=4, qid_type="str", shuffle=True, random_state=5)
X = np.where(np.abs(X) < 0.5, 0.0, X)
X.flags.writeable = y.flags.writeable = False
NAMES = ["a", "b", "c", "d"]
MODELS = {
    "linear": RankRLS(),
    "dual": RankRLS(solver="spectral"),
    "iterated": RankRLS(solver="conjugate_gradient"),
    "gaussian": RankRLS(kernel="rbf"),
    "gaussian, iterated": RankRLS(kernel="rbf", solver="conjugate_gradient", tol=1e-12),
    "basis": RankRLS(kernel="poly", degree=2, basis=[0, 3, 7, 9]),
    "unit": RankRLS(cost="unit"),
    "relative": RankRLS(cost="relative"),
    "regression": RLS(),
}
FORMS = {
    "fortran": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "csc_array": sparse.csc_array,
    "coo_array": sparse.coo_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
}


def predictions(model, form=lambda X: X, y=y, qid=qid, **metadata):
    return model.fit(form(X), y, qid=qid, **metadata).predict(form(X))


@pytest.fixture(scope="module", params=MODELS)
def expected(request):
    model = MODELS[request.param]
    return model, predictions(model)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_items(expected, form):
    model, scores = expected
    np.testing.assert_allclose(predictions(model, form), scores, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_items_with_more_columns_than_rows(form, wide):
    items = np.hstack([X, X**2, np.eye(len(X))]) if wide else X
    dense = RankRLS().fit(items, y, qid=qid).predict(items)
    np.testing.assert_allclose(RankRLS().fit(form(items), y, qid=qid).predict(form(items)), dense, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_single_precision(expected, form):
    model, scores = expected
    X32 = form(X.astype(np.float32))
    found = model.fit(X32, y.astype(np.float32), qid=qid).predict(X32)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, scores, rtol=1e-4, atol=1e-4)
    # The rounding of the items is all that differs: the same numbers in double precision give the same scores.
    double = model.fit(X32.astype(np.float64), y.astype(np.float32), qid=qid).predict(X32.astype(np.float64))
    np.testing.assert_allclose(found, double, rtol=1e-8, atol=1e-9)


COLUMNS = {
    "list": list,
    "object": lambda v: np.array(v.tolist(), dtype=object),
    "column": lambda v: v[:, None],
    "pandas": pd.Series,
    "pandas with another index": lambda v: pd.Series(v, index=np.arange(len(v))[::-1]),
    "polars": lambda v: pl.Series(v.tolist()),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_queries(expected, column):
    model, scores = expected
    np.testing.assert_array_equal(predictions(model, qid=column(qid)), scores)


@pytest.mark.parametrize("column", [list, pd.Series, pl.Series, lambda v: pd.Series(v, index=np.arange(len(v))[::-1])])
def test_scores_and_weights(expected, column):
    model, scores = expected
    np.testing.assert_array_equal(predictions(model, y=column(y)), scores)
    weight = np.arange(len(y)) % 4 + 1.0
    model.fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_array_equal(predictions(model, sample_weight=column(weight)), model.predict(X))


def test_categories_and_dates_are_queries():
    scores = predictions(RankRLS())
    np.testing.assert_array_equal(predictions(RankRLS(), qid=pd.Series(qid, dtype="category")), scores)
    dates = np.datetime64("2024-01-01") + np.unique(qid, return_inverse=True)[1].astype("timedelta64[D]")
    np.testing.assert_array_equal(predictions(RankRLS(), qid=dates), scores)
    tuples = [(name[0], int(name[1:])) for name in qid]
    np.testing.assert_array_equal(predictions(RankRLS(), qid=tuples), scores)


def test_order_of_the_items_does_not_matter(expected):
    model, scores = expected
    order = np.argsort(qid, kind="stable")
    if model.basis is not None:
        pytest.skip("the basis is given by item numbers")
    found = model.fit(X[order], y[order], qid=qid[order]).predict(X)
    np.testing.assert_allclose(found, scores, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("frame", [FORMS["pandas"], FORMS["polars"]])
@pytest.mark.parametrize("kind", [RLS, RankRLS])
def test_names_of_the_features(kind, frame):
    if _get_feature_names(frame(X)) is None:
        pytest.skip("this scikit-learn reads no names from this data frame library")
    model = kind().fit(frame(X), y, qid=qid)
    assert model.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame(X)[NAMES[::-1]])
    path = kind().fit_path(frame(X), y, [1.0], qid=qid)
    assert path[0].feature_names_in_.tolist() == NAMES


def test_frame_of_several_outputs():
    outputs = np.column_stack([y, -y])
    scores = RankRLS().fit(X, outputs, qid=qid).predict(X)
    for frame in (pd.DataFrame(outputs), pl.DataFrame(outputs)):
        np.testing.assert_array_equal(RankRLS().fit(X, frame, qid=qid).predict(X), scores)


def test_memory_mapped_arrays(expected, tmp_path):
    model, scores = expected
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    found = model.fit(mapped, np.load(tmp_path / "y.npy", mmap_mode="r"), qid=qid).predict(mapped)
    np.testing.assert_allclose(found, scores, rtol=1e-12, atol=1e-12)


def test_nothing_is_written_into_the_data(expected):
    model, _ = expected
    items, scores, labels, weight = X.copy(), y.copy(), qid.copy(), np.arange(len(y)) + 1.0
    model.fit(items, scores, qid=labels, sample_weight=weight)
    np.testing.assert_array_equal(items, X)
    np.testing.assert_array_equal(scores, y)
    np.testing.assert_array_equal(weight, np.arange(len(y)) + 1.0)


def test_read_only_precomputed_kernel():
    K = X @ X.T
    K.flags.writeable = False
    before = K.copy()
    for solver in ("cholesky", "spectral", "conjugate_gradient"):
        found = RankRLS(kernel="precomputed", solver=solver).fit(K, y, qid=qid).predict(K)
        np.testing.assert_allclose(found, predictions(RankRLS()), rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(K, before)


def test_pairs_of_every_form():
    pairs = np.array([[0, 1], [2, 1], [3, 0]])
    scores = RankRLS().fit_pairs(X, pairs).predict(X)
    forms = [
        pairs.tolist(),
        pairs.astype(np.int32),
        pairs.astype(np.uint8),
        pairs.astype(float),
        pd.DataFrame(pairs, columns=["winner", "loser"]),
        pl.DataFrame(pairs, schema=["winner", "loser"]),
        np.asfortranarray(pairs),
    ]
    for form in forms:
        np.testing.assert_array_equal(RankRLS().fit_pairs(X, form).predict(X), scores)


def test_single_precision_with_more_sparse_columns_than_rows():
    single = sparse.csr_array(np.hstack([X, X**2, np.eye(len(X))]).astype(np.float32))
    double = single.astype(np.float64)
    found = RankRLS().fit(single, y, qid=qid).predict(single)
    np.testing.assert_allclose(found, RankRLS().fit(double, y, qid=qid).predict(double), rtol=1e-9, atol=1e-10)
