"""Relative scores: cost (22), every pair in a query weighted by one over its squared magnitude."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from kernelrank.base.arrays import (
    Float,
    Index,
    Matrix,
    as_columns,
    blocks,
    dense_rows,
    is_sparse,
    largest_value,
    row_slices,
    weighted_squares,
)
from kernelrank.base.labels import Grouping, Queries
from kernelrank.comparisons.factorised import FactorisedComparisons
from kernelrank.comparisons.inverse_differences import InverseDifferences
from kernelrank.comparisons.query_shift import shift_queries
from kernelrank.comparisons.scored import QueryWeight, ScoredComparisons
from kernelrank.comparisons.scored_queries import ScoredQueries

__all__ = ["RelativeScores"]

STORED_PAIRS = 2 * 10**7
"""Up to this many entries inverse squares are kept; beyond it, they are made anew each time."""

ROW_BYTES = 2**24
"""The size of a block of inverse squares."""

COLUMN_BYTES = 2**26
"""The size of the columns of features that are multiplied by L at once."""


class RelativeScores(ScoredComparisons, FactorisedComparisons):
    """All pairs of different scores in each query, ``Σ (y_i - y_j - (f_i - f_j))² / (y_i - y_j)²``.

    ``L_ij = -c w_i w_j / (y_i - y_j)²`` is dense inside a query and has no root in closed form. But items with the same
    score have the same neighbours. With ``u_g`` the scores that occur in a query, ``W_g`` their weights, ``v_g`` the
    means of V over the items that have them, and ``a_g = Σ_h W_h / (u_g - u_h)²``,

        ``(L V)_i = c w_i [a_g (V_i - v_g) + a_g v_g - Σ_h W_h v_h / (u_g - u_h)²]``.

    Parameters
    ----------
    scores : ndarray, shape (m, 1)
        The scores.
    queries : Queries
        Which items belong together.
    weight : ndarray, shape (m,), optional
        Item weights; the pair (i, j) weighs ``w_i w_j``.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        Which units have equal weight.

    Notes
    -----
    For each column of a product O(n_q²) time for a query with n_q different scores, and O(n_q) for one with more than
    500, whose far scores are added up by interpolation, with an error below 1e-13 (`score_tree`). Memory O(m), and up
    to 2·10⁷ entries. A full kernel of up to 5,000 items needs the root, O(n_q³).

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
        same = ScoredQueries(scores, queries, weight=weight, ties="exclude", query_weight=query_weight)
        self._c, self.n_pairs, self.n_idle_queries = same.pair_weights, same.n_pairs, same.n_idle_queries
        with np.errstate(over="ignore", invalid="ignore"):  # whoever solves the problem checks its range
            levels = same.pair_levels()
        assert levels is not None
        self._level_bounds = np.concatenate([[0], np.cumsum(levels.n_levels)])
        codes = levels.levels + self._level_bounds[queries.codes]
        self._by_level = Grouping(codes, int(self._level_bounds[-1]), self.weight)

    @property
    def pair_weights(self) -> Float:
        """``c_q``, which each pair divides by its squared difference."""
        return self._c

    @property
    def options(self) -> dict[str, Any]:
        """The weight of queries."""
        return {"query_weight": self.query_weight}

    def overflow(self) -> str | None:
        """Return an error message if squared differences of scores, by which pairs are divided, overflow or vanish."""
        largest, own = 2.0 * self.largest_magnitude(), largest_value(self.weight)
        degree = float(np.max(self.diagonal(), initial=0.0))
        overflows = not math.isfinite(degree) and math.isfinite(own * own * self.n_items)
        if math.isfinite(largest * largest) and not overflows:
            return None
        return (
            "cost='relative' divides by the squared differences of scores, and some in y are too large or too small "
            "for a float. Scale y, or round scores that are meant to be tied"
        )

    @cached_property
    def _differences(self) -> InverseDifferences:
        """The scores that occur in each query."""
        scores = np.empty(self._by_level.count)
        scores[self._by_level.codes] = self.scores[:, 0]
        return InverseDifferences(scores, self._level_bounds, STORED_PAIRS, ROW_BYTES)

    @cached_property
    def _level_degree(self) -> Float:
        """``a_g = Σ_h W_h / (u_g - u_h)²``, the sum of the weights of an item's pairs but for ``c w_i``."""
        return self._differences.sums(as_columns(self._by_level.total), 2)

    @cached_property
    def _item_weight(self) -> Float:
        """``c w_i``."""
        return as_columns(self._c[self.queries.codes] * self.weight)

    @cached_property
    def _by_query(self) -> Grouping:
        return Grouping(self.queries.codes, self.n_queries, np.ones(self.n_items))

    def apply(self, V: Float) -> Float:
        """Return ``L V``."""
        U = self._by_query.subtract_means(as_columns(V))
        means, codes = self._by_level.means(U), self._by_level.codes
        between = self._level_degree * means - self._differences.sums(self._by_level.total[:, None] * means, 2)
        product: Float = self._level_degree[codes] * (U - means[codes]) + between[codes]
        return (self._item_weight * product).reshape(V.shape)

    def gram(self, Phi: Matrix) -> Float:
        """Return ``Φᵀ (L Φ)``, some columns of ``L Φ`` at a time."""
        Phi = self.shifted_features(Phi) if isinstance(Phi, np.ndarray) or is_sparse(Phi) else Phi[:]
        columns = Phi.tocsc() if is_sparse(Phi) else Phi
        n, means = Phi.shape[1], None if is_sparse(Phi) else self._by_query.means(np.asarray(Phi))
        total = np.zeros((n, n))
        for part in blocks(n, 8 * self.n_items, COLUMN_BYTES):
            product = self.apply(dense_rows(columns.T, part).T)
            if means is None:
                total[:, part] = Phi.T @ product
                continue
            for rows in row_slices(Phi):
                total[:, part] += (Phi[rows] - means[self.queries.codes[rows]]).T @ product[rows]
        return (total + total.T) / 2

    def target(self) -> Float:
        """Return ``(M N)_i = Σ_j c w_i w_j / (y_i - y_j)``."""
        sums = self._differences.sums(as_columns(self._by_level.total), 1)
        return np.asarray(self._item_weight * sums[self._by_level.codes])

    def diagonal(self) -> Float:
        """Return the degrees."""
        return np.asarray((self._item_weight * self._level_degree[self._by_level.codes])[:, 0])

    def shifted_features(self, Phi: Matrix) -> Matrix:
        """Subtract query means from sparse columns that all items of a query store: O(nnz) time and memory."""
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
