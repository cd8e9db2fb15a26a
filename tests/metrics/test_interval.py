import numpy as np
import pytest
from scipy.stats import bootstrap, norm, t

from kernelrank.errors import InvalidInputError
from kernelrank.metrics import AUC, NDCG, MeasureResult, bootstrap_interval, get_measure, measure_names, paired_test
from kernelrank.metrics.intervals import mean_interval
from tests.oracles import auc as auc_oracle
from tests.oracles.mean_intervals import (
    proportion_interval,
    skewness_interval,
    variance_function_interval,
    weighted_interval,
)

UNIT = (0.0, 1.0)


def result_of(values, bounds=(-np.inf, np.inf)) -> MeasureResult:
    values = np.asarray(values, float)
    return MeasureResult("nDCG@10 (rules)", values, np.arange(len(values)), np.arange(0), bounds=bounds)


# Reciprocal ranks of a strong ranker, and shares of pairs in the right order: bounded, and skewed to the left.
POPULATIONS = {
    "reciprocal ranks": (np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 8]), [0.8, 0.11, 0.04, 0.03, 0.02], UNIT),
    "few wrong pairs": (np.array([1, 0.93, 0.86, 0.7, 0.4]), [0.5, 0.2, 0.15, 0.1, 0.05], UNIT),
    "tau": (2 * np.array([1, 0.93, 0.86, 0.7, 0.4]) - 1, [0.5, 0.2, 0.15, 0.1, 0.05], (-1.0, 1.0)),
    "squared errors": (np.array([0.2, 0.5, 1, 2, 4]), [0.2, 0.3, 0.3, 0.15, 0.05], (0.0, np.inf)),
}


@pytest.mark.parametrize(("n", "least"), [(25, 0.925), (100, 0.94)])
@pytest.mark.parametrize("name", POPULATIONS)
def test_intervals_over_few_queries_hold_the_true_mean(name, n, least):
    # Percentiles hold .90 to .91 over 25 queries; the standard error is .003.
    values, chances, bounds = POPULATIONS[name]
    rng = np.random.default_rng([35, n])
    drawn = rng.choice(values, size=(4000, n), p=chances)
    ends = np.array([tuple(result_of(one, bounds).interval()) for one in drawn])
    truth = values @ np.array(chances)
    held = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    assert least <= held.mean()
    assert np.all((bounds[0] <= ends) & (ends <= bounds[1]))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("name", POPULATIONS)
