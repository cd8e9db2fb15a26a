r"""Confidence intervals of an AUC.

**Components.** An AUC over P positive and N negative items is a two-sample U-statistic. With ``h_ij`` one if the
positive item i is scored above the negative item j, a half for a tie and zero otherwise, ``a_i = mean_j h_ij`` and
``b_j = mean_i h_ij``, its variance is estimated by [DDC88]_

    ``V = var(a) / P + var(b) / N``,

and, where items come in groups, by sums over groups [Obu97]_: deviations are added up within a group before they are
squared, positive and negative ones together. This treats the scores as given: what varies is the items that are
scored, not those that the models were trained on.

**Interval.** All AUCs t that A does not contradict: those with ``(A - t)² ≤ q² D W(t)``, where q is Student's quantile,
W(t) the variance of an AUC of t over P and N items [New06]_, a function of t alone, and D how many times that large
the variance is here. A variance that is estimated at A says little about t where A is near 1, and a t near 1 allows
only small deviations: the interval stays inside [0, 1] and is wide only towards 0.5. D is estimated by
``(V + ε) / (W(A) + ε)``, with ``ε = W(1 - 1 / 4 (n + 1))`` for the n items of the smaller class: where A is 0 or 1
nothing varies, and D is 1. A quarter was chosen over 1/10 to 1 by width and coverage; see
``benchmarks/auc_intervals_are_narrow_and_cover.py``.

References
----------
.. [DDC88] DeLong, DeLong and Clarke-Pearson (1988). Comparing the areas under two or more correlated receiver operating
   characteristic curves. Biometrics 44.
.. [Obu97] Obuchowski (1997). Nonparametric analysis of clustered ROC curve data. Biometrics 53.
.. [New06] Newcombe (2006). Confidence intervals for an effect size measure based on the Mann-Whitney statistic, part 2.
   Statistics in Medicine 25.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from kernelrank.base.arrays import Float, Index

__all__ = ["Components", "interval_of_factor", "score_interval", "variance_at"]

EDGE = 1e-12
"""How near to 0 or 1 an AUC counts as there."""


@dataclass(frozen=True, eq=False)
class Components:
    """The win rate of each item against the other class.

    Parameters
    ----------
    positive : ndarray, shape (P,)
        For each positive item, the share of negative items that it is scored above; a tie counts a half.
    negative : ndarray, shape (N,)
        For each negative item, the share of positive items that are scored above it.

    Examples
    --------
    >>> components = Components.of_scores(np.array([0.4, 0.9]), np.array([0.1, 0.5, 0.4]))
    >>> components.positive, components.negative
    (array([0.5, 1. ]), array([1.  , 0.5 , 0.75]))
    >>> components.auc
    0.75
    """

    positive: Float
    negative: Float

    @classmethod
    def of_scores(cls, positive: Float, negative: Float) -> Components:
        """Compare every positive score with every negative one: O(m log m) time."""
        return cls(_share_below(positive, negative), 1.0 - _share_below(negative, positive))

    @property
    def auc(self) -> float:
        """The AUC: the mean win rate."""
        return float(self.positive.mean())

    @property
    def n_pairs(self) -> int:
        """The number of pairs of a positive and a negative item."""
        return len(self.positive) * len(self.negative)

    def __sub__(self, other: Components) -> Components:
        """Return the components of the difference of two AUCs of the same items."""
        return Components(self.positive - other.positive, self.negative - other.negative)

    def variance(
        self, positive_groups: Index | None = None, negative_groups: Index | None = None
    ) -> tuple[float, float]:
        """Return V, and the degrees of freedom of its two parts together: Welch's, at most one less than the groups.

        Parameters
        ----------
        positive_groups, negative_groups : ndarray of int64, shapes (P,) and (N,), optional
            The group of each item.

        Returns
        -------
        variance, degrees : float
            Infinite variance if a class has one item or one group only.

        Notes
        -----
        O(m) time. The components of a difference of two AUCs are the differences of theirs: the same formula is
        DeLong's variance of the difference, covariance included.
        """
        deviations = [(part - self.auc) / len(part) for part in (self.positive, self.negative)]
        if positive_groups is None or negative_groups is None:
            counts = [len(part) for part in deviations]
            sums = deviations
            crossed, most = 0.0, np.inf
        else:
            size = int(max(positive_groups.max(), negative_groups.max())) + 1
            groups = (positive_groups, negative_groups)
            totals: list[Float] = [
                np.asarray(np.bincount(g, d, size), dtype=np.float64) for g, d in zip(groups, deviations, strict=True)
            ]
            present = [np.bincount(g, minlength=size) > 0 for g in groups]
            counts = [int(p.sum()) for p in present]
            sums = [t[p] for t, p in zip(totals, present, strict=True)]
            n_groups = int((present[0] | present[1]).sum())
            crossed = 2.0 * n_groups / max(1, n_groups - 1) * float(totals[0] @ totals[1])
            most = n_groups - 1.0  # a group of both classes is in both parts, and yet one group
        if min(counts) < 2:
            return np.inf, 1.0
        parts = [n / (n - 1) * float(s @ s) for n, s in zip(counts, sums, strict=True)]
        total = sum(parts)
        spread = sum(part**2 / (n - 1) for n, part in zip(counts, parts, strict=True))
        degrees = total**2 / spread if spread > 0 else float(sum(counts) - 2)
        return max(total + crossed, 0.0), min(degrees, most)


def _share_below(scores: Float, others: Float) -> Float:
    """Return for each score the share of the others below it, ties counting a half."""
    ordered = np.sort(others)
    below, up_to = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    share: Float = (below + up_to) / (2.0 * len(others))
    return share


def score_interval(
    auc: float, variance: float, confidence: float, n_positive: int, n_negative: int, degrees: float = np.inf
) -> tuple[float, float]:
    """Return the AUCs that an estimate with this variance does not contradict; see the head of this file.

    Parameters
    ----------
    auc, variance, confidence : float
    n_positive, n_negative : int
    degrees : float, default=inf
        The degrees of freedom of the variance: Student's quantile, the normal one unless given.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> low, high = score_interval(0.8, 0.0025, 0.95, 20, 20)
    >>> round(low, 3), round(high, 3)
    (0.679, 0.88)
    """
    if not np.isfinite(variance):
        return 0.0, 1.0
    quantile = float(stdtrit(degrees, 0.5 + confidence / 2))
    small = variance_at(1.0 - 0.25 / (min(n_positive, n_negative) + 1), n_positive, n_negative)
    factor = (variance + small) / (variance_at(auc, n_positive, n_negative) + small)
    return interval_of_factor(auc, factor, quantile, n_positive, n_negative)


def interval_of_factor(
    auc: float, factor: float, quantile: float, n_positive: int, n_negative: int
) -> tuple[float, float]:
    """Return the ends of the AUCs t with ``(auc - t)² ≤ quantile² · factor · W(t)``."""
    from scipy.optimize import brentq

    def excess(t: float) -> float:
        return (t - auc) ** 2 - quantile**2 * factor * variance_at(t, n_positive, n_negative)

    low = 0.0 if auc <= EDGE else float(brentq(excess, 0.0, min(auc, 1.0 - EDGE)))
    high = 1.0 if auc >= 1 - EDGE else float(brentq(excess, max(auc, EDGE), 1.0))
    return low, high


def variance_at(t: float, n_positive: int, n_negative: int) -> float:
    """Return the variance of an AUC of t, by Newcombe's method 5."""
    size = (n_positive + n_negative) / 2 - 1.0
    return t * (1 - t) * (1 + size * (1 - t) / (2 - t) + size * t / (1 + t)) / (n_positive * n_negative)
