r"""Confidence intervals of an AUC.

**Components.** An AUC over P positive and N negative items is a two-sample U-statistic. With ``h_ij`` one if the
positive item i is scored above the negative item j, a half for a tie and zero otherwise, ``a_i = mean_j h_ij`` and
``b_j = mean_i h_ij``, its variance is estimated by [DDC88]_

    ``V = var(a) / P + var(b) / N``,

and, where items come in groups, by sums over groups [Obu97]_: deviations are added up within a group before they are
squared, positive and negative ones together. This treats the scores as given: what varies is the items that are
scored, not those that the models were trained on.

**Interval.** Symmetric on the scale of ``log(A / (1 - A))``, so that it stays between 0 and 1. Where A is 0 or 1, or no
component varies, the interval is that of [New06]_, whose variance depends on the AUC alone.

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
from scipy.special import expit, ndtri, stdtrit

from kernelrank.arrays import Float, Index

__all__ = ["Components", "logit_interval"]

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


def logit_interval(
    auc: float, variance: float, confidence: float, n_positive: int, n_negative: int, degrees: float = np.inf
) -> tuple[float, float]:
    """Return an interval that is symmetric on the logit scale; see the head of this file for where that fails.

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
    >>> low, high = logit_interval(0.8, 0.0025, 0.95, 20, 20)
    >>> round(low, 3), round(high, 3)
    (0.684, 0.881)
    """
    quantile = float(stdtrit(degrees, 0.5 + confidence / 2))
    if not np.isfinite(variance):
        return 0.0, 1.0
    if min(auc, 1.0 - auc) <= EDGE or variance <= EDGE**2:
        return _newcombe(auc, float(ndtri(0.5 + confidence / 2)), n_positive, n_negative)
    centre = np.log(auc / (1.0 - auc))
    half = quantile * np.sqrt(variance) / (auc * (1.0 - auc))
    return float(expit(centre - half)), float(expit(centre + half))


def _newcombe(auc: float, quantile: float, n_positive: int, n_negative: int) -> tuple[float, float]:
    """Return the AUCs t with ``|t - auc| = quantile √V(t)``, Newcombe's method 5."""
    from scipy.optimize import brentq

    size = (n_positive + n_negative) / 2 - 1.0

    def excess(t: float) -> float:
        variance = t * (1 - t) * (1 + size * (1 - t) / (2 - t) + size * t / (1 + t)) / (n_positive * n_negative)
        return abs(t - auc) - quantile * float(np.sqrt(variance))

    low = 0.0 if auc <= EDGE or excess(EDGE) <= 0 else float(brentq(excess, EDGE, min(auc, 1 - EDGE)))
    high = 1.0 if auc >= 1 - EDGE or excess(1 - EDGE) <= 0 else float(brentq(excess, max(auc, EDGE), 1 - EDGE))
    return low, high