def test_the_interval_is_the_hull_of_its_two_parts(name, confidence):
    values, chances, bounds = POPULATIONS[name]
    drawn = np.random.default_rng(3).choice(values, size=12, p=chances)
    low, high = result_of(drawn, bounds).interval(confidence)
    widest = proportion_interval(drawn, bounds, confidence)
    parts = [part(drawn, bounds, confidence) for part in (skewness_interval, variance_function_interval)]
    assert low == pytest.approx(max(widest[0], min(part[0] for part in parts)), rel=1e-8, abs=1e-8)
    assert high == pytest.approx(min(widest[1], max(part[1] for part in parts)), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_the_interval_holds_the_mean_and_stays_within_the_range(seed):
    rng = np.random.default_rng(seed)
    n, low, high = int(rng.integers(2, 9)), *((0.0, 1.0) if seed % 2 else (-1.0, 1.0))
    values = low + (high - low) * rng.choice([0, 0.1, 0.5, 0.9, 1], n)
    result = result_of(values, (low, high))
    wide = result.interval(0.999)
    assert low <= wide.low <= result.interval().low <= result.mean <= result.interval().high <= wide.high <= high
    # Mirrored values have the mirrored interval.
    mirrored = result_of(low + high - values, (low, high)).interval()
    ends = low + high - mirrored.high, low + high - mirrored.low
    assert ends == pytest.approx(tuple(result.interval()), abs=1e-9)


@pytest.mark.parametrize("name", POPULATIONS)
def test_equal_weights_change_nothing(name):
    values, chances, bounds = POPULATIONS[name]
    drawn = np.random.default_rng(4).choice(values, size=15, p=chances)
    expected = tuple(mean_interval(drawn, 0.95, "", bounds))
    assert tuple(mean_interval(drawn, 0.95, "", bounds, np.full(15, 7.0))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("spread", [0.0, 0.5, 2.0])
def test_the_interval_of_a_weighted_mean(name, spread, confidence):
    values, chances, bounds = POPULATIONS[name]
    rng = np.random.default_rng(6)
    drawn = rng.choice(values, size=12, p=chances)
    weights = np.exp(spread * rng.standard_normal(12))
    found = mean_interval(drawn, confidence, "", bounds, weights)
    assert tuple(found) == pytest.approx(weighted_interval(drawn, weights, bounds, confidence), rel=1e-8, abs=1e-8)


def test_equal_values_have_no_width_unless_they_are_at_a_bound():
    assert tuple(result_of([0.7] * 9, UNIT).interval()) == (0.7, 0.7)
    assert tuple(result_of([1.0] * 9).interval()) == (1.0, 1.0)
    best, worst = (result_of([value] * 25, UNIT).interval() for value in (1.0, 0.0))
    assert best.high == 1.0
    assert 0.8 < best.low < 0.9
    assert tuple(worst) == pytest.approx((0.0, 1.0 - best.low))


@pytest.mark.parametrize("name", measure_names())
def test_measures_know_their_range(name):
    measure = get_measure(name.replace("@k", "@3"))
    low, high = measure.bounds
    rng = np.random.default_rng(0)
    y, qid = np.tile([1.0, 0.0, 0.0, 1.0, 0.0], 40), np.repeat(np.arange(40), 5)
    values = measure(y, rng.standard_normal(200), qid=qid).values
    assert np.isfinite(low)
    assert low <= values.min() < values.max() <= high


def test_paired_differences_have_the_same_interval():
    rng = np.random.default_rng(1)
    first, second = rng.choice([1, 0.5, 0.2], (2, 30))
    test = paired_test(result_of(first, UNIT), result_of(second, UNIT), random_state=0)
    assert tuple(test.interval) == tuple(result_of(first - second, (-1.0, 1.0)).interval())
    assert test.interval == paired_test(result_of(first, UNIT), result_of(second, UNIT), random_state=5).interval


def test_the_bootstrap_equals_the_percentile_bootstrap_of_scipy():
    values = np.random.default_rng(0).beta(4, 2, 60)
    mine = result_of(values).interval(0.9, method="bootstrap", n_resamples=20_000, random_state=1)
    theirs = bootstrap((values,), np.mean, confidence_level=0.9, n_resamples=20_000, method="percentile", rng=2)
    assert mine.low == pytest.approx(theirs.confidence_interval.low, abs=2e-3)
    assert mine.high == pytest.approx(theirs.confidence_interval.high, abs=2e-3)


def test_resampling_in_parts_covers_every_resample(monkeypatch):
    # A part of three resamples: with one value for all queries every mean must be filled in.
    monkeypatch.setattr("kernelrank.metrics.intervals._DRAWS_AT_ONCE", 30)
    interval = result_of([0.25] * 10).interval(method="bootstrap", n_resamples=100, random_state=0)
    assert (interval.low, interval.high) == (0.25, 0.25)


def test_the_same_seed_gives_the_same_interval():
    result = result_of(np.linspace(0, 1, 30))

    def drawn(random_state):
        return result.interval(method="bootstrap", random_state=random_state)

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
    assert drawn(np.random.default_rng(3)) == drawn(3)
    state = np.random.RandomState(5)
    assert drawn(state) != drawn(state)
    assert result.interval(random_state=3) == result.interval(random_state=4)


def test_a_wider_confidence_gives_a_wider_interval_around_the_mean():
    result = result_of(np.random.default_rng(1).uniform(size=50))
    narrow, wide = (result.interval(c, random_state=0) for c in (0.5, 0.99))
    assert wide.low < narrow.low < result.mean < narrow.high < wide.high
    assert result.mean in narrow
    assert 2.0 not in wide


def test_the_interval_says_what_varies():
    text = repr(result_of([0.0, 1.0, 1.0]).interval(random_state=0))
    assert "95% interval [" in text
    assert "3 queries, corrected for skewness; the predictions do not vary" in text
    drawn = result_of([0.0, 1.0, 1.0]).interval(method="bootstrap", random_state=0)
    assert "3 queries resampled 2,000 times; the predictions do not vary" in str(drawn)
    with pytest.raises(InvalidInputError, match="Expected method='skewness' or 'bootstrap'; got 'jackknife'"):
        result_of([0.0, 1.0, 1.0]).interval(method="jackknife")


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([0.5], {}, "at least two measured queries"),
        ([0.5, 1], {"confidence": 95}, "confidence must lie between 0 and 1, got 95"),
        ([0.5, 1], {"n_resamples": 0}, "n_resamples must be a whole number of at least 1"),
    ],
)
def test_unusable_options_are_refused(values, options, message):
    with pytest.raises(InvalidInputError, match=message):
        bootstrap_interval(result_of(values), **options)


