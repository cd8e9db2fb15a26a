"""How many items: subsets estimated as by themselves, the power law, and intervals of finished models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.model_selection.learning_curves import fitted_law, validation_half_width


def cohort(m=80, n=10, signal=0.5):
    rng = np.random.default_rng(0)
    y = np.arange(m) % 2
    return rng.standard_normal((m, n)) + signal * y[:, None], y


def test_the_law_is_found_again():
    sizes = np.array([20, 40, 80, 160])
    found = fitted_law(sizes, np.array([0.9 - 1.5 * sizes**-0.8, np.full(4, 0.7), 1.02 - 2.0 * sizes**-1.0]))
    np.testing.assert_allclose(found[0], [0.9, 1.5, 0.8], rtol=1e-6)
    assert found[1, 1] == pytest.approx(0.0, abs=1e-9)
    assert found[2, 0] == 1.0


def test_the_law_has_the_least_weighted_squares():
    rng = np.random.default_rng(3)
    sizes = np.array([10, 20, 40, 80])
    values = 0.8 - sizes**-0.6 + 0.01 * rng.standard_normal(4)
    (law,) = fitted_law(sizes, values[None])

    def loss(parameters):
        a, b = parameters
        return sizes @ (values - a + b * sizes ** -law[2]) ** 2

    np.testing.assert_allclose(minimize(loss, [0.7, 1.0], tol=1e-14).x, law[:2], rtol=1e-4)


def test_all_items_are_estimated_as_by_estimate_auc():
    X, y = cohort()
    found = kr.learning_curve(kr.RankRLS(10.0), X, y, n_subsets=3)
    assert found.values[-1] == kr.estimate_auc(kr.RankRLS(10.0), X, y).auc
    assert found.sizes.tolist() == sorted(set(found.sizes.tolist()))
    assert (found.sizes[0], found.sizes[-1], found.unit) == (20, 80, "items")
    low, high = found.band(found.sizes)
    assert np.all(low < found.predict(found.sizes))
    assert np.all(found.predict(found.sizes) < high)


def test_the_number_that_is_needed_reaches_the_goal():
    X, y = cohort()
    found = kr.learning_curve(kr.RankRLS(10.0), X, y, n_subsets=3)
    goal = (found.values[-1] + found.law[0]) / 2
    needed = found.items_needed(auc=goal)
    assert found.predict([needed.items])[0] == pytest.approx(goal)
    assert needed.low <= needed.items <= needed.high
    assert np.isinf(found.items_needed(value=0.9999).items) == (found.law[0] <= 0.9999)
    assert "items" in str(needed)


def test_validation_is_the_interval_of_given_scores():
    X, y = cohort()
    found = kr.learning_curve(kr.RankRLS(10.0), X, y, n_subsets=2)
    n = found.validation_items(half_width=0.05, auc=0.8)
    assert validation_half_width(0.8, 0.5, n) <= 0.05 < validation_half_width(0.8, 0.5, n - 1)
    # Normal scores of the same AUC: the interval of given scores is as wide.
    rng = np.random.default_rng(0)
    widths = []
    for _ in range(20):
        label = np.arange(n) % 2
        scores = rng.standard_normal(n) + 1.19 * label  # an AUC of .8
        widths.append(kr.estimate_auc(scores, None, label).interval.width / 2)
    assert np.mean(widths) == pytest.approx(0.05, abs=0.006)
    assert found.validation_items(0.02, auc=0.8) > 4 * n


def test_groups_and_queries_stay_whole(monkeypatch):
    X, y = cohort()
    groups = np.arange(80) // 2 // 2 * 2 + y  # two items each, of one class
    found = kr.learning_curve(kr.RankRLS(10.0), X, y, groups=groups, n_subsets=2)
    assert (found.unit, found.sizes[-1]) == ("groups", 40)
    X, y, qid = kr.make_ranking(n_queries=16, n_features=4, random_state=0)
    found = kr.learning_curve(kr.RankRLS(), X, y, qid=qid, n_subsets=2)
    assert (found.measure, found.unit, found.sizes[-1]) == ("pairwise accuracy", "queries", 16)
    with pytest.raises(InvalidInputError, match="for an AUC"):
        found.validation_items()


def test_times_and_other_estimators():
    X, y = cohort()
    event = np.arange(80) % 3 > 0
    found = kr.learning_curve(kr.RankRLS(), X, np.exp(X[:, 0]), event=event, n_subsets=2, sizes=[40, 60])
    assert found.measure == "concordance"
    expected = kr.estimate_concordance(kr.RankRLS(), X, np.exp(X[:, 0]), event=event)
    assert found.values[-1] == expected.concordance
    found = kr.learning_curve(LogisticRegression(), X, y, n_subsets=2, sizes=[40, 60])
    assert found.values[-1] == kr.estimate_auc(LogisticRegression(), X, y, method="averaged", random_state=0).auc


def test_the_result_in_every_form():
    X, y = cohort()
    found = kr.learning_curve(kr.RankRLS(10.0), X, y, n_subsets=2)
    assert list(found.to_frame())[:2] == ["size", "value"]
    assert "power law tends to" in str(found)
    assert "<table>" in found._repr_html_()
    found.plot()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"sizes": [1, 2]}, "sizes from 4"), ({"sizes": [100]}, "sizes from 4"), ({"confidence": 2}, "confidence")],
)
def test_wrong_options(options, message):
    X, y = cohort()
    with pytest.raises(InvalidInputError, match=message):
        kr.learning_curve(kr.RankRLS(), X, y, **options)


def test_wrong_goals():
    X, y = cohort()
    found = kr.learning_curve(kr.RankRLS(10.0), X, y, n_subsets=2)
    for options in ({}, {"auc": 1.0}, {"auc": 0.8, "value": 0.8}):
        with pytest.raises(InvalidInputError, match="one accuracy"):
            found.items_needed(**options)
    with pytest.raises(InvalidInputError, match="half_width"):
        found.validation_items(0.6)
