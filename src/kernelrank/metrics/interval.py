"""Confidence intervals, and the bootstrap interval of a mean over queries."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from kernelrank.arrays import Float
from kernelrank.charts import Estimates
from kernelrank.errors import InvalidInputError
from kernelrank.result import Result

if TYPE_CHECKING:
    from kernelrank.metrics.measure_result import MeasureResult

__all__ = [
    "FIXED",
    "Interval",
    "bootstrap_interval",
    "check_confidence",
    "percentile_interval",
    "resampled_means",
    "wilson_interval",
]

FIXED = "the predictions do not vary"
"""What an interval of given predictions leaves out."""

# Draws held at once: 32 MB of query numbers, whatever the number of queries and resamples.
_DRAWS_AT_ONCE = 4_000_000


@dataclass(frozen=True, repr=False)
class Interval(Result):
    """A confidence interval, with its level and the method that computed it.

    Parameters
    ----------
    low, high : float
        Its ends; ``low, high = interval`` gives them.
    level : float
        Confidence level.
    method : str
        How it was computed, and what it allows for.

    Examples
    --------
    >>> interval = Interval(0.25, 0.5, 0.95, "12 queries resampled 2,000 times")
    >>> print(interval)
    95% interval [0.2500, 0.5000] (12 queries resampled 2,000 times)
    >>> 0.3 in interval, round(interval.width, 2)
    (True, 0.25)
    """

    low: float
    high: float
    level: float
    method: str

    @property
    def width(self) -> float:
        """The width of the interval: its upper minus its lower end."""
        return self.high - self.low

    def __iter__(self) -> Iterator[float]:
        yield self.low
        yield self.high

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{100 * self.level:.4g}% interval [{self.low:.4f}, {self.high:.4f}] ({self.method})"

    def _fact(self, pattern: str = ".3f") -> tuple[str, str]:
        """Return what a table says of the interval: its level, and its ends in a format.

        Examples
        --------
        >>> Interval(0.25, 0.5, 0.95, "12 queries resampled 2,000 times")._fact()
        ('95% interval', '0.250 to 0.500')
        """
        return f"{100 * self.level:.4g}% interval", f"{self.low:{pattern}} to {self.high:{pattern}}"

    def _facts(self) -> list[tuple[str, str]]:
        return [self._fact(), ("about the interval", self.method)]

    def _chart(self) -> Estimates:
        return Estimates([(f"{100 * self.level:.4g}% interval", None, self.low, self.high)], "value")

    def _columns(self) -> dict[str, Any]:
        return {"low": [self.low], "high": [self.high], "level": [self.level], "interval_method": [self.method]}


def check_confidence(confidence: float) -> None:
    """Raise an error for a confidence that is not between 0 and 1."""
    if not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise InvalidInputError(f"confidence must lie between 0 and 1, got {confidence!r}")


def percentile_interval(draws: Float, confidence: float, method: str) -> Interval:
    """Return the percentiles of resampled values without NaN; both ends are NaN if all values are."""
    known = draws[~np.isnan(draws)]
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail]) if len(known) else (np.nan, np.nan)
    return Interval(float(low), float(high), confidence, method)


def wilson_interval(value: float, n: float, confidence: float, method: str, degrees: float = np.inf) -> Interval:
    """Return Wilson's interval of a proportion: it stays within 0 and 1 and never has width zero.

    Where n itself was estimated, with some degrees of freedom, Student's quantile stands for the normal one.

    Examples
    --------
    >>> print(wilson_interval(1.0, 10, 0.95, "10 items"))
    95% interval [0.7225, 1.0000] (10 items)
    """
    z = float(stdtrit(degrees, (1 + confidence) / 2))
    middle = (value + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(value * (1 - value) / n + z**2 / (4 * n**2))
    # Rounding must not leave the value outside where it is 0 or 1.
    low, high = max(0.0, min(value, float(middle - half))), min(1.0, max(value, float(middle + half)))
    return Interval(low, high, confidence, method)


def resampled_means(values: Float, n_resamples: int, generator: np.random.Generator) -> Float:
    """Return the means of values that were drawn with replacement, as many at a time as memory allows."""
    means = np.empty(n_resamples)
    step = max(1, _DRAWS_AT_ONCE // len(values))
    for start in range(0, n_resamples, step):
        drawn = generator.integers(len(values), size=(min(step, n_resamples - start), len(values)))
        means[start : start + step] = values[drawn].mean(axis=1)
    return means


def bootstrap_interval(
    result: MeasureResult,
    *,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> Interval:
    """Bootstrap interval of the mean over queries.

    The interval allows for other queries, not for other predictions: it does not include the variation between
    training sets. With fewer than about twenty queries it is too narrow.

    Time O(n_resamples × n_queries), memory O(n_queries) and at most 64 MB more.

    Parameters
    ----------
    result : MeasureResult
        With at least two queries.
    confidence : float, default=0.95
        Between 0 and 1.
    n_resamples : int, default=2000
        How many means are drawn.
    random_state : int, Generator, RandomState or None
        Random seed.

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
    check_confidence(confidence)
    if not isinstance(n_resamples, numbers.Integral) or n_resamples < 1:
        raise InvalidInputError(f"n_resamples must be a whole number of at least 1, got {n_resamples!r}")
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    generator = np.random.default_rng(random_state)
    means = resampled_means(values, int(n_resamples), generator)
    return percentile_interval(means, confidence, f"{len(values)} queries resampled {n_resamples:,} times; {FIXED}")
