r"""Precision: the share of relevant items among the first ones.

With R relevant items in the list, the average precision is

.. math:: \text{AP} = \frac{1}{R} \sum_{p \text{ relevant}} \frac{\#\{\text{relevant up to } p\}}{p}.

When ties fall at random, a run of n items, r of them relevant, after s places with b relevant items
contributes at its j-th place the probability r/n that the item there is relevant, times the expected number
of relevant ones up to it, over the place [MN08]:

.. math:: \frac{r}{n} \cdot \frac{b + 1 + (j - 1)(r - 1)/(n - 1)}{s + j}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Labels
from kernelrank.metrics.judged_items import FloatArray, JudgedItems
from kernelrank.metrics.lists import BinaryListMeasure, CutBinaryMeasure, RankedLists, TieRule
from kernelrank.metrics.measure import check_cutoff
from kernelrank.metrics.measure_result import MeasureResult
from kernelrank.metrics.relevance import EmptyRule

__all__ = ["MeanAveragePrecision", "Precision", "mean_average_precision", "precision_at"]


@dataclass(frozen=True)
class Precision(BinaryListMeasure):
    """The share of relevant items among the first k.

    A list shorter than k still divides by k, as trec_eval does: its missing items are not relevant. Every tie
    rule is exact.

    O(m log m) time, O(m) memory.

    Parameters
    ----------
    k : int, default=10
        How many places count.
    relevant_from, ties, empty
        See `BinaryListMeasure` and `ListMeasure`.

    Examples
    --------
    >>> print(Precision(2)([1, 0, 2], [0.3, 0.2, 0.2]))
    P@2 (relevant y > 0, ties averaged, empty queries left out) = 0.7500 over 1 query, 0 left out
    """

    k: int = 10

    def __post_init__(self) -> None:
        """Raise an error for unknown options."""
        super().__post_init__()
        check_cutoff(self.k, required=True)

    @property
    def name(self) -> str:
        """The name with its cutoff; `get_measure` reads it."""
        return f"P@{self.k}"

    def _values(self, items: JudgedItems) -> FloatArray:
        lists = RankedLists.of(items, self.ties)
        relevance = self._relevance(lists.y)
        found = lists.sums(lists.tied_mean(relevance), self.k)
        return self._filled(found / self.k, lists.sums(relevance) > 0)


@dataclass(frozen=True)
class MeanAveragePrecision(CutBinaryMeasure):
    """Average precision of each query; its mean is MAP.

    With a cutoff the sum stops at place k, and still divides by the number of all relevant items, as
    trec_eval's map_cut does. Every tie rule is exact.

    O(m log m) time, O(m) memory.

    Parameters
    ----------
    k : int or None, default=None
        How many places count; None counts all.
    relevant_from, ties, empty
        See `BinaryListMeasure` and `ListMeasure`.

    Examples
    --------
    >>> print(MeanAveragePrecision()([1, 0, 1], [0.3, 0.2, 0.1]))
    MAP (relevant y > 0, ties averaged, empty queries left out) = 0.8333 over 1 query, 0 left out
    """

    _short_name: ClassVar[str] = "MAP"

    def _values(self, items: JudgedItems) -> FloatArray:
        lists = RankedLists.of(items, self.ties)
        relevance = self._relevance(lists.y)
        R = lists.sums(relevance)
        found = lists.sums(_precision_where_relevant(relevance, lists), self.k)
        values = np.zeros(len(lists))
        np.divide(found, R, out=values, where=R > 0)
        return self._filled(np.minimum(values, 1.0), R > 0)


def _precision_where_relevant(relevance: FloatArray, lists: RankedLists) -> FloatArray:
    """Return the expected product of relevance and precision at each place, in the symbols above."""
    before = np.concatenate([[0.0], np.cumsum(relevance)])
    starts, n = lists.ties[:-1], lists.tie_sizes
    r = np.add.reduceat(relevance, starts)
    b = before[starts] - before[starts - lists.position[starts] + 1]
    j = np.arange(len(relevance)) - np.repeat(starts, n) + 1
    slope = np.repeat((r - 1) / np.maximum(n - 1, 1), n)
    expected: FloatArray = np.repeat(r / n, n) * (np.repeat(b + 1, n) + (j - 1) * slope) / lists.position
    return expected


def precision_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: Labels | None = None,
    k: int,
    relevant_from: float | None = None,
    ties: TieRule = "average",
    empty: EmptyRule = "skip",
    per_query: bool = False,
) -> float | MeasureResult:
    """Return the mean share of relevant items among the first k; see `Precision`.

    O(m log m) time, O(m) memory.

    Parameters
    ----------
    y_true, y_score, qid, per_query
        As in `pairwise_accuracy`.
    k, relevant_from, ties, empty
        See `Precision`.

    Returns
    -------
    float or MeasureResult

    Examples
    --------
    >>> precision_at([1, 0, 1], [0.3, 0.2, 0.1], k=2)
    0.5
    """
    measure = Precision(k, relevant_from=relevant_from, ties=ties, empty=empty)
    return measure(y_true, y_score, qid=qid) if per_query else measure.average(y_true, y_score, qid=qid)


def mean_average_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: Labels | None = None,
    k: int | None = None,
    relevant_from: float | None = None,
    ties: TieRule = "average",
    empty: EmptyRule = "skip",
    per_query: bool = False,
) -> float | MeasureResult:
    """Return the mean average precision; see `MeanAveragePrecision`, and `precision_at` for the arguments.

    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> mean_average_precision([1, 0, 1, 0, 1], [2, 1, 1, 2, 3], qid=["a", "a", "a", "b", "b"])
    0.958...
    """
    measure = MeanAveragePrecision(k, relevant_from=relevant_from, ties=ties, empty=empty)
    return measure(y_true, y_score, qid=qid) if per_query else measure.average(y_true, y_score, qid=qid)
