"""Relative scores: cost (22), every pair in a query weighted by one over its squared magnitude."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import chebvander

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
from kernelrank.comparisons.graph import FactorisedComparisons
from kernelrank.comparisons.scored import QueryWeight, ScoredComparisons, ScoredQueries

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
        self._by_query = Grouping(queries.codes, self.n_queries, np.ones(self.n_items))

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


# Inverse differences --------------------------------------------------------------------------------------------------
#
# Inverse differences: sums of ``1 / (u_g - u_h)ᵖ`` over the different scores of each query, without Python loops.
#
# Queries of nearly equal size are stacked, and a batch of small matrices is multiplied at once. A query with many
# different scores is cut into cells (`score_tree`): cells near each other are such matrices too, and those far from
# each other cost a constant time for each score.

LARGE = 512
"""Queries with more different scores have a tree."""


@dataclass(frozen=True)
class _Batch:
    """Sets of scores against sets of scores, as equally large matrices.

    Shapes: pairs (pairs, 2).

    pairs: Which set meets which, sorted by the first.
    """

    rows: Index
    columns: Index
    pairs: Index

    @property
    def entries(self) -> int:
        """The number of entries of all matrices."""
        return len(self.pairs) * int(self.rows.shape[1]) * int(self.columns.shape[1])


class InverseDifferences:
    """The scores that occur in each query.

    O(Σ min(n_q², n_q)) time for each column of a sum, where large queries have a constant of some hundreds; O(n) memory
    besides what is kept.

    Shapes: scores (n,), bounds (queries + 1,).
    """

    def __init__(self, scores: Float, bounds: Index, kept: int, block_bytes: int) -> None:
        self.scores = scores
        self.bounds = bounds
        self._block_bytes = block_bytes
        self._keep = sum(batch.entries for batch in self._batches) <= kept
        self._kept: dict[int, list[Float]] = {}

    @cached_property
    def _trees(self) -> list[tuple[int, ScoreTree]]:
        """The trees of large queries, and where their scores begin."""
        sizes = np.diff(self.bounds)
        return [
            (int(self.bounds[q]), ScoreTree(self.scores[self.bounds[q] : self.bounds[q + 1]]))
            for q in np.flatnonzero(sizes > LARGE)
        ]

    @cached_property
    def _batches(self) -> list[_Batch]:
        """Small queries by size, and the near cells of large ones."""
        starts, sizes, n = self.bounds[:-1], np.diff(self.bounds), len(self.scores)
        batches = []
        rounded = np.zeros(len(sizes), dtype=np.int64)
        for largest, multiple in ((LARGE, 32), (64, 8), (16, 1)):  # up to the one, filled up to a multiple of the other
            small = sizes <= largest
            rounded[small] = -(-sizes[small] // multiple) * multiple
        for size in np.unique(rounded[rounded > 1]):
            queries = np.flatnonzero(rounded == size)
            members = starts[queries, None] + np.arange(size)
            members = np.where(np.arange(size) < sizes[queries, None], members, n)
            batches.append(_Batch(members, members, np.arange(len(queries))[:, None].repeat(2, axis=1)))
        for start, tree in self._trees:
            cells = np.where(tree.cells < len(tree.scores), start + tree.cells, n)
            batches.append(_Batch(cells, cells, tree.near_pairs))
        return batches

    def _matrices(self, power: int) -> Iterator[tuple[_Batch, slice, Float]]:
        """Yield some pairs of a batch at a time, and their matrices."""
        kept = iter(self._kept.get(power, ()))
        made = []
        padded = np.append(self.scores, np.inf)
        for batch in self._batches:
            for part in blocks(len(batch.pairs), 8 * batch.entries // len(batch.pairs), self._block_bytes):
                matrix = next(kept, None)
                if matrix is None:
                    first, second = batch.pairs[part].T
                    matrix = padded[batch.rows[first]][:, :, None] - padded[batch.columns[second]][:, None, :]
                    matrix[matrix == 0.0] = np.inf
                    np.reciprocal(matrix if power == 1 else np.square(matrix, out=matrix), out=matrix)
                    if self._keep:
                        made.append(matrix)
                yield batch, part, matrix
        if made:
            self._kept[power] = made

    @np.errstate(all="ignore")  # whoever solves the problem checks its range
    def sums(self, V: Float, power: int) -> Float:
        """Return ``Σ_h V_h / (u_g - u_h)ᵖ`` over the other scores h of each query.

        Shapes: V (n, k); returns (n, k).
        """
        total = np.zeros((len(V) + 1, V.shape[1]))
        padded = np.vstack([V, np.zeros((1, V.shape[1]))])
        for batch, part, matrix in self._matrices(power):
            first, second = batch.pairs[part].T
            products = matrix @ padded[batch.columns[second]]
            starts = np.flatnonzero(np.diff(first, prepend=-1))
            if len(starts) < len(first):
                products = np.add.reduceat(products, starts, axis=0)
            total[batch.rows[first[starts]]] += products
        for start, tree in self._trees:
            stop = start + len(tree.scores)
            total[start:stop] += tree.far_sums(V[start:stop], power)
        return total[:-1]


# Score tree -----------------------------------------------------------------------------------------------------------
#
# A tree over sorted scores: sums of ``1 / (u_g - u_h)ᵖ`` between scores that are far apart, by interpolation.
#
# Scores are cut in halves, quarters and so on, until a cell has few of them. Two cells of one size are **far** if the
# gap between them is at least half the wider one. Between such cells ``1 / (s - t)ᵖ`` is smooth, and polynomials
# through n Chebyshev nodes in either cell stand for it:
#
#     ``1 / (s - t)ᵖ ≈ Σ_kl ℓ_k(s) ℓ_l(t) / (s_k - t_l)ᵖ``.
#
# Seen from the middle of a cell with half width h the nearest pole is at 2h, so the error of each term falls as
# ``(2 + √3)⁻ⁿ``. With 30 nodes rounding is all that is left, below 1e-13 of a sum of positive terms. So the weight of
# every pair is right up to rounding, and with it the Laplacian in every direction. Cells that are not far, neighbours
# above all, are left to be added up term by term, however near their scores are.
#
# The sums go up the tree (moments of cells at their nodes, from those of their halves), across (from cell to far cell),
# and down again: O(n) time for n scores, and a constant of some hundreds. It is the fast multipole method in one
# dimension, with interpolation in place of expansions [FD09]_.
#
# .. [FD09] Fong and Darve (2009). The black-box fast multipole method. Journal of Computational Physics 228(23).

NODES = 30
"""The number of Chebyshev nodes of a cell."""

LEAF = 64
"""The largest number of scores in a cell that is not cut."""

POINTS = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
"""The nodes in a cell from -1 to 1."""


def _basis(t: Float) -> Float:
    """Return ``ℓ_k(t)`` in the last dimension."""
    to_nodes = (chebvander(POINTS, NODES - 1) * np.where(np.arange(NODES) == 0, 1.0, 2.0) / NODES).T
    return np.asarray(chebvander(t, NODES - 1) @ to_nodes)


@dataclass(frozen=True)
class _Level:
    """The cells of one size."""

    bounds: Index
    """Where each begins in the sorted scores, and the end of the last."""
    middle: Float
    half: Float

    @classmethod
    def of(cls, scores: Float, count: int) -> _Level:
        bounds = np.arange(count + 1) * len(scores) // count
        low, high = scores[bounds[:-1]], scores[bounds[1:] - 1]
        return cls(bounds, low / 2 + high / 2, high / 2 - low / 2)

    def far(self, pairs: Index) -> Index:
        """Return which pairs of cells are far from each other."""
        first, second = pairs.T
        gap = np.abs(self.middle[first] - self.middle[second]) - self.half[first] - self.half[second]
        return np.asarray(gap >= np.maximum(self.half[first], self.half[second]))

    def between(self, pairs: Index, power: int) -> Float:
        """Return ``1 / (s_k - t_l)ᵖ`` for the nodes of each pair of cells, shape (pairs, n, n)."""
        first, second = pairs.T
        apart = (self.middle[first] - self.middle[second])[:, None, None]
        ends = self.half[first][:, None, None] * POINTS[:, None] - self.half[second][:, None, None] * POINTS
        ends += apart
        return np.asarray(np.reciprocal(ends if power == 1 else np.square(ends, out=ends), out=ends))


class ScoreTree:
    """The cells of the scores of one query.

    O(n) time and memory to build, and for each column of a sum.

    Shapes: scores (n,).

    scores: Different ones, in ascending order; at least two times `LEAF`.
    """

    def __init__(self, scores: Float) -> None:
        depth = int(np.ceil(np.log2(len(scores) / LEAF)))
        self.scores = scores
        self.levels = [_Level.of(scores, 2**level) for level in range(depth + 1)]
        self.far_pairs: list[Index] = []
        pairs = np.zeros((1, 2), dtype=np.int64)
        for level in self.levels:
            far = level.far(pairs)
            self.far_pairs.append(pairs[far])
            pairs = pairs[~far]
            if level is not self.levels[-1]:
                pairs = (2 * pairs[:, None, :] + np.array([[0, 0], [0, 1], [1, 0], [1, 1]])).reshape(-1, 2)
        self.near_pairs: Index = pairs[np.lexsort(pairs.T[::-1])]
        """Cells without halves that are not far from each other, both ways, in the order of the first ones."""

    @cached_property
    def cells(self) -> Index:
        """The numbers of the scores in each cell without halves, shape (cells, size); n where a cell has fewer."""
        bounds = self.levels[-1].bounds
        members = bounds[:-1, None] + np.arange(np.diff(bounds).max())
        return np.where(members < bounds[1:, None], members, len(self.scores))

    @cached_property
    def _leaf_basis(self) -> Float:
        """The polynomials of each cell at its scores, shape (cells, size, n); zero where a cell has fewer."""
        last = self.levels[-1]
        padded = np.append(self.scores, np.nan)[self.cells]
        basis = _basis((padded - last.middle[:, None]) / last.half[:, None])
        return np.where(np.isnan(padded)[:, :, None], 0.0, basis)

    @cached_property
    def _transfers(self) -> list[Float]:
        """The polynomials of each cell at the nodes of its halves, for all levels but the first: (cells, n, n)."""
        transfers = []
        for parent, child in zip(self.levels[:-1], self.levels[1:], strict=True):
            up = np.arange(len(child.half)) // 2
            nodes = (child.middle - parent.middle[up])[:, None] + child.half[:, None] * POINTS
            transfers.append(_basis(nodes / parent.half[up][:, None]))
        return transfers

    def far_sums(self, V: Float, power: int) -> Float:
        """Return ``Σ_h V_h / (u_g - u_h)ᵖ`` over the scores h in cells far from that of g.

        Shapes: V (n, k); returns (n, k).
        """
        k = V.shape[1]
        moments = [self._leaf_basis.transpose(0, 2, 1) @ np.vstack([V, np.zeros((1, k))])[self.cells]]
        for transfer in reversed(self._transfers):
            halves = transfer.transpose(0, 2, 1) @ moments[0]
            moments.insert(0, halves[0::2] + halves[1::2])
        local = np.zeros((1, NODES, k))
        for number, (level, pairs) in enumerate(zip(self.levels, self.far_pairs, strict=True)):
            if number > 0:
                local = self._transfers[number - 1] @ np.repeat(local, 2, axis=0)
            pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
            for part in blocks(len(pairs), 8 * NODES * (NODES + k), 2**25):  # matrices from cell to cell
                across = level.between(pairs[part], power) @ moments[number][pairs[part, 1]]
                add_by_row(local, pairs[part, 0], across)
        sums = np.empty((len(V) + 1, k))
        sums[self.cells] = self._leaf_basis @ local
        return sums[:-1]


def add_by_row(total: Float, rows: Index, values: Float) -> None:
    """Add values to the rows of a total, which are sorted and may occur several times."""
    if len(rows):
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        total[rows[starts]] += np.add.reduceat(values, starts, axis=0)
