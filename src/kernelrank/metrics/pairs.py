r"""Pairs: the share of the pairs of a query that the predictions put in the right order.

With D the pairs in the wrong order, T those with tied predictions and P all pairs whose true scores differ,

.. math:: \text{disagreement} = \frac{D + T/2}{P}, \qquad \text{accuracy} = 1 - \text{disagreement}.

Items are sorted by prediction, and runs of tied predictions by true score; D is then the number of
inversions that a merge sort by true score undoes, T and P come from the lengths of runs [Kni66].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.compiled import compiled
from kernelrank.base.validation import check_option
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.measure import (
    FloatArray,
    JudgedItems,
    Measure,
    MeasureResult,
    has_options_of,
    measure_by,
)
from kernelrank.metrics.roc import Components


@dataclass(frozen=True)
class PairCounts:
    """The weight of the pairs of each query, by kind; each array has one entry per query."""

    ordered: FloatArray
    discordant: FloatArray
    tied: FloatArray
    separated: FloatArray
    levels: NDArray[np.int64]

    @classmethod
    def of(cls, items: JudgedItems) -> PairCounts:
        """Count the pairs of each query: O(m log m) time, O(m) memory."""
        order, bounds = items.order(items.score), items.queries.bounds
        y, score = items.y[order], items.score[order]
        weight = np.ones(len(y)) if items.weight is None else items.weight[order]
        separated = differing_pairs(score, weight, bounds)
        tied = np.zeros(len(bounds) - 1)
        runs = _runs(score, bounds)
        if len(runs) <= len(y):
            # Inside a run of tied predictions no order is wrong: sorting it first leaves no inversion there.
            sort_segments(y, weight, runs)
            tied += np.add.reduceat(
                differing_pairs(y, weight, runs), np.searchsorted(runs, bounds[:-1]).astype(np.int64)
            )
        discordant = sort_segments(y, weight, bounds)
        ordered = differing_pairs(y, weight, bounds)
        levels = np.diff(np.searchsorted(_runs(y, bounds), bounds))
        return cls(ordered, discordant, tied, separated, levels)


def _runs(values: FloatArray, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where runs of equal values begin, no run going beyond its segment, closed by m."""
    begins = np.ones(len(values) + 1, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=begins[1:-1])
    begins[bounds] = True
    return np.flatnonzero(begins).astype(np.int64)


_TIE_RULES = {
    "half": ("tied predictions count a half", "tied true scores are no pair"),
    "error": ("tied predictions are errors", "tied true scores are no pair"),
    "all_pairs": ("a tie on one side counts a half", "all pairs"),
}


@dataclass(frozen=True)
class PairMeasure(Measure):
    """What the measures of pairs share: weights, and which queries hold no pair."""

    takes_weight: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return _TIE_RULES["half"]

    def _disagreement(self, counts: PairCounts) -> FloatArray:
        return self._share(counts.discordant + counts.tied / 2, counts.ordered)

    def _share(self, wrong: FloatArray, pairs: FloatArray) -> FloatArray:
        share = np.full(len(pairs), np.nan)
        np.divide(wrong, pairs, out=share, where=pairs > 0)
        clipped: FloatArray = np.minimum(share, 1.0)  # the sums are rounded in different orders
        return clipped

    def _why_nothing(self, items: JudgedItems) -> str:
        return why_no_pair(items)


def why_no_pair(items: JudgedItems) -> str:
    """Return why no query holds a pair of items whose true scores differ."""
    single = int(np.sum(items.queries.sizes == 1))
    rest = len(items.queries) - single
    weighted = "" if items.weight is None else ", or differ only where a weight is 0"
    if len(items.queries) == 1:
        return "there is one item only" if single else f"all true scores are tied{weighted}"
    return f"queries of one item: {single}, queries whose true scores are all tied{weighted}: {rest}"


@dataclass(frozen=True)
class PairwiseAccuracy(PairMeasure):
    """The share of pairs in the right order; 1 is perfect, 0.5 is a random order.

    A pair with tied predictions counts a half; items with tied true scores are not a pair. Queries without a pair
    are left out and counted. A pair weighs w_i w_j: a weight of 3 has the same effect as three copies of the item
    (copies are tied, so they are not pairs).

    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> print(PairwiseAccuracy()([3, 2, 1, 1], [0.9, 0.1, 0.4, 0.1]))
    pairwise accuracy (tied predictions count a half, ...) = 0.7000 over 1 query, 0 left out
    """

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "pairwise accuracy"

    def _values(self, items: JudgedItems) -> FloatArray:
        return 1 - self._disagreement(PairCounts.of(items))


