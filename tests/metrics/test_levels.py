"""Measures of levels against scikit-learn and against all chains, one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, mean_absolute_error

from kernelrank.errors import NothingToCompareError
from kernelrank.metrics import (
    ChainAccuracy,
    LevelError,
    QuadraticWeightedKappa,
    auc,
    chain_accuracy,
    get_measure,
    level_error,
    quadratic_weighted_kappa,
)
from tests.oracles.ordinal import share_of_chains

LEVELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=10)


@given(LEVELS)
def test_chains_are_counted_one_by_one(pairs):
    y, scores = np.array(pairs, dtype=float).T
    if len(np.unique(y)) < 2:
        with pytest.raises(NothingToCompareError, match="chain accuracy cannot be measured"):
            chain_accuracy(y, scores)
    else:
        assert chain_accuracy(y, scores) == pytest.approx(share_of_chains(y, scores), rel=1e-12, abs=1e-15)


def test_two_levels_are_the_auc_and_random_scores_are_one_over_the_orders():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 300), rng.integers(0, 20, 300)
    assert chain_accuracy(y, scores) == pytest.approx(auc(y, scores), rel=1e-12)
    assert chain_accuracy(np.arange(6), np.zeros(6)) == pytest.approx(1 / math.factorial(6))
    y = np.repeat(np.arange(4), 5_000)
    assert chain_accuracy(y, rng.random(len(y))) == pytest.approx(1 / 24, rel=0.05)
    assert chain_accuracy(np.repeat(np.arange(60), 500), np.repeat(np.arange(60), 500)) == pytest.approx(1.0)


@given(LEVELS)
def test_kappa_and_error_are_those_of_scikit_learn(pairs):
    y, p = np.array(pairs).T
    assert level_error(y, p) == pytest.approx(mean_absolute_error(y, p))
    if len(np.unique(pairs)) > 1:
        expected = cohen_kappa_score(y, p, weights="quadratic", labels=np.arange(5))
        assert quadratic_weighted_kappa(y, p) == pytest.approx(expected, abs=1e-12)


def test_queries_are_measured_one_by_one():
    rng = np.random.default_rng(1)
    y, p, qid = rng.integers(0, 3, 40), rng.integers(0, 3, 40), np.repeat(list("abcd"), 10)
    for measure in (LevelError(), QuadraticWeightedKappa(), ChainAccuracy()):
        result = measure(y, p, qid=qid)
        alone = [measure(y[qid == query], p[qid == query]).mean for query in "abcd"]
        np.testing.assert_allclose(result.values, alone, rtol=1e-12)
    result = QuadraticWeightedKappa()([1, 1, 0, 1], [1, 1, 1, 0], qid=[0, 0, 1, 1])
    assert result.left_out.tolist() == [0]
    assert result.values.tolist() == [-1.0]


def test_names():
    assert get_measure("qwk") == QuadraticWeightedKappa()
    assert get_measure("Level-Error") == LevelError()
    assert get_measure("chain accuracy") == ChainAccuracy()
    assert QuadraticWeightedKappa.takes_levels
    assert LevelError.takes_levels
    assert not ChainAccuracy.takes_levels
