"""Relative scores: cost (22), every pair in a query weighted by one over its squared magnitude."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from kernelrank.arrays import (
    Float,
    Index,
    Matrix,
    Sparse,
    as_columns,
    blocks,
    is_sparse,
    largest_value,
    weighted_squares,
)
from kernelrank.comparisons.factorised import FactorisedComparisons
from kernelrank.comparisons.query_shift import shift_queries
from kernelrank.comparisons.query_weights import QueryWeight, pair_weight
from kernelrank.comparisons.scored_comparisons import ScoredComparisons
from kernelrank.queries import Queries

__all__ = ["RelativeScores"]

STORED_PAIRS = 2 * 10**7
"""Up to this many entries the Laplacian is kept as a sparse matrix; beyond it, its rows are made anew each time."""

ROW_BYTES = 2**26
"""The size of a block of Laplacian rows."""


class RelativeScores(ScoredComparisons, FactorisedComparisons):
    """All pairs of different scores in each query, ``Σ (y_i - y_j - (f_i - f_j))² / (y_i - y_j)²``.

    ``L_ij = -c w_i w_j / (y_i - y_j)²`` is dense inside a query and has no root in closed form.

    Parameters
    ----------
    scores : ndarray, shape (m, 1)
        The scores.
    queries : Queries
        Which items belong together.
    weight : ndarray, shape (m,), optional
        Item weights; the pair (i, j) weighs ``w_i w_j``.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        What counts the same.

    Notes
    -----
    O(Σ n_q²) time for each product, and as much memory while that is below 2·10⁷ entries; O(m) memory beyond.

    Examples
    --------
    >>> import numpy as np
    >>> RelativeScores(np.array([[2.0], [0.0]]), Queries.from_labels(None, 2)).target().ravel()
    array([ 0.5, -0.5])
    """

    queries: Queries

    def __init__(
        self,
        scores: Float,
        queries: Queries,
        *,
        weight: Float | None = None,
        query_weight: QueryWeight = "pairs",
    ) -> None:
        super().__init__(scores, queries, weight=weight)
        self.query_weight: QueryWeight = query_weight
        total: Float = np.bincount(queries.codes, weights=self.weight, minlength=len(queries)).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # whoever solves the problem checks its range
            counted = [self._count_pairs(items) for items in queries]
            pairs, tied = np.array(counted, dtype=np.float64).reshape(-1, 2).T
            self._c = pair_weight(query_weight, total, tied)
        self.n_pairs = int(pairs.sum())
        self.n_idle_queries = int((pairs == 0).sum())

    @property
    def pair_weights(self) -> Float:
        """``c_q``, which each pair divides by its squared difference."""
        return self._c

    @property
    def options(self) -> dict[str, Any]:
        """The weight of queries."""
        return {"query_weight": self.query_weight}

    def overflow(self) -> str | None:
        """Return whether differences of scores have no squares, by which pairs are divided."""
        largest, own = 2.0 * self.largest_magnitude(), largest_value(self.weight)
        degree = float(np.max(self.diagonal(), initial=0.0))
        overflows = not math.isfinite(degree) and math.isfinite(own * own * self.n_items)
        if math.isfinite(largest * largest) and not overflows:
            return None
        return (
            "cost='relative' divides by the squared differences of scores, and some in y are too large or too small "
            "for a float. Scale y, or round scores that are meant to be tied"
        )

    def _count_pairs(self, items: Index) -> tuple[int, float]:
        """Return the number of pairs of a query, and ``Σ_g W_g²`` over its score levels."""
        items = items[self.weight[items] > 0]
        _, codes, sizes = np.unique(self.scores[items, 0], return_inverse=True, return_counts=True)
        level_weight = np.bincount(codes, weights=self.weight[items])
        return (len(items) ** 2 - int((sizes**2).sum())) // 2, float((level_weight**2).sum())

    def _rows(self) -> Iterator[tuple[Index, Index, Float, Float]]:
        """Yield ``rows, items, A, Delta``: weights and score differences of some rows with all items of their query."""
        y = self.scores[:, 0]
        for q, items in enumerate(self.queries):
            for part in blocks(len(items), 8 * len(items), ROW_BYTES):
                rows = items[part]
                difference = y[rows][:, None] - y[items]
                weight = self._c[q] * self.weight[rows][:, None] * self.weight[items]
                squares = np.where(difference == 0.0, np.inf, difference**2)
                yield rows, items, weight / squares, difference

    @cached_property
    def _adjacency(self) -> Sparse | None:
        """The adjacency matrix as a sparse one, or None when it would be too large to keep."""
        if int((self.queries.sizes**2).sum()) > STORED_PAIRS:
            return None
        parts = [
            (np.repeat(rows, len(items)), np.tile(items, len(rows)), A.ravel()) for rows, items, A, _ in self._rows()
        ]
        row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
        return sparse.coo_array((value, (row, column)), shape=(self.n_items, self.n_items)).tocsr()

    @cached_property
    def _degree_and_target(self) -> tuple[Float, Float]:
        degree, target = np.zeros(self.n_items), np.zeros(self.n_items)
        for rows, _, A, difference in self._rows():
            degree[rows] = A.sum(axis=1)
            target[rows] = (A * difference).sum(axis=1)
        return degree, target

    def apply(self, V: Float) -> Float:
        """Return ``L V``."""
        columns = as_columns(V)
        degree, _ = self._degree_and_target
        means = np.stack([columns[items].mean(axis=0) for items in self.queries])
        U = columns - means[self.queries.codes]
        product: Float = degree[:, None] * U
        if self._adjacency is not None:
            product -= self._adjacency @ U
        else:
            for rows, items, A, _ in self._rows():
                product[rows] -= A @ U[items]
        return product.reshape(V.shape)

    def target(self) -> Float:
        """Return ``(M N)_i = Σ_j c w_i w_j / (y_i - y_j)``."""
        return as_columns(self._degree_and_target[1])

    def diagonal(self) -> Float:
        """Return the degrees."""
        return self._degree_and_target[0]

    def shifted_features(self, Phi: Matrix) -> Matrix:
        """Take the means of a sparse matrix away where whole queries store a column: O(nnz) time and memory."""
        return shift_queries(Phi, self.queries, self.weight) if is_sparse(Phi) else Phi

    def gram_diagonal(self, Phi: Matrix) -> Float:
        """Return the diagonal of ``Φᵀ D Φ``, which is as good for scaling and costs no pairs."""
        return weighted_squares(self.diagonal(), Phi)

    def submatrix(self, items: Index) -> Float:
        """Return L restricted to sets of items; O(u²) time for each set."""
        codes, y, weight = self.queries.codes[items], self.scores[items, 0], self.weight[items]
        difference = y[..., :, None] - y[..., None, :]
        apart = (codes[..., :, None] != codes[..., None, :]) | (difference == 0.0)
        products = self._c[codes][..., None] * weight[..., :, None] * weight[..., None, :]
        block: Float = -products / np.where(apart, np.inf, difference) ** 2
        diagonal = np.arange(items.shape[-1])
        block[..., diagonal, diagonal] = self.diagonal()[items]
        return block

    def _dense_blocks(self) -> Iterator[tuple[Index, Float]]:
        y = self.scores[:, 0]
        for q, items in enumerate(self.queries):
            difference = y[items][:, None] - y[items]
            squares = np.where(difference == 0.0, np.inf, difference**2)
            yield items, self._c[q] * self.weight[items][:, None] * self.weight[items] / squares

    def root_target(self) -> Float:
        """Return ``T = C y``, from differences: row k of U is the item k less a mean of later ones."""
        y = self.magnitudes[:, 0]
        parts = [np.zeros(0)]
        for factor in self._factors:
            scores = y[factor.items]
            parts.append(np.einsum("ij,ij->i", factor.U, scores - scores[factor.pivots][:, None]))
        return as_columns(np.concatenate(parts))
