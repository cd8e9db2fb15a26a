"""The laws of comparison graphs and of solvers, for the tests of classes that you write yourself.

Inherit a test class from `ComparisonLaws`, `GraphLaws` or `SolverLaws` and define one or two methods: pytest then runs
every law on your class. ``docs/extend`` shows both. Needs pytest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernelrank.base.arrays import Float
from kernelrank.base.labels import Queries
from kernelrank.comparisons import Comparisons, compare_scores
from kernelrank.errors import MissingExtraError
from kernelrank.features import ExplicitFeatures
from kernelrank.solvers import Solver

try:
    import pytest
except ImportError:
    raise MissingExtraError("pytest", "test") from None

__all__ = ["ComparisonLaws", "Edges", "GraphLaws", "SolverLaws"]


@dataclass(frozen=True)
class Edges:
    """Every pair of a graph, written out: item h should exceed item j by z, and the squared error has the weight w2.

    Parameters
    ----------
    m : int
        The number of items.
    h, j : ndarray of int, shape (l,)
    z, w2 : ndarray, shape (l,)

    Examples
    --------
    >>> Edges(3, np.array([0]), np.array([2]), np.array([1.0]), np.array([4.0])).laplacian()
    array([[ 4.,  0., -4.],
           [ 0.,  0.,  0.],
           [-4.,  0.,  4.]])
    """

    m: int
    h: np.ndarray
    j: np.ndarray
    z: np.ndarray
    w2: np.ndarray

    def incidence(self) -> Float:
        """Return M (m, l): column i has +w at the preferred item and -w at the other; Paper I, eq. 12."""
        M = np.zeros((self.m, len(self.h)))
        M[self.h, np.arange(len(self.h))] = np.sqrt(self.w2)
        M[self.j, np.arange(len(self.h))] = -np.sqrt(self.w2)
        return M

    def laplacian(self) -> Float:
        """Return ``L = M Mᵀ``."""
        M = self.incidence()
        return M @ M.T

    def target(self) -> Float:
        """Return ``M N``."""
        found: Float = self.incidence() @ (np.sqrt(self.w2) * self.z)
        return found

    def summands(self) -> Float:
        """Return what the target is summed from, without signs: of this size are the numbers that are rounded."""
        found: Float = np.abs(self.incidence()) @ (np.sqrt(self.w2) * np.abs(self.z))
        return found

    def without(self, items: Any) -> Edges:
        """Return the induced graph on the other items, renumbered."""
        kept = np.setdiff1d(np.arange(self.m), items)
        number = {int(old): new for new, old in enumerate(kept)}
        rows = [e for e in range(len(self.h)) if self.h[e] in number and self.j[e] in number]
        h = np.array([number[int(self.h[e])] for e in rows], dtype=int)
        j = np.array([number[int(self.j[e])] for e in rows], dtype=int)
        return Edges(len(kept), h, j, self.z[rows], self.w2[rows])


class GraphLaws:
    """What holds for every comparison graph: a test class defines `graph` and `edges`, and inherits the laws."""

    exact_gram_diagonal = True
    """Whether `gram_diagonal` is exact; set it to False for a graph that only estimates it."""

    blocks_of: str | None = None
    """The module that works in blocks of BLOCK_BYTES, so that small blocks are tested too."""

    def graph(self, seed: int) -> Comparisons:
        """Return a random graph of your kind."""
        raise NotImplementedError

    def edges(self, seed: int) -> Edges:
        """Return the same graph with every pair written out."""
        raise NotImplementedError

    def laplacian(self, seed: int) -> Float:
        """Return the dense Laplacian; overwrite it where the graph does not consist of pairs."""
        return self.edges(seed).laplacian()

    def target(self, seed: int) -> Float:
        """Return ``M N``; overwrite it where the graph does not consist of pairs."""
        return self.edges(seed).target()

    def induced(self, seed: int, items: Any) -> Float:
        """Return the dense Laplacian without some items."""
        return self.edges(seed).without(items).laplacian()

    @pytest.fixture(params=range(6))
    def seed(self, request: pytest.FixtureRequest) -> int:
        """Draw six graphs."""
        return int(request.param)

    def features(self, seed: int, m: int, n: int = 4, offset: float = 0.0) -> Float:
        """Return random features."""
        return np.random.default_rng(seed + 100).standard_normal((m, n)) + offset

    def test_apply_is_the_dense_laplacian(self, seed: int) -> None:
        graph, L = self.graph(seed), self.laplacian(seed)
        V = self.features(seed, graph.n_items, 3)
        scale = max(1.0, np.abs(L).max())
        np.testing.assert_allclose(graph.apply(V), L @ V, atol=1e-12 * scale)
        np.testing.assert_allclose(graph.apply(V[:, 0]), L @ V[:, 0], atol=1e-12 * scale)

    def test_laplacian_is_symmetric_and_semidefinite(self, seed: int) -> None:
        L = self.graph(seed).apply(np.eye(self.graph(seed).n_items))
        scale = max(1.0, np.abs(L).max())
        np.testing.assert_allclose(L, L.T, atol=1e-12 * scale)
        assert np.linalg.eigvalsh((L + L.T) / 2)[0] >= -1e-11 * scale

    def test_target(self, seed: int) -> None:
        expected = self.target(seed)
        found = self.graph(seed).target()
        assert found.ndim == 2
        np.testing.assert_allclose(found[:, 0], expected, atol=1e-12 * max(1.0, np.abs(expected).max()))

    def test_diagonal(self, seed: int) -> None:
        L = self.laplacian(seed)
        np.testing.assert_allclose(self.graph(seed).diagonal(), np.diag(L), atol=1e-12 * max(1.0, np.abs(L).max()))

    def test_root_times_its_transpose_is_the_laplacian(self, seed: int) -> None:
        graph, L = self.graph(seed), self.laplacian(seed)
        C = graph.centre(np.eye(graph.n_items))
        scale = max(1.0, np.abs(L).max())
        np.testing.assert_allclose(C.T @ C, L, atol=1e-12 * scale)
        np.testing.assert_allclose(graph.centre_transpose(np.eye(len(C))), C.T, atol=1e-12 * scale)
        np.testing.assert_allclose(graph.centre(np.eye(graph.n_items)[:, 0]), C[:, 0], atol=1e-12 * scale)

    def test_gram_of_the_root_between_weights(self, seed: int) -> None:
        graph, rng = self.graph(seed), np.random.default_rng(seed)
        X = self.features(seed, graph.n_items, 7) * (rng.random((graph.n_items, 7)) < 0.5)
        C = graph.centre(np.eye(graph.n_items))
        weight = rng.exponential(size=len(C))
        weight[0] = 0.0
        expected = X.T @ C.T @ (weight[:, None] * C) @ X
        found = graph.root_gram(sparse.csr_array(X), weight)
        np.testing.assert_allclose(found, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))

    def test_root_target(self, seed: int) -> None:
        graph, expected = self.graph(seed), self.target(seed)
        found = graph.centre_transpose(graph.root_target())[:, 0]
        np.testing.assert_allclose(found, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))

    def test_centre_kernel(self, seed: int) -> None:
        graph = self.graph(seed)
        X = self.features(seed, graph.n_items)
        K = X @ X.T
        C = graph.centre(np.eye(graph.n_items))
        expected = C @ K @ C.T
        found = graph.centre_kernel(K.copy())
        np.testing.assert_allclose(found, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))

    @pytest.mark.parametrize("form", ["dense", "fortran", "float32", "csr_matrix", "csr_array", "csc_array"])
    @pytest.mark.parametrize("block_bytes", [2**20, 200])
    def test_gram(self, seed: int, form: str, block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
        if self.blocks_of is not None:
            monkeypatch.setattr(f"{self.blocks_of}.BLOCK_BYTES", block_bytes)
        graph, L = self.graph(seed), self.laplacian(seed)
        X = self.features(seed, graph.n_items).astype(np.float32).astype(np.float64)
        expected = X.T @ L @ X
        given = {
            "dense": X,
            "fortran": np.asfortranarray(X),
            "float32": X.astype(np.float32),
            "csr_matrix": sparse.csr_matrix(X),
            "csr_array": sparse.csr_array(X),
            "csc_array": sparse.csc_array(X),
        }[form]
        found = graph.gram(given)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))
        if self.exact_gram_diagonal:
            diagonal = graph.gram_diagonal(given)
            np.testing.assert_allclose(diagonal, np.diag(expected), atol=1e-11 * max(1.0, np.abs(expected).max()))

    def test_without_is_the_induced_graph(self, seed: int) -> None:
        graph, rng = self.graph(seed), np.random.default_rng(seed)
        items = rng.choice(graph.n_items, size=graph.n_items // 3, replace=False)
        kept = np.setdiff1d(np.arange(graph.n_items), items)
        smaller = graph.without(items)
        L = self.induced(seed, items)
        assert smaller.n_items == len(kept)
        np.testing.assert_allclose(smaller.apply(np.eye(len(kept))), L, atol=1e-11 * max(1.0, np.abs(L).max()))


class ComparisonLaws(GraphLaws):
    """What also holds when items are compared with each other: a constant is not seen."""

    def test_a_constant_is_not_seen(self, seed: int) -> None:
        graph = self.graph(seed)
        scale = max(1.0, np.abs(graph.diagonal()).max())
        np.testing.assert_allclose(graph.apply(np.full(graph.n_items, 1e6)), 0.0, atol=1e-8 * scale)

    def test_gram_of_features_far_from_zero(self, seed: int) -> None:
        graph = self.graph(seed)
        far = self.features(seed, graph.n_items) + 2.0**20
        expected = graph.gram(far - 2.0**20)
        np.testing.assert_allclose(graph.gram(far), expected, atol=1e-8 * max(1.0, np.abs(expected).max()))


class SolverLaws:
    """What holds for every solver of least squares: a test class defines `solver`, and inherits the laws."""

    tolerance = 1e-8
    """The error that is allowed, relative to the largest coefficient."""

    def solver(self) -> Solver[Any]:
        """Return your solver."""
        raise NotImplementedError

    def problem(self, m: int, n: int, outputs: int = 1) -> tuple[Float, Comparisons]:
        """Return features and a graph of random scores in queries."""
        rng = np.random.default_rng(m + n)
        queries = Queries.from_labels(rng.integers(0, 3, m), m)
        scores = rng.integers(0, 4, (m, outputs)).astype(float)
        [(_, graph)] = compare_scores(scores, queries, cost="magnitude", ties="include", query_weight="pairs")
        return rng.standard_normal((m, n)), graph

    def minimum(self, X: Float, graph: Comparisons, alpha: float) -> Float:
        """Return the coefficients from the dense system ``(Xᵀ L X + alpha I) w = Xᵀ M N``."""
        A = X.T @ graph.apply(np.eye(len(X))) @ X + alpha * np.eye(X.shape[1])
        return np.asarray(np.linalg.solve(A, X.T @ graph.target()))

    @pytest.mark.parametrize(("m", "n", "outputs"), [(30, 4, 1), (30, 4, 3), (12, 25, 1), (12, 25, 2)])
    def test_one_preparation_serves_every_alpha(self, m: int, n: int, outputs: int) -> None:
        X, graph = self.problem(m, n, outputs)
        solver = self.solver()
        state = solver.prepare(ExplicitFeatures(X), graph)
        for alpha in (1e3, 2.0**-6, 1.0):
            expected = self.minimum(X, graph, alpha)
            found = solver.solve(state, alpha).coefficients
            np.testing.assert_allclose(found, expected, atol=self.tolerance * np.abs(expected).max())

    def test_sparse_features_are_dense_features(self) -> None:
        X, graph = self.problem(20, 6)
        X = np.where(X > 0.5, X, 0.0)
        solver = self.solver()
        expected = self.minimum(X, graph, 1.0)
        found = solver.solve(solver.prepare(ExplicitFeatures(sparse.csr_array(X)), graph), 1.0).coefficients
        np.testing.assert_allclose(found, expected, atol=self.tolerance * np.abs(expected).max())

    def test_duplicated_columns_share_their_coefficient(self) -> None:
        X, graph = self.problem(20, 3)
        solver = self.solver()
        found = solver.solve(solver.prepare(ExplicitFeatures(np.hstack([X, X])), graph), 0.5).coefficients
        np.testing.assert_allclose(found[:3], found[3:], atol=self.tolerance * np.abs(found).max())
