"""Pairs left out: the constant-time formula is retraining without both."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from kernelrank.estimators import RLS, RankRLS
from kernelrank.exact_cv import DifferingPairs, PairHoldout, pair_accuracy, pairs
from kernelrank.model_selection import leave_pair_out
from kernelrank.model_selection.refits import HoldoutData
from tests.oracles.holdout import (
    exact_kernel,
    exact_linear_kernel,
    exact_scores,
    holdout_tolerance,
    retrained_difference,
    retrained_scores,
)

ALPHAS = 2.0 ** np.array([-15, -5, 0, 5, 15])
LEARNERS = {
    "rls": RLS(),
    "pairs": RankRLS(),
    "items": RankRLS(query_weight="items"),
    "queries": RankRLS(query_weight="queries"),
    "ties out": RankRLS(ties="exclude"),
    "unit": RankRLS(cost="unit"),
}


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("n_alphas", [1, 5])
def test_equals_fifty_digits(kernel, name, n_alphas):
    learner = LEARNERS[name].set_params(kernel=kernel)
    for seed, n, levels in ((0, 2, 0), (1, 6, 2), (2, 15, 3)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(9, n))
        y = rng.integers(0, levels, 9).astype(float) if levels else rng.normal(size=9)
        y[:4] = [0, 1, 1, 0]
        K = rbf_kernel(X)
        K = (K + K.T) / 2
        exact, data = (exact_linear_kernel(X), X) if kernel == "linear" else (exact_kernel(K), K)
        alphas = ALPHAS[:n_alphas]
        found = HoldoutData(learner, data, y).pairs(None, alphas)
        for number in rng.permutation(found.n_pairs)[:4]:
            held = np.array([found.first[number], found.second[number]])
            assert y[held[0]] > y[held[1]]
            for column, alpha in enumerate(alphas):
                a, b = exact_scores(learner, exact, y, held, alpha)
                difference = found.difference[number, 0, column]
                assert difference == pytest.approx(a - b, rel=1e-8, abs=1e-9 * abs(a))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(4, 14),
    n=st.integers(1, 16),
    kernel=st.sampled_from(["linear", "rbf"]),
    name=st.sampled_from(["rls", "pairs", "items", "queries"]),
    outputs=st.integers(1, 3),
    exponents=st.lists(st.integers(-15, 15), min_size=1, max_size=5),
    graded=st.booleans(),
    weighted=st.booleans(),
    duplicates=st.booleans(),
)
def test_equals_retraining(seed, m, n, kernel, name, outputs, exponents, graded, weighted, duplicates):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    if duplicates:
        X[m // 2 :] = X[0]
    y = rng.integers(0, 3, (m, outputs)).astype(float) if graded else rng.normal(size=(m, outputs))
    y[0], y[1] = 0.0, 1.0
    weight = rng.uniform(0.1, 3, m) if weighted else None
    learner = LEARNERS[name].set_params(kernel=kernel)
    alphas = 2.0 ** np.array(exponents)
    data = HoldoutData(learner, X, y, None, weight)
    found = data.pairs(None, alphas)
    some = rng.permutation(found.n_pairs)[:5]
    listed = data.pairs(np.stack([found.first, found.second], axis=1)[some], alphas)
    for place, number in enumerate(some):
        i, j = found.first[number], found.second[number]
        for column, alpha in enumerate(alphas):
            held = np.array([i, j])
            scores = np.column_stack(
                [retrained_scores(learner, X, y[:, k], held, alpha, weight=weight) for k in range(outputs)]
            )
            expected = scores[0] - scores[1]
            allowed = [
                holdout_tolerance(learner, X, y[:, k], held, alpha, scores[:, k], weight=weight) for k in range(outputs)
            ]
            assert np.all(np.abs(found.difference[number, :, column] - expected) <= allowed)
            assert np.all(np.abs(listed.difference[place, :, column] - expected) <= allowed)
    np.testing.assert_allclose(data.pairs(None, alphas, differences=False).accuracy, found.accuracy)
    np.testing.assert_allclose(pair_accuracy(found.difference, found.truth), found.accuracy)


def test_every_differing_pair_once():
    y = np.array([[1.0, 0.0], [1.0, 2.0], [0.0, 0.0], [1.0, 0.0]])
    first, second = DifferingPairs.of(y).items()
    found = {frozenset(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)}
    expected = {frozenset((i, j)) for i in range(4) for j in range(i) if (y[i] != y[j]).any()}
    assert found == expected
    assert len(first) == len(expected)


def test_blocks_of_rows_make_no_difference(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), rng.integers(0, 4, 90).astype(float)
    for learner in (RankRLS(), RankRLS(kernel="rbf")):
        whole = HoldoutData(learner, X, y).pairs(None, ALPHAS)
        monkeypatch.setattr(sys.modules["kernelrank.exact_cv.pair_forms"], "BLOCK_BYTES", 8 * 90 * 7)
        parts = HoldoutData(learner, X, y).pairs(None, ALPHAS)
        monkeypatch.undo()
        np.testing.assert_allclose(whole.difference, parts.difference, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("learner", [RLS(kernel="rbf"), RankRLS(kernel="rbf"), RankRLS()])
@pytest.mark.parametrize("alphas", [ALPHAS, ALPHAS[:1], np.array([1e4])])
def test_most_pairs_in_a_list_are_held_out_as_all_pairs_are(learner, alphas):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 4)), rng.integers(0, 4, (20, 2)).astype(float)
    data = HoldoutData(learner, X, y)
    every = data.pairs(None, alphas)
    listed = data.pairs(np.stack([every.first, every.second], axis=1), alphas)
    np.testing.assert_allclose(listed.difference, every.difference, rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(listed.accuracy, every.accuracy, rtol=1e-14)
    brief = data.pairs(np.stack([every.first, every.second], axis=1), alphas, differences=False)
    np.testing.assert_array_equal(brief.accuracy, listed.accuracy)
    assert brief.n_pairs == every.n_pairs


def test_a_pair_that_alone_carries_a_feature_takes_the_dual_form():
    rng = np.random.default_rng(1)
    X, y = np.c_[rng.normal(size=(30, 2)), np.zeros(30)], rng.normal(size=30)
    X[3, 2], X[8, 2] = 40.0, -30.0
    learner = RankRLS()
    found = HoldoutData(learner, X, y).pairs(np.array([[3, 8], [3, 4], [1, 2]]), ALPHAS)
    for number, (i, j) in enumerate([(3, 8), (3, 4), (1, 2)]):
        for column, alpha in enumerate(ALPHAS):
            expected = retrained_difference(learner, X, y, i, j, alpha)
            assert found.difference[number, 0, column] == pytest.approx(expected, rel=1e-7)


def test_accuracy_counts_ties_a_half_and_true_ties_not():
    difference, truth = np.array([1.0, 0.0, -1.0, 5.0]), np.array([1.0, 1.0, 1.0, 0.0])
    assert PairHoldout.of(np.arange(4), np.arange(4), difference, truth).accuracy == pytest.approx(0.5)
    assert np.isnan(pair_accuracy(difference[3:], truth[3:]))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("learner", [RLS(), RankRLS(), RankRLS(query_weight="queries")])
def test_items_that_take_no_part_leave_the_shortcut_to_the_others(kernel, learner, monkeypatch):
    """One missing score, or a weight of zero, must not send every pair the long way."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), rng.integers(0, 3, size=(12, 2)).astype(float)
    y[4, 0] = y[9, 0] = y[4, 1] = np.nan
    data = rbf_kernel(X) if kernel == "precomputed" else X
    learner = learner.set_params(kernel=kernel, missing="ignore")
    module = sys.modules["kernelrank.exact_cv.pairs"]
    literal, alone = module._one_by_one, []

    def one_by_one(problem, pairs, alphas):
        alone.extend(map(tuple, np.asarray(pairs)))
        return literal(problem, pairs, alphas)

    monkeypatch.setattr(module, "_one_by_one", one_by_one)
    found = HoldoutData(learner, data, y).pairs(None, ALPHAS)
    assert {i for i, _ in alone} | {j for _, j in alone} >= {9}
    assert all(9 in pair for pair in alone)
    short = HoldoutData(learner, data, y).pairs(None, ALPHAS, differences=False)
    np.testing.assert_array_equal(short.accuracy, found.accuracy)
    for output in range(2):
        kept = np.flatnonzero(~np.isnan(y[:, output]))
        part = data[kept][:, kept] if kernel == "precomputed" else data[kept]
        expected = HoldoutData(learner, part, y[kept, output]).pairs(None, ALPHAS)
        np.testing.assert_allclose(found.accuracy[output], expected.accuracy[0], rtol=1e-14)
    for number in range(0, found.n_pairs, 5):
        i, j = found.first[number], found.second[number]
        for column, alpha in enumerate(ALPHAS):
            for output in range(2):
                scores = retrained_scores(learner, data, y[:, output], np.array([i, j]), alpha)
                size = max(np.abs(scores).max(), 1e-4 / max(1.0, alpha))
                assert found.difference[number, output, column] == pytest.approx(scores[0] - scores[1], abs=1e-8 * size)


