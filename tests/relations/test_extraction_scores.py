from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from kernelrank.errors import InvalidInputError
from kernelrank.relations.extraction_scores import ExtractionScores, document_intervals, measure, measure_all_true
from kernelrank.relations.threshold import best_threshold, threshold_of_share


def drawn(seed, m=60, *, ties=False):
    generator = np.random.default_rng(seed)
    labels = generator.random(m) < 0.4
    scores = generator.normal(size=m) + labels
    return labels, np.round(scores, 1 if ties else 8)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_measures_are_those_of_scikit_learn(seed, ties):
    labels, scores = drawn(seed, ties=ties)
    decisions = scores > 0.3
    found = measure(labels, scores, decisions)
    assert found.precision == pytest.approx(precision_score(labels, decisions))
    assert found.recall == pytest.approx(recall_score(labels, decisions))
    assert found.f == pytest.approx(f1_score(labels, decisions))
    assert found.auc == pytest.approx(roc_auc_score(labels, scores))


def test_auc_compares_within_folds():
    labels, scores = np.array([True, False, True, False]), np.array([1.0, 0.0, 11.0, 10.0])
    assert measure(labels, scores, labels).auc == 0.75
    assert measure(labels, scores, labels, np.array([0, 0, 1, 1])).auc == 1.0


def test_what_is_not_defined_is_nan_and_left_out_of_means():
    one_class = measure(np.array([True, True]), np.array([1.0, 2.0]), np.array([False, False]))
    assert np.isnan(one_class.auc)
    assert np.isnan(one_class.precision)
    assert (one_class.recall, one_class.f) == (0.0, 0.0)
    mean = ExtractionScores.mean([one_class, ExtractionScores(0.5, 0.5, 0.5, 0.75)])
    assert (mean.precision, mean.recall, mean.auc) == (0.5, 0.25, 0.75)
    assert ExtractionScores.deviation([one_class, mean]).recall == pytest.approx(0.125)
    assert np.isnan(ExtractionScores.mean([one_class]).auc)


def test_the_baseline():
    labels = np.array([True, False, False, False])
    found = measure_all_true(labels)
    assert (found.precision, found.recall, found.f, found.auc) == (0.25, 1.0, 0.4, 0.5)


def test_intervals_are_those_of_resampled_documents():
    labels, scores = drawn(0, 200)
    generator = np.random.default_rng(1)
    documents = [f"d{code}" for code in generator.integers(0, 25, 200)]
    folds = np.array([int(name[1:]) % 3 for name in documents])
    decisions = scores > 0.5
    found = document_intervals(labels, scores, decisions, documents, folds, n_resamples=400, random_state=7)
    names = list(dict.fromkeys(documents))
    draws = []
    for _ in range(400):
        chosen = generator.choice(names, len(names))
        items = np.concatenate([np.flatnonzero(np.array(documents) == name) for name in chosen])
        again = measure(labels[items], scores[items], decisions[items], folds[items])
        draws.append([again.precision, again.recall, again.f, again.auc])
    for name, column in zip(("precision", "recall", "f", "auc"), np.array(draws).T, strict=True):
        low, high = np.quantile(column, [0.025, 0.975])
        width = high - low
        # Two samples of 400 differ by a part of the width; an interval of other draws would be elsewhere.
        assert abs(found[name].low - low) < 0.2 * width
        assert abs(found[name].high - high) < 0.2 * width
        assert found[name].low < getattr(measure(labels, scores, decisions, folds), name) < found[name].high
    assert found == document_intervals(labels, scores, decisions, documents, folds, n_resamples=400, random_state=7)
    with pytest.raises(InvalidInputError, match="confidence must lie between 0 and 1"):
        document_intervals(labels, scores, decisions, documents, confidence=1.0)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_no_threshold_has_a_larger_f_score(seed, ties):
    labels, scores = drawn(seed, 40, ties=ties)
    best = measure(labels, scores, scores > best_threshold(labels, scores)).f
    tried = [measure(labels, scores, scores > t).f for t in [*scores, scores.min() - 1]]
    assert best == pytest.approx(max(tried))


def test_thresholds_at_the_edges():
    everything = np.array([True, True])
    assert best_threshold(everything, np.array([1.0, 2.0])) < 1.0
    neighbours = np.array([1.0, np.nextafter(1.0, 2.0)])
    threshold = best_threshold(np.array([False, True]), neighbours)
    assert (neighbours > threshold).tolist() == [False, True]
    with pytest.raises(InvalidInputError, match="at least one pair that interacts"):
        best_threshold(np.array([False]), np.array([1.0]))


def test_a_share_of_the_scores():
    scores = np.array([3.0, 1.0, 2.0, 2.0, 0.0])
    for share, count in [(0.0, 0), (0.2, 1), (0.4, 3), (0.6, 3), (0.8, 4), (1.0, 5)]:
        assert int(np.sum(scores > threshold_of_share(scores, share))) == count
    with pytest.raises(InvalidInputError, match="share of positive pairs must lie between 0 and 1"):
        threshold_of_share(scores, 1.5)
