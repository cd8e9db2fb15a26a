"""The interfaces of pairs and of pairwise losses at given scores.

A pair (h, l) says that item h belongs above item l. It has a weight and, at scores f, the margin ``f_h - f_l``.
Whatever a loss needs is a sum over pairs in a range of margins: a set of pairs offers these and knows no loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import sort_queries
from kernelrank.base.labels import Queries
from kernelrank.comparisons.graph import PairLevels
from kernelrank.comparisons.scored import QueryWeight, ScoredQueries
from kernelrank.hinge.sweeps import (
    CHUNKED_BYTES,
    FEW_LEVELS,
    Complex,
    LevelChunks,
    rounded_mass,
    sums_above,
    sums_below,
)


class PlacedPairs(ABC):
    """All pairs at given scores; arrays are in an internal order of the items, except in `bring`."""

    scores: Float
    """The scores f less a constant for each query, which no margin sees and rounding does, shape (m,)."""

    @abstractmethod
    def bring(self, values: Float) -> Float:
        """Reorder values of the items, shape (m,), to the internal order."""

    @abstractmethod
    def back(self, values: Float) -> Float:
        """Reorder values from the internal order to the order of the items; the input may be overwritten."""

    @abstractmethod
    def counts(self, threshold: float) -> tuple[Float, Float]:
        """Return, for each item, the weight of the pairs with a margin below `threshold` that it heads, and ends."""

    @abstractmethod
    def sums(self, v: Float, low: float, high: float) -> Float:
        """Return ``Σ weight v_partner`` for each item over its pairs with a margin in ``[low, high)``, either side."""

    @abstractmethod
    def band(self, low: float, high: float) -> tuple[Float, Float, Float]:
        """Return the counts of the pairs with a margin in ``[low, high)`` and the sums of `scores` over them."""

    @abstractmethod
    def weights(self, places: Index, low: float, high: float) -> Float:
        """Return the weights of the pairs between some items with a margin in ``[low, high)``, shape (s, s).

        The row tells the higher item, the column the lower one; `places` are in the order of this.
        """

    @abstractmethod
    def band_rounding(self, low: float, high: float, enough: float) -> tuple[float, float]:
        """Bound the rounding errors of the counts and of the sums of `band`, added up over the items.

        A rough bound of the sums' errors below `enough` is enough.
        """


class Pairs(ABC):
    """Weighted pairs over m items."""

    n_items: int
    """The number of items, m."""

    total: float
    """The sum of the weights of all pairs."""

    n_terms: int
    """How many terms a sum over items or pairs, and one of such sums, may have: what rounding grows with."""

    count_error: float
    """The relative rounding error of counts and of their sum; zero where they are whole numbers."""

    @abstractmethod
    def place(self, f: Float) -> PlacedPairs:
        """Return the pairs with their margins at the scores f, shape (m,)."""

    def without_rounding(self, f: Float) -> Float:
        """Return scores near f whose sums are not rounded, where there are such; f itself otherwise."""
        return f


@dataclass(frozen=True)
class LossPoint:
    """A loss at given scores.

    The plane ``offset + gradient · f`` lies below the loss for all scores f: a point of the dual problem.

    Shapes: gradient (m,).
    """

    value: float
    gradient: Float
    loss: float
    rounding: Callable[[float, float], LossRounding]
    offset: float = 0.0
    plane_rounding: Callable[[float], LossRounding] | None = None
    slack: float = 0.0
    curvature: Curvature | None = None
    inside: Callable[[], Float] | None = None


class PairLoss(ABC):
    """A loss of pairs, summed over all pairs."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs

    @abstractmethod
    def at(self, f: Float) -> LossPoint:
        """Evaluate the loss at the scores f."""


# Listed pairs ---------------------------------------------------------------------------------------------------------
#
# Listed pairs: preferences that were observed one by one.


class ListedPairs(Pairs):
    """A list of l pairs over m items; a pair may occur many times, and in both directions.

    O(m + l) time for everything; memory O(l).

    Shapes: pairs (l, 2), weight (l,).
    """

    def __init__(self, n_items: int, pairs: Index, weight: Float) -> None:
        self.n_items = n_items
        self.head, self.tail = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        self.weight = weight
        self.total = float(weight.sum())
        self.n_terms = 3 * (n_items + len(weight)) + 32
        self.count_error = sum_error(self.n_terms)

    def place(self, f: Float) -> PlacedPairs:
        """Compute the margin of each pair at the scores f."""
        return _PlacedListedPairs(self, f)


