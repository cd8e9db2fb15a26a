"""Ranked lists: the items of each query from the highest prediction down, with a rule for ties."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

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
    check_cutoff,
    has_options_of,
    measure_by,
)
from kernelrank.metrics.pairs import sort_segments
from kernelrank.metrics.risks import PrecisionEffects, average_precision

# Relevance ------------------------------------------------------------------------------------------------------------
#
# Relevance: which items count as relevant, and which value a query without relevant items has.

EmptyRule = Literal["skip", "zero", "one"]

_EMPTY = {
    "skip": "empty queries left out",
    "zero": "empty queries count 0",
    "one": "empty queries count 1",
}


@dataclass(frozen=True, kw_only=True)
class RelevanceMeasure(Measure):
    """What the measures of relevant items share: the rule for queries with nothing relevant."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    empty: EmptyRule = "skip"

    def __post_init__(self) -> None:
        """Raise an error for unknown rules."""
        check_option("empty", self.empty, tuple(_EMPTY))

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return (_EMPTY[self.empty],)

    def _filled(self, values: FloatArray, relevant: NDArray[np.bool_]) -> FloatArray:
        """Apply the rule for queries with nothing relevant."""
        return np.where(relevant, values, {"skip": np.nan, "zero": 0.0, "one": 1.0}[self.empty])

    def _why_nothing(self, items: JudgedItems) -> str:
        return f"none of the queries ({len(items.queries)}) has a relevant item (y > 0)"


@dataclass(frozen=True, kw_only=True)
class BinaryRelevance(RelevanceMeasure):
    """What the measures that know only relevant and irrelevant items share."""

    relevant_from: float | None = None

    def __post_init__(self) -> None:
        """Raise an error for unknown rules and a threshold that is not a number."""
        super().__post_init__()
        if self.relevant_from is not None:
            check_number("relevant_from", self.relevant_from, " or None")

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return (f"relevant {self._relevant_words}", *super().rules)

    @property
    def _relevant_words(self) -> str:
        return "y > 0" if self.relevant_from is None else f"y >= {self.relevant_from:g}"

    def _relevance(self, y: FloatArray) -> FloatArray:
        return (y > 0 if self.relevant_from is None else y >= self.relevant_from).astype(np.float64)

    def _why_nothing(self, items: JudgedItems) -> str:
        return f"none of the queries ({len(items.queries)}) has a relevant item ({self._relevant_words})"


def check_number(name: str, value: object, otherwise: str = "") -> None:
    """Raise an error for an option that is not a finite number."""
    if not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise InvalidInputError(f"{name} must be a finite number{otherwise}, got {value!r}")


# Ranked lists ---------------------------------------------------------------------------------------------------------

TieRule = Literal["average", "pessimistic", "optimistic", "order"]

TIE_WORDS = {
    "average": "ties averaged",
    "pessimistic": "ties pessimistic",
    "optimistic": "ties optimistic",
    "order": "ties in input order",
}


@dataclass(frozen=True)
class RankedLists:
    """Items sorted by query and then by decreasing prediction.

    Shapes: y (m,), bounds (n_queries + 1,), position (m,), ties (n_ties + 1,).
    """

    y: FloatArray
    bounds: NDArray[np.int64]
    position: NDArray[np.int64]
    ties: NDArray[np.int64]

    @classmethod
    def of(cls, items: JudgedItems, ties: TieRule) -> RankedLists:
        """Sort the items: O(m log m) time, O(m) memory."""
        within = {"pessimistic": (items.y,), "optimistic": (-items.y,)}.get(ties, ())
        order = items.order(-items.score, *within)
        bounds = items.queries.bounds
        begins = np.ones(items.n_items + 1, dtype=bool)
        if ties == "average":
            score = items.score[order]
            np.not_equal(score[1:], score[:-1], out=begins[1:-1])
            begins[bounds] = True
        position = np.arange(1, items.n_items + 1) - np.repeat(bounds[:-1], items.queries.sizes)
        return cls(items.y[order], bounds, position, np.flatnonzero(begins).astype(np.int64))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def tie_sizes(self) -> NDArray[np.int64]:
        """The length of each run of tied items."""
        return np.diff(self.ties)

    def tied_mean(self, values: FloatArray) -> FloatArray:
        """Replace each value by the mean of its run: what to expect at that place if ties fall at random."""
        if len(self.ties) == len(values) + 1:
            return values
        sizes = self.tie_sizes
        return np.repeat(np.add.reduceat(values, self.ties[:-1]) / sizes, sizes)

    def sums(self, values: FloatArray, k: int | None = None) -> FloatArray:
        """Sum over each list, or over its first k items."""
        if k is not None:
            values = np.where(self.position <= k, values, 0.0)
        total: FloatArray = np.add.reduceat(values, self.bounds[:-1])
        return total