@dataclass(frozen=True)
class Disagreement(PairMeasure):
    """The share of pairs in the wrong order: by default one minus the pairwise accuracy; 0 is perfect.

    Parameters
    ----------
    ties : {"half", "error", "all_pairs"}, default="half"
        How ties count.

        * "half": a pair with tied predictions counts a half, and items with tied true scores are no pair [Air11], 3.2.
        * "error": a pair with tied predictions counts as one in the wrong order [PTAJB09].
        * "all_pairs": all pairs of a query are the denominator; a pair that is tied in the true scores or in the
          predictions, but not in both, counts a half [PSBS07]. [TPBSH11] comes to the same by another signum.

    Notes
    -----
    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> Disagreement()([3, 2, 1, 1], [0.9, 0.1, 0.4, 0.1]).values
    array([0.3])
    >>> print(Disagreement("all_pairs")([3, 2, 1, 1], [0.9, 0.1, 0.4, 0.1]))
    disagreement (a tie on one side counts a half, all pairs) = 0.3333 over 1 query, 0 left out
    """

    ties: str = "half"

    higher_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_option("ties", self.ties, tuple(_TIE_RULES))

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return _TIE_RULES[self.ties]

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "disagreement"

    def _values(self, items: JudgedItems) -> FloatArray:
        counts = PairCounts.of(items)
        if self.ties == "half":
            return self._disagreement(counts)
        if self.ties == "error":
            return self._share(counts.discordant + counts.tied, counts.ordered)
        tied_in_truth = np.maximum(counts.separated - (counts.ordered - counts.tied), 0.0)
        return self._share(counts.discordant + (counts.tied + tied_in_truth) / 2, _all_pairs(items))

    def _why_nothing(self, items: JudgedItems) -> str:
        if self.ties == "all_pairs":
            return f"each of the queries ({len(items.queries)}) has one item only, or one of a weight above 0"
        return super()._why_nothing(items)


def _all_pairs(items: JudgedItems) -> FloatArray:
    """Return the weight of all pairs of each query, tied or not."""
    order, bounds = items.order(items.score), items.queries.bounds
    weight = np.ones(len(order)) if items.weight is None else items.weight[order]
    return differing_pairs(np.arange(len(order), dtype=np.float64), weight, bounds)


@dataclass(frozen=True)
class AUC(PairMeasure):
    """The area under the ROC curve of each query: the pairwise accuracy where y has two levels.

    The two levels may be any two numbers, 0 and 1 or -1 and 1; a query with one level only is left out and
    counted, and a query with three is an error (its pairs have an accuracy, but no ROC curve). The higher level is
    positive.

    The interval of one query without weights is DeLong's; that of several is a bootstrap over queries.

    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> AUC()([1, 0, 1, 0], [0.9, 0.1, 0.4, 0.4]).mean
    0.875
    """

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "AUC"

    def _values(self, items: JudgedItems) -> FloatArray:
        counts = PairCounts.of(items)
        if (counts.levels > 2).any():
            query = int(np.argmax(counts.levels > 2))
            label = items.queries.labels[query : query + 1].tolist()[0]  # as Python prints it, not NumPy
            place = f" in query {label!r}" if len(items.queries) > 1 else ""
            raise InvalidInputError(
                f"AUC needs two levels of y, but there are {counts.levels[query]}{place}; "
                "pairwise accuracy measures graded scores"
            )
        return 1 - self._disagreement(counts)

    def _measure(self, items: JudgedItems) -> MeasureResult:
        """Measure, and keep the win rates of the items where one query is measured and no item weighs more."""
        result = super()._measure(items)
        if len(result) > 1 or items.weight is not None:
            return result
        (members,) = (query for query in items.queries if np.ptp(items.y[query]) > 0)
        positive = items.y[members] == items.y[members].max()
        scores = items.score[members]
        return replace(result, components=Components.of_scores(scores[positive], scores[~positive]))

    def _why_nothing(self, items: JudgedItems) -> str:
        return f"{why_no_pair(items)}; it needs two classes in some query"


