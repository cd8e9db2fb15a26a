"""The laws of comparison graphs: a new kind gives two methods, `graph` and `edges`, and inherits them all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

SEEDS = range(6)
BLOCKS = (2**20, 200)


class Laws:
    """What holds for every kind of comparisons."""

    exact_gram_diagonal = True
    blocks_of = "kernelrank.comparisons.scored"  # the module whose block size is changed

    def graph(self, seed):
        """Return a random graph of this kind."""
        raise NotImplementedError

    def edges(self, seed):
        """Return the same graph with every pair written out."""
        raise NotImplementedError

    def laplacian(self, seed):
        return self.edges(seed).laplacian()

    def target(self, seed):
        return self.edges(seed).target()

    @pytest.fixture(params=SEEDS)
    def seed(self, request):
        return request.param

    def features(self, seed, m, n=4, offset=0.0):
        return np.random.default_rng(seed + 100).standard_normal((m, n)) + offset

    def test_apply_is_the_dense_laplacian(self, seed):
        graph, L = self.graph(seed), self.laplacian(seed)
        V = self.features(seed, graph.n_items, 3)
        scale = max(1.0, np.abs(L).max())
        np.testing.assert_allclose(graph.apply(V), L @ V, atol=1e-12 * scale)
        np.testing.assert_allclose(graph.apply(V[:, 0]), L @ V[:, 0], atol=1e-12 * scale)

    def test_laplacian_is_symmetric_and_semidefinite(self, seed):
        L = self.graph(seed).apply(np.eye(self.graph(seed).n_items))
        scale = max(1.0, np.abs(L).max())
        np.testing.assert_allclose(L, L.T, atol=1e-12 * scale)
        assert np.linalg.eigvalsh((L + L.T) / 2)[0] >= -1e-11 * scale

    def test_target(self, seed):
        expected = self.target(seed)
        found = self.graph(seed).target()
        assert found.ndim == 2
        np.testing.assert_allclose(found[:, 0], expected, atol=1e-12 * max(1.0, np.abs(expected).max()))

    def test_diagonal(self, seed):
        L = self.laplacian(seed)
        np.testing.assert_allclose(self.graph(seed).diagonal(), np.diag(L), atol=1e-12 * max(1.0, np.abs(L).max()))

    def test_root_times_its_transpose_is_the_laplacian(self, seed):
        graph, L = self.graph(seed), self.laplacian(seed)
        C = graph.centre(np.eye(graph.n_items))
        scale = max(1.0, np.abs(L).max())
        np.testing.assert_allclose(C.T @ C, L, atol=1e-12 * scale)
        np.testing.assert_allclose(graph.centre_transpose(np.eye(len(C))), C.T, atol=1e-12 * scale)
        np.testing.assert_allclose(graph.centre(np.eye(graph.n_items)[:, 0]), C[:, 0], atol=1e-12 * scale)

    def test_gram_of_the_root_between_weights(self, seed):
        graph, rng = self.graph(seed), np.random.default_rng(seed)
        X = self.features(seed, graph.n_items, 7) * (rng.random((graph.n_items, 7)) < 0.5)
        C = graph.centre(np.eye(graph.n_items))
        weight = rng.exponential(size=len(C))
        weight[0] = 0.0
        expected = X.T @ C.T @ (weight[:, None] * C) @ X
        found = graph.root_gram(sparse.csr_array(X), weight)
        np.testing.assert_allclose(found, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))

    def test_root_target(self, seed):
        graph, expected = self.graph(seed), self.target(seed)
        found = graph.centre_transpose(graph.root_target())[:, 0]
        np.testing.assert_allclose(found, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))

    def test_centre_kernel(self, seed):
        graph = self.graph(seed)
        X = self.features(seed, graph.n_items)
        K = X @ X.T
        C = graph.centre(np.eye(graph.n_items))
        expected = C @ K @ C.T
        found = graph.centre_kernel(K.copy())
        np.testing.assert_allclose(found, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))

    @pytest.mark.parametrize("form", ["dense", "fortran", "float32", "csr_matrix", "csr_array", "csc_array"])
    @pytest.mark.parametrize("block_bytes", BLOCKS)
    def test_gram(self, seed, form, block_bytes, monkeypatch):
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

    def test_without_is_the_induced_graph(self, seed):
        graph, rng = self.graph(seed), np.random.default_rng(seed)
        items = rng.choice(graph.n_items, size=graph.n_items // 3, replace=False)
        kept = np.setdiff1d(np.arange(graph.n_items), items)
        smaller = graph.without(items)
        L = self.induced(seed, items)
        assert smaller.n_items == len(kept)
        np.testing.assert_allclose(smaller.apply(np.eye(len(kept))), L, atol=1e-11 * max(1.0, np.abs(L).max()))

    def induced(self, seed, items):
        return self.edges(seed).without(items).laplacian()


class ComparisonLaws(Laws):
    """What also holds when items are compared with each other: a constant is not seen."""

    def test_a_constant_is_not_seen(self, seed):
        graph = self.graph(seed)
        scale = max(1.0, np.abs(graph.diagonal()).max())
        np.testing.assert_allclose(graph.apply(np.full(graph.n_items, 1e6)), 0.0, atol=1e-8 * scale)

    def test_gram_of_features_far_from_zero(self, seed):
        graph = self.graph(seed)
        near = self.features(seed, graph.n_items)
        far = near + 2.0**20
        expected = graph.gram(far - 2.0**20)
        np.testing.assert_allclose(graph.gram(far), expected, atol=1e-8 * max(1.0, np.abs(expected).max()))
