"""Paired tests against every choice of signs, and against what must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wilcoxon

from kernelrank.errors import InvalidInputError
from kernelrank.metrics import MeasureResult, paired_test
from tests.oracles.sign_flips import sign_flip_pvalue, signed_ranks


def result(values, queries=None, label="nDCG") -> MeasureResult:
    values = np.asarray(values, dtype=float)
    queries = np.arange(len(values)) if queries is None else np.asarray(queries)
    return MeasureResult(label, values, queries, queries[:0])


@pytest.mark.parametrize("seed", range(8))
def test_pvalue_is_that_of_every_flip(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    # Multiples of 1/64 are exact, and collide often, so that ties among sums are really met.
    first, second = rng.integers(0, 9, n) / 64, rng.integers(0, 9, n) / 64
    test = paired_test(result(first), result(second), random_state=0)
    assert test.exact
    assert test.pvalue == float(sign_flip_pvalue(list(first - second)))
    assert test.difference == pytest.approx(np.mean(first - second), abs=1e-15)
    assert (test.n_first_better, test.n_second_better) == (np.sum(first > second), np.sum(first < second))


@pytest.mark.parametrize("seed", range(8))
def test_wilcoxon_is_that_of_every_flip_of_the_signed_ranks(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    first, second = rng.integers(0, 9, n) / 64, rng.integers(0, 9, n) / 64
    test = paired_test(result(first), result(second), random_state=0)
    assert test.wilcoxon_pvalue == float(sign_flip_pvalue(signed_ranks(list(first - second))))


@pytest.mark.parametrize("n", [8, 18, 19, 40, 200])
def test_wilcoxon_is_that_of_scipy_without_ties(n):
    rng = np.random.default_rng(n)
    first, second = rng.random(n) + 0.1, rng.random(n)
    found = paired_test(result(first), result(second), random_state=0).wilcoxon_pvalue
    assert found == pytest.approx(wilcoxon(first - second).pvalue, rel=1e-12)
    # Queries without a difference are left out.
    zeros = paired_test(result(np.append(first, [1, 1])), result(np.append(second, [1, 1])), random_state=0)
    assert zeros.wilcoxon_pvalue == found
    assert "zero differences left out" in str(zeros)


def test_wilcoxon_takes_what_is_equal_but_for_rounding_for_equal():
    test = paired_test(result([0.1 + 0.2, 0.3, 0.7]), result([0.0, 0.0, 0.7 + 1e-16]))
    assert test.wilcoxon_pvalue == 2 / 4
    assert (test.n_first_better, test.n_second_better) == (2, 0)


def test_sums_that_differ_by_rounding_are_equal():
    # 0.1 + 0.2 - 0.3 is not zero in binary; the flip of all signs must count as extreme all the same.
    test = paired_test(result([0.1, 0.2, 0.3, 0.7]), result([0, 0, 0, 0]))
    assert test.pvalue == 2 / 16


def test_drawn_flips_agree_with_all_of_them(monkeypatch):
    rng = np.random.default_rng(3)
    first, second = rng.random(14) + 0.4, rng.random(14)
    exact = paired_test(result(first), result(second)).pvalue
    monkeypatch.setattr("kernelrank.metrics.intervals.EXHAUSTIVE_QUERIES", 0)
    drawn = paired_test(result(first), result(second), n_resamples=40_000, random_state=1)
    assert not drawn.exact
    # Five standard errors of 40,000 draws.
    assert abs(drawn.pvalue - exact) < 5 * np.sqrt(exact * (1 - exact) / 40_000)
    assert 0.01 < exact < 0.5


def test_equal_rankings_differ_by_chance_only():
    test = paired_test(result([0.5, 0.25, 1.0]), result([0.5, 0.25, 1.0]))
    assert (test.pvalue, test.difference, test.interval.low, test.interval.high) == (1.0, 0.0, 0.0, 0.0)
    assert test.wilcoxon_pvalue == 1.0


def test_order_of_queries_does_not_matter_and_exchange_changes_the_sign():
    rng = np.random.default_rng(0)
    first, second = rng.random(30), rng.random(30)
    there = paired_test(result(first), result(second), random_state=5)
    order = rng.permutation(30)
    shuffled = paired_test(result(first), result(second[order], order), random_state=5)
    assert there == shuffled
    back = paired_test(result(second), result(first), random_state=5)
    assert back.difference == -there.difference
    assert back.pvalue == pytest.approx(there.pvalue, abs=0.02)


def test_interval_holds_the_difference_and_grows_with_confidence():
    rng = np.random.default_rng(0)
    first, second = result(rng.random(50)), result(rng.random(50))
    narrow, wide = (paired_test(first, second, confidence=c, random_state=0) for c in (0.5, 0.99))
    assert wide.interval.low < narrow.interval.low < narrow.difference < narrow.interval.high < wide.interval.high


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        (result([1, 2]), result([1, 2], label="AUC"), {}, "two measures cannot be compared: nDCG and AUC"),
        (result([1, 2]), result([1, 2], [0, 7]), {}, "the query 1 was measured for only one of the two"),
        (result([1, 2]), result([1, 2, 3]), {}, "the query 2 was measured for only one of the two"),
        (result([1]), result([1]), {}, "at least two measured queries"),
        (result([1, 2]), result([1, 2]), {"confidence": 1}, "confidence must lie between 0 and 1"),
        (result([1, 2]), result([1, 2]), {"n_resamples": 0}, "n_resamples must be a whole number"),
    ],
)
def test_what_cannot_be_compared(first, second, options, message):
    with pytest.raises(InvalidInputError, match=message):
        paired_test(first, second, **options)
