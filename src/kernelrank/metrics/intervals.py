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

**Weighted mean.** The index of all pairs of several groups is the mean ``m = Σ h v`` of the indices v of the groups,
with their shares h of all pairs. Where a few groups have most of the pairs, their deviations are all that the variance
is estimated from, and two changes allow for this; with equal shares they change nothing. The variance is that of the
jackknife, ``(n - 1) / n Σ (h (v - m) / (1 - h))²``, and Student's distribution has ``(n - 1) k / n`` degrees of freedom
for the effective number ``k = 1 / Σ h²`` of groups. The skewness b of the sum, ``Σ e³ / (Σ e²)^1.5`` for
``e = h (v - m)``, is that of a single deviation where one share is large, and is multiplied by ``k / n``.

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
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from kernelrank.base.arrays import Float, Index
from kernelrank.base.results import Estimates, Result
from kernelrank.base.text import p_is, pvalue
from kernelrank.base.validation import check_confidence, check_pair_values, check_pairs
from kernelrank.errors import InvalidInputError

if TYPE_CHECKING:
    from kernelrank.metrics.measure import FloatArray, MeasureResult

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
        """Return what a table says of the interval: its level, and its ends in a format."""
        return f"{100 * self.level:.4g}% interval", f"{self.low:{pattern}} to {self.high:{pattern}}"

    def _facts(self) -> list[tuple[str, str]]:
        return [self._fact(), ("about the interval", self.method)]

    def _chart(self) -> Estimates:
        return Estimates([(f"{100 * self.level:.4g}% interval", None, self.low, self.high)], "value")

    def _columns(self) -> dict[str, Any]:
        return {"low": [self.low], "high": [self.high], "level": [self.level], "interval_method": [self.method]}


def percentile_interval(draws: Float, confidence: float, method: str) -> Interval:
    """Return the percentiles of resampled values without NaN; both ends are NaN if all values are."""
    known = draws[~np.isnan(draws)]
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail]) if len(known) else (np.nan, np.nan)
    return Interval(float(low), float(high), confidence, method)


