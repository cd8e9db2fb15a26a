"""Where a score begins to mean an interaction: the rules of [APBPGS08]_, a steadier one, and the best with hindsight.

The F-score of a few hundred candidates jumps up and down with the threshold, so that its largest value stands where
chance put it. What such a search finds is an unstable function of the data, and averaging it over resamples of the data
makes it steady [BY02]_: the rule "resampled" is the mean of the best thresholds of resampled documents. Averaging the
F-scores instead, and taking the best threshold of the average, does not help, for the average over resamples is nearly
the F-score itself, with the same jumps.

References
----------
.. [APBPGS08] Airola, Pyysalo, Björne, Pahikkala, Ginter and Salakoski (2008). All-paths graph kernel for
   protein-protein interaction extraction with evaluation of cross-corpus learning. BMC Bioinformatics 9(S11), S2.
.. [BY02] Bühlmann and Yu (2002). Analyzing bagging. Annals of Statistics 30(4), 927-961.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Float
from kernelrank.errors import InvalidInputError
from kernelrank.queries import Queries

__all__ = ["RULES", "Rule", "best_threshold", "resampled_threshold", "threshold_of_share"]

Rule = Literal["resampled", "training", "zero", "proportion"]
RULES: tuple[Rule, ...] = ("resampled", "training", "zero", "proportion")


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


def resampled_threshold(
    labels: NDArray[np.bool_], scores: Float, documents: Sequence[str], *, n_resamples: int = 200
) -> float:
    """Average the best thresholds of resampled documents. Time O(n_resamples m log m), memory O(m).

    Resamples without an interaction have no best threshold and are left out. The same data give the same threshold,
    for what is drawn is fixed.

    Parameters
    ----------
    labels : ndarray of bool, shape (m,)
        With at least one True.
    scores : ndarray, shape (m,)
    documents : sequence, shape (m,)
        The document of each: candidates of one document are drawn together.
    n_resamples : int, default=200

    Returns
    -------
    float
        Scores above it count as positive.

    Examples
    --------
    >>> labels, scores = np.array([True, False, True, False]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> best_threshold(labels, scores)
    1.5
    >>> 1.5 < resampled_threshold(labels, scores, ["a", "b", "c", "d"]) < 3.0
    True
    """
    whole = best_threshold(labels, scores)
    queries = Queries.from_labels(documents, len(labels), name="documents")
    order = np.argsort(-scores, kind="stable")
    ranked, found, codes = scores[order], labels[order], queries.codes[order]
    # How far below all scores a threshold lies says nothing, and shall not count.
    lowest = float(np.nextafter(ranked[-1], -np.inf))
    draws = np.random.default_rng(0).multinomial(len(queries), np.full(len(queries), 1 / len(queries)), n_resamples)
    thresholds = []
    for times in draws:
        drawn = np.repeat(np.arange(len(order)), times[codes])
        if found[drawn].any():
            thresholds.append(max(lowest, best_threshold(found[drawn], ranked[drawn])))
    return float(np.mean(thresholds)) if thresholds else whole


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
