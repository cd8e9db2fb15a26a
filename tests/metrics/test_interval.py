import numpy as np
import pytest
from scipy.stats import bootstrap

from kernelrank.errors import InvalidInputError
from kernelrank.metrics import MeasureResult, bootstrap_interval


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
    assert "nDCG@10 (rules): 95% interval [" in text
    assert "3 queries resampled 2000 times; the predictions do not vary" in text


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
