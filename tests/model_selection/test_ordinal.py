"""OrdinalRanker against refits and a general optimiser, and on data that chose nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelrank as kr
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.metrics import level_error
from kernelrank.model_selection import ordinal
from kernelrank.model_selection.calibration import comparable_scores
from kernelrank.model_selection.ordinal import OrderedLogistic
from tests.oracles import ordinal as oracle


def make_levels(m, n=4, seed=0, *, cuts=(-1.0, 0.5, 2.0), strength=1.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, np.digitize(strength * X[:, 0] + rng.logistic(size=m), cuts).astype(float)


def held_out_scores(ranker, X, *data):
    return ordinal.held_out_scores(ranker, ordinal.centred_problem(ranker, X), X, *data)


def folds(m, n_folds=4, seed=0):
    return np.array_split(np.random.default_rng(seed).permutation(m), n_folds)


@pytest.mark.parametrize("alpha", [2.0**-15, 1.0, 2.0**15])
@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "wide", "sparse", "metric", "queries", "basis"])
def test_held_out_scores_are_those_of_refits(kernel, offset, alpha):
    X, y = make_levels(40, n=60 if kernel in ("wide", "sparse") else 4)
    X, qid = X + offset, np.arange(40) // 5 if kernel == "queries" else None
    sets = [np.flatnonzero(np.isin(qid, part)) for part in folds(8)] if kernel == "queries" else folds(40)
    learner = kr.RankRLS(alpha, kernel="rbf" if kernel == "rbf" else "linear", gamma=0.3)
    if kernel in ("metric", "basis"):
        learner.set_params(metric=np.array([1.0, 2.0, 0.5, 3.0])) if kernel == "metric" else learner.set_params(
            basis=30
        )
    given = {} if qid is None else {"qid": qid}
    items = sparse.csr_array(X) if kernel == "sparse" else X
    model = learner.fit(items, y, **given)
    found = held_out_scores(model, items, y, sets, given)
    if kernel == "basis" or (kernel == "sparse" and offset):  # where centring would lose digits
        again = kr.RankRLS(alpha, basis=model.basis_ if kernel == "basis" else None)
        comparable = comparable_scores(again, items, y, sets)
        expected = comparable * np.std(model.predict(X)) + np.mean(model.predict(X))
    else:
        expected = oracle.held_out_scores(learner, X, y, sets, qid)
    scale = np.abs(model.predict(X) - model.predict(X).mean()).max()
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=1e-8 * max(scale, np.abs(expected - expected.mean()).max())
    )


def test_a_precomputed_kernel_is_its_items():
    X, y = make_levels(40)
    by_items, by_kernel = kr.RankRLS(0.1).fit(X, y), kr.RankRLS(0.1, kernel="precomputed").fit(X @ X.T, y)
    expected = held_out_scores(by_items, X, y, folds(40), {})
    np.testing.assert_allclose(held_out_scores(by_kernel, X @ X.T, y, folds(40), {}), expected, atol=1e-9)


def test_a_search_is_held_out_with_what_it_chose():
    X, y = make_levels(60)
    search = kr.RankRLSCV([0.1, 10.0], kernel_grid={"kernel": ["rbf"], "gamma": [0.1, 1.0]}).fit(X, y)
    plain = kr.RankRLS(search.alpha_, kernel="rbf", gamma=search.best_params_["gamma"])
    expected = oracle.held_out_scores(plain, X, y, folds(60))
    np.testing.assert_allclose(held_out_scores(search, X, y, folds(60), {}), expected, atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = kr.RankRLSCV(kernel="auto").fit(X, y)
    by_kernel = kr.RankRLS(chosen.alpha_, kernel="precomputed")
    K = chosen.kernel_.matrix(X)
    found = held_out_scores(by_kernel.fit(K, y), K, y, folds(60), {})
    np.testing.assert_allclose(held_out_scores(chosen, X, y, folds(60), {}), found, atol=1e-8)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_probabilities_are_those_of_a_general_optimiser(k):
    rng = np.random.default_rng(k)
    scores = rng.standard_normal(80) * 3 + 100
    codes = np.digitize(scores - 100 + rng.logistic(size=80) * 2, np.linspace(-2, 2, k - 1))
    weight = rng.uniform(0.5, 2.0, 80)
    found = OrderedLogistic.of(scores, codes, weight)
    # The oracle has the mean score as its origin, or it would lose digits.
    theta, beta = oracle.ordered_logistic(scores - 100, codes, weight)
    assert found.slope == pytest.approx(beta, rel=1e-5)
    np.testing.assert_allclose(found.intercepts - 100 * found.slope, theta, rtol=1e-5, atol=1e-5)
    ours = oracle.penalised_likelihood(found.intercepts - 100 * found.slope, found.slope, scores - 100, codes, weight)
    assert ours >= oracle.penalised_likelihood(theta, beta, scores - 100, codes, weight) - 1e-9
    P = found.probabilities(scores)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert (P > 0).all()


def test_the_gradient_vanishes_at_the_maximum():
    rng = np.random.default_rng(0)
    scores, weight = rng.standard_normal(200), np.ones(200)
    codes = np.digitize(scores + rng.logistic(size=200), [-1, 0, 0.2, 2])
    found = OrderedLogistic.of(scores, codes, weight)

    def at(shift):
        x = np.append(found.intercepts, found.slope) + shift
        return oracle.penalised_likelihood(x[:-1], x[-1], scores, codes, weight)

    for direction in np.eye(5) * 1e-4:
        assert at(direction) == pytest.approx(at(-direction), abs=1e-8)
        assert at(direction) < at(0 * direction)


def test_scores_that_separate_the_levels_and_scores_that_say_nothing():
    y = np.repeat([0, 1, 2], 10)
    sure = OrderedLogistic.of(y.astype(float), y, np.ones(30))
    assert np.isfinite(sure.thresholds).all()
    assert ((sure.thresholds > [0, 1]) & (sure.thresholds < [1, 2])).all()
    for scores in (np.zeros(30), -y.astype(float)):
        nothing = OrderedLogistic.of(scores, y, np.ones(30))
        assert nothing.slope == 0
        assert nothing.thresholds.tolist() == [-np.inf, np.inf]
        np.testing.assert_allclose(nothing.probabilities(scores), 1 / 3)


def test_levels_of_new_items():
    X, y = make_levels(4_000, seed=3)
    model = kr.OrdinalRanker().fit(X[:1_000], y[:1_000])
    levels, P = model.predict(X[1_000:]), model.predict_proba(X[1_000:])
    assert set(levels) <= set(y)
    median = model.levels_[np.argmax(np.cumsum(P, axis=1) >= 0.5, axis=1)]
    np.testing.assert_array_equal(levels, median)
    np.testing.assert_array_equal(model.decision_function(X), model.ranker_.predict(X))
    assert level_error(y[1_000:], levels) < level_error(y[1_000:], np.full(3_000, np.median(y[:1_000]))) - 0.15
    # Calibrated: of the items with some probability of a level, that share has it.
    for level in range(4):
        assert P[:, level].mean() == pytest.approx((y[1_000:] == level).mean(), abs=0.05)
    # No better levels are known than by the true scores and thresholds.
    best = np.digitize(1.5 * X[1_000:, 0], [-1.0, 0.5, 2.0])
    assert level_error(y[1_000:], levels) < level_error(y[1_000:], best) + 0.05
    assert model.score(X[1_000:], y[1_000:]) == pytest.approx(kr.metrics.quadratic_weighted_kappa(y[1_000:], levels))


def test_probabilities_are_as_sure_as_those_learnt_from_new_items():
    """Models that are trained with fewer items have smaller scores, from which slopes are too large."""
    slopes = []
    for seed in range(6):
        X, y = make_levels(2_200, n=10, seed=seed)
        model = kr.OrdinalRanker(kr.RankRLSCV(kernel="rbf")).fit(X[:200], y[:200])
        new = OrderedLogistic.of(model.decision_function(X[200:]), y[200:].astype(int), np.ones(2_000))
        slopes.append(model.slope_ / new.slope)
    assert 1 / 1.3 < np.mean(slopes) < 1.3  # with five folds 1.46


def test_held_out_scores_do_not_flatter():
    """With more columns than items a model fits anything; thresholds from its own scores are far apart."""
    slopes = {"held out": [], "training": []}
    for seed in range(8):
        X, y = make_levels(260, n=80, seed=seed)
        model = kr.OrdinalRanker(kr.RankRLS(0.01)).fit(X[:60], y[:60])
        own = OrderedLogistic.of(model.ranker_.predict(X[:60]), y[:60].astype(int), np.ones(60))
        new, truth = model.decision_function(X[60:]), y[60:].astype(int)
        for name, fitted in (("held out", OrderedLogistic(model.slope_, model.intercepts_)), ("training", own)):
            P = fitted.probabilities(new)[np.arange(200), truth]
            slopes[name].append(-np.log(P).mean())
    assert np.mean(slopes["held out"]) < 1.5
    assert np.mean(slopes["training"]) > 2 * np.mean(slopes["held out"])


def test_a_shift_of_the_columns_changes_no_level():
    X, y = make_levels(80)
    ranker = kr.RankRLS(0.01)
    one, other = kr.OrdinalRanker(ranker).fit(X, y), kr.OrdinalRanker(ranker).fit(X + 1000, y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X + 1000))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X + 1000), atol=1e-6)


def test_queries_and_any_estimator():
    X, y, qid = kr.make_ranking(n_queries=12, n_items=10, n_levels=3, random_state=0)
    model = kr.OrdinalRanker().fit(X, y, qid=qid)
    assert model.ranker_.n_queries_ == 12
    for ranker in (Ridge(), kr.RankSVM(1.0)):
        other = kr.OrdinalRanker(ranker).fit(X, y)
        assert other.predict_proba(X).shape == (120, 3)
        assert np.corrcoef(other.holdout_scores_, other.decision_function(X))[0, 1] > 0.5
    weighted = kr.OrdinalRanker(kr.RankRLS()).fit(X, y, sample_weight=np.full(120, 2.0))
    assert weighted.n_features_in_ == X.shape[1]


def test_what_cannot_be_learnt():
    X, y = make_levels(20)
    with pytest.raises(NothingToCompareError, match="y has one level only, 1: expected two or more"):
        kr.OrdinalRanker().fit(X, np.ones(20))
    with pytest.raises(InvalidInputError, match="y has 101 levels, expected at most 100: use a ranker for numbers"):
        kr.OrdinalRanker().fit(np.zeros((101, 1)), np.arange(101))
    with pytest.raises(InvalidInputError, match="one level for each item"):
        kr.OrdinalRanker().fit(X, np.column_stack([y, y]))


def test_files_keep_it(tmp_path):
    X, y = make_levels(60)
    for ranker in (None, kr.RankRLS(0.3, kernel="rbf")):
        model = kr.OrdinalRanker(ranker).fit(X, y)
        kr.save(model, tmp_path / "model.kr")
        loaded = kr.load(tmp_path / "model.kr")
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(loaded.fit(X, y).predict(X), model.predict(X))


FOLDS = "folds are drawn, and a weight of three is one item of one fold"
EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": FOLDS for kind in ("dense", "sparse")}


@parametrize_with_checks([kr.OrdinalRanker(kr.RankRLS())], expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
