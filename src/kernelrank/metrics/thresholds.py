r"""Precision, recall and F of the items whose predicted score reaches a threshold.

With TP the relevant items at or above the threshold, n all items there and R all relevant items of the query,

.. math:: \text{precision} = \frac{\text{TP}}{n}, \qquad \text{recall} = \frac{\text{TP}}{R}, \qquad
   F_\beta = \frac{(1 + \beta^2)\,\text{TP}}{n + \beta^2 R}.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kernelrank.errors import InvalidInputError
from kernelrank.metrics.lists import BinaryRelevance, check_number
from kernelrank.metrics.measure import FloatArray, JudgedItems, MeasureResult, has_options_of, measure_by


@dataclass(frozen=True)
class ThresholdMeasure(BinaryRelevance):
    """What precision, recall and F at a threshold share.

    Parameters
    ----------
    threshold : float, default=0.0
        An item is taken for relevant if its predicted score is at least this.
    relevant_from : float or None, default=None
        An item is relevant if y is at least this; None takes every y > 0.
    empty : {"skip", "zero", "one"}, default="skip"
        What a query without a relevant item counts: it is left out, or counts 0 or 1.
    """

    by_order: ClassVar[bool] = False

    threshold: float = 0.0

    def __post_init__(self) -> None:
        """Raise an error for unknown rules and a threshold that is not a number."""
        super().__post_init__()
        check_number("threshold", self.threshold)

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return (f"predicted score >= {self.threshold:g}", *super().rules)

    def _values(self, items: JudgedItems) -> FloatArray:
        relevance, chosen = self._relevance(items.y), (items.score >= self.threshold).astype(np.float64)
        counts = Counts(*(_totals(items, values) for values in (relevance * chosen, chosen, relevance)))
        above, below = self._fraction(counts)
        # Nothing out of nothing is 0.
        return self._filled(above / np.where(below > 0, below, 1.0), counts.R > 0)

    @abstractmethod
    def _fraction(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        """Return what is divided by what in each query."""


class Counts(NamedTuple):
    """The counts of each query: true positives TP, chosen items n, relevant items R."""

    TP: FloatArray
    n: FloatArray
    R: FloatArray


def _totals(items: JudgedItems, values: FloatArray) -> FloatArray:
    return np.bincount(items.queries.codes, weights=values, minlength=len(items.queries)).astype(np.float64)


@dataclass(frozen=True)
class ThresholdPrecision(ThresholdMeasure):
    """The share of relevant items among those whose predicted score reaches a threshold.

    A query with relevant items where no score reaches the threshold counts 0, as in scikit-learn.

    O(m) time and memory.

    Parameters
    ----------
    threshold, relevant_from, empty
        See `ThresholdMeasure`.

    Examples
    --------
    >>> print(ThresholdPrecision(0.5)([1, 0, 1], [0.9, 0.6, 0.1]))
    threshold precision (predicted score >= 0.5, no such score counts 0, relevant y > 0, ...) = 0.5000 over 1 query, ...
    """

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "threshold precision"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        first, *rest = super().rules
        return (first, "no such score counts 0", *rest)

    def _fraction(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        return counts.TP, counts.n


@dataclass(frozen=True)
class ThresholdRecall(ThresholdMeasure):
    """The share of the relevant items whose predicted score reaches a threshold: the sensitivity.

    O(m) time and memory.

    Parameters
    ----------
    threshold, relevant_from, empty
        See `ThresholdMeasure`.

    Examples
    --------
    >>> ThresholdRecall(0.5)([1, 0, 1], [0.9, 0.6, 0.1]).mean
    0.5
    """

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "threshold recall"

    def _fraction(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        return counts.TP, counts.R


@dataclass(frozen=True)
class ThresholdF(ThresholdMeasure):
    """The F measure at a threshold: the harmonic mean of precision and recall, recall weighing beta² times as much.

    O(m) time and memory.

    Parameters
    ----------
    beta : float, default=1.0
        Above 1 recall counts more, below 1 precision.
    threshold, relevant_from, empty
        See `ThresholdMeasure`.

    Examples
    --------
    >>> ThresholdF(0.5)([1, 0, 1], [0.9, 0.6, 0.1]).mean
    0.5
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        """Raise an error for unknown rules and a beta that is no positive number."""
        super().__post_init__()
        check_number("beta", self.beta)
        if self.beta <= 0:
            raise InvalidInputError(f"beta must be above 0, got {self.beta!r}")

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "threshold F"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return (f"beta {self.beta:g}", *super().rules)

    def _fraction(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        return (1 + self.beta**2) * counts.TP, counts.n + self.beta**2 * counts.R


@has_options_of(ThresholdPrecision)
def threshold_precision(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean precision at a threshold; see `ThresholdPrecision`.

    O(m) time and memory.

    Parameters
    ----------
    y_true, y_score, qid, per_query
        As in `pairwise_accuracy`.
    threshold, relevant_from, empty
        See `ThresholdMeasure`.

    Returns
    -------
    float or MeasureResult

    Examples
    --------
    >>> threshold_precision([1, 0, 1], [0.3, 0.2, -0.1])
    0.5
    """
    return measure_by(ThresholdPrecision, *scores, **options)


@has_options_of(ThresholdRecall)
def threshold_recall(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean recall at a threshold; see `ThresholdRecall`, and `threshold_precision` for the arguments.

    O(m) time and memory.

    Examples
    --------
    >>> threshold_recall([1, 0, 1], [0.3, 0.2, -0.1])
    0.5
    """
    return measure_by(ThresholdRecall, *scores, **options)


@has_options_of(ThresholdF)
def threshold_f(*scores: Any, **options: Any) -> float | MeasureResult:
    """Return the mean F measure at a threshold; see `ThresholdF`, and `threshold_precision` for the arguments.

    O(m) time and memory.

    Examples
    --------
    >>> threshold_f([1, 0, 1], [0.3, 0.2, 0.1])
    0.8
    """
    return measure_by(ThresholdF, *scores, **options)
