r"""Levels: predicted levels against true ones, and how often one item of each level is in order.

With true levels y and predicted levels p,

.. math:: \text{error} = \overline{|y - p|}, \qquad
   \kappa = 1 - \frac{\overline{(y - p)^2}}{\operatorname{var} y + \operatorname{var} p + (\bar y - \bar p)^2},

where the denominator is the mean of ``(y_i - p_j)²`` over all i and j: what predictions would have that are as frequent
but know nothing. A *chain* is one item of each level, drawn at random. It is in order if its scores ascend; ties are
broken at random, so that r tied items of the chain are in order with probability 1 / r!. Chains are counted in one
sweep: with ``c_j`` chains of the first j levels so far, a run of equal scores with ``n_l`` items of level l adds

    ``c_i n_{i+1} … n_j / (j - i)!``      to ``c_j``, for all i < j.

With two levels this is the AUC; in general it is the volume under the ROC surface [WDB08].

References
----------
.. [WDB08] Waegeman, De Baets and Boullart (2008). ROC analysis in ordinal regression learning. Pattern Recognition
   Letters 29.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.compiled import compiled
from kernelrank.metrics.measure import FloatArray, JudgedItems, Measure, MeasureResult, has_options_of, measure_by
from kernelrank.metrics.pairs import why_no_pair


@dataclass(frozen=True)
class LevelMeasure(Measure):
    """What measures of predicted levels share."""

    by_order: ClassVar[bool] = False
    takes_levels: ClassVar[bool] = True

    def _means(self, items: JudgedItems, values: FloatArray) -> FloatArray:
        codes = items.queries.codes
        return np.asarray(np.bincount(codes, weights=values) / np.bincount(codes))

    def _why_nothing(self, items: JudgedItems) -> str:
        return why_no_pair(items)


@dataclass(frozen=True)
class LevelError(LevelMeasure):
    """The mean absolute difference of predicted and true levels, taken as numbers; 0 is perfect.

    O(m) time and memory.

    Examples
    --------
    >>> print(LevelError()([1, 2, 3, 3], [1, 3, 3, 1]))
    level error (mean absolute difference) = 0.7500 over 1 query, 0 left out
    """

    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "level error"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return ("mean absolute difference",)

    def _values(self, items: JudgedItems) -> FloatArray:
        return self._means(items, np.abs(items.y - items.score))


@dataclass(frozen=True)
class QuadraticWeightedKappa(LevelMeasure):
    """The agreement of predicted and true levels beyond chance, by squared differences; 1 is perfect, 0 is chance.

    A query where all true and predicted levels are equal is left out and counted.

    O(m) time and memory.

    Examples
    --------
    >>> round(QuadraticWeightedKappa()([1, 2, 3, 3], [1, 3, 3, 1]).mean, 4)
    0.2857
    """

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "quadratic weighted kappa"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return ("levels as numbers",)

    def _values(self, items: JudgedItems) -> FloatArray:
        largest = max(np.abs(items.y).max(initial=0.0), np.abs(items.score).max(initial=0.0)) or 1.0
        y, p = items.y / largest, items.score / largest  # so that no square overflows
        mean_y, mean_p = self._means(items, y), self._means(items, p)
        codes = items.queries.codes
        by_chance = self._means(items, (y - mean_y[codes]) ** 2 + (p - mean_p[codes]) ** 2) + (mean_y - mean_p) ** 2
        kappa = np.full(len(by_chance), np.nan)
        np.divide(self._means(items, (y - p) ** 2), by_chance, out=kappa, where=by_chance > 0)
        return 1 - kappa


@dataclass(frozen=True)
class ChainAccuracy(Measure):
    """The probability that one random item of each level has its scores in order; 1 is perfect.

    Levels are those of the query; scores at random have 1 / k! with k levels, and two levels give the AUC. Ties are
    broken at random. A query with one level is left out and counted.

    O(m log m + m k) time, O(m) memory.

    Examples
    --------
    >>> print(ChainAccuracy()([1, 2, 3, 1], [0.1, 0.4, 0.9, 0.4]))
    chain accuracy (one item of each level, ties broken at random) = 0.7500 over 1 query, 0 left out
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "chain accuracy"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return ("one item of each level", "ties broken at random")

    def _values(self, items: JudgedItems) -> FloatArray:
        order, bounds = items.order(items.score, items.y), items.queries.bounds
        shares = np.full(len(items.queries), np.nan)
        for query, (start, stop) in enumerate(itertools.pairwise(bounds)):
            members = order[start:stop]
            levels, codes = np.unique(items.y[members], return_inverse=True)
            if len(levels) > 1:
                shares[query] = _share_of_chains(items.score[members], codes.astype(np.int64), np.bincount(codes))
        return shares

    def _why_nothing(self, items: JudgedItems) -> str:
        return why_no_pair(items)


@compiled
def _share_of_chains(scores: FloatArray, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> float:
    """Sweep over items that ascend by score and then by level; chains are counted as shares, so that none overflows."""
    k = len(counts)
    chains = np.zeros(k + 1)
    chains[0] = 1.0
    share = np.zeros(k)  # of the items of each level, those in the run
    start, m = 0, len(scores)
    while start < m:
        stop = start
        while stop < m and scores[stop] == scores[start]:
            share[codes[stop]] += 1.0 / counts[codes[stop]]
            stop += 1
        # From the highest level down, so that no item of the run follows another one more than once.
        place = stop - 1
        while place >= start:
            j = codes[place]
            while place >= start and codes[place] == j:
                place -= 1
            product, i = 1.0, j
            while i >= 0 and share[i] > 0.0:
                product *= share[i] / (j - i + 1)
                chains[j + 1] += chains[i] * product
                i -= 1
        for place in range(start, stop):
            share[codes[place]] = 0.0
        start = stop
    return float(chains[k])


@has_options_of(LevelError)
def level_error(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean absolute error of predicted levels; see `LevelError`, and `pairwise_accuracy` for the arguments.

    O(m) time and memory.

    Examples
    --------
    >>> level_error([1, 2, 3, 3], [1, 3, 3, 1])
    0.75
    """
    return measure_by(LevelError, *scores, **options)


@has_options_of(QuadraticWeightedKappa)
def quadratic_weighted_kappa(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the quadratic weighted kappa of predicted levels; see `QuadraticWeightedKappa` and `pairwise_accuracy`.

    O(m) time and memory.

    Examples
    --------
    >>> quadratic_weighted_kappa([1, 2, 3], [1, 2, 3])
    1.0
    """
    return measure_by(QuadraticWeightedKappa, *scores, **options)


@has_options_of(ChainAccuracy)
def chain_accuracy(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the probability that one item of each level is in order; see `ChainAccuracy` and `pairwise_accuracy`.

    O(m log m + m k) time for k levels, O(m) memory.

    Examples
    --------
    >>> chain_accuracy([0, 1, 2], [0.1, 0.4, 0.9])
    1.0
    """
    return measure_by(ChainAccuracy, *scores, **options)