def test_a_weight_of_zero_among_listed_pairs():
    rng = np.random.default_rng(1)
    X, y, weight = rng.normal(size=(9, 2)), rng.normal(size=9), np.ones(9)
    weight[2] = 0.0
    pairs = np.array([[0, 2], [2, 1], [3, 4], [8, 0]])
    found = HoldoutData(RankRLS(), X, y, None, weight).pairs(pairs, np.array([0.5]))
    for (i, j), difference in zip(pairs, found.difference[:, 0, 0], strict=True):
        assert difference == pytest.approx(retrained_difference(RankRLS(), X, y, i, j, 0.5, weight), rel=1e-9)
    right = np.sign(found.difference[2:, 0, 0]) == np.sign(y[pairs[2:, 0]] - y[pairs[2:, 1]])
    assert found.accuracy[0, 0] == right.mean()


@pytest.mark.filterwarnings("ignore::kernelrank.errors.LostDigitsWarning")
@pytest.mark.parametrize("form", ["kernel", "duplicates", "singular", "levels"])
def test_weights_that_differ_a_little_share_one_power_series(form, monkeypatch):
    """All but the alphas above the trace: each pair has its own regularisation there, and a system of its own."""
    rng = np.random.default_rng(3)
    X, y, weight = rng.normal(size=(50, 2)), rng.normal(size=(50, 2)), rng.uniform(0.9, 1.2, 50)
    if form == "duplicates":
        X[25:] = X[:25]
    if form == "levels":
        y = np.round(y)
    K = X @ X.T if form == "singular" else rbf_kernel(X)
    module = sys.modules["kernelrank.exact_cv.pairs"]
    literal, alone = module._one_by_one, []

    def one_by_one(problem, pairs, alphas):
        alone.extend(alphas)
        return literal(problem, pairs, alphas)

    monkeypatch.setattr(module, "_one_by_one", one_by_one)
    learner = RankRLS(kernel="precomputed")
    found = HoldoutData(learner, K, y, None, weight).pairs(None, ALPHAS)
    assert alone == [ALPHAS[-1]]
    short = HoldoutData(learner, K, y, None, weight).pairs(None, ALPHAS, differences=False)
    np.testing.assert_array_equal(short.accuracy, found.accuracy)
    for output in range(2):
        truth = y[found.first, output] - y[found.second, output]
        accuracy = [pair_accuracy(difference, truth) for difference in found.difference[:, output].T]
        np.testing.assert_allclose(found.accuracy[output], accuracy, rtol=1e-12)
    for number in rng.permutation(found.n_pairs)[:6]:
        held = np.array([found.first[number], found.second[number]])
        for column, alpha in enumerate(ALPHAS):
            for output in range(2):
                scores = retrained_scores(learner, K, y[:, output], held, alpha, weight=weight)
                bound = holdout_tolerance(learner, K, y[:, output], held, alpha, scores, weight=weight)
                difference = found.difference[number, output, column]
                assert difference == pytest.approx(scores[0] - scores[1], abs=2.0 * bound)


