r"""Confidence intervals, and those of a mean over queries.

**Mean over queries.** The values of a measure are bounded and often skewed: most queries are perfect, and a few are
not. Then the mean m and the standard deviation s of n values are correlated, ``T = √n (m - μ) / s`` is skewed the other
way, and percentiles of resampled means miss the true mean μ too often on one side. Two intervals allow for this, each
in its own way, and the one that is used reaches from the lower of their lower ends to the higher of their upper ends:

* With ``b = γ / √n`` for the sample skewness γ, ``T + b T² / 3 + b² T³ / 27 + b / 6`` is nearly free of skewness
  [Hal92]_ and increases with T. Its quantiles are taken from Student's distribution with n - 1 degrees of freedom;
  inverted, ``T(q) = 3 (∛(1 + b (q - b / 6)) - 1) / b``, and the ends are ``m - T(±q) s / √n``. A skewness from few
  values is uncertain, and too small where rare values were not drawn: each end takes one that is half a standard error,
  ``√(6 / n) / 2``, nearer to its own side.
* For values between two bounds, the variance of a value is assumed to be ``φ (μ - low) (high - μ)``, with φ that of the
  sample: Wilson's interval [Wil27]_ of a proportion, for n / φ items and Student's quantile. Without two bounds,
  Student's interval.

The first knows how skewed the sample is, but not where values end. The second knows the bounds, and misses skewness
where they are far away. `benchmarks/intervals_over_queries_cover.py` compares the result with percentiles.

No values between two bounds vary more than those that are all at one of them, as in a proportion: a sample of n has a φ
of at most n / (n - 1), and the interval is never wider than Wilson's for this. If all values are equal, there is
nothing to estimate a variance from: at a bound, the interval is that widest one, and elsewhere it has no width.

References
----------
.. [Hal92] Hall (1992). On the removal of skewness by transformation. Journal of the Royal Statistical Society B 54(1).
.. [Wil27] Wilson (1927). Probable inference, the law of succession, and statistical inference. Journal of the American
   Statistical Association 22(158).
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from kernelrank.base.arrays import Float
from kernelrank.base.results import Estimates, Result
from kernelrank.errors import InvalidInputError

if TYPE_CHECKING:
    from kernelrank.metrics.measure_result import MeasureResult

__all__ = [
    "FIXED",
    "Interval",
    "bootstrap_interval",
    "check_confidence",
    "mean_interval",
    "percentile_interval",
    "resampled_means",
    "wilson_interval",
]

FIXED = "the predictions do not vary"
"""What an interval of given predictions leaves out."""

UNBOUNDED = (-np.inf, np.inf)
"""The range of values of which nothing is known."""

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


def mean_interval(values: Float, confidence: float, method: str, bounds: tuple[float, float] = UNBOUNDED) -> Interval:
    """Return an interval of the mean of independent values that may be skewed; see the head of this file.

    Parameters
    ----------
    values : ndarray, shape (n,)
        At least two.
    confidence : float
    method : str
        What the interval says of itself.
    bounds : (float, float)
        The lowest and the highest possible value, infinite where there is none.

    Returns
    -------
    Interval
        Within the bounds, and around the mean of the values.

    Notes
    -----
    O(n) time and memory.

    Examples
    --------
    >>> values = np.array([1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 0.2, 1.0])
    >>> print(mean_interval(values, 0.95, "8 queries", (0.0, 1.0)))
    95% interval [0.3997, 0.9755] (8 queries)
    """
    n, mean = len(values), float(values.mean())
    errors = values - mean
    variance = float(errors @ errors) / (n - 1)
    low, high = bounds
    reach, bounded = float(stdtrit(n - 1, (1 + confidence) / 2)), bool(np.isfinite(high - low))
    # Equal values: rounding of their mean must not pass for a variance.
    if np.ptp(values) == 0:
        variance, mean = 0.0, float(values[0])
    if variance == 0 and not (bounded and mean in bounds):
        return Interval(mean, mean, confidence, method)
    ends = mean + np.sqrt(variance / n) * np.array([-reach, reach])
    widest = np.array(bounds)
    if bounded:
        share = min(1.0, max(0.0, (mean - low) / (high - low)))
        spread = share * (1 - share) * (high - low) ** 2
        proportion, own = n - 1.0, n * spread / variance if variance > 0 else n - 1.0
        widest, ends = (
            low + (high - low) * np.array(list(wilson_interval(share, size, confidence, "", n - 1)))
            for size in (proportion, max(proportion, own))
        )
    if variance > 0:
        skewness, doubt = float(np.mean(errors**3)) / (variance * (n - 1) / n) ** 1.5, 0.5 * np.sqrt(6.0 / n)
        below, above = (_without_skewness(-side * reach, (skewness + side * doubt) / np.sqrt(n)) for side in (-1, 1))
        skewed = mean - np.sqrt(variance / n) * np.array([below, above])
        ends = np.array([min(ends[0], skewed[0]), max(ends[1], skewed[1])])
    ends = np.clip(ends, *widest)
    return Interval(min(float(ends[0]), mean), max(float(ends[1]), mean), confidence, method)


def _without_skewness(q: float, b: float) -> float:
    """Return the T whose transform is q."""
    if abs(b) < 1e-8:  # then the transform is the identity, but for less than 1e-7
        return q
    return float(3.0 * (np.cbrt(1.0 + b * (q - b / 6.0)) - 1.0) / b)


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
    """Percentile bootstrap interval of the mean over queries.

    The interval allows for other queries, not for other predictions: it does not include the variation between
    training sets. It is too narrow with few queries, most of all where nearly all of them have the best value:
    `MeasureResult.interval` covers better, and needs no resampling.

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
