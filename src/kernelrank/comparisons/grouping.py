"""Groupings: weighted sums and means over a partition of the items, without sorting them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from kernelrank.arrays import Float, Index, Matrix, is_sparse

__all__ = ["Grouping"]

FEW_COLUMNS, FEW_NUMBERS = 4, 20_000
"""Up to so many columns and numbers, counting column by column costs less than a sparse matrix would to make."""


class Grouping:
    """A partition of m weighted items, queries or the score levels inside them.

    Parameters
    ----------
    codes : ndarray of int64, shape (m,)
        The group of each item, from 0 to `count` - 1.
    count : int
        How many groups there are.
    weight : ndarray, shape (m,)
        The weight of each item.

    Examples
    --------
    >>> import numpy as np
    >>> groups = Grouping(np.array([0, 1, 0]), 2, np.array([1.0, 1.0, 3.0]))
    >>> groups.means(np.array([[0.0], [5.0], [4.0]])).ravel()
    array([3., 5.])
    """

    def __init__(self, codes: Index, count: int, weight: Float) -> None:
        self.codes = codes
        self.count = count
        self.weight = weight

    @cached_property
    def total(self) -> Float:
        """The weight of each group, shape (count,)."""
        return np.bincount(self.codes, weights=self.weight, minlength=self.count).astype(np.float64)

    @cached_property
    def _inverse_total(self) -> Float:
        return np.divide(1.0, self.total, out=np.zeros(self.count), where=self.total > 0)

    @cached_property
    def _uniform(self) -> bool:
        return bool(np.all(self.weight == 1.0))

    @cached_property
    def _indicator(self) -> Matrix:
        """The weights as a sparse matrix, count × m, made at its first use: a pairwise loss has none for it."""
        shape = len(self.codes), self.count
        return sparse.csr_array((self.weight, self.codes, np.arange(len(self.codes) + 1)), shape=shape).T.tocsr()

    def sums(self, V: Matrix) -> Matrix:
        """Return the weighted sums ``Σ_{i in g} w_i V_i`` (count × k), sparse when V is. Time O(nnz of V)."""
        if self.count > 1:
            few = not is_sparse(V) and V.shape[1] <= FEW_COLUMNS and V.size <= FEW_NUMBERS
            return self._count(V) if few else self._indicator @ V
        if is_sparse(V):
            return sparse.csr_array((self.weight @ V)[None])
        # Not a product: waking BLAS threads for one short column costs more than the sum.
        total: Float = V.sum(axis=0) if self._uniform else np.einsum("i,ij->j", self.weight, V)
        return total[None]

    def _count(self, V: Matrix) -> Float:
        """Return the sums column by column."""
        sums = np.empty((self.count, V.shape[1]))
        for k in range(V.shape[1]):
            sums[:, k] = np.bincount(self.codes, weights=self.weight * V[:, k], minlength=self.count)
        return sums

    def means(self, V: Float) -> Float:
        """Return the weighted means (count × k); a group without weight has mean zero."""
        means: Float = self.sums(V) * self._inverse_total[:, None]
        return means

    def subtract_means(self, V: Float) -> Float:
        """Return a copy of V with the mean of each item's group taken away."""
        return self.spread_minus(V, self.means(V))

    def spread_minus(self, V: Float, values: Float) -> Float:
        """Return ``V_i - values_{g(i)}``."""
        return V - (values if self.count == 1 else values[self.codes])