def test_weights_that_differ_much_have_a_system_for_each_pair():
    rng = np.random.default_rng(4)
    X, y, weight = rng.normal(size=(30, 3)), rng.normal(size=30), np.ones(30)
    weight[[3, 7]] = 20.0, 100.0
    learner = RankRLS(kernel="rbf", gamma=0.5)
    found = HoldoutData(learner, X, y, None, weight).pairs(None, np.array([0.5]))
    for number in np.flatnonzero((found.first == 3) | (found.second == 7))[:8]:
        i, j = found.first[number], found.second[number]
        expected = retrained_difference(learner, X, y, i, j, 0.5, weight)
        assert found.difference[number, 0, 0] == pytest.approx(expected, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("n_columns", [28, 29, 30, 31])
def test_as_many_columns_as_items_need_few_refits(monkeypatch, n_columns):
    refits = []
    refit = pairs.refit_without
    monkeypatch.setattr(pairs, "refit_without", lambda *given: refits.append(given[1]) or refit(*given))
    rng = np.random.default_rng(n_columns)
    X, y = rng.normal(size=(30, n_columns)), rng.normal(size=30)
    found = HoldoutData(RankRLS(), X, y).pairs(None, ALPHAS)
    assert len(refits) <= 12 * len(ALPHAS)
    for number in rng.permutation(found.n_pairs)[:3]:
        held = np.array([found.first[number], found.second[number]])
        for column, alpha in enumerate(ALPHAS):
            a, b = exact_scores(RankRLS(), exact_linear_kernel(X), y, held, alpha)
            assert found.difference[number, 0, column] == pytest.approx(a - b, rel=1e-8, abs=1e-9 * abs(a))


@pytest.mark.parametrize("offset", [0.0, 10.0, 1000.0])
@pytest.mark.parametrize("alpha", [2.0**-5, 0.5, 2.0**10])
def test_rounding_does_not_order_a_tie(offset, alpha):
    """Whole numbers make models of which one scores two different items alike, or is zero: each form says so."""
    n_ties = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(-2, 3, (7, 1)) + offset, np.repeat([0.0, 1.0], [4, 3])
        agreement = 0.0
        kernel = exact_linear_kernel(X)
        pairs = [(i, j) for i in range(4) for j in range(4, 7)]
        for i, j in pairs:
            first, second = exact_scores(RankRLS(), kernel, y, [i, j], alpha)
            tied = abs(second - first) <= 1e-13 * (abs(first) + abs(second))
            agreement += 0.5 if tied else float(second > first)
            n_ties += bool(tied) and bool(X[i, 0] != X[j, 0])
        for learner in (RankRLS(alpha), RankRLS(alpha, kernel=lambda a, b: a @ b)):
            assert leave_pair_out(learner, X, y).accuracy == pytest.approx(agreement / len(pairs), abs=1e-12)
    assert n_ties > 0
