r"""Paired tests: whether one ranking of the same queries is better than another by more than chance.

With :math:`d_q` the difference of the two values of query q and :math:`\bar d` their mean: if neither ranking is
better, the sign of each :math:`d_q` is as likely to be the other, whatever its size. The p-value is the share of all
:math:`2^n` choices of signs whose mean is as far from zero as :math:`\bar d`,

.. math:: p = 2^{-n} \, \#\{ s \in \{-1, 1\}^n : |\textstyle\sum_q s_q d_q| \ge |\sum_q d_q| \}.

All of them are visited while there are few, doubling the list of sums with each query: zero differences change nothing
and are not counted into n. Beyond that signs are drawn, and :math:`p = (1 + \#) / (1 + N)` for N draws.

Wilcoxon's signed-rank test [Wil45] asks the same of the ranks of :math:`|d_q|`, with their signs, in the place of the
differences, so that a few large ones do not decide. Queries without a difference are left out before the rest is ranked
(Wilcoxon's own convention), and equal differences share the mean of their ranks. While there are few queries its
p-value comes from all choices of signs, ties or not; beyond that it is that of `scipy.stats.wilcoxon`.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelrank.base.results import Estimates, Result
from kernelrank.base.text import p_is, pvalue
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.intervals import FIXED, Interval, check_confidence, mean_interval

if TYPE_CHECKING:
    from kernelrank.metrics.judged_items import FloatArray
    from kernelrank.metrics.measure_result import MeasureResult

__all__ = ["WILCOXON", "PairedTest", "paired_test"]

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
