"""Risks up to a horizon: weights, hazard and measures, each written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import roc_auc_score

import kernelrank as kr
from kernelrank.base.labels import Lifetimes, event_times
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.survival import KaplanMeier, horizon_weights
from kernelrank.model_selection.survival_risk import SurvivalRisk, breslow, dealt, hazard_slope

MODEL = kr.RankRLS(3.0)


def cohort(m=100, seed=0, late=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 3))
    lasted, followed = rng.exponential(np.exp(X[:, 0])), rng.exponential(2.0, m)
    entry = rng.exponential(0.1, m) if late else None
    time, event = np.minimum(lasted, followed), lasted <= followed
    if entry is not None:
        kept = entry < time
        return X[kept], time[kept], event[kept], entry[kept]
    return X, time, event, entry


def test_weights_are_inverse_probabilities_of_censoring():
    _, time, event, _ = cohort()
    positive, weight = horizon_weights(time, event, 1.0)
    censoring = KaplanMeier.of(time, event, censoring=True)
    expected = np.zeros(len(time))
    expected[positive] = 1.0 / censoring.at(time[positive])
    expected[time > 1.0] = 1.0 / censoring.at(np.array([1.0]))
    np.testing.assert_allclose(weight, expected)
    assert weight.sum() == pytest.approx(len(time))


@pytest.mark.parametrize("seed", range(3))
def test_weights_with_entry_times_estimate_the_survival_curve(seed):
    _, time, event, entry = cohort(400, seed, late=True)
    positive, weight = horizon_weights(time, event, 1.0, entry)
    assert weight.sum() == pytest.approx(len(time))
    survival = 1.0
    for t in np.sort(time[event & (time <= 1.0)]):
        survival *= 1.0 - 1.0 / np.sum((entry < t) & (time >= t))
    assert weight @ positive / weight.sum() == pytest.approx(1.0 - survival)


@pytest.mark.parametrize("late", [False, True])
def test_slope_and_hazard_are_those_of_cox(late):
    X, time, event, entry = cohort(80, 1, late=late)
    lifetimes, s = Lifetimes(time, event, None, entry), -X[:, 0]
    strata = np.arange(len(time)) % 2
    since = np.full(len(time), -np.inf) if entry is None else entry

    def loss(b):
        value = 0.0
        for i in np.flatnonzero(event):
            at_risk = (strata == strata[i]) & (since < time[i]) & (time[i] <= time)
            value -= b * s[i] - np.log(np.sum(np.exp(b * s[at_risk])))
        return value

    best = minimize_scalar(loss, bounds=(0.0, 5.0), method="bounded", options={"xatol": 1e-10})
    chi = 2.0 * (loss(0.0) - best.fun)
    slope = hazard_slope(s, lifetimes, strata)
    assert slope == pytest.approx(best.x * (1.0 - (2.0 / chi) ** 2), rel=1e-5)
    assert hazard_slope(-s, lifetimes, strata) == 0.0
    times, hazard = breslow(slope * s, lifetimes)
    steps = [1.0 / np.sum(np.exp(slope * s[(since < t) & (time >= t)])) for t in times]
    np.testing.assert_allclose(hazard, np.cumsum(steps))


@pytest.fixture(scope="module")
def estimate():
    X, time, event, _ = cohort()
    return kr.estimate_risk(MODEL, X, time, event=event, horizon=1.0, thresholds=[0.3, 0.6])


def test_measures_are_those_of_the_published_formulas(estimate):
    _, time, event, _ = cohort()
    risks = estimate.risks
    G = KaplanMeier.of(time, event, censoring=True)
    had, later = event & (time <= 1.0), time > 1.0
    terms = np.zeros(len(time))
    terms[had] = (1.0 - risks[had]) ** 2 / G.at(time[had])
    terms[later] = risks[later] ** 2 / G.at(np.array([1.0]))
    assert estimate.measures["brier"].value == pytest.approx(terms.mean())  # Graf and others
    known = had | later
    auc = roc_auc_score(had[known], risks[known], sample_weight=estimate.weights[known])
    assert estimate.auc.auc == pytest.approx(auc)
    w, chosen = estimate.weights, risks >= 0.6
    benefit = np.sum(w * chosen * np.where(had, 1.0, -0.6 / 0.4)) / len(time)
    assert estimate.thresholds[0.6]["net_benefit"].value == pytest.approx(benefit)
    assert estimate.horizon == estimate.to_dict()["horizon"] == 1.0


def test_the_brier_score_is_that_of_scikit_survival(estimate):
    metrics = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
    _, time, event, _ = cohort()
    y = event_times(time, event)
    _, (value,) = metrics.brier_score(y, y, 1.0 - estimate.risks, 1.0)
    assert estimate.measures["brier"].value == pytest.approx(value)
    (auc,), _ = metrics.cumulative_dynamic_auc(y, y, estimate.risks, [1.0])
    assert estimate.auc.auc == pytest.approx(auc)


@pytest.mark.parametrize("late", [False, True])
def test_risks_are_those_of_nested_cross_validation(late):
    X, time, event, entry = cohort(60, late=late)
    found = kr.estimate_risk(MODEL, X, time, event=event, entry=entry, horizon=0.8, cv=4, interval="components")
    y = event_times(time, event, entry=entry)
    for held in dealt(event, 4, None, 0):
        kept = np.delete(np.arange(len(time)), held)
        model = SurvivalRisk(MODEL).fit(X[kept], y[kept])
        np.testing.assert_allclose(found.risks[held], model.predict(X[held], np.array([0.8]))[:, 0], rtol=1e-8)
    assert found.measures["integrated_brier"].value < 0.3
    assert "too narrow" in found.measures["brier"].interval.method


def test_risks_are_near_the_truth():
    X, time, event, _ = cohort(400, 2)
    found = kr.estimate_risk(MODEL, X, time, event=event, horizon=1.0, interval="components")
    truth = -np.expm1(-np.exp(-X[:, 0]))
    assert np.mean(np.abs(found.risks - truth)) < 0.06
    slope = found.measures["calibration_slope"].interval
    assert slope.low < 1.0 < slope.high


def test_intervals_allow_for_training(estimate):
    X, time, event, _ = cohort()
    narrow = kr.estimate_risk(MODEL, X, time, event=event, horizon=1.0, thresholds=[0.3, 0.6], interval="components")
    assert estimate.measures["brier"].value == narrow.measures["brier"].value
    assert estimate.measures["brier"].interval.width >= narrow.measures["brier"].interval.width
    assert "trained on" in estimate.measures["brier"].interval.method
    assert "integrated Brier score" in "\n".join(estimate.lines())
    assert len(estimate.to_frame()) == 8 - 1 + 6 * 2
    estimate.plot()


def test_what_is_wrong_is_told():
    X, time, event, _ = cohort()
    with pytest.raises(InvalidInputError, match="horizon="):
        kr.estimate_risk(MODEL, X, time, event=event)
    with pytest.raises(InvalidInputError, match="under observation after it"):  # before anything is trained
        kr.estimate_risk(object(), X, time, event=event, horizon=1e9)
    with pytest.raises(InvalidInputError, match="are for times"):
        kr.estimate_risk(MODEL, X, event, horizon=1.0)
