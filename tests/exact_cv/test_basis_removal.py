"""Reduced sets lose the basis items that are held out, exactly as if they had been trained without them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredQueries
from kernelrank.estimators import RLS, RankRLS, RankSVM
from kernelrank.exact_cv import ItemSets
from kernelrank.exact_cv.basis import leave_basis_out
from kernelrank.features import ReducedSet
from kernelrank.kernels import Kernel
from kernelrank.model_selection import leave_one_out, leave_pair_out, leave_query_out
from kernelrank.model_selection.holdout import holdout

GAUSSIAN = {"kernel": "rbf", "gamma": 0.5}
ALPHAS = 2.0 ** np.array([-15, -6, 0, 8, 15])


def draw(seed, m=36):
    rng = np.random.default_rng(seed)
    X, y, qid = rng.standard_normal((m, 3)), rng.integers(0, 4, m).astype(float), rng.integers(0, 7, m)
    return X, y, qid, np.sort(rng.permutation(m)[: rng.integers(4, m)])


def literal(model, X, y, qid, basis, held):
    """Delete the items, delete the basis items among them, train, predict."""
    kept = np.setdiff1d(np.arange(len(y)), held)
    left = np.searchsorted(kept, np.setdiff1d(basis, held))
    if len(left) == 0:
        return np.zeros(len(held))
    fitted = model.set_params(basis=left).fit(X[kept], y[kept], qid=qid[kept])
    return fitted.predict(X[held])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"query_weight": "queries"},
        {"ties": "exclude"},
        {"cost": "unit", "query_weight": "items"},
        {"cost": "relative"},
    ],
)
def test_leave_query_out(seed, options):
    X, y, qid, basis = draw(seed)
    found = leave_query_out(RankRLS(basis=basis, **GAUSSIAN, **options), X, y, qid, alphas=ALPHAS)
    for k, alpha in enumerate(ALPHAS):
        for label in np.unique(qid):
            held = np.flatnonzero(qid == label)
            expected = literal(RankRLS(alpha, **GAUSSIAN, **options), X, y, qid, basis, held)
            assert np.abs(found[held, k] - expected).max() <= 1e-8 * max(np.abs(expected).max(), 1e-3 / alpha)


@pytest.mark.parametrize("seed", range(4))
def test_unions_of_queries_and_several_outputs(seed):
    X, y, qid, basis = draw(seed)
    Y = np.column_stack([y, X[:, 0]])
    held = np.flatnonzero(np.isin(qid, [0, 3, 4]))
    found = holdout(RankRLS(0.5, basis=basis, **GAUSSIAN), X, Y, [held], qid=qid)[0]
    for output in range(2):
        expected = literal(RankRLS(0.5, **GAUSSIAN), X, Y[:, output], qid, basis, held)
        np.testing.assert_allclose(found[:, output], expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_regression_leaves_any_item_out(seed):
    X, y, qid, basis = draw(seed)
    found = leave_one_out(RLS(0.1, basis=basis, **GAUSSIAN), X, y)
    for item in range(len(y)):
        expected = literal(RLS(0.1, **GAUSSIAN), X, y, qid, basis, np.array([item]))
        np.testing.assert_allclose(found[item], expected[0], rtol=1e-8, atol=1e-10)


def test_parts_of_queries_are_refitted():
    X, y, qid, _ = draw(0)
    X[20] = X[3]
    basis = np.array([1, 3, 5, 20, 30])
    held = np.array([3, 4, 9])
    found = holdout(RankRLS(0.5, basis=basis, **GAUSSIAN), X, y, [held], qid=qid)[0]
    expected = literal(RankRLS(0.5, **GAUSSIAN), X, y, qid, basis, held)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def singular(kind, seed):
    """Items whose basis is singular: repeated within queries or across, in a plane, or with zeros, in whole numbers."""
    _, y, qid, _ = draw(seed)
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (len(y), 30)).astype(float)
    if kind == "within":
        for label in np.unique(qid):
            same = np.flatnonzero(qid == label)
            X[same] = X[rng.choice(same, len(same))]
    elif kind == "across":
        X = X[rng.integers(0, 12, len(X))]
    elif kind == "plane":
        X[:, 2:] = X[:, :1] - X[:, 1:2]
    else:
        X[rng.random(len(X)) < 0.7] = 0.0
    return X, y, qid, np.sort(rng.permutation(len(y))[:24])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["within", "across", "plane", "zeros"])
@pytest.mark.parametrize("options", [{}, GAUSSIAN | {"gamma": 0.01}], ids=["linear", "rbf"])
def test_singular_bases_lose_what_they_no_longer_span(kind, seed, options):
    X, y, qid, basis = singular(kind, seed)
    alphas = 2.0 ** np.array([-15, 0, 15])
    found = leave_query_out(RankRLS(basis=basis, **options), X, y, qid, alphas=alphas)
    for k, alpha in enumerate(alphas):
        for label in np.unique(qid):
            held = np.flatnonzero(qid == label)
            expected = literal(RankRLS(alpha, **options), X, y, qid, basis, held)
            assert np.abs(found[held, k] - expected).max() <= 1e-8 * max(np.abs(expected).max(), 1e-3 / alpha)


@pytest.mark.parametrize("kind", ["within", "across", "plane", "zeros"])
def test_regression_on_a_singular_basis(kind):
    X, y, qid, basis = singular(kind, 0)
    found = leave_one_out(RLS(0.1, basis=basis), X, y)
    for item in range(len(y)):
        expected = literal(RLS(0.1), X, y, qid, basis, np.array([item]))
        np.testing.assert_allclose(found[item], expected[0], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["within", "across", "plane", "zeros"])
def test_no_set_of_a_singular_basis_needs_a_refit(kind, seed):
    X, y, qid, basis = singular(kind, seed)
    queries = Queries.from_labels(qid, len(y))
    features = ReducedSet(Kernel("linear"), X, basis)
    assert features.map.rank < len(basis)
    _, lost = leave_basis_out(
        features, ScoredQueries(y[:, None], queries), ItemSets.of_queries(queries), np.array([1.0, 2.0**15])
    )
    assert not lost.any()


@pytest.mark.parametrize("width", [1e-11, 1e-10, 1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("seed", range(3))
def test_near_duplicates_are_as_exact_as_the_kernel_knows_them(width, seed):
    """The square of what tells two such items apart is known to ε / width² of itself; below 1e-8 they are one."""
    X, y, qid, basis = draw(seed)
    rng = np.random.default_rng(seed)
    X = np.concatenate([X[:18], X[:18]])[rng.permutation(36)] + width * rng.standard_normal(X.shape)
    found = leave_query_out(RankRLS(basis=basis, **GAUSSIAN), X, y, qid, alphas=[1e-3, 1.0])
    for k, alpha in enumerate([1e-3, 1.0]):
        for label in np.unique(qid):
            held = np.flatnonzero(qid == label)
            expected = literal(RankRLS(alpha, **GAUSSIAN), X, y, qid, basis, held)
            precision = 1e-8 if width < 1e-8 else max(1e-8, 50 * np.finfo(float).eps / width**2)
            np.testing.assert_allclose(found[held, k], expected, rtol=0, atol=precision * np.abs(expected).max())


def test_a_drawn_basis_is_drawn_once():
    X, y, qid, _ = draw(1)
    model = RankRLS(0.5, basis=10, random_state=3, **GAUSSIAN)
    basis = model.fit(X, y, qid=qid).basis_
    found = leave_query_out(model, X, y, qid)
    held = np.flatnonzero(qid == 2)
    expected = literal(RankRLS(0.5, **GAUSSIAN), X, y, qid, basis, held)
    np.testing.assert_allclose(found[held], expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("duplicated", [False, True])
def test_a_ranking_svm_turns_its_map_or_is_refitted(loss, duplicated):
    X, y, qid, basis = draw(3)
    if duplicated:
        X[basis[1]] = X[basis[0]]
    model = RankSVM(1.0, loss=loss, tol=1e-9, **GAUSSIAN)
    sets = [
        np.flatnonzero(qid == qid[basis[0]]),
        np.array([basis[1], basis[2]]),
        np.setdiff1d(np.arange(36), basis)[:2],
    ]
    found = holdout(clone(model).set_params(basis=basis), X, y, sets, qid=qid)
    for held, scores in zip(sets, found, strict=True):
        expected = literal(clone(model), X, y, qid, basis, held)
        np.testing.assert_allclose(scores, expected, atol=1e-4 * np.abs(expected).max())


def test_basis_items_may_be_kept_for_comparison():
    X, y, qid, basis = draw(2)
    queries = Queries.from_labels(qid, len(y))
    features = ReducedSet(Kernel("rbf", gamma=0.5), X, basis)
    graph = ScoredQueries(y[:, None], queries)
    scores, lost = leave_basis_out(features, graph, ItemSets.of_queries(queries), np.array([0.5]), keep_basis=True)
    assert not lost.any()
    held = next(iter(queries))
    kept = np.setdiff1d(np.arange(len(y)), held)
    Phi = features.rows(np.arange(len(y)))
    expected = Phi[held] @ RankRLS(0.5).fit(Phi[kept], y[kept], qid=qid[kept]).coef_
    np.testing.assert_allclose(scores[: len(held), 0, 0], expected, rtol=1e-8, atol=1e-10)


@pytest.mark.filterwarnings("ignore::kernelrank.errors.EmptyBasisWarning")
@pytest.mark.parametrize("model", [RankRLS(), RankRLS(ties="exclude"), RLS(), RankSVM(), RankSVM(loss="squared_hinge")])
def test_a_model_without_any_basis_item_is_zero(model):
    X, y, qid, _ = draw(0)
    model = clone(model).set_params(basis=[3, 5], **GAUSSIAN)
    whole, part = holdout(model, X, y, [[3, 4, 5], [4, 5]], qid=qid)
    np.testing.assert_array_equal(whole, 0.0)
    assert np.any(part != 0.0)
    pair = leave_pair_out(model, X, y, pairs=[[3, 5], [5, 3], [3, 4]], groups=np.arange(36))
    np.testing.assert_array_equal(pair.difference[:2], 0.0)
    assert pair.difference[2] != 0.0


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["drawn", "across", "plane", "near"])
@pytest.mark.parametrize("learner", [RankRLS, RLS])
def test_pairs_lose_their_basis_items(learner, kind, seed):
    X, y, _, basis = draw(seed, 24) if kind in ("drawn", "near") else singular(kind, seed)
    rng = np.random.default_rng(seed)
    if kind == "near":  # two basis items that nearly say the same
        X[basis[1]] = X[basis[0]] + 0.03
    one = np.zeros(len(y), dtype=int)
    Y = np.column_stack([y, X[:, 0]])
    options = GAUSSIAN if kind == "drawn" or seed == 0 else {"kernel": "poly", "degree": 2, "gamma": 0.1}
    every = np.array([(i, j) for i in range(len(y)) for j in range(i) if y[i] != y[j]])
    inside = np.isin(every, basis)
    chosen = np.concatenate([rng.permutation(every[inside.sum(axis=1) == n])[:5] for n in range(3)])
    found = leave_pair_out(learner(basis=basis, **options), X, Y, pairs=chosen, alphas=ALPHAS)
    for k, alpha in enumerate(ALPHAS):
        for output in range(2):
            expected = np.array(
                [
                    np.subtract(
                        *literal(_without_queries(learner(alpha, **options)), X, Y[:, output], one, basis, pair)
                    )
                    for pair in chosen
                ]
            )
            error = np.abs(found.difference[:, output, k] - expected).max()
            assert error <= 1e-8 * max(np.abs(expected).max(), 1e-3 / alpha)
    all_pairs = leave_pair_out(learner(basis=basis, **options), X, y, alphas=ALPHAS)
    place = {pair: n for n, pair in enumerate(zip(all_pairs.first, all_pairs.second, strict=True))}
    for (i, j), difference in zip(chosen, found.difference[:, 0], strict=True):
        sign, key = (1.0, (i, j)) if y[i] > y[j] else (-1.0, (j, i))
        np.testing.assert_allclose(sign * all_pairs.difference[place[key]], difference, rtol=1e-6, atol=1e-9)


def _without_queries(model):
    """Let a model that knows no queries be called as one that does."""
    fit = model.fit
    model.fit = lambda X, y, qid: fit(X, y)
    return model


@pytest.mark.filterwarnings("ignore::kernelrank.errors.EmptyBasisWarning")
def test_pairs_of_a_tiny_or_whole_basis():
    X, y, _, _ = draw(0, 12)
    for basis in ([3, 5], [3, 5, 7], range(12)):
        pairs = np.array([[3, 5], [5, 0], [1, 2]])
        found = leave_pair_out(RankRLS(basis=list(basis), **GAUSSIAN), X, y, pairs=pairs).difference
        for pair, difference in zip(pairs, found, strict=True):
            expected = literal(RankRLS(**GAUSSIAN), X, y, np.zeros(12, dtype=int), np.array(basis), pair)
            np.testing.assert_allclose(difference, expected[0] - expected[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("learner", [RankRLS, RLS])
def test_a_linear_basis_far_from_the_origin_keeps_its_digits(learner):
    """A basis that spans all columns, with and without the pair, is the linear kernel without a basis."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((18, 4)) + 1000.0
        y = (X - 1000.0) @ rng.standard_normal(4) + rng.standard_normal(18)
        pairs = np.array([[0, 1], [2, 17]])
        plain, basis = learner(4.0), learner(4.0, basis=np.arange(0, 18, 2))
        spread = np.ptp(plain.fit(X, y).predict(X))
        np.testing.assert_allclose(basis.fit(X, y).predict(X), plain.predict(X), rtol=0, atol=2e-9 * spread)
        found, expected = (leave_pair_out(model, X, y, pairs=pairs).difference for model in (basis, plain))
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-9 * spread)
        sets = [np.array([0, 3, 4])]
        found, expected = (holdout(model, X, y, sets)[0] for model in (basis, plain))
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-9 * spread)
