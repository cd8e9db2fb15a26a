r"""Reciprocal rank: one over the place where a reader stops.

*Reciprocal rank*: the reader stops at the first relevant item. In a run of n tied items, r of them relevant,
the first relevant one falls on the j-th place with probability

.. math:: P_1 = \frac{r}{n}, \qquad P_{j+1} = P_j \, \frac{n - j - r + 1}{n - j}.

*Expected reciprocal rank* [CMZG09]: the reader stops at an item of grade g with probability
:math:`R = (2^g - 1) / 2^{g_{\max}}`. In a run of tied items the reader goes on past the first t of them with
probability :math:`E_t`, the mean of the products of 1 - R over all sets of t of the n items, so that he stops
at the t-th place with probability :math:`E_{t-1} - E_t`. These means grow item by item, with e for the next
item's 1 - R:

.. math:: E^{(n)}_t = \frac{(n - t) E^{(n-1)}_t + t \, e \, E^{(n-1)}_{t-1}}{n}.

As :math:`E_t \le E_1^t` (Maclaurin), the recurrence ends where what is left is below rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelrank.base.arrays import Labels
from kernelrank.base.compiled import compiled
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.judged_items import FloatArray, JudgedItems
from kernelrank.metrics.lists import CutBinaryMeasure, ListMeasure, RankedLists, TieRule, check_grades
from kernelrank.metrics.measure import check_cutoff
from kernelrank.metrics.measure_result import MeasureResult
from kernelrank.metrics.relevance import EmptyRule

__all__ = ["ExpectedReciprocalRank", "ReciprocalRank", "expected_reciprocal_rank", "reciprocal_rank"]


@dataclass(frozen=True)
class ReciprocalRank(CutBinaryMeasure):
    """Reciprocal rank of the first relevant item; its mean is MRR.

    With a cutoff, a first relevant item beyond place k counts 0. Every tie rule is exact.

    O(m log m) time, O(m) memory.

    Parameters
    ----------
    k : int or None, default=None
        How many places count; None counts all.
    relevant_from, ties, empty
        See `BinaryListMeasure` and `ListMeasure`.

    Examples
    --------
    >>> print(ReciprocalRank(relevant_from=2)([1, 0, 2], [0.3, 0.2, 0.1]))
    MRR (relevant y >= 2, ties averaged, empty queries left out) = 0.3333 over 1 query, 0 left out
    """

    _short_name: ClassVar[str] = "MRR"

    def _values(self, items: JudgedItems) -> FloatArray:
        lists = RankedLists.of(items, self.ties)
        relevance = self._relevance(lists.y)
        k = items.n_items if self.k is None else int(self.k)
        return self._filled(_first_relevant(relevance, lists.bounds, lists.ties, k), lists.sums(relevance) > 0)


@compiled
def _first_relevant(relevance: FloatArray, bounds: NDArray[np.int64], ties: NDArray[np.int64], k: int) -> FloatArray:
    """Return the expected reciprocal place of the first relevant item of each list."""
    values = np.zeros(len(bounds) - 1)
    run = 0
    for query in range(len(values)):
        found = False
        while run < len(ties) - 1 and ties[run] < bounds[query + 1]:
            begin, end = ties[run], ties[run + 1]
            n, before = end - begin, begin - bounds[query]
            run += 1
            r = 0
            for i in range(begin, end):
                r += int(relevance[i])
            if found or r == 0:
                continue
            found = True
            probability = r / n
            for j in range(1, min(n - r + 1, k - before) + 1):
                values[query] += probability / (before + j)
                if j < n:
                    probability *= (n - j - r + 1) / (n - j)
    return values


@dataclass(frozen=True)
class ExpectedReciprocalRank(ListMeasure):
    """Expected reciprocal rank (ERR): a cascade model of a reader who stops at relevant items.

    Grades must lie between 0 and `max_grade`. The value depends on `max_grade`, which is therefore an option
    and not the largest grade of the given data; even a perfect order stays below 1. A query whose grades
    are all 0 is empty.

    O(m log m) time and O(m) memory for the rules "pessimistic", "optimistic" and "order". The average over
    ties is exact too, but has no closed form: a run of n tied items takes O(n min(n, k, 42 / (1 - E_1)))
    time, so give a cutoff when large queries may be tied throughout.

    Parameters
    ----------
    k : int or None, default=None
        How many places count; None counts all.
    max_grade : float, default=4
        The highest grade there is; LETOR and TREC Web use 4.
    ties, empty
        See `ListMeasure`.

    Examples
    --------
    >>> print(ExpectedReciprocalRank(20)([4, 0, 2], [0.1, 0.2, 0.3]))
    ERR@20 (highest grade 4, ties averaged, empty queries left out) = 0.4414 over 1 query, 0 left out
    """

    k: int | None = None
    max_grade: float = 4

    def __post_init__(self) -> None:
        """Raise an error for unknown options."""
        super().__post_init__()
        check_cutoff(self.k)
        if not 0 < self.max_grade <= 900:
            raise InvalidInputError(f"max_grade must lie above 0 and not above 900, got {self.max_grade!r}")

    @property
    def name(self) -> str:
        """The name with its cutoff; `get_measure` reads it."""
        return "ERR" if self.k is None else f"ERR@{self.k}"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return (f"highest grade {self.max_grade:g}", *super().rules)

    def _values(self, items: JudgedItems) -> FloatArray:
        check_grades(items.y, self.name, self.max_grade)
        lists = RankedLists.of(items, self.ties)
        stop = (np.exp2(lists.y) - 1) / np.exp2(self.max_grade)
        k = items.n_items if self.k is None else int(self.k)
        return self._filled(_stopping_place(stop, lists.bounds, lists.ties, k), lists.sums(stop) > 0)


@compiled
def _stopping_place(stop: FloatArray, bounds: NDArray[np.int64], ties: NDArray[np.int64], k: int) -> FloatArray:
    """Return the expected reciprocal stopping place of each list."""
    values = np.zeros(len(bounds) - 1)
    longest = 0
    for query in range(len(values)):
        longest = max(longest, bounds[query + 1] - bounds[query])
    E = np.zeros(min(longest, k) + 1)
    run = 0
    for query in range(len(values)):
        onward = 1.0  # the probability that the reader arrives at this run
        while run < len(ties) - 1 and ties[run] < bounds[query + 1]:
            begin, end = ties[run], ties[run + 1]
            n, before = end - begin, begin - bounds[query]
            run += 1
            total, product = 0.0, 1.0
            for i in range(begin, end):
                total += stop[i]
                product *= 1.0 - stop[i]
            if total > 0.0 and before < k:
                last = min(n, k - before)
                if total < n:
                    last = min(last, int(np.ceil(42.0 / -np.log1p(-total / n))))
                E[0] = 1.0
                E[1 : last + 1] = 0.0
                for i in range(1, n + 1):
                    e = 1.0 - stop[begin + i - 1]
                    for t in range(min(i, last), 0, -1):
                        E[t] = ((i - t) * E[t] + t * e * E[t - 1]) / i
                for t in range(1, last + 1):
                    values[query] += onward * (E[t - 1] - E[t]) / (before + t)
            onward *= product
    return values


def reciprocal_rank(
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
    """Return the mean reciprocal rank of the first relevant item; see `ReciprocalRank`.

    O(m log m) time, O(m) memory.

    Parameters
    ----------
    y_true, y_score, qid, per_query
        As in `pairwise_accuracy`.
    k, relevant_from, ties, empty
        See `ReciprocalRank`.

    Returns
    -------
    float or MeasureResult

    Examples
    --------
    >>> reciprocal_rank([0, 1, 0], [0.3, 0.2, 0.2])
    0.416...
    """
    measure = ReciprocalRank(k, relevant_from=relevant_from, ties=ties, empty=empty)
    return measure(y_true, y_score, qid=qid) if per_query else measure.average(y_true, y_score, qid=qid)


def expected_reciprocal_rank(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: Labels | None = None,
    k: int | None = None,
    max_grade: float = 4,
    ties: TieRule = "average",
    empty: EmptyRule = "skip",
    per_query: bool = False,
) -> float | MeasureResult:
    """Return the mean expected reciprocal rank; see `ExpectedReciprocalRank`, also for the cost.

    The arguments are those of `reciprocal_rank`, with `max_grade` in the place of a threshold.

    Examples
    --------
    >>> expected_reciprocal_rank([1, 0], [0.2, 0.1], max_grade=1)
    0.5
    """
    measure = ExpectedReciprocalRank(k, max_grade, ties=ties, empty=empty)
    return measure(y_true, y_score, qid=qid) if per_query else measure.average(y_true, y_score, qid=qid)
