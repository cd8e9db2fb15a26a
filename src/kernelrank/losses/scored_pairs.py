"""Scored pairs: every two items of a query with different scores, never written out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import sort_queries
from kernelrank.base.labels import Queries
from kernelrank.comparisons.graph import PairLevels
from kernelrank.comparisons.scored import QueryWeight, ScoredQueries
from kernelrank.hinge.pairs import Pairs, PlacedPairs
from kernelrank.hinge.sweeps import FEW_LEVELS, Complex, rounded_mass, sums_above, sums_below
from kernelrank.losses.level_chunks import CHUNKED_BYTES, LevelChunks
from kernelrank.losses.loss_rounding import sum_error

__all__ = ["ScoredPairs"]

Number = TypeVar("Number", bound=np.generic)


class ScoredPairs(Pairs):
    """The pairs (h, l) of each query whose levels differ, of weight ``c_q upper_h lower_l``: scores, or censored times.

    Parameters
    ----------
    levels : PairLevels
        The level of each item, and what it weighs on either side of a pair.

    Notes
    -----
    O(m) time to build, O(m log m) to place, and for each sum, for any number of levels; memory O(m).

    Examples
    --------
    >>> pairs = ScoredPairs.of_scores(np.array([3.0, 1.0, 1.0]), Queries.from_labels(None, 3))
    >>> placed = pairs.place(np.array([0.5, 0.0, -1.0]))
    >>> pairs.total, [placed.back(counts) for counts in placed.counts(1.0)]
    (2.0, [array([1., 0., 0.]), array([0., 1., 0.])])
    """

    def __init__(self, levels: PairLevels) -> None:
        queries, c = levels.queries, levels.pair_weights
        self.n_items = len(levels.levels)
        self.bounds = queries.bounds
        self.by_query = None if queries.contiguous else queries.order
        self.levels: NDArray[np.int32] = self._gather(levels.levels).astype(np.int32)
        self.n_levels, self.total = levels.n_levels, levels.total
        self.upper = self._side(levels.upper, c, queries.codes)
        self.lower = self.upper if levels.symmetric else self._side(levels.lower, c, queries.codes)
        whole = self.upper.whole and self.lower.whole and bool(np.all(c == 1.0))
        self.n_terms = (1 if whole else 3) * self.n_items + 32
        self.count_error = 0.0 if whole else sum_error(self.n_terms)

    @classmethod
    def of_scores(
        cls, y: Float, queries: Queries, weight: Float | None = None, query_weight: QueryWeight = "pairs"
    ) -> ScoredPairs:
        """Return the pairs with ``y_h > y_l``, of weight ``c_q w_h w_l``. Ties in y are no pairs.

        Parameters
        ----------
        y : ndarray, shape (m,)
            The true scores.
        queries : Queries
            Which items belong together.
        weight : ndarray, shape (m,), optional
            Item weights w; one unless given.
        query_weight : {"pairs", "items", "queries"}, default="pairs"
            Which units have equal weight: ``c_q`` is 1, ``1 / W_q`` or one over the weight of all pairs of the query.
        """
        levels = ScoredQueries(y[:, None], queries, weight=weight, cost="unit", query_weight=query_weight).pair_levels()
        assert levels is not None
        return cls(levels)

    def _side(self, weight: Float, c: Float, codes: Index) -> _Side:
        """Return the weights of the items on one side of a pair, those of a query together."""
        whole = bool(np.all((weight == 1.0) | (weight == 0.0)))
        uniform = whole and bool(np.all(weight == 1.0))
        # c_q w_i, which every sum of an item is multiplied by; one number where it is the same for all.
        outer = c if uniform and len(c) == 1 else self._gather(c[codes] * weight)
        # Whole numbers tell that sums of them are not rounded.
        inner = self._gather(weight)
        return _Side(inner.astype(np.int32) if whole else inner, outer, uniform)

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


@dataclass(frozen=True)
class _Side:
    """What items weigh on one side of their pairs: ``inner`` is summed, ``outer`` multiplies the sum over partners."""

    inner: NDArray[np.int32] | Float
    outer: Float
    uniform: bool

    @property
    def whole(self) -> bool:
        """Whether all weights are zero or one."""
        return self.inner.dtype == np.int32

    @cached_property
    def asked(self) -> NDArray[np.bool_] | None:
        """Which items have a weight; None if all have."""
        return None if self.uniform else np.asarray(self.inner != 0, dtype=np.bool_)

    def sorted(self, order: Index) -> _Side:
        """Return the weights in another order."""
        inner = self.inner if self.uniform else self.inner[order]
        return _Side(inner, self.outer[order] if len(self.outer) > 1 else self.outer, self.uniform)

    def weigh(self, values: NDArray[Any]) -> Float:
        """Multiply by the weights of the items; without a copy if all weights are one."""
        if len(self.outer) == 1 and self.outer[0] == 1.0:
            return values.astype(np.float64, copy=False)
        weighed: Float = self.outer * values
        return weighed


class _PlacedScoredPairs(PlacedPairs):
    """Scored pairs with the items of each query in the order of their scores."""

    def __init__(self, pairs: ScoredPairs, f: Float) -> None:
        self.pairs = pairs
        gathered: Float = pairs._gather(f)
        order = sort_queries(gathered, pairs.bounds)
        self.sorted: Float = gathered[order]
        self.levels: NDArray[np.int32] = pairs.levels[order]
        self.upper = pairs.upper.sorted(order)
        self.lower = self.upper if pairs.lower is pairs.upper else pairs.lower.sorted(order)
        self.order: Index = order if pairs.by_query is None else pairs.by_query[order]
        middle = self.sorted[(pairs.bounds[:-1] + pairs.bounds[1:]) // 2]
        self.scores = self.sorted - (middle if len(middle) == 1 else np.repeat(middle, np.diff(pairs.bounds)))

    def bring(self, values: Float) -> Float:
        """Sort values as the items are sorted."""
        return values[self.order]

    def back(self, values: Float) -> Float:
        """Reorder sorted values to the order of the items."""
        result = np.empty(len(values))
        result[self.order] = values
        return result

    @cached_property
    def _chunks(self) -> LevelChunks:
        return LevelChunks(self.sorted, self.levels, self.pairs.bounds, self.pairs.n_levels)

    def _sweep(self, lower: NDArray[Any], upper: NDArray[Any], low: float, high: float) -> tuple[Complex, Complex]:
        """Sum values of the partners below and of those above each item, in sorted order."""
        pairs = self.pairs
        lower, upper = (values.astype(np.complex128, copy=False) for values in (lower, upper))
        if upper.itemsize * int(pairs.n_levels.max(initial=0)) > CHUNKED_BYTES:
            return self._chunks.sums(lower, upper, low, high)
        sizes = pairs.bounds, pairs.n_levels
        below = sums_below(self.sorted, self.levels, lower, *sizes, low, high, FEW_LEVELS)
        return below, sums_above(self.sorted, self.levels, upper, *sizes, low, high, FEW_LEVELS, self.lower.asked)

    def counts(self, threshold: float) -> tuple[Float, Float]:
        """Count by two sweeps, over whole numbers where the items have no weights."""
        below, above = self._sweep(self.lower.inner, self.upper.inner, -np.inf, threshold)
        return self.upper.weigh(below.real), self.lower.weigh(above.real)

    def sums(self, v: Float, low: float, high: float) -> Float:
        """Sum by two sweeps."""
        values = self.upper.inner * v
        below, above = self._sweep(values if self.lower is self.upper else self.lower.inner * v, values, low, high)
        if self.lower is not self.upper:
            return self.upper.weigh(below.real) + self.lower.weigh(above.real)
        return self.upper.weigh(below.real + above.real)

    def band(self, low: float, high: float) -> tuple[Float, Float, Float]:
        """Count and sum by the same two sweeps: counts are the real parts, sums the imaginary ones."""
        values = self._band_values(self.upper)
        below, above = self._sweep(
            values if self.lower is self.upper else self._band_values(self.lower), values, low, high
        )
        won, lost = self.upper.weigh(below.real), self.lower.weigh(above.real)
        if self.lower is self.upper:
            return won, lost, self.upper.weigh(below.imag + above.imag)
        return won, lost, self.upper.weigh(below.imag) + self.lower.weigh(above.imag)

    def _band_values(self, side: _Side) -> NDArray[np.complex128]:
        values = np.empty(len(self.sorted), dtype=np.complex128)
        values.real, values.imag = side.inner, side.inner * self.scores
        return values

    def weights(self, places: Index, low: float, high: float) -> Float:
        """Compare every two of the items, by the expressions of the sweeps."""
        f, levels, queries = self.sorted[places], self.levels[places], self.pairs.bounds.searchsorted(places, "right")
        taken = f[:, None] - high < f
        taken &= levels[:, None] > levels
        if np.isfinite(low):
            taken &= f[:, None] - low >= f
        if len(self.pairs.bounds) > 2:
            taken &= queries[:, None] == queries
        upper, lower = self.upper, self.lower
        weights: Float = taken.astype(np.float64)
        if not lower.uniform:
            weights *= lower.inner[places]
        weights *= upper.outer[places, None] if len(upper.outer) > 1 else upper.outer[0]
        return weights

    def band_rounding(self, low: float, high: float, enough: float) -> tuple[float, float]:
        """Bound the rounding errors that removed values leave in the running sums.

        An item's sum is one of a few running sums at most, each of which rounds at every change what it holds. Whole
        numbers are not rounded, nor are multiples of a unit.
        """
        pairs = self.pairs
        largest, whole = float(np.abs(self.scores).max()), self.upper.whole and self.lower.whole
        units = self.scores / pairs.unit(largest)
        if whole and np.array_equal(units, np.round(units)):
            return 0.0, 0.0
        few = 2 * max(FEW_LEVELS, int(pairs.n_levels.max()).bit_length())
        outer = max(float(self.upper.outer.max()), float(self.lower.outer.max()))
        inner = self.upper.inner if self.lower is self.upper else np.maximum(self.upper.inner, self.lower.inner)
        unit = sum_error(2) * few * outer * len(self.sorted)
        mass = 2.0 * float(np.diff(pairs.bounds).max()) ** 2 * float(inner.max())
        if unit * mass * largest > enough:
            mass = rounded_mass(self.sorted, inner.astype(np.float64, copy=False), pairs.bounds, low, high)
        return 0.0 if whole else unit * mass, unit * mass * largest
