"""An interval for a mean over queries: how it would vary had other queries been asked."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelrank.errors import InvalidInputError

if TYPE_CHECKING:
    from kernelrank.metrics.measure_result import MeasureResult

__all__ = ["Interval", "bootstrap_interval"]

# Draws held at once: 32 MB of query numbers, whatever the number of queries and resamples.
_DRAWS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Interval:
    """An interval of a mean over queries: a percentile bootstrap, or DeLong's interval of the AUC of one query.

    Parameters
    ----------
    low, high : float
        Its ends.
    confidence : float
        How often such an interval is to hold the mean.
    label : str
        The measure with its rules.
    n_queries, n_resamples : int
        How many queries were drawn from, and how often; 0 resamples where none was drawn.
    how : str, default=""
        What the interval rests on, where it is no bootstrap.

    Examples
    --------
    >>> interval = Interval(0.25, 0.5, 0.95, "AUC", 12, 2000)
    >>> print(interval)
    AUC: 95% interval [0.2500, 0.5000] (12 queries resampled 2000 times; the predictions do not vary)
    """

    low: float
    high: float
    confidence: float
    label: str
    n_queries: int
    n_resamples: int
    how: str = ""

    def __str__(self) -> str:
        how = self.how or f"{self.n_queries} queries resampled {self.n_resamples} times"
        return (
            f"{self.label}: {100 * self.confidence:.4g}% interval [{self.low:.4f}, {self.high:.4f}] "
            f"({how}; the predictions do not vary)"
        )

    def __repr__(self) -> str:
        return f"<Interval {self}>"

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def bootstrap_interval(
    result: MeasureResult,
    *,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> Interval:
    """Resample the measured queries with replacement and take the percentiles of the mean.

    What varies is the queries; the predictions stay as they are, so the interval says nothing of how much
    another training set would change them. With fewer than some twenty queries it is too narrow.

    Time O(n_resamples × n_queries), memory O(n_queries) and at most 64 MB beside.

    Parameters
    ----------
    result : MeasureResult
        With at least two queries.
    confidence : float, default=0.95
        Between 0 and 1.
    n_resamples : int, default=2000
        How many means are drawn.
    random_state : int, Generator, RandomState or None
        Where the random numbers come from.

    Returns
    -------
    Interval

    Examples
    --------
    >>> from kernelrank.metrics import PairwiseAccuracy
    >>> result = PairwiseAccuracy()([2, 1, 2, 1, 2, 1], [2, 1, 1, 2, 3, 1], qid=[1, 1, 2, 2, 3, 3])
    >>> interval = bootstrap_interval(result, random_state=0)
    >>> interval.low, interval.high
    (0.0, 1.0)
    """
    values = result.values
    if len(values) < 2:
        raise InvalidInputError("an interval over queries needs at least two measured queries, got one")
    if not 0 < confidence < 1:
        raise InvalidInputError(f"confidence must lie between 0 and 1, got {confidence!r}")
    if not isinstance(n_resamples, numbers.Integral) or n_resamples < 1:
        raise InvalidInputError(f"n_resamples must be a whole number of at least 1, got {n_resamples!r}")
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    generator = np.random.default_rng(random_state)
    means = np.empty(n_resamples)
    step = max(1, _DRAWS_AT_ONCE // len(values))
    for start in range(0, n_resamples, step):
        drawn = generator.integers(len(values), size=(min(step, n_resamples - start), len(values)))
        means[start : start + step] = values[drawn].mean(axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(low), float(high), confidence, result.label, len(values), int(n_resamples))
