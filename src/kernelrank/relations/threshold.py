"""Where a score begins to mean an interaction: the rules of [APBPGS08]_, and the best with hindsight.

References
----------
.. [APBPGS08] Airola, Pyysalo, Björne, Pahikkala, Ginter and Salakoski (2008). All-paths graph kernel for
   protein-protein interaction extraction with evaluation of cross-corpus learning. BMC Bioinformatics 9(S11), S2.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Float
from kernelrank.errors import InvalidInputError

__all__ = ["RULES", "Rule", "best_threshold", "threshold_of_share"]

Rule = Literal["training", "zero", "proportion"]
RULES: tuple[Rule, ...] = ("training", "zero", "proportion")


def best_threshold(labels: NDArray[np.bool_], scores: Float) -> float:
    """Find the threshold with the largest F-score, halfway between two scores. Time O(m log m).

    Parameters
    ----------
    labels : ndarray of bool, shape (m,)
        With at least one True.
    scores : ndarray, shape (m,)

    Returns
    -------
    float
        Scores above it count as positive.

    Examples
    --------
    >>> best_threshold(np.array([True, False, True, False]), np.array([4.0, 3.0, 2.0, 1.0]))
    1.5
    """
    if not labels.any():
        raise InvalidInputError("a threshold needs at least one pair that interacts")
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    found = np.cumsum(labels[order])
    f = 2 * found / (np.arange(1, len(order) + 1) + found[-1])
    # A threshold cannot part equal scores.
    f[:-1][ranked[:-1] == ranked[1:]] = -1.0
    return _below(ranked, int(np.argmax(f)) + 1)


def threshold_of_share(scores: Float, share: float) -> float:
    """Find the threshold above which a given share of the scores lies, and those that tie with the last. O(m log m).

    Parameters
    ----------
    scores : ndarray, shape (m,)
    share : float
        Between 0 and 1.

    Returns
    -------
    float

    Examples
    --------
    >>> threshold_of_share(np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    2.5
    """
    if not 0 <= share <= 1:
        raise InvalidInputError(f"the share of positive pairs must lie between 0 and 1, got {share!r}")
    ranked = -np.sort(-scores)
    count = round(share * len(ranked))
    if count == 0:
        return float(ranked[0])
    while count < len(ranked) and ranked[count] == ranked[count - 1]:
        count += 1
    return _below(ranked, count)


def _below(ranked: Float, count: int) -> float:
    """Return a threshold that only the first scores exceed."""
    last = float(ranked[count - 1])
    following = float(ranked[count]) if count < len(ranked) else last - 1.0
    middle = (last + following) / 2
    # Between neighbouring numbers there is no middle.
    return middle if middle < last else following
