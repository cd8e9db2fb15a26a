r"""Concordance: the share of the pairs of known order that the scores have in that order, with censored times.

A pair is known where the earlier of the two times is that of an event. Two items that are tied in time are a pair only
if one had the event and the other is censored: the latter lasts longer. Each pair weighs :math:`c_i w_i w_j`, with item
weights w and an event weight c of the earlier item: one for Harrell's index, :math:`1 / \hat G(t_i)^2` for Uno's, where
G is the Kaplan–Meier curve of censoring. With N the weight of the pairs in the right order, tied scores counting a
half, and D that of all pairs, the index is :math:`N / D`; strata add up N and D.

**Interval.** The index without item j is :math:`(N - N_j) / (D - D_j)`, with the weights of the pairs of j, all from
two sweeps. These jackknife values estimate the variance of the U-statistic; those of a group of items that depend on
each other leave together. The interval is that of an AUC
(`kernelrank.metrics.roc`), with Student's quantile.

References
----------
.. [Har82] Harrell, Califf, Pryor, Lee and Rosati (1982). Evaluating the yield of medical tests. JAMA 247.
.. [Uno11] Uno, Cai, Pencina, D'Agostino and Wei (2011). On the C-statistics for evaluating overall adequacy of risk
   prediction procedures with censored survival data. Statistics in Medicine 30.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Labels, is_structured
from kernelrank.base.labels import Lifetimes, event_times
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.metrics.concordance_result import ConcordanceResult
from kernelrank.metrics.judged_items import FloatArray, JudgedItems, read_items
from kernelrank.metrics.kaplan_meier import censoring_weights
from kernelrank.metrics.measure import Measure, check_option
from kernelrank.metrics.measure_result import MeasureResult

__all__ = ["Concordance", "concordance"]


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
