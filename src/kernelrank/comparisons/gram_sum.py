"""Gram sums: ``Σ Bᵀ B`` over blocks of rows, added up in place and in one triangle."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from kernelrank.arrays import Float

__all__ = ["GramSum"]


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

    def add(self, block: Float, scale: float = 1.0) -> None:
        """Add ``scale · Bᵀ B`` for a block B (k × n)."""
        if block.size:
            # The transpose of a C-ordered block is what BLAS reads without a copy.
            self._upper = blas.dsyrk(scale, np.ascontiguousarray(block).T, beta=1.0, c=self._upper, overwrite_c=1)

    def matrix(self) -> Float:
        """Return the whole matrix; the sum is spent."""
        upper = self._upper
        for start in range(0, len(upper), 256):
            stop = start + 256
            upper[stop:, start:stop] = upper[start:stop, stop:].T
            square = upper[start:stop, start:stop]
            square[:] = np.triu(square) + np.triu(square, 1).T
        return upper
