r"""Gain: discounted cumulative gain, normalised by its best value.

.. math:: \text{nDCG@}k = \frac{1}{Z} \sum_{p=1}^{k} \frac{g(y_{(p)})}{\log_2(1 + p)}

with :math:`y_{(p)}` the grade at place p and Z the same sum in the best order. LETOR's evaluation divides by
:math:`\log_2(p)` from place 2 on, so that places 1 and 2 count the same. When ties fall at random the expected gain
at a place is the mean gain of the tied items that compete for it [MN08].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Labels
from kernelrank.metrics.judged_items import FloatArray, JudgedItems
from kernelrank.metrics.lists import ListMeasure, RankedLists, TieRule, check_grades
from kernelrank.metrics.measure import check_cutoff, check_option
from kernelrank.metrics.measure_result import MeasureResult
from kernelrank.metrics.relevance import EmptyRule
from kernelrank.metrics.segments import sort_segments

__all__ = ["NDCG", "Discount", "Gain", "ndcg"]

Gain = Literal["exponential", "linear"]
Discount = Literal["log2", "letor"]

_GAINS = ("exponential", "linear")
_DISCOUNTS = {"log2": "", "letor": "place 2 not discounted, as in LETOR"}
# Up to this grade 2^y, summed over any list that fits into memory, is a finite number.
_HIGHEST_EXPONENT = 900.0


@dataclass(frozen=True)
class NDCG(ListMeasure):
    """Normalised discounted cumulative gain; 1 is perfect.

    Grades must be at least 0. A query whose gains are all 0 is empty; a query with one item, or with equal
    positive grades, has the value 1 in every order and is not left out.

    O(m log m) time, O(m) memory, for every tie rule.

    Parameters
    ----------
    k : int or None, default=None
        How many places count; None counts all.
    gain : {"exponential", "linear"}, default="exponential"
        The gain of a grade y: 2^y - 1, or y itself.
    discount : {"log2", "letor"}, default="log2"
        The divisor of the gain at place p: log2(1 + p); or 1 at places 1 and 2 and log2(p) beyond, the rule of
        LETOR's evaluation, which papers on LETOR's data use.
    ties, empty
        See `ListMeasure`.

    Examples
    --------
    >>> print(NDCG(k=2, gain="linear")([3, 2, 0], [0.1, 0.9, 0.5]))
    nDCG@2 (gain linear, ties averaged, empty queries left out) = 0.4693 over 1 query, 0 left out
    """

    k: int | None = None
    gain: Gain = "exponential"
    discount: Discount = "log2"

    def __post_init__(self) -> None:
        """Raise an error for unknown options."""
        super().__post_init__()
        check_cutoff(self.k)
        check_option("gain", self.gain, _GAINS)
        check_option("discount", self.discount, tuple(_DISCOUNTS))

    @property
    def name(self) -> str:
        """The name with its cutoff; `get_measure` reads it."""
        return "nDCG" if self.k is None else f"nDCG@{self.k}"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        discount = _DISCOUNTS[self.discount]
        return (f"gain {self.gain}", *([discount] if discount else []), *super().rules)

    def _values(self, items: JudgedItems) -> FloatArray:
        exponential = self.gain == "exponential"
        check_grades(items.y, self.name, _HIGHEST_EXPONENT if exponential else np.inf)
        lists = RankedLists.of(items, self.ties)
        gain = _scaled(np.exp2(lists.y) - 1 if exponential else lists.y, lists)
        places = np.arange(1, items.queries.sizes.max() + 1)
        discount = 1 / np.log2(places + 1 if self.discount == "log2" else np.maximum(places, 2))
        found = lists.sums(lists.tied_mean(gain) * discount[lists.position - 1], self.k)
        best = lists.sums(_falling(gain, lists) * discount[lists.position - 1], self.k)
        values = np.zeros(len(lists))
        np.divide(found, best, out=values, where=best > 0)
        return self._filled(np.minimum(values, 1.0), best > 0)


def _scaled(gain: FloatArray, lists: RankedLists) -> FloatArray:
    """Divide the gains of each list by the largest of them, so that no sum overflows; the ratio of sums stays."""
    largest = np.maximum.reduceat(gain, lists.bounds[:-1])
    scaled: FloatArray = gain / np.repeat(np.where(largest > 0, largest, 1.0), np.diff(lists.bounds))
    return scaled


def _falling(gain: FloatArray, lists: RankedLists) -> FloatArray:
    """Sort the gains of each list from the largest down."""
    rising = -gain
    sort_segments(rising, np.ones(len(gain)), lists.bounds)
    return -rising


def ndcg(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: Labels | None = None,
    k: int | None = None,
    gain: Gain = "exponential",
    discount: Discount = "log2",
    ties: TieRule = "average",
    empty: EmptyRule = "skip",
    per_query: bool = False,
) -> float | MeasureResult:
    """Return the mean normalised discounted cumulative gain per query; see `NDCG`.

    O(m log m) time, O(m) memory.

    Parameters
    ----------
    y_true, y_score : array-like, shape (m,) or (m, outputs)
        Grades of at least 0, and predicted scores; several outputs are averaged.
    qid, per_query
        As in `pairwise_accuracy`.
    k, gain, discount, ties, empty
        See `NDCG`.

    Returns
    -------
    float or MeasureResult

    Examples
    --------
    >>> ndcg([1, 0], [0.5, 0.5])
    0.815...
    """
    measure = NDCG(k, gain, discount, ties=ties, empty=empty)
    return measure(y_true, y_score, qid=qid) if per_query else measure.average(y_true, y_score, qid=qid)
