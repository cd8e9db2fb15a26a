"""Held-out scores that may be pooled, and the risks that are made of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.risks import newton_line
from kernelrank.model_selection.calibration import (
    ScoreUnits,
    comparable_scores,
    isotonic_steps,
    logistic_line,
)
from kernelrank.model_selection.refits import deal_items

SEARCH = kr.RankRLSCV([0.1, 10.0, 1000.0, 1e5, 1e8])


def cohort(m=60, n=4, signal=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(m) % 3 == 0
    return rng.standard_normal((m, n)) + signal * y[:, None] + 5.0, y


@parametrize_with_checks(
    [kr.CalibratedRanker(), kr.CalibratedRanker(LogisticRegression(), calibration="isotonic", cv=3)]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_each_score_is_in_the_units_of_its_own_model():
    X, y = cohort()
    sets = deal_items(y, 4, np.random.RandomState(0))
    found = comparable_scores(SEARCH, X, y.astype(float), sets)
    for held in sets:
        kept = np.delete(np.arange(len(y)), held)
        model = clone(SEARCH).fit(X[kept], y[kept])
        trained = model.predict(X[kept])
        expected = (model.predict(X[held]) - trained.mean()) / trained.std()
        np.testing.assert_allclose(found[held], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("shift", "factor"), [(1e6, 1.0), (0.0, 1e-6), (3.0, 1e5)])
def test_scores_do_not_depend_on_the_origin_and_the_unit_of_the_columns(shift, factor):
    X, y = cohort()
    sets = deal_items(y, 5, np.random.RandomState(0))
    of = [comparable_scores(kr.RankRLSCV(), data, y, sets) for data in (X, factor * X + shift)]
    np.testing.assert_allclose(*of, rtol=1e-4, atol=1e-4)


def test_pooled_scores_of_noise_are_not_below_chance():
    # A constant column and strong regularisation: nothing is left of a model but its intercept.
    pooled, comparable = [], []
    for seed in range(30):
        X, y = cohort(30, 5, signal=0.0, seed=seed)
        X = np.column_stack([X, np.full(30, 3.0)])
        alone = [np.array([item]) for item in range(30)]
        pooled.append(roc_auc_score(y, kr.leave_one_out(kr.RLS(1e6), X, y.astype(float))))
        comparable.append(roc_auc_score(y, comparable_scores(kr.RLS(1e6), X, y.astype(float), alone)))
    assert np.mean(pooled) < 0.3
    assert abs(np.mean(comparable) - 0.5) < 3 * np.std(comparable) / np.sqrt(30)


def test_sets_hold_each_item_once():
    X, y = cohort()
    with pytest.raises(InvalidInputError, match="each of the 60 items once"):
        comparable_scores(kr.RankRLS(), X, y, [np.arange(20), np.arange(10, 60)])


def test_equal_scores_have_a_unit():
    assert ScoreUnits.of(np.full(5, 0.1)) == ScoreUnits(0.1, 1.0)


def test_the_likelihood_is_that_of_scikit_learn():
    X, y = cohort(signal=0.4)
    s, weight = X[:, 0] - 5.0, np.arange(1, 61) / 30.0
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(s[:, None], y, sample_weight=weight)
    a, b = newton_line(s, y[None].astype(float), weight[None])
    np.testing.assert_allclose([a[0], b[0]], [model.intercept_[0], model.coef_[0, 0]], rtol=1e-5)


def test_firth_penalises_by_the_information():
    X, y = cohort(signal=0.4)
    s = X[:, 0] - 5.0
    a, b = newton_line(s, y[None].astype(float), firth=True)

    def penalised(a, b):
        p = expit(a + b * s)
        design = np.column_stack([np.ones_like(s), s])
        information = (design * (p * (1 - p))[:, None]).T @ design
        return np.sum(np.log(np.where(y, p, 1 - p))) + 0.5 * np.log(np.linalg.det(information))

    best = penalised(a[0], b[0])
    assert all(best > penalised(a[0] + da, b[0] + db) for da in (-1e-3, 0, 1e-3) for db in (-1e-3, 1e-3))


def test_separated_classes_have_a_finite_slope_and_the_mean_risk_is_the_share():
    y = np.arange(40) >= 30
    intercept, slope = logistic_line(np.arange(40.0), y)
    assert 0.0 < slope < 10.0
    np.testing.assert_allclose(expit(intercept + slope * np.arange(40.0)).mean(), 0.25, rtol=1e-8)


def test_scores_against_the_classes_give_the_share():
    y = np.arange(40) >= 30
    intercept, slope = logistic_line(-np.arange(40.0), y)
    assert slope == 0.0
    np.testing.assert_allclose(expit(intercept), 0.25)


def test_isotonic_risks_rise_and_are_never_certain():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(80)
    _, risks = isotonic_steps(scores, rng.random(80) < expit(3 * scores))
    assert np.all(np.diff(risks) >= 0)
    assert risks[0] > 0.0
    assert risks[-1] < 1.0


@pytest.mark.parametrize("calibration", ["logistic", "isotonic"])
@pytest.mark.parametrize("ranker", [None, kr.RankSVM(), LogisticRegression()])
def test_risks_rise_with_the_scores_of_the_ranker(calibration, ranker):
    X, y = cohort()
    labels = np.where(y, "yes", "no")
    model = kr.CalibratedRanker(ranker, calibration=calibration).fit(X, labels)
    scores = (model.estimator_.predict if ranker is None or ranker.__class__ is kr.RankSVM
              else model.estimator_.decision_function)(X)  # fmt: skip
    risks = model.predict_proba(X)
    order = np.argsort(scores)
    assert np.all(np.diff(risks[order, 1]) >= 0)
    np.testing.assert_allclose(risks.sum(axis=1), 1.0)
    assert set(model.predict(X)) == {"no", "yes"}
    assert model.score(X, labels) > 0.8


@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
def test_a_precomputed_kernel_gives_the_same_risks():
    X, y = cohort()
    plain = kr.CalibratedRanker(SEARCH).fit(X, y).predict_proba(X)
    kernel = (
        kr.CalibratedRanker(kr.RankRLSCV(SEARCH.alphas, kernel="precomputed")).fit(X @ X.T, y).predict_proba(X @ X.T)
    )
    np.testing.assert_allclose(plain, kernel, rtol=1e-5, atol=1e-7)
    again = cross_val_predict(
        kr.CalibratedRanker(kr.RankRLSCV(SEARCH.alphas, kernel="precomputed")), X @ X.T, y, method="predict_proba"
    )
    assert roc_auc_score(y, again[:, 1]) > 0.8


def test_groups_are_never_split():
    X, y = cohort()
    groups = np.arange(60) // 6
    model = kr.CalibratedRanker(cv=5).fit(X, y, groups=groups)
    assert model.slope_ > 0
    with pytest.raises(InvalidInputError, match="two groups of each class"):
        kr.CalibratedRanker().fit(X, y, groups=np.where(y, 0, 1))


def test_one_item_of_a_class_is_an_error():
    X, _ = cohort()
    with pytest.raises(InvalidInputError, match="two items of each class"):
        kr.CalibratedRanker().fit(X, np.arange(60) == 0)


@pytest.mark.parametrize("calibration", ["logistic", "isotonic"])
def test_a_model_is_saved(tmp_path, calibration):
    X, y = cohort()
    model = kr.CalibratedRanker(kr.RankRLS(), calibration=calibration).fit(X, y)
    kr.save(model, tmp_path / "risk.kernelrank")
    loaded = kr.load(tmp_path / "risk.kernelrank")
    np.testing.assert_array_equal(model.predict_proba(X), loaded.predict_proba(X))
