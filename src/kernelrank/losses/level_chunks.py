"""Level chunks: large queries cut by their levels, so that every tree of a sweep fits into the cache.

A partner of item i that lies below it in y lies in the chunk of i, or in a lower one. So a sum over the lower levels is
one inside the chunk, a sweep over its items alone, and one over whole chunks, a sweep with the chunks as levels. A tree
over a million levels misses the cache at most steps; two small ones do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled
from kernelrank.hinge.sweeps import FEW_LEVELS, Complex, sums_above, sums_below

__all__ = ["CHUNKED_BYTES", "LevelChunks"]

CHUNKED_BYTES = 2**21
"""From this size on, a tree is cut."""

BITS = 15
"""A chunk has two to this power levels, so that its tree has half a mebibyte at most."""

Sweep: TypeAlias = Callable[..., Complex]
"""`sums_below` or `sums_above`."""


class LevelChunks:
    """Items of queries, each in the order of its scores, brought together by the chunks of their levels.

    Parameters
    ----------
    scores : ndarray, shape (m,)
        f, ascending inside each query.
    levels : ndarray of int32, shape (m,)
        The rank of each item's y among those of its query.
    bounds, n_levels : ndarray of int64, shapes (n_queries + 1,), (n_queries,)
        Where the queries begin, closed by m, and how many levels each has.
    bits : int, default=15
        Binary digits of the number of levels in a chunk.

    Notes
    -----
    O(m) time and memory to build; sweeps take O(m log n) time as without chunks, in two parts.

    Examples
    --------
    >>> f, levels = np.array([0.0, 0.5, 3.0]), np.array([0, 1, 2], dtype=np.int32)
    >>> chunks = LevelChunks(f, levels, np.array([0, 3]), np.array([3]), bits=1)
    >>> [sums.real for sums in chunks.sums(np.ones(3), np.ones(3), -np.inf, 4.0)]
    [array([0., 1., 2.]), array([2., 1., 0.])]
    """

    def __init__(
        self, scores: Float, levels: NDArray[np.int32], bounds: Index, n_levels: Index, *, bits: int = BITS
    ) -> None:
        n_chunks = ((n_levels - 1) >> bits) + 1
        m = len(levels)
        self.order, (chunks, inner) = np.empty(m, dtype=np.int64), np.empty((2, m), dtype=np.int32)
        chunk_bounds = np.full(n_chunks.sum() + 1, m)
        place = np.empty(n_chunks.max(initial=0) + 1, dtype=np.int64)
        _partition(levels, bounds, n_chunks, bits, place, self.order, chunks, inner, chunk_bounds)
        number = np.arange(len(chunk_bounds) - 1) - np.repeat(np.cumsum(n_chunks) - n_chunks, n_chunks)
        chunk_levels = np.minimum(np.repeat(n_levels, n_chunks) - (number << bits), 1 << bits)
        self._inside = (scores[self.order], inner), (chunk_bounds, chunk_levels)
        self._between = (scores, chunks), (bounds, n_chunks)

    def sums(self, lower: NDArray[Any], upper: NDArray[Any], low: float, high: float) -> tuple[Complex, Complex]:
        """Return `sums_below` of some values and `sums_above` of others, inside chunks and over whole ones together."""
        return self._sum(sums_below, lower, low, high), self._sum(sums_above, upper, low, high)

    def _sum(self, sweep: Sweep, values: NDArray[Any], low: float, high: float) -> Complex:
        items, sizes = self._between
        sums = sweep(*items, values, *sizes, low, high, FEW_LEVELS)
        items, sizes = self._inside
        _add_at(sums, self.order, sweep(*items, values[self.order], *sizes, low, high, FEW_LEVELS))
        return sums


@compiled
def _add_at(sums: Complex, places: Index, values: Complex) -> None:
    """Add values at places, in one pass."""
    for k in range(len(places)):
        sums[places[k]] += values[k]


@compiled
def _partition(
    levels: NDArray[np.int32],
    bounds: Index,
    n_chunks: Index,
    bits: int,
    place: Index,
    order: Index,
    chunks: NDArray[np.int32],
    inner: NDArray[np.int32],
    chunk_bounds: Index,
) -> None:
    """Bring the items of each chunk together, in their order.

    What is filled in
    -----------------
    order : ndarray of int64, shape (m,)
    chunks : ndarray of int32, shape (m,)
        The chunk of each item, in the order of the items.
    inner : ndarray of int32, shape (m,)
        Its level in the chunk, in the new order.
    chunk_bounds : ndarray of int64, shape (total chunks + 1,)
        Its last entry is m already.
    """
    mask, first = (1 << bits) - 1, 0
    for q in range(len(n_chunks)):
        for c in range(n_chunks[q]):
            place[c] = 0
        for i in range(bounds[q], bounds[q + 1]):
            chunks[i] = levels[i] >> bits
            place[chunks[i]] += 1
        position = bounds[q]
        for c in range(n_chunks[q]):
            chunk_bounds[first + c] = position
            position += place[c]
            place[c] = chunk_bounds[first + c]
        for i in range(bounds[q], bounds[q + 1]):
            position = place[chunks[i]]
            order[position] = i
            inner[position] = levels[i] & mask
            place[chunks[i]] += 1
        first += n_chunks[q]
