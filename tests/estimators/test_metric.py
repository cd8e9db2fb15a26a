"""A metric is a part of the kernel: a learner with one is that of the transformed columns, in every identity."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import sqrtm

from kernelrank import (
    RLS,
    BradleyTerry,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RLSClassifier,
    estimate_auc,
    export,
    leave_pair_out,
    leave_query_out,
    load,
    save,
)
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import Kernel, column_variances

KERNELS = ("linear", "rbf", "laplacian", "poly")
LEARNERS = (RankRLS, RLS, RankSVM)


def items(m=40, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((m, 5)) * [1.0, 10.0, 0.1, 3.0, 1.0] + [5.0, 0.0, 0.0, 0.0, 0.0]
    X[:, 4] = 1.7
    y = X[:, 0] + np.sin(X[:, 1]) + 5 * X[:, 2] + 0.1 * random.standard_normal(m)
    return X, y, np.arange(m) % 4


def roots(X):
    variance = X.var(axis=0)
    return np.where(variance > 1e-12, 1.0 / np.sqrt(np.where(variance > 1e-12, variance, 1.0)), 0.0)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("basis", [None, 12])
@pytest.mark.parametrize("Learner", LEARNERS)
def test_weights_of_columns_transform_them(Learner, kernel, basis):
    X, y, _ = items()
    t = roots(X)
    options = {"kernel": kernel, "basis": basis, "random_state": 0, "alpha": 0.5}
    options |= {"tol": 1e-9} if Learner is RankSVM else {}
    expected = Learner(**options).fit(X * t, y).predict((X * t)[::-1] + t)
    for metric in ("variance", t**2):
        for form in (np.asarray, sparse.csr_array, sparse.csc_array):
            model = Learner(metric=metric, **options).fit(form(X), y)
            np.testing.assert_allclose(model.predict(form(X[::-1] + 1.0)), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_matrix_is_the_kernel_of_its_root(kernel):
    X, y, _ = items()
    A = np.random.default_rng(1).standard_normal((5, 3))
    root = sqrtm(A @ A.T).real
    model = RankRLS(0.3, kernel=kernel, gamma=0.01, metric=A @ A.T).fit(X, y)
    expected = RankRLS(0.3, kernel=kernel, gamma=0.01).fit(X @ root, y)
    np.testing.assert_allclose(model.predict(X + 1.0), expected.predict((X + 1.0) @ root), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("basis", [None, 12])
def test_held_out_scores_equal_those_of_transformed_columns(kernel, basis):
    X, y, qid = items()
    t = roots(X)
    options = {"kernel": kernel, "gamma": 0.2, "basis": basis, "random_state": 0}
    found = leave_query_out(RankRLS(metric="variance", **options), X, y, qid)
    np.testing.assert_allclose(found, leave_query_out(RankRLS(**options), X * t, y, qid), rtol=1e-8, atol=1e-10)
    pairs = leave_pair_out(RankRLS(metric="variance", **options), X, y)
    np.testing.assert_allclose(
        pairs.difference, leave_pair_out(RankRLS(**options), X * t, y).difference, rtol=1e-8, atol=1e-10
    )


def test_metric_of_all_items_is_shared_by_hold_outs():
    X, y, qid = items()
    held = leave_query_out(RankRLS(kernel="rbf", metric="variance", gamma="median"), X, y, qid)
    rest = qid != 2
    fixed = Kernel("rbf", gamma="median", root="variance").fixed(X)
    refit = RankRLS(kernel="rbf", metric=fixed.root**2, gamma=fixed.gamma).fit(X[rest], y[rest], qid=qid[rest])
    np.testing.assert_allclose(held[~rest], refit.predict(X[~rest]), rtol=1e-8, atol=1e-10)


def test_search_and_estimates_take_a_metric():
    X, y, _ = items()
    t, labels = roots(X), y > np.median(y)
    for metric in ("variance", t**2):
        search = RankRLSCV(kernel="rbf", gamma=0.2, metric=metric)
        plain = RankRLSCV(kernel="rbf", gamma=0.2)
        found, expected = search.fit(X, y), plain.fit(X * t, y)
        np.testing.assert_allclose(found.predict(X), expected.predict(X * t), rtol=1e-8)
        assert estimate_auc(search, X, labels).auc == pytest.approx(estimate_auc(plain, X * t, labels).auc, abs=1e-12)


def test_preferences_and_their_posterior():
    X, y, _ = items()
    t = roots(X)
    pairs = np.random.default_rng(2).integers(0, 40, (200, 2))
    pairs = pairs[y[pairs[:, 0]] > y[pairs[:, 1]]]
    for kernel in ("linear", "rbf"):
        model = RankRLS(kernel=kernel, metric="variance", gamma=0.2).fit_pairs(X, pairs)
        plain = RankRLS(kernel=kernel, gamma=0.2).fit_pairs(X * t, pairs)
        found, expected = model.compare(X[:5], X[5:10]), plain.compare((X * t)[:5], (X * t)[5:10])
        np.testing.assert_allclose(found.std, expected.std, rtol=1e-8)
        found = RankRLSCV(kernel=kernel, metric="variance", gamma=0.2, alphas=[1e-3, 0.1, 1.0, 10.0, 1e3]).fit_pairs(
            X, pairs
        )
        expected = RankRLSCV(kernel=kernel, gamma=0.2, alphas=[1e-3, 0.1, 1.0, 10.0, 1e3]).fit_pairs(X * t, pairs)
        np.testing.assert_allclose(
            found.compare(X[:5], X[5:10]).probability,
            expected.compare((X * t)[:5], (X * t)[5:10]).probability,
            rtol=1e-6,
        )
    votes = BradleyTerry(metric="variance").fit_pairs(X, pairs)
    np.testing.assert_allclose(votes.predict(X), BradleyTerry().fit_pairs(X * t, pairs).predict(X * t), rtol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_stream_equals_fit(kernel):
    X, y, qid = items()
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    weights = roots(X) ** 2
    basis = None if kernel == "linear" else [0, 3, 5, 8]
    options = {"kernel": kernel, "gamma": 0.2, "metric": weights, "basis": basis}
    stream = RankRLS(**options)
    for q in (0, 1, 2, 3):
        stream.partial_fit(X[qid == q], y[qid == q], qid=qid[qid == q])
    np.testing.assert_allclose(
        stream.predict(X), RankRLS(**options).fit(X, y, qid=qid).predict(X), rtol=1e-6, atol=1e-8
    )


def test_two_classes():
    X, y, _ = items()
    t, labels = roots(X), np.where(y > 5, "high", "low")
    model = RLSClassifier(kernel="rbf", gamma=0.2, metric="variance").fit(X, labels)
    expected = RLSClassifier(kernel="rbf", gamma=0.2).fit(X * t, labels)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X * t), rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_files_keep_the_metric(tmp_path, kernel):
    X, y, _ = items()
    model = RankRLS(kernel=kernel, gamma=0.2, metric="variance").fit(X, y)
    save(model, tmp_path / "model.krank")
    assert np.array_equal(load(tmp_path / "model.krank").predict(X), model.predict(X))
    export(model, tmp_path / "model.py")
    names: dict[str, object] = {}
    exec(compile((tmp_path / "model.py").read_text(), "model.py", "exec"), names)
    np.testing.assert_allclose(names["score"](X), model.predict(X), rtol=1e-8)


def test_matrix_is_kept_but_not_exported(tmp_path):
    X, y, _ = items()
    model = RankRLS(kernel="rbf", gamma=0.2, metric=np.diag(roots(X) ** 2)).fit(X, y)
    save(model, tmp_path / "model.krank")
    assert np.array_equal(load(tmp_path / "model.krank").predict(X), model.predict(X))
    with pytest.raises(InvalidInputError, match="metric with weights of columns"):
        export(model, tmp_path / "model.py")


def test_bad_metrics():
    X, y, _ = items()
    for metric, message in (
        (np.ones(4), "one weight for each column"),
        (-np.ones(5), "not negative"),
        (-np.eye(5), "eigenvalue"),
        (np.full(5, np.nan), "finite"),
        ([["a"]], "numbers"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            RankRLS(metric=metric).fit(X, y)
    with pytest.raises(InvalidInputError, match="column by column"):
        RankRLS(kernel="laplacian", metric=np.eye(5)).fit(X, y)
    with pytest.raises(InvalidInputError, match="precomputed"):
        RankRLS(kernel="precomputed", metric=np.ones(40)).fit(X @ X.T, y)


def test_variances_of_dense_and_sparse_columns():
    X, _, _ = items()
    X[::3, 0] = 0.0
    expected = X.var(axis=0)
    expected[4] = 0.0
    for form in (np.asarray, sparse.csr_array, sparse.csc_array):
        np.testing.assert_allclose(column_variances(form(X)), expected, rtol=1e-10, atol=1e-15)
