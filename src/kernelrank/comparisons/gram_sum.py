"""Gram sums: ``Σ Bᵀ B`` over blocks of rows, added up in place and in one triangle."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from kernelrank.arrays import Float

__all__ = ["GramSum"]

SQUARE = 256
"""The side of the squares that the other triangle is copied by: two of them fit into a core's cache."""

BELOW = np.tri(SQUARE, k=-1, dtype=np.bool_)


class GramSum:
    """A symmetric n × n matrix that blocks of rows are added to.

    Parameters
    ----------
    n : int
        The number of columns of the blocks.

    Notes
    -----
    O(k n²) time for a block of k rows, half of a product's, and no memory beyond the n² numbers of the sum.

    Examples
    --------
    >>> gram = GramSum(2)
    >>> gram.add(np.array([[1.0, 2.0], [0.0, 1.0]]))
    >>> gram.add(np.array([[0.0, 1.0]]), -1.0)
    >>> gram.matrix()
    array([[1., 2.],
           [2., 4.]])
    """

    def __init__(self, n: int) -> None:
        self._upper = np.zeros((n, n), order="F")

    @classmethod
    def onto(cls, matrix: Float) -> GramSum:
        """Return a sum that goes on from a symmetric matrix, C-contiguous, in its place; `matrix` completes it."""
        total = cls(0)
        total._upper = matrix.T
        return total

    def add(self, block: Float, scale: float = 1.0) -> None:
        """Add ``scale · Bᵀ B`` for a block B (k × n)."""
        if block.size:
            # The transpose of a C-ordered block is what BLAS reads without a copy.
            self._upper = blas.dsyrk(scale, np.ascontiguousarray(block).T, beta=1.0, c=self._upper, overwrite_c=1)

    def add_sum(self, other: GramSum) -> None:
        """Add another sum."""
        self._upper += other._upper

    def matrix(self) -> Float:
        """Return the whole matrix, in the memory of the sum: what is added later changes it."""
        upper = self._upper
        for start in range(0, len(upper), SQUARE):
            stop = start + SQUARE
            if stop < len(upper):
                upper[stop:, start:stop] = upper[start:stop, stop:].T
            square = upper[start:stop, start:stop]
            np.copyto(square, square.T.copy(), where=BELOW[: len(square), : len(square)])
        return upper
