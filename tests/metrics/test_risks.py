"""Measures of risks: equal to scikit-learn's, and effects that are derivatives by the weights of items."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    precision_score,
    recall_score,
)

from kernelrank.metrics import MeanAveragePrecision
from kernelrank.metrics.risks import Effects, average_precision, net_benefit, rates, risk_measures

M, T = 70, 0.4


def cohort(seed=0):
    """Risks with ties, and classes that they are for."""
    rng = np.random.default_rng(seed)
    risks = np.round(expit(1.5 * rng.standard_normal(M)), 2).clip(0.02, 0.98)
    return risks, rng.random(M) < expit(0.3 + 0.8 * logit(risks))


def slope(risks, y, w):
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=2000, solver="newton-cholesky")
    return model.fit(logit(risks)[:, None], y, sample_weight=w).coef_[0, 0]


def intercept(risks, y, w):
    a = 0.0
    for _ in range(50):
        q = expit(a + logit(risks))
        a += w @ (y - q) / (w @ (q * (1 - q)))
    return a


def share(y, w):
    return np.average(y, weights=w)


WEIGHTED = {
    "brier": lambda p, y, w: brier_score_loss(y, p, sample_weight=w),
    "scaled_brier": lambda p, y, w: 1 - brier_score_loss(y, p, sample_weight=w) / (share(y, w) * (1 - share(y, w))),
    "observed_expected": lambda p, y, w: (w @ y) / (w @ p),
    "calibration_intercept": intercept,
    "calibration_slope": slope,
    "average_precision": lambda p, y, w: average_precision_score(y, p, sample_weight=w),
    "sensitivity": lambda p, y, w: recall_score(y, p >= T, sample_weight=w),
    "specificity": lambda p, y, w: recall_score(~y, p < T, sample_weight=w),
    "ppv": lambda p, y, w: precision_score(y, p >= T, sample_weight=w),
    "npv": lambda p, y, w: precision_score(~y, p < T, sample_weight=w),
    # The published formula: true positives less false positives at the odds of the threshold, by the number of items.
    "net_benefit": lambda p, y, w: (w @ (y & (p >= T)) - w @ (~y & (p >= T)) * T / (1 - T)) / w.sum(),
}


def measured(risks, y):
    return {**risk_measures(risks, y), **rates(risks, y, T), "net_benefit": net_benefit(risks, y, T)}


@pytest.mark.parametrize("name", WEIGHTED)
def test_value_and_effects_of_each_item(name):
    risks, y = cohort()
    found, weighted = measured(risks, y)[name], WEIGHTED[name]
    ones = np.ones(M)
    np.testing.assert_allclose(found.value, weighted(risks, y, ones), rtol=1e-6)
    step = 1e-4
    for item in (0, 5, 17, 40):
        unit = step * (np.arange(M) == item)
        derivative = (weighted(risks, y, ones + unit) - weighted(risks, y, ones - unit)) / (2 * step)
        np.testing.assert_allclose(found.effects[item], derivative, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(found.effects.sum(), 0.0, atol=1e-9)


def test_effects_of_groups_are_added_up():
    risks, y = cohort()
    found = average_precision(np.tile(risks, 2), np.tile(y, 2))
    twice = np.tile(np.arange(M), 2)
    np.testing.assert_allclose(found.variance(twice), average_precision(risks, y).variance())


def test_risks_that_are_all_equal_have_no_slope():
    found = risk_measures(np.full(20, 0.3), np.arange(20) < 6)
    assert np.isnan(found["calibration_slope"].value)
    assert np.isnan(found["calibration_slope"].ends(1.0, 6, 0.95)).all()
    np.testing.assert_allclose(found["calibration_intercept"].value, 0.0, atol=1e-9)


def test_shares_keep_their_interval_inside_and_with_a_width():
    low, high = Effects(1.0, np.zeros(40), share=True).ends(0.0, 20, 0.95)
    assert 0.9 < low < 0.999
    assert high == 1.0


def test_average_precision_of_one_list_has_an_interval():
    risks, y = cohort()
    result = MeanAveragePrecision()(y.astype(float), risks)
    assert result.has_interval
    low, high = result.interval()
    assert low < result.mean < high
    narrow = result.interval(0.5)
    assert low < narrow.low < narrow.high < high
    assert "relevant and" in narrow.method
    queries = MeanAveragePrecision()(y.astype(float), risks, qid=np.arange(M) % 5)
    assert queries.interval().low < queries.mean < queries.interval().high
    assert not MeanAveragePrecision(k=5)(y.astype(float), risks).has_interval


def test_average_precision_intervals_of_one_list_cover():
    rng, hits = np.random.default_rng(1), 0
    everything = rng.standard_normal(200_000)
    labels = rng.random(200_000) < 0.3
    truth = average_precision_score(labels, everything + labels)
    for _ in range(300):
        y = rng.random(100) < 0.3
        hits += truth in MeanAveragePrecision()(y.astype(float), rng.standard_normal(100) + y).interval()
    assert hits / 300 > 0.91


@pytest.mark.parametrize(("value", "variance", "ratio"), [(0.7, 0.004, 0.0), (0.999, 1e-8, 0.05), (1.0, 0.0, 0.0)])
def test_the_ends_of_a_share_solve_the_equation_of_its_score_and_say_something_near_one(value, variance, ratio):
    n = 20
    low, high = Effects(value, np.zeros(60), share=True).ends(variance, n, 0.95, ratio)
    least = 0.5 / n if variance <= (1.0 / (n * (n + 1.0))) ** 2 else 0.0
    r = max(ratio, least, variance / (value * (1.0 - value)) if value < 1.0 else 0.0)
    q = stats.t(n - 1).ppf(0.975)
    for t in (low, high):
        assert (value - t) ** 2 == pytest.approx(q**2 * r * t * (1.0 - t), abs=1e-12)
    assert 0.4 < low < value <= high <= 1.0
