"""A weighted sum of kernels: its error and gradient by refits, and what becomes of the fitted model."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelrank import KernelSumRankRLSCV, RankRLS, RankRLSCV, export, leave_query_out, load, save
from kernelrank.base.labels import Lifetimes, Queries
from kernelrank.comparisons.costs import compare_scores
from kernelrank.errors import InvalidInputError, ModelFileError
from kernelrank.kernels import Kernel
from kernelrank.model_selection.kernel_sums import HeldOutError
from kernelrank.persistence.fitted_states import _is_one

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")


@parametrize_with_checks(
    [KernelSumRankRLSCV(cv=2)],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{form}_data": "columns are standardised without sample weights"
        for form in ("dense", "sparse")
    },
)
def test_scikit_learn_check(estimator, check, monkeypatch):
    monkeypatch.setattr("kernelrank.model_selection.kernel_sums.STARTS", (10.0,))
    check(estimator)


def cohort(m=60, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((m, 40)) * np.linspace(1.0, 30.0, 40)
    return X, np.abs(X[:, 0]) + 0.3 * X[:, 4:14] @ (1 / X[:, 4:14].std(axis=0)) / 3


@pytest.mark.parametrize("case", ["list", "queries", "weights", "censored", "ties"])
def test_the_error_of_folds_equals_refits_and_its_gradient_differences(case):
    X, y = cohort(30)
    qid = np.arange(30) % 6 if case == "queries" else np.zeros(30, dtype=int)
    weight = 1.0 + np.arange(30) % 3 if case == "weights" else None
    options = {"cost": "unit", "events": Lifetimes(y, np.arange(30) % 3 > 0)} if case == "censored" else {}
    options |= {"ties": "exclude"} if case == "ties" else {}
    y = np.round(y) if case == "ties" else y
    graphs = compare_scores(y[:, None], Queries.from_labels(qid, 30), weight=weight, **options)
    Ks = [Kernel(name, gamma=0.01).matrix(X) for name in ("linear", "rbf", "laplacian")]
    folds = [np.flatnonzero(np.arange(30) % 3 == u) for u in range(3)]
    error, at = HeldOutError(Ks, graphs, folds), np.array([-6.0, 0.5, 1.0])
    value, gradient = error(at)
    for k in range(3):
        step = 1e-5 * np.eye(3)[k]
        difference = (error(at + step)[0] - error(at - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(difference, rel=1e-6, abs=1e-7)
    K, total = sum(w * one for w, one in zip(np.exp(at), Ks, strict=True)), 0.0
    if case == "censored":
        return
    for held in folds:
        rest = np.setdiff1d(np.arange(30), held)
        own = {"sample_weight": None if weight is None else weight[rest], "qid": qid[rest]}
        plain = RankRLS(1.0, kernel="precomputed", **({"ties": "exclude"} if case == "ties" else {}))
        f = plain.fit(K[np.ix_(rest, rest)], y[rest], **own).predict(K[np.ix_(held, rest)])
        scores = dict(zip(held, f, strict=True))
        for i in held:
            for j in held:
                if i < j and qid[i] == qid[j] and (case != "ties" or y[i] != y[j]):
                    w = 1.0 if weight is None else weight[i] * weight[j]
                    d = scores[i] - scores[j]
                    total += w * (d * d - 2 * d * (y[i] - y[j]))
    assert value == pytest.approx(total, rel=1e-8)


def test_groups_of_columns_are_weighed_and_the_model_is_kept(tmp_path):
    X, y = cohort(160)
    groups = {"clinical": [0, 1, 2, 3], "genes": slice(4, None)}
    model = KernelSumRankRLSCV(groups).fit(X[:110], y[:110])
    assert model.kernel_weights_.sum() == pytest.approx(1.0)
    assert (model.kernel_weights_ >= 0).all()
    assert len(model.kernel_names_) == len(model.kernel_weights_) == 14
    assert model.kernel_names_[0] == "clinical: linear"
    auto = RankRLSCV(kernel="auto").fit(X[:110], y[:110])
    assert model.score(X[110:], y[110:]) > auto.score(X[110:], y[110:]) + 0.05
    save(model, tmp_path / "model.krank")
    again = load(tmp_path / "model.krank")
    assert np.array_equal(again.predict(X), model.predict(X))
    np.testing.assert_allclose(again.kernel_.diagonal(X), np.diag(again.kernel_.matrix(X)), rtol=1e-12)
    plain = RankRLS(model.alpha_, kernel="precomputed").fit(model.kernel_.matrix(X[:110]), y[:110])
    f = plain.predict(model.kernel_.matrix(X[110:], X[:110]))
    np.testing.assert_allclose(model.predict(X[110:]), f, rtol=1e-8, atol=1e-9)
    with pytest.raises(InvalidInputError, match="sum of"):
        export(model, tmp_path / "model.py")
    again.kernel_.metric.weights[0] = -1.0
    assert not _is_one(again.kernel_, "kernel", {}, "")
    with pytest.raises((InvalidInputError, ModelFileError)):
        save(again, tmp_path / "damaged.krank")


def test_other_tasks_and_errors():
    X, y = cohort(48)
    qid = np.arange(48) % 4
    search = KernelSumRankRLSCV([[0, 1], range(2, 40)], cv=2)
    found = leave_query_out(search, X, y, qid)
    rest = qid != 1
    expected = search.fit(X[rest], y[rest], qid=qid[rest]).predict(X[~rest])
    np.testing.assert_allclose(found[~rest], expected, rtol=1e-8, atol=1e-9)
    dense = search.fit(X, y).predict(X)
    scores = search.fit(sparse.csr_array(X), y).predict(sparse.csr_array(X))  # of which differences are determined
    np.testing.assert_allclose(scores - scores.mean(), dense - dense.mean(), atol=1e-3)
    assert search.fit(X, np.exp(y / 9), event=np.arange(48) % 3 > 0).predict(X).shape == (48,)
    with pytest.raises(InvalidInputError, match="column 77"):
        KernelSumRankRLSCV([[77]]).fit(X, y)
    with pytest.raises(InvalidInputError, match="constant"):
        KernelSumRankRLSCV().fit(np.ones((9, 2)), np.arange(9.0))
