r"""Concordance: the share of the pairs of known order that the scores have in that order, with censored times.

A pair is known where the earlier of the two times is that of an event. Two items that are tied in time are a pair only
if one had the event and the other is censored: the latter lasts longer. Each pair weighs :math:`c_i w_i w_j`, with item
weights w and an event weight c of the earlier item: one for Harrell's index, :math:`1 / \hat G(t_i)^2` for Uno's, where
G is the Kaplan–Meier curve of censoring. With N the weight of the pairs in the right order, tied scores counting a
half, and D that of all pairs, the index is :math:`N / D`; strata add up N and D.

**Interval.** The index without item j is :math:`(N - N_j) / (D - D_j)`, with the weights of the pairs of j, all from
two sweeps. These jackknife values estimate the variance of the U-statistic; those of a group of items that depend on
each other leave together. The interval is that of an AUC (`kernelrank.metrics.roc`), with Student's quantile. Where no
pair is between two groups, as with whole strata, the index is the mean of those of the groups, weighted by their pairs,
and the interval is that of such a mean (`kernelrank.metrics.intervals`).

References
----------
.. [Har82] Harrell, Califf, Pryor, Lee and Rosati (1982). Evaluating the yield of medical tests. JAMA 247.
.. [Uno11] Uno, Cai, Pencina, D'Agostino and Wei (2011). On the C-statistics for evaluating overall adequacy of risk
   prediction procedures with censored survival data. Statistics in Medicine 30.
"""

from __future__ import annotations

import numbers
from dataclasses import astuple, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from kernelrank.base.arrays import Float, Index, Labels, RandomStateLike, is_structured
from kernelrank.base.compiled import compiled, sort_queries
from kernelrank.base.labels import Lifetimes, Queries, event_times
from kernelrank.base.results import Estimates, Result
from kernelrank.base.text import p_is, pvalue
from kernelrank.base.validation import check_confidence, check_option
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.metrics.intervals import FIXED, Interval, effective_degrees, mean_interval, percentile_interval
from kernelrank.metrics.measure import FloatArray, JudgedItems, Measure, MeasureResult, read_items
from kernelrank.metrics.roc import EDGE, score_interval


@dataclass(frozen=True)
class _JudgedTimes(JudgedItems):
    """Items whose true scores are times, some of them censored."""

    lifetimes: Lifetimes


