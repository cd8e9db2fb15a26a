"""The kernel matrix of sparse rows, ``K = X Xᵀ``, for data with more columns than rows.

Some columns are in most rows and most columns are in a few. The former are cheapest as a dense product; the latter by a
loop that, for each row, adds up the columns that it has, which costs a sum of squares of column counts. A column moves
to the dense side where its square is worth its share of a dense product.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import blas

from kernelrank.base.arrays import Float
from kernelrank.base.compiled import compiled

__all__ = ["linear_kernel"]

# A column in more than this share of the rows is cheaper in a dense product.
DENSE_SHARE = 0.15
# Dense columns held at once: those that fit beside the kernel matrix itself.
BLOCK = 1024


def linear_kernel(X: sparse.sparray) -> Float:
    """Return the inner products of all rows.

    Parameters
    ----------
    X : sparse array, shape (m, n)

    Returns
    -------
    ndarray, shape (m, m), symmetric

    Notes
    -----
    Time O(Σ c² + m² d), c being the numbers of rows of the sparse columns and d the number of dense ones. Memory m × m
    numbers, and X twice.

    Examples
    --------
    >>> linear_kernel(sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]]))
    array([[ 5.,  2.],
           [ 2., 10.]])
    """
    columns = sparse.csc_array(X, dtype=np.float64)
    columns.sum_duplicates()
    m = columns.shape[0]
    counts = np.diff(columns.indptr)
    dense = np.flatnonzero(counts > DENSE_SHARE * m)
    K = np.zeros((m, m), order="F")
    for start in range(0, len(dense), BLOCK):
        block = columns[:, dense[start : start + BLOCK]].toarray(order="F")
        K = blas.dsyrk(1.0, block, beta=1.0, c=K, lower=0, overwrite_c=True)
    shared = (counts > 0) & (counts <= DENSE_SHARE * m)
    rest = columns[:, np.flatnonzero(shared)]
    rows = rest.tocsr()
    # The transpose of an upper triangle in Fortran's order is a lower one in C's, whose rows the loop fills.
    _add_products(rows.indptr, rows.indices, rows.data, rest.indptr, rest.indices, rest.data, K.T)
    lower = np.tril(K.T)
    lower += np.tril(lower, -1).T
    return lower


@compiled
def _add_products(
    row_bounds: NDArray[np.int32],
    columns: NDArray[np.int32],
    values: Float,
    column_bounds: NDArray[np.int32],
    rows: NDArray[np.int32],
    column_values: Float,
    K: Float,
) -> None:
    """Add to ``K[i, j]`` the products of rows i and j, for j ≤ i; rows ascend within a column."""
    for i in range(len(row_bounds) - 1):
        for p in range(row_bounds[i], row_bounds[i + 1]):
            column, value = columns[p], values[p]
            for q in range(column_bounds[column], column_bounds[column + 1]):
                j = rows[q]
                if j > i:
                    break
                K[i, j] += value * column_values[q]
