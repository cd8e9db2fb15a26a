"""A measured concordance: the index, its parts by stratum, its interval, and its difference from another one."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from kernelrank.base.arrays import Float, Index, Labels, RandomStateLike
from kernelrank.base.labels import Lifetimes, Queries
from kernelrank.base.results import Estimates, Result
from kernelrank.base.text import p_is, pvalue
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.concordance_sweeps import KnownOrders
from kernelrank.metrics.intervals import FIXED, Interval, check_confidence, percentile_interval
from kernelrank.metrics.judged_items import FloatArray
from kernelrank.metrics.measure_result import MeasureResult
from kernelrank.metrics.roc import EDGE, score_interval

__all__ = ["ConcordanceDifference", "ConcordanceResult"]


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
            of the index over groups that are drawn with replacement.
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
        variance, degrees = _jackknife(self._without(codes))
        return self._scored_interval(variance, degrees, confidence, f"jackknife over {codes.max() + 1} {noun}; {FIXED}")

    def _scored_interval(self, variance: float, degrees: float, confidence: float, method: str) -> Interval:
        n = max(2, min(self.n_events, len(self.score)))
        low, high = score_interval(self.mean, variance, confidence, n, n, degrees)
        return Interval(low, high, confidence, method)

    def _variance(self, groups: Labels | None) -> tuple[float, float, str]:
        """Return the variance over items or groups, its degrees of freedom, and what they are."""
        codes, noun = self._groups(groups)
        return *_jackknife(self._without(codes)), f"{codes.max() + 1} {noun}"

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
        variance, degrees = _jackknife(self._without(codes) - other._without(codes))
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

    def _without(self, codes: Index) -> Float:
        """Return the index without each group; a pair inside a group belongs to two of its items, and counts once."""
        right, pairs = self.orders.right, self.orders.pairs
        known, size = codes >= 0, int(codes.max()) + 1
        if size < int(known.sum()):
            labels = np.where(known, codes, size) * len(self.strata) + self.strata.codes
            inside = _orders(self.lifetimes, self.score, Queries.from_labels(labels, len(labels)), self.weight)
            right, pairs = right - inside.right / 2, pairs - inside.pairs / 2
        totals = float(self.orders.stratum_right.sum()), float(self.orders.stratum_pairs.sum())
        N, D = (
            total - np.bincount(codes[known], weights=values[known], minlength=size)
            for total, values in zip(totals, (right, pairs), strict=True)
        )
        without: Float = np.divide(N, D, out=np.full(size, self.mean), where=EDGE * totals[1] < D)
        return without

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
    return KnownOrders.of(lifetimes.time, lifetimes.event, score, strata, weight, lifetimes.weight)


def _jackknife(values: FloatArray) -> tuple[float, float]:
    """Return the jackknife variance of what the values leave out one group of, and its degrees of freedom."""
    n = len(values)
    if n < 2:
        return np.inf, 1.0
    return (n - 1) / n * float(((values - values.mean()) ** 2).sum()), n - 1.0