@dataclass(frozen=True, kw_only=True)
class ListMeasure(RelevanceMeasure):
    """What the measures of ranked lists share: the rules for ties and for queries with nothing relevant.

    Parameters
    ----------
    ties : {"average", "pessimistic", "optimistic", "order"}, default="average"
        How items with the same prediction are ordered.

        - ``"average"``: the expected value over all orders of the tied items, exactly [MN08].
        - ``"pessimistic"``, ``"optimistic"``: the worst, the best of these orders.
        - ``"order"``: as they came. trec_eval, and with it ir_measures, puts tied documents in falling order
          of their names: sort the items so before, and this rule gives its numbers. Beware that it lets a
          constant prediction score as well as the input happens to be sorted.
    empty : {"skip", "zero", "one"}, default="skip"
        What a query without a relevant item counts: it is left out, or counts 0 (as in trec_eval and
        scikit-learn), or counts 1 (as in XGBoost, LightGBM and CatBoost).
    """

    ties: TieRule = "average"

    def __post_init__(self) -> None:
        """Raise an error for unknown rules."""
        super().__post_init__()
        check_option("ties", self.ties, tuple(TIE_WORDS))

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return (TIE_WORDS[self.ties], *super().rules)


@dataclass(frozen=True, kw_only=True)
class BinaryListMeasure(BinaryRelevance, ListMeasure):
    """What the measures of ranked lists that know only relevant and irrelevant items share.

    Parameters
    ----------
    relevant_from : float or None, default=None
        An item is relevant if y is at least this; None takes every y > 0.
    """


@dataclass(frozen=True)
class CutBinaryMeasure(BinaryListMeasure):
    """A `BinaryListMeasure` that may stop at a place."""

    _short_name: ClassVar[str]

    k: int | None = None

    def __post_init__(self) -> None:
        """Raise an error for unknown options."""
        super().__post_init__()
        check_cutoff(self.k)

    @property
    def name(self) -> str:
        """The name with its cutoff; `get_measure` reads it."""
        return self._short_name if self.k is None else f"{self._short_name}@{self.k}"


def check_grades(y: FloatArray, name: str, highest: float) -> None:
    """Raise an error for grades below 0 or above the limit of the gain."""
    for wrong, limit in ((y < 0, "at least 0"), (y > highest, f"at most {highest:g}")):
        if wrong.any():
            item = int(np.argmax(wrong))
            raise InvalidInputError(f"{name} needs grades of {limit}, but y_true is {y[item]:g} for item {item}")


# Gain -----------------------------------------------------------------------------------------------------------------
#
# Gain: discounted cumulative gain, normalised by its best value.
#
# .. math:: \text{nDCG@}k = \frac{1}{Z} \sum_{p=1}^{k} \frac{g(y_{(p)})}{\log_2(1 + p)}
#
# with :math:`y_{(p)}` the grade at place p and Z the same sum in the best order. LETOR's evaluation divides by
# :math:`\log_2(p)` from place 2 on, so that places 1 and 2 count the same. When ties fall at random the expected gain
# at a place is the mean gain of the tied items that compete for it [MN08].

Gain = Literal["exponential", "linear"]
Discount = Literal["log2", "letor"]

_GAINS = ("exponential", "linear")
_DISCOUNTS = {"log2": "", "letor": "place 2 not discounted, as in LETOR"}


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
    short : {"cut", "zero"}, default="cut"
        How a query with fewer than k items counts: by the items that it has, or 0, as LETOR's evaluation counts it.
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
    short: Literal["cut", "zero"] = "cut"

    def __post_init__(self) -> None:
        """Raise an error for unknown options."""
        super().__post_init__()
        check_cutoff(self.k)
        check_option("gain", self.gain, _GAINS)
        check_option("discount", self.discount, tuple(_DISCOUNTS))
        check_option("short", self.short, ("cut", "zero"))

    @property
    def name(self) -> str:
        """The name with its cutoff; `get_measure` reads it."""
        return "nDCG" if self.k is None else f"nDCG@{self.k}"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        discount = _DISCOUNTS[self.discount]
        short = f"queries of fewer than {self.k} items 0" if self.short == "zero" and self.k is not None else ""
        return (f"gain {self.gain}", *(word for word in (discount, short) if word), *super().rules)

    def _values(self, items: JudgedItems) -> FloatArray:
        exponential = self.gain == "exponential"
        # Up to a grade of 900, 2^y summed over any list that fits into memory is a finite number.
        check_grades(items.y, self.name, 900.0 if exponential else np.inf)
        lists = RankedLists.of(items, self.ties)
        gain = _scaled(np.exp2(lists.y) - 1 if exponential else lists.y, lists)
        places = np.arange(1, items.queries.sizes.max() + 1)
        discount = 1 / np.log2(places + 1 if self.discount == "log2" else np.maximum(places, 2))
        found = lists.sums(lists.tied_mean(gain) * discount[lists.position - 1], self.k)
        best = lists.sums(_falling(gain, lists) * discount[lists.position - 1], self.k)
        values = np.zeros(len(lists))
        long_enough = items.queries.sizes >= (self.k or 0) if self.short == "zero" else True
        np.divide(found, best, out=values, where=(best > 0) & long_enough)
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


