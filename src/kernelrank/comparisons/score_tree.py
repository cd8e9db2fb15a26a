r"""A tree over sorted scores: sums of ``1 / (u_g - u_h)ᵖ`` between scores that are far apart, by interpolation.

Scores are cut in halves, quarters and so on, until a cell has few of them. Two cells of one size are **far** if the gap
between them is at least half the wider one. Between such cells ``1 / (s - t)ᵖ`` is smooth, and polynomials through n
Chebyshev nodes in either cell stand for it:

    ``1 / (s - t)ᵖ ≈ Σ_kl ℓ_k(s) ℓ_l(t) / (s_k - t_l)ᵖ``.

Seen from the middle of a cell with half width h the nearest pole is at 2h, so the error of each term falls as
``(2 + √3)⁻ⁿ``. With 30 nodes rounding is all that is left, below 1e-13 of a sum of positive terms. So the weight of
every pair is right up to rounding, and with it the Laplacian in every direction. Cells that are not far, neighbours
above all, are left to be added up term by term, however near their scores are.

The sums go up the tree (moments of cells at their nodes, from those of their halves), across (from cell to far cell),
and down again: O(n) time for n scores, and a constant of some hundreds. It is the fast multipole method in one
dimension, with interpolation in place of expansions [FD09]_.

.. [FD09] Fong and Darve (2009). The black-box fast multipole method. Journal of Computational Physics 228(23).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from kernelrank.base.arrays import Float, Index, blocks

__all__ = ["ScoreTree", "add_by_row"]

NODES = 30
"""The number of Chebyshev nodes of a cell."""

LEAF = 64
"""The largest number of scores in a cell that is not cut."""

PRODUCT_BYTES = 2**25
"""The size of a block of matrices from cell to cell."""

POINTS = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
"""The nodes in a cell from -1 to 1."""

_TO_NODES = (chebvander(POINTS, NODES - 1) * np.where(np.arange(NODES) == 0, 1.0, 2.0) / NODES).T


def _basis(t: Float) -> Float:
    """Return ``ℓ_k(t)`` in the last dimension."""
    return np.asarray(chebvander(t, NODES - 1) @ _TO_NODES)


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

    Parameters
    ----------
    scores : ndarray, shape (n,)
        Different ones, in ascending order; at least two times `LEAF`.

    Notes
    -----
    O(n) time and memory to build, and for each column of a sum.

    Examples
    --------
    >>> scores = np.arange(2000.0)
    >>> far = ScoreTree(scores).far_sums(np.ones((2000, 1)), 2)[1000, 0]
    >>> bool(0 < far < 2 * np.sum(1.0 / np.arange(1.0, 1000.0) ** 2))
    True
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

        Parameters
        ----------
        V : ndarray, shape (n, k)
        power : int

        Returns
        -------
        ndarray, shape (n, k)
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
            for part in blocks(len(pairs), 8 * NODES * (NODES + k), PRODUCT_BYTES):
                across = level.between(pairs[part], power) @ moments[number][pairs[part, 1]]
                add_by_row(local, pairs[part, 0], across)
        sums = np.empty((len(V) + 1, k))
        sums[self.cells] = self._leaf_basis @ local
        return sums[:-1]


def add_by_row(total: Float, rows: Index, values: Float) -> None:
    """Add values to the rows of a total, which are sorted and may occur several times.

    Examples
    --------
    >>> total = np.zeros(3)
    >>> add_by_row(total, np.array([0, 2, 2]), np.ones(3))
    >>> total
    array([1., 0., 2.])
    """
    if len(rows):
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        total[rows[starts]] += np.add.reduceat(values, starts, axis=0)
