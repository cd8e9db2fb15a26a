"""Duplicate rows: items that no model tells apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Index, Matrix, blocks, is_sparse, row_slices

__all__ = ["duplicate_rows"]

ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))
"""Odd numbers with bits at random."""


def duplicate_rows(X: Matrix) -> Index:
    """Return for each item the number of the first item with the same row; -1 for those that are alone.

    Every row gets a number of 64 bits, the sum of what is made of its entries: integers, so that the same rows have the
    same sum in any order. Rows that share one are compared.

    Parameters
    ----------
    X : array or sparse matrix, shape (m, n)

    Returns
    -------
    ndarray of int64, shape (m,)

    Notes
    -----
    O(m n) time, or O(nnz), and O(m log m); memory O(m) and blocks, O(nnz) for a sparse X.

    Examples
    --------
    >>> duplicate_rows(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    array([ 0, -1,  0])
    """
    if X.shape[0] < 2:
        return np.full(X.shape[0], -1, dtype=np.int64)
    _, first, group, sizes = np.unique(_sums(X), return_index=True, return_inverse=True, return_counts=True)
    alike = np.flatnonzero(sizes[group] > 1)
    heads = first[group[alike]]
    same = np.zeros(len(alike), dtype=bool)
    for part in blocks(len(alike), 16 * X.shape[1]):
        same[part] = _equal(X[alike[part]], X[heads[part]])
    result = np.full(X.shape[0], -1, dtype=np.int64)
    result[alike[same]] = heads[same]
    return result


def _sums(X: Matrix) -> NDArray[np.uint64]:
    """Return a number for each row."""
    keys = np.random.default_rng(0).integers(0, 2**64, size=(X.shape[1],), dtype=np.uint64)
    if is_sparse(X):
        column = X.indices if X.format == "csr" else np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        entries = type(X)((_mixed(X.data, keys[column]), X.indices, X.indptr), shape=X.shape)
        return np.asarray(entries @ np.ones(X.shape[1], dtype=np.uint64))
    sums = np.empty(X.shape[0], dtype=np.uint64)
    for rows in row_slices(X):
        sums[rows] = _mixed(X[rows], keys).sum(axis=1)
    return sums


def _mixed(values: NDArray[np.floating], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Stir the bits of numbers and the keys of their columns; zero, which may not be stored, gives zero."""
    numbers = np.array(values, dtype=np.float64, order="C")
    numbers[numbers == 0.0] = 0.0  # of two signs
    bits = numbers.view(np.uint64)
    for odd in ODD:
        bits ^= bits >> np.uint64(32)
        bits *= odd
    bits *= keys | np.uint64(1)
    bits ^= bits >> np.uint64(29)
    return bits


def _equal(A: Matrix, B: Matrix) -> NDArray[np.bool_]:
    """Tell which rows of two matrices are the same."""
    if is_sparse(A):
        return np.asarray(abs(A - B).sum(axis=1) == 0).ravel()
    return np.asarray((A == B).all(axis=1))
