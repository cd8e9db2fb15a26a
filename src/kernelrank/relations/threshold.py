"""Thresholds: the score above which a pair is said to interact, by the rules of [APBPGS08]_ and by others.

The F-score of a few hundred candidates jumps up and down with the threshold, so that its largest value stands where
chance put it. Two rules are steadier.

"calibrated" first learns from the scores how probable an interaction is at each, by logistic regression [Pla00]_, and
then takes the threshold with the largest expected F-score [LEN14]_, ``2 Σ_{i above} p_i / (n above + Σ_i p_i)``. Two
numbers are learnt from all candidates, where the largest F-score looks at the few around it.

"resampled" is the mean of the best thresholds of resampled documents: what a search finds is an unstable function of
the data, and averaging it over resamples reduces its variance [BY02]_. Averaging the F-scores instead, and taking the
best threshold of the average, does not help, for the average over resamples is nearly the F-score itself, with the same
jumps.

References
----------
.. [APBPGS08] Airola, Pyysalo, Björne, Pahikkala, Ginter and Salakoski (2008). All-paths graph kernel for
   protein-protein interaction extraction with evaluation of cross-corpus learning. BMC Bioinformatics 9(S11), S2.
.. [BY02] Bühlmann and Yu (2002). Analyzing bagging. Annals of Statistics 30(4), 927-961.
.. [LEN14] Lipton, Elkan and Naryanaswamy (2014). Optimal thresholding of classifiers to maximize F1 measure. ECML PKDD
   2014, 225-239.
.. [Pla00] Platt (2000). Probabilities for SV machines. Advances in Large Margin Classifiers, MIT Press, 61-74.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from kernelrank.base.arrays import Float
from kernelrank.base.labels import Queries
from kernelrank.errors import InvalidInputError

__all__ = ["RULES", "Rule", "best_threshold", "calibrated_threshold", "resampled_threshold", "threshold_of_share"]

Rule = Literal["calibrated", "resampled", "training", "zero", "proportion"]
RULES: tuple[Rule, ...] = ("calibrated", "resampled", "training", "zero", "proportion")
# Newton's method for two numbers; it takes five to ten steps.
MOST_STEPS = 100


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
    return _largest_f(labels, scores)


def calibrated_threshold(labels: NDArray[np.bool_], scores: Float) -> float:
    """Find the threshold with the largest expected F-score, by probabilities calibrated on the scores. O(m log m).

    Parameters
    ----------
    labels, scores
        As in `best_threshold`.

    Returns
    -------
    float
        Scores above it count as positive.

    Examples
    --------
    >>> calibrated_threshold(np.array([True, True, False, True, False, False]), np.arange(6.0, 0.0, -1.0))
    2.5
    """
    if not labels.any():
        raise InvalidInputError("a threshold needs at least one pair that interacts")
    return _largest_f(_probabilities(labels, scores), scores)


def _largest_f(chances: NDArray[Any], scores: Float) -> float:
    """Return the threshold with the largest F-score if items are positive with these chances: 0 or 1 are known."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    found = np.cumsum(chances[order])
    f = 2 * found / (np.arange(1, len(order) + 1) + found[-1])
    # A threshold cannot part equal scores.
    f[:-1][ranked[:-1] == ranked[1:]] = -1.0
    return _below(ranked, int(np.argmax(f)) + 1)


def _probabilities(labels: NDArray[np.bool_], scores: Float) -> Float:
    """Return the probabilities of logistic regression on the scores, shape (m,).

    Its targets are a little inside 0 and 1 [Pla00], so that it has a finite solution where the scores part the classes.
    """
    n_positive = int(labels.sum())
    n_negative = len(labels) - n_positive
    targets = np.where(labels, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    spread = float(scores.std())
    # The scale of scores is arbitrary; on that of their deviation the steps below are well behaved.
    design = np.stack(
        [(scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores)), np.ones(len(scores))]
    )
    weights = np.zeros(2)
    for _ in range(MOST_STEPS):
        step = _newton_step(design, targets, weights)
        if float(np.abs(step).max()) < 1e-12:
            break
        before, length = _log_loss(design, targets, weights), 1.0
        # The loss is convex, so that some part of the step lowers it until rounding hides the difference.
        while length > 1e-6 and _log_loss(design, targets, weights - length * step) > before:
            length /= 2
        weights = weights - length * step
    return np.asarray(expit(weights @ design))


def _newton_step(design: Float, targets: Float, weights: Float) -> Float:
    chances = expit(weights @ design)
    gradient = design @ (chances - targets)
    curvature = (design * (chances * (1 - chances))) @ design.T
    # Scores that are all the same leave the first weight open, which then stays zero.
    return np.asarray(np.linalg.lstsq(curvature, gradient, rcond=1e-12)[0])


def _log_loss(design: Float, targets: Float, weights: Float) -> float:
    values = weights @ design
    return float(np.sum(np.logaddexp(0.0, values) - targets * values))


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
    """Find the threshold above which a given share of the scores lies, ties with the last one included. O(m log m).

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
