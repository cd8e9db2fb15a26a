from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from kernelrank.errors import InvalidInputError
from kernelrank.relations.extractor import best_threshold, resampled_threshold, threshold_of_share
from kernelrank.relations.scores import ExtractionScores, document_intervals, measure, measure_all_true

largest_expected = partial(best_threshold, calibrated=True)


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


@pytest.mark.parametrize("seed", range(5))
def test_a_resampled_threshold_is_the_mean_over_literal_resamples(seed):
    generator = np.random.default_rng(seed)
    scores = np.round(generator.normal(size=40), 1)
    labels = generator.random(40) < 0.3
    documents = generator.integers(0, 9, 40)
    names = list(dict.fromkeys(documents.tolist()))
    draws = np.random.default_rng(0).multinomial(len(names), [1 / len(names)] * len(names), 200)
    found = []
    for times in draws:
        items = [item for name, count in zip(names, times, strict=True) for item in [name] * count]
        places = np.array([place for name in items for place in np.flatnonzero(documents == name)])
        if labels[places].any():
            found.append(max(best_threshold(labels[places], scores[places]), np.nextafter(scores.min(), -np.inf)))
    assert resampled_threshold(labels, scores, documents.tolist()) == pytest.approx(np.mean(found), abs=1e-12)


def learnt_chances(labels, scores):
    """Logistic regression with targets a little inside 0 and 1, by a search that knows the loss only."""
    n_positive, n_negative = labels.sum(), (~labels).sum()
    targets = np.where(labels, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(weights):
        values = weights[0] * scores + weights[1]
        return np.sum(targets * np.log1p(np.exp(-values)) + (1 - targets) * np.log1p(np.exp(values)))

    found = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000})
    assert found.success
    return 1 / (1 + np.exp(-(found.x[0] * scores + found.x[1])))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_calibrated_threshold_has_the_largest_expected_f_score(seed, ties):
    labels, scores = drawn(seed, ties=ties)
    chances = learnt_chances(labels, scores)

    def expected(threshold):
        above = scores > threshold
        return 2 * chances[above].sum() / (above.sum() + chances.sum())

    threshold = largest_expected(labels, scores)
    best = max(expected(other) for other in [*scores.tolist(), scores.min() - 1])
    assert expected(threshold) == pytest.approx(best, abs=1e-9)
    # Scores on another scale, and in another order, are decided on in the same way.
    assert largest_expected(labels, 1e6 * scores + 5e5) == pytest.approx(1e6 * threshold + 5e5)
    assert largest_expected(labels[::-1], scores[::-1]) == pytest.approx(threshold, abs=1e-12)


def test_a_calibrated_threshold_at_the_edges():
    # Classes that the scores part, by much or by nothing; scores that say nothing, or the contrary; one class.
    assert largest_expected(np.array([True, True, False, False]), np.array([9.0, 8.0, 1.0, 0.0])) == 4.5
    assert largest_expected(np.array([True, False, False]), np.zeros(3)) < 0
    labels, scores = drawn(0)
    assert largest_expected(labels, -scores) < (-scores).min()
    assert largest_expected(np.array([True, True]), np.array([1.0, 2.0])) < 1.0
    with pytest.raises(InvalidInputError, match="at least one pair that interacts"):
        largest_expected(np.array([False, False]), np.array([1.0, 2.0]))


def test_a_resampled_threshold_with_little_to_draw_from():
    everything = resampled_threshold(np.array([True, True]), np.array([1.0, 2.0]), ["a", "b"])
    assert 0.9 < everything < 1.5
    # One document in forty has an interaction: many resamples have none.
    labels = np.arange(40) == 7
    scores = np.linspace(-1.0, 1.0, 40)
    assert scores[0] < resampled_threshold(labels, scores, [str(i) for i in range(40)]) < scores[7]
    assert resampled_threshold(np.array([True, False]), np.array([1.0, 0.0]), ["a", "a"]) == 0.5
    with pytest.raises(InvalidInputError, match="at least one pair that interacts"):
        resampled_threshold(np.array([False, False]), np.array([1.0, 2.0]), ["a", "b"])


def test_a_resampled_threshold_is_steadier_and_loses_less_where_the_best_is_known():
    """Two normal classes one apart on either side, of which the F-score of every threshold is known."""
    generator = np.random.default_rng(0)
    share, apart = 0.4, 1.3

    def f_score(threshold):
        right = share * norm.sf(threshold - apart / 2)
        wrong = (1 - share) * norm.sf(threshold + apart / 2)
        return 2 * right / (right + wrong + share)

    found = []
    for _ in range(60):
        labels = generator.random(200) < share
        documents = np.repeat(np.arange(50), 4)
        common = generator.normal(size=50)[documents]
        scores = np.where(labels, apart / 2, -apart / 2) + np.sqrt([0.2, 0.8]) @ [common, generator.normal(size=200)]
        found.append((best_threshold(labels, scores), resampled_threshold(labels, scores, documents.tolist())))
    thresholds = np.array(found)
    training, resampled = thresholds.std(axis=0)
    assert resampled < 0.85 * training
    losses = f_score(np.linspace(-3, 3, 1001)).max() - f_score(thresholds).mean(axis=0)
    assert losses[1] < 0.75 * losses[0]
