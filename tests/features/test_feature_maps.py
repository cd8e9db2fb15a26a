from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredQueries
from kernelrank.comparisons.costs import GRAPH_OF_COST
from kernelrank.errors import InvalidInputError
from kernelrank.features import ExplicitFeatures, FullKernel, ReducedSet, choose_basis, kernel_scores
from kernelrank.features.kernels import KernelMap
from kernelrank.kernels import Kernel

rng = np.random.default_rng(0)
X = rng.standard_normal((9, 4))
GAUSSIAN = Kernel("rbf", gamma=0.4)
K = GAUSSIAN.matrix(X)
GRAPH = ScoredQueries(rng.standard_normal((9, 1)), Queries.from_labels([0, 1, 0, 1, 0, 2, 2, 0, 1], 9))
C = GRAPH.centre(np.eye(9))
V = rng.standard_normal((9, 2))

MAPS = {
    "columns": (ExplicitFeatures(X), X @ X.T),
    "sparse columns": (ExplicitFeatures(sparse.csr_array(X)), X @ X.T),
    "full kernel": (FullKernel(GAUSSIAN, X), K),
    "precomputed": (FullKernel(Kernel("precomputed"), K), K),
    "basis of all items": (ReducedSet(GAUSSIAN, X, np.arange(9)), K),
    "precomputed basis": (ReducedSet(Kernel("precomputed"), K, np.arange(9)), K),
}


@pytest.mark.parametrize("name", MAPS)
def test_every_map_has_its_kernel(name):
    features, expected = MAPS[name]
    np.testing.assert_allclose(features.kernel_multiply(V), expected @ V, atol=1e-10)
    np.testing.assert_allclose(features.centred_kernel(GRAPH), C @ expected @ C.T, atol=1e-9)


@pytest.mark.parametrize("name", MAPS)
def test_dual_coefficients_predict_the_kernel_times_themselves(name):
    features, expected = MAPS[name]
    items = K if "precomputed" in name else X
    np.testing.assert_allclose(features.predict(items, features.from_dual(V)), expected @ V, atol=1e-9)


@pytest.mark.parametrize("name", ["columns", "sparse columns", "basis of all items"])
def test_primal_coefficients_predict_the_features_times_themselves(name):
    features, _ = MAPS[name]
    w = np.random.default_rng(1).standard_normal((features.n_columns, 2))
    np.testing.assert_allclose(features.predict(X, features.from_primal(w)), features.multiply(w), atol=1e-7)


def test_a_reduced_set_is_the_nystrom_kernel():
    basis = np.array([7, 1, 4])
    features = ReducedSet(GAUSSIAN, X, basis)
    expected = K[:, basis] @ np.linalg.inv(K[np.ix_(basis, basis)]) @ K[basis]
    np.testing.assert_allclose(features.kernel_multiply(np.eye(9)), expected, atol=1e-12)


@pytest.mark.parametrize("cost", ["magnitude", "unit", "relative"])
@pytest.mark.parametrize("gamma", [0.001, 2.0])
def test_mapped_equations_are_those_of_the_features(gamma, cost):
    generator = np.random.default_rng(0)
    items, scores = generator.standard_normal((60, 3)), generator.standard_normal((60, 1))
    graph = GRAPH_OF_COST[cost](scores, Queries.from_labels(np.arange(60) % 3, 60))
    features = ReducedSet(Kernel("rbf", gamma), items, np.arange(8))
    gram, right = features.normal_equations(graph)
    # Nobody has asked for the features themselves, unless the basis is ill conditioned.
    assert ("X" in vars(features)) == (gamma < 1.0)
    Phi = features.X
    np.testing.assert_allclose(gram, Phi.T @ graph.apply(Phi), rtol=1e-9, atol=1e-9 * np.abs(gram).max())
    np.testing.assert_allclose(right, Phi.T @ graph.target(), rtol=1e-9, atol=1e-9 * np.abs(right).max())
    again, _ = features.normal_equations(graph)
    np.testing.assert_allclose(again, gram, rtol=1e-9, atol=1e-9 * np.abs(gram).max())


@pytest.mark.parametrize(("weight", "scale"), [(0.0, 1.0), (1.0, 1e50)], ids=["singular", "large"])
def test_equations_are_not_mapped_where_that_loses_digits(weight, scale):
    """A basis item far from all others that is compared with none; kernels whose squares overflow."""
    generator = np.random.default_rng(0)
    items = np.vstack([generator.standard_normal((40, 2)), [[50.0, 0.0]]]) * scale
    everyone, weights = Queries.from_labels(None, 41), np.append(np.ones(40), weight)
    graph = ScoredQueries(generator.standard_normal((41, 1)), everyone, weight=weights)
    kernel = Kernel("rbf", 2.0) if scale == 1.0 else Kernel("poly", degree=2, gamma=1.0, coef0=0.0)
    features = ReducedSet(kernel, items, np.array([40, 0, 1]))
    gram, _ = features.normal_equations(graph)
    assert "X" in vars(features)
    assert np.all(np.isfinite(gram))


