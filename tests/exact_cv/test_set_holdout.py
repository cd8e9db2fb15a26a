"""Any sets left out: the shortcut is retraining, for every graph, weight, kernel and alpha."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from kernelrank.estimators import RLS, RankRLS
from kernelrank.exact_cv import ItemSets
from kernelrank.exact_cv import sets as set_systems
from kernelrank.exact_cv.problem import Decomposition
from kernelrank.exact_cv.sets import SetSystems
from kernelrank.model_selection.refits import HoldoutData
from tests.oracles.holdout import (
    exact_kernel,
    exact_linear_kernel,
    exact_scores,
    holdout_tolerance,
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
    "unit, queries": RankRLS(cost="unit", query_weight="queries"),
    "relative": RankRLS(cost="relative"),
}


def make(seed, m, n, *, kind="normal", graded=False, outputs=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    if kind == "duplicates":
        X[::2] = X[0]
    if kind == "integers":
        X = np.round(X)
    shape = (m, outputs) if outputs else (m,)
    y = rng.integers(0, 3, shape).astype(float) if graded else rng.normal(size=shape)
    return X, y, rng


def assert_close(found, expected, tolerance=1e-8):
    """Compare score differences, relative to the largest one, and the scores themselves."""
    scale = np.abs(expected).max()
    if scale < 1e-300:
        np.testing.assert_allclose(found, expected, atol=1e-12)
        return
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def sets_of(kind, rng, m, qid):
    if kind == "queries":
        return ItemSets.of([np.flatnonzero(qid == q) for q in np.unique(qid)], m)
    if kind == "one":
        return ItemSets.singles(m)
    return ItemSets.of([rng.choice(m, size, replace=False) for size in (1, 2, m // 2, m - 3)], m)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", ["queries", "one", "several"])
@pytest.mark.parametrize("data", ["normal", "duplicates", "integers"])
def test_equals_retraining(kernel, name, kind, data):
    learner = LEARNERS[name].set_params(kernel=kernel)
    for seed, n in ((0, 2), (1, 7), (2, 30)):
        X, y, rng = make(seed, 14, n, kind=data, graded=seed == 1)
        qid = rng.integers(0, 4, len(y))
        qid[0] = 7  # a query of one item
        sets = sets_of(kind, rng, len(y), qid)
        found = HoldoutData(learner, X, y, qid).scores(sets, ALPHAS)
        for held, start, stop in zip(sets, sets.bounds[:-1], sets.bounds[1:], strict=True):
            for column, alpha in enumerate(ALPHAS):
                expected = retrained_scores(learner, X, y, held, alpha, qid)
                allowed = holdout_tolerance(learner, X, y, held, alpha, expected, qid)
                np.testing.assert_allclose(found[start:stop, 0, column], expected, rtol=0, atol=allowed)


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
@pytest.mark.parametrize("name", LEARNERS)
def test_equals_fifty_digits(kernel, name):
    learner = LEARNERS[name].set_params(kernel=kernel)
    for seed, n in ((3, 2), (4, 5), (5, 12)):
        X, y, _ = make(seed, 9, n, graded=seed == 4)
        qid = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
        K = rbf_kernel(X)
        K = (K + K.T) / 2
        exact, data = (exact_linear_kernel(X), X) if kernel == "linear" else (exact_kernel(K), K)
        sets = ItemSets.of([np.flatnonzero(qid == q) for q in range(3)], 9)
        found = HoldoutData(learner, data, y, qid).scores(sets, ALPHAS)[:, 0]
        for held, start, stop in zip(sets, sets.bounds[:-1], sets.bounds[1:], strict=True):
            for column, alpha in enumerate(ALPHAS):
                expected = exact_scores(learner, exact, y, held, alpha, qid)
                assert_close(np.diff(found[start:stop, column]), np.diff(expected), 1e-8)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(4, 16),
    n=st.integers(1, 20),
    kernel=st.sampled_from(["linear", "rbf"]),
    name=st.sampled_from(["rls", "pairs", "items", "queries"]),
    outputs=st.integers(1, 3),
    exponent=st.integers(-15, 15),
    n_queries=st.integers(1, 5),
    graded=st.booleans(),
    weighted=st.booleans(),
)
def test_shapes_nobody_thinks_of(seed, m, n, kernel, name, outputs, exponent, n_queries, graded, weighted):
    learner = LEARNERS[name].set_params(kernel=kernel)
    X, y, rng = make(seed, m, n, graded=graded, outputs=outputs)
    y[0], y[1] = 0.0, 1.0
    qid = rng.integers(0, n_queries, m)
    qid[:2] = 0
    weight = rng.uniform(0.1, 3, m) if weighted else None
    sets = ItemSets.of([rng.choice(m, rng.integers(1, m - 1), replace=False) for _ in range(3)], m)
    alphas = np.array([2.0**exponent])
    found = HoldoutData(learner, X, y, qid, weight).scores(sets, alphas)[..., 0]
    for held, start, stop in zip(sets, sets.bounds[:-1], sets.bounds[1:], strict=True):
        for k in range(outputs):
            expected = retrained_scores(learner, X, y[:, k], held, alphas[0], qid, weight)
            allowed = holdout_tolerance(learner, X, y[:, k], held, alphas[0], expected, qid, weight)
            np.testing.assert_allclose(found[start:stop, k], expected, rtol=0, atol=allowed)


@pytest.mark.parametrize("name", ["pairs", "unit", "items"])
def test_many_small_queries_and_one_large(name):
    """Both paths, compiled and LAPACK, in the primal and the dual."""
    learner = LEARNERS[name].set_params(kernel="linear")
    for n in (5, 300):
        X, y, rng = make(9, 260, n, graded=True)
        qid = np.r_[np.repeat(np.arange(30), 7), np.full(50, 99)][rng.permutation(260)]
        sets = ItemSets.of([np.flatnonzero(qid == q) for q in (3, 99, 7)], 260)
        alphas = np.array([0.01, 1.0, 2.0, 8.0, 100.0])
        found = HoldoutData(learner, X, y, qid).scores(sets, alphas)[:, 0]
        for held, start, stop in zip(sets, sets.bounds[:-1], sets.bounds[1:], strict=True):
            for column, alpha in enumerate(alphas):
                assert_close(found[start:stop, column], retrained_scores(learner, X, y, held, alpha, qid))


def test_a_feature_of_one_query_only_loses_no_digits():
    """The primal form subtracts two nearly equal numbers there; the pivots tell."""
    X, y, _ = make(11, 40, 3)
    X = np.c_[X, np.zeros(40)]
    X[:4, 3] = [1e3, -2e3, 5e2, 1e3]
    qid = np.repeat(np.arange(10), 4)
    learner = RankRLS()
    sets = ItemSets.of([np.arange(4), np.arange(4, 8)], 40)
    found = HoldoutData(learner, X, y, qid).scores(sets, ALPHAS)[:, 0]
    for held, start in ((np.arange(4), 0), (np.arange(4, 8), 4)):
        for column, alpha in enumerate(ALPHAS):
            assert_close(found[start : start + 4, column], retrained_scores(learner, X, y, held, alpha, qid))


def test_items_without_a_score_take_no_part():
    X, y, rng = make(12, 20, 3, outputs=2)
    y[rng.random(y.shape) < 0.2] = np.nan
    qid = np.repeat(np.arange(5), 4)
    sets = ItemSets.of([np.arange(4), np.array([5, 9])], 20)
    for learner in (RankRLS(missing="ignore"), RankRLS(missing="ignore", query_weight="items", kernel="rbf")):
        found = HoldoutData(learner, X, y, qid).scores(sets, np.array([0.5]))[..., 0]
        for held, start, stop in zip(sets, sets.bounds[:-1], sets.bounds[1:], strict=True):
            assert_close(found[start:stop], retrained_scores(learner, X, y, held, 0.5, qid))


def test_a_basis_is_refitted_without_the_items_held_out():
    X, y, _ = make(13, 12, 2)
    learner = RankRLS(kernel="rbf", basis=[0, 3, 5, 8])
    found = HoldoutData(learner, X, y).scores(ItemSets.of([[3, 4]], 12), np.array([1.0]))[:, 0, 0]
    kept = np.setdiff1d(np.arange(12), [3, 4])
    model = RankRLS(kernel="rbf", basis=[0, 3, 6]).fit(X[kept], y[kept])  # items 0, 5 and 8 among those kept
    np.testing.assert_allclose(found, model.predict(X[[3, 4]]), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed"])
def test_a_kernel_that_is_constant_in_every_query_is_not_indefinite(kernel):
    sizes = [3, 5, 3, 6]
    qid = np.repeat(np.arange(4), sizes)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = np.repeat(rng.normal(size=(4, 3)), sizes, axis=0), rng.normal(size=17)
        data = HoldoutData(RankRLS(kernel=kernel), rbf_kernel(X) if kernel == "precomputed" else X, y, qid)
        scores = data.scores(ItemSets.of([np.flatnonzero(qid == q) for q in range(4)], 17), ALPHAS)
        # Zero, but for the rounding of kernels over alpha.
        assert np.abs(scores * ALPHAS).max() < 1e-12


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("learner", [RankRLS(), RankRLS(query_weight="queries")])
def test_sets_that_each_have_their_own_lambda(kernel, learner, monkeypatch):
    """Weights that differ make κ another for each set; nothing of the size of all items is computed for each."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(90, 4)), rng.normal(size=(90, 2)), rng.uniform(0.5, 2.0, size=90)
    weight[7] = 0.0
    held = [[k] for k in range(90)] + [rng.permutation(90)[:size] for size in (2, 2, 2, 45, 45, 60)]
    whole = []
    coefficients = Decomposition.coefficients
    monkeypatch.setattr(Decomposition, "coefficients", lambda *args: whole.append(1) or coefficients(*args))
    learner = learner.set_params(kernel=kernel)
    sets = ItemSets.of(held, 90)
    found = HoldoutData(learner, X, y, None, weight).scores(sets, ALPHAS)
    assert len(whole) <= 1
    for number in (0, 7, 50, *range(90, 96)):
        items = sets.items[sets.bounds[number] : sets.bounds[number + 1]]
        for column, alpha in enumerate(ALPHAS):
            expected = retrained_scores(learner, X, y, items, alpha, None, weight)
            for k in range(2):
                allowed = holdout_tolerance(learner, X, y[:, k], items, alpha, expected[:, k], None, weight)
                got = found[sets.bounds[number] : sets.bounds[number + 1], k, column]
                assert np.abs(got - expected[:, k]).max() <= allowed


