import numpy as np
import pytest
from scipy.stats import bootstrap, norm, t

from kernelrank.errors import InvalidInputError
from kernelrank.metrics import AUC, NDCG, MeasureResult, bootstrap_interval
from tests.oracles import auc as auc_oracle


def result_of(values) -> MeasureResult:
    return MeasureResult("nDCG@10 (rules)", np.asarray(values, float), np.arange(len(values)), np.arange(0))


def test_interval_equals_the_percentile_bootstrap_of_scipy():
    values = np.random.default_rng(0).beta(4, 2, 60)
    mine = result_of(values).interval(0.9, n_resamples=20_000, random_state=1)
    theirs = bootstrap((values,), np.mean, confidence_level=0.9, n_resamples=20_000, method="percentile", rng=2)
    assert mine.low == pytest.approx(theirs.confidence_interval.low, abs=2e-3)
    assert mine.high == pytest.approx(theirs.confidence_interval.high, abs=2e-3)


def test_resampling_in_parts_covers_every_resample(monkeypatch):
    # A part of three resamples: with one value for all queries every mean must be filled in.
    monkeypatch.setattr("kernelrank.metrics.interval._DRAWS_AT_ONCE", 30)
    interval = result_of([0.25] * 10).interval(n_resamples=100, random_state=0)
    assert (interval.low, interval.high) == (0.25, 0.25)


def test_the_same_seed_gives_the_same_interval():
    result = result_of(np.linspace(0, 1, 30))
    assert result.interval(random_state=3) == result.interval(random_state=3)
    assert result.interval(random_state=3) != result.interval(random_state=4)
    assert result.interval(random_state=np.random.default_rng(3)) == result.interval(random_state=3)
    state = np.random.RandomState(5)
    assert result.interval(random_state=state) != result.interval(random_state=state)


def test_a_wider_confidence_gives_a_wider_interval_around_the_mean():
    result = result_of(np.random.default_rng(1).uniform(size=50))
    narrow, wide = (result.interval(c, random_state=0) for c in (0.5, 0.99))
    assert wide.low < narrow.low < result.mean < narrow.high < wide.high
    assert result.mean in narrow
    assert 2.0 not in wide


def test_the_interval_says_what_varies():
    text = repr(result_of([0.0, 1.0, 1.0]).interval(random_state=0))
    assert "95% interval [" in text
    assert "3 queries resampled 2,000 times; the predictions do not vary" in text


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
