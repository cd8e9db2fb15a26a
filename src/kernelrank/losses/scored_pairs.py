"""Scored pairs: every two items of a query with different scores, never written out."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Float, Index
from kernelrank.comparisons.query_weights import QueryWeight, pair_weight
from kernelrank.losses.base import Pairs, PlacedPairs
from kernelrank.losses.level_chunks import CHUNKED_BYTES, LevelChunks
from kernelrank.losses.loss_rounding import sum_error
from kernelrank.losses.sweeps import FEW_LEVELS, Complex, rounded_mass, sums_above, sums_below
from kernelrank.queries import Queries
from kernelrank.sorting import sort_queries

__all__ = ["ScoredPairs"]

Number = TypeVar("Number", bound=np.generic)


class ScoredPairs(Pairs):
    """The pairs (h, l) of each query with ``y_h > y_l``, of weight ``c_q w_h w_l``. Ties in y are no pairs.

    Parameters
    ----------
    y : ndarray, shape (m,)
        The true scores.
    queries : Queries
        Which items belong together.
    weight : ndarray, shape (m,), optional
        Item weights w; one unless given.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        What counts the same: ``c_q`` is 1, ``1 / W_q`` or one over the weight of all pairs of the query.
    levels : tuple of ndarray, optional
        The score level of each item and the query of each level, where they are known already; see `ScoredQueries`.

    Notes
    -----
    O(m log m) time to build, to place, and for each sum, for any number of levels; memory O(m).

    Examples
    --------
    >>> pairs = ScoredPairs(np.array([3.0, 1.0, 1.0]), Queries.from_labels(None, 3))
    >>> placed = pairs.place(np.array([0.5, 0.0, -1.0]))
    >>> pairs.total, [placed.back(counts) for counts in placed.counts(1.0)]
    (2.0, [array([1., 0., 0.]), array([0., 1., 0.])])
    """

    def __init__(
        self,
        y: Float,
        queries: Queries,
        weight: Float | None = None,
        query_weight: QueryWeight = "pairs",
        levels: tuple[Index, Index] | None = None,
    ) -> None:
        self.n_items = len(y)
        self.bounds = queries.bounds
        self.by_query = None if queries.contiguous else queries.order
        uniform = weight is None or bool(np.all(weight == 1.0))
        ones = np.ones(self.n_items)
        w = ones if weight is None else weight
        total = np.bincount(queries.codes, weights=w, minlength=len(queries)).astype(np.float64)
        self.levels: NDArray[np.int32]
        if levels is None:
            self.levels, self.n_levels = _levels(self._gather(y), self._gather(queries.codes), self.bounds)
        else:
            self.n_levels = np.bincount(levels[1], minlength=len(queries))
            first = np.cumsum(self.n_levels) - self.n_levels
            self.levels = self._gather(levels[0] - first[queries.codes]).astype(np.int32)
        tied = self._tied(self._gather(w))
        c = pair_weight(query_weight, total, tied)
        self.total = float(c @ np.maximum(total**2 - tied, 0.0)) / 2.0
        # c_q w_i, which every sum of an item is multiplied by; one number where it is the same for all.
        self.outer: Float = c if uniform and len(c) == 1 else self._gather(c[queries.codes] * w)
        # Whole numbers tell that sums of them are not rounded.
        self.inner: NDArray[np.int32] | Float = ones.astype(np.int32) if uniform else self._gather(w)
        whole = uniform and query_weight == "pairs"
        self.n_terms = (1 if whole else 3) * self.n_items + 32
        self.count_error = 0.0 if whole else sum_error(self.n_terms)

    def _tied(self, w: Float) -> Float:
        """Return ``Σ W_level²`` of each query, which is how much of ``W_q²`` is not compared."""
        first = np.cumsum(self.n_levels) - self.n_levels
        level = np.repeat(first, np.diff(self.bounds)) + self.levels
        squares = np.bincount(level, weights=w).astype(np.float64) ** 2
        return np.add.reduceat(squares, first) if len(first) else squares

    def _gather(self, values: NDArray[Number]) -> NDArray[Number]:
        """Bring the items of each query together."""
        return values if self.by_query is None else values[self.by_query]

    def place(self, f: Float) -> PlacedPairs:
        """Sort the items of each query by f."""
        return _PlacedScoredPairs(self, f)

    def without_rounding(self, f: Float) -> Float:
        """Return f in whole numbers of a unit so large that sums of scores are not rounded; items have no weights."""
        unit = self.unit(2.0 * float(np.abs(f).max()))
        return np.round(f / unit) * unit

    def unit(self, largest: float) -> float:
        """Return a power of two: as many multiples of it as a query has items, up to `largest`, add up exactly."""
        total = 2.0 * int(np.diff(self.bounds).max()) * max(largest, np.finfo(np.float64).tiny)
        return float(np.exp2(np.ceil(np.log2(total)) - 52.0))


class _PlacedScoredPairs(PlacedPairs):
    """Scored pairs with the items of each query in the order of their scores."""

    def __init__(self, pairs: ScoredPairs, f: Float) -> None:
        self.pairs = pairs
        gathered: Float = pairs._gather(f)
        order = sort_queries(gathered, pairs.bounds)
        self.sorted: Float = gathered[order]
        self.levels: NDArray[np.int32] = pairs.levels[order]
        self.inner = pairs.inner if pairs.inner.dtype == np.int32 else pairs.inner[order]
        self.outer: Float = pairs.outer[order] if len(pairs.outer) > 1 else pairs.outer
        self.order: Index = order if pairs.by_query is None else pairs.by_query[order]
        middle = self.sorted[(pairs.bounds[:-1] + pairs.bounds[1:]) // 2]
        self.scores = self.sorted - (middle if len(middle) == 1 else np.repeat(middle, np.diff(pairs.bounds)))

    def bring(self, values: Float) -> Float:
        """Sort values as the items are sorted."""
        return values[self.order]

    def back(self, values: Float) -> Float:
        """Bring sorted values back to the order of the items."""
        result = np.empty(len(values))
        result[self.order] = values
        return result

    def _weigh(self, values: NDArray[Any]) -> Float:
        """Multiply by the weights of the items, without a copy of numbers that all have the weight one."""
        if len(self.outer) == 1 and self.outer[0] == 1.0:
            return values.astype(np.float64, copy=False)
        weighed: Float = self.outer * values
        return weighed

    @cached_property
    def _chunks(self) -> LevelChunks:
        return LevelChunks(self.sorted, self.levels, self.pairs.bounds, self.pairs.n_levels)

    def _sweep(self, values: NDArray[Any], low: float, high: float) -> tuple[Complex, Complex]:
        """Sum values over the partners below and above each item, in sorted order."""
        pairs, values = self.pairs, values.astype(np.complex128, copy=False)
        if values.itemsize * int(pairs.n_levels.max(initial=0)) > CHUNKED_BYTES:
            return self._chunks.sums(values, low, high)
        place = (self.sorted, self.levels, values, pairs.bounds, pairs.n_levels, low, high, FEW_LEVELS)
        return sums_below(*place), sums_above(*place)

    def counts(self, threshold: float) -> tuple[Float, Float]:
        """Count by two sweeps, over whole numbers where the items have no weights."""
        below, above = self._sweep(self.inner, -np.inf, threshold)
        return self._weigh(below.real), self._weigh(above.real)

    def sums(self, v: Float, low: float, high: float) -> Float:
        """Sum by two sweeps."""
        below, above = self._sweep(self.inner * v, low, high)
        return self._weigh(below.real + above.real)

    def band(self, low: float, high: float) -> tuple[Float, Float, Float]:
        """Count and sum by the same two sweeps: counts are the real parts, sums the imaginary ones."""
        values = np.empty(len(self.sorted), dtype=np.complex128)
        values.real, values.imag = self.inner, self.inner * self.scores
        below, above = self._sweep(values, low, high)
        return self._weigh(below.real), self._weigh(above.real), self._weigh(below.imag + above.imag)

    def band_rounding(self, low: float, high: float, enough: float) -> tuple[float, float]:
        """Bound what is left in the running sums of values that have left them.

        An item's sum is one of a few running sums at most, each of which rounds at every change what it holds. Whole
        numbers are not rounded, nor are multiples of a unit.
        """
        pairs = self.pairs
        largest, whole = float(np.abs(self.scores).max()), pairs.inner.dtype == np.int32
        units = self.scores / pairs.unit(largest)
        if whole and np.array_equal(units, np.round(units)):
            return 0.0, 0.0
        few = 2 * max(FEW_LEVELS, int(pairs.n_levels.max()).bit_length())
        unit = sum_error(2) * few * float(self.outer.max()) * len(self.sorted)
        mass = 2.0 * float(np.diff(pairs.bounds).max()) ** 2 * float(self.inner.max())
        if unit * mass * largest > enough:
            mass = rounded_mass(self.sorted, self.inner.astype(np.float64, copy=False), pairs.bounds, low, high)
        return 0.0 if whole else unit * mass, unit * mass * largest


def _levels(y: Float, codes: Index, bounds: Index) -> tuple[NDArray[np.int32], Index]:
    """Rank y inside each query, equal scores alike, and count the levels of each query."""
    order = np.lexsort((y, codes))
    new = np.ones(len(y), dtype=bool)
    new[1:] = y[order][1:] != y[order][:-1]
    new[bounds[:-1]] = True
    number = np.cumsum(new) - 1
    first = number[bounds[:-1]]
    levels = np.empty(len(y), dtype=np.int32)
    levels[order] = number - np.repeat(first, np.diff(bounds))
    return levels, np.diff(np.append(first, number[-1] + 1))