@pytest.mark.parametrize("seed", range(4))
def test_the_auc_of_one_query_has_delongs_interval(seed):
    rng = np.random.default_rng(seed)
    y, score = rng.permutation(np.repeat([0, 1], [9, 12])), rng.integers(0, 8, 21).astype(float)
    result = AUC()(y, score)
    interval = result.interval(0.9)
    variance = auc_oracle.component_variance(score[y == 1], score[y == 0])
    small = auc_oracle.newcombe_variance(1 - 0.25 / 10, 12, 9)
    factor = (variance + small) / (auc_oracle.newcombe_variance(result.mean, 12, 9) + small)
    for end in interval:
        quantile = abs(end - result.mean) / np.sqrt(factor * auc_oracle.newcombe_variance(end, 12, 9))
        # Student's quantile at Welch's degrees of freedom, between those of 8 and of infinitely many.
        assert norm.ppf(0.95) < quantile < t.ppf(0.95, 8)
    assert "DeLong's variance over 12 and 9 items; the predictions do not vary" in str(interval)
    assert result.interval(0.5).low > interval.low


def test_one_measured_query_among_others_has_delongs_interval():
    y, score = [0, 1, 0, 1, 1, 0], [1, 2, 3, 4, 9, 9]
    alone = AUC()(y[:4], score[:4])
    among = AUC()(y, score, qid=[1, 1, 1, 1, 2, 3])
    assert (among.interval().low, among.interval().high) == (alone.interval().low, alone.interval().high)
    assert AUC()([-1, 5, -1], [1, 2, 3]).interval().high == 1.0  # one positive item: nothing is known


def test_what_has_no_interval_of_one_query():
    for result in (NDCG()([1, 0], [1, 2]), AUC()([1, 0], [1, 2], sample_weight=[1, 2])):
        assert not result.has_interval
        with pytest.raises(InvalidInputError, match="at least two measured queries"):
            result.interval()
    assert AUC()([1, 0, 1], [1, 2, 3]).has_interval
    with pytest.raises(InvalidInputError, match="confidence must lie between 0 and 1"):
        AUC()([1, 0, 1], [1, 2, 3]).interval(95)


def test_delongs_interval_holds_the_truth():
    rng = np.random.default_rng(0)
    truth, y = norm.cdf(1 / np.sqrt(2)), np.repeat([0, 1], 25)
    held = [truth in AUC()(y, rng.standard_normal(50) + y).interval() for _ in range(400)]
    assert 0.92 < np.mean(held) < 0.98