@has_options_of(NDCG)
def ndcg(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean normalised discounted cumulative gain per query; see `NDCG`.

    O(m log m) time, O(m) memory.

    Parameters
    ----------
    y_true, y_score : array-like, shape (m,) or (m, outputs)
        Grades of at least 0, and predicted scores; several outputs are averaged.
    qid, per_query
        As in `pairwise_accuracy`.
    k, gain, discount, short, ties, empty
        See `NDCG`.

    Returns
    -------
    float or MeasureResult

    Examples
    --------
    >>> ndcg([1, 0], [0.5, 0.5])
    0.815...
    """
    return measure_by(NDCG, *scores, **options)


# Precision ------------------------------------------------------------------------------------------------------------
#
# Precision: the share of relevant items among the first ones.
#
# With R relevant items in the list, the average precision is
#
# .. math:: \text{AP} = \frac{1}{R} \sum_{p \text{ relevant}} \frac{\#\{\text{relevant up to } p\}}{p}.
#
# When ties fall at random, a run of n items, r of them relevant, after s places with b relevant items
# contributes at its j-th place the probability r/n that the item there is relevant, times the expected number
# of relevant ones up to it, over the place [MN08]:
#
# .. math:: \frac{r}{n} \cdot \frac{b + 1 + (j - 1)(r - 1)/(n - 1)}{s + j}.


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

    def _measure(self, items: JudgedItems) -> MeasureResult:
        """Measure, and keep the effects of the items where one query is measured, without a cutoff."""
        result = super()._measure(items)
        if len(result) > 1 or self.k is not None or result.n_left_out:
            return result
        relevant = self._relevance(items.y) > 0
        if not relevant.any():
            return result
        effects = average_precision(items.score, relevant).effects
        return replace(result, components=PrecisionEffects(effects, int(relevant.sum())))


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


@has_options_of(Precision)
def precision_at(*scores: Any, k: int, **options: Any) -> float | MeasureResult:
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
    return measure_by(Precision, *scores, k=k, **options)


@has_options_of(MeanAveragePrecision)
def mean_average_precision(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean average precision; see `MeanAveragePrecision`, and `precision_at` for the arguments.

    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> mean_average_precision([1, 0, 1, 0, 1], [2, 1, 1, 2, 3], qid=["a", "a", "a", "b", "b"])
    0.958...
    """
    return measure_by(MeanAveragePrecision, *scores, **options)


# Reciprocal -----------------------------------------------------------------------------------------------------------
#
# Reciprocal rank: one over the place where a reader stops.
#
# *Reciprocal rank*: the reader stops at the first relevant item. In a run of n tied items, r of them relevant,
# the first relevant one falls on the j-th place with probability
#
# .. math:: P_1 = \frac{r}{n}, \qquad P_{j+1} = P_j \, \frac{n - j - r + 1}{n - j}.
#
# *Expected reciprocal rank* [CMZG09]: the reader stops at an item of grade g with probability
# :math:`R = (2^g - 1) / 2^{g_{\max}}`. In a run of tied items the reader goes on past the first t of them with
# probability :math:`E_t`, the mean of the products of 1 - R over all sets of t of the n items, so that he stops
# at the t-th place with probability :math:`E_{t-1} - E_t`. These means grow item by item, with e for the next
# item's 1 - R:
#
# .. math:: E^{(n)}_t = \frac{(n - t) E^{(n-1)}_t + t \, e \, E^{(n-1)}_{t-1}}{n}.
#
# As :math:`E_t \le E_1^t` (Maclaurin), the recurrence ends where what is left is below rounding.


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


@has_options_of(ReciprocalRank)
def reciprocal_rank(*scores: Any, **options: Any) -> float | MeasureResult:
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
    return measure_by(ReciprocalRank, *scores, **options)


@has_options_of(ExpectedReciprocalRank)
def expected_reciprocal_rank(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean expected reciprocal rank; see `ExpectedReciprocalRank`, also for the cost.

    The arguments are those of `reciprocal_rank`, with `max_grade` in the place of a threshold.

    Examples
    --------
    >>> expected_reciprocal_rank([1, 0], [0.2, 0.1], max_grade=1)
    0.5
    """
    return measure_by(ExpectedReciprocalRank, *scores, **options)
