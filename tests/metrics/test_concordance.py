from __future__ import annotations

import numpy as np
import pytest

from kernelrank.data import event_times
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.metrics import Concordance, KaplanMeier, censoring_weights, concordance, get_measure, log_rank_pvalue
from kernelrank.metrics.intervals import mean_interval
from tests.oracles.survival import concordance as slow_concordance


def draw(seed, m=40):
    rng = np.random.default_rng(seed)
    time, event = rng.integers(1, 12, m) * 1.0, rng.random(m) < 0.6
    return time, event, rng.integers(0, 9, m) * 1.0, rng.integers(0, 3, m), rng.integers(0, 3, m) * 1.0


@pytest.mark.parametrize("seed", range(8))
def test_equals_all_pairs(seed):
    time, event, score, strata, weight = draw(seed)
    assert concordance(time, score, event=event) == pytest.approx(slow_concordance(time, event, score)[0], rel=1e-13)
    expected, total = slow_concordance(time, event, score, strata=strata, weight=weight)
    result = Concordance()(time, score, event=event, qid=strata, sample_weight=weight)
    assert result.mean == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(result.orders.stratum_pairs.sum(), total, rtol=1e-13)
    np.testing.assert_allclose(result.orders.pairs.sum(), 2 * total, rtol=1e-13)
    unweighted = Concordance()(time, score, event=event)
    ones = slow_concordance(time, event, score)[1]
    assert unweighted.n_pairs == ones
    assert unweighted.n_tied_scores == 2 * (
        slow_concordance(time, event, score, tied_tol=0.0)[0] * ones
        - slow_concordance(time, event, score + 0.0, tied_tol=-1.0)[0] * ones
    )


@pytest.mark.parametrize("tau", [None, 8.0])
def test_uno_weights_by_the_curve_of_censoring(tau):
    time, event, score, _, _ = draw(3)
    event[time == time.max()] = True
    weight = np.zeros(len(time))
    for i in np.flatnonzero(event):
        G = 1.0
        for t in np.unique(time[time <= time[i]]):
            at_risk = np.sum(time >= t) - np.sum(event & (time == t))  # events at t come first
            G *= 1.0 - (np.sum(~event & (time == t)) / at_risk if at_risk else 0.0)
        weight[i] = 1.0 / G**2 if tau is None or time[i] < tau else 0.0
    expected = slow_concordance(time, event, score, event_weight=weight)[0]
    assert Concordance("uno", tau)(time, score, event=event).mean == pytest.approx(expected, rel=1e-12)
    training = event_times(time, event)
    assert Concordance("uno", tau)(training, score, training=training).mean == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(censoring_weights(time, event) ** 2 * (time < (tau or np.inf)), weight, rtol=1e-12)


def test_the_jackknife_leaves_out_items_and_groups():
    time, event, score, strata, weight = draw(1)
    result = Concordance()(time, score, event=event, qid=strata, sample_weight=weight)
    groups = np.random.default_rng(0).integers(0, 7, len(time))
    for labels in (None, groups):
        codes, _ = result._groups(labels)
        found = result._without(codes)
        for number, value in enumerate(found):
            kept = codes != number
            expected = slow_concordance(time[kept], event[kept], score[kept], strata=strata[kept], weight=weight[kept])
            assert value == pytest.approx(expected[0], rel=1e-12)
    low, high = result.interval()
    assert low < result.mean < high
    assert "jackknife over 7 groups" in result.interval(groups=groups).method
    drawn = result.interval(groups=groups, method="bootstrap", n_resamples=50, random_state=0)
    assert drawn.low < result.mean < drawn.high
    assert "7 groups resampled 50 times" in drawn.method


def strata_of_mixed_sizes(rng, n):
    """Return times, scores and strata; sizes are log-normal, so that a few strata have most of the pairs."""
    m = np.clip(np.exp(rng.normal(2.7, 1.0, n)).astype(int), 3, 200)
    qid = np.repeat(np.arange(n), m)
    time = rng.permutation(len(qid)).astype(float)
    return time, 0.8 * (time / len(time)) + 0.3 * rng.standard_normal(len(time)), qid


@pytest.mark.parametrize(("n", "least"), [(25, 0.925), (100, 0.94)])
def test_intervals_over_strata_of_mixed_sizes_hold_the_true_index(n, least):
    rng = np.random.default_rng([77, n])
    time, score, qid = strata_of_mixed_sizes(rng, 4000)
    pool = Concordance()(time, score, qid=qid)
    right, pairs = pool.orders.stratum_right, pool.orders.stratum_pairs
    truth, held = pool.mean, []
    for _ in range(2000):
        drawn = rng.integers(len(pairs), size=n)
        low, high = mean_interval(right[drawn] / pairs[drawn], 0.95, "", (0.0, 1.0), pairs[drawn])
        held.append(low <= truth <= high)
    assert np.mean(held) >= least