class _PlacedListedPairs(PlacedPairs):
    """Listed pairs and their margins."""

    def __init__(self, pairs: ListedPairs, f: Float) -> None:
        self.pairs = pairs
        self.scores = f - f.mean()
        # The same expression as for scored pairs, so that both take the same pairs.
        self.f_head, self.f_tail = f[pairs.head], f[pairs.tail]

    def bring(self, values: Float) -> Float:
        """Return the values unchanged: the internal order is that of the items."""
        return values

    def back(self, values: Float) -> Float:
        """Return the values unchanged: the internal order is that of the items."""
        return values

    def _weight(self, low: float, high: float) -> Float:
        inside = (self.f_head - high < self.f_tail) & ~(self.f_head - low < self.f_tail)
        weight: Float = np.where(inside, self.pairs.weight, 0.0)
        return weight

    def _add(self, items: Index, values: Float) -> Float:
        return np.bincount(items, weights=values, minlength=self.pairs.n_items).astype(np.float64)

    def counts(self, threshold: float) -> tuple[Float, Float]:
        """Add up the weights at both ends."""
        weight = self._weight(-np.inf, threshold)
        return self._add(self.pairs.head, weight), self._add(self.pairs.tail, weight)

    def band(self, low: float, high: float) -> tuple[Float, Float, Float]:
        """Add up both the weights and the scores."""
        weight = self._weight(low, high)
        sums = self.sums(self.scores, low, high)
        return self._add(self.pairs.head, weight), self._add(self.pairs.tail, weight), sums

    def weights(self, places: Index, low: float, high: float) -> Float:
        """Add up the pairs between the places."""
        size = len(places)
        number = np.full(self.pairs.n_items, -1)
        number[places] = np.arange(size)
        head, tail = number[self.pairs.head], number[self.pairs.tail]
        among = (head >= 0) & (tail >= 0)
        cells, weight = (head * size + tail)[among], self._weight(low, high)[among]
        return np.bincount(cells, weights=weight, minlength=size**2).astype(np.float64).reshape(size, size)

    def band_rounding(self, low: float, high: float, enough: float) -> tuple[float, float]:  # noqa: ARG002
        """Bound the rounding errors of `band`: a fraction of the sum of absolute values."""
        counts = sum_error(self.pairs.n_terms) * 2.0 * float(self._weight(low, high).sum())
        return counts, counts * float(np.abs(self.scores).max())

    def sums(self, v: Float, low: float, high: float) -> Float:
        """Add up the other end's value at each end."""
        weight, head, tail = self._weight(low, high), self.pairs.head, self.pairs.tail
        return self._add(head, weight * v[tail]) + self._add(tail, weight * v[head])


# Scored pairs ---------------------------------------------------------------------------------------------------------
#
# Scored pairs: every two items of a query with different scores, never written out.

Number = TypeVar("Number", bound=np.generic)


class ScoredPairs(Pairs):
    """The pairs (h, l) of each query whose levels differ, of weight ``c_q upper_h lower_l``: scores, or censored times.

    O(m) time to build, O(m log m) to place, and for each sum, for any number of levels; memory O(m).
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

        Shapes: y (m,), weight (m,).
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


# Curvature ------------------------------------------------------------------------------------------------------------
#
# The curvature of a loss: the Hessian H by the scores, a Laplacian of the pairs in a range of margins.
#
# Products with H come from sweeps. Where few items have such pairs, H itself is a small matrix of these items.


@dataclass(frozen=True)
class Curvature:
    """``H = scale · L``, where L is the Laplacian of the pairs with a margin in ``[low, high)``.

    O(m log m) time for a product with scored pairs; `matrix` takes s² time and memory for s items.

    Shapes: degree (m,).
    """

    placed: PlacedPairs
    degree: Float
    low: float
    high: float
    scale: float

    def __call__(self, v: Float) -> Float:
        """Return ``H v``."""
        v = self.placed.bring(v)
        return self.placed.back(self.scale * (self.degree * v - self.placed.sums(v, self.low, self.high)))

    @property
    def trace(self) -> float:
        """The trace of H."""
        return self.scale * float(self.degree.sum())

    @property
    def n_curved(self) -> int:
        """The number of items that have pairs in the range."""
        return int(np.count_nonzero(self.degree))

    def matrix(self) -> tuple[Index, Float]:
        """Return the items that have pairs in the range, shape (s,), and H among them, shape (s, s)."""
        places = np.flatnonzero(self.degree)
        W = self.placed.weights(places, self.low, self.high)
        W += W.T
        degree = W.sum(axis=1)
        W *= -self.scale
        W[np.diag_indices_from(W)] += self.scale * degree
        numbers = self.placed.bring(np.arange(len(self.degree), dtype=np.float64))
        return numbers[places].astype(np.int64), W

    def times(self, factor: float) -> Curvature:
        """Return the curvature of the loss times a factor."""
        return replace(self, scale=self.scale * factor)


# Loss rounding --------------------------------------------------------------------------------------------------------
#
# Bounds of the rounding errors of sums in double precision.
#
# A sum of n terms, in whatever order, is off by at most ``sum_error(n)`` times the sum of their absolute values.


def sum_error(terms: float) -> float:
    """Return the largest relative error of a sum of n terms, ``n u / (1 - n u)``.

    u is half the distance from one to the next number.
    """
    part = terms * float(np.finfo(np.float64).eps) / 2.0
    return part / (1.0 - min(part, 0.5))


@dataclass(frozen=True)
class LossRounding:
    """Bounds of the errors of a number and of a gradient that comes with it."""

    value: float
    gradient: float