def test_a_basis_with_duplicated_items_loses_rank_and_nothing_else():
    twice = np.vstack([X, X[:3]])
    features = ReducedSet(GAUSSIAN, twice, np.array([0, 1, 2, 9, 10, 11]))
    expected = ReducedSet(GAUSSIAN, twice, np.array([0, 1, 2])).kernel_multiply(np.eye(12))
    np.testing.assert_allclose(features.kernel_multiply(np.eye(12)), expected, atol=1e-8)


def test_scores_are_computed_in_blocks(monkeypatch):
    whole = kernel_scores(GAUSSIAN, X, X, V)
    monkeypatch.setattr("kernelrank.features.kernels.SCORE_BYTES", 1)
    np.testing.assert_allclose(kernel_scores(GAUSSIAN, X, X, V), whole, rtol=1e-12)


def test_wide_data_is_centred_in_blocks_of_columns(monkeypatch):
    monkeypatch.setattr("kernelrank.features.map.COLUMN_BYTES", 8 * 9 * 3)
    np.testing.assert_allclose(ExplicitFeatures(X).centred_kernel(GRAPH), C @ X @ X.T @ C.T, atol=1e-12)


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (10, "expected basis between 1 and .*; got 10"),
        ([], "a non-empty list"),
        ([0.5], "item numbers"),
        ([0, 9], "basis has the item 9, but the items go from 0 to 8"),
        ([-1], "basis has the item -1"),
        ([3, 3], "names an item twice"),
    ],
)
def test_a_bad_basis_is_named(basis, message):
    with pytest.raises(InvalidInputError, match=message):
        choose_basis(basis if isinstance(basis, int) else np.array(basis), 9, np.random.RandomState(0))


def test_a_drawn_basis_is_repeatable_and_without_repetition():
    drawn = choose_basis(5, 9, np.random.RandomState(3))
    assert len(np.unique(drawn)) == 5
    np.testing.assert_array_equal(drawn, choose_basis(5, 9, np.random.RandomState(3)))


def test_basis_items_leave_the_map_itself():
    basis = np.array([7, 1, 4, 0, 8])
    features = ReducedSet(GAUSSIAN, X, basis)
    left = np.array([1, 0, 8])
    smaller = features.map.without(np.array([0, 2]))(features.rows(np.arange(9)))
    assert smaller.shape == (9, 3)
    expected = K[:, left] @ np.linalg.inv(K[np.ix_(left, left)]) @ K[left]
    np.testing.assert_allclose(smaller @ smaller.T, expected, atol=1e-12)


@pytest.mark.parametrize("places", [[0], [3], [0, 3], [0, 1], [0, 3, 4], [4, 5], [0, 1, 2, 3, 4, 5]])
def test_duplicates_stand_in_for_basis_items_that_leave(places):
    twice = np.vstack([X, X[0], X[1], X[1]])
    basis = np.array([0, 1, 2, 9, 10, 11])
    features = ReducedSet(GAUSSIAN, twice, basis)
    assert features.map.rank == 3
    kernel = GAUSSIAN.matrix(twice)
    left = np.delete(basis, places)
    smaller = features.map.without(np.array(places))(features.rows(np.arange(12)))
    expected = kernel[:, left] @ np.linalg.pinv(kernel[np.ix_(left, left)], rcond=1e-12) @ kernel[left]
    assert smaller.shape == (12, len(np.unique(twice[left], axis=0)))
    np.testing.assert_allclose(smaller @ smaller.T, expected, atol=1e-12)


@pytest.mark.parametrize(("share", "columns"), [(1e-3, 2), (3e-8, None), (1e-12, 1)])
def test_what_may_be_rounding_is_left_open(share, columns):
    other = np.sqrt(1 - share**2)
    close = KernelMap.of(GAUSSIAN, np.array([[1.0, 0.0, share], [0.0, 1.0, other], [share, other, 1.0]]))
    assert close.taken.tolist() == [0, 1]
    # The third item has this share of the first, so that it may stand in for it, or not.
    turn = close.without(np.array([0]))
    assert (None if turn is None else turn(np.eye(2)).shape[1]) == columns
    assert close.without(np.array([1]))(np.eye(2)).shape[1] == 2


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
def test_items_with_the_same_row_have_the_same_score(name, make):
    generator = np.random.default_rng(0)
    basis, coefficients = generator.standard_normal((37, 5)), generator.standard_normal((37, 2))
    for size in range(2, 40):
        kind = generator.integers(0, 8, size=size)
        items = basis[kind]
        scores = kernel_scores(Kernel(name), make(items), make(basis), coefficients)
        assert len(np.unique(scores, axis=0)) == len(np.unique(kind))
        expected = Kernel(name).matrix(items, basis) @ coefficients
        np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-12)
