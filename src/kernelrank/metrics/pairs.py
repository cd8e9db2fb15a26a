r"""Pairs: the share of the pairs of a query that the predictions put in the right order.

With D the pairs in the wrong order, T those with tied predictions and P all pairs whose true scores differ,

.. math:: \text{disagreement} = \frac{D + T/2}{P}, \qquad \text{accuracy} = 1 - \text{disagreement}.

Items are sorted by prediction, and runs of tied predictions by true score; D is then the number of
inversions that a merge sort by true score undoes, T and P come from the lengths of runs [Kni66].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelrank.base.arrays import Labels
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.judged_items import FloatArray, JudgedItems
from kernelrank.metrics.measure import Measure
from kernelrank.metrics.measure_result import MeasureResult
from kernelrank.metrics.roc import Components
from kernelrank.metrics.segments import differing_pairs, sort_segments

__all__ = [
    "AUC",
    "Disagreement",
    "PairCounts",
    "PairwiseAccuracy",
    "auc",
    "disagreement",
    "pairwise_accuracy",
]


@dataclass(frozen=True)
class PairCounts:
    """The weight of the pairs of each query, by kind; each array has one entry per query.

    Parameters
    ----------
    ordered : ndarray of float64
        Pairs whose true scores differ.
    discordant : ndarray of float64
        Those of them that the predictions put in the wrong order.
    tied : ndarray of float64
        Those of them whose predictions tie.
    separated : ndarray of float64
        Pairs whose predictions differ, whatever their true scores.
    levels : ndarray of int64
        How many different true scores there are.

    Examples
    --------
    >>> from kernelrank.metrics.judged_items import read_items
    >>> (items,) = read_items([1, 2, 3], [1, 3, 2], None, None)
    >>> PairCounts.of(items).discordant
    array([1.])
    """

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


@dataclass(frozen=True)
class PairMeasure(Measure):
    """What the measures of pairs share: weights, and which queries hold no pair."""

    takes_weight: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return ("tied predictions count a half", "tied true scores are no pair")

    def _disagreement(self, counts: PairCounts) -> FloatArray:
        share = np.full(len(counts.ordered), np.nan)
        np.divide(counts.discordant + counts.tied / 2, counts.ordered, out=share, where=counts.ordered > 0)
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
    """The share of pairs in the wrong order: one minus the pairwise accuracy; 0 is perfect.

    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> Disagreement()([3, 2, 1, 1], [0.9, 0.1, 0.4, 0.1]).values
    array([0.3])
    """

    higher_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "disagreement"

    def _values(self, items: JudgedItems) -> FloatArray:
        return self._disagreement(PairCounts.of(items))


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


def pairwise_accuracy(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: Labels | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | MeasureResult:
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
    measure = PairwiseAccuracy()
    call = measure if per_query else measure.average
    return call(y_true, y_score, qid=qid, sample_weight=sample_weight)


def disagreement(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: Labels | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | MeasureResult:
    """Return the mean share of pairs in the wrong order; see `Disagreement`.

    The arguments are those of `pairwise_accuracy`.

    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> disagreement([1, 2, 3], [1, 3, 3])
    0.1666...
    """
    measure = Disagreement()
    call = measure if per_query else measure.average
    return call(y_true, y_score, qid=qid, sample_weight=sample_weight)


def auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: Labels | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | MeasureResult:
    """Return the mean area under the ROC curve per query; see `AUC`, and `pairwise_accuracy` for the arguments.

    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> auc([-1, -1, 1], [0.1, 0.4, 0.3])
    0.5
    """
    measure = AUC()
    call = measure if per_query else measure.average
    return call(y_true, y_score, qid=qid, sample_weight=sample_weight)
