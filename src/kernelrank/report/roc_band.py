"""A bootstrap band of a ROC curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, Index, RandomStateLike
from kernelrank.metrics.roc import RocResamples

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
    """Compute a pointwise bootstrap band of a ROC curve; items of each class, or whole groups, are resampled.

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
    generator = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    roc = RocResamples(positive, scores, groups)
    curves = np.stack([np.interp(fpr, *curve) for curve in roc.draws(n_resamples, generator)])
    tail = (1 - confidence) / 2
    low, high = np.quantile(curves, [tail, 1 - tail], axis=0)
    return low, high
