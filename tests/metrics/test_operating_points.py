"""Sensitivity at a specificity, the reverse, and partial areas, with intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import AUC, partial_auc, sensitivity_at, specificity_at


def cohort(seed, n_positive=30, n_negative=40, shift=1.0, ties=False):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n_negative, n_positive])
    scores = rng.standard_normal(len(y)) + shift * y
    return y, np.round(scores) if ties else scores


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_rates_are_those_of_the_best_threshold(seed, ties):
    y, scores = cohort(seed, ties=ties)
    thresholds = np.append(np.unique(scores), np.inf)
    sensitivity = np.array([np.mean(scores[y == 1] >= t) for t in thresholds])
    specificity = np.array([np.mean(scores[y == 0] < t) for t in thresholds])
    for wanted in (0.0, 0.5, 0.8, 0.9, 0.95, 1.0):
        found = sensitivity_at(y, scores, wanted, n_resamples=10).value
        assert found == pytest.approx(sensitivity[specificity >= wanted - 1e-9].max())
        found = specificity_at(y, scores, wanted, n_resamples=10).value
        assert found == pytest.approx(specificity[sensitivity >= wanted - 1e-9].max())


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("width", [0.05, 0.1, 0.33, 1.0])
def test_the_partial_area_is_scikit_learns(ties, width):
    y, scores = cohort(5, ties=ties)
    area = width * partial_auc(y, scores, specificity=(1 - width, 1), n_resamples=10).value
    least = width**2 / 2
    standard = 0.5 * (1 + (area - least) / (width - least))
    assert standard == pytest.approx(roc_auc_score(y, scores, max_fpr=width))


def test_areas_add_up_and_mirror():
    y, scores = cohort(6)
    parts = [partial_auc(y, scores, specificity=ends, n_resamples=10).value for ends in ((0, 0.7), (0.7, 1))]
    assert 0.7 * parts[0] + 0.3 * parts[1] == pytest.approx(roc_auc_score(y, scores))
    whole = partial_auc(y, scores, sensitivity=(0, 1), n_resamples=10).value
    assert whole == pytest.approx(roc_auc_score(y, scores))
    mirrored = partial_auc(1 - y, -scores, specificity=(0.8, 1), n_resamples=10).value
    assert partial_auc(y, scores, sensitivity=(0.8, 1), n_resamples=10).value == pytest.approx(mirrored)


def test_labels_and_groups_are_read():
    y, scores = cohort(7)
    names = np.where(y == 1, "ill", "well")
    assert sensitivity_at(names, scores, 0.9, pos_label="ill") == sensitivity_at(y, scores, 0.9)
    alone = sensitivity_at(y, scores, 0.9, groups=np.arange(len(y)))
    assert alone == sensitivity_at(y, scores, 0.9)  # groups of one item equal no groups
    repeated = np.repeat(np.arange(len(y)), 5)
    clustered = sensitivity_at(y[repeated], scores[repeated], 0.9, groups=repeated)
    assert clustered.value == alone.value
    assert tuple(clustered.interval) == pytest.approx(tuple(alone.interval), abs=0.02)
    assert sensitivity_at(y[repeated], scores[repeated], 0.9).interval.width < 0.7 * alone.interval.width
    assert "groups" in clustered.interval.method


@pytest.mark.parametrize(
    ("y", "scores"),
    [
        ([0, 0, 0, 1], [1.0, 2.0, 3.0, 4.0]),
        ([0, 1], [1.0, 2.0]),
        ([0, 0, 1, 1], [1.0, 1.0, 1.0, 1.0]),
        ([0, 0, 0, 1, 1, 1], [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]),
    ],
)
def test_an_interval_is_never_a_point(y, scores):
    for found in (
        sensitivity_at(y, scores, 0.95),
        specificity_at(y, scores, 0.95),
        partial_auc(y, scores, specificity=(0.9, 1.0)),
    ):
        low, high = found.interval
        assert 0 <= low <= found.value <= high <= 1
        assert high - low > 0.2


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0])
def test_intervals_hold_the_true_rates(shift):
    sensitivity = norm.sf(norm.ppf(0.9) - shift)
    held = []
    for seed in range(120):
        y, scores = cohort(seed, 20, 25, shift)
        held.append(sensitivity in sensitivity_at(y, scores, 0.9, n_resamples=200).interval)
    assert np.mean(held) >= 0.88  # 95 % are promised; 120 draws


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y, s: sensitivity_at(y, s, 90), "specificity must lie between 0 and 1, got 90"),
        (lambda y, s: specificity_at(y, s, -0.1), "sensitivity must lie between 0 and 1"),
        (lambda y, s: partial_auc(y, s), "one range"),
        (lambda y, s: partial_auc(y, s, specificity=(0.5, 1), sensitivity=(0.5, 1)), "one range"),
        (lambda y, s: partial_auc(y, s, specificity=0.9), r"must be a range \(low, high\), got 0.9"),
        (lambda y, s: partial_auc(y, s, specificity=(1, 0.5)), "0 <= low < high <= 1"),
        (lambda y, s: sensitivity_at(y, s[:-1], 0.9), "entries"),
        (lambda y, s: sensitivity_at(y, s * np.nan, 0.9), "finite"),
        (lambda y, s: sensitivity_at(y * 0, s, 0.9), "two classes"),
        (lambda y, s: sensitivity_at(y, s, 0.9, confidence=95), "confidence must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_measured_is_refused(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(*cohort(0))


EDGES = {
    "one positive item": ([0, 0, 0, 1], [1.0, 2.0, 3.0, 2.5]),
    "one positive item, parted": ([0, 0, 0, 1], [1.0, 2.0, 3.0, 4.0]),
    "one item of each": ([0, 1], [1.0, 2.0]),
    "parted": ([0, 0, 0, 1, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    "reversed": ([0, 0, 0, 1, 1, 1], [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]),
    "all tied": ([0, 0, 1, 1], [1.0, 1.0, 1.0, 1.0]),
}


@pytest.mark.parametrize(("y", "scores"), EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_edges_have_intervals_of_some_width_within_0_and_1(y, scores, clustered, confidence):
    options = {"confidence": confidence, "groups": np.arange(len(y)) // 2 if clustered else None}
    found = [
        (estimate.value, estimate.interval)
        for estimate in (
            sensitivity_at(y, scores, 0.9, n_resamples=50, **options),
            specificity_at(y, scores, 0.9, n_resamples=50, **options),
            partial_auc(y, scores, specificity=(0.8, 1.0), n_resamples=50, **options),
            partial_auc(y, scores, sensitivity=(0.8, 1.0), n_resamples=50, **options),
        )
    ]
    found += [(estimate.auc, estimate.interval) for estimate in (kr.estimate_auc(scores, None, y, **options),)]
    display = kr.report.ROCDisplay.of_scores(y, scores, random_state=0, **options)
    found.append((display.estimate.auc, display.estimate.interval))
    assert np.isfinite(np.concatenate(display.band)).all()
    if not clustered:
        result = AUC()(y, scores)
        found.append((result.mean, result.interval(confidence)))
    for value, (low, high) in found:
        assert 0 <= low <= value <= high <= 1
        assert high - low > 0.05