def test_strata_that_leave_whole_have_the_interval_of_a_weighted_mean():
    time, score, qid = strata_of_mixed_sizes(np.random.default_rng(0), 12)
    result = Concordance()(time, score, qid=qid)
    found = result.interval(groups=[f"centre {q}" for q in qid])
    right, pairs = result.orders.stratum_right, result.orders.stratum_pairs
    assert tuple(found) == pytest.approx(tuple(mean_interval(right / pairs, 0.95, "", (0.0, 1.0), pairs)))
    assert found.method.startswith("jackknife over 12 groups")
    # Strata that leave together are one group; a stratum that is cut has pairs between groups.
    assert "jackknife over 4 groups" in result.interval(groups=qid // 3).method
    codes = result._groups(np.arange(len(qid)) % 5)[0]
    assert not result._are_separate(result._of_groups(codes)[1])
    # The variance is that of the indices without each stratum; one large stratum leaves few degrees of freedom.
    variance, degrees, _ = result._variance(qid)
    without = (right.sum() - right) / (pairs.sum() - pairs)
    assert variance == pytest.approx(11 / 12 * ((without - without.mean()) ** 2).sum())
    assert degrees == pytest.approx(max(1.0, 11 / 12 * pairs.sum() ** 2 / (pairs**2).sum()))
    assert degrees < 8
    other = Concordance()(time, score[::-1], qid=qid)
    assert result.minus(other, groups=qid).interval.width > result.minus(other).interval.width
    assert result.interval(groups=qid).width > 0
    same = Concordance()([1, 2, 3, 1, 2, 3], [1, 3, 2, 3, 1, 2], qid=[0, 0, 0, 1, 1, 1])
    assert same.interval(groups=[0, 0, 0, 1, 1, 1]).width > 0


def test_two_models_are_compared_on_the_same_items():
    rng = np.random.default_rng(0)
    time, event = rng.exponential(size=200), rng.random(200) < 0.5
    good, bad = time + 0.3 * rng.standard_normal(200), rng.standard_normal(200)
    first, second = (Concordance()(time, score, event=event) for score in (good, bad))
    difference = first.minus(second)
    assert difference.difference == first.mean - second.mean
    assert difference.pvalue < 1e-6
    assert 0 < difference.interval.low < difference.difference < difference.interval.high
    assert first.minus(first).pvalue == 1.0
    with pytest.raises(InvalidInputError, match="same items, times and weights"):
        first.minus(Concordance()(time, bad, event=~event))


def test_all_right_and_all_wrong_have_intervals():
    time = np.arange(1.0, 21.0)
    low, high = Concordance()(time, time, event=time % 2 == 0).interval()
    assert 0.7 < low < 1.0 == high
    low, high = Concordance()(time, -time, event=time % 2 == 0).interval()
    assert 0.0 == low < high < 0.3


def test_names_and_messages():
    assert get_measure("c-index") == get_measure("concordance") == Concordance()
    assert get_measure("concordance", weighting="uno").name == "Uno's concordance"
    assert "tied scores count a half" in Concordance().label
    with pytest.raises(NothingToCompareError, match="no event has a later item"):
        concordance([1.0, 2.0], [1.0, 2.0], event=[False, True])
    with pytest.raises(InvalidInputError, match="weighting must be one of"):
        Concordance("somers")
    with pytest.raises(InvalidInputError, match="probability of being uncensored"):
        censoring_weights(
            np.array([1.0, 2.0]),
            np.array([True, True]),
            training=(np.array([1.0, 1.5]), np.array([False, False])),
        )
    with pytest.raises(InvalidInputError, match="'jackknife' or 'bootstrap'"):
        Concordance()([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).interval(method="percentile")


def test_kaplan_meier_and_log_rank_by_hand():
    time, event = np.array([1.0, 2.0, 2.0, 3.0, 4.0]), np.array([True, True, False, False, True])
    curve = KaplanMeier.of(time, event)
    np.testing.assert_allclose(curve.survival, [0.8, 0.6, 0.6, 0.0])
    np.testing.assert_array_equal(curve.at_risk, [5, 4, 2, 1])
    assert curve.median() == 4.0
    # two groups: the variance of the difference is that of hypergeometric draws
    group, observed, expected, variance = np.array([0, 1, 1, 0, 0]), 0.0, 0.0, 0.0
    for t in (1.0, 2.0, 4.0):
        at_risk, in_group = np.sum(time >= t), np.sum((time >= t) & (group == 1))
        d = np.sum((time == t) & event)
        observed += np.sum((time == t) & event & (group == 1))
        expected += d * in_group / at_risk
        share = in_group / at_risk
        variance += d * share * (1 - share) * (at_risk - d) / max(at_risk - 1, 1)
    from scipy.stats import chi2

    assert log_rank_pvalue(time, event, group) == pytest.approx(chi2.sf((observed - expected) ** 2 / variance, 1))
    assert np.isnan(log_rank_pvalue(time, event, np.zeros(5, dtype=int)))
