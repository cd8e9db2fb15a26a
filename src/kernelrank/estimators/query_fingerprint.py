"""Query fingerprints: 64-bit hashes that show whether a query has the same items as before.

The binary digits of each number, stirred, are multiplied by an odd number of its column and added up over the row,
modulo 2⁶⁴; the rows of a query, stirred again, are added up too. So the order of the items does not matter, nor whether
they are dense or sparse (a zero adds nothing), nor how they are cut into blocks. That two different queries have the
same fingerprint by chance is very unlikely; there is no protection against items constructed to have it.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Matrix, is_sparse, row_slices
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import Queries

__all__ = ["query_fingerprints"]

Bits: TypeAlias = NDArray[np.uint64]

COMPILED = 20_000
"""From so many numbers on, a compiled loop pays for being loaded."""

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
FIRST_SHIFT, SECOND_SHIFT = np.uint64(32), np.uint64(29)
MINUS_ZERO, ZERO = np.uint64(2**63), np.uint64(0)

SEEDS = (20_090_401, 20_110_613)
"""Of the factors of columns of X, and of those of y and weights."""


def query_fingerprints(X: Matrix, scores: Float, weight: Float, queries: Queries) -> list[int]:
    """Return a number for each query that stands for its items, their scores and their weights.

    Parameters
    ----------
    X : array or sparse matrix, shape (m, n)
    scores : ndarray, shape (m, outputs)
    weight : ndarray, shape (m,)
    queries : Queries

    Returns
    -------
    list of int
        One for each query, in their order.

    Notes
    -----
    O(m n) time, or O(nnz) for sparse items; memory one block, or O(nnz).

    Examples
    --------
    >>> from scipy import sparse
    >>> X, y = np.array([[1.0, 0.0], [2.0, 3.0]]), np.array([[0.0], [1.0]])
    >>> queries = Queries.from_labels(None, 2)
    >>> known = query_fingerprints(X, y, np.ones(2), queries)
    >>> known == query_fingerprints(sparse.csr_array(X[::-1]), y[::-1], np.ones(2), queries)
    True
    >>> known == query_fingerprints(X[::-1], y, np.ones(2), queries)
    False
    """
    rows = _row_sums(X, SEEDS[0]) + _row_sums(np.column_stack([scores, weight]), SEEDS[1])
    stirred = _stirred(rows)
    sums: list[int] = _sums_between(stirred if queries.contiguous else stirred[queries.order], queries.bounds).tolist()
    return sums


def _row_sums(X: Matrix, seed: int) -> Bits:
    """Return the sum over each row, every number multiplied by the factor of its column."""
    drawn = np.random.default_rng(seed).integers(2**63, size=(X.shape[1],), dtype=np.uint64)
    factors = drawn * np.uint64(2) + np.uint64(1)
    if is_sparse(X):
        rows = X.tocsr()
        return _sums_between(_bits(rows.data) * factors[rows.indices], rows.indptr)
    sums = np.empty(X.shape[0], dtype=np.uint64)
    for part in row_slices(X):
        if X.size < COMPILED:
            sums[part] = (_bits(np.asarray(X[part], dtype=np.float64)) * factors).sum(axis=1)
        else:
            block = np.ascontiguousarray(X[part], dtype=np.float64)
            _fill_row_sums(block.view(np.uint64), factors, sums[part])
    return sums


@compiled
def _fill_row_sums(bits: Bits, factors: Bits, sums: Bits) -> None:
    """Do in one pass what `_bits` and a weighted sum do in eight."""
    for i in range(len(sums)):
        total = ZERO
        for j in range(len(factors)):
            value = bits[i, j]
            value = ZERO if value == MINUS_ZERO else value
            mixed = (value ^ (value >> FIRST_SHIFT)) * MULTIPLIER
            total += (mixed ^ (mixed >> SECOND_SHIFT)) * factors[j]
        sums[i] = total


def _bits(values: Float) -> Bits:
    """Return the binary digits of numbers, stirred; those of both zeros are zero."""
    positive = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    return _stirred(positive.view(np.uint64))


def _stirred(bits: Bits) -> Bits:
    """Let every digit change the lower half: the last ones of a whole number are all zero."""
    mixed = (bits ^ (bits >> FIRST_SHIFT)) * MULTIPLIER
    return mixed ^ (mixed >> SECOND_SHIFT)


def _sums_between(values: Bits, bounds: NDArray[np.integer]) -> Bits:
    """Return the sums of consecutive parts, modulo 2⁶⁴, where differences of running sums are exact."""
    running = np.zeros(len(values) + 1, dtype=np.uint64)
    np.cumsum(values, out=running[1:])
    return np.asarray(running[bounds[1:]] - running[bounds[:-1]])
