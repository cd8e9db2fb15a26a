"""Measures of the scores themselves: differences, and what reaches a threshold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import fbeta_score, precision_score, recall_score

from kernelrank import metrics
from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RankRLS
from tests.oracles import measures as oracle

QID = np.repeat(np.arange(30), np.arange(30) % 6 + 1)


def draw(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, len(QID)).astype(float), rng.integers(-3, 4, len(QID)) / 2


@pytest.mark.parametrize("seed", range(3))
def test_magnitudes_are_those_of_every_pair(seed):
    y, score = draw(seed)
    result = metrics.MagnitudePreservingError()(y, score, qid=QID)
    expected = [oracle.magnitude_preserving_error(y[q == QID], score[q == QID]) for q in np.unique(QID)]
    np.testing.assert_allclose(result.values, [value for value in expected if not np.isnan(value)], rtol=1e-12)
    assert result.left_out.tolist() == [q for q, value in enumerate(expected) if np.isnan(value)]


def test_magnitudes_are_the_loss_of_rank_rls_and_know_no_constant():
    X, y, _ = make_ranking(n_queries=1, n_items=20, n_features=3, random_state=0)
    loose, tight = (metrics.magnitude_preserving_error(y, RankRLS(a).fit(X, y).predict(X)) for a in (1e6, 1e-6))
    assert tight < loose
    y, score = draw(0)
    there = metrics.magnitude_preserving_error(y, score, qid=QID)
    assert metrics.magnitude_preserving_error(y + 1e6, score - QID, qid=QID) == pytest.approx(there, rel=1e-9)
    assert metrics.magnitude_preserving_error(y, y + QID, qid=QID) == 0.0
    assert metrics.scorer("magnitude_preserving_error").measure.higher_is_better is False


def test_magnitudes_that_cannot_be_measured():
    with pytest.raises(InvalidInputError, match="too large for double precision"):
        metrics.magnitude_preserving_error([1e308, 0], [-1e308, 0])
    with pytest.raises(NothingToCompareError, match=r"each of the queries \(2\) has one item only"):
        metrics.magnitude_preserving_error([1, 2], [1, 2], qid=[1, 2])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("relevant_from", [None, 2.0])
@pytest.mark.parametrize("threshold", [0.0, 0.5, 9.0])
def test_thresholds_are_counted(seed, relevant_from, threshold):
    y, score = draw(seed)
    expected = np.array(
        [oracle.threshold_counts(y[q == QID], score[q == QID], threshold, relevant_from) for q in range(30)]
    )
    empty = np.isnan(expected[:, 0])
    for column, kind in enumerate((metrics.ThresholdPrecision, metrics.ThresholdRecall, metrics.ThresholdF)):
        for rule, filled in (("zero", 0.0), ("one", 1.0)):
            found = kind(threshold, relevant_from=relevant_from, empty=rule)(y, score, qid=QID).values
            np.testing.assert_allclose(found, np.where(empty, filled, expected[:, column]))
        result = kind(threshold, relevant_from=relevant_from)(y, score, qid=QID)
        np.testing.assert_allclose(result.values, expected[~empty, column])
        assert result.left_out.tolist() == np.flatnonzero(empty).tolist()


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_thresholds_are_those_of_scikit_learn(beta):
    y, score = draw(5)
    truth, chosen = y > 0, score >= 0.5
    assert metrics.threshold_precision(y, score, threshold=0.5) == pytest.approx(precision_score(truth, chosen))
    assert metrics.threshold_recall(y, score, threshold=0.5) == pytest.approx(recall_score(truth, chosen))
    found = metrics.threshold_f(y, score, threshold=0.5, beta=beta)
    assert found == pytest.approx(fbeta_score(truth, chosen, beta=beta))


def test_conventions_stand_in_the_label():
    label = metrics.ThresholdF(0.5, 2.0, relevant_from=3, empty="zero").label
    assert label == "threshold F (beta 2, predicted score >= 0.5, relevant y >= 3, empty queries count 0)"
    assert "no such score counts 0" in metrics.ThresholdPrecision().label
    assert metrics.MagnitudePreservingError().label == (
        "magnitude-preserving error (all pairs of a query, tied true scores too)"
    )


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (metrics.ThresholdRecall, {"threshold": np.nan}, "threshold must be a finite number, got nan"),
        (metrics.ThresholdRecall, {"threshold": "high"}, "threshold must be a finite number"),
        (metrics.ThresholdF, {"beta": 0}, "beta must be above 0"),
        (metrics.ThresholdF, {"empty": "two"}, "empty must be one of"),
        (metrics.ThresholdF, {"relevant_from": np.inf}, "relevant_from must be a finite number or None"),
        (metrics.NDCG, {"discount": "none"}, "discount must be one of 'log2', 'letor'"),
    ],
)
def test_unusable_options_are_refused(kind, options, message):
    with pytest.raises(InvalidInputError, match=message):
        kind(**options)