@dataclass(frozen=True)
class Concordance(Measure):
    """The concordance index of times that may be censored; 1 is perfect, 0.5 is chance.

    The score grows with the time survived. For a risk, pass its negative.

    Parameters
    ----------
    weighting : {"harrell", "uno"}, default="harrell"
        "harrell": all pairs of known order have equal weight. "uno": pairs of an event at t have the weight
        ``1 / G(t)²``, where G is the probability of being uncensored; Uno's index does not depend on how long the
        items were followed.
    tau : float, optional
        Count events before this time only.

    Notes
    -----
    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> result = Concordance()([5, 3, 9, 7], [0.4, 0.1, 0.3, 0.9], event=[True, True, False, True])
    >>> result.mean, result.n_pairs
    (0.666..., 6)
    """

    takes_weight: ClassVar[bool] = True
    takes_event: ClassVar[bool] = True
    pools_queries: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    weighting: Literal["harrell", "uno"] = "harrell"
    tau: float | None = None

    def __post_init__(self) -> None:
        check_option("weighting", self.weighting, ("harrell", "uno"))
        if self.tau is not None and not (isinstance(self.tau, (int, float)) and np.isfinite(self.tau)):
            raise InvalidInputError(f"Expected tau to be a finite number; got {self.tau!r}.")

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "concordance" if self.weighting == "harrell" else "Uno's concordance"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        rules = [
            "tied scores count a half",
            "at a tied time an event is before a censored item and no pair with an event",
            "pairs of all strata count together",
        ]
        if self.weighting == "uno":
            rules.append("pairs weighted by inverse squared probability of censoring")
        if self.tau is not None:
            rules.append(f"events before {self.tau:g}")
        return tuple(rules)

    def __call__(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        qid: Labels | None = None,
        sample_weight: ArrayLike | None = None,
        event: ArrayLike | None = None,
        training: Any = None,
    ) -> ConcordanceResult:
        """Measure how well scores agree with times.

        Parameters
        ----------
        y_true : array-like, shape (m,)
            Times, or a structured array of times and events.
        y_score : array-like, shape (m,)
            Predicted scores, larger for a longer time.
        qid : sequence, shape (m,), or None
            The stratum of each item; pairs of all strata count together.
        sample_weight : array-like, shape (m,), or None
            Item weights.
        event : array-like of bool, shape (m,), or None
            Whether the event happened at that time; all of them happened unless given.
        training : structured array, optional
            Times and events that Uno's curve of censoring is estimated from; those that are measured unless given.

        Returns
        -------
        ConcordanceResult
        """
        items = self._read(event_times(y_true, event), y_score, qid, sample_weight)
        return self._result(items[0], None if training is None else Lifetimes.of(np.asarray(training)))

    def average(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        qid: Labels | None = None,
        sample_weight: ArrayLike | None = None,
        event: ArrayLike | None = None,
    ) -> float:
        """Return the index alone."""
        return self(y_true, y_score, qid=qid, sample_weight=sample_weight, event=event).mean

    def _read(
        self, y_true: ArrayLike, y_score: ArrayLike, qid: Labels | None, sample_weight: ArrayLike | None
    ) -> list[JudgedItems]:
        lifetimes = Lifetimes.of(np.asarray(y_true)) if is_structured(y_true) else None
        outputs = read_items(y_true if lifetimes is None else lifetimes.time, y_score, qid, sample_weight)
        if len(outputs) > 1:
            raise InvalidInputError(f"y_true has {len(outputs)} outputs: measure one column at a time")
        (items,) = outputs
        lifetimes = lifetimes or Lifetimes(items.y, np.ones(items.n_items, dtype=bool))
        return [_JudgedTimes(items.y, items.score, items.queries, items.weight, lifetimes)]

    def _measure(self, items: JudgedItems) -> MeasureResult:
        return self._result(items)

    def _result(self, items: JudgedItems, training: Lifetimes | None = None) -> ConcordanceResult:
        assert isinstance(items, _JudgedTimes)
        weight = np.ones(items.n_items) if items.weight is None else items.weight
        lifetimes = replace(items.lifetimes, weight=self._event_weight(items.lifetimes, training))
        result = ConcordanceResult.of(self.label, lifetimes, items.score, items.queries, weight=weight)
        if result is None:
            raise NothingToCompareError(f"{self.name} cannot be measured: {self._why_nothing(items)}")
        return result

    def _event_weight(self, lifetimes: Lifetimes, training: Lifetimes | None) -> FloatArray:
        weight = np.ones(len(lifetimes.time)) if lifetimes.weight is None else lifetimes.weight
        counted = lifetimes.event if self.tau is None else lifetimes.event & (lifetimes.time < self.tau)
        if self.weighting == "uno":
            if lifetimes.entry is not None:
                raise InvalidInputError("Uno's concordance does not support entry times; use weighting='harrell'.")
            known = lifetimes if training is None else training
            weight = weight * censoring_weights(lifetimes.time, counted, training=(known.time, known.event)) ** 2
        return np.where(counted, weight, 0.0)

    def _values(self, items: JudgedItems) -> FloatArray:
        return self._result(items).values

    def _why_nothing(self, items: JudgedItems) -> str:
        assert isinstance(items, _JudgedTimes)
        return items.lifetimes.nothing_to_compare(len(items.queries), "unit")


