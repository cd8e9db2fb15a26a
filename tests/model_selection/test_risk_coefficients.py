"""Coefficients of survival times for one standard deviation, and their bootstrap intervals."""

from __future__ import annotations

import numpy as np
import pytest

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.model_selection import risk_coefficients

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((90, 3)) * [1.0, 10.0, 0.1]
TIME = RANDOM.exponential(np.exp(-X[:, 0] + 0.05 * X[:, 1]))
EVENT = RANDOM.random(90) < 0.7


def test_they_are_those_of_the_fit_and_of_resampled_fits():
    found = risk_coefficients(kr.RankRLS(2.0), X, TIME, event=EVENT, n_resamples=20, confidence=0.5, random_state=1)
    drawn, random = [], np.random.RandomState(1)
    for rows in [np.arange(90), *(random.randint(90, size=90) for _ in range(20))]:
        coefficients = kr.RankRLS(2.0).fit(X[rows], TIME[rows], event=EVENT[rows]).coef_
        drawn.append(-coefficients * X[rows].std(axis=0) / (X[rows] @ coefficients).std())
    np.testing.assert_allclose(found.values, drawn[0], rtol=1e-10)
    np.testing.assert_allclose(found.low, np.quantile(drawn[1:], 0.25, axis=0), rtol=1e-10)
    np.testing.assert_allclose(found.high, np.quantile(drawn[1:], 0.75, axis=0), rtol=1e-10)
    assert found.values[0] > 0.5
    assert found.values[1] < 0
    assert [row[0] for row in found.rows()] == ["x0", "x1", "x2"]


def test_units_of_features_and_times_change_nothing_but_for_alpha():
    first = risk_coefficients(kr.RankRLS(1e-6), X, TIME, event=EVENT, n_resamples=10)
    second = risk_coefficients(kr.RankRLS(1e-6), X * [1.0, 0.1, 10.0], TIME**2, event=EVENT, n_resamples=10)
    np.testing.assert_allclose(first.values, second.values, atol=1e-5)
    np.testing.assert_allclose(first.low, second.low, atol=1e-5)


def test_alpha_is_chosen_once_and_strata_and_weights_go_with_their_items():
    strata, weight = np.arange(90) % 3, 1.0 + np.arange(90) % 2
    search = kr.RankRLSCV().fit(X, TIME, event=EVENT, qid=strata, sample_weight=weight)
    given = {"event": EVENT, "qid": strata, "sample_weight": weight, "n_resamples": 5}
    found = risk_coefficients(kr.RankRLSCV(), X, TIME, **given)
    assert found.alpha == search.alpha_
    np.testing.assert_allclose(
        found.low, risk_coefficients(kr.RankRLS(search.alpha_), X, TIME, **given).low, rtol=1e-10
    )


def test_what_has_no_coefficients_or_no_events_is_refused():
    with pytest.raises(InvalidInputError, match="Expected a linear model"):
        risk_coefficients(kr.RankRLS(kernel="rbf"), X, TIME, event=EVENT)
    with pytest.raises(InvalidInputError, match="Expected times with events"):
        risk_coefficients(kr.RankRLS(), X, TIME)


def test_the_page_lists_them():
    found = risk_coefficients(kr.RankRLS(), X, TIME, event=EVENT, n_resamples=10, feature_names=["<b>", "dose", "age"])
    estimate = kr.estimate_concordance(kr.RankRLS(), X, TIME, event=EVENT, interval="components")
    page = kr.report.concordance_report(estimate, coefficients=found).html
    assert "What raises the risk" in page
    assert "&lt;b&gt;" in page
    assert f"{found.values[1]:+.2f}" in page
    assert "What raises the risk" not in kr.report.concordance_report(estimate).html