@pytest.mark.parametrize("basis", [None, [0, 1, 2, 100, 130]])
@pytest.mark.parametrize("learner", [RLS(), RankRLS(), RankRLS(query_weight="items"), RankRLS(ties="exclude")])
def test_sets_much_larger_than_the_columns_are_trained_again(learner, basis, monkeypatch):
    """Their systems would be larger than the whole problem; small sets beside them keep the shortcut."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(600, 3)), rng.normal(size=600), np.arange(600) // 10
    module = sys.modules["kernelrank.exact_cv.sets"]
    literal, refitted = module.refit_without, []

    def refit(problem, held, alphas):
        refitted.append(len(held))
        return literal(problem, held, alphas)

    monkeypatch.setattr(module, "refit_without", refit)
    learner = learner.set_params(basis=basis)
    sets = ItemSets.of([np.arange(10), np.arange(10, 310), np.arange(20, 40), np.arange(300, 600)], 600)
    queries = None if isinstance(learner, RLS) else qid
    found = HoldoutData(learner, X, y, queries).scores(sets, ALPHAS)[:, 0]
    assert refitted == [300, 300]
    for held, start, stop in zip(sets, sets.bounds[:-1], sets.bounds[1:], strict=True):
        kept = np.setdiff1d(np.arange(600), held)
        left = None if basis is None else np.searchsorted(kept, np.setdiff1d(basis, held))
        for column, alpha in enumerate(ALPHAS):
            model = clone(learner).set_params(alpha=alpha, basis=left)
            options = {} if queries is None else {"qid": qid[kept]}
            expected = model.fit(X[kept], y[kept], **options).predict(X[held])
            assert np.abs(found[start:stop, column] - expected).max() <= 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("gap", [1e-8, 1e-10])
def test_a_near_tie_with_the_relative_cost_leaves_the_other_queries_their_weight(gap):
    """Its pair weighs ten to the sixteen times what others do; these are held out none the less."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(30, 4)), rng.integers(0, 4, size=30).astype(float), np.repeat(np.arange(5), 6)
    y[0] = y[1] + gap
    learner = RankRLS(cost="relative", kernel="rbf")
    sets = ItemSets.of([np.flatnonzero(qid == q) for q in range(5)], 30)
    found = HoldoutData(learner, X, y, qid).scores(sets, ALPHAS)
    for q in range(5):
        for column, alpha in enumerate(ALPHAS):
            expected = retrained_scores(learner, X, y, np.flatnonzero(qid == q), alpha, qid)
            difference = found[6 * q : 6 * q + 6, 0, column] - expected
            assert np.abs(difference).max() <= 1e-8 * np.abs(expected).max()


