"""How good risks are on new items: equal to a nested cross-validation that is written out."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.roc import TwoClasses
from kernelrank.model_selection.calibration import calibration_folds
from kernelrank.model_selection.risk import Intervals, all_effects, on_kernel
from kernelrank.report import risk_report

SEARCH = kr.RankRLSCV([1.0, 100.0, 1e4])


def cohort(m=60, n=4, signal=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(m) % 3 == 0
    return rng.standard_normal((m, n)) + signal * y[:, None] + 5.0, y


def refitted(model, X, y, cv=10):
    """The held-out risks, fold by fold."""
    risks = np.empty(len(y))
    for held in calibration_folds(cv, X, TwoClasses.read(y, len(y)), None):
        kept = np.delete(np.arange(len(y)), held)
        risks[held] = clone(model).fit(X[kept], y[kept]).predict_proba(X[held])[:, 1]
    return risks


@pytest.fixture(scope="module")
def estimate():
    X, y = cohort()
    return kr.estimate_risk(SEARCH, X, y)


@pytest.mark.parametrize("model", [SEARCH, LogisticRegression(), kr.CalibratedRanker(SEARCH, calibration="isotonic")])
@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
def test_risks_are_those_of_nested_cross_validation(model):
    X, y = cohort()
    found = kr.estimate_risk(model, X, y, interval="components")
    whole = model if hasattr(model, "predict_proba") else kr.CalibratedRanker(model)
    np.testing.assert_allclose(found.risks, refitted(whole, X, y), rtol=1e-6)
    np.testing.assert_allclose(found.measures["brier"].value, brier_score_loss(y, found.risks))
    np.testing.assert_allclose(found.measures["average_precision"].value, average_precision_score(y, found.risks))


@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_wide_data_are_held_out_from_their_products(offset):
    X, y = cohort(40, 90, signal=0.4)
    model, K = on_kernel(kr.CalibratedRanker(SEARCH), X + offset)
    assert K.shape == (40, 40)
    np.testing.assert_allclose(refitted(model, X, y) if K is X else held(model, K, y), refitted(
        kr.CalibratedRanker(SEARCH), X + offset, y), rtol=1e-5)  # fmt: skip


def held(model, K, y):
    risks = np.empty(len(y))
    for items in calibration_folds(10, K, TwoClasses.read(y, len(y)), None):
        kept = np.delete(np.arange(len(y)), items)
        fitted = clone(model).fit(K[np.ix_(kept, kept)], y[kept])
        risks[items] = fitted.predict_proba(K[np.ix_(items, kept)])[:, 1]
    return risks


def test_intervals_with_training_are_wider(estimate):
    X, y = cohort()
    narrow = kr.estimate_risk(SEARCH, X, y, interval="components")
    for name, one in estimate.measures.items():
        assert one.value == narrow.measures[name].value
        assert one.interval.width >= narrow.measures[name].interval.width
    assert estimate.measures["brier"].interval.width > narrow.measures["brier"].interval.width
    assert "trained on" in estimate.measures["brier"].interval.method
    assert "too narrow" in narrow.measures["brier"].interval.method


def test_the_result_in_every_form(estimate):
    frame = estimate.to_frame()
    assert list(frame["measure"])[:2] == ["auc", "brier"]
    assert len(frame) == 7 + 6 * 5
    facts = json.loads(json.dumps(estimate.to_dict(), allow_nan=False))
    assert facts["calibration_slope"]["low"] < facts["calibration_slope"]["value"]
    assert [row["threshold"] for row in facts["thresholds"]] == [0.05, 0.1, 0.2, 0.3, 0.5]
    assert str(estimate).startswith("AUC 0.")
    assert any(line.startswith("scaled Brier score: ") for line in estimate.lines())
    assert "<table>" in estimate._repr_html_()
    assert sum(group["n"] for group in facts["groups"]) == 60
    estimate.plot()


def test_the_page_tells_how_items_were_held_out(estimate):
    words = "stratified by the outcome, the items of each group being held out together: in each fold"
    assert words in risk_report(estimate, grouped=True).html
    assert words not in risk_report(estimate).html


def test_the_positive_class_can_be_named():
    X, y = cohort(signal=1.5)
    labels = np.where(y, "a case", "control")
    found = kr.estimate_risk(SEARCH, X, labels, pos_label="a case", interval="components")
    assert found.measures["scaled_brier"].value > 0.2
    assert found.positive.sum() == 20
    np.testing.assert_allclose(found.risks[found.positive].mean(), 1 - np.mean(
        kr.estimate_risk(SEARCH, X, labels, interval="components").risks[found.positive]), atol=0.05)  # fmt: skip


def test_groups_are_held_out_together():
    X, y = cohort(80)
    groups = np.arange(80) // 4
    found = kr.estimate_risk(SEARCH, X, y, groups=groups, cv=5, interval="components")
    assert all(len(set(found.folds[groups == group])) == 1 for group in range(20))
    assert "groups" in found.measures["brier"].interval.method


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thresholds": [0.0, 0.5]}, "thresholds between 0 and 1"),
        ({"thresholds": "many"}, "thresholds between 0 and 1"),
        ({"interval": "wide"}, "interval"),
        ({"confidence": 2.0}, "confidence"),
    ],
)
def test_wrong_options(options, message):
    X, y = cohort()
    with pytest.raises(InvalidInputError, match=message):
        kr.estimate_risk(SEARCH, X, y, **options)


def test_halves_need_items_of_both_classes():
    X, _ = cohort()
    few = np.arange(60) < 6
    found, scored = (kr.estimate_risk(SEARCH, X, few, interval=how).measures for how in ("auto", "components"))
    assert "rule of thumb" in found["brier"].interval.method
    assert found["observed_expected"].interval.width > 1.05 * scored["observed_expected"].interval.width
    with pytest.raises(InvalidInputError, match="8 items of each class"):
        kr.estimate_risk(SEARCH, X, few, interval="jackknife")


def test_brier_scores_vary_at_least_as_a_line_through_nothing():
    """Equal risks have no variance, but other items would give other lines."""
    random = np.random.default_rng(0)
    X, y = random.standard_normal((60, 4)), np.arange(60) % 2 == 0
    found = kr.estimate_risk(kr.RankRLS(1e9), X, y, interval="components")
    assert found.measures["scaled_brier"].interval.width / 2 >= 2.0452 * 2 / 60
    q = np.log(found.measures["brier"].interval.high / (1 - found.measures["brier"].interval.high))
    value = found.measures["brier"].value
    least = 2.0452 * np.hypot(2 * 0.25 / 60, 1 / (30 * 31)) / (value * (1 - value))
    assert q - np.log(value / (1 - value)) >= least - 1e-4


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_risks_that_are_all_equal_do_not_exclude_a_model_that_is_somewhat_better(share):
    positive = np.arange(60) < 60 * share
    effects = all_effects(np.full(60, share), positive, [0.5])
    intervals = Intervals(0.95, int(60 * share), None, {("scaled_brier", None): (1.5, 0.0, 0.0)}, "", effects, share)
    found = intervals.estimate(("scaled_brier", None))
    assert found.value == pytest.approx(0.0)
    t = found.interval.high
    q = stats.t(60 * share - 1).ppf(0.975)
    of_calibrated = t * (1 - t) ** 2 / (60 * share * (1 - share))
    assert t**2 == pytest.approx(q**2 * of_calibrated * (1 + 1.5 * (1 - t)), rel=0.01)
    assert 0.2 < t < 0.6
    brier = intervals.estimate(("brier", None))
    assert brier.interval.low < brier.value < brier.interval.high