def concordance(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    event: ArrayLike | None = None,
    qid: Labels | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return Harrell's concordance index; see `Concordance`.

    O(m log m) time, O(m) memory.

    Parameters
    ----------
    y_true : array-like, shape (m,)
        Times, or a structured array of times and events.
    y_score : array-like, shape (m,)
        Predicted scores, larger for a longer time.
    event : array-like of bool, shape (m,), optional
        Whether the event happened at that time.
    qid : sequence or None
        The stratum of each item.
    sample_weight : array-like, shape (m,), or None
        Item weights.

    Returns
    -------
    float

    Examples
    --------
    >>> concordance([1, 2, 3], [0.1, 0.3, 0.2], event=[True, True, False])
    0.666...
    """
    return Concordance().average(y_true, y_score, qid=qid, sample_weight=sample_weight, event=event)


# Concordance result ---------------------------------------------------------------------------------------------------
#
# A measured concordance: the index, its parts by stratum, its interval, and its difference from another one.


@dataclass(frozen=True, eq=False, repr=False)
class ConcordanceResult(MeasureResult):
    """The concordance of some scores with times; `mean` is that of all pairs, `values` those of the strata.

    Parameters
    ----------
    label, values, queries, left_out, components, bounds
        As in `MeasureResult`; the queries are strata.
    lifetimes : Lifetimes
        Times, events and the weights of the events.
    score, weight : ndarray, shape (m,)
    strata : Queries
    orders : KnownOrders
        The pairs of each item, and those in the right order.

    Examples
    --------
    >>> from kernelrank.metrics import Concordance
    >>> result = Concordance()([1, 2, 3, 4, 5], [1, 3, 2, 4, 5], event=[True, True, False, True, False])
    >>> result.mean, result.n_pairs, result.n_tied_scores
    (0.875, 8, 0)
    """

    lifetimes: Lifetimes = None  # type: ignore[assignment]  # fields with defaults precede it
    score: Float = None  # type: ignore[assignment]
    weight: Float = None  # type: ignore[assignment]
    strata: Queries = None  # type: ignore[assignment]
    orders: KnownOrders = None  # type: ignore[assignment]

    @classmethod
    def of(
        cls, label: str, lifetimes: Lifetimes, score: Float, strata: Queries, *, weight: Float
    ) -> ConcordanceResult | None:
        """Count the pairs: O(m log m) time; None if there is none."""
        orders = _orders(lifetimes, score, strata, weight)
        measured = orders.stratum_pairs > 0
        if not measured.any():
            return None
        values = np.minimum(orders.stratum_right[measured] / orders.stratum_pairs[measured], 1.0)
        labels = strata.labels
        parts = values, labels[measured], labels[~measured]
        own: dict[str, Any] = {
            "lifetimes": lifetimes,
            "score": score,
            "weight": weight,
            "strata": strata,
            "orders": orders,
        }
        return cls(label, *parts, None, **own)

    @property
    def mean(self) -> float:
        """The index: the share of all pairs, those of every stratum together."""
        return min(1.0, float(self.orders.stratum_right.sum() / self.orders.stratum_pairs.sum()))

    @property
    def has_interval(self) -> bool:
        """Always True: the interval is over items."""
        return True

    def _chart(self) -> Estimates:
        return Estimates([("all pairs", self.mean, *self.interval())], self.label.split(" (")[0], 0.5)

    @property
    def n_pairs(self) -> int:
        """How many pairs of known order there are."""
        return self.orders.n_pairs

    @property
    def n_tied_scores(self) -> int:
        """The number of comparable pairs with tied scores."""
        return self.orders.n_tied_scores

    @property
    def n_events(self) -> int:
        """How many items had the event."""
        return int(self.lifetimes.event.sum())

    def interval(
        self,
        confidence: float = 0.95,
        *,
        groups: Labels | None = None,
        method: str = "jackknife",
        n_resamples: int = 1000,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> Interval:
        """Return an interval of the index.

        Parameters
        ----------
        confidence : float, default=0.95
            Between 0 and 1.
        groups : sequence, shape (m,), optional
            Items that depend on each other, such as those of one hospital or patient; each item is one unless given.
        method : {"jackknife", "bootstrap"}, default="jackknife"
            The U-statistic's variance from the index without each group, in an interval of score type; or percentiles
            of the index over groups that are drawn with replacement. Groups of whole strata have no pair in common:
            their jackknife interval is corrected for skewness, and for few groups having most of the pairs.
        n_resamples, random_state
            For the bootstrap.

        Returns
        -------
        Interval
            It allows for other items, not for other scores or other weights of Uno's index.

        Notes
        -----
        O(m) time; the bootstrap counts all pairs again for each resample, O(m log m).

        Examples
        --------
        >>> from kernelrank.metrics import Concordance
        >>> print(Concordance()([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5], event=[1, 1, 0, 1, 1, 0]).interval())
        95% interval [0.3178, 0.9795] (jackknife over 6 items; the predictions do not vary)
        """
        check_confidence(confidence)
        codes, noun = self._groups(groups)
        if method == "bootstrap":
            return self._bootstrap(codes, noun, confidence, n_resamples, random_state)
        if method != "jackknife":
            raise InvalidInputError(f"Expected method='jackknife' or 'bootstrap'; got {method!r}.")
        how = f"jackknife over {codes.max() + 1} {noun}; {FIXED}"
        right, pairs = self._of_groups(codes)
        if self._are_separate(pairs):
            found = mean_interval(np.minimum(right / pairs, 1.0), confidence, how, (0.0, 1.0), pairs)
            if found.width > 0:
                return found
        variance, degrees = self._jackknife(codes)
        return self._scored_interval(variance, degrees, confidence, how)

    def _scored_interval(self, variance: float, degrees: float, confidence: float, method: str) -> Interval:
        n = max(2, min(self.n_events, len(self.score)))
        low, high = score_interval(self.mean, variance, confidence, n, n, degrees)
        return Interval(low, high, confidence, method)

    def _variance(self, groups: Labels | None) -> tuple[float, float, str]:
        """Return the variance over items or groups, its degrees of freedom, and what they are."""
        codes, noun = self._groups(groups)
        return *self._jackknife(codes), f"{codes.max() + 1} {noun}"

    def minus(
        self, other: ConcordanceResult, *, confidence: float = 0.95, groups: Labels | None = None
    ) -> ConcordanceDifference:
        """Compare two models by their scores of the same items.

        Parameters
        ----------
        other : ConcordanceResult
            The concordance of other scores with the same times.
        confidence : float, default=0.95
        groups : sequence, shape (m,), optional
            Items that depend on each other.

        Returns
        -------
        ConcordanceDifference
            This minus the other, with an interval and a p-value from the jackknife of the difference.

        Examples
        --------
        >>> from kernelrank.metrics import Concordance
        >>> time, event = [1, 2, 3, 4, 5, 6], [1, 1, 0, 1, 1, 0]
        >>> first, second = (Concordance()(time, f, event=event) for f in ([1, 2, 3, 4, 5, 6], [2, 1, 3, 5, 4, 6]))
        >>> round(first.minus(second).difference, 4)
        0.1667
        """
        check_confidence(confidence)
        same = self.label == other.label and len(self.score) == len(other.score)
        if not same or not np.array_equal(self.orders.pairs, other.orders.pairs):
            raise InvalidInputError(
                "Expected two results of the same measure on the same items, times and weights; they differ."
            )
        codes, noun = self._groups(groups)
        variance, degrees = self._jackknife(codes, other)
        difference = self.mean - other.mean
        half = stdtrit(degrees, 0.5 + confidence / 2) * np.sqrt(variance)
        interval = Interval(
            max(-1.0, difference - half),
            min(1.0, difference + half),
            confidence,
            f"jackknife over {codes.max() + 1} {noun}; {FIXED}",
        )
        pvalue = 1.0
        if difference != 0 and variance > EDGE**2:
            pvalue = float(2 * stdtr(degrees, -abs(difference) / np.sqrt(variance)))
        return ConcordanceDifference(self.label, difference, interval, pvalue, len(self.score))

    def _groups(self, groups: Labels | None) -> tuple[Any, str]:
        """Return the group of each item that weighs something, and what groups are called; -1 for other items."""
        taking_part = (self.weight > 0) & (self.orders.pairs > 0)
        codes = np.full(len(self.score), -1, dtype=np.int64)
        if groups is None:
            codes[taking_part] = np.arange(int(taking_part.sum()))
            return codes, "items"
        labels = Queries.from_labels(groups, len(self.score), name="groups").codes
        codes[taking_part] = np.unique(labels[taking_part], return_inverse=True)[1]
        return codes, "groups"

    def _of_groups(self, codes: Index) -> tuple[Float, Float]:
        """Return the right and all pairs of each group; a pair inside a group belongs to two items, and counts once."""
        right, pairs = self.orders.right, self.orders.pairs
        known, size = codes >= 0, int(codes.max()) + 1
        if size < int(known.sum()):
            labels = np.where(known, codes, size) * len(self.strata) + self.strata.codes
            inside = _orders(self.lifetimes, self.score, Queries.from_labels(labels, len(labels)), self.weight)
            right, pairs = right - inside.right / 2, pairs - inside.pairs / 2
        of_right = np.bincount(codes[known], weights=right[known], minlength=size).astype(np.float64)
        return of_right, np.bincount(codes[known], weights=pairs[known], minlength=size).astype(np.float64)

    def _are_separate(self, pairs: Float) -> bool:
        """Whether there are two groups at least, and no pair is between two of them."""
        return len(pairs) > 1 and bool(pairs.sum() <= (1 + 1e-9) * self.orders.stratum_pairs.sum())

    def _without(self, codes: Index) -> Float:
        """Return the index without each group."""
        right, pairs = self._of_groups(codes)
        total = float(self.orders.stratum_pairs.sum())
        N, D = float(self.orders.stratum_right.sum()) - right, total - pairs
        without: Float = np.divide(N, D, out=np.full(len(pairs), self.mean), where=EDGE * total < D)
        return without

    def _jackknife(self, codes: Index, other: ConcordanceResult | None = None) -> tuple[float, float]:
        """Return the jackknife variance of the index, or of its difference from another, and the degrees of freedom."""
        values = self._without(codes) - (0.0 if other is None else other._without(codes))
        n, pairs = len(values), self._of_groups(codes)[1]
        if n < 2:
            return np.inf, 1.0
        degrees = effective_degrees(pairs) if self._are_separate(pairs) else n - 1.0
        return (n - 1) / n * float(((values - values.mean()) ** 2).sum()), degrees

    def _bootstrap(
        self, codes: Index, noun: str, confidence: float, n_resamples: int, random_state: RandomStateLike
    ) -> Interval:
        if not isinstance(n_resamples, numbers.Integral) or n_resamples < 1:
            raise InvalidInputError(f"n_resamples must be a whole number of at least 1, got {n_resamples!r}")
        if isinstance(random_state, np.random.RandomState):
            random_state = int(random_state.randint(2**31 - 1))
        generator, size, values = np.random.default_rng(random_state), int(codes.max()) + 1, []
        for _ in range(int(n_resamples)):
            times = np.bincount(generator.integers(size, size=size), minlength=size)
            drawn = np.where(codes >= 0, times[codes], 0) * self.weight
            orders = _orders(self.lifetimes, self.score, self.strata, drawn)
            pairs = orders.stratum_pairs.sum()
            values.append(orders.stratum_right.sum() / pairs if pairs > 0 else np.nan)
        method = f"{size} {noun} resampled {n_resamples:,} times; {FIXED}"
        return percentile_interval(np.array(values), confidence, method)

    def __str__(self) -> str:
        strata = "" if len(self.strata) == 1 else f" in {len(self)} strata, {self.n_left_out} left out"
        return f"{self.label} = {self.mean:.4f} over {self.n_pairs:,} pairs{strata}"

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("measure", self.label),
            ("concordance", f"{self.mean:.4f}"),
            ("pairs of known order", f"{self.n_pairs:,}"),
            ("pairs with tied scores", f"{self.n_tied_scores:,}"),
            ("events, censored", f"{self.n_events:,}, {len(self.score) - self.n_events:,}"),
            ("strata measured, left out", f"{len(self):,}, {self.n_left_out:,}"),
        ]


@dataclass(frozen=True, repr=False)
class ConcordanceDifference(Result):
    """The difference of two concordances of the same items.

    Parameters
    ----------
    label : str
        The measure with its rules.
    difference : float
        First minus second.
    interval : Interval
    pvalue : float
        Two-sided; the null hypothesis is no difference.
    n_items : int

    Examples
    --------
    >>> print(ConcordanceDifference("concordance", 0.05, Interval(0.01, 0.09, 0.95, "jackknife"), 0.02, 80))
    concordance: difference +0.0500, 95% interval [+0.0100, +0.0900], p = 0.020 (80 items)
    """

    label: str
    difference: float
    interval: Interval
    pvalue: float
    n_items: int

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.label}: difference {self.difference:+.4f}, {100 * self.interval.level:.4g}% interval "
            f"[{low:+.4f}, {high:+.4f}], p {p_is(self.pvalue)} ({self.n_items} items)"
        )

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("measure", self.label),
            ("difference, first minus second", f"{self.difference:+.4f}"),
            self.interval._fact("+.4f"),
            ("p-value", pvalue(self.pvalue)),
            ("items", f"{self.n_items:,}"),
            ("about the interval", self.interval.method),
        ]

    def _chart(self) -> Estimates:
        label = f"difference of {self.label.split(' (')[0]}"
        return Estimates([("first − second", self.difference, *self.interval)], label, 0.0)

    def _columns(self) -> dict[str, Any]:
        own = {"label": [self.label], "difference": [self.difference]}
        return {**own, **self.interval._columns(), "pvalue": [self.pvalue], "n_items": [self.n_items]}


def _orders(lifetimes: Lifetimes, score: Float, strata: Queries, weight: Float) -> KnownOrders:
    assert lifetimes.weight is not None
    of = lifetimes.time, lifetimes.event, score, strata, weight, lifetimes.weight
    found = KnownOrders.of(*of)
    if lifetimes.entry is None:
        return found
    return found.less(KnownOrders.of(*of, entry=lifetimes.entry))


# Concordance sweeps ---------------------------------------------------------------------------------------------------
#
# Concordance sweeps: how many of the known orders of each item its score agrees with, without visiting the pairs.
#
# The items of a stratum are swept from the latest time to the earliest. A Fenwick tree over the ranks of the scores
# holds the weights of the items that are known to last longer than those that come next. Tied events are asked before
# any of them enters. A second sweep, from the earliest time on, gives the share of the later item of each pair.


@dataclass(frozen=True)
class KnownOrders:
    """The weight of the pairs of each item, and of those that the scores have in the right order.

    Shapes: right, pairs (m,), stratum_right, stratum_pairs (n_strata,).
    """

    right: Float
    pairs: Float
    stratum_right: Float
    stratum_pairs: Float
    n_pairs: int
    n_tied_scores: int

    def less(self, absent: KnownOrders) -> KnownOrders:
        """Return the pairs that are not among some others."""
        return KnownOrders(*(mine - theirs for mine, theirs in zip(astuple(self), astuple(absent), strict=True)))

    @classmethod
    def of(
        cls,
        time: Float,
        event: NDArray[np.bool_],
        score: Float,
        strata: Queries,
        weight: Float,
        event_weight: Float,
        entry: Float | None = None,
    ) -> KnownOrders:
        """Sweep over all strata: O(m log m) time, O(m) memory.

        With entry times, the pairs are those of an event and an item that had not entered before it: the events once
        more, and beside them every item at its entry.

        Shapes: time, score, weight, event_weight, entry (m,), event (m,).
        """
        edge = np.where(event, event_weight, 0.0)
        if entry is None:
            return cls._swept(time, event, score, strata, weight, edge, edge * weight)
        m, nothing = len(time), np.zeros(len(time))
        both = Queries.from_labels(np.tile(strata.codes, 2), 2 * m)
        times, sides = np.append(time, entry), np.append(event, np.zeros(m, dtype=bool))
        upper, lower = np.append(nothing, weight), np.append(edge * weight, nothing)
        found = cls._swept(times, sides, np.tile(score, 2), both, upper, np.append(edge, nothing), lower)
        right, pairs = (values[:m] + values[m:] for values in (found.right, found.pairs))
        return replace(found, right=right, pairs=pairs)

    @classmethod
    def _swept(
        cls,
        time: Float,
        event: NDArray[np.bool_],
        score: Float,
        strata: Queries,
        weight: Float,
        edge: Float,
        lower: Float,
    ) -> KnownOrders:
        by_stratum, bounds = strata.order, strata.bounds
        order = by_stratum[sort_queries(np.ascontiguousarray(time[by_stratum]), bounds)]
        new = _begins(time[order], bounds)
        if not new.all():
            order = order[np.argsort(2 * np.cumsum(new) + ~event[order], kind="stable")]
        place = np.empty(len(time), dtype=np.int64)
        place[order] = np.arange(len(time))
        group = np.cumsum(new | ~event[order] | np.append(True, ~event[order][:-1]))
        group[edge[order] == 0.0] *= -1  # such an item is never the earlier one of a pair
        rank = _ranks(score, by_stratum, bounds)
        out = np.zeros((2, len(time)))
        sums = np.zeros((2, len(bounds) - 1))
        counts = np.zeros(2, dtype=np.int64)
        tree = np.zeros((2, int(strata.sizes.max(initial=0)) + 1))
        _sweep(rank[order], group, weight[order], lower[order], bounds, tree, out, sums, counts)
        return cls(out[0][place], out[1][place], sums[0], sums[1], int(counts[0]), int(counts[1]))


def _begins(values: Float, bounds: Index) -> NDArray[np.bool_]:
    new = np.ones(len(values), dtype=bool)
    new[1:] = values[1:] != values[:-1]
    new[bounds[:-1][np.diff(bounds) > 0]] = True
    return new


def _ranks(score: Float, by_stratum: Index, bounds: Index) -> NDArray[np.int32]:
    """Return the rank of each score in its stratum from one on, equal scores alike."""
    order = by_stratum[sort_queries(np.ascontiguousarray(score[by_stratum]), bounds)]
    number = np.cumsum(_begins(score[order], bounds))
    first = number[np.minimum(bounds[:-1], len(score) - 1)]
    ranks = np.empty(len(score), dtype=np.int32)
    ranks[order] = 1 + number - np.repeat(first, np.diff(bounds))
    return ranks


@compiled
def _sweep(
    rank: NDArray[np.int32],
    group: Index,
    weight: Float,
    lower: Float,
    bounds: Index,
    tree: Float,
    out: Float,
    sums: Float,
    counts: Index,
) -> None:
    """Fill in the right and all pairs of each item; row 0 of the tree holds weights, row 1 numbers of items."""
    for q in range(len(bounds) - 1):
        start, stop = bounds[q], bounds[q + 1]
        n = 0
        for i in range(start, stop):
            n = max(n, rank[i])
        tree[:, : n + 1] = 0.0
        inside, number = 0.0, 0.0
        i = stop - 1
        while i >= start:
            first = i
            while first > start and group[first - 1] == group[i] and group[i] > 0:
                first -= 1
            if group[i] > 0:
                for k in range(first, i + 1):
                    below, up_to, below_n, up_to_n = 0.0, 0.0, 0.0, 0.0
                    j = rank[k] + 0
                    while j > 0:
                        up_to += tree[0, j]
                        up_to_n += tree[1, j]
                        j &= j - 1
                    j = rank[k] - 1
                    while j > 0:
                        below += tree[0, j]
                        below_n += tree[1, j]
                        j &= j - 1
                    right = lower[k] * (inside - 0.5 * (below + up_to))
                    out[0, k] += right
                    out[1, k] += lower[k] * inside
                    sums[0, q] += right
                    sums[1, q] += lower[k] * inside
                    if lower[k] > 0.0:
                        counts[0] += int(number)
                        counts[1] += int(up_to_n - below_n)
            for k in range(first, i + 1):
                inside += weight[k]
                present = 1.0 if weight[k] > 0.0 else 0.0
                number += present
                j = rank[k] + 0
                while j <= n:
                    tree[0, j] += weight[k]
                    tree[1, j] += present
                    j += j & -j
            i = first - 1
        tree[0, : n + 1] = 0.0
        inside = 0.0
        i = start
        while i < stop:
            last = i
            while last + 1 < stop and group[last + 1] == group[i] and group[i] > 0:
                last += 1
            for k in range(i, last + 1):
                below, up_to = 0.0, 0.0
                j = rank[k] + 0
                while j > 0:
                    up_to += tree[0, j]
                    j &= j - 1
                j = rank[k] - 1
                while j > 0:
                    below += tree[0, j]
                    j &= j - 1
                out[0, k] += weight[k] * 0.5 * (below + up_to)
                out[1, k] += weight[k] * inside
            if group[i] > 0:
                for k in range(i, last + 1):
                    inside += lower[k]
                    j = rank[k] + 0
                    while j <= n:
                        tree[0, j] += lower[k]
                        j += j & -j
            i = last + 1


# Kaplan Meier ---------------------------------------------------------------------------------------------------------
#
# Kaplan–Meier: the share of items that last longer than a time, though some times are censored.
#
# At each time t with :math:`d_t` events among :math:`n_t` items that are still at risk, the curve falls by the factor
# :math:`1 - d_t / n_t`. The curve of censoring takes the censored items for events; an event at the same time comes
# first, so that :math:`n_t` is without the events at t.


@dataclass(frozen=True)
class KaplanMeier:
    """A survival curve: a step function that is continuous from the right.

    Parameters
    ----------
    time, survival : ndarray, shape (n,)
        The different times, ascending, and the share that lasts longer than each.
    at_risk : ndarray, shape (n,)
        The weight of the items whose time is not earlier.

    Examples
    --------
    >>> curve = KaplanMeier.of(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    >>> curve.survival.round(3), curve.at(np.array([0.5, 2.5])).round(3)
    (array([0.667, 0.667, 0.   ]), array([1.   , 0.667]))
    """

    time: Float
    survival: Float
    at_risk: Float

    @classmethod
    def of(
        cls,
        time: Float,
        event: NDArray[np.bool_],
        *,
        weight: Float | None = None,
        censoring: bool = False,
        entry: Float | None = None,
    ) -> KaplanMeier:
        """Estimate the curve of the events, or that of censoring: O(m log m) time.

        Parameters
        ----------
        time : ndarray, shape (m,)
        event : ndarray of bool, shape (m,)
        weight : ndarray, shape (m,), optional
        censoring : bool, default=False
            Whether to estimate how long items stay uncensored.
        entry : ndarray, shape (m,), optional
            When each item came under observation: it is at risk after that time only.
        """
        w = np.ones(len(time)) if weight is None else weight
        times, codes = np.unique(time, return_inverse=True)
        events, censored = (np.bincount(codes, weights=w * kind, minlength=len(times)) for kind in (event, ~event))
        at_risk = np.cumsum((events + censored)[::-1])[::-1]
        if entry is not None:
            at_risk = at_risk - suffix_sums(entry, w, times)
        falls, exposed = (censored, at_risk - events) if censoring else (events, at_risk)
        kept = 1.0 - np.divide(falls, exposed, out=np.zeros(len(times)), where=falls > 0)
        survival = np.cumprod(np.maximum(kept, 0.0)).astype(np.float64)
        return cls(times, survival, at_risk.astype(np.float64))

    def at(self, time: Float) -> Float:
        """Return the share that lasts longer than some times."""
        return np.append(1.0, self.survival)[np.searchsorted(self.time, time, side="right")]

    def median(self) -> float:
        """Return the first time that at most half last longer than; infinite if there is none."""
        below = np.flatnonzero(self.survival <= 0.5)
        return float(self.time[below[0]]) if len(below) else float("inf")


def suffix_sums(values: Float, weight: Float, at: Float) -> Float:
    """Return the sums of the weights of the values that are at least as large as some numbers.

    Shapes: values, weight (m,), at (k,); returns (k,).
    """
    order = np.argsort(values, kind="stable")
    sums = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
    found: Float = sums[np.searchsorted(values[order], at, side="left")]
    return found


def horizon_weights(
    time: Float, event: NDArray[np.bool_], horizon: float, entry: Float | None = None
) -> tuple[NDArray[np.bool_], Float]:
    """Return whether each item had the event up to a horizon, and its weight for what is not known.

    An item with the event at t weighs ``m S(t-) / n(t)``, and one under observation after the horizon h
    ``m S(h) / n(h)``, where S is the Kaplan-Meier curve and n(t) the number under observation at t; others weigh
    nothing. The weights add up to m. Without entry times they are the inverse probabilities of being uncensored.

    Parameters
    ----------
    time : ndarray, shape (m,)
    event : ndarray of bool, shape (m,)
    horizon : float
    entry : ndarray, shape (m,), optional

    Returns
    -------
    positive : ndarray of bool, shape (m,)
    weight : ndarray, shape (m,)

    Examples
    --------
    >>> positive, weight = horizon_weights(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True]), 3.5)
    >>> positive, weight
    (array([ True, False,  True, False]), array([1. , 0. , 1.5, 1.5]))
    """
    curve = KaplanMeier.of(time, event, entry=entry)
    m, positive = len(time), event & (time <= horizon)
    beyond = (time > horizon) & (True if entry is None else entry <= horizon)
    if not beyond.any() or not positive.any():
        raise InvalidInputError(
            f"Expected events up to the horizon and items under observation after it; horizon={horizon:g}, and the "
            f"times go from {time.min():g} to {time.max():g}."
        )
    place = np.searchsorted(curve.time, time[positive])
    weight = np.zeros(m)
    before = np.append(1.0, curve.survival)
    weight[positive] = m * before[place] / curve.at_risk[place]
    weight[beyond] = m * float(curve.at(np.array([horizon]))[0]) / beyond.sum()
    return positive, weight


def censoring_weights(
    time: Float, event: NDArray[np.bool_], *, training: tuple[Float, NDArray[np.bool_]] | None = None
) -> Float:
    """Return one over the probability of being uncensored at the time of each event; zero for censored items.

    Parameters
    ----------
    time : ndarray, shape (m,)
    event : ndarray of bool, shape (m,)
    training : (time, event), optional
        The items that the curve of censoring is estimated from; the same ones unless given.

    Returns
    -------
    ndarray, shape (m,)

    Examples
    --------
    >>> censoring_weights(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    array([1., 0., 2.])
    """
    curve = KaplanMeier.of(*(training or (time, event)), censoring=True)
    probability = curve.at(time[event])
    if np.any(probability <= 0):
        latest = float(time[event][probability <= 0].min())
        raise InvalidInputError(
            f"Expected a positive probability of being uncensored at every event; it is zero from time {latest:g} on. "
            f"Count events before some time only, such as tau={latest:g}."
        )
    weights = np.zeros(len(time))
    weights[event] = 1.0 / probability
    return weights


def log_rank_pvalue(time: Float, event: NDArray[np.bool_], group: NDArray[np.int64]) -> float:
    """Return the p-value of the log-rank test: whether groups have one survival curve.

    Parameters
    ----------
    time : ndarray, shape (m,)
    event : ndarray of bool, shape (m,)
    group : ndarray of int64, shape (m,)
        From zero on.

    Returns
    -------
    float
        From the χ² distribution; NaN if no event separates the groups.

    Notes
    -----
    O(m log m + n k²) time for n different times and k groups.

    Examples
    --------
    >>> time, event = np.array([1.0, 2.0, 3.0, 8.0, 9.0, 9.5]), np.ones(6, dtype=bool)
    >>> round(log_rank_pvalue(time, event, np.array([0, 0, 0, 1, 1, 1])), 4)
    0.0246
    """
    from scipy.stats import chi2

    times, codes = np.unique(time, return_inverse=True)
    k = int(group.max()) + 1
    observed, leaving = np.zeros((2, len(times), k))
    np.add.at(observed, (codes, group), event)
    np.add.at(leaving, (codes, group), 1.0)
    at_risk = np.cumsum(leaving[::-1], axis=0)[::-1]
    n, d = at_risk.sum(axis=1), observed.sum(axis=1)
    share = at_risk / n[:, None]
    spread = d * np.divide(n - d, n - 1, out=np.zeros(len(n)), where=n > 1)
    difference = (observed - d[:, None] * share).sum(axis=0)[1:]
    covariance = np.diag((spread[:, None] * share).sum(axis=0)) - np.einsum("t,ti,tj->ij", spread, share, share)
    covariance = covariance[1:, 1:]
    rank = int(np.linalg.matrix_rank(covariance)) if covariance.size else 0
    if rank == 0:
        return float("nan")
    statistic = float(difference @ np.linalg.pinv(covariance, hermitian=True) @ difference)
    return float(chi2.sf(statistic, rank))
