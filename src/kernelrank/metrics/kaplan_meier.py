r"""Kaplan–Meier: the share of items that last longer than a time, though some times are censored.

At each time t with :math:`d_t` events among :math:`n_t` items that are still at risk, the curve falls by the factor
:math:`1 - d_t / n_t`. The curve of censoring takes the censored items for events; an event at the same time comes
first, so that :math:`n_t` is without the events at t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float
from kernelrank.errors import InvalidInputError

__all__ = ["KaplanMeier", "censoring_weights", "log_rank_pvalue"]


@dataclass(frozen=True)
class KaplanMeier:
    """A survival curve: a step function that is continuous from the right.

    Parameters
    ----------
    time, survival : ndarray, shape (n,)
        The different times, ascending, and the share that lasts longer than each.
    at_risk : ndarray, shape (n,)
        The weight of the items whose time is not earlier.

    Examples
    --------
    >>> curve = KaplanMeier.of(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    >>> curve.survival.round(3), curve.at(np.array([0.5, 2.5])).round(3)
    (array([0.667, 0.667, 0.   ]), array([1.   , 0.667]))
    """

    time: Float
    survival: Float
    at_risk: Float

    @classmethod
    def of(
        cls, time: Float, event: NDArray[np.bool_], *, weight: Float | None = None, censoring: bool = False
    ) -> KaplanMeier:
        """Estimate the curve of the events, or that of censoring: O(m log m) time.

        Parameters
        ----------
        time : ndarray, shape (m,)
        event : ndarray of bool, shape (m,)
        weight : ndarray, shape (m,), optional
        censoring : bool, default=False
            Whether to estimate how long items stay uncensored.
        """
        w = np.ones(len(time)) if weight is None else weight
        times, codes = np.unique(time, return_inverse=True)
        events, censored = (np.bincount(codes, weights=w * kind, minlength=len(times)) for kind in (event, ~event))
        at_risk = np.cumsum((events + censored)[::-1])[::-1]
        falls, exposed = (censored, at_risk - events) if censoring else (events, at_risk)
        kept = 1.0 - np.divide(falls, exposed, out=np.zeros(len(times)), where=falls > 0)
        survival = np.cumprod(np.maximum(kept, 0.0)).astype(np.float64)
        return cls(times, survival, at_risk.astype(np.float64))

    def at(self, time: Float) -> Float:
        """Return the share that lasts longer than some times."""
        return np.append(1.0, self.survival)[np.searchsorted(self.time, time, side="right")]

    def median(self) -> float:
        """Return the first time that at most half last longer than; infinite if there is none."""
        below = np.flatnonzero(self.survival <= 0.5)
        return float(self.time[below[0]]) if len(below) else float("inf")


def censoring_weights(
    time: Float, event: NDArray[np.bool_], *, training: tuple[Float, NDArray[np.bool_]] | None = None
) -> Float:
    """Return one over the probability of being uncensored at the time of each event; zero for censored items.

    Parameters
    ----------
    time : ndarray, shape (m,)
    event : ndarray of bool, shape (m,)
    training : (time, event), optional
        The items that the curve of censoring is estimated from; the same ones unless given.

    Returns
    -------
    ndarray, shape (m,)

    Examples
    --------
    >>> censoring_weights(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    array([1., 0., 2.])
    """
    curve = KaplanMeier.of(*(training or (time, event)), censoring=True)
    probability = curve.at(time[event])
    if np.any(probability <= 0):
        latest = float(time[event][probability <= 0].min())
        raise InvalidInputError(
            f"Expected a positive probability of being uncensored at every event; it is zero from time {latest:g} on. "
            f"Count events before some time only, such as tau={latest:g}."
        )
    weights = np.zeros(len(time))
    weights[event] = 1.0 / probability
    return weights


def log_rank_pvalue(time: Float, event: NDArray[np.bool_], group: NDArray[np.int64]) -> float:
    """Return the p-value of the log-rank test: whether groups have one survival curve.

    Parameters
    ----------
    time : ndarray, shape (m,)
    event : ndarray of bool, shape (m,)
    group : ndarray of int64, shape (m,)
        From zero on.

    Returns
    -------
    float
        From the χ² distribution; NaN if no event separates the groups.

    Notes
    -----
    O(m log m + n k²) time for n different times and k groups.

    Examples
    --------
    >>> time, event = np.array([1.0, 2.0, 3.0, 8.0, 9.0, 9.5]), np.ones(6, dtype=bool)
    >>> round(log_rank_pvalue(time, event, np.array([0, 0, 0, 1, 1, 1])), 4)
    0.0246
    """
    from scipy.stats import chi2

    times, codes = np.unique(time, return_inverse=True)
    k = int(group.max()) + 1
    observed, leaving = np.zeros((2, len(times), k))
    np.add.at(observed, (codes, group), event)
    np.add.at(leaving, (codes, group), 1.0)
    at_risk = np.cumsum(leaving[::-1], axis=0)[::-1]
    n, d = at_risk.sum(axis=1), observed.sum(axis=1)
    share = at_risk / n[:, None]
    spread = d * np.divide(n - d, n - 1, out=np.zeros(len(n)), where=n > 1)
    difference = (observed - d[:, None] * share).sum(axis=0)[1:]
    covariance = np.diag((spread[:, None] * share).sum(axis=0)) - np.einsum("t,ti,tj->ij", spread, share, share)
    covariance = covariance[1:, 1:]
    rank = int(np.linalg.matrix_rank(covariance)) if covariance.size else 0
    if rank == 0:
        return float("nan")
    statistic = float(difference @ np.linalg.pinv(covariance, hermitian=True) @ difference)
    return float(chi2.sf(statistic, rank))
