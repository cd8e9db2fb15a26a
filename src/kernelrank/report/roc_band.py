"""A band around a ROC curve: where it would run had other items been drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from kernelrank.argument_types import RandomStateLike
from kernelrank.arrays import Float, Index

__all__ = ["roc_band"]


def roc_band(
    positive: NDArray[np.bool_],
    scores: Float,
    fpr: Float,
    *,
    groups: Index | None = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: RandomStateLike = None,
) -> tuple[Float, Float]:
    """Resample items of each class, or whole groups, and take pointwise percentiles of the curves.

    Groups are resampled in up to three parts: those of positive items only, of negative items only, and of both.

    Parameters
    ----------
    positive : ndarray of bool, shape (m,)
    scores : ndarray, shape (m,)
    fpr : ndarray, shape (points,)
        Where the band is wanted.
    groups : ndarray of int64, shape (m,), optional
    confidence : float, default=0.95
    n_resamples : int, default=1000
    random_state : int, RandomState or None

    Returns
    -------
    low, high : ndarray, shape (points,)

    Notes
    -----
    O(n_resamples × (m + points)) time. The scores stay as they are: the models do not vary.

    Examples
    --------
    >>> positive = np.arange(40) >= 20
    >>> low, high = roc_band(positive, np.arange(40.0) % 25, np.array([0.5]), random_state=0)
    >>> bool(0 <= low[0] < high[0] <= 1)
    True
    """
    random = check_random_state(random_state)
    order = np.argsort(-scores, kind="stable")
    # Tied items are one step of the curve.
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    curves = np.empty((n_resamples, len(fpr)))
    units = np.arange(len(positive)) if groups is None else groups
    kinds, times = _kinds(positive, units), np.zeros(int(units.max()) + 1)
    for number in range(n_resamples):
        for kind in kinds:
            times[kind] = np.bincount(random.randint(len(kind), size=len(kind)), minlength=len(kind))
        weight = times[units][order]
        up, right = np.cumsum(weight * positive[order])[last], np.cumsum(weight * ~positive[order])[last]
        curves[number] = np.interp(fpr, np.append(0.0, right / right[-1]), np.append(0.0, up / up[-1]))
    tail = (1 - confidence) / 2
    low, high = np.quantile(curves, [tail, 1 - tail], axis=0)
    return low, high


def _kinds(positive: NDArray[np.bool_], groups: Index) -> list[Index]:
    """Return the groups of positive items only, of negative items only, and of both."""
    has_positive, has_negative = (np.bincount(groups, weights=of) > 0 for of in (positive, ~positive))
    kinds = (has_positive & ~has_negative, has_negative & ~has_positive, has_positive & has_negative)
    return [np.flatnonzero(kind) for kind in kinds if kind.any()]
