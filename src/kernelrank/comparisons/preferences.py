"""Explicit preferences: "a is better than b", with a magnitude and a weight, any number of times."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelrank.base.arrays import (
    Float,
    GramSum,
    Index,
    Matrix,
    Sparse,
    as_columns,
    blocks,
    is_sparse,
    largest_value,
    transpose_product,
    weighted_squares,
)
from kernelrank.base.labels import Queries
from kernelrank.comparisons.graph import COLUMNS, FactorisedComparisons, NamedValues
from kernelrank.comparisons.scatter import shift_queries


class PreferenceGraph(FactorisedComparisons):
    """A multigraph of l observed preferences over m items, ``Σ weight (magnitude - (f_h - f_j))²``.

    Repeated and contradicting preferences of one pair are folded into one entry of the adjacency matrix A, so
    ``L = diag(A 1 + Aᵀ 1) - A - Aᵀ`` has at most l entries above its diagonal.

    Parameters
    ----------
    n_items : int
        The number of items, m.
    pairs : ndarray of int, shape (l, 2)
        Item h of column 0 is preferred to item j of column 1.
    magnitude : ndarray, shape (l,)
        By how much.
    weight : ndarray, shape (l,)
        The weight of the squared error (``w²`` in the papers' notation).

    Notes
    -----
    O(l) time and memory to build; O((m + l) k) for a product with k columns.

    Examples
    --------
    >>> import numpy as np
    >>> graph = PreferenceGraph(3, np.array([[0, 1], [1, 0], [0, 2]]), magnitude=np.ones(3), weight=np.ones(3))
    >>> graph.target().ravel(), graph.apply(np.array([1.0, 0.0, 0.0]))
    (array([ 1.,  0., -1.]), array([ 3., -2., -1.]))
    """

    def __init__(self, n_items: int, pairs: Index, *, magnitude: Float, weight: Float) -> None:
        self.n_items = n_items
        self.n_pairs = len(pairs)
        self.pairs = pairs
        self.magnitude = magnitude
        self.weight = weight

    def listed_pairs(self) -> tuple[Index, Float]:
        """Return the preferences and their weights."""
        return self.pairs, self.weight

    def given(self) -> tuple[NamedValues, NamedValues]:
        """Return the magnitudes and the weights, by the names of the parameters of `fit_pairs`."""
        return ("magnitude", self.magnitude), ("weight", self.weight)

    def largest_magnitude(self) -> float:
        """Return the largest magnitude of a preference."""
        return largest_value(self.magnitude)

    @cached_property
    def _adjacency(self) -> Sparse:
        """A, strictly upper triangular, the weights of all preferences of a pair added up; no entry is zero."""
        small = np.int32 if self.n_items < 2**31 else np.int64
        low = np.minimum(self.pairs[:, 0], self.pairs[:, 1]).astype(small)
        high = np.maximum(self.pairs[:, 0], self.pairs[:, 1]).astype(small)
        adjacency = sparse.coo_array((self.weight, (low, high)), shape=(self.n_items, self.n_items)).tocsr()
        if not self.weight.all():
            adjacency.eliminate_zeros()
        return adjacency

    @cached_property
    def _laplacian(self) -> Sparse:
        """L, with both halves of the adjacency matrix."""
        return sparse.csr_array(sparse.diags_array(self._degree) - self._adjacency - self._adjacency.T)

    @property
    def sparse_laplacian(self) -> bool:
        """Whether few of all possible pairs are compared: a product of L and a square matrix then costs little."""
        return bool(32 * self._adjacency.nnz <= self.n_items**2)

    @cached_property
    def parts(self) -> Index:
        """The connected part of each item, shape (m,): no item is compared with one of another part."""
        return np.asarray(connected_components(self._adjacency, directed=False)[1], dtype=np.int64)

    @cached_property
    def _degree(self) -> Float:
        return self._count(0, self.weight) + self._count(1, self.weight)

    def _count(self, column: int, values: Float) -> Float:
        return np.bincount(self.pairs[:, column], weights=values, minlength=self.n_items).astype(np.float64)

    def apply(self, V: Float) -> Float:
        """Return ``L V``; the mean is subtracted first, which changes nothing but rounding errors."""
        product: Float = self._laplacian @ (as_columns(V) - as_columns(V).mean(axis=0))
        return product.reshape(V.shape)

    def target(self) -> Float:
        """Return ``M N``: the weighted wins minus the weighted losses of each item."""
        return as_columns(self._balance.copy())

    @cached_property
    def _balance(self) -> Float:
        weighted = self.weight * self.magnitude
        return self._count(0, weighted) - self._count(1, weighted)

    def diagonal(self) -> Float:
        """Return the degrees."""
        return self._degree

    def gram(self, Phi: Matrix) -> Float:
        """Accumulate ``Φᵀ L Φ = Φᵀ D Φ - (B + Bᵀ)`` with ``B = Φᵀ A Φ``.

        O(m n² + l n) time; memory n² and m × 32 numbers besides the graph.
        """
        if is_sparse(Phi):
            Phi = self.shifted_features(Phi)
            half = Phi.T @ (self._adjacency @ Phi)
            total = Phi.T @ (sparse.diags_array(self._degree) @ Phi) - half - half.T
            return np.asarray(total.todense(), dtype=np.float64)
        Phi = Phi if isinstance(Phi, np.ndarray) else Phi[:]  # neighbours may stand in any two rows
        n = Phi.shape[1]
        mean = Phi.mean(axis=0, dtype=np.float64)
        squares = GramSum(n)
        root = np.sqrt(self._degree)[:, None]
        for rows in blocks(self.n_items, 8 * n):
            squares.add((Phi[rows] - mean) * root[rows])
        total = squares.matrix()
        for start in range(0, n, COLUMNS):
            columns = slice(start, start + COLUMNS)
            product = self._adjacency @ np.ascontiguousarray(Phi[:, columns] - mean[columns])
            half = transpose_product(Phi, product) - np.outer(mean, product.sum(axis=0))
            total[:, columns] -= half
            total[columns] -= half.T
        return total

    def normal_equations(self, Phi: Matrix) -> tuple[Float, Float]:
        """Return ``Φᵀ L Φ`` and ``Φᵀ M N``."""
        return super().normal_equations(self.shifted_features(Phi))

    def shifted_features(self, Phi: Matrix) -> Matrix:
        """Subtract the means of sparse columns that all items store: O(nnz) time and memory."""
        everyone = Queries.from_labels(None, self.n_items)
        return shift_queries(Phi, everyone, np.ones(self.n_items)) if is_sparse(Phi) else Phi

    def gram_diagonal(self, Phi: Matrix) -> Float:
        """Return ``Σ_e weight (φ_hj - φ_kj)²`` for each column j, O(l · nnz / m)."""
        if not is_sparse(Phi):
            return super().gram_diagonal(Phi)
        shifted: Sparse = self.shifted_features(Phi)
        cross = np.asarray(shifted.multiply(self._adjacency @ shifted).sum(axis=0)).ravel()
        return np.maximum(weighted_squares(self._degree, shifted) - 2.0 * cross, 0.0)

    def without(self, items: Index) -> Self:
        """Drop some items and every preference that names one of them; the others keep their order."""
        number = np.full(self.n_items, -1, dtype=np.int64)
        kept = self._kept(items)
        number[kept] = np.arange(len(kept))
        pairs = number[self.pairs]
        edges = (pairs >= 0).all(axis=1)
        return type(self)(len(kept), pairs[edges], magnitude=self.magnitude[edges], weight=self.weight[edges])

    def without_pairs(self, held: Index) -> Self:
        """Drop some preferences; all items stay."""
        kept = np.delete(np.arange(self.n_pairs), held)
        return type(self)(self.n_items, self.pairs[kept], magnitude=self.magnitude[kept], weight=self.weight[kept])

    def _dense_blocks(self) -> Iterator[tuple[Index, Float]]:
        part = self.parts
        order = np.argsort(part, kind="stable").astype(np.int64)
        bounds = np.concatenate([[0], np.cumsum(np.bincount(part))])
        for start, stop in itertools.pairwise(bounds):
            if stop - start > 1:
                items = order[start:stop]
                upper = self._adjacency[items][:, items].toarray()
                yield items, upper + upper.T
