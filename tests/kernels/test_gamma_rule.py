"""Rules for gamma give what they say, dense and sparse, and an estimator keeps the number."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.svm import SVC

from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, CoRankRLS, NystromMap, RankRLS, RankSVM, TransductiveRankRLS
from kernelrank.features import View
from kernelrank.kernels import Kernel
from kernelrank.kernels.kernel import gamma_by_rule
from kernelrank.model_selection import RankRLSCV, leave_pair_out
from kernelrank.model_selection.holdout import holdout
from kernelrank.persistence import load, save


def items(m=30, n=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * np.arange(1, n + 1)
    X[rng.random(X.shape) < 0.5] = 0.0
    return X, X @ rng.normal(size=n) + rng.normal(size=m)


def test_scale_is_that_of_support_vector_machines():
    X, y = items()
    expected = SVC(gamma="scale").fit(X, y > 0)._gamma
    for form in (np.asarray, sparse.csr_array, sparse.csc_array):
        assert gamma_by_rule("scale", form(X)) == pytest.approx(expected, rel=1e-12)
    assert gamma_by_rule("scale", X.astype(np.float32)) == pytest.approx(expected, rel=1e-6)


def test_median_is_over_items_that_differ():
    X, _ = items()
    expected = 1 / np.median(pdist(X, "sqeuclidean"))
    copies = X[np.repeat(np.arange(len(X)), 2)]
    squares = pdist(copies, "sqeuclidean")
    for form in (np.asarray, sparse.csr_array, sparse.csc_array):
        assert gamma_by_rule("median", form(X)) == pytest.approx(expected, rel=1e-12)
        assert gamma_by_rule("median", form(copies)) == pytest.approx(1 / np.median(squares[squares > 0]), rel=1e-12)
    assert gamma_by_rule("median", X + 1e6) == pytest.approx(expected, rel=1e-6)
    manhattan = gamma_by_rule("median", X, manhattan=True)
    assert manhattan == pytest.approx(1 / np.median(pdist(X, "cityblock")), rel=1e-12)
    assert Kernel("laplacian", "median").fixed(X).gamma == manhattan


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_many_items_are_sampled(form):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    found = [gamma_by_rule("median", form(X), seed) for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    assert found[0] == pytest.approx(1 / np.median(pdist(X[:1500], "sqeuclidean")), rel=0.1)


def test_items_that_are_all_the_same():
    for rule in ("scale", "median"):
        assert gamma_by_rule(rule, np.full((5, 2), 3.0)) == 1.0
        assert gamma_by_rule(rule, np.full((1, 2), 3.0)) == 1.0
    with pytest.raises(InvalidInputError, match="got 'mean'"):
        gamma_by_rule("mean", np.eye(2))


def test_what_none_and_numbers_stand_for():
    X, _ = items()
    assert Kernel("rbf").fixed(X).gamma == 0.25
    assert Kernel("chi2").fixed(X).gamma == 1.0
    assert Kernel("poly", 2).fixed(X).gamma == 2.0
    assert Kernel("rbf", "scale", parameters={"gamma": 0.5}).fixed(X).gamma == 0.5
    for metric in ("linear", "cosine", "precomputed", np.dot):
        assert Kernel(metric, "scale").fixed(X).gamma is None


@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("kind", [RankRLS, RLS, RankSVM])
def test_an_estimator_keeps_the_number(kind, rule, tmp_path):
    X, y = items()
    model = kind(kernel="rbf", gamma=rule).fit(X, y)
    assert model.gamma_ == gamma_by_rule(rule, X)
    same = kind(kernel="rbf", gamma=model.gamma_).fit(X, y)
    np.testing.assert_array_equal(model.predict(X[:7] + 1), same.predict(X[:7] + 1))
    save(model, tmp_path / "model.kr")
    loaded = load(tmp_path / "model.kr")
    assert (loaded.gamma, loaded.gamma_) == (rule, model.gamma_)
    np.testing.assert_array_equal(loaded.predict(3 * X), model.predict(3 * X))
    assert model.fit(2 * X, y).gamma_ == pytest.approx(same.gamma_ / 4)
    assert kind().fit(X, y).gamma_ is None


def test_a_path_and_a_stream_and_a_file(tmp_path):
    X, y = items()
    first, second = RankRLS(kernel="rbf", gamma="scale").fit_path(X, y, [1.0, 10.0])
    assert first.gamma_ == second.gamma_ == gamma_by_rule("scale", X)
    np.testing.assert_allclose(first.predict(X), RankRLS(kernel="rbf", gamma="scale").fit(X, y).predict(X))
    qid = np.repeat([0, 1], 15)
    learner = RankRLS(kernel="rbf", gamma="scale", basis=5, random_state=0)
    for part in (slice(0, 15), slice(15, 30)):
        learner.partial_fit(X[part], y[part], qid=qid[part])
    assert learner.gamma_ == gamma_by_rule("scale", X[:15])  # the first batch draws the basis, too
    file = tmp_path / "train.txt"
    rows = [
        f"{score!r} qid:{query} " + " ".join(f"{k + 1}:{value!r}" for k, value in enumerate(row))
        for score, query, row in zip(y.tolist(), qid, X.tolist(), strict=True)
    ]
    file.write_text("\n".join(rows))
    learner = RankRLS(kernel="rbf", gamma="median", basis=5, random_state=0).fit(file)
    assert learner.gamma_ == gamma_by_rule("median", learner.X_fit_)


def test_hold_outs_take_the_gamma_of_all_items():
    X, y = items()
    gamma = gamma_by_rule("median", X)
    sets = [[0, 1, 2], [3, 4, 5, 6]]
    for kind, options in (
        (RankRLS, {}),
        (RankRLS, {"ties": "exclude"}),
        (RankSVM, {}),
        (RLS, {"basis": 9, "random_state": 0}),
    ):
        by_rule = holdout(kind(kernel="rbf", gamma="median", **options), X, y, sets)
        by_number = holdout(kind(kernel="rbf", gamma=gamma, **options), X, y, sets)
        for one, other in zip(by_rule, by_number, strict=True):
            np.testing.assert_array_equal(one, other)
    pairs = [[0, 1], [4, 9]]
    alphas = [0.1, 1.0, 10.0, 100.0]
    one, other = (
        leave_pair_out(RankRLSCV(alphas, kernel="rbf", gamma=value), X, y, pairs=pairs) for value in ("median", gamma)
    )
    np.testing.assert_array_equal(one.difference, other.difference)


def test_rules_among_the_candidates_of_a_search():
    X, y = items()
    grid = {"gamma": ["scale", "median", 5.0]}
    model = RankRLSCV(kernel="rbf", kernel_grid=grid, cv=3).fit(X, y)
    gammas = [gamma_by_rule("scale", X), gamma_by_rule("median", X), 5.0]
    numbers = RankRLSCV(kernel="rbf", kernel_grid={"gamma": gammas}, cv=3).fit(X, y)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], numbers.cv_results_["mean_test_score"])
    assert model.gamma_ == numbers.gamma_ == numbers.best_params_["gamma"]
    assert list(model.cv_results_["param_gamma"][[0, -1]]) == ["scale", 5.0]
    np.testing.assert_allclose(model.predict(X), numbers.predict(X))
    assert model._settled(X).kernel_grid == [{"gamma": [value]} for value in gammas]


def test_a_map_keeps_the_number():
    X, _ = items()
    rule = NystromMap(10, gamma="median", random_state=0).fit(X)
    number = NystromMap(10, gamma=gamma_by_rule("median", X), random_state=0).fit(X)
    assert rule.gamma_ == number.gamma_
    np.testing.assert_array_equal(rule.transform(X), number.transform(X))
    assert NystromMap(10, random_state=0).fit(X).gamma_ == 0.25


def test_views_and_transduction():
    X, y = items(60)
    qid = np.repeat(np.arange(6), 10)
    unscored = np.where(qid < 4, y, np.nan)
    views = [View("rbf", gamma="median", columns=[0, 1]), View("rbf", gamma=0.5), View("linear", gamma="scale")]
    model = CoRankRLS(views=views, basis=15, random_state=0).fit(X, unscored, qid=qid)
    assert model.gamma_ == [gamma_by_rule("median", model.X_fit_[0]), 0.5, None]
    assert model.X_fit_[0].shape == (15, 2)
    with pytest.raises(InvalidInputError, match="view 1: gamma must be a number"):
        CoRankRLS(views=["rbf", View("rbf", gamma="wide")], basis=5).fit(X, unscored, qid=qid)
    rule = TransductiveRankRLS(kernel="rbf", gamma="scale").fit(X, unscored, qid=qid)
    number = TransductiveRankRLS(kernel="rbf", gamma=rule.gamma_).fit(X, unscored, qid=qid)
    np.testing.assert_allclose(rule.transduction_, number.transduction_)


def test_bad_input():
    X, y = items()
    with pytest.raises(ValueError, match="gamma"):
        RankRLS(kernel="rbf", gamma="auto").fit(X, y)