def wilson_interval(value: float, n: float, confidence: float, method: str, degrees: float = np.inf) -> Interval:
    """Return Wilson's interval of a proportion: it stays within 0 and 1 and never has width zero.

    Where n itself was estimated, with some degrees of freedom, Student's quantile stands for the normal one.
    """
    z = float(stdtrit(degrees, (1 + confidence) / 2))
    middle = (value + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(value * (1 - value) / n + z**2 / (4 * n**2))
    # Rounding must not leave the value outside where it is 0 or 1.
    low, high = max(0.0, min(value, float(middle - half))), min(1.0, max(value, float(middle + half)))
    return Interval(low, high, confidence, method)


def mean_interval(
    values: Float,
    confidence: float,
    method: str,
    bounds: tuple[float, float] = UNBOUNDED,
    weights: Float | None = None,
) -> Interval:
    """Return an interval of the mean of independent values that may be skewed; see the head of this file.

    O(n) time and memory.

    Shapes: values, weights (n,).

    bounds: The lowest and the highest possible value, infinite where there is none.
    weights: All equal unless given; else above zero, and two at least.
    """
    n = len(values)
    shares = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    mean, degrees = float(shares @ values), effective_degrees(shares)
    errors = shares * (values - mean)
    variance = (n - 1) / n * float(np.sum((errors / (1.0 - shares)) ** 2))
    low, high = bounds
    reach, bounded = float(stdtrit(degrees, (1 + confidence) / 2)), bool(np.isfinite(high - low))
    # Equal values: rounding of their mean must not pass for a variance.
    if np.ptp(values) == 0:
        variance, mean = 0.0, float(values[0])
    if variance == 0 and not (bounded and mean in bounds):
        return Interval(mean, mean, confidence, method)
    ends = mean + np.sqrt(variance) * np.array([-reach, reach])
    widest = np.array(bounds)
    if bounded:
        share = min(1.0, max(0.0, (mean - low) / (high - low)))
        spread = share * (1 - share) * (high - low) ** 2
        own = spread / variance if variance > 0 else degrees
        widest, ends = (
            low + (high - low) * np.array(list(wilson_interval(share, number, confidence, "", degrees)))
            for number in (degrees, max(degrees, own))
        )
    if variance > 0:
        skewness = float(np.sum(errors**3)) / (n * float(shares @ shares) * float(errors @ errors) ** 1.5)
        doubt = 0.5 * np.sqrt(6.0) / n
        below, above = (_without_skewness(-side * reach, skewness + side * doubt) for side in (-1, 1))
        skewed = mean - np.sqrt(variance) * np.array([below, above])
        ends = np.array([min(ends[0], skewed[0]), max(ends[1], skewed[1])])
    ends = np.clip(ends, *widest)
    return Interval(min(float(ends[0]), mean), max(float(ends[1]), mean), confidence, method)


def effective_degrees(weights: Float) -> float:
    """Return the degrees of freedom of the variance of a weighted mean, at least one: n - 1 for equal weights."""
    n = len(weights)
    return max(1.0, (n - 1) / n * float(weights.sum() ** 2 / (weights @ weights)))


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


# Paired tests ---------------------------------------------------------------------------------------------------------
#
# Paired tests: whether one ranking of the same queries is better than another by more than chance.
#
# With :math:`d_q` the difference of the two values of query q and :math:`\bar d` their mean: if neither ranking is
# better, the sign of each :math:`d_q` is as likely to be the other, whatever its size. The p-value is the share of all
# :math:`2^n` choices of signs whose mean is as far from zero as :math:`\bar d`,
#
# .. math:: p = 2^{-n} \, \#\{ s \in \{-1, 1\}^n : |\textstyle\sum_q s_q d_q| \ge |\sum_q d_q| \}.
#
# All of them are visited while there are few, doubling the list of sums with each query: zero differences change
# nothing and are not counted into n. Beyond that signs are drawn, and :math:`p = (1 + \#) / (1 + N)` for N draws.
#
# Wilcoxon's signed-rank test [Wil45] asks the same of the ranks of :math:`|d_q|`, with their signs, in the place of the
# differences, so that a few large ones do not decide. Queries without a difference are left out before the rest is
# ranked (Wilcoxon's own convention), and equal differences share the mean of their ranks. While there are few queries
# its p-value comes from all choices of signs, ties or not; beyond that it is that of `scipy.stats.wilcoxon`.

EXHAUSTIVE_QUERIES = 18
"""Up to so many queries that differ, every choice of signs is visited: 2¹⁸ sums, two megabytes."""

DRAWN_AT_ONCE = 4_000_000
"""Random numbers held at a time."""

ROUNDING = 1e-12
"""Sums that differ by less than this share of the sum of all |d| are the same: the order of adding must not decide."""


WILCOXON = "Wilcoxon's signed ranks, zero differences left out"
"""The second test with its convention, as it is printed."""


@dataclass(frozen=True, repr=False)
class PairedTest(Result):
    """The result of a paired test between two rankings of the same queries.

    Parameters
    ----------
    label : str
        The measure with its rules.
    difference : float
        The mean over queries of first minus second.
    interval : Interval
        Of the mean difference, allowing for other queries, as `MeasureResult.interval` computes it.
    pvalue : float
        The share of sign flips of the differences at least as extreme, two-sided.
    wilcoxon_pvalue : float
        That of Wilcoxon's signed-rank test, two-sided; queries without a difference are left out.
    n_queries, n_first_better, n_second_better : int
        How many queries both measured, and how often each was better.
    exact : bool
        Whether all sign flips were visited.

    Examples
    --------
    >>> interval = Interval(0.01, 0.09, 0.95, "6 queries, corrected for skewness")
    >>> print(PairedTest("AUC", 0.05, interval, 0.03125, 0.0625, 6, 5, 0, True))
    AUC: difference +0.0500, 95% interval [+0.0100, +0.0900], p = 0.031 by sign flips, 0.062 by Wilcoxon's signed
    ranks, zero differences left out (6 queries: 5 better, 0 worse, 1 equal)
    """

    label: str
    difference: float
    interval: Interval
    pvalue: float
    wilcoxon_pvalue: float
    n_queries: int
    n_first_better: int
    n_second_better: int
    exact: bool

    def __str__(self) -> str:
        low, high = self.interval
        equal = self.n_queries - self.n_first_better - self.n_second_better
        return (
            f"{self.label}: difference {self.difference:+.4f}, {100 * self.interval.level:.4g}% interval "
            f"[{low:+.4f}, {high:+.4f}], p {p_is(self.pvalue)} by sign flips, {pvalue(self.wilcoxon_pvalue)} by "
            f"{WILCOXON} ({self.n_queries} queries: "
            f"{self.n_first_better} better, {self.n_second_better} worse, {equal} equal)"
        )

    def _facts(self) -> list[tuple[str, str]]:
        equal = self.n_queries - self.n_first_better - self.n_second_better
        return [
            ("measure", self.label),
            ("difference, first minus second", f"{self.difference:+.4f}"),
            self.interval._fact("+.4f"),
            ("p-value by sign flips", pvalue(self.pvalue)),
            (f"p-value by {WILCOXON}", pvalue(self.wilcoxon_pvalue)),
            ("queries", f"{self.n_queries:,}"),
            (
                "first better, second better, equal",
                f"{self.n_first_better:,}, {self.n_second_better:,}, {equal:,}",
            ),
            ("about the interval", self.interval.method),
        ]

    def _chart(self) -> Estimates:
        label = f"difference of {self.label.split(' (')[0]}"
        return Estimates([("first − second", self.difference, *self.interval)], label, 0.0)

    def _columns(self) -> dict[str, Any]:
        return {
            "label": [self.label],
            "difference": [self.difference],
            **self.interval._columns(),
            "pvalue": [self.pvalue],
            "wilcoxon_pvalue": [self.wilcoxon_pvalue],
            "n_queries": [self.n_queries],
            "n_first_better": [self.n_first_better],
            "n_second_better": [self.n_second_better],
        }


def paired_test(
    first: MeasureResult,
    second: MeasureResult,
    *,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: int | np.random.Generator | None = None,
) -> PairedTest:
    """Paired test of two rankings of the same queries: sign-flip and Wilcoxon signed-rank test.

    Time O(n_resamples × n_queries), memory O(n_queries) and at most 64 MB.

    Parameters
    ----------
    first, second : MeasureResult
        Of the same measure, with the same queries measured, in any order.
    confidence : float, default=0.95
        Between 0 and 1, for the interval of the mean difference.
    n_resamples : int, default=10_000
        How many sign flips are drawn, where not all of them are visited.
    random_state : int, Generator or None
        Random seed.

    Returns
    -------
    PairedTest

    Raises
    ------
    InvalidInputError
        For other measures, other queries, or fewer than two of them.

    Examples
    --------
    >>> from kernelrank.metrics import PairwiseAccuracy
    >>> y, qid = [2, 1] * 6, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    >>> right = PairwiseAccuracy()(y, [2, 1] * 6, qid=qid)
    >>> wrong = PairwiseAccuracy()(y, [1, 2] * 6, qid=qid)
    >>> test = paired_test(right, wrong)
    >>> test.difference, test.pvalue, test.wilcoxon_pvalue, test.exact
    (1.0, 0.03125, 0.03125, True)
    """
    check_confidence(confidence)
    if not isinstance(n_resamples, numbers.Integral) or n_resamples < 1:
        raise InvalidInputError(f"n_resamples must be a whole number of at least 1, got {n_resamples!r}")
    differences = _differences(first, second)
    generator = np.random.default_rng(random_state)
    moving = differences[differences != 0]
    exact = len(moving) <= EXHAUSTIVE_QUERIES
    pvalue = _every_flip(moving) if exact else _drawn_flips(moving, int(n_resamples), generator)
    how = f"{len(differences)} queries, corrected for skewness; {FIXED}"
    reach = first.bounds[1] - first.bounds[0]
    return PairedTest(
        first.label,
        float(differences.mean()),
        mean_interval(differences, confidence, how, (-reach, reach)),
        pvalue,
        _signed_ranks(moving),
        len(differences),
        int(np.sum(differences > 0)),
        int(np.sum(differences < 0)),
        exact,
    )


def _differences(first: MeasureResult, second: MeasureResult) -> FloatArray:
    """Match the queries of two results, and subtract."""
    if first.label != second.label:
        raise InvalidInputError(f"two measures cannot be compared: {first.label} and {second.label}")
    place: dict[Any, int] = {query: number for number, query in enumerate(second.queries.tolist())}
    queries = first.queries.tolist()
    for query in (*(q for q in queries if q not in place), *(place.keys() - set(queries))):
        raise InvalidInputError(
            f"the query {query!r} was measured for only one of the two: measure the same queries for both"
        )
    if len(queries) < 2:
        raise InvalidInputError("a test over queries needs at least two measured queries, got one")
    others = second.values[[place[query] for query in queries]]
    differences: FloatArray = first.values - others
    # Values that are equal but for rounding do not differ.
    differences[np.abs(differences) <= ROUNDING * np.maximum(np.abs(first.values), np.abs(others))] = 0.0
    return differences


def _every_flip(moving: FloatArray) -> float:
    sums = np.zeros(1)
    for difference in np.abs(moving):
        sums = np.concatenate([sums + difference, sums - difference])
    return float(np.mean(_extreme(sums, moving)))


def _signed_ranks(moving: FloatArray) -> float:
    """Return the two-sided p-value of Wilcoxon's test for differences that are not zero."""
    if len(moving) == 0:
        return 1.0
    from scipy.stats import rankdata, wilcoxon

    size = np.abs(moving)
    # Differences that are equal but for rounding share a rank.
    levels = np.round(size / size.max(), 12)
    if len(moving) <= EXHAUSTIVE_QUERIES:
        return _every_flip(np.sign(moving) * rankdata(levels))
    return float(wilcoxon(np.sign(moving) * levels).pvalue)


def _drawn_flips(moving: FloatArray, n_draws: int, generator: np.random.Generator) -> float:
    extreme, step = 0, max(1, DRAWN_AT_ONCE // len(moving))
    for start in range(0, n_draws, step):
        signs = generator.integers(2, size=(min(step, n_draws - start), len(moving)), dtype=np.int8)
        extreme += int(np.sum(_extreme((2.0 * signs - 1.0) @ moving, moving)))
    return (1 + extreme) / (1 + n_draws)


def _extreme(sums: FloatArray, moving: FloatArray) -> Any:
    return np.abs(sums) >= abs(moving.sum()) - ROUNDING * np.abs(moving).sum()


# Preference agreement -------------------------------------------------------------------------------------------------
#
# The agreement of scores with preferences, with an interval.

METHOD = f"preferences with an item in common vary together; {FIXED}"


@dataclass(frozen=True, repr=False)
class PreferenceAgreement(Result):
    """The share of preferences that the scores agree with, with a confidence interval.

    Parameters
    ----------
    value : float
        The share, a tie counting a half, weighted where preferences have weights.
    interval : Interval
    n_preferences, n_items, n_ties : int
        How many preferences there are with a weight above zero, between how many items, and how many of them have tied
        scores.

    Examples
    --------
    >>> print(PreferenceAgreement(0.75, Interval(0.5, 0.9, 0.95, METHOD), 40, 20, 0))
    agreement with 40 preferences between 20 items: 0.7500, 95% interval [0.5000, 0.9000] (preferences with an item in
    common vary together; the predictions do not vary)
    """

    value: float
    interval: Interval
    n_preferences: int
    n_items: int
    n_ties: int

    def __str__(self) -> str:
        count = f"{self.n_preferences} preference{'' if self.n_preferences == 1 else 's'}"
        return f"agreement with {count} between {self.n_items} items: {self.value:.4f}, {self.interval}"

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("agreement", f"{self.value:.4f}"),
            self.interval._fact(".4f"),
            ("preferences", f"{self.n_preferences:,} between {self.n_items:,} items"),
            ("of them with tied scores", f"{self.n_ties:,}"),
            ("about the interval", self.interval.method),
        ]

    def _chart(self) -> Estimates:
        row = f"{self.n_preferences:,} preferences", self.value, *self.interval
        return Estimates([row], "share of preferences that the scores agree with", 0.5)

    def _columns(self) -> dict[str, Any]:
        return {
            "agreement": [self.value],
            **self.interval._columns(),
            "n_preferences": [self.n_preferences],
            "n_items": [self.n_items],
            "n_ties": [self.n_ties],
        }


def preference_agreement(
    pairs: ArrayLike, y_score: ArrayLike, *, weight: ArrayLike | None = None, confidence: float = 0.95
) -> PreferenceAgreement:
    r"""Measure how well scores agree with preferences.

    Preferences that share an item are correlated, so a thousand of them between fifty items are less informative than
    a thousand between two thousand. With ``e_d`` the contribution of preference d to the error of the share, the
    variance includes every two preferences with an item in common [ASA15]_,

        ``Σ_i (Σ_{d with i} e_d)² - Σ_{ij} (Σ_{d of i and j} e_d)²``,

    or, if that is smaller, only those of the same two items. The interval is that of [Wil27]_ for the number of
    independent preferences with this variance. If all preferences agree, or none does, the variance cannot be
    estimated; then half the number of items is taken as the number of independent preferences.

    Parameters
    ----------
    pairs : array-like of int, shape (l, 2)
        Column 0 is preferred to column 1.
    y_score : array-like, shape (m,)
        The scores of the items.
    weight : array-like, shape (l,), optional
        How much each preference counts.
    confidence : float, default=0.95
        Between 0 and 1.

    Returns
    -------
    PreferenceAgreement

    Notes
    -----
    Time O(m + l log l), memory O(m + l). The interval allows for other items and other judges, and takes the scores as
    given. The correlation of preferences of one judge is not included.

    References
    ----------
    .. [ASA15] Aronow, Samii and Assenova (2015). Cluster-robust variance estimation for dyadic data. Political Analysis
       23(4), 564-577.
    .. [Wil27] Wilson (1927). Probable inference, the law of succession, and statistical inference. Journal of the
       American Statistical Association 22(158), 209-212.

    Examples
    --------
    >>> agreement = preference_agreement([(0, 1), (2, 3), (1, 2), (3, 0)], [0.9, 0.4, 0.7, 0.1])
    >>> agreement.value, agreement.n_ties
    (0.5, 0)
    """
    scores = np.asarray(y_score, dtype=np.float64)
    if scores.ndim != 1 or not np.all(np.isfinite(scores)):
        raise InvalidInputError(f"y_score must be finite numbers, one for each item, got the shape {scores.shape}")
    check_confidence(confidence)
    given = check_pairs(pairs, len(scores))
    checked = check_pair_values(weight, len(given), name="weight")
    weights = np.ones(len(given)) if checked is None else checked
    return agreement_of(given, scores[given[:, 0]] - scores[given[:, 1]], weights, confidence)


def agreement_of(pairs: Index, difference: Float, weights: Float, confidence: float) -> PreferenceAgreement:
    """Measure how well differences, one for each preference, agree with preferences that were checked.

    Shapes: pairs (l, 2), difference, weights (l,).
    """
    given, difference, weights = pairs[weights > 0], difference[weights > 0], weights[weights > 0]
    if len(given) == 0:
        raise InvalidInputError("there is no preference with a weight above zero: nothing to measure")
    agreed, share = (np.sign(difference) + 1) / 2, weights / weights.sum()
    n_items = len(np.unique(given))
    if np.ptp(agreed) == 0:
        value, independent = float(agreed[0]), n_items / 2
    else:
        value = float(share @ agreed)
        independent = value * (1 - value) / _variance(given, share * (agreed - value), int(given.max()) + 1)
    interval = wilson_interval(value, independent, confidence, METHOD)
    return PreferenceAgreement(value, interval, len(given), n_items, int((difference == 0).sum()))


def _variance(pairs: Index, errors: Float, n_items: int) -> float:
    """Return the variance of the sum of errors, of which those that share an item are not independent."""
    of_item = np.bincount(pairs.ravel(), weights=np.repeat(errors, 2), minlength=n_items)
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    _, same = np.unique(low * n_items + high, return_inverse=True)
    of_two = float(np.sum(np.bincount(same, weights=errors) ** 2))
    return max(float(of_item @ of_item) - of_two, of_two)