@has_options_of(PairwiseAccuracy)
def pairwise_accuracy(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean share of pairs in the right order; see `PairwiseAccuracy`.

    O(m log m) time, O(m) memory.

    Parameters
    ----------
    y_true, y_score : array-like, shape (m,) or (m, outputs)
        True and predicted scores; several outputs are averaged.
    qid : sequence or None
        One query label per item; None puts all items into one query.
    sample_weight : array-like, shape (m,), or None
        Item weights; a pair weighs w_i w_j.
    per_query : bool, default=False
        Whether to return the values of the queries.

    Returns
    -------
    float or MeasureResult

    Examples
    --------
    >>> pairwise_accuracy([1, 2, 1, 2], [1, 2, 2, 1], qid=["a", "a", "b", "b"])
    0.5
    """
    return measure_by(PairwiseAccuracy, *scores, **options)


@has_options_of(Disagreement)
def disagreement(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean share of pairs in the wrong order; see `Disagreement`.

    The arguments are those of `pairwise_accuracy`, and `ties`, one of "half", "error" and "all_pairs".

    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> disagreement([1, 2, 3], [1, 3, 3])
    0.1666...
    """
    return measure_by(Disagreement, *scores, **options)


@has_options_of(AUC)
def auc(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean area under the ROC curve per query; see `AUC`, and `pairwise_accuracy` for the arguments.

    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> auc([-1, -1, 1], [0.1, 0.4, 0.3])
    0.5
    """
    return measure_by(AUC, *scores, **options)


# Kendall --------------------------------------------------------------------------------------------------------------
#
# Kendall's tau_b: concordant minus discordant pairs, corrected for ties on both sides.
#
# .. math:: \tau_b = \frac{C - D}{\sqrt{P S}} = \frac{P - T - 2 D}{\sqrt{P S}}
#
# with P the pairs whose true scores differ, S those whose predictions differ, T those of P whose predictions
# tie [Kni66]. The root is taken of each factor: P S does not fit into 64 bits for a query of 10⁵ items.


@dataclass(frozen=True)
class KendallTau(Measure):
    """Kendall's tau_b of each query; 1 is perfect, 0 is chance, -1 is reversed.

    A query with one item, or whose true scores are all tied, is left out and counted. A query whose
    predictions are all tied has the value 0 (SciPy returns NaN; leaving the query out would allow a model to
    choose which queries it is measured on).

    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> print(KendallTau()([1, 2, 3, 3], [0.1, 0.3, 0.2, 0.4]))
    Kendall tau_b (a query of tied predictions counts 0) = 0.5477 over 1 query, 0 left out
    """

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "Kendall tau_b"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return ("a query of tied predictions counts 0",)

    def _values(self, items: JudgedItems) -> FloatArray:
        counts = PairCounts.of(items)
        difference = counts.ordered - counts.tied - 2 * counts.discordant
        scale = np.sqrt(counts.ordered) * np.sqrt(counts.separated)
        values = np.where(counts.ordered > 0, 0.0, np.nan)
        np.divide(difference, scale, out=values, where=scale > 0)
        return np.clip(values, -1.0, 1.0)

    def _why_nothing(self, items: JudgedItems) -> str:
        return why_no_pair(items)


@has_options_of(KendallTau)
def kendall_tau(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean tau_b per query; see `KendallTau`.

    O(m log m) time, O(m) memory.

    Parameters
    ----------
    y_true, y_score, qid, per_query
        As in `pairwise_accuracy`.

    Returns
    -------
    float or MeasureResult

    Examples
    --------
    >>> kendall_tau([1, 2, 3], [3, 2, 1])
    -1.0
    """
    return measure_by(KendallTau, *scores, **options)


# Magnitude ------------------------------------------------------------------------------------------------------------
#
# Magnitudes: how far predicted differences of scores are from the true ones.
#
# With :math:`d_i = y_i - f_i`, the mean over the pairs of a query with n items is twice the variance of d,
#
# .. math:: \frac{2}{n(n - 1)} \sum_{i < j} \bigl((y_i - y_j) - (f_i - f_j)\bigr)^2
#    = \frac{2}{n - 1} \sum_i (d_i - \bar d)^2,
#
# the loss that RankRLS minimises [CMR07], divided by the number of pairs.


@dataclass(frozen=True)
class MagnitudePreservingError(Measure):
    """The mean squared error of predicted differences, over all pairs of a query; 0 is perfect.

    Pairs with tied true scores count like all others: their difference should be 0. Queries of one item are left out
    and counted. A constant added to the scores of a query changes nothing; another scale does.

    O(m) time and memory.

    Examples
    --------
    >>> print(MagnitudePreservingError()([3, 1, 1], [2, 1, 0]))
    magnitude-preserving error (all pairs of a query, tied true scores too) = 0.6667 over 1 query, 0 left out
    """

    higher_is_better: ClassVar[bool] = False
    by_order: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "magnitude-preserving error"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return ("all pairs of a query", "tied true scores too")

    def _values(self, items: JudgedItems) -> FloatArray:
        codes, n = items.queries.codes, items.queries.sizes
        with np.errstate(over="ignore", invalid="ignore"):
            d = items.y - items.score
            mean = np.bincount(codes, weights=d) / n
            values = 2 * np.bincount(codes, weights=(d - mean[codes]) ** 2) / np.maximum(n - 1, 1)
        if not np.isfinite(values).all():
            raise InvalidInputError(
                f"{self.name}: the squared differences are too large for double precision; scale y_true and y_score"
            )
        return np.where(n > 1, values, np.nan)

    def _why_nothing(self, items: JudgedItems) -> str:
        return f"each of the queries ({len(items.queries)}) has one item only"


@has_options_of(MagnitudePreservingError)
def magnitude_preserving_error(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean squared error of predicted differences; see `MagnitudePreservingError`.

    O(m) time and memory.

    Parameters
    ----------
    y_true, y_score, qid, per_query
        As in `pairwise_accuracy`.

    Returns
    -------
    float or MeasureResult

    Examples
    --------
    >>> magnitude_preserving_error([1, 2, 3], [11, 12, 14])
    0.666...
    """
    return measure_by(MagnitudePreservingError, *scores, **options)


# Segments -------------------------------------------------------------------------------------------------------------
#
# Segments of a sorted array: compiled sweeps that count pairs without visiting them.
#
# They take values and weights in segments (queries, or runs of tied scores) and sum w_i w_j over the pairs of
# one segment that satisfy a condition. Every sum has non-negative terms only, so nothing cancels; with whole
# weights each is exact below 2⁵³, which one query of 10⁸ items of weight one does not reach.


def sort_segments(values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64]) -> FloatArray:
    """Sort each segment in place, ascending, weights along, and weigh the inverted pairs that this undoes.

    An inverted pair is i before j with values[i] > values[j].

    Time O(m log n) for segments of n items, memory O(n).

    Shapes: values, weight (m,), bounds (n_segments + 1,); returns (n_segments,).

    values, weight: Both are overwritten.
    """
    inverted, run = np.zeros(len(bounds) - 1), 16  # items that insertion sorts faster than merging
    _sort_runs(values, weight, bounds, run, inverted)
    longest = int(np.diff(bounds).max(initial=0))
    if longest > run:
        _merge_runs(values, weight, bounds, run, inverted, *np.empty((2, longest)))
    return inverted


@compiled
def _sort_runs(
    values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64], run: int, inverted: FloatArray
) -> None:
    """Sort the runs that a segment is cut into by insertion; a step undoes one inverted pair."""
    for s in range(len(inverted)):
        for first in range(bounds[s], bounds[s + 1], run):
            for i in range(first + 1, min(first + run, bounds[s + 1])):
                v, w, j = values[i], weight[i], i
                while j > first and values[j - 1] > v:
                    inverted[s] += weight[j - 1] * w
                    values[j], weight[j] = values[j - 1], weight[j - 1]
                    j -= 1
                values[j], weight[j] = v, w


@compiled
def _merge_runs(
    values: FloatArray,
    weight: FloatArray,
    bounds: NDArray[np.int64],
    run: int,
    inverted: FloatArray,
    left_values: FloatArray,
    left_weight: FloatArray,
) -> None:
    """Merge neighbouring runs; a left item was inverted with the smaller right items taken before it."""
    for s in range(len(inverted)):
        start, stop, width = bounds[s], bounds[s + 1], run
        while width < stop - start:
            for first in range(start, stop - width, 2 * width):
                middle, last = first + width, min(first + 2 * width, stop)
                if values[middle - 1] <= values[middle]:
                    continue
                for i in range(width):
                    left_values[i], left_weight[i] = values[first + i], weight[first + i]
                i, j, target, smaller = 0, middle, first, 0.0
                while i < width:  # after that, what is left of the right run stands where it belongs
                    if j < last and values[j] < left_values[i]:
                        smaller += weight[j]
                        values[target], weight[target] = values[j], weight[j]
                        j += 1
                    else:
                        inverted[s] += left_weight[i] * smaller
                        values[target], weight[target] = left_values[i], left_weight[i]
                        i += 1
                    target += 1
            width *= 2


def differing_pairs(values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64]) -> FloatArray:
    """Weigh the pairs of each segment whose values differ, in segments where equal values are contiguous.

    Time O(m), memory O(n_segments).

    Shapes: values, weight (m,), bounds (n_segments + 1,); returns (n_segments,).
    """
    differing = np.zeros(len(bounds) - 1)
    _weigh_differing(values, weight, bounds, differing)
    return differing


@compiled
def _weigh_differing(values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64], differing: FloatArray) -> None:
    """Fill in what `differing_pairs` returns."""
    for s in range(len(bounds) - 1):
        total, before, level = 0.0, 0.0, 0.0
        for i in range(bounds[s], bounds[s + 1]):
            if i > bounds[s] and values[i] != values[i - 1]:
                before += level
                level = 0.0
            total += weight[i] * before
            level += weight[i]
        differing[s] = total
