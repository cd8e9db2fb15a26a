"""Sorting: the items of every query in ascending order of their scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Float, Index
from kernelrank.compiled import compiled

__all__ = ["sort_queries"]

INSERTION = 32
"""Up to so many items a query is sorted by insertion."""

SMALL = 1024
"""Up to so many items a query is sorted by merging, beyond by digits."""

DIGITS, BITS = 3, 11
"""How many digits of how many bits the scores of a large query are rounded to; insertion does the rest."""


def sort_queries(scores: Float, bounds: Index) -> Index:
    """Return the places of the items in ascending order of the scores, query by query.

    Small queries are sorted in one compiled loop. In a large one the scores are first rounded to 33 bits between the
    least and the greatest, sorted by these in three passes, and put right by insertion. Where outliers leave the others
    too few bits for that, NumPy sorts.

    Time O(m), or O(m log n) at worst, for queries of n items; memory O(m).

    Parameters
    ----------
    scores : ndarray, shape (m,)
        Finite.
    bounds : ndarray of int64, shape (n_queries + 1,)
        Where the queries begin, closed by m.

    Returns
    -------
    ndarray of int64, shape (m,)

    Examples
    --------
    >>> sort_queries(np.array([3.0, 1.0, 2.0, 1.0]), np.array([0, 2, 4]))
    array([1, 0, 3, 2])
    """
    order = _sort_small(scores, bounds, SMALL, INSERTION)
    for q in np.flatnonzero(np.diff(bounds) > SMALL):
        start, stop = bounds[q], bounds[q + 1]
        order[start:stop] = start + _sort_large(scores[start:stop])
    return order


def _sort_large(scores: Float) -> Index:
    low, spread = float(scores.min()), float(scores.max()) - float(scores.min())
    if not 1e-290 < spread < np.inf:  # nothing to tell apart, or nothing that 33 bits could
        return np.argsort(scores).astype(np.int64)
    keys = ((scores - low) * ((2.0 ** (DIGITS * BITS) - 1.0) / spread)).astype(np.int64)
    order, done = _sort_digits(scores, keys, DIGITS, BITS)
    return order if done else np.argsort(scores).astype(np.int64)


@compiled
def _sort_small(scores: Float, bounds: Index, largest: int, insertion: int) -> Index:
    """Sort the queries of up to `largest` items and leave the others in their order."""
    order = np.arange(len(scores))
    for q in range(len(bounds) - 1):
        start, stop = bounds[q], bounds[q + 1]
        if stop - start > largest:
            continue
        if stop - start > insertion:
            order[start:stop] = start + np.argsort(scores[start:stop], kind="mergesort")
            continue
        for i in range(start + 1, stop):
            j, score = i, scores[i]
            while j > start and scores[order[j - 1]] > score:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
    return order


@compiled
def _sort_digits(scores: Float, keys: NDArray[np.int64], digits: int, bits: int) -> tuple[Index, bool]:
    """Sort by the digits of the keys, last one first, then equal keys by insertion; give up where that takes long.

    A key and the number of its item travel in one word: the number in its low 31 bits.
    """
    m, number, mask = len(scores), (1 << 31) - 1, (1 << bits) - 1
    order, other = np.empty(m, np.int64), np.empty(m, np.int64)
    place = np.zeros((digits, mask + 2), np.int64)
    for i in range(m):
        order[i] = (keys[i] << 31) | i
        for digit in range(digits):
            place[digit, ((keys[i] >> digit * bits) & mask) + 1] += 1
    for digit in range(digits):
        for k in range(mask):
            place[digit, k + 1] += place[digit, k]
        shift = 31 + digit * bits
        for i in range(m):
            k = (order[i] >> shift) & mask
            other[place[digit, k]] = order[i]
            place[digit, k] += 1
        order, other = other, order
    moves = 2 * m
    for i in range(1, m):
        word, j = order[i], i
        while j > 0 and order[j - 1] >> 31 == word >> 31 and scores[order[j - 1] & number] > scores[word & number]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = word
        moves -= i - j
        if moves < 0:
            return order, False
    return order & number, True