def test_weights_that_leave_no_digits_leave_no_warnings_either():
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(30, 4)), rng.integers(0, 4, size=30).astype(float), np.repeat(np.arange(5), 6)
    weight = np.where(qid == 0, 1e16, 1.0)
    sets = ItemSets.of([np.flatnonzero(qid == q) for q in range(5)], 30)
    found = HoldoutData(RankRLS(), X, y, qid, weight).scores(sets, np.array([1.0]))[:, 0, 0]
    for q in range(5):
        items = np.flatnonzero(qid == q)
        np.testing.assert_allclose(found[items], retrained_scores(RankRLS(), X, y, items, 1.0, qid, weight), rtol=1e-8)


@pytest.mark.parametrize("how", ["compiled", "LAPACK", "uneven"])
@pytest.mark.parametrize("name", LEARNERS)
def test_sets_of_more_items_than_columns(name, how, monkeypatch):
    """Systems of the size of the columns, and where the base has small pivots, of the size of the set."""
    solved = []
    inside = SetSystems._solve_in_columns
    monkeypatch.setattr(SetSystems, "_solve_in_columns", lambda *args: solved.append(1) or inside(*args))
    if how == "LAPACK":
        monkeypatch.setattr(set_systems, "COLUMNS", 2)
    elif how == "uneven":
        monkeypatch.setattr(set_systems, "UNEVEN", np.inf)
    learner = LEARNERS[name].set_params(kernel="linear")
    for seed, weighted in ((0, False), (1, True)):
        outputs = 1 if "unit" in name or name in ("ties out", "relative") else 2
        X, y, rng = make(seed, 40, 4, outputs=outputs, graded=True)
        qid, weight = np.arange(40) // 8, rng.uniform(0.5, 2.0, 40) if weighted else None
        weight = None if name == "relative" else weight
        sets = ItemSets.of([*np.arange(40).reshape(5, 8), np.arange(5, 17)], 40)
        target = y[:, 0] if outputs == 1 else y
        found = HoldoutData(learner, X, target, qid, weight).scores(sets, ALPHAS)
        for held, start, stop in zip(sets, sets.bounds[:-1], sets.bounds[1:], strict=True):
            for k, column in np.ndindex(outputs, len(ALPHAS)):
                expected = retrained_scores(learner, X, y[:, k], held, ALPHAS[column], qid, weight)
                allowed = holdout_tolerance(learner, X, y[:, k], held, ALPHAS[column], expected, qid, weight)
                np.testing.assert_allclose(found[start:stop, k, column], expected, rtol=0, atol=allowed)
    assert solved
