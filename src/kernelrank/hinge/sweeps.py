r"""Sweeps: sums over the pairs of a query that are not yet far enough apart, without visiting the pairs.

A pair (h, l) of two items of one query with ``y_h > y_l`` has the margin ``f_h - f_l``. With the items of a query in
ascending order of f, the partners of an item whose margin lies in ``[low, high)`` stand between two places that only
move one way as the sweep goes on. They are kept by their level, the rank of y in the query, in a Fenwick tree, or in
one running sum for each level where there are few. Whether a pair is taken is decided by one expression,
``f_h - high < f_l``, in both directions, so that what one item sees its partner sees too, whatever rounding does.

Values are complex: two sums at a time, for the price of one and an eighth. There is no loop for another type, which
would have to be compiled too. A value of zero, that of a censored item on the lower side, does not enter the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled

Complex: TypeAlias = NDArray[np.complex128]

FEW_LEVELS = 16
"""Up to so many levels one sum for each is faster than a tree."""


def sums_below(
    scores: Float,
    levels: NDArray[np.int32],
    values: NDArray[Any],
    bounds: Index,
    n_levels: Index,
    low: float,
    high: float,
    few: int,
) -> Complex:
    """Sum, for each item h, the values of the items l below it in y with ``low ≤ f_h - f_l < high``.

    Time O(m log n) for queries of n items, O(m n_levels) where levels are few; memory O(m).

    Shapes: scores (m,), levels (m,), values (m,); returns (m,).

    scores: f, ascending inside each query.
    """
    sums, tree = np.zeros(len(scores), dtype=np.complex128), np.empty(n_levels.max(initial=0) + 1, dtype=np.complex128)
    _fill_below(scores, levels, values.astype(np.complex128, copy=False), bounds, n_levels, low, high, few, sums, tree)
    return sums


@compiled
def _fill_below(
    scores: Float,
    levels: NDArray[np.int32],
    values: Complex,
    bounds: Index,
    n_levels: Index,
    low: float,
    high: float,
    few: int,
    sums: Complex,
    tree: Complex,
) -> None:
    """Do the work of `sums_below`, whose tree has one place more than the query with most levels."""
    for q in range(len(n_levels)):
        start, stop, n = bounds[q], bounds[q + 1], n_levels[q]
        if n < 2:
            continue
        for k in range(n + 1):
            tree[k] = 0
        entering = leaving = stop - 1
        for i in range(stop - 1, start - 1, -1):
            while entering >= start and scores[i] - high < scores[entering]:
                k = levels[entering] + 1 if values[entering] != 0 else n + 1
                while k <= n:
                    tree[k] += values[entering]
                    k = k + (k & -k) if n > few else n + 1
                entering -= 1
            while leaving >= start and scores[i] - low < scores[leaving]:
                k = levels[leaving] + 1 if values[leaving] != 0 else n + 1
                while k <= n:
                    tree[k] -= values[leaving]
                    k = k + (k & -k) if n > few else n + 1
                leaving -= 1
            k = levels[i] + 0
            while k > 0:
                sums[i] += tree[k]
                k = k & (k - 1) if n > few else k - 1


def sums_above(
    scores: Float,
    levels: NDArray[np.int32],
    values: NDArray[Any],
    bounds: Index,
    n_levels: Index,
    low: float,
    high: float,
    few: int,
    asked: NDArray[np.bool_] | None = None,
) -> Complex:
    """Sum, for each item l, the values of the items h above it in y with ``low ≤ f_h - f_l < high``.

    Parameters, time and memory are those of `sums_below`; the tree counts the levels from the top. The sums of items
    that are not requested, where `asked` is given, are zero: an item without weight on the lower side needs none.
    """
    sums, tree = np.zeros(len(scores), dtype=np.complex128), np.empty(n_levels.max(initial=0) + 1, dtype=np.complex128)
    wanted = np.ones(len(scores), dtype=np.bool_) if asked is None else asked
    _fill_above(
        scores, levels, values.astype(np.complex128, copy=False), bounds, n_levels, low, high, few, wanted, sums, tree
    )
    return sums


@compiled
def _fill_above(
    scores: Float,
    levels: NDArray[np.int32],
    values: Complex,
    bounds: Index,
    n_levels: Index,
    low: float,
    high: float,
    few: int,
    asked: NDArray[np.bool_],
    sums: Complex,
    tree: Complex,
) -> None:
    """Do the work of `sums_above`, whose tree has one place more than the query with most levels."""
    for q in range(len(n_levels)):
        start, stop, n = bounds[q], bounds[q + 1], n_levels[q]
        if n < 2:
            continue
        for k in range(n + 1):
            tree[k] = 0
        entering = leaving = start
        for i in range(start, stop):
            while entering < stop and scores[entering] - high < scores[i]:
                k = n - levels[entering]
                while k <= n:
                    tree[k] += values[entering]
                    k = k + (k & -k) if n > few else n + 1
                entering += 1
            while leaving < stop and scores[leaving] - low < scores[i]:
                k = n - levels[leaving]
                while k <= n:
                    tree[k] -= values[leaving]
                    k = k + (k & -k) if n > few else n + 1
                leaving += 1
            k = n - 1 - levels[i] if asked[i] else 0
            while k > 0:
                sums[i] += tree[k]
                k = k & (k - 1) if n > few else k - 1


@compiled
def rounded_mass(scores: Float, values: Float, bounds: Index, low: float, high: float) -> float:
    """Return what rounding grows with in a running sum of a sweep: the sums of all values in it after each change.

    Shapes: scores (m,), values (m,), bounds (n_queries + 1,).

    scores: f, ascending inside each query.
    """
    largest = 0.0
    for q in range(len(bounds) - 1):
        start, stop = bounds[q], bounds[q + 1]
        mass = inside = 0.0
        entering = leaving = stop - 1
        for i in range(stop - 1, start - 1, -1):
            while entering >= start and scores[i] - high < scores[entering]:
                inside += values[entering]
                mass += inside
                entering -= 1
            while leaving >= start and scores[i] - low < scores[leaving]:
                mass += inside
                inside -= values[leaving]
                leaving -= 1
        largest = max(largest, mass)
        mass = inside = 0.0
        entering = leaving = start
        for i in range(start, stop):
            while entering < stop and scores[entering] - high < scores[i]:
                inside += values[entering]
                mass += inside
                entering += 1
            while leaving < stop and scores[leaving] - low < scores[i]:
                mass += inside
                inside -= values[leaving]
                leaving += 1
        largest = max(largest, mass)
    return largest


# Level chunks ---------------------------------------------------------------------------------------------------------
#
# Level chunks: large queries cut by their levels, so that every tree of a sweep fits into the cache.
#
# A partner of item i that lies below it in y lies in the chunk of i, or in a lower one. So a sum over the lower levels
# is one inside the chunk, a sweep over its items alone, and one over whole chunks, a sweep with the chunks as levels. A
# tree over a million levels misses the cache at most steps; two small ones do not.

CHUNKED_BYTES = 2**21
"""From this size on, a tree is cut."""

Sweep: TypeAlias = Callable[..., Complex]
"""`sums_below` or `sums_above`."""


class LevelChunks:
    """Items of queries, each in the order of its scores, brought together by the chunks of their levels.

    O(m) time and memory to build; sweeps take O(m log n) time as without chunks, in two parts. A chunk has two to the
    power `bits` levels, so that its tree has half a mebibyte at most.

    Shapes: scores (m,), levels (m,).

    scores: f, ascending inside each query.
    """

    def __init__(
        self, scores: Float, levels: NDArray[np.int32], bounds: Index, n_levels: Index, *, bits: int = 15
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
